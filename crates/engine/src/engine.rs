//! The pipeline: every call goes through these stages in this order, and comes out with exactly one result.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use haft_contract::{Prepared, ToolCall, ToolContext, ToolError, ToolOutput, ToolResult};
use haft_store::{Blobs, CallLog, CallStatus};
use tokio_util::sync::CancellationToken;

use crate::events::{Event, EventSink};
use crate::hooks::Hook;
use crate::journal::{CallGate, CallJournal, SpillLimits};
use crate::locks::{Locks, Ticket};
use crate::policy::{Policy, StandardPolicy};
use crate::stages::arguments::check;
use crate::stages::bound::bound;
use crate::stages::permit::{self, permit};
use crate::stages::plan::plan;
use crate::stages::resolve::{available, resolve};
use crate::stages::rewrite::{Rewritten, rewrite};
use crate::stages::run::{cancelled, panic_error, run};
use crate::stages::settle::{Need, Remembered, Settling, Trail, remembered, settle, tell};
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
    hooks: Vec<Arc<dyn Hook>>,
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
                hooks: Vec::new(),
                events: None,
                limits: Limits::default(),
                locks: Locks::default(),
                workers: Workers::default(),
            },
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
        self.settle(trail, outcome, session).await
    }

    /// loop guard ▸ resolve ▸ available ▸ arguments ▸ rewrite ▸ plan: nothing has happened yet when this is done.
    pub(crate) async fn prepare(&self, call: ToolCall, session: &Session, stop: &Stop<'_>, trail: &mut Trail) -> Result<Ready, Early> {
        let engine = &*self.inner;
        if let Some(signature) = trail.signature {
            session.loop_guard().check(signature, &trail.call.tool, trail.started_at)?;
        }
        let entry = resolve(&engine.registry, &call.name)?;
        if trail.call.tool != entry.name() {
            entry.name().clone_into(&mut Arc::make_mut(&mut trail.call).tool);
        }
        trail.tool = Cow::from(&*entry);
        trail.decision = available(&*engine.policy, &entry, session).map_err(|(error, decision)| {
            trail.decision = decision;
            error
        })?;
        let mut arguments = call.arguments;
        let checked = check(&entry, &mut arguments, engine.limits.argument_bytes).inspect_err(|_| trail.arguments = arguments.into())?;
        let checked = match stop.unless(rewrite(&engine.hooks, &entry, &trail.call, checked, &engine.limits)).await?? {
            Rewritten::Answered(output) => return Err(Early::Answered(output)),
            Rewritten::Go { arguments, original } => {
                trail.original = original.as_ref().map(remembered);
                arguments
            }
        };
        trail.warnings = checked.warnings;
        trail.arguments = Remembered::new(checked.text, &checked.value, self.need(session));
        let prepared = plan(&engine.workers, &entry, checked.value, session.host(), stop).await?;
        trail.changes = prepared.plan().changes_something();
        if !prepared.plan().effects().is_empty() {
            trail.effects = serde_json::to_value(prepared.plan().effects()).unwrap_or_default();
        }
        Ok(Ready { entry, prepared })
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
        let Ready { entry, prepared } = ready;
        let request =
            permit::Request { entry: &entry, call: &trail.call, arguments: &trail.arguments, plan: prepared.plan(), session, stop };
        let cleared = permit(&*engine.policy, &engine.limits, request, &mut trail.decision).await?;
        let ticket = ticket.unwrap_or_else(|| engine.locks.queue(prepared.plan()));
        stop.unless(ticket.granted()).await?;
        if stop.is_requested() {
            return Err(cancelled());
        }
        self.record_intent(trail, session).await?;
        let (plan, start) = prepared.into_parts();
        session.taint().record(&plan, entry.source());
        let context = ToolContext::new(
            Arc::clone(&trail.call),
            plan,
            Arc::clone(session.host()),
            stop.token().clone(),
            Arc::new(CallGate { policy: Arc::clone(&engine.policy), session: session.clone(), entry: Arc::clone(&entry) }),
            Arc::new(self.journal(trail)),
            session.progress().cloned(),
        );
        tell(engine.events.as_deref(), &Event::Started { call: &trail.call });
        run(&engine.workers, cleared, &entry, context, stop, start).await
    }

    /// A call that changes something is on disk before it does: after a crash, history knows that it was begun.
    async fn record_intent(&self, trail: &Trail, session: &Session) -> Result<(), ToolError> {
        if !trail.changes {
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
    pub(crate) async fn settle(&self, trail: Trail, outcome: Result<ToolOutput, ToolError>, session: &Session) -> ToolResult {
        let engine = &*self.inner;
        let entry = if trail.tool.is_empty() { None } else { engine.registry.get(&trail.tool) };
        let own_cap = entry.map_or(0, |entry| entry.definition().max_output);
        let outcome = bound(outcome, own_cap.max(engine.limits.output_bytes), &self.journal(&trail)).await;
        let settling = Settling { hooks: &engine.hooks, log: &*engine.log, events: engine.events.as_deref(), limits: &engine.limits };
        settle(settling, trail, outcome, session).await
    }

    fn journal(&self, trail: &Trail) -> CallJournal {
        let limits = &self.inner.limits;
        CallJournal {
            log: Arc::clone(&self.inner.log),
            blobs: Arc::clone(&self.inner.blobs),
            record: trail.record,
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
    /// Adds a hook; hooks run in the order they were added.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.inner.hooks.push(hook);
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
    pub fn build(self) -> Engine {
        Engine { inner: Arc::new(self.inner) }
    }
}
