//! Asks for the approval of a call, and applies the answer.

use std::pin::pin;
use std::time::Duration;

use haft_contract::{
    CallInfo, ErrorKind, Plan, ToolError,
    ports::{ApprovalAnswer, ApprovalRequest, Approver, GrantWidth},
};
use haft_policy::{Advice, Decision, Verdict};
use serde_json::Value;
use tokio::sync::watch;

use crate::events::{Event, EventSink, emit};
use crate::fingerprint::fingerprint;
use crate::stages::permit::{PermitRequest, decide};
use crate::stages::resolve::{details, refused};
use crate::stages::run::cancelled;
use crate::stop::within;
use crate::trail::CallFacts;

/// How long saving a rule may take; the call waits for it.
const SAVE_TIMEOUT: Duration = Duration::from_secs(10);
/// A longer wait is no time limit that anyone would watch.
const NO_LIMIT: Duration = Duration::from_hours(24);

/// A call that may need approval.
pub(crate) struct ApprovalStep<'a> {
    pub(crate) approver: &'a dyn Approver,
    pub(crate) request: PermitRequest<'a>,
    pub(crate) plan: &'a Plan,
    /// The decision on the tool alone; later decisions start from it.
    pub(crate) offered: Decision,
    /// The question in words, if it is not about the call as a whole.
    pub(crate) subject: Option<String>,
    /// Why the last edit of the arguments was not accepted.
    pub(crate) edit_fault: Option<String>,
}

/// What becomes of a call that the user was asked about.
#[derive(Debug)]
pub(crate) enum ApprovalOutcome {
    /// It may run.
    Approved,
    /// The user wants other arguments.
    Edited(Value),
}

impl ApprovalStep<'_> {
    /// Asks when it is this call's turn. The decision is updated, with how the call was allowed.
    pub(crate) async fn ask(&self, decision: &mut Decision) -> Result<ApprovalOutcome, ToolError> {
        let questions = self.request.session.questions();
        let mut granted = questions.granted();
        // Held until the answer has taken effect: the next question must see what it allows.
        let _turn = if self.approver.one_at_a_time() { Some(self.request.stop.unless(questions.turn()).await?) } else { None };
        if !self.must_ask(decision)? {
            return Ok(ApprovalOutcome::Approved);
        }
        let mut question = self.question(decision).await;
        question.edit_fault.clone_from(&self.edit_fault);
        loop {
            let answer = self.answer(question.clone(), &mut granted, decision).await?;
            if let Some(ApprovalAnswer::AlwaysBy(rules)) = &answer
                && let Err(fault) = self.check(rules, decision)
            {
                question.id = haft_store::new_uuid().to_string();
                question.edit_fault = Some(fault);
                continue;
            }
            match answer {
                None => {}
                // A connection of a running command has no arguments of its own.
                Some(ApprovalAnswer::Edit(_)) if self.subject.is_some() => return Err(ToolError::denied("A connection cannot be edited.")),
                Some(ApprovalAnswer::Edit(arguments)) => return Ok(ApprovalOutcome::Edited(arguments)),
                Some(answer) => {
                    let how = self.allow(answer, question.rules, &question.widths).await?;
                    decision.pass("approval", how);
                }
            }
            return Ok(ApprovalOutcome::Approved);
        }
    }

    /// Whether rules that the user wrote answer the question; the error is for the user.
    fn check(&self, rules: &[String], decision: &Decision) -> Result<(), String> {
        let PermitRequest { policy, entry, session, .. } = self.request;
        policy.check_answer(rules, &entry.candidate(), self.plan, session.caller(), decision)
    }

    /// Decides again, because the answer to another question may have allowed this call.
    fn must_ask(&self, decision: &mut Decision) -> Result<bool, ToolError> {
        let PermitRequest { policy, entry, facts: CallFacts { taint, .. }, session, .. } = self.request;
        *decision = decide(policy, self.offered.clone(), entry, self.plan, taint, session);
        if !entry.definition().permissions.is_empty() {
            decision.pass("host permission", "granted");
        }
        match decision.verdict {
            Verdict::Deny => Err(refused(decision, &self.request.advice(self.plan).advise(decision))),
            verdict => Ok(verdict == Verdict::Ask),
        }
    }

    async fn question(&self, decision: &Decision) -> ApprovalRequest {
        let PermitRequest { policy, entry, facts: CallFacts { call, arguments, .. }, limits, past, .. } = self.request;
        let (arguments, effects) = (arguments.clone().into_value(), self.plan.effects().to_vec());
        let fingerprint = fingerprint(entry.name(), &arguments, &effects);
        let rules = policy.persistent_rules(&entry.candidate(), self.plan, decision);
        let mut question = ApprovalRequest::new(call.clone(), arguments, effects, self.reason(decision));
        question.id = haft_store::new_uuid().to_string();
        question.fingerprint = fingerprint;
        question.rules = rules.and_then(|rules| if rules.is_empty() { Err("no rule covers it".into()) } else { Ok(rules) });
        question.widths = policy.grant_widths(&entry.candidate(), self.plan, decision);
        let similar = policy.similar_rules(&entry.candidate(), self.plan);
        question.similar = (!similar.is_empty()).then(|| GrantWidth::new("similar", similar));
        // The history is read once for all of them.
        question.widths.extend(question.similar.take());
        past.show_covered(policy, &mut question.widths).await;
        question.similar = question.widths.pop_if(|last| last.name == "similar");
        question.time_limit = Some(limits.approval).filter(|limit| *limit < NO_LIMIT);
        question.is_tainted = self.request.session.has_seen_untrusted();
        question
    }

    /// Why the user is asked. The subject already says what goes beyond the access level.
    fn reason(&self, decision: &Decision) -> String {
        match &self.subject {
            Some(subject) => std::iter::once(subject.clone()).chain(other_asks(decision)).collect::<Vec<_>>().join("; "),
            None => decision.ask_reasons().join("; "),
        }
    }

    /// The user's answer; `None` if the call was allowed in another way meanwhile. The time limit starts here.
    async fn answer(
        &self,
        question: ApprovalRequest,
        granted: &mut watch::Receiver<()>,
        decision: &mut Decision,
    ) -> Result<Option<ApprovalAnswer>, ToolError> {
        let limit = self.request.limits.approval;
        let mut open = QuestionEvents::new(self.request.events, self.request.facts.call, &question);
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

    /// Applies an answer; describes for history what it allows.
    async fn allow(&self, answer: ApprovalAnswer, rules: Result<Vec<String>, String>, widths: &[GrantWidth]) -> Result<String, ToolError> {
        match (answer, rules) {
            (ApprovalAnswer::AlwaysAs(index), Ok(_)) if index < widths.len() => self.grant_always(&widths[index].rules).await,
            (ApprovalAnswer::AlwaysBy(rules), Ok(_)) | (ApprovalAnswer::Always, Ok(rules)) => self.grant_always(&rules).await,
            (ApprovalAnswer::Session, Ok(rules)) => Ok(self.grant_for_session(&rules)),
            // If no rule covers the call, a yes allows this call alone.
            (ApprovalAnswer::Once | ApprovalAnswer::Session | ApprovalAnswer::Always | ApprovalAnswer::AlwaysAs(_), _) => Ok("once".into()),
            (ApprovalAnswer::Deny { comment: Some(comment) }, _) => Err(ToolError::denied(format!("The user said no: {comment}"))),
            _ => Err(ToolError::denied("The user said no. Do not repeat the call; ask what they want instead.")),
        }
    }

    fn grant_for_session(&self, rules: &[String]) -> String {
        let PermitRequest { policy, entry, session, .. } = self.request;
        match policy.grant(session.caller(), &entry.candidate(), rules) {
            Ok(()) => {
                session.questions().notify_granted();
                format!("for this session: {}", rules.join(", "))
            }
            Err(why) => {
                self.report_not_kept(rules, format!("the next such call is asked about again: {why}"));
                format!("once, because {} cannot hold for the session: {why}", rules.join(", "))
            }
        }
    }

    /// The rules hold at once, whatever comes of saving them.
    async fn grant_always(&self, rules: &[String]) -> Result<String, ToolError> {
        let granted = self.grant_for_session(rules);
        match self.save(rules).await? {
            Ok(file) => Ok(format!("always: {}, saved in {file}", rules.join(", "))),
            Err(why) => {
                self.report_not_kept(rules, format!("nothing was saved: {why}"));
                Ok(format!("{granted} (not saved: {why})"))
            }
        }
    }

    async fn save(&self, rules: &[String]) -> Result<Result<String, String>, ToolError> {
        let Some(store) = self.request.session.rule_store() else {
            return Ok(Err("there is no file for it here".into()));
        };
        let saved = self.request.stop.unless(within(SAVE_TIMEOUT, store.keep(rules))).await?;
        Ok(saved.unwrap_or_else(|| Err(format!("it took longer than {} s", SAVE_TIMEOUT.as_secs()))))
    }

    fn report_not_kept(&self, rules: &[String], why: String) {
        emit(self.request.events, &Event::NotKept { call: self.request.facts.call, rules, why });
    }
}

/// Why the user is asked, besides the access level.
pub(crate) fn other_asks(decision: &Decision) -> Vec<String> {
    let mut others = Decision::allow();
    others.trace = decision.trace.iter().filter(|entry| entry.step != "access level").cloned().collect();
    others.ask_reasons()
}

/// An open question. Observers are told of its end, however it ends.
struct QuestionEvents<'a> {
    events: Option<&'a dyn EventSink>,
    call: &'a CallInfo,
    id: String,
    answer: Option<ApprovalAnswer>,
}

impl<'a> QuestionEvents<'a> {
    fn new(events: Option<&'a dyn EventSink>, call: &'a CallInfo, question: &ApprovalRequest) -> Self {
        emit(events, &Event::Asked { request: question });
        Self { events, call, id: question.id.clone(), answer: None }
    }
}

impl Drop for QuestionEvents<'_> {
    fn drop(&mut self) {
        emit(self.events, &Event::Answered { call: self.call, id: &self.id, answer: self.answer.as_ref() });
    }
}

/// The refusal of a call that no one can approve.
pub(crate) fn no_approver(decision: &Decision, advice: &Advice) -> ToolError {
    let message = format!(
        "This call needs approval ({}), and no one can approve here. Do without it, or tell the user what you need it for.",
        decision.question()
    );
    ToolError::denied(message).with_details(details(decision, advice))
}

fn too_late(limit: Duration) -> ToolError {
    let message = format!("No answer came within {} s, so the call was not made. Continue without it, or ask the user.", limit.as_secs());
    ToolError::new(ErrorKind::ApprovalTimeout, message)
}
