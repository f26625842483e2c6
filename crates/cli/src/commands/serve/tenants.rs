//! The processes of tenants: started with the first request, and ended when nobody uses them or with this server.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_contract::BoxFuture;
use haft_gateway::{PublicAddress, TenantHost};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use super::tenant::SeatMessage;
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::warn;
use crate::tenants::{self, TenantFolder, TenantsFolder};
use crate::wire;

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

/// Variables that lead to what is the operator's own.
const OPERATORS: [&str; 10] = [
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "GIT_CONFIG_GLOBAL",
    "SSH_AUTH_SOCK",
    "DISPLAY",
    // Workers know the operator's schema alone: what a tenant asks for is done by its own process.
    "HAFT_QUEUE",
];

/// The processes of all tenants.
pub(super) struct TenantProcesses {
    folder: TenantsFolder,
    common: Common,
    public: PublicAddress,
    idle: Duration,
    known: Mutex<KnownTenants>,
    /// Other servers of this data folder leave the tenants to this one.
    _serving: File,
}

#[derive(Default)]
struct KnownTenants {
    slots: HashMap<String, Arc<TenantSlot>>,
    looked: Option<Instant>,
}

/// One tenant, and its process if it runs.
struct TenantSlot {
    tenant: TenantFolder,
    process: tokio::sync::Mutex<ProcessState>,
}

#[derive(Default)]
struct ProcessState {
    child: Option<Child>,
    failed: Option<Instant>,
}

impl TenantProcesses {
    /// `None` if another server of this data folder has the tenants.
    pub(super) fn open(common: &Common, public: PublicAddress, idle: Duration) -> Result<Option<Arc<Self>>, Failure> {
        let folder = TenantsFolder::new(&wire::data_folder()?);
        let Some(serving) = folder.serve()? else { return Ok(None) };
        let known = Mutex::default();
        Ok(Some(Arc::new(Self { folder, common: common.clone(), public, idle, known, _serving: serving })))
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
        // Each gets the word before the first is waited for.
        for slot in &slots {
            drop(slot.process.lock().await.child.as_mut().and_then(|child| child.stdin.take()));
        }
        for slot in slots {
            slot.end().await;
        }
    }

    /// The tenant whose secrets begin so. The folders are read again for one that is not known, but not with every wrong token.
    fn slot(&self, route: &str) -> Option<Arc<TenantSlot>> {
        let mut known = self.lock_tenants();
        if !known.slots.contains_key(route) && known.looked.is_none_or(|looked| looked.elapsed() > LOOK) {
            known.looked = Some(Instant::now());
            for tenant in self.folder.list() {
                let Ok(record) = tenant.record() else { continue };
                known.slots.entry(record.route).or_insert_with(|| Arc::new(TenantSlot { tenant, process: tokio::sync::Mutex::default() }));
            }
        }
        known.slots.get(route).filter(|slot| slot.tenant.exists()).cloned()
    }

    async fn running(&self, slot: &TenantSlot) -> Result<PathBuf, Failure> {
        let mut process = slot.process.lock().await;
        if process.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None))) {
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

    async fn start(&self, tenant: &TenantFolder) -> Result<Child, Failure> {
        if self.lock_tenants().slots.values().filter(|slot| slot.process.try_lock().is_ok_and(|process| process.child.is_some())).count()
            >= MOST_RUNNING
        {
            return Err(Failure::failed("unavailable", format!("{MOST_RUNNING} tenants are in use")));
        }
        tenant.make()?;
        let record = tenant.record()?;
        let broken = |error: std::io::Error| Failure::failed("execution_error", error.to_string());
        let mut child = self.command(tenant, &record)?.spawn().map_err(broken)?;
        let seat = SeatMessage { public: self.public.clone(), idle_seconds: self.idle.as_secs() };
        let mut line = serde_json::to_vec(&seat).map_err(|error| broken(error.into()))?;
        line.push(b'\n');
        child.stdin.as_mut().ok_or_else(|| broken(std::io::ErrorKind::BrokenPipe.into()))?.write_all(&line).await.map_err(broken)?;
        let output = child.stdout.take().ok_or_else(|| broken(std::io::ErrorKind::BrokenPipe.into()))?;
        let mut ready = String::new();
        let read = tokio::time::timeout(START, BufReader::new(output).read_line(&mut ready)).await;
        match read {
            Ok(Ok(1..)) => Ok(child),
            Ok(_) => Err(Failure::failed("execution_error", "its process ended at once, and says why above")),
            Err(_) => Err(Failure::failed("execution_error", format!("it did not listen within {} seconds", START.as_secs()))),
        }
    }

    /// This program, with the state, the home and the workspace of the tenant in place of the operator's.
    fn command(&self, tenant: &TenantFolder, record: &tenants::TenantRecord) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(|error| Failure::failed("execution_error", error.to_string()))?;
        let mut command = Command::new(program);
        command.arg("serve").arg("--workspace").arg(&record.workspace).current_dir(&record.workspace);
        command.args(self.common.passed_on());
        for name in OPERATORS {
            command.env_remove(name);
        }
        command.env(tenants::VARIABLE, tenant.path()).env("HAFT_HOME", tenant.state()).env("HOME", tenant.home());
        // The operator's file holds for tenants, where there is one; they have none of their own.
        let file = wire::config_file(&self.common).or_else(|| wire::user_file().ok()).filter(|file| file.exists());
        match file {
            Some(file) => command.env("HAFT_CONFIG", file),
            None => command.env_remove("HAFT_CONFIG"),
        };
        if let Some(address) = wire::store_address() {
            command.env("HAFT_STORE", tenants::store_address(&address, &record.route));
        }
        if let Some(address) = std::env::var("HAFT_BLOBS").ok().filter(|address| !address.is_empty()) {
            command.env("HAFT_BLOBS", tenants::blob_address(&address, &record.route));
        }
        // A group of its own: Ctrl-C at the terminal is for this server, which then ends the others in order.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
        Ok(command)
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
        let Some(mut child) = process.child.take() else { return };
        drop(child.stdin.take());
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
