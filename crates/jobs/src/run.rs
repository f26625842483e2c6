//! Programs that run to their end within one call, with bounded output.

use std::future::Future;
use std::io::{self, ErrorKind as IoErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use haft_contract::{CommandSpec, ErrorKind, Exec, ProcessOutput, ToolError};
use haft_text::display;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use crate::environment;
use crate::process_group::ProcessGroup;

/// How long output is read after the program itself has ended: a process that it left behind may hold the pipe.
pub(crate) const DRAIN_TIME: Duration = Duration::from_millis(500);
const CHUNK_BYTES: usize = 16 * 1024;

/// Why a program is no longer waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    Exited,
    TimedOut,
    /// Cancelled or killed on request.
    Stopped,
}

/// Input and bounds of a program.
pub(crate) struct ProgramRun {
    pub(crate) input: Vec<u8>,
    pub(crate) output_limit: usize,
    pub(crate) timeout: Duration,
}

/// Runs a program to its end, its timeout, or the cancellation. Commands may change the programs in these roots.
pub(crate) async fn run(mut command: CommandSpec, roots: &[PathBuf], cancel: CancellationToken) -> Result<ProcessOutput, ToolError> {
    if cancel.is_cancelled() {
        return Err(cancelled(&command.exec));
    }
    let (group, child) = spawn(&command, roots)?;
    let input = command.input.take().unwrap_or_default();
    let run = ProgramRun { input, output_limit: command.output_limit, timeout: command.timeout };
    let output = supervise(group, child, run, &cancel).await;
    let output = output.map_err(|error| ToolError::execution(format!("{} could not be waited for: {error}", quoted(&command.exec))))?;
    output.ok_or_else(|| cancelled(&command.exec))
}

/// Waits for the end of a started program; `None` if it was cancelled.
pub(crate) async fn supervise(
    mut group: ProcessGroup,
    mut child: Child,
    run: ProgramRun,
    cancel: &CancellationToken,
) -> io::Result<Option<ProcessOutput>> {
    let (mut stdout, mut stderr) = (BoundedCapture::new(run.output_limit), BoundedCapture::new(run.output_limit));
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (reason, status) = {
        let mut streams = pin!(async {
            tokio::join!(feed(stdin, run.input), stdout.fill(out), stderr.fill(err));
        });
        let mut streams = StreamPump { future: streams.as_mut(), done: false };
        let reason = streams.pump_while(wait(&group, &mut child, run.timeout, cancel)).await;
        (reason, end(reason, &mut group, &mut child, &mut streams).await)
    };
    let status = status?;
    Ok((reason != StopReason::Stopped).then(|| ProcessOutput {
        code: status.code(),
        signal: status.signal(),
        truncated: stdout.dropped + stderr.dropped > 0,
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        timed_out: reason == StopReason::TimedOut,
    }))
}

fn spawn(command: &CommandSpec, roots: &[PathBuf]) -> Result<(ProcessGroup, Child), ToolError> {
    let exec = &command.exec;
    if !exec.program.is_absolute() {
        return Err(ToolError::execution(format!("{} is not an absolute path; the plan must name the file that runs", quoted(exec))));
    }
    environment::check_all(&command.environment)?;
    let mut program = Command::new(&exec.program);
    program
        .args(&exec.arguments)
        .current_dir(&exec.directory)
        .env_clear()
        .envs(environment::with_programs_of_roots_last(environment::clean(&command.environment, false), roots))
        .stdin(if command.input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    ProcessGroup::spawn(&mut program).map_err(|error| spawn_error(exec, error))
}

async fn wait(group: &ProcessGroup, child: &mut Child, timeout: Duration, cancel: &CancellationToken) -> StopReason {
    tokio::select! {
        biased;
        // A failing wait is reported when the child is reaped.
        _ = group.wait_for_exit(child) => StopReason::Exited,
        () = cancel.cancelled() => StopReason::Stopped,
        () = tokio::time::sleep(timeout) => StopReason::TimedOut,
    }
}

async fn end(reason: StopReason, group: &mut ProcessGroup, child: &mut Child, streams: &mut StreamPump<'_>) -> io::Result<ExitStatus> {
    if reason != StopReason::Exited {
        let status = streams.pump_while(group.terminate(child)).await;
        streams.drain().await;
        return status;
    }
    streams.drain().await;
    let status = group.kill_and_reap(child).await;
    streams.drain().await;
    status
}

/// The streams of a program, pumped while something else is waited for.
struct StreamPump<'a> {
    future: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    done: bool,
}

impl StreamPump<'_> {
    async fn pump_while<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                result = &mut future => return result,
                () = &mut self.future, if !self.done => self.done = true,
            }
        }
    }
    /// Reads the output that is still in the pipes, for a limited time because their writer may never end.
    async fn drain(&mut self) {
        if !self.done {
            self.done = tokio::time::timeout(DRAIN_TIME, &mut self.future).await.is_ok();
        }
    }
}

async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        // A program need not read its input.
        drop(stdin.write_all(&input).await);
    }
}

/// The output of one stream up to a limit. The rest is read and dropped, so that the program never blocks on a full pipe.
#[derive(Debug)]
struct BoundedCapture {
    bytes: Vec<u8>,
    dropped: u64,
    limit: usize,
}

impl BoundedCapture {
    const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), dropped: 0, limit }
    }

    /// Reads a stream to its end; a failing pipe counts as ended.
    async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = stream.read(&mut chunk).await {
            let fits = (self.limit - self.bytes.len()).min(count);
            self.bytes.extend_from_slice(&chunk[..fits]);
            self.dropped += (count - fits) as u64;
        }
    }
}

fn quoted(exec: &Exec) -> String {
    format!("'{}'", display::escape_line(&exec.program.to_string_lossy()))
}

fn cancelled(exec: &Exec) -> ToolError {
    ToolError::new(
        ErrorKind::Cancelled,
        format!("{} was cancelled; it and all it started were ended. It may have had effects.", quoted(exec)),
    )
}

pub(crate) fn spawn_error(exec: &Exec, error: io::Error) -> ToolError {
    let program = quoted(exec);
    let directory = exec.directory.to_string_lossy();
    let directory = display::escape_line(&directory);
    let message = match error.kind() {
        _ if !exec.directory.is_dir() => format!("Cannot run {program} in '{directory}': there is no such folder."),
        IoErrorKind::NotFound if exec.program.exists() => {
            format!("Cannot run {program}: the interpreter that its first line names is missing.")
        }
        IoErrorKind::NotFound => format!("Cannot run {program}: there is no such file. Check the name, or install it."),
        IoErrorKind::PermissionDenied => format!("Cannot run {program}: it is not executable for this user. Set it with chmod +x."),
        IoErrorKind::ArgumentListTooLong => format!("Cannot run {program}: its arguments are too long. Pass them in a file or as input."),
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            format!("Cannot run {program}: it is neither a program for this machine nor a script that names its interpreter (#!/bin/sh).")
        }
        _ => format!("Cannot run {program}: {error}."),
    };
    ToolError::execution(message).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn capture_stops_at_its_limit_and_reads_to_the_end() {
        for (limit, bytes, dropped) in [(0, "", 5), (3, "abc", 2), (5, "abcde", 0), (9, "abcde", 0)] {
            let mut capture = BoundedCapture::new(limit);
            capture.fill(Some(&b"abcde"[..])).await;
            assert_eq!((capture.bytes.as_slice(), capture.dropped), (bytes.as_bytes(), dropped), "{limit}");
        }
    }
}
