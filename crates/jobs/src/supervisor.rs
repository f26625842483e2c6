//! The supervisor of a job: reads its output, waits for its end, and cleans up after it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::{JobEnd, JobUsage, RunEffects};
use haft_sandbox::launcher;

use crate::job::{JobShared, LiveJob};
use crate::late_changes;
use crate::orphans::Descendants;
use crate::output_pump::OutputPump;
use crate::process_group::GroupLeader;
use crate::run::{DRAIN_TIME, StopReason};
use crate::run_guard::RunGuard;

/// How often protected names are looked for while a command runs.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How often in that time the user's changes of protected files are told from those of the command.
const LOOKS: u32 = 5;
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
        let mut end = self.end(reason, status, usage);
        let mut notes = self.guard.exit_notes(&self.output.last_errors(SEARCHED_BYTES));
        let Self { shared, mut output, guard, .. } = self;
        let effects = run_effects(&shared, guard, end.not_run.is_none()).await;
        let effects = apply_staged(&shared, effects, &end, Some(&mut notes)).await;
        for note in notes {
            output.note(&note).await;
        }
        output.finish_errors().await;
        (end.cut, end.spill) = (output.is_cut(), output.finish_spill().await);
        // Writers to the input learn that it is closed.
        drop(shared.input.lock().await.take());
        publish(&shared, end, effects).await;
    }

    fn end(&self, reason: StopReason, status: ExitStatus, usage: Option<JobUsage>) -> JobEnd {
        let is_sandboxed = self.shared.facts.host.is_sandboxed();
        // A launcher that was ended by a signal also says that it failed.
        let may_have_failed = is_sandboxed && reason == StopReason::Exited;
        let not_run = may_have_failed.then(|| launcher::setup_failure(status.code(), &self.output.first_errors()));
        JobEnd {
            code: status.code(),
            signal: status.signal(),
            timed_out: reason == StopReason::TimedOut,
            killed: reason == StopReason::Stopped,
            lost: false,
            at: SystemTime::now(),
            not_run: not_run.flatten(),
            usage,
            cut: false,
            spill: None,
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

/// What the run has changed. Everything of it is cleaned up before its end is published; this may wait for processes that die.
async fn run_effects(shared: &JobShared, guard: Arc<RunGuard>, has_run: bool) -> Option<RunEffects> {
    let settled = tokio::task::spawn_blocking(move || (guard.run_effects(has_run), guard.take_removal())).await.ok();
    let (effects, removal) = settled.map_or((None, None), |(effects, removal)| (Some(effects), removal));
    // The guard has cleaned up, so what is there now is what the command left.
    let moved = effects.as_ref().and_then(|effects| effects.git.as_ref()).map(|git| git.moved.clone()).unwrap_or_default();
    let direct = if has_run { shared.recorder.record_with(moved).await } else { None };
    if let Some(removal) = removal {
        // What cannot be removed stays, as when the guard is dropped.
        drop(removal.await);
    }
    effects.map(|effects| RunEffects { direct, ..effects })
}

/// Applies the staged changes of a job that continued after its call, and notes what became of them.
async fn apply_staged(
    shared: &JobShared,
    effects: Option<RunEffects>,
    end: &JobEnd,
    notes: Option<&mut Vec<String>>,
) -> Option<RunEffects> {
    let applier = shared.state().applier.take();
    let (Some(applier), Some(effects)) = (applier, &effects) else { return effects };
    let effects = late_changes::apply(&*applier, effects, end).await;
    if let Some(notes) = notes {
        notes.extend(late_changes::note(&effects, end));
    }
    Some(effects)
}

/// Publishes the end of a job. A call that lets it continue may come in between: then its changes are applied first.
async fn publish(shared: &JobShared, end: JobEnd, mut effects: Option<RunEffects>) {
    loop {
        {
            let mut state = shared.state();
            if state.applier.is_none() {
                (state.end, state.run_effects) = (Some(end), effects.map(Arc::new));
                break;
            }
        }
        effects = apply_staged(shared, effects, &end, None).await;
    }
    shared.notify();
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
