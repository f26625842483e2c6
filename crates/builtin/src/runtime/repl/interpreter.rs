//! One interpreter that runs, and is given code call by call.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{Exec, Job, JobEnd, JobOptions, JobStatus, LineLimits, Progress, SpillFile, ToolContext, ToolError};
use tokio::time::Instant;

use super::language::Language;
use super::marks::nonce;
use super::stream::{Capture, Outcome, Stream, Tap};

/// How long an interpreter may take to stop a call by itself, so that its state survives.
const GRACE: Duration = Duration::from_secs(1);
/// Between two updates.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Interpreter {
    language: Language,
    /// What it was started as.
    program: Exec,
    /// The limits of its own that it was started with.
    pub(super) limits: LineLimits,
    job: Arc<dyn Job>,
    stream: Arc<Stream>,
    /// Calls take turns.
    pub(super) turn: tokio::sync::Mutex<()>,
    used: Mutex<Instant>,
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// The interpreter answered, and waits for the next call.
    Answered(Outcome),
    /// The interpreter ended in the middle of it.
    Ended(JobEnd),
    /// It did not stop in time, and was ended.
    TimedOut,
    /// The call was cancelled, and the interpreter ended with it.
    Cancelled,
}

/// What came of a call.
pub(super) struct Answer {
    pub(super) ending: Ending,
    pub(super) capture: Capture,
    pub(super) spill: Option<SpillFile>,
    pub(super) took: Duration,
}

impl Interpreter {
    /// Starts what was planned.
    pub(super) async fn start(language: Language, cx: &ToolContext) -> Result<Self, ToolError> {
        let line = cx.plan().planned_line().ok_or_else(|| ToolError::execution("No interpreter was planned."))?;
        let stream = Arc::new(Stream::default());
        let options = JobOptions { input: true, spill: Some(Box::new(Tap(Arc::clone(&stream)))), ..JobOptions::default() };
        let job = cx.process().start(options).await?;
        let used = Mutex::new(Instant::now());
        let (program, limits) = (line.shell().clone(), line.limits());
        Ok(Self { language, program, limits, job, stream, turn: tokio::sync::Mutex::default(), used })
    }

    /// Whether it still runs, and is what was planned now.
    pub(super) fn serves(&self, cx: &ToolContext) -> bool {
        let planned = cx.plan().planned_line().map(haft_contract::Line::shell);
        planned == Some(&self.program) && self.job.status().end.is_none()
    }
    pub(super) fn status(&self) -> JobStatus {
        self.job.status()
    }
    /// How long nobody has used it.
    pub(super) fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
    /// Ends it, and waits until it has.
    pub(super) async fn end(&self) {
        self.job.kill().await;
    }

    /// Has it run code.
    pub(super) async fn run(&self, code: &str, timeout: Duration, cx: &ToolContext) -> Answer {
        let began = Instant::now();
        let nonce = nonce();
        self.stream.listen(&nonce, cx);
        let request = format!("{nonce} {} {}\n{code}", code.len(), timeout.as_millis());
        let grace = if self.language.interrupts_itself() { GRACE } else { Duration::ZERO };
        let ending = tokio::select! {
            biased;
            () = cx.cancelled() => Ending::Cancelled,
            () = self.stream.answered() => Ending::Answered(Outcome::Done),
            end = self.job.ended() => Ending::Ended(end),
            () = tokio::time::sleep(timeout + grace) => Ending::TimedOut,
            never = self.asked(&request, cx) => match never {},
        };
        if !matches!(ending, Ending::Answered(_)) {
            self.end().await;
        }
        let (capture, spill) = self.stream.taken().await;
        // An interpreter that answered and ended at once has answered.
        let ending = capture.outcome.map_or(ending, Ending::Answered);
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Answer { ending, capture, spill, took: began.elapsed() }
    }

    /// Gives it the code, and shows what it writes.
    async fn asked(&self, request: &str, cx: &ToolContext) -> Infallible {
        // One that does not read has ended, or will be ended when the time is up.
        drop(self.job.write(request.as_bytes(), false).await);
        let mut seen = 0;
        loop {
            tokio::time::sleep(PAUSE).await;
            let (bytes, text) = self.stream.so_far();
            if bytes > seen {
                seen = bytes;
                let text = String::from_utf8_lossy(&text).into_owned();
                cx.progress(Progress::message(text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default()));
            }
        }
    }
}
