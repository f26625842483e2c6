//! plan: frozen arguments → effects, before anything happens.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Access, PlanContext, Prepared, ToolError, ToolSource, ports::Host};
use serde_json::Value;

use super::run::{RunTime, on_worker, panic_error};
use crate::stop::StopSignal;
use crate::workers::Workers;
use crate::{Session, ToolEntry};

/// Asks the tool what the call will do. A tool that is not ours plans on a thread that may block, under its timeout.
pub(crate) async fn plan(
    workers: &Workers,
    entry: &Arc<ToolEntry>,
    arguments: Value,
    session: &Session,
    stop: &StopSignal,
) -> Result<Prepared, ToolError> {
    if *entry.source() == ToolSource::BuiltIn {
        return prepare(entry, arguments, &**session.host(), &PlanCaller::from_session(session));
    }
    let time = RunTime { timeout: entry.definition().timeout, grace: Duration::ZERO };
    let (entry, host, caller) = (Arc::clone(entry), Arc::clone(session.host()), PlanCaller::from_session(session));
    Box::pin(on_worker(workers, async move { prepare(&entry, arguments, &*host, &caller) }, time, stop)).await?
}

/// What a plan depends on besides the arguments.
struct PlanCaller {
    session: Arc<str>,
    access: Access,
    /// Whether no one can answer a question of the session.
    is_unattended: bool,
}

impl PlanCaller {
    fn from_session(session: &Session) -> Self {
        Self {
            session: Arc::clone(session.id()),
            access: session.caller().access,
            is_unattended: !session.approver().is_some_and(|approver| approver.can_ask()),
        }
    }
}

fn prepare(entry: &ToolEntry, arguments: Value, host: &dyn Host, caller: &PlanCaller) -> Result<Prepared, ToolError> {
    let context = PlanContext::new(host).in_session(&caller.session).with_access(caller.access);
    let context = if caller.is_unattended { context.unattended() } else { context };
    let prepared = std::panic::catch_unwind(AssertUnwindSafe(|| entry.tool().prepare(arguments, &context)));
    prepared.unwrap_or_else(|payload| Err(panic_error(&*payload)))
}
