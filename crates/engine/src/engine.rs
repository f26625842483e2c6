//! The pipeline: every call passes these stages in this order, and ends with exactly one result.

mod builder;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use haft_contract::{ContextParts, Plan, Prepared, ToolCall, ToolContext, ToolError, ToolOutput, ToolResult};
use haft_policy::{Decision, Policy, StandardPolicy, Verdict};
use haft_store::{Blobs, CallLog};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::builder::EngineBuilder;
use crate::advice::AdviceCase;
use crate::approvals::PastCalls;
use crate::egress::{CallEgress, ConnectingProgram, EgressFacts, connecting_program};
use crate::events::{Event, EventSink, emit};
use crate::explain::{is_refusal, unplanned};
use crate::forms::{CompiledForm, continue_reading};
use crate::hooks::Hooks;
use crate::journal::{CallGate, CallJournal, JournalStores};
use crate::locks::{Locks, Ticket};
use crate::open_call::OpenCall;
use crate::stages::arguments::{CheckedArguments, check, check_as};
use crate::stages::bound::{bound, spill};
use crate::stages::permit::{Permission, PermitRequest, PermittedCall, permit};
use crate::stages::plan::plan;
use crate::stages::resolve::{OfferedTools, refused};
use crate::stages::rewrite::{RewriteContext, RewriteState, rewrite};
use crate::stages::run::{cancelled, panic_error, run};
use crate::stages::settle::{SettleContext, settle, shorten_stored, show_to_hooks};
use crate::stages::taint::TaintFacts;
use crate::stop::StopSignal;
use crate::trail::{Retention, Trail};
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
        let planned = self.plan_call(call, session, &stop, &mut open).await;
        self.complete(planned.map(|ready| (ready, None)), session, stop, open).await
    }

    /// [`Engine::prepare`], with panics caught; a call that ended early has its outcome already.
    pub(crate) async fn plan_call(
        &self,
        call: ToolCall,
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

    /// loop guard ▸ resolve ▸ available ▸ arguments ▸ rewrite ▸ plan: nothing has happened yet when this is done.
    pub(crate) async fn prepare(
        &self,
        call: ToolCall,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> Result<PreparedCall, ShortCircuit> {
        let engine = &*self.inner;
        trail.check_loop(session)?;
        let entry = self.tools_of(session).resolve(&call.name)?;
        trail.set_tool(&entry);
        let offered = self.offers(&entry, session);
        if offered.verdict == Verdict::Deny {
            return Err(Box::pin(self.refuse_offer(offered, &entry, call, session, stop, trail)).await.into());
        }
        trail.set_decision(offered);
        let form = entry.called(&call.name, session.dialect());
        trail.set_form(form.map(CompiledForm::form));
        let mut arguments = call.arguments;
        let checked = check_as(&entry, form, &mut arguments, engine.limits.argument_bytes);
        let checked = checked.inspect_err(|_| trail.set_refused_arguments(arguments))?;
        let (arguments, prepared) = if engine.hooks.is_empty() {
            (trail.set_arguments(checked, self.retention(session)), None)
        } else {
            Box::pin(self.rewrite_arguments(&entry, checked, session, stop, trail)).await?
        };
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => self.planned(&entry, arguments, session, stop, trail).await?,
        };
        trail.set_plan(prepared.plan());
        Ok(PreparedCall { entry, prepared })
    }

    /// The tools that a session has.
    pub(crate) fn tools_of<'a>(&'a self, session: &'a Session) -> OfferedTools<'a> {
        OfferedTools { registry: &self.inner.registry, policy: &*self.inner.policy, session }
    }

    /// Refuses a call whose tool is not offered. Everything else against it is found as well, for the advice.
    async fn refuse_offer(
        &self,
        offered: Decision,
        entry: &Arc<ToolEntry>,
        call: ToolCall,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> ToolError {
        let (decision, planned) = self.decide_anyway(offered, entry, &call.name, call.arguments, session, stop).await;
        let (plan, facts) = planned.as_ref().map_or((None, TaintFacts::default()), |(plan, facts)| (Some(plan.plan()), *facts));
        let advice = AdviceCase { policy: &*self.inner.policy, entry, plan, facts, session }.advise(&decision);
        let mut error = refused(&decision, &advice);
        if let Some(denial) = decision.denial() {
            error = error.with_message(self.tools_of(session).refusal(denial, entry));
        }
        trail.set_decision(decision);
        error
    }

    /// The plan of a call. A refusal in planning is a decision, with its trace.
    async fn planned(
        &self,
        entry: &Arc<ToolEntry>,
        arguments: Value,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> Result<Prepared, ToolError> {
        match plan(&self.inner.workers, entry, arguments, session, stop).await {
            Err(error) if is_refusal(&error) => Err(self.refuse_plan(&error, entry, session, trail)),
            prepared => prepared,
        }
    }

    /// Refuses a call that its tool refused to plan.
    fn refuse_plan(&self, error: &ToolError, entry: &ToolEntry, session: &Session, trail: &mut Trail) -> ToolError {
        let decision = unplanned(trail.take_decision(), error);
        let facts = TaintFacts::default();
        let advice = AdviceCase { policy: &*self.inner.policy, entry, plan: None, facts, session }.advise(&decision);
        let refusal = refused(&decision, &advice);
        trail.set_decision(decision);
        refusal
    }

    /// The arguments as the hooks left them, and their plan if a hook needed it.
    async fn rewrite_arguments(
        &self,
        entry: &Arc<ToolEntry>,
        checked: CheckedArguments,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> Result<(Value, Option<Prepared>), ShortCircuit> {
        let engine = &*self.inner;
        let mut state = RewriteState::from(checked);
        let context = RewriteContext {
            hooks: &engine.hooks,
            events: engine.events.as_deref(),
            limits: &engine.limits,
            workers: &engine.workers,
            entry,
            call: trail.call(),
            session,
            stop,
        };
        let outcome = stop.unless(rewrite(context, &mut state)).await.unwrap_or_else(|error| Err(error.into()));
        let arguments = trail.set_rewritten(state, self.retention(session));
        outcome.map(|()| arguments)
    }

    /// permit, with the taint guard, and the locks. A batch has drawn its ticket before, to keep call order; a single call draws it
    /// after its approval.
    async fn clear(
        &self,
        ready: PreparedCall,
        ticket: Option<Ticket>,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> Result<ClearedCall, ToolError> {
        let engine = &*self.inner;
        let entry = Arc::clone(&ready.entry);
        let (cleared, edited) = self.permitted(ready, session, stop, trail).await?;
        // A ticket is for the plan that it was drawn for.
        let ticket = ticket.filter(|_| !edited);
        let ticket = ticket.unwrap_or_else(|| engine.locks.queue(cleared.plan()));
        if !ticket.is_granted() {
            Box::pin(stop.unless(ticket.granted())).await?;
        }
        if stop.is_requested() {
            return Err(cancelled());
        }
        Ok(ClearedCall { entry, permitted: cleared, _locks: ticket })
    }

    /// run. The locks are held until its changes are settled.
    async fn perform(
        &self,
        cleared: ClearedCall,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> Result<ToolOutput, ToolError> {
        let engine = &*self.inner;
        let ClearedCall { entry, permitted: cleared, _locks } = cleared;
        if trail.needs_intent() {
            Box::pin(self.record_intent(trail, session)).await?;
        }
        session.taint().record(cleared.plan(), entry.source(), trail.record_id());
        emit(engine.events.as_deref(), &Event::Started { call: trail.call() });
        let context = |plan| self.context(plan, &entry, session, stop, trail);
        let outcome = run(&engine.workers, cleared, &entry, context, stop).await;
        trail.report_untrusted(session);
        match outcome {
            // The locks are still held, so the files are this call's own.
            Err(error) if trail.changes_something() && !trail.journal().is_final() => {
                Err(Box::pin(self.roll_back_partial_changes(error, trail.record_id(), session)).await)
            }
            outcome => outcome,
        }
    }

    /// permit, and again with other arguments if the user edits them; whether they were edited.
    async fn permitted(
        &self,
        ready: PreparedCall,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> Result<(PermittedCall, bool), ToolError> {
        let engine = &*self.inner;
        let PreparedCall { entry, mut prepared, .. } = ready;
        let (mut edited, mut fault) = (false, None);
        loop {
            // Arguments are edited where somebody can be asked.
            let offered = session.approver().map(|_| trail.decision().clone());
            let (facts, decision) = trail.permit_parts();
            let request = PermitRequest {
                policy: &*engine.policy,
                limits: &engine.limits,
                events: engine.events.as_deref(),
                entry: &entry,
                facts,
                session,
                stop,
                past: PastCalls { log: &*engine.log, registry: Some(&engine.registry) },
            };
            let (before, arguments) = match permit(request, prepared, decision, fault.take()).await? {
                Permission::Granted(cleared) => return Ok((cleared, edited)),
                Permission::Edited(before, arguments) => (before, arguments),
            };
            match check(&entry, &mut arguments.into(), engine.limits.argument_bytes) {
                Ok(checked) => {
                    prepared = Box::pin(self.prepare_edited(&entry, checked, session, stop, trail)).await?;
                    edited = true;
                }
                Err(error) => {
                    trail.set_decision(offered.unwrap_or_default());
                    (prepared, fault) = (before, Some(error.message().to_owned()));
                }
            }
        }
    }

    /// The stages from `available` to `plan`, for arguments that the user edited. The model is told of them.
    async fn prepare_edited(
        &self,
        entry: &Arc<ToolEntry>,
        checked: CheckedArguments,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> Result<Prepared, ToolError> {
        let before = trail.original_arguments();
        trail.set_edited(&checked.value);
        trail.set_decision(self.offers(entry, session));
        let rewritten = self.rewrite_arguments(entry, checked, session, stop, trail).await;
        trail.set_original(before);
        let (arguments, prepared) = match rewritten {
            Ok(rewritten) => rewritten,
            Err(ShortCircuit::Refused(error)) => return Err(error),
            Err(ShortCircuit::Answered(_)) => {
                return Err(ToolError::denied("A hook answers calls with these arguments. Repeat the call with them."));
            }
        };
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => self.planned(entry, arguments, session, stop, trail).await?,
        };
        trail.set_plan(prepared.plan());
        Ok(prepared)
    }

    /// Restores the files that a failed call had changed by then.
    async fn roll_back_partial_changes(&self, error: ToolError, record: uuid::Uuid, session: &Session) -> ToolError {
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
    fn context(&self, plan: Plan, entry: &Arc<ToolEntry>, session: &Session, stop: &StopSignal, trail: &Trail) -> ToolContext {
        let gate = CallGate { policy: Arc::clone(&self.inner.policy), session: session.clone(), entry: Arc::clone(entry) };
        let egress = connecting_program(&plan).map(|program| self.egress(program, entry, session, stop, trail));
        ToolContext::from(ContextParts {
            call: Arc::clone(trail.call()),
            plan,
            host: Arc::clone(session.host()),
            cancel: stop.call_token().clone(),
            gate: Arc::new(gate),
            journal: Arc::clone(trail.journal()) as _,
            progress: session.progress().cloned(),
            dialect: session.dialect(),
            form: trail.form(),
            seen: Arc::clone(session.seen_files()),
            turn_tools: Arc::clone(&session.caller().turn_tools),
            egress: egress.map(|gate| Arc::new(gate) as _),
        })
    }

    /// What decides on connections of a sandboxed program that its plan does not name.
    fn egress(
        &self,
        program: ConnectingProgram,
        entry: &Arc<ToolEntry>,
        session: &Session,
        stop: &StopSignal,
        trail: &Trail,
    ) -> CallEgress {
        let engine = &*self.inner;
        let (arguments, secret) = trail.recorded_arguments();
        CallEgress::new(EgressFacts {
            policy: Arc::clone(&engine.policy),
            session: session.link().clone(),
            entry: Arc::downgrade(entry),
            call: Arc::clone(trail.call()),
            arguments: arguments.clone(),
            secret,
            record: trail.record_id(),
            call_end: stop.token().clone(),
            program,
            events: engine.events.clone(),
            limits: engine.limits.clone(),
            log: Arc::clone(&engine.log),
            registry: Arc::downgrade(&engine.registry),
            connections: trail.connections().clone(),
        })
    }

    /// Writes a call that changes something, or that a user was asked about, to disk before it runs: after a crash, history
    /// has its beginning and its approval.
    async fn record_intent(&self, trail: &Trail, session: &Session) -> Result<(), ToolError> {
        let log = &self.inner.log;
        let intent = trail.to_intent(session);
        let recorded = match log.append_with(0, Box::new(move || intent)) {
            Ok(()) => log.flush().await,
            Err(error) => Err(error),
        };
        recorded.map_err(|error| {
            ToolError::execution(format!("Nothing was done, because the call could not be recorded first: {error}")).with_source(error)
        })
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
