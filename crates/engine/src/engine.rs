//! The pipeline: every call goes through these stages in this order, and comes out with exactly one result.

use std::borrow::Cow;
use std::sync::Arc;

use haft_contract::{CallInfo, Gate, Journal, Prepared, ToolCall, ToolContext, ToolError, ToolOutput, ToolResult};
use haft_store::{Blobs, CallLog, CallStatus};
use tokio_util::sync::CancellationToken;

use crate::events::{Event, EventSink};
use crate::hooks::Hook;
use crate::journal::{CallSupport, SpillLimits};
use crate::locks::{Locks, Ticket};
use crate::policy::{Policy, StandardPolicy};
use crate::stages::arguments::check;
use crate::stages::bound::{bound, bound_error};
use crate::stages::guard::{self, Signature};
use crate::stages::permit::{self, permit};
use crate::stages::plan::plan;
use crate::stages::resolve::{available, resolve};
use crate::stages::rewrite::{Rewritten, rewrite};
use crate::stages::run::{cancelled, run};
use crate::stages::settle::{Remembered, Settling, Trail, remembered, settle};
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

    /// Answers one call. Never fails, never panics outward: whatever happens is the call's one result.
    pub async fn run(&self, call: ToolCall, session: &Session) -> ToolResult {
        self.run_until(call, session, &session.cancellation().child_token()).await
    }

    /// As [`Engine::run`], stopped by this token as well.
    pub async fn run_until(&self, call: ToolCall, session: &Session, cancel: &CancellationToken) -> ToolResult {
        let mut trail = Trail::new(identify(&call, session), session.host().clock().now());
        let outcome = match self.prepare(call, session, &mut trail).await {
            Ok(ready) => {
                let ticket = self.inner.locks.queue(ready.plan());
                self.perform(ready, ticket, session, cancel, &mut trail).await
            }
            Err(early) => early.outcome(),
        };
        self.settle(trail, outcome, session).await
    }

    /// resolve ▸ available ▸ arguments ▸ rewrite ▸ plan: nothing has happened yet when this is done.
    pub(crate) async fn prepare(&self, call: ToolCall, session: &Session, trail: &mut Trail) -> Result<Ready, Early> {
        let engine = &*self.inner;
        let entry = resolve(&engine.registry, &call.name)?;
        if trail.call.tool != entry.name() {
            entry.name().clone_into(&mut Arc::make_mut(&mut trail.call).tool);
        }
        trail.tool = Cow::from(&*entry);
        trail.decision = available(&*engine.policy, &entry, session).map_err(|(error, decision)| {
            trail.decision = decision;
            error
        })?;
        let checked = check(&entry, call.arguments, engine.limits.argument_bytes)?;
        let checked = match rewrite(&engine.hooks, &entry, &trail.call, checked, engine.limits.argument_bytes).await? {
            Rewritten::Answered(output) => return Err(Early::Answered(output)),
            Rewritten::Go { arguments, original } => {
                trail.original = original.as_ref().map(remembered);
                arguments
            }
        };
        trail.warnings = checked.warnings;
        trail.arguments = Remembered::new(checked.text, &checked.value);
        trail.signature = session.watches_loops().then(|| Signature::of(entry.name(), &checked.value));
        let prepared = plan(&engine.workers, &entry, checked.value, session.host()).await?;
        trail.changes = prepared.plan().changes_something();
        if !prepared.plan().effects().is_empty() {
            trail.effects = serde_json::to_value(prepared.plan().effects()).unwrap_or_default();
        }
        Ok(Ready { entry, prepared })
    }

    /// guard ▸ permit ▸ run ▸ bound. Whatever it returns is bounded and free of known secrets.
    pub(crate) async fn perform(
        &self,
        ready: Ready,
        ticket: Ticket,
        session: &Session,
        cancel: &CancellationToken,
        trail: &mut Trail,
    ) -> Result<ToolOutput, ToolError> {
        let Ready { entry, prepared } = ready;
        let cap = entry.definition().max_output.max(self.inner.limits.output_bytes);
        let support = Arc::new(self.support(&entry, session, trail));
        let outcome = self.cleared_run(&entry, prepared, &ticket, session, cancel, trail, &support).await;
        drop(ticket);
        match outcome {
            Ok(output) => bound(output, cap, &*support).await,
            Err(error) => Err(bound_error(error, cap)),
        }
    }

    #[allow(clippy::too_many_arguments)] // the middle of one pipeline; a struct would only rename these
    async fn cleared_run(
        &self,
        entry: &Arc<Entry>,
        prepared: Prepared,
        ticket: &Ticket,
        session: &Session,
        cancel: &CancellationToken,
        trail: &mut Trail,
        support: &Arc<CallSupport>,
    ) -> Result<ToolOutput, ToolError> {
        let engine = &*self.inner;
        if let Some(signature) = trail.signature {
            session.loop_guard().check(signature, entry.name(), trail.started_at)?;
        }
        guard::taint(session, prepared.plan(), &mut trail.decision);
        let request = permit::Request { entry, call: &trail.call, arguments: &trail.arguments, plan: prepared.plan(), session, cancel };
        let cleared = permit(&*engine.policy, &engine.limits, request, &mut trail.decision).await?;
        tokio::select! {
            biased;
            () = ticket.granted() => {}
            () = cancel.cancelled() => return Err(cancelled()),
        }
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        self.record_intent(trail, session).await?;
        let (plan, start) = prepared.into_parts();
        session.taint().record(&plan, entry.source());
        let context = ToolContext::new(
            Arc::clone(&trail.call),
            plan,
            Arc::clone(session.host()),
            cancel.clone(),
            Arc::clone(support) as Arc<dyn Gate>,
            Arc::clone(support) as Arc<dyn Journal>,
            session.progress().cloned(),
        );
        if let Some(events) = &engine.events {
            events.event(&Event::Started { call: &trail.call });
        }
        run(&engine.workers, cleared, entry, context, start).await
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

    fn support(&self, entry: &Arc<Entry>, session: &Session, trail: &Trail) -> CallSupport {
        CallSupport {
            policy: Arc::clone(&self.inner.policy),
            session: session.clone(),
            entry: Arc::clone(entry),
            log: Arc::clone(&self.inner.log),
            blobs: Arc::clone(&self.inner.blobs),
            record: trail.record,
            limits: SpillLimits { bytes: self.inner.limits.spill_bytes, age: self.inner.limits.spill_age },
        }
    }

    pub(crate) async fn settle(&self, trail: Trail, outcome: Result<ToolOutput, ToolError>, session: &Session) -> ToolResult {
        let engine = &*self.inner;
        let settling = Settling { hooks: &engine.hooks, log: &*engine.log, events: engine.events.as_deref(), limits: &engine.limits };
        settle(settling, trail, outcome, session).await
    }
}

/// Who and what a call is, under the name the model gave it until it is resolved.
pub(crate) fn identify(call: &ToolCall, session: &Session) -> CallInfo {
    let tool = if call.name.len() <= 100 { call.name.clone() } else { call.name.chars().take(100).collect() };
    CallInfo { id: call.id.clone(), tool, session: Arc::clone(session.id()), agent: Arc::clone(session.agent()) }
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
