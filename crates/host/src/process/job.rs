//! A line of shell that runs: its output, its input, its end.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::{BoxFuture, ErrorKind, Job, JobEnd, JobOptions, JobStatus, SpillFile, SpillWriter, ToolError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::LAST_WORDS;
use super::group::Group;
use super::kept::Kept;
use super::live::Listed;

const PIECE: usize = 64 * 1024;
/// Output up to here is shown whole, and needs no file.
const SHORT: u64 = 16 * 1024;

/// What a job is called, and what it is.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) directory: std::path::PathBuf,
    pub(super) walls: String,
    pub(super) started: SystemTime,
}

/// What must stay until a job has ended.
pub(super) trait Keepsake: Send {
    /// What there is to say of the run when it is over: limits that it met, hosts that it did not reach.
    fn last_words(&self) -> Vec<String>;
}

/// A job. Dropping it ends what it runs.
#[derive(Debug)]
pub(super) struct LineJob {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    facts: Facts,
    session: String,
    pid: Option<u32>,
    state: Mutex<State>,
    /// Counts what happened: output, and the end.
    news: watch::Sender<u64>,
    input: tokio::sync::Mutex<Option<ChildStdin>>,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    kept: Kept,
    end: Option<JobEnd>,
}

/// Starts a command. Both of its output streams are one pipe, so that what it writes stays in order.
/// The keepsake goes when it has ended.
pub(super) fn start(mut command: Command, facts: Facts, options: JobOptions, keepsake: Box<dyn Keepsake>) -> io::Result<LineJob> {
    let (reader, writer) = io::pipe()?;
    command.stdout(Stdio::from(writer.try_clone()?)).stderr(Stdio::from(writer));
    command.stdin(if options.input { Stdio::piped() } else { Stdio::null() });
    let (group, mut child) = Group::spawn(&mut command)?;
    // The command holds the other end of the pipe: while it lives, the pipe does not end.
    drop(command);
    let shared = Arc::new(Shared {
        facts,
        session: options.session,
        pid: child.id(),
        state: Mutex::default(),
        news: watch::channel(0).0,
        input: tokio::sync::Mutex::new(child.stdin.take()),
        stop: CancellationToken::new(),
    });
    let output = pipe::Receiver::from_owned_fd(reader.into())?;
    let listed = Listed::new(shared.stop.clone());
    let watcher = Watcher { shared: Arc::clone(&shared), group, child, output, spill: options.spill, keepsake, _listed: listed };
    tokio::spawn(watcher.watch(options.timeout));
    Ok(LineJob { shared })
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn tell(&self) {
        self.news.send_modify(|count| *count += 1);
    }
}

/// Why a job is no longer waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exited,
    TimedOut,
    Killed,
}

/// Moves a job's output along until it has ended.
struct Watcher {
    shared: Arc<Shared>,
    group: Group,
    child: Child,
    output: pipe::Receiver,
    spill: Option<Box<dyn SpillWriter>>,
    keepsake: Box<dyn Keepsake>,
    /// The last to go.
    _listed: Listed,
}

impl Watcher {
    async fn watch(mut self, timeout: Option<Duration>) {
        let end = self.run(timeout).await;
        let status = match end {
            End::Exited => {
                self.drain().await;
                self.group.finish(&mut self.child).await
            }
            End::TimedOut | End::Killed => self.group.end(&mut self.child).await,
        };
        self.drain().await;
        for words in self.keepsake.last_words() {
            Self::take(&self.shared, &mut self.spill, format!("[{words}]\n").as_bytes()).await;
        }
        let spill = self.keep_whole().await;
        let status = status.unwrap_or_else(|_| ExitStatus::from_raw(0xff00));
        let end = JobEnd {
            code: status.code(),
            signal: status.signal(),
            timed_out: end == End::TimedOut,
            killed: end == End::Killed,
            at: SystemTime::now(),
            spill,
        };
        // What is left of it on the machine is gone before anyone hears of its end. It may wait for processes that die.
        drop(tokio::task::spawn_blocking(move || drop(self.keepsake)).await);
        // Whoever holds the input is told that nobody reads it any more.
        drop(self.shared.input.lock().await.take());
        self.shared.state().end = Some(end);
        self.shared.tell();
    }

    /// Takes output until the program ends, its time is up, or someone ends it.
    async fn run(&mut self, timeout: Option<Duration>) -> End {
        let Self { shared, group, child, output, spill, .. } = self;
        let deadline = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let (mut deadline, mut exited) = (pin!(deadline), pin!(group.exited(child)));
        let (mut piece, mut open) = (vec![0; PIECE], true);
        loop {
            tokio::select! {
                biased;
                () = shared.stop.cancelled() => return End::Killed,
                () = &mut deadline => return End::TimedOut,
                // Before the output: what a program left behind may go on writing for ever. A wait that fails is reported
                // when the child is reaped.
                _ = &mut exited => return End::Exited,
                read = output.read(&mut piece), if open => match read {
                    Ok(count @ 1..) => Self::take(shared, spill, &piece[..count]).await,
                    // A program may close its output and go on.
                    _ => open = false,
                },
            }
        }
    }

    /// Reads what is still on its way; not for long, because its writer may never end.
    async fn drain(&mut self) {
        let mut piece = vec![0; PIECE];
        let rest = async {
            while let Ok(count @ 1..) = self.output.read(&mut piece).await {
                Self::take(&self.shared, &mut self.spill, &piece[..count]).await;
            }
        };
        // Whether it came to its end does not matter: what was said in time is kept.
        drop(tokio::time::timeout(LAST_WORDS, rest).await);
    }

    async fn take(shared: &Shared, spill: &mut Option<Box<dyn SpillWriter>>, piece: &[u8]) {
        if let Some(writer) = spill
            && writer.write(piece).await.is_err()
        {
            // A full disk must not stop the program; what is shown says that the rest is not kept.
            *spill = None;
        }
        shared.state().kept.push(piece);
        shared.tell();
    }

    /// The whole output as a file, if more was written than is shown.
    async fn keep_whole(&mut self) -> Option<SpillFile> {
        let writer = self.spill.take()?;
        let long = self.shared.state().kept.total() > SHORT;
        if long { writer.finish().await.ok() } else { None }
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
            walls: facts.walls.clone(),
            pid: *pid,
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
            // A program that does not read must not hold up the one who writes for ever.
            let written = async {
                open.write_all(input).await?;
                open.flush().await
            };
            let failed = match tokio::time::timeout(PATIENCE, written).await {
                Ok(Ok(())) => None,
                Ok(Err(_)) => Some(closed(&self.shared.facts.id)),
                Err(_) => Some(ToolError::execution(format!("Job '{}' does not read its input; nothing more fits.", self.shared.facts.id))),
            };
            if end || failed.is_some() {
                stdin.take();
            }
            failed.map_or(Ok(()), Err)
        })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        self.shared.stop.cancel();
        Box::pin(async move {
            self.ended().await;
        })
    }
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
