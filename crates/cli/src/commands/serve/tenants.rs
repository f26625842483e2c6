//! The processes of tenants: started with the first request, and ended when nobody uses them or with this server.

#[cfg(feature = "postgres")]
mod turns;

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use haft_contract::BoxFuture;
use haft_gateway::{PublicAddress, TenantHost};
use haft_store::StateStore;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::tenant::SeatMessage;
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::warn;
use crate::tenants::{self, TenantFolder, TenantsFolder};
use crate::wire::{self, ServerFleet};

/// Tenants whose processes may run at once.
const MOST_RUNNING: usize = 256;
/// How long a process may take to listen.
const START: Duration = Duration::from_secs(30);
/// How long it may take to end, before it is killed.
const END: Duration = Duration::from_secs(15);
/// A process that did not start is not started again before.
const PAUSE: Duration = Duration::from_secs(2);
/// How often the folders are looked at for tenants that are new or gone.
const LOOK: Duration = Duration::from_secs(1);

/// The processes of all tenants.
pub(super) struct TenantProcesses {
    folder: TenantsFolder,
    common: Common,
    public: PublicAddress,
    idle: Duration,
    /// The operator's own: on a server it has the roles of tenants.
    state: Arc<StateStore>,
    /// The workers of this server, which also run turns of tenants.
    fleet: Option<ServerFleet>,
    known: Mutex<KnownTenants>,
    /// Other servers of this data folder leave the tenants to this one.
    _serving: File,
}

#[derive(Default)]
struct KnownTenants {
    slots: HashMap<String, Arc<TenantSlot>>,
    /// When the folders were looked at, and when one was added or removed before.
    looked: Option<(Instant, Option<SystemTime>)>,
}

/// One tenant, and its process if it runs.
struct TenantSlot {
    tenant: TenantFolder,
    process: tokio::sync::Mutex<ProcessState>,
}

#[derive(Default)]
struct ProcessState {
    child: Option<RunningTenant>,
    failed: Option<Instant>,
}

/// The process of a tenant.
struct RunningTenant {
    child: Child,
    /// Ends its standard input, and what this server does for it.
    lines: DropGuard,
}

impl TenantProcesses {
    /// `None` if another server of this data folder has the tenants.
    pub(super) fn open(
        common: &Common,
        public: PublicAddress,
        idle: Duration,
        (state, fleet): (Arc<StateStore>, Option<ServerFleet>),
    ) -> Result<Option<Arc<Self>>, Failure> {
        let folder = TenantsFolder::new(&wire::data_folder()?);
        let Some(serving) = folder.serve()? else { return Ok(None) };
        let known = Mutex::default();
        Ok(Some(Arc::new(Self { folder, common: common.clone(), public, idle, state, fleet, known, _serving: serving })))
    }

    /// Ends the processes of tenants that were removed, until this server ends.
    pub(super) async fn follow_removals(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let gone: Vec<_> = self.lock_tenants().slots.extract_if(|_, slot| !slot.tenant.exists()).map(|(_, slot)| slot).collect();
            for slot in gone {
                slot.end().await;
            }
        }
    }

    /// Ends all processes.
    pub(super) async fn end(&self) {
        let slots: Vec<_> = self.lock_tenants().slots.drain().map(|(_, slot)| slot).collect();
        // All get the word before one is waited for.
        futures_util::future::join_all(slots.iter().map(|slot| slot.end())).await;
    }

    /// The tenant whose secrets begin so. The folders are read again for one that is not known, but not with every wrong token.
    fn slot(&self, route: &str) -> Option<Arc<TenantSlot>> {
        let mut known = self.lock_tenants();
        let changed = self.folder.changed();
        if !known.slots.contains_key(route) && known.looked.is_none_or(|(looked, before)| looked.elapsed() > LOOK || before != changed) {
            known.looked = Some((Instant::now(), changed));
            for tenant in self.folder.list() {
                let Ok(record) = tenant.record() else { continue };
                known.slots.entry(record.route).or_insert_with(|| Arc::new(TenantSlot { tenant, process: tokio::sync::Mutex::default() }));
            }
        }
        known.slots.get(route).filter(|slot| slot.tenant.exists()).cloned()
    }

    async fn running(&self, slot: &TenantSlot) -> Result<PathBuf, Failure> {
        let mut process = slot.process.lock().await;
        if process.child.as_mut().is_some_and(|running| matches!(running.child.try_wait(), Ok(None))) {
            return Ok(slot.tenant.socket());
        }
        process.child = None;
        if process.failed.is_some_and(|failed| failed.elapsed() < PAUSE) {
            return Err(Failure::failed("unavailable", "it did not start a moment ago"));
        }
        match self.start(&slot.tenant).await {
            Ok(child) => {
                *process = ProcessState { child: Some(child), failed: None };
                Ok(slot.tenant.socket())
            }
            Err(failure) => {
                process.failed = Some(Instant::now());
                warn(&format!("the server of the tenant '{}' cannot be started: {}", slot.tenant.name(), failure.message));
                Err(failure)
            }
        }
    }

    async fn start(&self, tenant: &TenantFolder) -> Result<RunningTenant, Failure> {
        if self.lock_tenants().slots.values().filter(|slot| slot.process.try_lock().is_ok_and(|process| process.child.is_some())).count()
            >= MOST_RUNNING
        {
            return Err(Failure::failed("unavailable", format!("{MOST_RUNNING} tenants are in use")));
        }
        tenant.make()?;
        let record = tenant.record()?;
        let broken = |error: std::io::Error| Failure::failed("execution_error", error.to_string());
        let address = wire::make_tenant_address(&self.state, &record.route).await?;
        let mut child = tenants::command(&self.common, (tenant, &record), address, "serve")?.spawn().map_err(broken)?;
        let seat = SeatMessage {
            public: self.public.clone(),
            idle_seconds: self.idle.as_secs(),
            has_workers: self.fleet.is_some(),
            gives_calls: self.fleet.is_some(),
        };
        let mut line = serde_json::to_vec(&seat).map_err(|error| broken(error.into()))?;
        line.push(b'\n');
        let (mut input, output) =
            child.stdin.take().zip(child.stdout.take()).ok_or_else(|| broken(std::io::ErrorKind::BrokenPipe.into()))?;
        input.write_all(&line).await.map_err(broken)?;
        let (mut output, mut ready) = (BufReader::new(output), String::new());
        let read = tokio::time::timeout(START, output.read_line(&mut ready)).await;
        match read {
            Ok(Ok(1..)) => Ok(RunningTenant { child, lines: self.attend(tenant, &record.route, input, output) }),
            Ok(_) => Err(Failure::failed("execution_error", "its process ended at once, and says why above")),
            Err(_) => Err(Failure::failed("execution_error", format!("it did not listen within {} seconds", START.as_secs()))),
        }
    }

    /// Keeps the standard input of a process open, and does what the process asks for, as long as the guard lives.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_self, reason = "without workers there is nothing to ask for"))]
    fn attend(&self, tenant: &TenantFolder, route: &str, input: ChildStdin, output: BufReader<ChildStdout>) -> DropGuard {
        let stop = CancellationToken::new();
        #[cfg(feature = "postgres")]
        if let Some(link) = &self.fleet {
            turns::attend(link.clone(), (tenant.clone(), route.to_owned()), (input, output), stop.clone());
            return stop.drop_guard();
        }
        #[cfg(not(feature = "postgres"))]
        let _ = (tenant, route);
        let ended = stop.clone();
        tokio::spawn(async move {
            ended.cancelled().await;
            drop((input, output));
        });
        stop.drop_guard()
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn lock_tenants(&self) -> MutexGuard<'_, KnownTenants> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TenantSlot {
    /// A process ends when its standard input does, and is killed if it does not.
    async fn end(&self) {
        let mut process = self.process.lock().await;
        let Some(RunningTenant { mut child, lines }) = process.child.take() else { return };
        drop(lines);
        if tokio::time::timeout(END, child.wait()).await.is_err() {
            child.kill().await.ok();
        }
    }
}

impl TenantHost for TenantProcesses {
    fn socket<'a>(&'a self, route: &'a str) -> BoxFuture<'a, Option<Result<PathBuf, Failure>>> {
        Box::pin(async move {
            let slot = self.slot(route)?;
            Some(self.running(&slot).await)
        })
    }
}
