//! What a turn's watcher does not hear from the loop: that a call makes progress, and that a person is asked about one.

use std::sync::Arc;

use haft_agent::{TurnEvent, Watcher};
use haft_contract::{Answer, ApprovalRequest, Approver, BoxFuture, CallInfo, Progress, ProgressSink};

/// Progress of calls, for whoever watches the turn.
pub(crate) struct WatchedProgress(pub(crate) Arc<dyn Watcher>);

impl ProgressSink for WatchedProgress {
    fn progress(&self, call: &CallInfo, progress: Progress) {
        self.0.event(&TurnEvent::ToolUpdate { call_id: &call.id, tool: &call.tool, message: &progress.message });
    }
}

/// Another approver, whose questions and answers are told to whoever watches the turn.
pub(crate) struct WatchedApprover<A> {
    approver: A,
    watcher: Arc<dyn Watcher>,
}

impl<A> WatchedApprover<A> {
    pub(crate) fn new(approver: A, watcher: Arc<dyn Watcher>) -> Self {
        Self { approver, watcher }
    }
}

impl<A: Approver> Approver for WatchedApprover<A> {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let mut asked = Asked { request: request.clone(), watcher: &*self.watcher, answer: None };
            asked.tell();
            asked.answer = Some("none");
            let answer = self.approver.ask(request).await;
            asked.answer = Some(word(&answer));
            answer
        })
    }

    fn one_at_a_time(&self) -> bool {
        self.approver.one_at_a_time()
    }
}

/// A question. Whatever becomes of it, that it is over is told too: its time may be up, or the turn cancelled.
struct Asked<'a> {
    request: ApprovalRequest,
    watcher: &'a dyn Watcher,
    answer: Option<&'static str>,
}

impl Asked<'_> {
    fn tell(&self) {
        let ApprovalRequest { call, effects, reason, .. } = &self.request;
        self.watcher.event(&TurnEvent::Approval { call_id: &call.id, tool: &call.tool, effects, reason, answer: self.answer });
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Once => "once",
        Answer::Session => "session",
        Answer::Always => "always",
        _ => "deny",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use haft_contract::Plan;
    use serde_json::{Value, json};

    use super::*;

    /// Writes down what it hears.
    #[derive(Default)]
    struct Listener(Mutex<Vec<Value>>);

    impl Watcher for Listener {
        fn event(&self, event: &TurnEvent<'_>) {
            self.0.lock().unwrap().push(serde_json::to_value(event).unwrap());
        }
    }

    /// Answers so, or never.
    struct Person(Option<Answer>);

    impl Approver for Person {
        fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Answer> {
            let answer = self.0.clone();
            Box::pin(async move {
                match answer {
                    Some(answer) => answer,
                    None => std::future::pending().await,
                }
            })
        }
    }

    fn call() -> CallInfo {
        CallInfo { id: "c1".into(), tool: "notify".into(), session: "s".into(), agent: "main".into() }
    }

    async fn heard(person: Person) -> Vec<Value> {
        let listener = Arc::new(Listener::default());
        let approver = WatchedApprover::new(person, Arc::clone(&listener) as Arc<dyn Watcher>);
        let plan = Plan::nothing().send("desktop", "me", false);
        let request = ApprovalRequest::new(call(), json!({}), plan.effects().to_vec(), "rule 7".into());
        tokio::time::timeout(Duration::from_millis(1), approver.ask(request)).await.ok();
        std::mem::take(&mut *listener.0.lock().unwrap())
    }

    #[tokio::test]
    async fn a_question_is_told_and_what_came_of_it() {
        let deny = Answer::Deny { comment: Some("no".into()) };
        for (answer, word) in [
            (Some(Answer::Once), "once"),
            (Some(Answer::Session), "session"),
            (Some(Answer::Always), "always"),
            (Some(deny), "deny"),
            (None, "none"),
        ] {
            let effects = json!([{"effect": "send", "channel": "desktop", "to": "me"}]);
            let question = json!({"type": "approval", "call_id": "c1", "tool": "notify", "effects": effects, "reason": "rule 7"});
            let mut answered = question.clone();
            answered["answer"] = json!(word);
            assert_eq!(heard(Person(answer)).await, [question, answered]);
        }
    }

    #[test]
    fn progress_is_an_event_of_its_call() {
        let listener = Arc::new(Listener::default());
        WatchedProgress(Arc::clone(&listener) as Arc<dyn Watcher>).progress(&call(), Progress::message("half of it"));
        let expected = json!({"type": "tool_update", "call_id": "c1", "tool": "notify", "message": "half of it"});
        assert_eq!(*listener.0.lock().unwrap(), [expected]);
    }
}
