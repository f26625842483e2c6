//! Events of a turn that the agent loop does not send: progress of calls, and approvals.

use std::sync::Arc;

use haft_agent::{TurnEvent, TurnWatcher};
use haft_contract::{
    BoxFuture, CallInfo, Progress,
    ports::{ApprovalAnswer, ApprovalRequest, Approver, ProgressSink},
};
use haft_text::display;

use super::write_note;
use crate::output::DIM;

/// Reports progress of calls as events of the turn.
pub struct ProgressEvents(pub Arc<dyn TurnWatcher>);

impl std::fmt::Debug for ProgressEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProgressEvents")
    }
}

impl ProgressSink for ProgressEvents {
    fn progress(&self, call: &CallInfo, progress: Progress) {
        self.0.event(&TurnEvent::ToolUpdate { call_id: &call.id, tool: &call.tool, message: &progress.message });
    }
}

/// Progress of a single call, one line on standard error for each update.
#[derive(Debug, Clone, Copy)]
pub struct TerminalProgress;

impl ProgressSink for TerminalProgress {
    fn progress(&self, call: &CallInfo, progress: Progress) {
        write_note(&format!("{DIM}{}: {}{DIM:#}\n", display::escape_line(&call.tool), display::escape_line(&progress.message)));
    }
}

/// Reports the requests and answers of another approver as events of the turn.
pub struct ReportingApprover<A> {
    approver: A,
    watcher: Arc<dyn TurnWatcher>,
}

impl<A> std::fmt::Debug for ReportingApprover<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReportingApprover")
    }
}

impl<A> ReportingApprover<A> {
    pub fn new(approver: A, watcher: Arc<dyn TurnWatcher>) -> Self {
        Self { approver, watcher }
    }
}

impl<A: Approver> Approver for ReportingApprover<A> {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let mut events = ApprovalEvents { request: request.clone(), watcher: &*self.watcher, answer: None };
            events.report();
            events.answer = Some("none");
            let answer = self.approver.ask(request).await;
            events.answer = Some(answer_name(&answer));
            answer
        })
    }

    fn one_at_a_time(&self) -> bool {
        self.approver.one_at_a_time()
    }
}

/// The events of one request. The end is reported on drop, also after a timeout or a cancelled turn.
struct ApprovalEvents<'a> {
    request: ApprovalRequest,
    watcher: &'a dyn TurnWatcher,
    answer: Option<&'static str>,
}

impl ApprovalEvents<'_> {
    fn report(&self) {
        let ApprovalRequest { call, effects, reason, .. } = &self.request;
        self.watcher.event(&TurnEvent::Approval { call_id: &call.id, tool: &call.tool, effects, reason, answer: self.answer });
    }
}

impl Drop for ApprovalEvents<'_> {
    fn drop(&mut self) {
        self.report();
    }
}

/// The word of an answer in events.
pub fn answer_name(answer: &ApprovalAnswer) -> &'static str {
    match answer {
        ApprovalAnswer::Once => "once",
        ApprovalAnswer::Session => "session",
        ApprovalAnswer::Always | ApprovalAnswer::AlwaysAs(_) | ApprovalAnswer::AlwaysBy(_) => "always",
        ApprovalAnswer::Edit(_) => "edit",
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

    /// Records events.
    #[derive(Default)]
    struct EventRecorder(Mutex<Vec<Value>>);

    impl TurnWatcher for EventRecorder {
        fn event(&self, event: &TurnEvent<'_>) {
            self.0.lock().unwrap().push(serde_json::to_value(event).unwrap());
        }
    }

    /// Gives this answer, or none.
    struct FixedApprover(Option<ApprovalAnswer>);

    impl Approver for FixedApprover {
        fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
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

    async fn events_of(approver: FixedApprover) -> Vec<Value> {
        let recorder = Arc::new(EventRecorder::default());
        let approver = ReportingApprover::new(approver, Arc::clone(&recorder) as Arc<dyn TurnWatcher>);
        let plan = Plan::nothing().send("desktop", "me", false);
        let request = ApprovalRequest::new(call(), json!({}), plan.effects().to_vec(), "rule 7".into());
        tokio::time::timeout(Duration::from_millis(1), approver.ask(request)).await.ok();
        std::mem::take(&mut *recorder.0.lock().unwrap())
    }

    #[tokio::test]
    async fn approval_request_and_answer_are_events() {
        let deny = ApprovalAnswer::Deny { comment: Some("no".into()) };
        for (answer, word) in [
            (Some(ApprovalAnswer::Once), "once"),
            (Some(ApprovalAnswer::Session), "session"),
            (Some(ApprovalAnswer::Always), "always"),
            (Some(deny), "deny"),
            (None, "none"),
        ] {
            let effects = json!([{"effect": "send", "channel": "desktop", "to": "me"}]);
            let question = json!({"type": "approval", "call_id": "c1", "tool": "notify", "effects": effects, "reason": "rule 7"});
            let mut answered = question.clone();
            answered["answer"] = json!(word);
            assert_eq!(events_of(FixedApprover(answer)).await, [question, answered]);
        }
    }

    #[test]
    fn progress_is_an_event() {
        let recorder = Arc::new(EventRecorder::default());
        ProgressEvents(Arc::clone(&recorder) as Arc<dyn TurnWatcher>).progress(&call(), Progress::message("half of it"));
        let expected = json!({"type": "tool_update", "call_id": "c1", "tool": "notify", "message": "half of it"});
        assert_eq!(*recorder.0.lock().unwrap(), [expected]);
    }
}
