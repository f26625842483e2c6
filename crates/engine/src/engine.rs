//! The pipeline: every call goes through these stages in this order, and comes out with exactly one result.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use haft_contract::{Form, Plan, Prepared, ToolCall, ToolContext, ToolError, ToolOutput, ToolResult};
use haft_policy::{Policy, StandardPolicy, Verdict};
use haft_store::{Blobs, CallLog, CallStatus};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::events::{Event, EventSink};
use crate::explain::HOOK;
use crate::forms::{Spoken, reading_on};
use crate::hooks::{Hook, Hooks};
use crate::journal::{CallGate, CallJournal, SpillLimits};
use crate::locks::{Locks, Ticket};
use crate::stages::arguments::{Checked, check_as};
use crate::stages::bound::{bound, spilled};
use crate::stages::permit::{self, permit};
use crate::stages::plan::plan;
use crate::stages::resolve::{available, resolve};
use crate::stages::rewrite::{Draft, Rewriting, rewrite};
use crate::stages::run::{cancelled, panic_error, run};
use crate::stages::settle::{Need, Remembered, Settling, Trail, remembered, settle, tell};
use crate::stages::taint::secret_in;
use crate::stop::Stop;
use crate::workers::Workers;
use crate::{Entry, Limits, Registry, Session};

/// Answers calls. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) log: Arc<dyn CallLog>,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) hooks: Hooks,
    events: Option<Arc<dyn EventSink>>,
    pub(crate) limits: Limits,
    pub(crate) locks: Locks,
    pub(crate) workers: Workers,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("registry", &self.inner.registry).finish_non_exhaustive()
    }
}

/// A call that was planned, and what it takes to go on.
pub(crate) struct Ready {
    entry: Arc<Entry>,
    /// What the model called it as, if not by its canonical parameters.
    form: Option<Form>,
    prepared: Prepared,
}

impl Ready {
    pub(crate) fn plan(&self) -> &haft_contract::Plan {
        self.prepared.plan()
    }
}

/// A call that ends before its tool runs: refused, or answered by a hook.
pub(crate) enum Early {
    Refused(ToolError),
    Answered(ToolOutput),
}

impl From<ToolError> for Early {
    fn from(error: ToolError) -> Self {
        Self::Refused(error)
    }
}

impl Early {
    pub(crate) fn outcome(self) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Refused(error) => Err(error),
            Self::Answered(output) => Ok(output),
        }
    }
}

impl Engine {
    /// An engine over these tools, with history and blobs kept there.
    pub fn builder(registry: Arc<Registry>, log: Arc<dyn CallLog>, blobs: Arc<dyn Blobs>) -> EngineBuilder {
        EngineBuilder {
            inner: Inner {
                registry,
                policy: Arc::new(StandardPolicy::default()),
                log,
                blobs,
                hooks: Hooks::default(),
                events: None,
                limits: Limits::default(),
                locks: Locks::default(),
                workers: Workers::default(),
            },
            hooks: Vec::new(),
        }
    }

    /// The tools.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.inner.registry
    }

    /// Answers one call. Never fails, never panics outward: whatever happens is the call's one result. Dropped before it is
    /// done, it takes the tool along.
    pub async fn run(&self, call: ToolCall, session: &Session) -> ToolResult {
        self.answer(call, session, None).await
    }

    /// As [`Engine::run`], stopped by this token as well. The token is only listened to, never cancelled.
    pub async fn run_until(&self, call: ToolCall, session: &Session, cancel: &CancellationToken) -> ToolResult {
        self.answer(call, session, Some(cancel)).await
    }

    async fn answer(&self, call: ToolCall, session: &Session, cancel: Option<&CancellationToken>) -> ToolResult {
        let stop = Stop::new(session, cancel);
        let mut trail = Trail::new(&call, session);
        let outcome = guarded(async {
            let ready = self.prepare(call, session, &stop, &mut trail).await?;
            self.perform(ready, None, session, &stop, &mut trail).await.map_err(Early::Refused)
        })
        .await;
        self.settle(trail, outcome, session, &stop).await
    }

    /// loop guard ▸ resolve ▸ available ▸ arguments ▸ rewrite ▸ plan: nothing has happened yet when this is done.
    pub(crate) async fn prepare(&self, call: ToolCall, session: &Session, stop: &Stop<'_>, trail: &mut Trail) -> Result<Ready, Early> {
        let engine = &*self.inner;
        if let Some(signature) = trail.signature {
            session.loop_guard().check(signature, &trail.call.tool, trail.started_at)?;
        }
        let entry = resolve(&engine.registry, &call.name, session.dialect())?;
        trail.found(&entry);
        trail.decision = available(&*engine.policy, &entry, session).map_err(|(error, decision)| {
            trail.decision = decision;
            error
        })?;
        let form = entry.called(&call.name, session.dialect());
        let mut arguments = call.arguments;
        let checked = check_as(&entry, form, &mut arguments, engine.limits.argument_bytes);
        let checked = checked.inspect_err(|_| trail.arguments = arguments.into())?;
        let (arguments, prepared) = self.rewritten(&entry, checked, session, stop, trail).await?;
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => plan(&engine.workers, &entry, arguments, session, stop).await?,
        };
        self.note_plan(prepared.plan(), trail);
        Ok(Ready { form: form.map(Spoken::form), entry, prepared })
    }

    /// The arguments as the hooks left them, and their plan if one of them had to know it.
    async fn rewritten(
        &self,
        entry: &Arc<Entry>,
        checked: Checked,
        session: &Session,
        stop: &Stop<'_>,
        trail: &mut Trail,
    ) -> Result<(Value, Option<Prepared>), Early> {
        let mut draft = Draft::from(checked);
        let rewritten = if self.inner.hooks.is_empty() { Ok(()) } else { self.rewrite(entry, &mut draft, session, stop, trail).await };
        let Draft { checked, original, prepared, asks } = draft;
        trail.original = original.as_ref().map(remembered);
        trail.warnings = checked.warnings;
        trail.secret = secret_in(&checked.value);
        trail.arguments = Remembered::new(checked.text, &checked.value, self.need(session));
        for why in asks {
            trail.decision.ask(HOOK, why);
        }
        rewritten?;
        Ok((checked.value, prepared))
    }

    async fn rewrite(&self, entry: &Arc<Entry>, draft: &mut Draft, session: &Session, stop: &Stop<'_>, trail: &Trail) -> Result<(), Early> {
        let engine = &*self.inner;
        let stage = Rewriting {
            hooks: &engine.hooks,
            events: engine.events.as_deref(),
            limits: &engine.limits,
            workers: &engine.workers,
            entry,
            call: &trail.call,
            session,
            stop,
        };
        stop.unless(rewrite(stage, draft)).await?
    }

    fn note_plan(&self, plan: &Plan, trail: &mut Trail) {
        trail.changes = plan.changes_something();
        if !plan.effects().is_empty() {
            trail.effects = serde_json::to_value(plan.effects()).unwrap_or_default();
        }
        if !self.inner.hooks.is_empty() {
            trail.planned = Some(plan.effects().to_vec());
        }
    }

    /// guard ▸ permit ▸ run. A batch has drawn its ticket before, to keep call order; a single call draws it when nobody
    /// needs to be asked any more.
    pub(crate) async fn perform(
        &self,
        ready: Ready,
        ticket: Option<Ticket>,
        session: &Session,
        stop: &Stop<'_>,
        trail: &mut Trail,
    ) -> Result<ToolOutput, ToolError> {
        let engine = &*self.inner;
        let Ready { entry, form, prepared } = ready;
        let request = permit::Request {
            policy: &*engine.policy,
            limits: &engine.limits,
            events: engine.events.as_deref(),
            entry: &entry,
            call: &trail.call,
            arguments: &trail.arguments,
            secret: trail.secret,
            session,
            stop,
        };
        let cleared = permit(request, prepared, &mut trail.decision).await?;
        let ticket = ticket.unwrap_or_else(|| engine.locks.queue(cleared.plan()));
        stop.unless(ticket.granted()).await?;
        if stop.is_requested() {
            return Err(cancelled());
        }
        self.record_intent(trail, session).await?;
        session.taint().record(cleared.plan(), entry.source());
        tell(engine.events.as_deref(), &Event::Started { call: &trail.call });
        let context = |plan| self.context(plan, &entry, session, stop, trail).called_as(session.dialect(), form);
        let outcome = run(&engine.workers, cleared, &entry, context, stop).await;
        match outcome {
            // While the files are still this call's own.
            Err(error) if trail.changes => Err(self.without_half_of_it(error, trail.record, session).await),
            outcome => outcome,
        }
    }

    /// A call that failed has changed no file: what it had written by then is put back.
    async fn without_half_of_it(&self, error: ToolError, record: uuid::Uuid, session: &Session) -> ToolError {
        let left = self.revert(&record.to_string(), &**session.host()).await;
        if left.is_empty() {
            return error;
        }
        let files: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
        let message =
            format!("{} These files were changed before it failed, and could not be put back: {}.", error.message(), files.join(", "));
        error.with_message(message)
    }

    /// What a tool may use, narrowed to its plan.
    fn context(&self, plan: Plan, entry: &Arc<Entry>, session: &Session, stop: &Stop<'_>, trail: &Trail) -> ToolContext {
        let gate = CallGate { policy: Arc::clone(&self.inner.policy), session: session.clone(), entry: Arc::clone(entry) };
        ToolContext::new(
            Arc::clone(&trail.call),
            plan,
            Arc::clone(session.host()),
            stop.token().clone(),
            Arc::new(gate),
            Arc::new(self.journal(trail.record)),
            session.progress().cloned(),
        )
        .remembering(Arc::clone(session.seen()))
    }

    /// A call that changes something, or that a person was asked about, is on disk before it runs: after a crash, history
    /// knows that it was begun, and who allowed it.
    async fn record_intent(&self, trail: &Trail, session: &Session) -> Result<(), ToolError> {
        if !trail.changes && trail.decision.verdict != Verdict::Ask {
            return Ok(());
        }
        let log = &self.inner.log;
        let recorded = log.append(trail.to_record(session, CallStatus::Begun));
        let recorded = match recorded {
            Ok(()) => log.flush().await,
            Err(error) => Err(error),
        };
        recorded.map_err(|error| {
            ToolError::execution(format!("Nothing was done, because the call could not be recorded first: {error}")).with_source(error)
        })
    }

    /// bound ▸ settle, for every outcome, wherever it came from: nothing leaves that is too large or holds a known secret.
    pub(crate) async fn settle(
        &self,
        trail: Trail,
        outcome: Result<ToolOutput, ToolError>,
        session: &Session,
        stop: &Stop<'_>,
    ) -> ToolResult {
        let engine = &*self.inner;
        let own_cap = trail.entry.as_ref().map_or(0, |entry| entry.definition().max_output);
        let read_on = |line| reading_on(&engine.registry, session.dialect(), line);
        let outcome = bound(outcome, engine.limits.output_of(own_cap), &self.journal(trail.record), &read_on).await;
        let settling = Settling { hooks: &engine.hooks, log: &*engine.log, events: engine.events.as_deref(), limits: &engine.limits, stop };
        settle(settling, trail, outcome, session).await
    }

    /// Makes a result shorter than it is, for whoever has less room than the configuration gives: the rest is kept among the
    /// spills, and the result says where.
    pub async fn shorten(&self, result: &mut ToolResult, bytes: usize, session: &Session) {
        let whole = std::mem::replace(&mut result.outcome, Ok(ToolOutput::text("")));
        let read_on = |line| reading_on(&self.inner.registry, session.dialect(), line);
        result.outcome = bound(whole, bytes, &self.journal(uuid::Uuid::nil()), &read_on).await;
    }

    /// Keeps a text among the spills, which `read_file` may read; says where.
    pub async fn spill(&self, text: &str) -> Result<PathBuf, ToolError> {
        Ok(spilled(text, &self.journal(uuid::Uuid::nil())).await?.path)
    }

    fn journal(&self, record: uuid::Uuid) -> CallJournal {
        let limits = &self.inner.limits;
        CallJournal {
            log: Arc::clone(&self.inner.log),
            blobs: Arc::clone(&self.inner.blobs),
            record,
            limits: SpillLimits { bytes: limits.spill_bytes, age: limits.spill_age },
        }
    }

    /// Whoever may be asked or told must be shown the whole call.
    fn need(&self, session: &Session) -> Need {
        if session.approver().is_some() || !self.inner.hooks.is_empty() { Need::Whole } else { Need::Heads }
    }
}

/// Turns a panic of anything that is not ours (a policy, an approver, a host) into the call's outcome.
pub(crate) async fn guarded(stages: impl Future<Output = Result<ToolOutput, Early>>) -> Result<ToolOutput, ToolError> {
    match AssertUnwindSafe(stages).catch_unwind().await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(early)) => early.outcome(),
        Err(payload) => Err(panic_error(&*payload)),
    }
}

/// Makes an [`Engine`].
pub struct EngineBuilder {
    inner: Inner,
    hooks: Vec<Arc<dyn Hook>>,
}

impl std::fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EngineBuilder")
    }
}

impl EngineBuilder {
    /// Who decides.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.inner.policy = policy;
        self
    }
    /// Adds a hook; those with a higher priority are asked first, among equals those that were added first.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }
    /// Who is told what happens.
    pub fn events(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.inner.events = Some(sink);
        self
    }
    /// How much of everything there may be.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.inner.limits = limits;
        self
    }
    /// Done.
    pub fn build(mut self) -> Engine {
        self.inner.hooks = Hooks::new(self.hooks, self.inner.limits.hook);
        Engine { inner: Arc::new(self.inner) }
    }
}
