//! What two processes of Haft say to each other about a job: one line of JSON each way.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{JobEnd, base64};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// More than the output that is kept of a job, and than any input that is given to one.
const LONGEST: u64 = 16 << 20;
/// How long the other side may take for what it can answer at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// How the job is, from a position of its output on; if `wait` is set, as soon as there is more.
    Look { job: u64, seen: u64, wait: bool },
    /// To give it input.
    Write { job: u64, input: String, end: bool },
    /// To end it.
    Kill { job: u64 },
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// How the job is.
    Sight(Sight),
    /// It was done.
    Done,
    /// It was not, and why.
    Failed(String),
}

/// What is seen of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sight {
    pub(super) bytes: u64,
    pub(super) end: Option<JobEnd>,
    pub(super) spill: Option<(PathBuf, u64)>,
    pub(super) has_terminal: bool,
    /// Stretches of output by the positions where they begin.
    pub(super) output: Vec<(u64, String)>,
}

impl Sight {
    pub(super) fn stretches(&self) -> Vec<(u64, Vec<u8>)> {
        self.output.iter().filter_map(|(from, text)| Some((*from, base64::decode(text)?))).collect()
    }
}

/// Asks, and waits for the answer.
pub(super) async fn ask(socket: &Path, question: &Question) -> io::Result<Reply> {
    let mut stream = UnixStream::connect(socket).await?;
    send(&mut stream, question).await?;
    let answer = read(&mut stream);
    match question {
        Question::Look { wait: true, .. } => answer.await,
        _ => tokio::time::timeout(PATIENCE, answer).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?,
    }
}

pub(super) async fn send(stream: &mut UnixStream, letter: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(letter)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

pub(super) async fn read<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let mut line = Vec::new();
    BufReader::new(stream.take(LONGEST)).read_until(b'\n', &mut line).await?;
    Ok(serde_json::from_slice(&line)?)
}
