//! The supervisor of a job: reads its output, waits for its end, and cleans up after it.

use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use haft_contract::{JobEnd, JobUsage, RunEffects, SpillFile, SpillWriter};
use haft_sandbox::launcher;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::job::{JobShared, LiveJob};
use crate::orphans::Descendants;
use crate::output::CwdTracker;
use crate::process_group::GroupLeader;
use crate::run::{DRAIN_TIME, StopReason};
use crate::run_guard::RunGuard;

/// How often protected names are looked for while a command runs.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How often in that time the user's changes of protected files are told from those of the command.
const LOOKS: u32 = 5;
const CHUNK_BYTES: usize = 64 * 1024;
/// Output up to this size is shown whole, and needs no spill.
const MIN_SPILL_BYTES: u64 = 16 * 1024;
/// How much of the end of the output is searched for the reason of a failure.
const SEARCHED_BYTES: usize = 16 * 1024;

/// Everything that a running job owns.
pub(crate) struct Supervisor {
    pub(crate) shared: Arc<JobShared>,
    pub(crate) leader: GroupLeader,
    pub(crate) output: OutputPump,
    pub(crate) guard: Arc<RunGuard>,
    /// Dropped last.
    pub(crate) _live: LiveJob,
}

impl Supervisor {
    pub(crate) async fn supervise(mut self, timeout: Option<Duration>) {
        let reason = self.run(timeout).await;
        if reason == StopReason::Exited {
            self.output.drain().await;
        } else {
            self.terminate().await;
        }
        let (status, usage) = self.leader.kill_and_reap(self.guard.peak_memory()).await;
        self.output.drain().await;
        self.output.finish_cwd_tracking().await;
        let end = self.end(reason, status, usage).await;
        // Everything of the run is cleaned up before its end is published. This may wait for processes that die.
        let (guard, has_run) = (self.guard, end.not_run.is_none());
        let run_effects = tokio::task::spawn_blocking(move || guard.run_effects(has_run)).await;
        // The guard has cleaned up, so what is there now is what the command left.
        let moved = run_effects.as_ref().ok().and_then(|effects| effects.git.as_ref()).map(|git| git.moved.clone()).unwrap_or_default();
        let direct = if has_run { self.shared.recorder.record_with(moved).await } else { None };
        let run_effects = run_effects.ok().map(|effects| RunEffects { direct, ..effects });
        // Writers to the input learn that it is closed.
        drop(self.shared.input.lock().await.take());
        let mut state = self.shared.state();
        (state.end, state.run_effects) = (Some(end), run_effects.map(Arc::new));
        drop(state);
        self.shared.notify();
    }

    async fn end(&mut self, reason: StopReason, status: ExitStatus, usage: Option<JobUsage>) -> JobEnd {
        let is_sandboxed = self.shared.facts.host.is_sandboxed();
        // A launcher that was ended by a signal also says that it failed.
        let may_have_failed = is_sandboxed && reason == StopReason::Exited;
        let not_run = may_have_failed.then(|| launcher::setup_failure(status.code(), &self.shared.state().output.head()));
        let tail = self.shared.state().output.tail(SEARCHED_BYTES);
        for note in self.guard.exit_notes(&tail) {
            self.output.take(format!("[{note}]\n").as_bytes()).await;
        }
        JobEnd {
            code: status.code(),
            signal: status.signal(),
            timed_out: reason == StopReason::TimedOut,
            killed: reason == StopReason::Stopped,
            lost: false,
            at: SystemTime::now(),
            not_run: not_run.flatten(),
            usage,
            cut: self.output.spill.as_ref().is_some_and(|spill| spill.is_cut()),
            spill: self.output.finish_spill().await,
        }
    }

    /// Reads output until the program ends, its timeout is over, or it is stopped.
    async fn run(&mut self, timeout: Option<Duration>) -> StopReason {
        let Self { shared, leader, output, guard, .. } = self;
        let pid = leader.id();
        let deadline = async {
            match timeout {
                Some(timeout) => shared.questions.elapse(timeout).await,
                None => std::future::pending().await,
            }
        };
        let end = async {
            tokio::select! {
                biased;
                () = shared.stop.cancelled() => StopReason::Stopped,
                () = deadline => StopReason::TimedOut,
                () = leader.wait_for_exit() => StopReason::Exited,
                () = watch(guard, pid) => StopReason::Stopped,
            }
        };
        output.pump_while(end).await
    }

    /// Asks all processes of the job to end, and reads their last output.
    async fn terminate(&mut self) {
        let Self { leader, output, guard, shared, .. } = self;
        let (guard, pid, grace) = (Arc::clone(guard), leader.id(), shared.facts.grace);
        let terminated = async {
            let ended = tokio::task::spawn_blocking(move || guard.end(pid, grace)).await;
            match ended {
                Ok(Ok(true)) => drop(tokio::time::timeout(DRAIN_TIME, leader.wait_for_exit()).await),
                _ => terminate_group(leader, grace).await,
            }
        };
        output.pump_while(terminated).await;
    }
}

/// Looks at a command while it runs: a background job may run for days. Returns if it must be ended.
async fn watch(guard: &Arc<RunGuard>, process: u32) {
    loop {
        if guard.watches_files() {
            for _ in 0..LOOKS {
                tokio::time::sleep(WATCH_INTERVAL / LOOKS).await;
                let guard = Arc::clone(guard);
                // Of a failed look, the next one finds as much.
                drop(tokio::task::spawn_blocking(move || guard.accept_changes(process)).await);
            }
        } else {
            tokio::time::sleep(WATCH_INTERVAL).await;
        }
        let guard = Arc::clone(guard);
        // A failed look is made again.
        if tokio::task::spawn_blocking(move || guard.watch()).await.unwrap_or_default() {
            return;
        }
    }
}

/// Terminates the group of a job and its descendants outside the group, and kills the latter. The caller kills the group.
async fn terminate_group(leader: &GroupLeader, grace: Duration) {
    let pid = leader.id();
    let descendants = tokio::task::spawn_blocking(move || Descendants::of_leader(pid).inspect(Descendants::terminate)).await;
    leader.terminate(grace).await;
    if let Ok(Some(descendants)) = descendants {
        drop(tokio::task::spawn_blocking(move || descendants.kill()).await);
    }
}

/// Moves the output of a job into its buffer and its spill.
pub(crate) struct OutputPump {
    shared: Arc<JobShared>,
    stream: pipe::Receiver,
    spill: Option<Box<dyn SpillWriter>>,
    cwd_tracker: Option<CwdTracker>,
    open: bool,
}

impl OutputPump {
    pub(crate) fn new(shared: Arc<JobShared>, stream: pipe::Receiver, spill: Option<Box<dyn SpillWriter>>) -> Self {
        let cwd_tracker = shared.facts.cwd_sentinel.as_deref().map(CwdTracker::new);
        Self { shared, stream, spill, cwd_tracker, open: true }
    }

    /// Reads output while a future is waited for. The future is polled first: a process left behind may write for ever.
    async fn pump_while<T>(&mut self, future: impl Future<Output = T>) -> T {
        let (mut future, mut chunk) = (pin!(future), vec![0; CHUNK_BYTES]);
        loop {
            tokio::select! {
                biased;
                done = &mut future => return done,
                read = self.stream.read(&mut chunk), if self.open => match read {
                    Ok(count @ 1..) => self.take(&chunk[..count]).await,
                    // A program may close its output and continue.
                    _ => self.open = false,
                },
            }
        }
    }

    /// Reads the output that is still in the pipe, for a limited time because its writer may never end.
    async fn drain(&mut self) {
        let closed = async {
            let mut chunk = vec![0; CHUNK_BYTES];
            while let Ok(count @ 1..) = self.stream.read(&mut chunk).await {
                self.take(&chunk[..count]).await;
            }
        };
        drop(tokio::time::timeout(DRAIN_TIME, closed).await);
    }

    async fn take(&mut self, chunk: &[u8]) {
        match self.cwd_tracker.as_mut().map(|tracker| tracker.filter(chunk)) {
            None => self.store(chunk).await,
            Some(output) if output.is_empty() => {}
            Some(output) => self.store(&output).await,
        }
    }

    async fn finish_cwd_tracking(&mut self) {
        let Some(mut tracker) = self.cwd_tracker.take() else { return };
        self.shared.state().final_cwd = tracker.directory.take();
        self.store(&tracker.take_pending()).await;
    }

    async fn store(&mut self, chunk: &[u8]) {
        if let Some(writer) = &mut self.spill
            && writer.write(chunk).await.is_err()
        {
            // A full disk must not stop the program; the result says that its output is not stored.
            self.spill = None;
        }
        self.shared.state().output.push(chunk);
        self.shared.notify();
    }

    /// The whole output as a file, if it is larger than what is shown, or is read after the call.
    async fn finish_spill(&mut self) -> Option<SpillFile> {
        let writer = self.spill.take()?;
        let total = self.shared.state().output.total();
        let is_needed = total > MIN_SPILL_BYTES || (total > 0 && self.shared.keeps_all_output.load(Ordering::Relaxed));
        if is_needed { writer.finish().await.ok() } else { None }
    }
}
