//! What an operator's process and the process of a tenant that it started say to each other, a line of JSON each, on standard input and
//! output. The process of a tenant has no other way to servers and workers, and what it says holds for its tenant alone.

use std::io::Write;

use haft_gateway::{RemoteEvent, RemoteMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Lines that may wait for their reader.
const MOST_WAITING: usize = 64;

/// The state of a call that no worker takes: it was given to none.
pub(crate) const NO_WORKER: &str = "no worker";

/// What the server of a tenant asks the server in front of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum ServerAsk {
    /// Give a turn to a worker; what is to be done lies in the tenant's schema.
    Give { id: String, session: String, agent: String, label: Option<String> },
    /// Give a call of a tool to a worker that takes it, in a session of this id; what is to be done lies in the tenant's schema.
    Call { id: String, session: String, tool: String, label: Option<String>, is_repeatable: bool },
    /// The user wants this turn to end, or nobody waits for this call any more.
    Stop { id: String },
    /// Tell the worker that has a turn of this session.
    Tell { session: String, message: RemoteMessage },
    /// The same, and it answers.
    Ask { number: u64, session: String, message: RemoteMessage },
    /// Which sessions have a turn that is not settled?
    Held { number: u64 },
}

/// What it is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
pub(crate) enum ServerWord {
    /// A turn or a call is settled; its outcome, if it is done, lies in the tenant's schema. [`NO_WORKER`] is no outcome.
    Settled { id: String, state: String },
    /// The answer to a question of this number; `None` if it is not known now.
    Held { number: u64, sessions: Option<Vec<String>> },
    /// What a worker has answered to a question of this number; `None` if none has.
    Answered { number: u64, answer: Option<Value> },
    /// What a worker tells.
    Events { session: String, events: Vec<RemoteEvent> },
    /// What workers told so far of turns that run, after a break or at the start.
    CatchUp { turns: Vec<(String, Vec<RemoteEvent>)> },
}

/// What a worker says first to the process that runs turns of a tenant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WorkerSeat {
    /// Where the folders of its sessions are.
    pub(crate) volumes: Option<std::path::PathBuf>,
    /// The Git remote of all tenants, with a place for the name of one.
    pub(crate) git: Option<String>,
    /// The labels of the worker.
    #[serde(default)]
    pub(crate) labels: Vec<String>,
}

/// What a worker tells the process that runs turns of a tenant.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum TurnOrder {
    /// Run a turn, or make a call, that lies in the tenant's schema.
    Run { id: String, attempt: u64, fence: i64 },
    /// End it at once: another worker has it, or nobody wants it.
    Drop { id: String },
    /// A server says this to a session, and waits for an answer if it has a number.
    Told { session: String, body: Value, reply: Option<u64> },
}

/// What that process reports.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum TurnReport {
    /// It listens.
    Ready,
    /// For the pages of the tenant.
    Events { session: String, body: Value },
    /// The answer to what a server asked under this number.
    Reply { number: u64, body: Value },
    /// It has ended; whether its outcome is stored, or a later claim has it.
    Ended { id: String, is_stored: bool },
}

/// Sends lines to the other process.
#[derive(Debug, Clone)]
pub(crate) struct LineSender(mpsc::Sender<String>);

impl LineSender {
    /// With what reads the lines.
    pub(crate) fn pair() -> (Self, mpsc::Receiver<String>) {
        let (lines, waiting) = mpsc::channel(MOST_WAITING);
        (Self(lines), waiting)
    }

    /// Whether it is on its way; not if the other process is gone.
    pub(crate) async fn send(&self, message: &impl Serialize) -> bool {
        let Ok(line) = serde_json::to_string(message) else { return false };
        self.0.send(line).await.is_ok()
    }

    /// The same, for a caller that cannot wait.
    pub(crate) fn send_later(&self, message: impl Serialize + Send + Sync + 'static) {
        let (lines, Ok(runtime)) = (self.clone(), tokio::runtime::Handle::try_current()) else { return };
        runtime.spawn(async move { lines.send(&message).await });
    }
}

/// Lines on standard output. A thread writes them, so nothing else may write there.
pub(crate) fn own_lines() -> LineSender {
    let (lines, mut waiting) = LineSender::pair();
    std::thread::spawn(move || {
        while let Some(line) = waiting.blocking_recv() {
            let mut output = std::io::stdout().lock();
            if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
                return;
            }
        }
    });
    lines
}

/// Writes lines to a process until it is stopped; then its standard input ends, and with it the process.
pub(crate) async fn write_lines(mut stdin: ChildStdin, mut waiting: mpsc::Receiver<String>, stop: CancellationToken) {
    loop {
        let line = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            line = waiting.recv() => line,
        };
        let Some(mut line) = line else { return stop.cancelled().await };
        line.push('\n');
        let written = tokio::select! {
            () = stop.cancelled() => return,
            written = stdin.write_all(line.as_bytes()) => written,
        };
        if written.is_err() {
            return;
        }
    }
}
