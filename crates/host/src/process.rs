//! Programs. None outlives its call: each is the leader of its own process group, which ends with it.

mod aside;
mod capture;
mod changes;
mod desk;
mod environment;
mod found;
mod group;
mod held;
mod job;
mod jobs;
mod kept;
mod kin;
mod leader;
mod letters;
mod lines;
mod live;
mod lookup;
mod named;
mod outlived;
mod program;
mod scripts;
mod shell;
mod spawner;
mod streams;
mod triggers;
mod walls;
mod watcher;
mod whereabouts;

use std::future::Future;
use std::io::{self, ErrorKind as IoErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    AsideLimits, BoxFuture, ChangeSets, CommandSpec, ErrorKind, Exec, Helped, Job, JobOptions, JobScope, JobStatus, Line, LineRequest,
    ProcessOutput, ProcessRunner, ToolError, visible,
};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use self::aside::Helpers;
use self::capture::Capture;
use self::group::Group;
pub use self::group::end_all_processes;
pub use self::jobs::Jobs;
use self::lines::Lines;
pub use self::live::end_all_jobs;
pub use self::walls::{ChangeOptions, ShellOptions};
use crate::{GuardedClient, LocalFiles};

/// How long output may still arrive after the program itself has ended: something it left behind may hold the pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs programs on this machine.
#[derive(Debug, Clone, Default)]
pub struct LocalProcesses {
    lines: Option<Arc<Lines>>,
    helpers: Option<Arc<Helpers>>,
}

impl LocalProcesses {
    /// With a shell.
    pub(crate) fn with_shell(self, options: ShellOptions, files: Arc<LocalFiles>, http: Arc<GuardedClient>) -> Self {
        Self { lines: Some(Arc::new(Lines::new(options, files, http))), ..self }
    }
    /// With helpers that are started as commands are, and see nothing of these paths.
    pub(crate) fn with_helpers(self, options: &ShellOptions, hidden: Vec<PathBuf>) -> Self {
        Self { helpers: Some(Arc::new(Helpers::new(options, hidden))), ..self }
    }
    fn lines(&self) -> Result<&Lines, ToolError> {
        self.lines.as_deref().ok_or_else(|| ToolError::new(ErrorKind::SandboxUnavailable, "This host runs no shell lines."))
    }
}

impl ProcessRunner for LocalProcesses {
    fn run(&self, command: CommandSpec, cancel: CancellationToken) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        Box::pin(run(command, cancel))
    }
    fn aside(
        &self,
        stage: &'static str,
        input: Vec<u8>,
        limits: AsideLimits,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Helped, ToolError>> {
        match &self.helpers {
            Some(helpers) => Box::pin(Arc::clone(helpers).run(stage, input, limits, cancel)),
            None => Box::pin(std::future::ready(Err(aside::none()))),
        }
    }
    fn plan(&self, request: &LineRequest) -> Result<Line, ToolError> {
        self.lines()?.plan(request)
    }
    fn start<'a>(&'a self, line: &'a Line, options: JobOptions) -> BoxFuture<'a, Result<Arc<dyn Job>, ToolError>> {
        Box::pin(async move { self.lines()?.start(line, options).await })
    }
    fn change_sets(&self) -> Option<&dyn ChangeSets> {
        self.lines.as_deref().map(Lines::change_sets)
    }
    fn keep(&self, job: Arc<dyn Job>) -> BoxFuture<'_, Arc<dyn Job>> {
        match &self.lines {
            Some(lines) => Box::pin(lines.jobs().keep(job)),
            None => Box::pin(std::future::ready(job)),
        }
    }
    fn adopt<'a>(&'a self, session: &'a str, scope: JobScope) -> BoxFuture<'a, Result<(), ToolError>> {
        match &self.lines {
            Some(lines) => Box::pin(lines.jobs().adopt(session, scope)),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
    fn notices(&self, session: &str) -> Vec<JobStatus> {
        self.lines.as_ref().map(|lines| lines.jobs().notices(session)).unwrap_or_default()
    }
    fn waits(&self) -> bool {
        self.lines.as_ref().is_some_and(|lines| lines.waits())
    }
    fn jobs(&self, session: &str) -> Vec<Arc<dyn Job>> {
        self.lines.as_ref().map(|lines| lines.jobs().of(session)).unwrap_or_default()
    }
    fn forget<'a>(&'a self, session: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        match &self.lines {
            Some(lines) => Box::pin(lines.jobs().forget(session, id)),
            None => Box::pin(std::future::ready(())),
        }
    }
}

/// Why a program is no longer waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exited,
    TimedOut,
    Cancelled,
}

async fn run(mut command: CommandSpec, cancel: CancellationToken) -> Result<ProcessOutput, ToolError> {
    if cancel.is_cancelled() {
        return Err(cancelled(&command.exec));
    }
    let (group, child) = spawn(&command)?;
    let input = command.input.take().unwrap_or_default();
    let errand = Errand { input, output_limit: command.output_limit, timeout: command.timeout };
    let ended = attend(group, child, errand, &cancel).await;
    let output = ended.map_err(|error| ToolError::execution(format!("{} could not be waited for: {error}", shown(&command.exec))))?;
    output.ok_or_else(|| cancelled(&command.exec))
}

/// What a program that was started is given.
struct Errand {
    input: Vec<u8>,
    output_limit: usize,
    timeout: Duration,
}

/// Sees a program to its end; `None` if it was cancelled.
async fn attend(mut group: Group, mut child: Child, errand: Errand, cancel: &CancellationToken) -> io::Result<Option<ProcessOutput>> {
    let (mut stdout, mut stderr) = (Capture::new(errand.output_limit), Capture::new(errand.output_limit));
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (end, status) = {
        let mut traffic = pin!(async {
            tokio::join!(feed(streams.0, errand.input), stdout.fill(streams.1), stderr.fill(streams.2));
        });
        let mut traffic = Traffic { future: traffic.as_mut(), done: false };
        let end = traffic.during(ended(&group, &mut child, errand.timeout, cancel)).await;
        let status = settle(end, &mut group, &mut child, &mut traffic).await;
        (end, status)
    };
    let status = status?;
    Ok((end != End::Cancelled).then(|| report(status, end, stdout, stderr)))
}

fn spawn(command: &CommandSpec) -> Result<(Group, Child), ToolError> {
    let exec = &command.exec;
    if !exec.program.is_absolute() {
        return Err(ToolError::execution(format!("{} is not an absolute path; the plan must name the file that runs", shown(exec))));
    }
    let mut program = Command::new(&exec.program);
    program
        .args(&exec.arguments)
        .current_dir(&exec.directory)
        .env_clear()
        .envs(environment::for_command(command)?)
        .stdin(if command.input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Group::spawn(&mut program).map_err(|error| spawn_error(exec, error))
}

async fn ended(group: &Group, child: &mut Child, timeout: Duration, cancel: &CancellationToken) -> End {
    tokio::select! {
        biased;
        // A failing wait is reported when the child is reaped.
        _ = group.exited(child) => End::Exited,
        () = cancel.cancelled() => End::Cancelled,
        () = tokio::time::sleep(timeout) => End::TimedOut,
    }
}

async fn settle(end: End, group: &mut Group, child: &mut Child, traffic: &mut Traffic<'_>) -> io::Result<ExitStatus> {
    if end != End::Exited {
        let status = traffic.during(group.end(child)).await;
        traffic.finish().await;
        return status;
    }
    traffic.finish().await;
    let status = group.finish(child).await;
    traffic.finish().await;
    status
}

/// The streams of a program, moved along while something else is waited for.
struct Traffic<'a> {
    future: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    done: bool,
}

impl Traffic<'_> {
    async fn during<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        let mut wanted = pin!(wanted);
        loop {
            tokio::select! {
                result = &mut wanted => return result,
                () = &mut self.future, if !self.done => self.done = true,
            }
        }
    }
    /// Reads what is still on its way; not for long, because its writer may never end.
    async fn finish(&mut self) {
        if !self.done {
            self.done = tokio::time::timeout(LAST_WORDS, &mut self.future).await.is_ok();
        }
    }
}

async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        // A program need not read its input; that it stopped is no failure.
        drop(stdin.write_all(&input).await);
    }
}

fn report(status: ExitStatus, end: End, stdout: Capture, stderr: Capture) -> ProcessOutput {
    ProcessOutput {
        code: status.code(),
        signal: status.signal(),
        truncated: stdout.dropped + stderr.dropped > 0,
        stdout: stdout.kept,
        stderr: stderr.kept,
        timed_out: end == End::TimedOut,
    }
}

fn shown(exec: &Exec) -> String {
    format!("'{}'", visible::line(&exec.program.to_string_lossy()))
}

fn cancelled(exec: &Exec) -> ToolError {
    ToolError::new(ErrorKind::Cancelled, format!("{} was cancelled; it and all it started were ended.", shown(exec)))
}

fn spawn_error(exec: &Exec, error: io::Error) -> ToolError {
    let program = shown(exec);
    let directory = exec.directory.to_string_lossy();
    let directory = visible::line(&directory);
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
