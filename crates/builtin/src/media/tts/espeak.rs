//! espeak-ng, which speaks on this machine, in the sandbox and without network.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{
    BoxFuture, CodeInput, CommandRequest, ErrorKind, ExecHost, InterpreterSpec, Job, JobOptions, PlanContext, ShellCommand, SpillFile,
    SpillWriter, ToolContext, ToolError,
};
use haft_text::display;
use tokio::sync::Notify;

use super::speaking::SpokenText;

const TIMEOUT: Duration = Duration::from_secs(30);
/// About a quarter of an hour of speech.
const MOST_BYTES: usize = 48 * 1024 * 1024;
const MOST_ERRORS: usize = 4 * 1024;
const VOICE: &str = "en";

/// The program with the text, for the plan. What follows `--` is no option, whatever the text begins with.
pub(super) fn planned(text: &SpokenText, voice: Option<&str>, cx: &PlanContext<'_>) -> Result<ShellCommand, ToolError> {
    let arguments = ["-v", voice.unwrap_or(VOICE), "--stdout", "--"].map(str::to_owned).into();
    let interpreter = InterpreterSpec {
        names: &["espeak-ng"],
        arguments,
        code_input: CodeInput::Argument,
        advice: "Install it (apt-get install espeak-ng), or set tts.engines.",
    };
    cx.command(&CommandRequest {
        command: text.as_str().to_owned(),
        interpreter: Some(interpreter),
        host: Some(ExecHost::Sandbox),
        isolate_network: true,
        read_only: true,
        ..CommandRequest::default()
    })
}

/// Runs the planned program; returns what it says, as WAV.
pub(super) async fn speak(cx: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let (sound, errors) = (Arc::new(Captured::new(MOST_BYTES)), Arc::new(Captured::new(MOST_ERRORS)));
    let options = JobOptions {
        timeout: Some(TIMEOUT),
        spill: Some(Box::new(Receiver(Arc::clone(&sound)))),
        error_output: Some(Box::new(Receiver(Arc::clone(&errors)))),
        ..JobOptions::default()
    };
    let job = cx.process().start(options).await?;
    let end = tokio::select! {
        biased;
        () = cx.cancelled() => {
            job.kill().await;
            return Err(ToolError::new(ErrorKind::Cancelled, "The call was cancelled, and espeak-ng ended."));
        }
        () = sound.full.notified() => {
            job.kill().await;
            return Err(ToolError::execution("it spoke for too long, and was ended. Shorten the text."));
        }
        end = job.wait() => end,
    };
    if end.code == Some(0) {
        return Ok(with_lengths(sound.take()));
    }
    let said = String::from_utf8_lossy(&errors.take()).trim().to_owned();
    let why = end.not_run.clone().unwrap_or_else(|| end.to_string());
    let said = if said.is_empty() { String::new() } else { format!(": {}", display::shorten(&said, 300)) };
    Err(ToolError::execution(format!("espeak-ng failed ({why}{said}).")))
}

/// It writes to a pipe before it knows how much that will be, so the lengths in the header are those of the longest file.
fn with_lengths(mut wav: Vec<u8>) -> Vec<u8> {
    let data = wav.windows(4).take(1024).position(|name| name == b"data");
    if let Some(data) = data.filter(|at| at + 8 <= wav.len())
        && let (Ok(whole), Ok(length)) = (u32::try_from(wav.len() - 8), u32::try_from(wav.len() - data - 8))
    {
        wav[4..8].copy_from_slice(&whole.to_le_bytes());
        wav[data + 4..data + 8].copy_from_slice(&length.to_le_bytes());
    }
    wav
}

/// A stream of the program, up to a limit.
struct Captured {
    bytes: Mutex<Vec<u8>>,
    most: usize,
    full: Notify,
}

impl Captured {
    fn new(most: usize) -> Self {
        Self { bytes: Mutex::default(), most, full: Notify::new() }
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Receiver(Arc<Captured>);

impl SpillWriter for Receiver {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        let mut held = self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = (self.0.most - held.len()).min(bytes.len());
        held.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() {
            self.0.full.notify_one();
        }
        Box::pin(std::future::ready(Ok(())))
    }
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::execution("The sound is held in memory."))))
    }
}
