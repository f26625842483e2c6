//! Puts a call before a person, and does what the answer says.

use std::pin::pin;
use std::time::Duration;

use haft_contract::{Answer, ApprovalRequest, Approver, CallInfo, ErrorKind, Plan, ToolError};
use haft_policy::{Decision, Verdict};
use serde_json::json;
use tokio::sync::watch;

use crate::events::{Event, EventSink};
use crate::explain::quoted;
use crate::fingerprint::fingerprint;
use crate::stages::permit::{Request, decide};
use crate::stages::resolve::refused;
use crate::stages::run::cancelled;
use crate::stages::settle::tell;
use crate::stop::within;

/// How long saving a rule may take; the call waits for it.
const SAVING: Duration = Duration::from_secs(10);

/// A call that may have to be put before a person.
pub(crate) struct Asking<'a> {
    pub(crate) approver: &'a dyn Approver,
    pub(crate) request: Request<'a>,
    pub(crate) plan: &'a Plan,
    /// What was decided before there was a plan; what is decided later starts from it.
    pub(crate) offered: Decision,
}

impl Asking<'_> {
    /// Asks when it is this call's turn. The decision is brought up to date, and says how the call was allowed.
    pub(crate) async fn ask(&self, decision: &mut Decision) -> Result<(), ToolError> {
        let questions = self.request.session.questions();
        let mut granted = questions.granted();
        // Kept until the answer has taken effect: the next question must see what it allows.
        let _turn = if self.approver.one_at_a_time() { Some(self.request.stop.unless(questions.turn()).await?) } else { None };
        if !self.must_ask(decision)? {
            return Ok(());
        }
        let question = self.question(decision);
        let lasting = question.lasting.clone();
        if let Some(answer) = self.answer(question, &mut granted, decision).await? {
            let how = self.allow(answer, lasting).await?;
            decision.pass("approval", how);
        }
        Ok(())
    }

    /// Decides again, because the answer to another question may have allowed this call.
    fn must_ask(&self, decision: &mut Decision) -> Result<bool, ToolError> {
        let Request { policy, entry, secret, session, .. } = self.request;
        *decision = decide(policy, self.offered.clone(), entry, self.plan, secret, session);
        if !entry.definition().permissions.is_empty() {
            decision.pass("host permission", "granted");
        }
        match decision.verdict {
            Verdict::Deny => Err(refused(decision)),
            verdict => Ok(verdict == Verdict::Ask),
        }
    }

    fn question(&self, decision: &Decision) -> ApprovalRequest {
        let Request { policy, entry, call, arguments, .. } = self.request;
        let (arguments, effects) = (arguments.clone().into_value(), self.plan.effects().to_vec());
        let fingerprint = fingerprint(entry.name(), &arguments, &effects);
        let lasting = policy.lasting(&entry.candidate(), self.plan, decision);
        let mut question = ApprovalRequest::new(call.clone(), arguments, effects, decision.question());
        question.id = uuid::Uuid::now_v7().to_string();
        question.fingerprint = fingerprint;
        question.lasting = lasting.and_then(|rules| if rules.is_empty() { Err("no rule covers it".into()) } else { Ok(rules) });
        question
    }

    /// What the person says; `None` if the call was allowed in another way meanwhile. The time runs from here.
    async fn answer(
        &self,
        question: ApprovalRequest,
        granted: &mut watch::Receiver<()>,
        decision: &mut Decision,
    ) -> Result<Option<Answer>, ToolError> {
        let limit = self.request.limits.approval;
        let mut open = Open::new(self.request.events, self.request.call, &question);
        let mut asked = pin!(within(limit, self.approver.ask(question)));
        loop {
            tokio::select! {
                biased;
                answer = &mut asked => {
                    open.answer.clone_from(&answer);
                    return answer.map(Some).ok_or_else(|| too_late(limit));
                }
                () = self.request.stop.requested() => return Err(cancelled()),
                Ok(()) = granted.changed() => if !self.must_ask(decision)? {
                    return Ok(None);
                }
            }
        }
    }

    /// What an answer allows, in words for history.
    async fn allow(&self, answer: Answer, lasting: Result<Vec<String>, String>) -> Result<String, ToolError> {
        match (answer, lasting) {
            (Answer::Session, Ok(rules)) => Ok(self.for_the_session(&rules)),
            (Answer::Always, Ok(rules)) => self.for_good(&rules).await,
            // Where no rule can stand for the call, a yes is a yes to this call alone.
            (Answer::Once | Answer::Session | Answer::Always, _) => Ok("once".into()),
            (Answer::Deny { comment: Some(comment) }, _) => Err(ToolError::denied(format!("The person said no: {comment}"))),
            _ => Err(ToolError::denied("The person said no. Do not repeat the call; ask what they want instead.")),
        }
    }

    fn for_the_session(&self, rules: &[String]) -> String {
        let Request { policy, session, .. } = self.request;
        match policy.grant(session.caller(), rules) {
            Ok(()) => {
                session.questions().tell_granted();
                format!("for this session: {}", rules.join(", "))
            }
            Err(why) => {
                self.tell_not_kept(rules, format!("the next such call is asked about again: {why}"));
                format!("once, because {} cannot hold for the session: {why}", rules.join(", "))
            }
        }
    }

    /// The rules hold at once, whatever comes of saving them.
    async fn for_good(&self, rules: &[String]) -> Result<String, ToolError> {
        let held = self.for_the_session(rules);
        match self.save(rules).await? {
            Ok(place) => Ok(format!("always: {}, saved in {place}", rules.join(", "))),
            Err(why) => {
                self.tell_not_kept(rules, format!("nothing was saved: {why}"));
                Ok(format!("{held} (not saved: {why})"))
            }
        }
    }

    async fn save(&self, rules: &[String]) -> Result<Result<String, String>, ToolError> {
        let Some(keeper) = self.request.session.keeper() else {
            return Ok(Err("there is no file for it here".into()));
        };
        let saved = self.request.stop.unless(within(SAVING, keeper.keep(rules))).await?;
        Ok(saved.unwrap_or_else(|| Err(format!("it took longer than {} s", SAVING.as_secs()))))
    }

    fn tell_not_kept(&self, rules: &[String], why: String) {
        tell(self.request.events, &Event::NotKept { call: self.request.call, rules, why });
    }
}

/// A question that stands before someone. Whoever watches hears of its end, however it ends.
struct Open<'a> {
    events: Option<&'a dyn EventSink>,
    call: &'a CallInfo,
    id: String,
    answer: Option<Answer>,
}

impl<'a> Open<'a> {
    fn new(events: Option<&'a dyn EventSink>, call: &'a CallInfo, question: &ApprovalRequest) -> Self {
        tell(events, &Event::Asked { request: question });
        Self { events, call, id: question.id.clone(), answer: None }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        tell(self.events, &Event::Answered { call: self.call, id: &self.id, answer: self.answer.as_ref() });
    }
}

/// Nobody is there to say yes, so it is a no. `lasting` are the rules that would have answered for good.
pub(crate) fn nobody_to_ask(decision: &Decision, lasting: Result<Vec<String>, String>) -> ToolError {
    let terminal = "call it where someone can answer";
    let to_change = match lasting {
        Ok(rules) if !rules.is_empty() => format!("{terminal}, or add {} to rules.allow", quoted(&rules)),
        _ => terminal.to_owned(),
    };
    let message = format!(
        "This call needs a person's approval ({}), and nobody can be asked here. Do without it, or tell the person what you need it for.",
        decision.question()
    );
    ToolError::denied(message).with_details(json!({ "decision": decision.trace, "to_change": to_change }))
}

fn too_late(limit: Duration) -> ToolError {
    let message = format!("Nobody answered within {} s, so the call was not made. Go on without it, or ask the person.", limit.as_secs());
    ToolError::new(ErrorKind::ApprovalTimeout, message)
}
