//! Settings, simulation, quarantine, jobs and connections for the page.

use std::sync::Arc;

use haft_config::report_json;
use haft_contract::ports::JobScope;
use haft_contract::{EntryKind, ExecHost, Job};
use haft_gateway::{LaterChanges, QuarantineRequest};
use haft_jobs::{Quarantine, RestoreError};
use serde_json::{Value, json};

use super::backend::ServeBackend;
use super::process_memory::ProcessTable;
use crate::arguments::CallerArgs;
use crate::commands::policy::simulate::simulate as simulate_calls;
use crate::commands::{mcp, quarantine as entries};
use crate::failure::Failure;
use crate::wire::{self, CallSetup, UserPrompts, Wire, models};

/// The last bytes of a job's output that are shown.
const TAIL: u64 = 8 << 10;

pub(super) fn settings(backend: &ServeBackend) -> Result<Value, Failure> {
    let wire = backend.wire_of(None)?;
    let loaded = wire::check(&backend.common, &wire.settings.workspace, &wire.registry);
    let file = wire.own_file().ok().map(|file| file.to_string_lossy().into_owned());
    Ok(json!({ "settings": wire.public_settings(), "problems": report_json(&loaded.problems), "file": file }))
}

/// What past calls would become with this text as the user's file.
pub(super) async fn simulate(backend: &ServeBackend, config: &str, calls: usize) -> Result<Value, Failure> {
    // Checking a configuration looks at the folders that it names.
    if crate::tenants::current().is_some() {
        return Err(Failure::usage("a tenant cannot try settings").help("the operator can, with `haft policy simulate`"));
    }
    let wire = backend.wire_of(None)?;
    let loaded = wire::check_text(&backend.common, &wire.settings.workspace, &wire.registry, config);
    let problems = report_json(&loaded.problems);
    if loaded.errors().next().is_some() {
        return Ok(json!({ "differences": [], "same": 0, "unknown": 0, "problems": problems }));
    }
    let changed = Wire::with_config(Arc::clone(&wire.registry), &backend.common, &wire.settings.workspace, &loaded)?;
    let mut result = simulate_calls(&changed, &*backend.served.store, calls).await?.to_json();
    result["problems"] = problems;
    Ok(result)
}

pub(super) fn quarantine(request: QuarantineRequest<'_>) -> Result<Value, Failure> {
    let quarantine = Quarantine::new(wire::data_folder()?.join(wire::QUARANTINE));
    match request {
        QuarantineRequest::List => Ok(quarantine.list().iter().map(entries::to_json).collect()),
        QuarantineRequest::Show(id) => {
            let record = entries::find(&quarantine, id)?;
            let content = (record.entry == EntryKind::File).then(|| quarantine.content(&record, entries::MAX_SHOWN).ok()).flatten();
            let mut value = entries::to_json(&record);
            value["content"] = json!(content.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
            Ok(value)
        }
        QuarantineRequest::Restore(id, later) => {
            let record = entries::find(&quarantine, id)?;
            let replaced = quarantine.restore(&record, later == LaterChanges::Overwrite).map_err(|error| match error {
                RestoreError::Occupied(path) => Failure::failed("conflict", format!("'{}' exists now", path.display()))
                    .help("with 'force' it is replaced; what is there goes to quarantine"),
                RestoreError::Failed(error) => Failure::failed("execution_error", format!("it cannot be restored: {error}")),
            })?;
            Ok(json!({ "restored": record.path.to_string_lossy(), "replaced": replaced }))
        }
        QuarantineRequest::Remove(id) => {
            let record = entries::find(&quarantine, id)?;
            quarantine.remove(&record.id);
            Ok(json!({ "removed": record.id }))
        }
    }
}

/// A session of the user in the workspace.
pub(super) fn workspace_session(backend: &ServeBackend) -> Result<CallSetup, Failure> {
    let wire = backend.wire_of(None)?;
    let store = Arc::clone(&backend.served.store);
    let (jobs, services) = (wire.recorded_jobs(&store), haft_contract::ports::Services::default());
    wire.calling(&wire.settings.workspace, store, jobs, UserPrompts::Never, &CallerArgs::default(), services)
}

/// The same, which sees the jobs of every session of the workspace.
async fn job_session(backend: &ServeBackend) -> Result<CallSetup, Failure> {
    let setup = workspace_session(backend)?;
    let scope = JobScope::Workspace(backend.wire_of(None)?.settings.workspace.clone());
    setup.session.host().processes().adopt(setup.session.id(), scope).await?;
    Ok(setup)
}

pub(super) async fn jobs(backend: &ServeBackend) -> Result<Value, Failure> {
    let setup = job_session(backend).await?;
    let jobs = setup.session.host().processes().jobs(setup.session.id());
    let processes = ProcessTable::read();
    Ok(jobs.iter().map(|job| job_json(&**job, &processes)).collect())
}

fn job_json(job: &dyn Job, processes: &ProcessTable) -> Value {
    let status = job.status();
    // The number of a process of a container or of another machine is not one of this machine's.
    let is_here = status.end.is_none() && matches!(status.host, ExecHost::Sandbox | ExecHost::Host);
    let memory = status.pid.filter(|_| is_here).and_then(|pid| processes.resident(pid));
    let (_, tail) = job.output(status.bytes.saturating_sub(TAIL), usize::try_from(TAIL).unwrap_or(usize::MAX));
    json!({
        "id": status.id, "session": status.session, "command": status.command, "directory": status.directory.to_string_lossy(),
        "state": if status.end.is_none() { "running" } else { "ended" }, "end": status.end.as_ref().map(ToString::to_string),
        "started": haft_tui::time::local_time(status.started, "%Y-%m-%dT%H:%M:%S%:z"), "pid": status.pid, "bytes": status.bytes,
        "memory_bytes": memory, "tail": String::from_utf8_lossy(&tail),
    })
}

pub(super) async fn kill_job(backend: &ServeBackend, id: &str) -> Result<(), Failure> {
    let setup = job_session(backend).await?;
    let jobs = setup.session.host().processes().jobs(setup.session.id());
    let missing = || Failure::failed("not_found", format!("there is no job '{id}'"));
    jobs.into_iter().find(|job| job.status().id == id).ok_or_else(missing)?.kill().await;
    Ok(())
}

pub(super) async fn connections(backend: &ServeBackend) -> Result<Value, Failure> {
    let wire = backend.wire_of(None)?;
    let names = wire.settings.provenance.names_beneath(&["mcp", "servers"]);
    let servers: Vec<Value> = names.iter().map(|name| mcp::list::row(&wire, name)).collect();
    let models: Vec<Value> = models::list(&wire.settings, false).await.into_iter().map(|model| json!({ "name": model.name })).collect();
    let channels = crate::commands::channels::rows(wire.channels());
    let sent = if channels.is_empty() { Vec::new() } else { crate::commands::channels::newest(wire.channels()).await? };
    let providers = super::providers::list(&wire);
    Ok(json!({ "servers": servers, "models": models, "providers": providers, "channels": channels, "sent": sent }))
}

/// The budget in dollars, as far as it is set.
pub(super) fn budget(backend: &ServeBackend) -> Value {
    let Ok(wire) = backend.wire_of(None) else { return Value::Null };
    let budget = &wire.settings.config.budget;
    let dollars = |micros: Option<i64>| micros.map(|micros| haft_agent::Micros(micros).to_string());
    json!({ "turn": dollars(budget.turn), "session": dollars(budget.session), "day": dollars(budget.day) })
}
