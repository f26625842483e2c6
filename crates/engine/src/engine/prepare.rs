//! The first half of a call: until it has a plan, nothing has happened.

use std::sync::Arc;

use haft_contract::{Arguments, Prepared, ToolCall, ToolError};
use haft_policy::{Decision, Verdict};
use serde_json::Value;

use super::{Engine, PreparedCall, ShortCircuit};
use crate::advice::AdviceCase;
use crate::explain::{is_refusal, unplanned};
use crate::forms::CompiledForm;
use crate::stages::arguments::{CheckedArguments, check_as};
use crate::stages::plan::plan;
use crate::stages::resolve::refused;
use crate::stages::rewrite::{RewriteContext, RewriteState, rewrite};
use crate::stages::taint::TaintFacts;
use crate::stop::StopSignal;
use crate::trail::Trail;
use crate::{Session, ToolEntry};

impl Engine {
    /// loop guard ▸ resolve ▸ available ▸ arguments ▸ rewrite ▸ plan: nothing has happened yet when this is done.
    pub(crate) async fn prepare(
        &self,
        call: &mut ToolCall,
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
        let checked = check_as(&entry, form, &mut call.arguments, engine.limits.argument_bytes);
        let checked = checked.inspect_err(|_| trail.set_refused_arguments(take_arguments(call)))?;
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

    /// Refuses a call whose tool is not offered. Everything else against it is found as well, for the advice.
    async fn refuse_offer(
        &self,
        offered: Decision,
        entry: &Arc<ToolEntry>,
        call: &mut ToolCall,
        session: &Session,
        stop: &StopSignal,
        trail: &mut Trail,
    ) -> ToolError {
        let arguments = take_arguments(call);
        let (decision, planned) = self.decide_anyway(offered, entry, &call.name, arguments, session, stop).await;
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

    /// The stages from `available` to `plan`, for arguments that the user edited. The model is told of them.
    pub(super) async fn prepare_edited(
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
}

/// The arguments of a call; nothing is left of them.
fn take_arguments(call: &mut ToolCall) -> Arguments {
    std::mem::replace(&mut call.arguments, Arguments::Text(String::new()))
}
