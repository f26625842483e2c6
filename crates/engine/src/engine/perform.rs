//! The second half of a call: the permission, the locks, and the run of its tool.

use std::sync::Arc;

use haft_contract::{ContextParts, Plan, ToolContext, ToolError, ToolOutput};

use super::{ClearedCall, Engine, PreparedCall};
use crate::approvals::PastCalls;
use crate::egress::{CallEgress, ConnectingProgram, EgressFacts, connecting_program};
use crate::events::{Event, emit};
use crate::journal::CallGate;
use crate::locks::Ticket;
use crate::stages::arguments::check;
use crate::stages::permit::{Permission, PermitRequest, PermittedCall, permit};
use crate::stages::run::{cancelled, run};
use crate::stop::StopSignal;
use crate::trail::Trail;
use crate::{Session, ToolEntry};

impl Engine {
    /// permit, with the taint guard, and the locks. A batch has drawn its ticket before, to keep call order; a single call draws it
    /// after its approval.
    pub(super) async fn clear(
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

    /// run. The locks are held until its changes are settled.
    pub(super) async fn perform(
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
}
