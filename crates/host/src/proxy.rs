//! Egress from the sandbox: a proxy on a Unix socket, for the hosts that a command may reach.
//!
//! It speaks what programs speak to proxies: HTTP `CONNECT`, plain HTTP requests, and SOCKS5. Whatever the way, the target is
//! read once, checked by the address guard, by the command's own list and else by the egress gate, which may ask the user. Only
//! then its name is resolved, because a lookup already tells someone else; every address is checked, and connected to as checked.
//! Behind a proxy of the user's network that proxy resolves the name.

mod hello;
mod http;
mod plain;
mod questions;
mod socks;
mod target;
mod tunnel;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{Connect, EgressRefusal, NetworkDecision, NetworkVerdict, ports::EgressGate};
use haft_pattern::HostPattern;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

pub use self::questions::QuestionClock;
pub(crate) use self::target::ProxyTarget;
use crate::http::{AddressGuard, Refusal, Resolve, UpstreamProxy, checked_addresses};

/// Connections at one time; more wait.
const MOST: usize = 256;
/// How long a target may take to answer the first call.
const CONNECT_TIME: Duration = Duration::from_secs(20);
/// How long a client may take to say what it wants.
const GREETING_TIME: Duration = Duration::from_secs(20);
/// How long, and how much, a client may still talk when it was answered.
const PARTING_TIME: Duration = Duration::from_secs(2);
const PARTING_BYTES: u64 = 1 << 20;
/// Decisions that are remembered.
const REMEMBERED: usize = 1000;

/// What may be reached, and who checks it.
pub(crate) struct ProxyReach {
    /// The hosts that the command was permitted to reach before it started.
    pub(crate) allowed: Vec<HostPattern>,
    /// Decides on all others; without it, they are refused.
    pub(crate) gate: Option<Arc<dyn EgressGate>>,
    pub(crate) guard: Arc<AddressGuard>,
    pub(crate) resolver: Arc<dyn Resolve>,
    /// The proxy of the user's network.
    pub(crate) upstream: Option<UpstreamProxy>,
}

type Decisions = Arc<Mutex<Vec<NetworkDecision>>>;

/// A proxy that runs until it is dropped.
#[derive(Debug)]
pub struct EgressProxy {
    socket: PathBuf,
    decisions: Decisions,
    questions: Arc<QuestionClock>,
    task: JoinHandle<()>,
}

struct Shared {
    reach: ProxyReach,
    decisions: Decisions,
    questions: Arc<QuestionClock>,
}

impl EgressProxy {
    /// Listens at a path that must not exist yet.
    pub(crate) fn start(socket: &Path, reach: ProxyReach) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let decisions = Decisions::default();
        let questions = Arc::default();
        let shared = Arc::new(Shared { reach, decisions: Arc::clone(&decisions), questions: Arc::clone(&questions) });
        let task = tokio::spawn(serve(listener, shared));
        Ok(Self { socket: socket.to_owned(), decisions, questions, task })
    }
    /// The Unix socket at which it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
    /// How long the user has been asked.
    pub fn questions(&self) -> &Arc<QuestionClock> {
        &self.questions
    }
    /// What was asked for and what became of it, in order, each host and port once for each verdict.
    pub fn decisions(&self) -> Vec<NetworkDecision> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.task.abort();
        // It lies in a folder that goes with the job anyway.
        drop(std::fs::remove_file(&self.socket));
    }
}

async fn serve(listener: UnixListener, shared: Arc<Shared>) {
    let mut open = JoinSet::new();
    loop {
        while open.len() >= MOST {
            open.join_next().await;
        }
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    open.spawn(attend(client, Arc::clone(&shared)));
                }
                // Out of descriptors, most likely: some come back when a connection ends.
                Err(_) => {
                    if open.join_next().await.is_none() {
                        return;
                    }
                }
            },
            Some(_) = open.join_next() => {}
        }
    }
}

/// One connection: read what is wanted, check it, pass it on.
async fn attend(mut client: UnixStream, shared: Arc<Shared>) {
    let mut first = [0];
    let greeted = tokio::time::timeout(GREETING_TIME, client.read_exact(&mut first)).await;
    if !matches!(greeted, Ok(Ok(_))) {
        return;
    }
    // A client that breaks off is no failure of ours, and there is nobody to tell.
    drop(match first[0] {
        socks::VERSION => socks::attend(client, &shared).await,
        byte => http::attend(client, byte, &shared).await,
    });
}

/// Ends a connection so that the client still reads the last answer: one that is closed over unread bytes takes it along.
async fn part(mut client: UnixStream) -> io::Result<()> {
    client.shutdown().await?;
    let mut rest = client.take(PARTING_BYTES);
    // A client that keeps sending after that does not read the answer.
    drop(tokio::time::timeout(PARTING_TIME, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await);
    Ok(())
}

/// Why a target is not connected to.
#[derive(Debug)]
enum Refused {
    /// It may not be reached.
    Denied(EgressRefusal),
    /// It may, but does not answer.
    Unreachable(String),
}

impl Refused {
    fn denied(reason: impl Into<String>) -> Self {
        Self::Denied(EgressRefusal { reason: reason.into(), rule: None })
    }
    fn reason(&self) -> &str {
        match self {
            Self::Denied(EgressRefusal { reason, .. }) | Self::Unreachable(reason) => reason,
        }
    }
}

impl Shared {
    async fn connect(&self, target: &ProxyTarget) -> Result<TcpStream, Refused> {
        let outcome = match self.permit(target).await {
            Ok(()) => match tokio::time::timeout(CONNECT_TIME, self.connect_permitted(target)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(Refused::Unreachable(format!("{target} did not answer in {} s", CONNECT_TIME.as_secs()))),
            },
            Err(refused) => Err(refused),
        };
        match &outcome {
            Ok(_) => self.remember(target, NetworkVerdict::Connected, None),
            Err(Refused::Unreachable(_)) => self.remember(target, NetworkVerdict::Unreachable, None),
            Err(Refused::Denied(refusal)) => self.remember(target, NetworkVerdict::Blocked, Some(refusal.clone())),
        }
        outcome
    }

    /// Whether it may be reached; waits for the user, if one is asked.
    async fn permit(&self, target: &ProxyTarget) -> Result<(), Refused> {
        let ProxyReach { allowed, gate, guard, .. } = &self.reach;
        let host = target.host.to_string();
        if host == Connect::SANDBOX_HOST {
            return Err(Refused::denied("only tools outside the sandbox know this name; within it, its servers are at 127.0.0.1"));
        }
        guard.screen(&target.host, target.port).map_err(|refusal| Refused::denied(refusal.to_string()))?;
        if target.is_among(allowed) {
            return Ok(());
        }
        match gate {
            Some(gate) => {
                let _open = self.questions.ask();
                gate.permit(&Connect::tunnel(host, target.port)).await.map_err(Refused::Denied)
            }
            None => Err(Refused::denied(not_named(allowed))),
        }
    }

    async fn connect_permitted(&self, target: &ProxyTarget) -> Result<TcpStream, Refused> {
        let ProxyReach { guard, resolver, upstream, .. } = &self.reach;
        if let Some(proxy) = upstream.as_ref().filter(|proxy| proxy.leads_to(&target.host, target.port)) {
            let tunnel = proxy.tunnel(&**resolver, &target.host.to_string(), target.port).await;
            return tunnel.map_err(|error| unreachable(target, &error));
        }
        let addresses = match target.address() {
            Some(address) => vec![address],
            None => checked_addresses(guard, &**resolver, &target.host.to_string(), target.port)
                .await
                .map_err(|error| if error.is::<Refusal>() { Refused::denied(error.to_string()) } else { unreachable(target, &error) })?,
        };
        TcpStream::connect(&*addresses).await.map_err(|error| unreachable(target, &error))
    }

    /// Remembers that a connection was cut off because of what went through it.
    fn block(&self, target: &ProxyTarget, reason: &str) {
        self.remember(target, NetworkVerdict::Blocked, Some(EgressRefusal { reason: reason.to_owned(), rule: None }));
    }

    fn remember(&self, target: &ProxyTarget, verdict: NetworkVerdict, refusal: Option<EgressRefusal>) {
        let (host, port) = (target.host.to_string(), target.port);
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = decisions.iter().any(|known| (known.host == host) && (known.port, known.verdict) == (port, verdict));
        if decisions.len() < REMEMBERED && !is_known {
            decisions.push(NetworkDecision { host, port, verdict, refusal });
        }
    }
}

fn unreachable(target: &ProxyTarget, error: &(impl std::fmt::Display + ?Sized)) -> Refused {
    Refused::Unreachable(format!("{target} cannot be reached: {error}"))
}

fn not_named(allowed: &[HostPattern]) -> String {
    let hosts: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    match hosts[..] {
        [] => "this command has no network access; name the host in allow_host".to_owned(),
        _ => format!("this command may reach {}, and no other host; name it in allow_host", hosts.join(", ")),
    }
}

#[cfg(test)]
mod tests;
