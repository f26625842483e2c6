//! A line of shell that runs: its output, its input, its end.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::{Aftermath, BoxFuture, ErrorKind, ExecHost, Job, JobEnd, JobOptions, JobStatus, ToolError};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::kept::Kept;
use super::leader::Leader;
use super::live::Listed;
use super::streams;
use super::watcher::{Output, Watcher};

/// What ends the input at a terminal, at the beginning of a line.
const END_OF_INPUT: u8 = 4;

/// What a job is called, and what it is.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) directory: PathBuf,
    pub(super) host: ExecHost,
    pub(super) walls: String,
    /// Whether it has a terminal.
    pub(super) terminal: bool,
    /// How long it may take to end when it is asked to.
    pub(super) grace: Duration,
    pub(super) started: SystemTime,
    /// The mark behind which it says where it ended, if it does.
    pub(super) mark: Option<String>,
}

/// What must stay until a job has ended.
pub(super) trait Keepsake: Send + Sync {
    /// Ends the run, given the process that was started; `false` if its group is all that holds it together. Blocks.
    fn end(&self, process: u32, grace: Duration) -> io::Result<bool>;
    /// The most memory that the run had at a time, or more than that; where it is counted.
    fn peak_memory(&self) -> Option<u64>;
    /// What there is to say of the run when it is over, given the end of what it said itself: limits that it met, hosts that it
    /// did not reach, files that it may not change.
    fn last_words(&self, said: &[u8]) -> Vec<String>;
    /// What is known of the run when it is over, unless it did not even begin. Blocks.
    fn aftermath(&self, has_run: bool) -> Aftermath;
}

/// A job. Dropping it ends what it runs.
#[derive(Debug)]
pub(super) struct LineJob {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) facts: Facts,
    session: String,
    pid: u32,
    state: Mutex<State>,
    /// Counts what happened: output, and the end.
    news: watch::Sender<u64>,
    pub(super) input: tokio::sync::Mutex<Option<pipe::Sender>>,
    pub(super) stop: CancellationToken,
    /// Whether it goes on after its call.
    pub(super) outlives: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) kept: Kept,
    pub(super) end: Option<JobEnd>,
    /// The directory in which it ended, by its own word.
    pub(super) left_in: Option<PathBuf>,
    pub(super) aftermath: Option<Arc<Aftermath>>,
}

/// Starts a command. The keepsake goes when it has ended.
pub(super) fn start(mut command: Command, facts: Facts, options: JobOptions, keepsake: Arc<dyn Keepsake>) -> io::Result<LineJob> {
    let streams = match options.terminal.filter(|_| facts.terminal) {
        Some(size) => streams::terminal(&mut command, size)?,
        None => streams::pipes(&mut command, options.input)?,
    };
    let leader = Leader::spawn(&mut command)?;
    // The command holds the other ends: while it lives, what they write does not end.
    drop(command);
    let grace = facts.grace;
    let shared = Arc::new(Shared {
        facts,
        session: options.session,
        pid: leader.id(),
        state: Mutex::default(),
        news: watch::channel(0).0,
        input: tokio::sync::Mutex::new(streams.input),
        stop: CancellationToken::new(),
        outlives: AtomicBool::new(false),
    });
    let output = Output::new(Arc::clone(&shared), streams.output, options.spill);
    let listed = Listed::new(shared.stop.clone());
    let watcher = Watcher { shared: Arc::clone(&shared), leader, output, keepsake, grace, _listed: listed };
    tokio::spawn(watcher.watch(options.timeout));
    Ok(LineJob { shared })
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(super) fn tell(&self) {
        self.news.send_modify(|count| *count += 1);
    }
}

impl Job for LineJob {
    fn status(&self) -> JobStatus {
        let Shared { facts, session, pid, .. } = &*self.shared;
        let state = self.shared.state();
        JobStatus {
            id: facts.id.clone(),
            session: session.clone(),
            line: facts.line.clone(),
            directory: facts.directory.clone(),
            host: facts.host,
            walls: facts.walls.clone(),
            pid: Some(*pid),
            started: facts.started,
            end: state.end.clone(),
            bytes: state.kept.total(),
            kept_from: if state.kept.is_whole() { 0 } else { state.kept.kept_from() },
        }
    }

    fn changed(&self, seen: u64) -> BoxFuture<'_, ()> {
        let mut news = self.shared.news.subscribe();
        Box::pin(async move {
            let is_new = |_: &u64| {
                let state = self.shared.state();
                state.kept.total() > seen || state.end.is_some()
            };
            // The sender lives as long as the job does, so waiting ends with news alone.
            drop(news.wait_for(is_new).await);
        })
    }

    fn ended(&self) -> BoxFuture<'_, JobEnd> {
        let mut news = self.shared.news.subscribe();
        Box::pin(async move {
            loop {
                if let Some(end) = self.shared.state().end.clone() {
                    return end;
                }
                drop(news.changed().await);
            }
        })
    }

    fn aftermath(&self) -> Option<Arc<Aftermath>> {
        self.shared.state().aftermath.clone()
    }

    fn left_in(&self) -> Option<PathBuf> {
        self.shared.state().left_in.clone()
    }

    fn head(&self) -> Vec<u8> {
        self.shared.state().kept.head()
    }

    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.shared.state().kept.from(from, most)
    }

    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let mut stdin = self.shared.input.lock().await;
            let Some(open) = stdin.as_mut() else { return Err(closed(&self.shared.facts.id)) };
            let at_terminal = end && self.has_terminal();
            // A program that does not read must not hold up the one who writes for ever.
            let written = async {
                open.write_all(input).await?;
                if at_terminal {
                    open.write_all(end_of(input)).await?;
                }
                open.flush().await
            };
            let failed = match tokio::time::timeout(PATIENCE, written).await {
                Ok(Ok(())) => None,
                Ok(Err(_)) => Some(closed(&self.shared.facts.id)),
                Err(_) => Some(ToolError::execution(format!("Job '{}' does not read its input; nothing more fits.", self.shared.facts.id))),
            };
            if (end && !at_terminal) || failed.is_some() {
                stdin.take();
            }
            failed.map_or(Ok(()), Err)
        })
    }

    fn outlive(&self) {
        self.shared.outlives.store(true, Ordering::Relaxed);
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        self.shared.stop.cancel();
        Box::pin(async move {
            self.ended().await;
        })
    }

    fn has_terminal(&self) -> bool {
        self.shared.facts.terminal
    }
}

/// In the middle of a line the first only hands over what there is of it.
fn end_of(input: &[u8]) -> &'static [u8] {
    if matches!(input.last(), None | Some(b'\n' | b'\r')) { &[END_OF_INPUT] } else { &[END_OF_INPUT; 2] }
}

/// How long a program may take to read what it is given.
const PATIENCE: Duration = Duration::from_secs(5);

fn closed(id: &str) -> ToolError {
    ToolError::new(ErrorKind::ExecutionError, format!("Job '{id}' takes no input: it was started without, or its input is closed."))
}

impl Drop for LineJob {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}
