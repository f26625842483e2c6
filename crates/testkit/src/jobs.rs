//! Scripted commands. Their time is the time of the runtime: a test that pauses it waits for nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use haft_contract::{
    BoxFuture, ErrorKind, ExecNature, Job, JobEnd, JobOptions, JobStatus, ShellCommand, SpillFile, SpillWriter, ToolError,
    ports::{Clock, Journal},
};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sync::lock;
use crate::{FakeClock, KeptImage};

/// The steps of a scripted command. It ends with exit code 0 unless a step says otherwise.
#[derive(Debug, Clone)]
pub struct Script {
    steps: VecDeque<Step>,
    head: usize,
    tail: usize,
    has_terminal: bool,
    changes: Vec<KeptImage>,
    pub(crate) notes: Vec<String>,
    pub(crate) hints: Vec<String>,
    pub(crate) nature: ExecNature,
}

#[derive(Debug, Clone)]
enum Step {
    Print(Vec<u8>),
    Wait(Duration),
    Read,
    End { code: Option<i32>, signal: Option<i32> },
}

impl Script {
    /// Prints this, and ends.
    pub fn says(output: impl Into<Vec<u8>>) -> Self {
        let steps = VecDeque::from([Step::Print(output.into())]);
        Self {
            steps,
            head: usize::MAX,
            tail: usize::MAX,
            has_terminal: true,
            changes: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
            nature: ExecNature::Any,
        }
    }
    fn then(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }
    /// Then prints this.
    pub fn then_says(self, output: impl Into<Vec<u8>>) -> Self {
        self.then(Step::Print(output.into()))
    }
    /// Then waits.
    pub fn waits(self, time: Duration) -> Self {
        self.then(Step::Wait(time))
    }
    /// Then waits until it is given input, or the end of it.
    pub fn reads(self) -> Self {
        self.then(Step::Read)
    }
    /// Then ends with this code.
    pub fn exits(self, code: i32) -> Self {
        self.then(Step::End { code: Some(code), signal: None })
    }
    /// Then a signal ends it.
    pub fn falls(self, signal: i32) -> Self {
        self.then(Step::End { code: None, signal: Some(signal) })
    }
    /// Only so many bytes of its beginning and of its end are kept in memory.
    pub fn keeping(self, head: usize, tail: usize) -> Self {
        Self { head, tail, ..self }
    }
    /// It gets no terminal, even if one is requested.
    pub fn without_terminals(self) -> Self {
        Self { has_terminal: false, ..self }
    }
    /// Files that it changes directly: the journal of its call gets these pre-images before it ends.
    pub fn changes(self, changes: Vec<KeptImage>) -> Self {
        Self { changes, ..self }
    }
    /// The plan of the command has this note.
    pub fn noting(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
    /// The plan of the command has this hint for the case that it fails.
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
    /// The program is known to do no more than this.
    pub fn of_nature(self, nature: ExecNature) -> Self {
        Self { nature, ..self }
    }
}

/// A started command, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedCommand {
    /// The command.
    pub line: String,
    /// The session that it belongs to.
    pub session: String,
    /// Its timeout.
    pub timeout: Option<Duration>,
    /// The terminal that it was given.
    pub terminal: Option<(u16, u16)>,
    /// Whether its input was left open.
    pub input: bool,
    /// Whether it has a spill.
    pub spilled: bool,
    /// Its input so far.
    pub written: Vec<u8>,
    /// How it ended.
    pub end: Option<JobEnd>,
}

/// The state that a job and its record share.
#[derive(Debug)]
pub(crate) struct ScriptedJobCore {
    facts: JobStatus,
    keeps: (usize, usize),
    has_terminal: bool,
    state: Mutex<ScriptedJobState>,
    /// Counts what happened: output, input, the end.
    news: watch::Sender<u64>,
    stop: CancellationToken,
}

#[derive(Debug)]
struct ScriptedJobState {
    record: StartedCommand,
    output: Vec<u8>,
    /// Inputs that the script has not read yet.
    unread: usize,
    closed: bool,
}

impl ScriptedJobCore {
    pub(crate) fn record(&self) -> StartedCommand {
        lock(&self.state).record.clone()
    }

    fn change(&self, change: impl FnOnce(&mut ScriptedJobState)) {
        change(&mut lock(&self.state));
        self.news.send_modify(|count| *count += 1);
    }

    /// Waits until something holds.
    async fn until(&self, holds: impl Fn(&ScriptedJobState) -> bool) {
        let mut news = self.news.subscribe();
        // The sender lives as long as the core does, so waiting ends with news alone.
        drop(news.wait_for(|_| holds(&lock(&self.state))).await);
    }

    async fn play(&self, steps: VecDeque<Step>) -> (Option<i32>, Option<i32>) {
        for step in steps {
            match step {
                Step::Print(bytes) => self.change(|state| state.output.extend(bytes)),
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Read => {
                    self.until(|state| state.unread > 0 || state.closed).await;
                    self.change(|state| state.unread = state.unread.saturating_sub(1));
                }
                Step::End { code, signal } => return (code, signal),
            }
        }
        (Some(0), None)
    }
}

/// A job that follows a script. Dropping it ends it.
struct ScriptedJob {
    core: Arc<ScriptedJobCore>,
}

/// Starts a job, and gives its records as well.
pub(crate) fn start(line: &ShellCommand, options: JobOptions, script: Script, number: usize) -> (Arc<dyn Job>, Arc<ScriptedJobCore>) {
    let JobOptions { session, timeout, terminal, input, spill, journal, .. } = options;
    let text = line.text().to_owned();
    let (spilled, written, end) = (spill.is_some(), Vec::new(), None);
    let record = StartedCommand { line: text.clone(), session: session.clone(), timeout, terminal, input, spilled, written, end };
    let facts = JobStatus {
        id: format!("job-{number}"),
        session,
        command: text,
        directory: line.directory().to_owned(),
        host: line.shell().host,
        sandbox: line.shell().host.as_str().to_owned(),
        pid: u32::try_from(100 + number).ok(),
        started: FakeClock::default().now(),
        end: None,
        bytes: 0,
        kept_from: 0,
    };
    let state = Mutex::new(ScriptedJobState { record, output: Vec::new(), unread: 0, closed: !input });
    let (keeps, has_terminal) = ((script.head, script.tail), script.has_terminal && terminal.is_some());
    let core = Arc::new(ScriptedJobCore { facts, keeps, has_terminal, state, news: watch::channel(0).0, stop: CancellationToken::new() });
    let changes = journal.map(|journal| (journal, script.changes));
    tokio::spawn(run(Arc::clone(&core), script.steps, timeout, spill, changes));
    (Arc::new(ScriptedJob { core: Arc::clone(&core) }), core)
}

async fn run(
    job: Arc<ScriptedJobCore>,
    steps: VecDeque<Step>,
    timeout: Option<Duration>,
    spill: Option<Box<dyn SpillWriter>>,
    changes: Option<(Arc<dyn Journal>, Vec<KeptImage>)>,
) {
    let began = Instant::now();
    let deadline = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let (mut timed_out, mut killed) = (false, false);
    let (code, signal) = tokio::select! {
        biased;
        () = job.stop.cancelled() => { killed = true; (None, Some(9)) }
        () = deadline => { timed_out = true; (None, Some(9)) }
        ended = job.play(steps) => ended,
    };
    let at: SystemTime = job.facts.started + began.elapsed();
    let output = lock(&job.state).output.clone();
    let spill = write_spill(spill, &output).await;
    if let Some((journal, changes)) = changes {
        // A journal that fails is another test's subject.
        journal.keep_all(changes.into_iter().map(Into::into).collect()).await.ok();
    }
    let end = JobEnd { code, signal, timed_out, killed, spill, ..JobEnd::unknown(at) };
    job.change(|state| state.record.end = Some(end));
}

async fn write_spill(spill: Option<Box<dyn SpillWriter>>, output: &[u8]) -> Option<SpillFile> {
    let mut spill = spill.filter(|_| !output.is_empty())?;
    spill.write(output).await.ok()?;
    spill.finish().await.ok()
}

impl Job for ScriptedJob {
    fn status(&self) -> JobStatus {
        let (state, (head, tail)) = (lock(&self.core.state), self.core.keeps);
        let total = state.output.len();
        let kept_from = total.saturating_sub(tail);
        let kept_from = if kept_from <= head { 0 } else { kept_from as u64 };
        JobStatus { end: state.record.end.clone(), bytes: total as u64, kept_from, ..self.core.facts.clone() }
    }

    fn wait_for_output(&self, seen: u64) -> BoxFuture<'_, ()> {
        Box::pin(self.core.until(move |state| state.output.len() as u64 > seen || state.record.end.is_some()))
    }

    fn wait(&self) -> BoxFuture<'_, JobEnd> {
        Box::pin(async move {
            loop {
                if let Some(end) = self.core.record().end {
                    return end;
                }
                self.core.until(|state| state.record.end.is_some()).await;
            }
        })
    }

    fn elapse(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn head(&self) -> Vec<u8> {
        let state = lock(&self.core.state);
        state.output[..state.output.len().min(self.core.keeps.0)].to_vec()
    }

    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        let (state, (head, tail)) = (lock(&self.core.state), self.core.keeps);
        let total = state.output.len();
        let (from, kept_from) = (usize::try_from(from).unwrap_or(total).min(total), total.saturating_sub(tail));
        let (start, end) = if from < kept_from && from < head { (from, head) } else { (from.max(kept_from), total) };
        (start as u64, state.output[start..end.min(start.saturating_add(most))].to_vec())
    }

    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            if lock(&self.core.state).closed {
                return Err(ToolError::new(ErrorKind::ExecutionError, format!("Job '{}' takes no input.", self.core.facts.id)));
            }
            self.core.change(|state| {
                state.record.written.extend(input);
                state.unread += 1;
                state.closed = end;
            });
            Ok(())
        })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        self.core.stop.cancel();
        Box::pin(async move { drop(self.wait().await) })
    }

    fn has_terminal(&self) -> bool {
        self.core.has_terminal
    }
}

impl Drop for ScriptedJob {
    fn drop(&mut self) {
        self.core.stop.cancel();
    }
}
