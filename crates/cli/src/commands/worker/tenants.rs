//! Turns and calls of tenants: each tenant in use has a process of its own on this worker, which alone has the addresses of the tenant's
//! state. This process claims the work, passes lines on, and sees no content but events on their way to the tenant's pages.

mod process;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_fleet::{TakenWork, WorkEnd};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use self::process::TenantWorker;
use crate::arguments::{Common, WorkerArgs};
use crate::failure::Failure;
use crate::output::warn;
use crate::tenants::{self, TenantFolder, TurnOrder, WorkerSeat};
use crate::wire::{self, FleetLink, SessionScope, TenantWork};

/// The folders of tenants that this worker has run turns of, in its own data folder.
const FOLDER: &str = "worker-tenants";
/// Processes that may be there without a turn: the one that was used first ends.
const MOST_IDLE: usize = 8;
/// How long a process without a turn stays.
const IDLE: Duration = Duration::from_mins(1);
/// How often it is looked for processes that nobody needs, and for tenants that were removed.
const CLEAR: Duration = Duration::from_secs(15);

/// A place for the process of each tenant, by the route.
type WorkerSlots = HashMap<String, Arc<tokio::sync::Mutex<Option<Arc<TenantWorker>>>>>;

/// The processes of tenants on this worker.
pub(super) struct TenantWorkers {
    common: Common,
    folder: PathBuf,
    seat: WorkerSeat,
    link: FleetLink,
    /// Only one at a time is started for a tenant.
    running: Mutex<WorkerSlots>,
}

/// Ends a turn that nobody waits for any more.
struct RunGuard {
    worker: Arc<TenantWorker>,
    id: String,
    is_armed: bool,
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.worker.end_turn(&self.id);
        if self.is_armed {
            self.worker.lines.send_later(TurnOrder::Drop { id: std::mem::take(&mut self.id) });
        }
    }
}

impl TenantWorkers {
    pub(super) fn new(common: &Common, request: &WorkerArgs, link: &FleetLink, data_folder: &Path) -> Self {
        let seat = WorkerSeat { volumes: request.volumes.clone(), git: request.git.clone(), labels: request.labels.clone() };
        Self { common: common.clone(), folder: data_folder.join(FOLDER), seat, link: link.clone(), running: Mutex::default() }
    }

    /// Runs a turn, or makes a call, in the process of its tenant.
    pub(super) async fn run(&self, work: &TakenWork, own: TenantWork) -> WorkEnd {
        let (route, tenant) = (own.record.route.clone(), own.tenant.clone());
        match self.run_in_process(work, own).await {
            Ok(end) => {
                self.end_idle(&route);
                end
            }
            Err(failure) => {
                warn(&format!("work of the tenant '{tenant}' cannot be done here: {}", failure.message));
                WorkEnd::Lost(failure.message.clone())
            }
        }
    }

    async fn run_in_process(&self, work: &TakenWork, own: TenantWork) -> Result<WorkEnd, Failure> {
        let scope = SessionScope::of_tenant(&own.record.route);
        // Before the process tells that it begins, so that nothing that servers say from then on is missed.
        let mut told = self.link.queue.listen(&scope.control(&own.session)).await.ok();
        let worker = self.worker(&own).await?;
        let (ended, end) = oneshot::channel();
        worker.begin_turn(&own.id, ended);
        let mut guard = RunGuard { worker: Arc::clone(&worker), id: own.id.clone(), is_armed: true };
        worker.lines.send(&TurnOrder::Run { id: own.id, attempt: work.attempt, fence: work.fence }).await;
        let mut end = std::pin::pin!(end);
        loop {
            let next = async {
                match &mut told {
                    Some(told) => told.next_asked().await,
                    None => std::future::pending().await,
                }
            };
            let message = tokio::select! {
                is_stored = &mut end => {
                    guard.is_armed = false;
                    return Ok(match is_stored {
                        Ok(true) => WorkEnd::Done(render_stored()),
                        _ => WorkEnd::Lost("its outcome could not be stored".to_owned()),
                    });
                }
                () = worker.gone.cancelled() => return Ok(WorkEnd::Lost("the process of its tenant ended".to_owned())),
                message = next => message,
            };
            match message {
                Some((message, reply)) => {
                    if let Ok(body) = serde_json::from_slice::<Value>(&message) {
                        let reply = reply.map(|reply| worker.keep_reply(reply));
                        worker.lines.send(&TurnOrder::Told { session: own.session.clone(), body, reply }).await;
                    }
                }
                None => told = None,
            }
        }
    }

    /// The process of a tenant, which is started if there is none.
    async fn worker(&self, own: &TenantWork) -> Result<Arc<TenantWorker>, Failure> {
        let slot = Arc::clone(self.running().entry(own.record.route.clone()).or_default());
        let mut slot = slot.lock().await;
        let tenant = self.write_record(own)?;
        if let Some(worker) = slot.as_ref().filter(|worker| !worker.gone.is_cancelled()) {
            return Ok(Arc::clone(worker));
        }
        // To open a schema that is missing would make it again.
        if self.link.work.list_schemas(vec![tenants::schema(&own.record.route)]).await?.is_empty() {
            return Err(Failure::failed("not_found", "the tenant is removed"));
        }
        let role = self.link.work.find_tenant_role(&tenants::schema(&own.record.route)).await?;
        let address = wire::tenant_address_with(&own.record.route, role);
        let mut command = tenants::command(&self.common, (&tenant, &tenant.record()?), address, "worker")?;
        if let Some(volumes) = &self.seat.volumes {
            command.env(tenants::VOLUMES_VARIABLE, volumes_of(volumes, &own.record.route));
        }
        let volumes = self.seat.volumes.as_deref().map(|volumes| volumes_of(volumes, &own.record.route));
        let seat = WorkerSeat { volumes, ..self.seat.clone() };
        let worker = Arc::new(TenantWorker::start(command, &seat, (self.link.queue.clone(), &own.record.route)).await?);
        *slot = Some(Arc::clone(&worker));
        Ok(worker)
    }

    /// Writes the limits as they are now, where the process reads them, and makes its folders.
    fn write_record(&self, own: &TenantWork) -> Result<TenantFolder, Failure> {
        let tenant = TenantFolder::beneath(&self.folder.join(&own.record.route), &own.tenant)?;
        let mut record = own.record.clone();
        tenant.make()?;
        if !record.workspace.is_dir() {
            // With volumes no turn works there.
            record.workspace = tenant.own_workspace();
            tenants::make_private(&record.workspace)?;
        }
        if tenant.record().ok().as_ref() != Some(&record) {
            tenant.write(&record)?;
        }
        Ok(tenant)
    }

    /// Ends processes that had no turn for some time, and the oldest of too many.
    fn end_idle(&self, used: &str) {
        let slots: Vec<_> = self.running().iter().map(|(route, slot)| (route.clone(), Arc::clone(slot))).collect();
        let mut idle = Vec::new();
        for (route, slot) in slots {
            let Ok(slot) = slot.try_lock_owned() else { continue };
            let Some(time) = slot.as_ref().and_then(|worker| worker.idle_time()) else { continue };
            idle.push((time, route, slot));
        }
        idle.sort_by_key(|(time, ..)| *time);
        for (index, (time, route, mut slot)) in idle.into_iter().enumerate() {
            if route != used && (index >= MOST_IDLE || time >= IDLE) {
                drop(slot.take());
            }
        }
    }

    /// Ends processes that nobody needs, and removes what is here of tenants that were removed, until the worker is stopped.
    pub(super) async fn clear(self: Arc<Self>, stop: CancellationToken) {
        let mut looks = interval(CLEAR);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = looks.tick() => {}
            }
            self.end_idle("");
            self.forget_removed(&self.list_folders()).await;
        }
    }

    /// The routes of tenants that this worker has run turns of.
    fn list_folders(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Removes the state of tenants without a schema: copies of what was there. Folders of sessions stay, as those of the operator do.
    async fn forget_removed(&self, routes: &[String]) {
        let Ok(schemas) = self.link.work.list_schemas(routes.iter().map(|route| tenants::schema(route)).collect()).await else { return };
        for route in routes.iter().filter(|route| !schemas.contains(&tenants::schema(route))) {
            let slot = Arc::clone(self.running().entry(route.clone()).or_default());
            // One that is in use is looked at later.
            let Ok(mut slot) = slot.try_lock() else { continue };
            let is_used = slot.as_ref().is_some_and(|worker| worker.idle_time().is_none());
            if !is_used {
                if let Some(worker) = slot.take() {
                    worker.end().await;
                }
                std::fs::remove_dir_all(self.folder.join(route)).ok();
            }
        }
    }

    /// Ends all processes, and waits for them.
    pub(super) async fn end(&self) {
        let slots: Vec<_> = self.running().drain().map(|(_, slot)| slot).collect();
        let ends = slots.iter().map(|slot| async {
            if let Some(worker) = slot.lock().await.take() {
                worker.end().await;
            }
        });
        futures_util::future::join_all(ends).await;
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn running(&self) -> MutexGuard<'_, WorkerSlots> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome in the operator's row: the outcome itself lies in the schema of the tenant.
fn render_stored() -> String {
    serde_json::json!({ "stored": "tenant" }).to_string()
}

/// Where the folders of the sessions of a tenant are.
fn volumes_of(volumes: &Path, route: &str) -> PathBuf {
    volumes.join(tenants::schema(route))
}
