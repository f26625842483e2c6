//! The trail of a call: every stage writes its result here, and history, hooks and the result are made of it at the end.

mod arguments;
pub(crate) mod record;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use haft_contract::{Arguments, CallInfo, Effect, ErrorKind, Form, JobUse, Plan, Prepared, ToolCall, ToolError, ToolOutput, ToolResult};
use haft_policy::{Candidate, Decision, Verdict};
use haft_store::{CallRow, CallStatus};
use haft_text::truncate::first_chars;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::Value;
use uuid::Uuid;

use self::arguments::excerpt;
pub(crate) use self::arguments::{RecordedArguments, Retention, redacted};
use self::record::RecordedDecision;
use crate::egress::CallConnections;
use crate::explain::HOOK;
use crate::hooks::HookCall;
use crate::journal::{CallJournal, JournalStores};
use crate::stages::arguments::CheckedArguments;
use crate::stages::guard::CallSignature;
use crate::stages::rewrite::RewriteState;
use crate::stages::taint::{SessionTaint, TaintFacts, secret_in};
use crate::{CallLimits, Session, ToolEntry};

/// Everything that history and hooks need of a call, as far as it has come.
#[derive(Debug, Clone)]
pub(crate) struct Trail {
    record: Uuid,
    call: Arc<CallInfo>,
    entry: Option<Arc<ToolEntry>>,
    started_at: SystemTime,
    started: Instant,
    arguments: RecordedArguments,
    /// Written as JSON when the record is made, behind the call.
    effects: Option<Arc<Vec<Effect>>>,
    /// Whether there is a plan: hooks see its effects.
    is_planned: bool,
    decision: Decision,
    signature: Option<CallSignature>,
    changes: bool,
    /// Until the record is queued.
    journal: Option<Arc<CallJournal>>,
    /// Of its command, if it runs one that may connect.
    connections: OnceLock<CallConnections>,
    /// The shape of a secret in the arguments.
    secret: Option<&'static str>,
    /// Apart, because the trails of a thousand calls may wait for history.
    rare: Option<Box<RareFacts>>,
}

/// What few calls have.
#[derive(Debug, Clone, Default)]
struct RareFacts {
    /// The form that the model called, if not the canonical one.
    form: Option<Form>,
    /// The arguments before the first hook changed them.
    original: Option<Value>,
    /// The jobs that the plan uses.
    jobs: Vec<JobUse>,
    /// About the arguments.
    warnings: Vec<String>,
    /// What the model is told of arguments that the user edited.
    edited: Option<String>,
    /// What the user was advised to change, if the call was refused.
    advice: Option<Value>,
}

/// What permission and approval read of a call.
#[derive(Clone, Copy)]
pub(crate) struct CallFacts<'a> {
    pub(crate) call: &'a CallInfo,
    pub(crate) arguments: &'a RecordedArguments,
    pub(crate) taint: TaintFacts,
}

impl Trail {
    pub(crate) fn new(call: &mut ToolCall, session: &Session, stores: &Arc<JournalStores>) -> Self {
        let started_at = session.host().clock().now();
        let record = record::new_id(started_at);
        let name = first_chars(&call.name, 100).to_owned();
        let info = CallInfo {
            id: std::mem::take(&mut call.id),
            tool: name,
            session: Arc::clone(session.id()),
            agent: Arc::clone(session.agent()),
        };
        Self {
            record,
            entry: None,
            call: Arc::new(info),
            started_at,
            started: Instant::now(),
            arguments: RecordedArguments::default(),
            effects: None,
            is_planned: false,
            decision: Decision::allow(),
            signature: session.watches_loops().then(|| CallSignature::new(call)),
            changes: false,
            journal: Some(Arc::new(CallJournal::new(stores, record))),
            connections: OnceLock::new(),
            secret: None,
            rare: None,
        }
    }

    /// Notes what few calls have. Nothing is noted only in place of something.
    fn note_rare(&mut self, is_something: bool, set: impl FnOnce(&mut RareFacts)) {
        if is_something || self.rare.is_some() {
            set(self.rare.get_or_insert_default());
        }
    }

    /// How long the call has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
    /// The id of the call in history.
    pub(crate) fn record_id(&self) -> Uuid {
        self.record
    }
    pub(crate) fn call(&self) -> &Arc<CallInfo> {
        &self.call
    }
    /// The limit of its output: the one that is set for the tool, or else that of all calls and what the tool declares.
    pub(crate) fn output_limit(&self, limits: &CallLimits) -> usize {
        let Some(entry) = &self.entry else { return limits.output_of(0) };
        entry.output_bytes().unwrap_or_else(|| limits.output_of(entry.definition().max_output))
    }
    /// Whether the plan changes something.
    pub(crate) fn changes_something(&self) -> bool {
        self.changes
    }
    /// The connections of its command.
    pub(crate) fn connections(&self) -> &CallConnections {
        self.connections.get_or_init(CallConnections::default)
    }
    /// Where the tool writes pre-images and spills, and what it said of the call.
    pub(crate) fn journal(&self) -> &Arc<CallJournal> {
        match &self.journal {
            Some(journal) => journal,
            None => unreachable!("it goes when the record is queued"),
        }
    }
    /// Whether the call must be on disk before it runs: it changes something, or a user was asked about it.
    pub(crate) fn needs_intent(&self) -> bool {
        self.changes || self.decision.verdict == Verdict::Ask
    }

    /// guard: refuses a call that has repeated itself without progress.
    pub(crate) fn check_loop(&self, session: &Session) -> Result<(), ToolError> {
        self.signature.map_or(Ok(()), |signature| session.loop_guard().check(signature, &self.call.tool, self.started_at))
    }

    /// resolve: the tool that the call names.
    pub(crate) fn set_tool(&mut self, entry: &Arc<ToolEntry>) {
        if self.call.tool != entry.name() {
            entry.name().clone_into(&mut Arc::make_mut(&mut self.call).tool);
        }
        self.entry = Some(Arc::clone(entry));
    }

    /// arguments: the form that the model called, if not the canonical one.
    pub(crate) fn set_form(&mut self, form: Option<Form>) {
        self.note_rare(form.is_some(), |rare| rare.form = form);
    }
    /// run: likewise.
    pub(crate) fn form(&self) -> Option<Form> {
        self.rare.as_ref()?.form
    }

    /// available, plan: the decision so far.
    pub(crate) fn set_decision(&mut self, decision: Decision) {
        self.decision = decision;
    }
    /// plan: the decision so far, to be continued and set again.
    pub(crate) fn take_decision(&mut self) -> Decision {
        std::mem::take(&mut self.decision)
    }

    /// arguments: those that were refused, as they came.
    pub(crate) fn set_refused_arguments(&mut self, arguments: Arguments) {
        self.arguments = arguments.into();
    }

    /// arguments: those that were accepted. Returns the value.
    pub(crate) fn set_arguments(&mut self, checked: CheckedArguments, retention: Retention) -> Value {
        let CheckedArguments { value, warnings, text } = checked;
        self.note_rare(!warnings.is_empty(), |rare| rare.warnings = warnings);
        self.secret = secret_in(&value);
        self.arguments = RecordedArguments::new(text, &value, retention);
        value
    }

    /// rewrite: the arguments as the hooks left them. Returns the value and, if a hook needed one, its plan.
    pub(crate) fn set_rewritten(&mut self, state: RewriteState, retention: Retention) -> (Value, Option<Prepared>) {
        let RewriteState { checked, original, prepared, asks } = state;
        let original = original.as_ref().map(excerpt);
        self.note_rare(original.is_some(), |rare| rare.original = original);
        let value = self.set_arguments(checked, retention);
        for why in asks {
            self.decision.ask(HOOK, why);
        }
        (value, prepared)
    }

    /// permit: the user edited the arguments.
    pub(crate) fn set_edited(&mut self, arguments: &Value) {
        let shown = arguments::redacted(excerpt(arguments));
        let note = format!("\n[The user changed the arguments of this call to {shown}]");
        self.note_rare(true, |rare| rare.edited = Some(note));
    }
    /// permit: the arguments that the model gave.
    pub(crate) fn original_arguments(&self) -> Value {
        let original = self.rare.as_ref().and_then(|rare| rare.original.clone());
        original.unwrap_or_else(|| excerpt(&self.arguments()))
    }
    /// permit: the arguments that the model gave, before the user edited them.
    pub(crate) fn set_original(&mut self, arguments: Value) {
        self.note_rare(true, |rare| rare.original = Some(arguments));
    }
    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }
    /// settle: what the model is told of arguments that the user edited.
    pub(crate) fn edit_note(&self) -> Option<&str> {
        self.rare.as_ref()?.edited.as_deref()
    }

    /// plan: the effects.
    pub(crate) fn set_plan(&mut self, plan: &Plan) {
        self.changes = plan.changes_something();
        (self.effects, self.is_planned) = (plan.shared_effects(), true);
        let jobs = plan.jobs();
        self.note_rare(!jobs.is_empty(), |rare| rare.jobs = jobs.to_vec());
    }
    fn effects(&self) -> &[Effect] {
        self.effects.as_ref().map_or(&[], |effects| effects.as_slice())
    }

    /// run: taints the session, if the tool brought untrusted content in.
    pub(crate) fn report_untrusted(&self, session: &Session) {
        if self.journal().is_untrusted() {
            session.taint().record_untrusted(self.record);
        }
    }
    /// permit: what the stage reads, and the decision that it updates in place.
    pub(crate) fn permit_parts(&mut self) -> (CallFacts<'_>, &mut Decision) {
        let taint = TaintFacts { secret: self.secret, running: None };
        (CallFacts { call: &self.call, arguments: &self.arguments, taint }, &mut self.decision)
    }
    /// run: the arguments, and the shape of a secret in them, for questions while the tool runs.
    pub(crate) fn recorded_arguments(&self) -> (&RecordedArguments, Option<&'static str>) {
        (&self.arguments, self.secret)
    }

    /// settle: counts the outcome for the loop guard, and gives the number of the attempt if it is worth a note.
    pub(crate) fn count_attempt(&self, outcome: &Result<ToolOutput, ToolError>, session: &Session) -> Option<u32> {
        let uncounted = matches!(outcome, Err(error) if matches!(error.kind(), ErrorKind::LoopBlocked | ErrorKind::Cancelled));
        let signature = self.signature.filter(|_| !uncounted)?;
        session.loop_guard().record(signature, outcome, self.changes, self.started_at)
    }
    /// settle: what a refusal advised to change, for history.
    pub(crate) fn set_advice(&mut self, outcome: &Result<ToolOutput, ToolError>) {
        let details = outcome.as_ref().err().and_then(ToolError::details);
        let advice = details.and_then(|details| details.get("to_change"));
        self.note_rare(advice.is_some(), |rare| rare.advice = advice.cloned());
    }
    /// settle: warnings about the arguments.
    pub(crate) fn warnings(&self) -> &[String] {
        self.rare.as_ref().map_or(&[], |rare| &rare.warnings)
    }
    /// settle: the result of the call.
    pub(crate) fn result(&self, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        let tool = self.entry.as_ref().map_or_else(|| Cow::Owned(self.call.tool.clone()), |entry| Cow::from(&**entry));
        ToolResult { call_id: self.call.id.clone(), tool, outcome, elapsed: self.started.elapsed(), stored: None }
    }
    /// settle: the whole arguments, for hooks.
    pub(crate) fn arguments(&self) -> Value {
        self.arguments.clone().into_value()
    }
    /// settle: the tool, for hooks.
    pub(crate) fn candidate(&self) -> Option<Candidate<'_>> {
        self.entry.as_ref().map(|entry| entry.candidate())
    }
    /// settle: the call, for hooks.
    pub(crate) fn hook_call<'a>(&'a self, arguments: &'a Value, tool: Option<&'a Candidate<'a>>) -> HookCall<'a> {
        HookCall { call: &self.call, arguments, tool, effects: self.is_planned.then(|| self.effects()) }
    }

    /// The record of a call that is about to run.
    pub(crate) fn to_intent(&self, session: &Session) -> CallRow {
        self.clone().into_row(session, *session.taint(), CallStatus::Begun, String::new(), self.started.elapsed())
    }

    /// Makes the record later. Without the journal, which holds the log: that must not wait for its end in its own queue.
    pub(crate) fn recording(
        mut self: Box<Self>,
        session: Session,
        status: CallStatus,
        summary: String,
        elapsed: Duration,
    ) -> Box<dyn FnOnce() -> CallRow + Send> {
        self.journal = None;
        // As it is now: the record may be made later.
        let taint = *session.taint();
        Box::new(move || self.into_row(&session, taint, status, summary, elapsed))
    }

    /// The record of the call. Redaction happens here, on the store's own thread where there is one.
    fn into_row(mut self, session: &Session, taint: SessionTaint, status: CallStatus, summary: String, elapsed: Duration) -> CallRow {
        let connections = self.connections.get().map(CallConnections::recorded).unwrap_or_default();
        let RareFacts { original, jobs, advice, .. } = self.rare.take().map(|rare| *rare).unwrap_or_default();
        let decision = RecordedDecision::new(&self.decision, advice.as_ref(), session.caller(), connections, taint);
        CallRow {
            id: self.record.to_string(),
            call_id: self.call.id.clone(),
            session: Arc::clone(session.id()),
            agent: Arc::clone(session.agent()),
            tool: self.call.tool.clone(),
            workspace: session.workspace().to_owned(),
            effects: arguments::redacted_json(serde_json::to_string(&PlannedEffects { effects: self.effects(), jobs: &jobs })),
            decision: arguments::redacted_json(serde_json::to_string(&decision)),
            arguments: self.arguments.into_json(),
            original_arguments: original.map(|value| arguments::redacted(value).to_string()),
            started: self.started_at,
            elapsed,
            status,
            summary,
            undone: false,
        }
    }
}

/// Effects and uses of jobs, as one list.
struct PlannedEffects<'a> {
    effects: &'a [Effect],
    jobs: &'a [JobUse],
}

impl Serialize for PlannedEffects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.effects.len() + self.jobs.len()))?;
        self.effects.iter().try_for_each(|effect| list.serialize_element(effect))?;
        self.jobs.iter().try_for_each(|job| list.serialize_element(job))?;
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trail_is_no_larger_than_its_golden_size() {
        // Each line of the cache in it goes to the processor that writes history.
        assert!(size_of::<Trail>() <= 328, "a trail has {} bytes", size_of::<Trail>());
    }
}
