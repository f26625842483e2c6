//! A job of this process: its state, its input, and the request to end it.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::{
    BoxFuture, ChangeApplier, DirectChanges, ExecHost, Job, JobEnd, JobOptions, JobStatus, RunEffects, ToolError, opaque_debug,
};
use haft_host::QuestionClock;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::checkpoint::Checkpoint;
use crate::late_changes;
use crate::output::OutputBuffer;
use crate::output_pump::{ErrorPump, OutputPump};
use crate::process_group::GroupLeader;
use crate::recorder::RunRecorder;
use crate::run_guard::RunGuard;
use crate::spawn::{self, ErrorStream, JobStreams};
use crate::supervisor::Supervisor;

/// Ctrl-D: ends the input of a terminal at the start of a line.
const END_OF_TRANSMISSION: u8 = 4;
/// How long a program may take to read its input.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

static LIVE: Mutex<Vec<(u64, CancellationToken)>> = Mutex::new(Vec::new());
static ENDED: Condvar = Condvar::new();

fn live_jobs() -> MutexGuard<'static, Vec<(u64, CancellationToken)>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lists a job of this process until it is dropped.
#[derive(Debug)]
pub(crate) struct LiveJob(u64);

impl LiveJob {
    fn new(stop: CancellationToken) -> Self {
        let mut live = live_jobs();
        let number = live.last().map_or(0, |(number, _)| number + 1);
        live.push((number, stop));
        Self(number)
    }
}

impl Drop for LiveJob {
    fn drop(&mut self) {
        live_jobs().retain(|(number, _)| *number != self.0);
        ENDED.notify_all();
    }
}

/// Ends every job of this process, and waits until their sandboxes are cleaned up. For a process that is about to exit. Blocks,
/// so it must not run on a thread of a runtime, unless it is given no time. Says whether all have ended.
pub fn end_all_jobs(timeout: Duration) -> bool {
    let live = live_jobs();
    live.iter().for_each(|(_, stop)| stop.cancel());
    if live.is_empty() || timeout.is_zero() {
        return live.is_empty();
    }
    // The kernel ends the others with this process.
    ENDED.wait_timeout_while(live, timeout, |live| !live.is_empty()).is_ok_and(|(live, _)| live.is_empty())
}

/// What is known of a job when it starts.
#[derive(Debug, Clone)]
pub(crate) struct JobFacts {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) directory: PathBuf,
    pub(crate) host: ExecHost,
    pub(crate) sandbox: String,
    pub(crate) terminal: bool,
    /// Time between the request to end and SIGKILL.
    pub(crate) grace: Duration,
    pub(crate) started: SystemTime,
    pub(crate) cwd_sentinel: Option<String>,
}

/// A job of this process. Dropping it ends its command.
#[derive(Debug)]
pub(crate) struct LocalJob {
    shared: Arc<JobShared>,
}

/// What a job shares with its supervisor.
#[derive(Debug)]
pub(crate) struct JobShared {
    pub(crate) facts: JobFacts,
    session: String,
    pid: u32,
    state: Mutex<JobState>,
    /// Counts changes: output, and the end.
    updates: watch::Sender<u64>,
    pub(crate) input: tokio::sync::Mutex<Option<pipe::Sender>>,
    pub(crate) stop: CancellationToken,
    pub(crate) keeps_all_output: AtomicBool,
    pub(crate) recorder: RunRecorder,
    /// How long the user was asked about its connections.
    pub(crate) questions: Arc<QuestionClock>,
}

#[derive(Default)]
pub(crate) struct JobState {
    pub(crate) output: OutputBuffer,
    pub(crate) end: Option<JobEnd>,
    pub(crate) final_cwd: Option<PathBuf>,
    pub(crate) run_effects: Option<Arc<RunEffects>>,
    /// Applies its staged changes, if it continues after its call.
    pub(crate) applier: Option<Arc<dyn ChangeApplier>>,
}

opaque_debug!(JobState: end = end);

impl JobShared {
    pub(crate) fn state(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn notify(&self) {
        self.updates.send_modify(|count| *count += 1);
    }
}

/// A command that was started, and that nothing reads yet. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct SpawnedCommand {
    pub(crate) leader: GroupLeader,
    streams: JobStreams,
}

impl SpawnedCommand {
    /// Starts a command with pipes or a terminal.
    pub(crate) fn spawn(mut command: Command, terminal: bool, options: &JobOptions) -> io::Result<Self> {
        let streams = match options.terminal.filter(|_| terminal) {
            Some(size) => spawn::connect_terminal(&mut command, size)?,
            None if options.error_output.is_some() => spawn::connect_pipes(&mut command, options.input, ErrorStream::Separate)?,
            None => spawn::connect_pipes(&mut command, options.input, ErrorStream::Joined)?,
        };
        // The command holds the write ends: while it lives, our reads do not end.
        Ok(Self { leader: GroupLeader::spawn(&mut command)?, streams })
    }
}

impl LocalJob {
    /// Takes care of a command. The guard is dropped when it has ended; the changes since the checkpoint are recorded then.
    pub(crate) fn supervise(
        SpawnedCommand { leader, streams }: SpawnedCommand,
        facts: JobFacts,
        options: JobOptions,
        guard: RunGuard,
        checkpoint: Option<Checkpoint>,
    ) -> Self {
        let shared = Arc::new(JobShared {
            facts,
            session: options.session,
            pid: leader.id(),
            state: Mutex::default(),
            updates: watch::channel(0).0,
            input: tokio::sync::Mutex::new(streams.input),
            stop: CancellationToken::new(),
            keeps_all_output: AtomicBool::new(false),
            recorder: RunRecorder::new(checkpoint, options.journal),
            questions: guard.proxy.as_ref().map(|proxy| Arc::clone(proxy.questions())).unwrap_or_default(),
        });
        let errors = streams.errors.zip(options.error_output).map(|(stream, writer)| ErrorPump::new(stream, writer));
        let output = OutputPump::new(Arc::clone(&shared), streams.output, options.spill, errors);
        let live = LiveJob::new(shared.stop.clone());
        let supervisor = Supervisor { shared: Arc::clone(&shared), leader, output, guard: Arc::new(guard), _live: live };
        tokio::spawn(supervisor.supervise(options.timeout));
        Self { shared }
    }

    fn closed_input(&self) -> ToolError {
        let id = &self.shared.facts.id;
        ToolError::execution(format!("Job '{id}' takes no input: it was started without, or its input is closed."))
    }
}

impl Job for LocalJob {
    fn status(&self) -> JobStatus {
        let JobShared { facts, session, pid, .. } = &*self.shared;
        let state = self.shared.state();
        JobStatus {
            id: facts.id.clone(),
            session: session.clone(),
            command: facts.command.clone(),
            directory: facts.directory.clone(),
            host: facts.host,
            sandbox: facts.sandbox.clone(),
            pid: Some(*pid),
            started: facts.started,
            end: state.end.clone(),
            bytes: state.output.total(),
            kept_from: state.output.kept_from(),
        }
    }

    fn wait_for_output(&self, seen: u64) -> BoxFuture<'_, ()> {
        let mut updates = self.shared.updates.subscribe();
        Box::pin(async move {
            let is_new = |_: &u64| {
                let state = self.shared.state();
                state.output.total() > seen || state.end.is_some()
            };
            // The sender lives as long as the job.
            drop(updates.wait_for(is_new).await);
        })
    }

    fn wait(&self) -> BoxFuture<'_, JobEnd> {
        let mut updates = self.shared.updates.subscribe();
        Box::pin(async move {
            loop {
                if let Some(end) = self.shared.state().end.clone() {
                    return end;
                }
                drop(updates.changed().await);
            }
        })
    }

    fn elapse(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(self.shared.questions.elapse(time))
    }

    fn run_effects(&self) -> Option<Arc<RunEffects>> {
        self.shared.state().run_effects.clone()
    }

    fn record_changes(&self) -> BoxFuture<'_, Option<DirectChanges>> {
        Box::pin(self.shared.recorder.record())
    }

    fn apply_at_end(&self, applier: Arc<dyn ChangeApplier>) -> BoxFuture<'_, ()> {
        let effects = {
            let mut state = self.shared.state();
            match state.run_effects.clone().zip(state.end.clone()) {
                None => {
                    state.applier = Some(applier);
                    return Box::pin(std::future::ready(()));
                }
                ended => ended,
            }
        };
        // It ended while its call decided to let it continue.
        Box::pin(async move {
            let Some((effects, end)) = effects else { return };
            let effects = late_changes::apply(&*applier, &effects, &end).await;
            self.shared.state().run_effects = Some(Arc::new(effects));
        })
    }

    fn final_cwd(&self) -> Option<PathBuf> {
        self.shared.state().final_cwd.clone()
    }

    fn head(&self) -> Vec<u8> {
        self.shared.state().output.head()
    }

    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.shared.state().output.from(from, most)
    }

    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let mut stdin = self.shared.input.lock().await;
            let Some(open) = stdin.as_mut() else { return Err(self.closed_input()) };
            let at_terminal = end && self.has_terminal();
            let write = async {
                open.write_all(input).await?;
                if at_terminal {
                    open.write_all(end_of_input(input)).await?;
                }
                open.flush().await
            };
            let failure = match tokio::time::timeout(WRITE_TIMEOUT, write).await {
                Ok(Ok(())) => None,
                Ok(Err(_)) => Some(self.closed_input()),
                Err(_) => Some(ToolError::execution(format!("Job '{}' does not read its input; nothing more fits.", self.shared.facts.id))),
            };
            if (end && !at_terminal) || failure.is_some() {
                stdin.take();
            }
            failure.map_or(Ok(()), Err)
        })
    }

    fn keep_all_output(&self) {
        self.shared.keeps_all_output.store(true, Ordering::Relaxed);
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        self.shared.stop.cancel();
        Box::pin(async move {
            self.wait().await;
        })
    }

    fn has_terminal(&self) -> bool {
        self.shared.facts.terminal
    }
}

/// Within a line, the first Ctrl-D only submits the line.
fn end_of_input(input: &[u8]) -> &'static [u8] {
    if matches!(input.last(), None | Some(b'\n' | b'\r')) { &[END_OF_TRANSMISSION] } else { &[END_OF_TRANSMISSION; 2] }
}

impl Drop for LocalJob {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}
