//! Sees a job to its end, and moves its output along meanwhile.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use haft_contract::{JobEnd, SpillFile, SpillWriter};
use haft_sandbox::launcher;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::LAST_WORDS;
use super::job::{Keepsake, Shared};
use super::kin::Kin;
use super::leader::Leader;
use super::live::Listed;
use super::whereabouts::Whereabouts;

const PIECE: usize = 64 * 1024;
/// Output up to here is shown whole, and needs no file.
const SHORT: u64 = 16 * 1024;
/// How much of the end of the output is looked at for why a line failed.
const LAST_SAID: usize = 16 * 1024;

/// Why a job is no longer waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exited,
    TimedOut,
    Killed,
}

/// Everything that a job is, until it has ended.
pub(super) struct Watcher {
    pub(super) shared: Arc<Shared>,
    pub(super) leader: Leader,
    pub(super) output: Output,
    pub(super) keepsake: Arc<dyn Keepsake>,
    /// How long it may take to end when it is asked to.
    pub(super) grace: Duration,
    /// The last to go.
    pub(super) _listed: Listed,
}

impl Watcher {
    pub(super) async fn watch(mut self, timeout: Option<Duration>) {
        let end = self.run(timeout).await;
        if end == End::Exited {
            self.output.drain().await;
        } else {
            self.make_end().await;
        }
        let (status, usage) = self.leader.finish(self.keepsake.peak_memory()).await;
        self.output.drain().await;
        self.output.settle_whereabouts().await;
        let not_run = self.shared.facts.host.is_walled().then(|| launcher::setup_failure(status.code(), &self.shared.state().kept.head()));
        let said = self.shared.state().kept.tail(LAST_SAID);
        for words in self.keepsake.last_words(&said) {
            self.output.take(format!("[{words}]\n").as_bytes()).await;
        }
        let end = JobEnd {
            code: status.code(),
            signal: std::os::unix::process::ExitStatusExt::signal(&status),
            timed_out: end == End::TimedOut,
            killed: end == End::Killed,
            lost: false,
            at: SystemTime::now(),
            not_run: not_run.flatten(),
            usage,
            cut: self.output.spill.as_ref().is_some_and(|spill| spill.is_cut()),
            spill: self.output.keep_whole().await,
        };
        // What is left of it on the machine is gone before anyone hears of its end. It may wait for processes that die.
        let (keepsake, has_run) = (self.keepsake, end.not_run.is_none());
        let aftermath = tokio::task::spawn_blocking(move || keepsake.aftermath(has_run)).await;
        // Whoever holds the input is told that nobody reads it any more.
        drop(self.shared.input.lock().await.take());
        let mut state = self.shared.state();
        (state.end, state.aftermath) = (Some(end), aftermath.ok().map(Arc::new));
        drop(state);
        self.shared.tell();
    }

    /// Takes output until the program ends, its time is up, or someone ends it.
    async fn run(&mut self, timeout: Option<Duration>) -> End {
        let Self { shared, leader, output, .. } = self;
        let deadline = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let end = async {
            tokio::select! {
                biased;
                () = shared.stop.cancelled() => End::Killed,
                () = deadline => End::TimedOut,
                () = leader.exited() => End::Exited,
            }
        };
        output.during(end).await
    }

    /// Asks all that the job has started to end. What it says meanwhile is taken still.
    async fn make_end(&mut self) {
        let Self { leader, output, keepsake, grace, .. } = self;
        let (keepsake, process, grace) = (Arc::clone(keepsake), leader.id(), *grace);
        let asked = async {
            let ended = tokio::task::spawn_blocking(move || keepsake.end(process, grace)).await;
            match ended {
                Ok(Ok(true)) => drop(tokio::time::timeout(LAST_WORDS, leader.exited()).await),
                _ => ask_all(leader, grace).await,
            }
        };
        output.during(asked).await;
    }
}

/// Asks the group of a job to end, and whoever left it; makes the latter, for the group is made to in any case.
async fn ask_all(leader: &Leader, grace: Duration) {
    let process = leader.id();
    let asked = tokio::task::spawn_blocking(move || Kin::of(process).inspect(Kin::ask)).await;
    leader.ask(grace).await;
    if let Ok(Some(kin)) = asked {
        // The group is killed even where looking for the others failed.
        drop(tokio::task::spawn_blocking(move || kin.kill()).await);
    }
}

/// What a job writes, on its way to whoever wants it.
pub(super) struct Output {
    shared: Arc<Shared>,
    stream: pipe::Receiver,
    spill: Option<Box<dyn SpillWriter>>,
    /// Takes out what is not for show.
    whereabouts: Option<Whereabouts>,
    open: bool,
}

impl Output {
    pub(super) fn new(shared: Arc<Shared>, stream: pipe::Receiver, spill: Option<Box<dyn SpillWriter>>) -> Self {
        let whereabouts = shared.facts.mark.as_deref().map(Whereabouts::new);
        Self { shared, stream, spill, whereabouts, open: true }
    }

    /// Takes output while something else is waited for, which comes first: what a program left behind may write for ever.
    async fn during<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        let (mut wanted, mut piece) = (pin!(wanted), vec![0; PIECE]);
        loop {
            tokio::select! {
                biased;
                done = &mut wanted => return done,
                read = self.stream.read(&mut piece), if self.open => match read {
                    Ok(count @ 1..) => self.take(&piece[..count]).await,
                    // A program may close its output and go on.
                    _ => self.open = false,
                },
            }
        }
    }

    /// Reads what is still on its way; not for long, because its writer may never end.
    async fn drain(&mut self) {
        let closed = async {
            let mut piece = vec![0; PIECE];
            while let Ok(count @ 1..) = self.stream.read(&mut piece).await {
                self.take(&piece[..count]).await;
            }
        };
        // Whether it came to its end does not matter: what was said in time is kept.
        drop(tokio::time::timeout(LAST_WORDS, closed).await);
    }

    async fn take(&mut self, piece: &[u8]) {
        match self.whereabouts.as_mut().map(|whereabouts| whereabouts.without_marks(piece)) {
            None => self.keep(piece).await,
            Some(rest) if rest.is_empty() => {}
            Some(rest) => self.keep(&rest).await,
        }
    }

    /// Nothing more is said of where it ended: what looked like the beginning of it was output.
    async fn settle_whereabouts(&mut self) {
        let Some(mut whereabouts) = self.whereabouts.take() else { return };
        self.shared.state().left_in = whereabouts.directory.take();
        self.keep(&whereabouts.rest()).await;
    }

    async fn keep(&mut self, piece: &[u8]) {
        if let Some(writer) = &mut self.spill
            && writer.write(piece).await.is_err()
        {
            // A full disk must not stop the program; what is shown says that the rest is not kept.
            self.spill = None;
        }
        self.shared.state().kept.push(piece);
        self.shared.tell();
    }

    /// The whole output as a file, if more was written than is shown, or someone may come for it later.
    async fn keep_whole(&mut self) -> Option<SpillFile> {
        let writer = self.spill.take()?;
        let total = self.shared.state().kept.total();
        let wanted = total > SHORT || (total > 0 && self.shared.outlives.load(Ordering::Relaxed));
        if wanted { writer.finish().await.ok() } else { None }
    }
}
