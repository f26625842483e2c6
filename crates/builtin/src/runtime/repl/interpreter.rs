//! A running interpreter that gets code call by call.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{CommandLimits, DirectChanges, Job, JobEnd, JobHandle, JobOptions, Progress, SpillFile, ToolContext, ToolError};
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
    /// The limits that it was started with.
    pub(super) limits: CommandLimits,
    /// Of the call that started it: each call resumes it.
    job: JobHandle,
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
    /// What the code changed directly.
    pub(super) direct: Option<DirectChanges>,
}

impl Interpreter {
    /// Starts the planned interpreter.
    pub(super) async fn start(language: Language, cx: &ToolContext) -> Result<Self, ToolError> {
        let command = cx.plan().planned_command().ok_or_else(|| ToolError::execution("No interpreter was planned."))?;
        let stream = Arc::new(OutputStream::default());
        let options =
            JobOptions { input: true, spill: Some(Box::new(OutputTap(Arc::clone(&stream)))), serves_calls: true, ..JobOptions::default() };
        let job = cx.process().start(options).await?;
        let used = Mutex::new(Instant::now());
        let limits = command.limits();
        Ok(Self { language, limits, job, stream, turn: tokio::sync::Mutex::default(), used })
    }

    /// Whether it still runs, and is the planned one.
    pub(super) fn serves(&self, cx: &ToolContext) -> bool {
        cx.process().resume(&self.job).is_ok_and(|job| job.status().end.is_none())
    }
    /// How long it was not used.
    pub(super) fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
    /// Ends it, and waits for its end.
    pub(super) async fn end(&self) {
        self.job.kill().await;
    }

    /// Runs code in it, and records what that changes.
    pub(super) async fn run(&self, code: &str, timeout: Duration, cx: &ToolContext) -> Result<CodeAnswer, ToolError> {
        let job = cx.process().resume(&self.job)?;
        let (mut answer, direct) = cx.process().record_changes(self.run_code(&job, code, timeout, cx)).await?;
        answer.direct = direct;
        Ok(answer)
    }

    async fn run_code(&self, job: &JobHandle, code: &str, timeout: Duration, cx: &ToolContext) -> CodeAnswer {
        let began = Instant::now();
        let nonce = nonce();
        self.stream.begin(&nonce, cx);
        let request = format!("{nonce} {} {}\n{code}", code.len(), timeout.as_millis());
        let grace = if self.language.interrupts_itself() { GRACE } else { Duration::ZERO };
        let ending = tokio::select! {
            biased;
            () = cx.cancelled() => CallEnd::Cancelled,
            () = self.stream.answered() => CallEnd::Answered(CodeOutcome::Done),
            end = job.wait() => CallEnd::Ended(end),
            () = tokio::time::sleep(timeout + grace) => CallEnd::TimedOut,
            never = self.send(job, &request, cx) => match never {},
        };
        if !matches!(ending, CallEnd::Answered(_)) {
            self.end().await;
        }
        let (output, spill) = self.stream.finish().await;
        // An answer counts even if the interpreter ended right after it.
        let ending = output.outcome.map_or(ending, CallEnd::Answered);
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        CodeAnswer { ending, output, spill, took: began.elapsed(), direct: None }
    }

    /// Sends the code, and reports progress.
    async fn send(&self, job: &JobHandle, request: &str, cx: &ToolContext) -> Infallible {
        // An interpreter that does not read has ended, or is ended at the timeout.
        drop(job.write(request.as_bytes(), false).await);
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
