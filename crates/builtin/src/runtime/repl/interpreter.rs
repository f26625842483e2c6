//! A running interpreter that gets code call by call.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{CommandLimits, Exec, Job, JobEnd, JobOptions, JobStatus, Progress, SpillFile, ToolContext, ToolError};
use tokio::time::Instant;

use super::delimiters::nonce;
use super::language::Language;
use super::stream::{CallOutput, CodeOutcome, OutputStream, OutputTap};

/// How long an interpreter may take to stop a call by itself, so that its state survives.
const GRACE: Duration = Duration::from_secs(1);
/// Between two updates.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Interpreter {
    language: Language,
    /// The program that was started.
    program: Exec,
    /// The limits that it was started with.
    pub(super) limits: CommandLimits,
    job: Arc<dyn Job>,
    stream: Arc<OutputStream>,
    /// Calls take turns.
    pub(super) turn: tokio::sync::Mutex<()>,
    used: Mutex<Instant>,
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum CallEnd {
    /// The interpreter answered, and waits for the next call.
    Answered(CodeOutcome),
    /// The interpreter ended in the middle of it.
    Ended(JobEnd),
    /// It did not stop in time, and was ended.
    TimedOut,
    /// The call was cancelled, and the interpreter ended with it.
    Cancelled,
}

/// The result of a call.
pub(super) struct CodeAnswer {
    pub(super) ending: CallEnd,
    pub(super) output: CallOutput,
    pub(super) spill: Option<SpillFile>,
    pub(super) took: Duration,
}

impl Interpreter {
    /// Starts the planned interpreter.
    pub(super) async fn start(language: Language, cx: &ToolContext) -> Result<Self, ToolError> {
        let command = cx.plan().planned_command().ok_or_else(|| ToolError::execution("No interpreter was planned."))?;
        let stream = Arc::new(OutputStream::default());
        let options = JobOptions { input: true, spill: Some(Box::new(OutputTap(Arc::clone(&stream)))), ..JobOptions::default() };
        let job = cx.process().start(options).await?;
        let used = Mutex::new(Instant::now());
        let (program, limits) = (command.shell().clone(), command.limits());
        Ok(Self { language, program, limits, job, stream, turn: tokio::sync::Mutex::default(), used })
    }

    /// Whether it still runs, and is the planned one.
    pub(super) fn serves(&self, cx: &ToolContext) -> bool {
        let planned = cx.plan().planned_command().map(haft_contract::ShellCommand::shell);
        planned == Some(&self.program) && self.job.status().end.is_none()
    }
    pub(super) fn status(&self) -> JobStatus {
        self.job.status()
    }
    /// How long it was not used.
    pub(super) fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
    /// Ends it, and waits for its end.
    pub(super) async fn end(&self) {
        self.job.kill().await;
    }

    /// Runs code in it.
    pub(super) async fn run(&self, code: &str, timeout: Duration, cx: &ToolContext) -> CodeAnswer {
        let began = Instant::now();
        let nonce = nonce();
        self.stream.begin(&nonce, cx);
        let request = format!("{nonce} {} {}\n{code}", code.len(), timeout.as_millis());
        let grace = if self.language.interrupts_itself() { GRACE } else { Duration::ZERO };
        let ending = tokio::select! {
            biased;
            () = cx.cancelled() => CallEnd::Cancelled,
            () = self.stream.answered() => CallEnd::Answered(CodeOutcome::Done),
            end = self.job.wait() => CallEnd::Ended(end),
            () = tokio::time::sleep(timeout + grace) => CallEnd::TimedOut,
            never = self.send(&request, cx) => match never {},
        };
        if !matches!(ending, CallEnd::Answered(_)) {
            self.end().await;
        }
        let (output, spill) = self.stream.finish().await;
        // An answer counts even if the interpreter ended right after it.
        let ending = output.outcome.map_or(ending, CallEnd::Answered);
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        CodeAnswer { ending, output, spill, took: began.elapsed() }
    }

    /// Sends the code, and reports progress.
    async fn send(&self, request: &str, cx: &ToolContext) -> Infallible {
        // An interpreter that does not read has ended, or is ended at the timeout.
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
