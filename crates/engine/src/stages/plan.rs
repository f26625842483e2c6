//! plan: frozen arguments → effects, before anything happens.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use haft_contract::{Access, PlanContext, Prepared, ToolError, ToolSource, ports::Host};
use serde_json::Value;

use super::run::{on_worker, panic_error, panicked};
use crate::stop::StopSignal;
use crate::workers::Workers;
use crate::{Session, ToolEntry};

/// Asks the tool what the call will do. A tool that is not ours plans on a thread that may block, under its timeout.
pub(crate) async fn plan(
    workers: &Workers,
    entry: &Arc<ToolEntry>,
    arguments: Value,
    session: &Session,
    stop: &StopSignal<'_>,
) -> Result<Prepared, ToolError> {
    if *entry.source() == ToolSource::BuiltIn {
        return prepare(entry, arguments, &**session.host(), session.id(), session.caller().access);
    }
    let timeout = entry.definition().timeout;
    let (entry, host, id) = (Arc::clone(entry), Arc::clone(session.host()), Arc::clone(session.id()));
    let access = session.caller().access;
    let outcome = on_worker(workers, async move { prepare(&entry, arguments, &*host, &id, access) }, timeout, stop).await?;
    outcome.unwrap_or_else(|error| Err(panicked(error)))
}

fn prepare(entry: &ToolEntry, arguments: Value, host: &dyn Host, session: &str, access: Access) -> Result<Prepared, ToolError> {
    let context = PlanContext::new(host).in_session(session).with_access(access);
    let prepared = std::panic::catch_unwind(AssertUnwindSafe(|| entry.tool().prepare(arguments, &context)));
    prepared.unwrap_or_else(|payload| Err(panic_error(&*payload)))
}
