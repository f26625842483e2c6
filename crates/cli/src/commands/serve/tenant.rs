//! This process as the server of one tenant: what the server in front of it says, and when it ends.

#[cfg(feature = "postgres")]
pub(super) mod turns;

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::ExecHost;
use haft_gateway::{Gateway, PublicAddress, ServedSessions, TenantSeat};
use haft_store::StateStore;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::tenants::{FollowedUsers, TenantFolder};
use crate::wire::Wire;

/// How often it looks whether it is still needed, and who is still let in.
const LOOK: Duration = Duration::from_secs(1);

/// What the server in front says first, on standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SeatMessage {
    pub(super) public: PublicAddress,
    pub(super) idle_seconds: u64,
    /// Whether it gives turns to workers for this process.
    #[serde(default)]
    pub(super) has_workers: bool,
    /// Whether it gives calls of tools to them, too: an older one does not.
    #[serde(default)]
    pub(super) gives_calls: bool,
}

/// The place of this process.
pub(super) struct OwnSeat {
    pub(super) seat: TenantSeat,
    idle: Duration,
    /// What the server in front says later, if there are workers.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "there are no workers"))]
    words: Option<UnboundedReceiver<String>>,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "there are no workers"))]
    gives_calls: bool,
}

impl OwnSeat {
    /// Waits for the word of the server in front, and ends with it: when that process is gone, however it ended, standard input ends.
    pub(super) fn take(tenant: &TenantFolder, stop: &CancellationToken) -> Result<Self, Failure> {
        let wrong = || Failure::usage("HAFT_TENANT is for servers that `haft serve` starts itself").help("unset it");
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map_err(|_| wrong())?;
        let message: SeatMessage = serde_json::from_str(&line).map_err(|_| wrong())?;
        let (stop, (said, words)) = (stop.clone(), mpsc::unbounded_channel());
        std::thread::spawn(move || {
            // Nobody listens where there are no workers.
            std::io::stdin().lock().lines().map_while(Result::ok).for_each(|line| drop(said.send(line)));
            stop.cancel();
        });
        // Of a process that was killed.
        std::fs::remove_file(tenant.socket()).ok();
        let (users, prefix) = (Arc::new(FollowedUsers::new(tenant.clone())), tenant.record()?.prefix());
        let seat = TenantSeat { socket: tenant.socket(), public: message.public, prefix, users };
        Ok(Self {
            seat,
            idle: Duration::from_secs(message.idle_seconds),
            words: message.has_workers.then_some(words),
            gives_calls: message.gives_calls,
        })
    }

    /// Follows what the operator changes, and ends the server when nobody has used it for long, no turn runs and no job is scheduled.
    pub(super) fn follow(&self, gateway: &Gateway, sessions: ServedSessions, wire: &Wire, store: Arc<StateStore>, stop: CancellationToken) {
        let (activity, follow, idle, socket) = (gateway.activity(), gateway.user_follower(), self.idle, self.seat.socket.clone());
        let (workspace, mut limits) = (wire.settings.workspace.clone(), crate::tenants::limits());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                follow();
                let now = crate::tenants::limits();
                if now != limits {
                    limits = now;
                    sessions.use_new_settings();
                }
                let unused = || activity.idle_for() >= idle && sessions.running().is_empty();
                let no_jobs = unused() && store.automation().jobs(&workspace).await.is_ok_and(|jobs| jobs.is_empty());
                // Nothing is awaited between the second look and the one at new connections.
                if no_jobs && unused() && activity.close_if_unused(&socket).await {
                    stop.cancel();
                    return;
                }
            }
        });
    }
}

/// Refuses a configuration with which commands of a tenant would run as the operator.
pub(in crate::commands) fn check_settings(wire: &Wire) -> Result<(), Failure> {
    let host = wire.settings.config.exec.host;
    if matches!(host, ExecHost::Sandbox | ExecHost::Container) {
        return Ok(());
    }
    Err(Failure::config(format!("exec.host = \"{}\" is not for tenants: their commands could read everything of yours", host.as_str()))
        .help("set exec.host to sandbox or container"))
}
