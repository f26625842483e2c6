//! This process as the one that runs turns and makes calls of one tenant: a worker starts it, and says what is to be done. It has the
//! addresses of the state of that tenant alone, and no queue.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_fleet::TakenWork;
use haft_store::{CallLog, PostgresWork, StateStore};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;

use super::reach::{ServerReach, WorkerLines};
use super::volumes::{AgentVolumes, SessionVolumes};
use super::{TurnRunner, calls, served_parts};
use crate::arguments::Common;
use crate::commands::block_on;
use crate::commands::serve::check_tenant_settings;
use crate::failure::{Exit, Failure};
use crate::output::{Output, warn};
use crate::tenants::{TenantFolder, TurnOrder, TurnReport, WorkerSeat, own_lines};
use crate::wire::{self, Wire, WorkBody};

/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_millis(200);

pub(super) fn run(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let (seat, labels) = take_seat()?;
    let wire = Wire::new(common, output)?;
    check_tenant_settings(&wire)?;
    block_on(async {
        let store = wire::store(&wire.settings.data_folder)?;
        wire.repair_interrupted(&(Arc::clone(&store) as Arc<dyn CallLog>)).await;
        let StateStore::Postgres(log) = &*store else { return Err(Failure::usage("a worker needs HAFT_STORE")) };
        let work = log.work();
        let volumes = AgentVolumes::new(&wire, seat)?;
        let lines = WorkerLines::new(own_lines());
        let reach = ServerReach::Worker(lines.clone());
        let served = served_parts(&wire, Arc::clone(&store), &reach, &labels);
        let runner = TurnRunner { common: common.clone(), output: output.clone(), reach, served, volumes };
        // A signal to the group of the worker is for the worker, which then says what is to end.
        let _signals = [SignalKind::terminate(), SignalKind::interrupt()].map(|kind| signal(kind).ok());
        let orders = listen();
        lines.report(&TurnReport::Ready).await;
        TenantTurnRunner { runner, work, lines }.run(orders).await;
        tokio::time::sleep(LAST_LINES).await;
        Ok(Exit::Success)
    })
}

/// What the worker says first.
fn take_seat() -> Result<(SessionVolumes, Vec<String>), Failure> {
    let wrong = || Failure::usage("HAFT_TENANT is for processes that `haft serve` and `haft worker` start themselves").help("unset it");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|_| wrong())?;
    let WorkerSeat { volumes, git, labels } = serde_json::from_str(&line).map_err(|_| wrong())?;
    Ok((SessionVolumes { folder: volumes, remote: git }, labels))
}

/// The orders of the worker; they end when it does, however it ends.
fn listen() -> UnboundedReceiver<String> {
    let (said, orders) = mpsc::unbounded_channel();
    std::thread::spawn(move || std::io::stdin().lock().lines().map_while(Result::ok).for_each(|line| drop(said.send(line))));
    orders
}

/// The folder of the tenant, if it is here now: calls are made in it, and what they did in another one nobody would find.
fn shared_workspace() -> Option<PathBuf> {
    let tenant: &TenantFolder = crate::tenants::current()?;
    tenant.record().ok().map(|record| record.workspace).filter(|workspace| *workspace != tenant.own_workspace())
}

/// Runs the turns and makes the calls.
struct TenantTurnRunner {
    runner: TurnRunner,
    work: PostgresWork,
    lines: WorkerLines,
}

impl TenantTurnRunner {
    /// Does what it is told until the worker is gone; then everything that runs ends at once, because another worker continues it.
    async fn run(self, mut orders: UnboundedReceiver<String>) {
        let this = Arc::new(self);
        let (mut turns, mut running) = (JoinSet::new(), HashMap::new());
        while let Some(order) = orders.recv().await {
            while turns.try_join_next().is_some() {}
            match serde_json::from_str(&order) {
                Ok(TurnOrder::Run { id, attempt, fence }) => {
                    let work = TakenWork { id: id.clone(), body: String::new(), attempt, fence };
                    running.retain(|_, turn: &mut tokio::task::AbortHandle| !turn.is_finished());
                    running.insert(id, turns.spawn(Arc::clone(&this).work(work)));
                }
                Ok(TurnOrder::Drop { id }) => drop(running.remove(&id).inspect(tokio::task::AbortHandle::abort)),
                Ok(TurnOrder::Told { session, body, reply }) => this.lines.pass_on(session, body, reply),
                Err(error) => warn(&format!("a worker of another version said what cannot be read: {error}")),
            }
        }
        turns.shutdown().await;
    }

    async fn work(self: Arc<Self>, work: TakenWork) {
        let id = work.id.clone();
        let is_stored = match self.store_outcome(work).await {
            Ok(is_stored) => is_stored,
            Err(failure) => {
                warn(&format!("the work {id} of a tenant cannot be done here: {}", failure.message));
                false
            }
        };
        self.lines.report(&TurnReport::Ended { id, is_stored }).await;
    }

    /// Runs a turn or makes a call, unless a worker that was lost has stored its outcome already; whether an outcome is stored.
    async fn store_outcome(&self, mut work: TakenWork) -> Result<bool, Failure> {
        let Some(deposit) = self.work.open_deposit(&work.id, work.fence).await? else { return Ok(false) };
        if deposit.outcome.is_some() {
            return Ok(true);
        }
        let body = WorkBody::decode(&deposit.body).map_err(|error| Failure::failed("execution_error", error.to_string()))?;
        work.body = deposit.body;
        let outcome = match body {
            WorkBody::Turn(turn) => self.runner.turn(&work, *turn).await,
            WorkBody::Call(call) => match shared_workspace() {
                Some(folder) => self.runner.call(*call, Some(folder)).await,
                None => calls::refused(*call, "the folder of this tenant is not on the worker that took the call"),
            },
            WorkBody::TenantTurn(_) | WorkBody::TenantCall(_) => {
                return Err(Failure::failed("execution_error", "it is neither a turn nor a call"));
            }
        };
        Ok(self.work.settle_deposit(&work.id, work.fence, &outcome).await?)
    }
}
