//! IPC about jobs between Haft processes of one user: one request per connection, each message one line of JSON.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_contract::{Job, JobEnd};
use haft_text::base64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::AbortHandle;

use crate::job_list::JobTable;

/// More than the output that memory holds of a job, and more than any input for one.
const MAX_MESSAGE_BYTES: u64 = 16 << 20;
/// More than the output that memory holds of a job.
const MAX_CHUNK_BYTES: usize = 1 << 20;
/// For replies that need no waiting.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Numbers the servers of this process.
static SERVERS: AtomicU64 = AtomicU64::new(0);

/// A request to the process that runs a job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum JobRequest {
    /// Its state, and its output from a position; if `wait` is set, as soon as there is more.
    Snapshot { job: u64, seen: u64, wait: bool },
    /// Writes to its input.
    Write { job: u64, input: String, end: bool },
    /// Ends it.
    Kill { job: u64 },
}

/// The reply.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum JobReply {
    Snapshot(JobSnapshot),
    Done,
    Failed(String),
}

/// The state of a job at one moment.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JobSnapshot {
    pub(crate) end: Option<JobEnd>,
    pub(crate) spill: Option<(PathBuf, u64)>,
    pub(crate) has_terminal: bool,
    /// Chunks of output, with their positions.
    output: Vec<(u64, String)>,
}

impl JobSnapshot {
    fn take(job: &dyn Job, seen: u64) -> Self {
        let status = job.status();
        let mut output = Vec::new();
        let mut position = seen;
        // Two chunks, if the output between beginning and end is not in memory.
        while position < status.bytes {
            let (from, bytes) = job.output(position, MAX_CHUNK_BYTES);
            if bytes.is_empty() {
                break;
            }
            position = from + bytes.len() as u64;
            output.push((from, base64::encode(&bytes)));
        }
        let spill = status.end.as_ref().and_then(|end| end.spill.as_ref()).map(|spill| (spill.path.clone(), spill.bytes));
        Self { end: status.end, spill, has_terminal: job.has_terminal(), output }
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.output.iter().filter_map(|(from, text)| Some((*from, base64::decode(text)?)))
    }
}

/// Sends a request, and waits for the reply.
pub(crate) async fn send_request(socket: &Path, request: &JobRequest) -> io::Result<JobReply> {
    let mut stream = UnixStream::connect(socket).await?;
    send(&mut stream, request).await?;
    let reply = receive(&mut stream);
    match request {
        JobRequest::Snapshot { wait: true, .. } => reply.await,
        _ => tokio::time::timeout(REPLY_TIMEOUT, reply).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?,
    }
}

async fn send(stream: &mut UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

async fn receive<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let mut line = Vec::new();
    BufReader::new(stream.take(MAX_MESSAGE_BYTES)).read_until(b'\n', &mut line).await?;
    Ok(serde_json::from_slice(&line)?)
}

/// Serves the jobs of this process to other processes of the user, until it is dropped.
#[derive(Debug)]
pub(crate) struct JobServer {
    socket: PathBuf,
    task: AbortHandle,
}

impl JobServer {
    /// Listens in a folder that only the user may enter.
    pub(crate) fn start(folder: &Path, jobs: Weak<JobTable>) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let socket = folder.join(format!("{}-jobs-{number}.sock", std::process::id()));
        // An earlier process with this pid may have left one.
        std::fs::remove_file(&socket).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        let listener = UnixListener::bind(&socket)?;
        let task = tokio::spawn(serve(listener, jobs)).abort_handle();
        Ok(Self { socket, task })
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for JobServer {
    fn drop(&mut self) {
        self.task.abort();
        // A socket that stays behind refuses connections.
        std::fs::remove_file(&self.socket).ok();
    }
}

async fn serve(listener: UnixListener, jobs: Weak<JobTable>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(handle(stream, Weak::clone(&jobs)));
    }
}

async fn handle(mut stream: UnixStream, jobs: Weak<JobTable>) {
    let Ok(request) = receive::<JobRequest>(&mut stream).await else { return };
    let reply = tokio::select! {
        reply = execute(request, &jobs) => reply,
        () = wait_for_disconnect(&stream) => return,
    };
    // The client may have disconnected.
    drop(send(&mut stream, &reply).await);
}

async fn wait_for_disconnect(stream: &UnixStream) {
    // A connection has one request; further bytes are ignored.
    let mut ignored = [0; 256];
    // Readiness may be left over from the request.
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut ignored) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn execute(request: JobRequest, jobs: &Weak<JobTable>) -> JobReply {
    let (JobRequest::Snapshot { job: number, .. } | JobRequest::Write { job: number, .. } | JobRequest::Kill { job: number }) = request;
    let Some(job) = jobs.upgrade().and_then(|jobs| jobs.own_job(number)) else {
        return JobReply::Failed("it is not listed any more".to_owned());
    };
    match request {
        JobRequest::Snapshot { seen, wait, .. } => {
            if wait {
                job.wait_for_output(seen).await;
            }
            JobReply::Snapshot(JobSnapshot::take(&*job, seen))
        }
        JobRequest::Write { input, end, .. } => match base64::decode(&input) {
            Some(input) => match job.write(&input, end).await {
                Ok(()) => JobReply::Done,
                Err(error) => JobReply::Failed(error.message().to_owned()),
            },
            None => JobReply::Failed("the input is not valid base64".to_owned()),
        },
        JobRequest::Kill { .. } => {
            job.kill().await;
            JobReply::Done
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, ready};

    use super::*;

    async fn is_pending(future: impl Future) -> bool {
        tokio::select! {
            biased;
            _ = future => false,
            () = ready(()) => true,
        }
    }

    /// A request that exactly fills the read buffer: the read does not show that no more follows.
    fn request_of_buffer_size() -> Vec<u8> {
        let mut message = br#"{"Kill":{"job":1}}"#.to_vec();
        message.resize(8 * 1024 - 1, b' ');
        message.push(b'\n');
        message
    }

    #[tokio::test]
    async fn job_server_takes_only_a_closed_connection_for_a_disconnect() {
        let (mut client, mut server) = UnixStream::pair().unwrap();
        client.write_all(&request_of_buffer_size()).await.unwrap();
        receive::<JobRequest>(&mut server).await.unwrap();
        assert!(!is_pending(server.readable()).await, "readiness is left over from the request");
        assert!(is_pending(wait_for_disconnect(&server)).await);
        client.write_all(b"more").await.unwrap();
        server.readable().await.unwrap();
        assert!(is_pending(wait_for_disconnect(&server)).await);
        drop(client);
        wait_for_disconnect(&server).await;
    }
}
