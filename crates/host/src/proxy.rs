//! Egress from the sandbox: a proxy on a Unix socket, for the hosts that a command may reach.
//!
//! It speaks what programs speak to proxies: HTTP `CONNECT`, plain HTTP requests, and SOCKS5. Whatever the way, the target is
//! read once, checked by the line's own list and by the address guard, looked up once, and connected to as checked.

mod hello;
mod http;
mod socks;
mod target;
mod tunnel;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_pattern::HostPattern;
use haft_text::display;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) use self::target::Target;
use crate::http::{Guard, Resolve, checked_addresses};

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
pub(crate) struct Reach {
    /// The hosts that the line was permitted to reach.
    pub(crate) allowed: Vec<HostPattern>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) resolver: Arc<dyn Resolve>,
}

/// A proxy that runs until it is dropped.
#[derive(Debug)]
pub struct EgressProxy {
    socket: PathBuf,
    decisions: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

struct Shared {
    reach: Reach,
    decisions: Arc<Mutex<Vec<String>>>,
}

impl EgressProxy {
    /// Listens at a path that must not exist yet.
    pub(crate) fn start(socket: &Path, reach: Reach) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let decisions = Arc::<Mutex<Vec<String>>>::default();
        let shared = Arc::new(Shared { reach, decisions: Arc::clone(&decisions) });
        let task = tokio::spawn(serve(listener, shared));
        Ok(Self { socket: socket.to_owned(), decisions, task })
    }
    /// The Unix socket at which it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
    /// What was asked for and what came of it, in order, each once.
    pub fn decisions(&self) -> Vec<String> {
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
    Denied(String),
    /// It may, but does not answer.
    Unreachable(String),
}

impl Refused {
    fn reason(&self) -> &str {
        match self {
            Self::Denied(reason) | Self::Unreachable(reason) => reason,
        }
    }
}

impl Shared {
    async fn connect(&self, target: &Target) -> Result<TcpStream, Refused> {
        let outcome = match tokio::time::timeout(CONNECT_TIME, self.connect_checked(target)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Refused::Unreachable(format!("{target} did not answer in {} s", CONNECT_TIME.as_secs()))),
        };
        self.remember(&match &outcome {
            Ok(_) => format!("{target}: connected"),
            Err(refused) => format!("{target}: refused: {}", refused.reason()),
        });
        outcome
    }

    async fn connect_checked(&self, target: &Target) -> Result<TcpStream, Refused> {
        let Reach { allowed, guard, resolver } = &self.reach;
        if !target.is_among(allowed) {
            let hosts: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            return Err(Refused::Denied(format!("this command may reach {}, and {target} is not among them", hosts.join(", "))));
        }
        guard.screen(&target.host, target.port).map_err(|refusal| Refused::Denied(refusal.to_string()))?;
        let addresses = match target.address() {
            Some(address) => vec![address],
            None => checked_addresses(guard, &**resolver, &target.host.to_string(), target.port)
                .await
                .map_err(|error| Refused::Denied(error.to_string()))?,
        };
        TcpStream::connect(&*addresses).await.map_err(|error| Refused::Unreachable(format!("{target} cannot be reached: {error}")))
    }

    fn remember(&self, decision: &str) {
        let decision = display::escape_line(decision).into_owned();
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        if decisions.len() < REMEMBERED && !decisions.contains(&decision) {
            decisions.push(decision);
        }
    }
}

#[cfg(test)]
mod tests;
