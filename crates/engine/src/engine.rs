//! The pipeline: every call passes these stages in this order, and ends with exactly one result.

mod builder;
mod perform;
mod prepare;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use haft_contract::{Plan, Prepared, ToolCall, ToolError, ToolOutput, ToolResult};
use haft_policy::{Policy, StandardPolicy, Verdict};
use haft_store::{Blobs, CallLog};
use tokio_util::sync::CancellationToken;

pub use self::builder::EngineBuilder;
use crate::events::EventSink;
use crate::forms::continue_reading;
use crate::hooks::Hooks;
use crate::journal::{CallJournal, JournalStores};
use crate::locks::{Locks, Ticket};
use crate::open_call::OpenCall;
use crate::stages::bound::{bound, spill};
use crate::stages::permit::PermittedCall;
use crate::stages::resolve::OfferedTools;
use crate::stages::run::{cancelled, panic_error};
use crate::stages::settle::{SettleContext, settle, shorten_stored, show_to_hooks};
use crate::stop::StopSignal;
use crate::trail::Retention;
use crate::workers::Workers;
use crate::{CallLimits, Registry, Session, ToolEntry};

/// Answers calls. Cheap to clone; clones share everything.
///
/// What few calls wait for is boxed in the stages: the future of each call has space for all that it may wait for, and a thousand calls
/// at once need it a thousand times.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<EngineParts>,
}

pub(crate) struct EngineParts {
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) log: Arc<dyn CallLog>,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) hooks: Hooks,
    pub(crate) events: Option<Arc<dyn EventSink>>,
    pub(crate) limits: CallLimits,
    pub(crate) locks: Locks,
    pub(crate) workers: Workers,
    pub(crate) journals: Arc<JournalStores>,
}

haft_contract::opaque_debug!(Engine: registry = inner.registry);

/// A planned call, and everything that the second half of the pipeline needs.
pub(crate) struct PreparedCall {
    entry: Arc<ToolEntry>,
    prepared: Prepared,
}

impl PreparedCall {
    pub(crate) fn plan(&self) -> &Plan {
        self.prepared.plan()
    }
}

/// A call that may run, with its locks.
pub(crate) struct ClearedCall {
    entry: Arc<ToolEntry>,
    permitted: PermittedCall,
    _locks: Ticket,
}

/// A call that ends before its tool runs: refused, or answered by a hook.
pub(crate) enum ShortCircuit {
    Refused(ToolError),
    Answered(Box<ToolOutput>),
}

impl From<ToolError> for ShortCircuit {
    fn from(error: ToolError) -> Self {
        Self::Refused(error)
    }
}

impl ShortCircuit {
    pub(crate) fn outcome(self) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Refused(error) => Err(error),
            Self::Answered(output) => Ok(*output),
        }
    }
}

impl Engine {
    /// An engine over these tools, with history and blobs kept there.
    pub fn builder(registry: Arc<Registry>, log: Arc<dyn CallLog>, blobs: Arc<dyn Blobs>) -> EngineBuilder {
        let limits = CallLimits::default();
        EngineBuilder::new(EngineParts {
            registry,
            policy: Arc::new(StandardPolicy::default()),
            journals: Arc::new(JournalStores::new(Arc::clone(&log), Arc::clone(&blobs), &limits)),
            log,
            blobs,
            hooks: Hooks::default(),
            events: None,
            limits,
            locks: Locks::default(),
            workers: Workers::default(),
        })
    }

    /// The tools.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.inner.registry
    }

    /// The tools that the policy offers to a session, in the order of registration.
    pub fn offered(&self, session: &Session) -> Vec<Arc<ToolEntry>> {
        let mut entries = self.inner.registry.entries();
        entries.retain(|entry| self.offers(entry, session).verdict != Verdict::Deny);
        entries
    }

    /// Answers one call. It never fails and never panics outward: every outcome becomes the one result of the call. Dropping
    /// the future stops the tool: what it has changed is rolled back, and the call is recorded as cancelled.
    pub async fn run(&self, call: ToolCall, session: &Session) -> ToolResult {
        self.answer(call, session, None).await
    }

    /// As [`Engine::run`], stopped by this token as well. The token is only listened to, never cancelled.
    pub async fn run_until(&self, call: ToolCall, session: &Session, cancel: &CancellationToken) -> ToolResult {
        self.answer(call, session, Some(cancel)).await
    }

    async fn answer(&self, mut call: ToolCall, session: &Session, cancel: Option<&CancellationToken>) -> ToolResult {
        let stop = StopSignal::new(session, cancel);
        let mut open = OpenCall::new(self, session, &mut call);
        let planned = self.plan_call(&mut call, session, &stop, &mut open).await;
        self.complete(planned.map(|ready| (ready, None)), session, stop, open).await
    }

    /// [`Engine::prepare`], with panics caught; a call that ended early has its outcome already. The call stays where it is: each future
    /// that it is moved through would have space for it.
    pub(crate) async fn plan_call(
        &self,
        call: &mut ToolCall,
        session: &Session,
        stop: &StopSignal,
        open: &mut OpenCall<'_>,
    ) -> Result<PreparedCall, ShortCircuit> {
        CatchPanics(pin!(self.prepare(call, session, stop, open.trail()))).await
    }

    /// permit ▸ run ▸ bound ▸ settle. A call that changes something is continued by a task of its own, so that it comes to its end,
    /// rolled back and recorded, also when the future of its caller is dropped.
    pub(crate) async fn complete(
        &self,
        planned: Result<(PreparedCall, Option<Ticket>), ShortCircuit>,
        session: &Session,
        stop: StopSignal,
        mut open: OpenCall<'_>,
    ) -> ToolResult {
        let (ready, ticket) = match planned {
            Ok(planned) => planned,
            Err(early) => return self.settle(open, early.outcome(), session, &stop).await,
        };
        let cleared = CatchPanics(pin!(self.clear(ready, ticket, session, &stop, open.trail()))).await;
        let cleared = match cleared {
            Ok(cleared) => cleared,
            Err(error) => return self.settle(open, Err(error), session, &stop).await,
        };
        if !open.trail().changes_something() {
            return self.conclude(cleared, session, &stop, open).await;
        }
        let (engine, session, trail) = (self.clone(), session.clone(), open.into_trail());
        let (call, elapsed) = (Arc::clone(trail.call()), trail.elapsed());
        let _stopped_with_caller = stop.token().clone().drop_guard();
        let concluding = tokio::spawn(async move {
            let open = OpenCall::from_trail(&engine, &session, trail);
            engine.conclude(cleared, &session, &stop, open).await
        });
        // It is lost only when the runtime ends.
        concluding.await.unwrap_or_else(|_| ToolResult {
            call_id: call.id.clone(),
            tool: call.tool.clone().into(),
            outcome: Err(cancelled()),
            elapsed,
            stored: None,
        })
    }

    /// run ▸ bound ▸ settle.
    async fn conclude(&self, cleared: ClearedCall, session: &Session, stop: &StopSignal, mut open: OpenCall<'_>) -> ToolResult {
        let outcome = CatchPanics(pin!(self.perform(cleared, session, stop, open.trail()))).await;
        self.settle(open, outcome, session, stop).await
    }

    /// The tools that a session has.
    pub(crate) fn tools_of<'a>(&'a self, session: &'a Session) -> OfferedTools<'a> {
        OfferedTools { registry: &self.inner.registry, policy: &*self.inner.policy, session }
    }

    /// hooks ▸ bound ▸ settle, for every outcome, wherever it came from: nothing leaves that is too large or holds a known secret.
    pub(crate) async fn settle(
        &self,
        mut open: OpenCall<'_>,
        outcome: Result<ToolOutput, ToolError>,
        session: &Session,
        stop: &StopSignal,
    ) -> ToolResult {
        let engine = &*self.inner;
        let trail = open.trail();
        let limit = trail.output_limit(&engine.limits);
        let read_on = |line| continue_reading(&engine.registry, session.dialect(), line);
        let context =
            SettleContext { hooks: &engine.hooks, log: &*engine.log, events: engine.events.as_deref(), limits: &engine.limits, stop };
        let (outcome, stored) =
            if engine.hooks.is_empty() { (outcome, None) } else { Box::pin(show_to_hooks(context, &*engine.blobs, trail, outcome)).await };
        let outcome = bound(outcome, limit, &**trail.journal(), &read_on, stored.as_deref()).await;
        let stored = stored.map(|text| shorten_stored(text, limit));
        // From here on nothing waits, so the call is recorded whatever becomes of the future.
        settle(context, open.into_trail(), outcome, stored, session)
    }

    /// Shortens a result to a context budget below the configured limit: the rest becomes a spill, which the result names.
    pub async fn shorten(&self, result: &mut ToolResult, bytes: usize, session: &Session) {
        let whole = std::mem::replace(&mut result.outcome, Ok(ToolOutput::text("")));
        let read_on = |line| continue_reading(&self.inner.registry, session.dialect(), line);
        result.outcome = bound(whole, bytes, &self.journal(), &read_on, result.stored.as_deref()).await;
    }

    /// Writes a text to a spill, which `read_file` may read; returns its path.
    pub async fn spill(&self, text: &str) -> Result<PathBuf, ToolError> {
        Ok(spill(text, &self.journal()).await?.path)
    }

    fn journal(&self) -> CallJournal {
        CallJournal::new(&self.inner.journals, uuid::Uuid::nil())
    }

    /// Approvers and hooks read the whole arguments.
    fn retention(&self, session: &Session) -> Retention {
        if session.approver().is_some() || !self.inner.hooks.is_empty() { Retention::Whole } else { Retention::Excerpt }
    }
}

/// Turns a panic of foreign code (a policy, an approver, a host) into an error of the call. The stages stay where the caller pinned them:
/// each call would be moved with the space that they take.
struct CatchPanics<'a, F>(Pin<&'a mut F>);

impl<T, E: From<ToolError>, F: Future<Output = Result<T, E>>> Future for CatchPanics<'_, F> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        polled.unwrap_or_else(|payload| Poll::Ready(Err(panic_error(&*payload).into())))
    }
}
