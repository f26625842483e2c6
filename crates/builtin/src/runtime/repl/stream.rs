//! The output of an interpreter, split into calls as it arrives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{BoxFuture, SpillFile, SpillWriter, ToolContext, ToolError};
use tokio::sync::Notify;

use super::delimiters::{DelimiterScanner, ReplPart};
use super::output_buffer::ReplBuffer;

/// More output than this is written to a file as well.
const SHORT: u64 = 16 * 1024;
/// Most bytes of a value in the details.
const VALUE: usize = 4_096;
/// Precedes a value.
const ARROW: &[u8] = b"=> ";

/// How code ended, as the interpreter reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeOutcome {
    Done,
    Raised,
    Interrupted,
    Code(i32),
}

/// The output of one call so far.
#[derive(Default)]
pub(super) struct CallOutput {
    pub(super) buffer: ReplBuffer,
    /// The beginning of the value of its last expression.
    pub(super) value: Option<Vec<u8>>,
    pub(super) outcome: Option<CodeOutcome>,
    spill: CallSpill,
}

/// The file for all output of a call.
#[derive(Default)]
enum CallSpill {
    /// Not needed while the output is short.
    #[default]
    Unneeded,
    Open(Box<dyn SpillWriter>),
    /// It could not be written.
    Lost,
}

/// The output stream of an interpreter.
#[derive(Default)]
pub(super) struct OutputStream {
    state: Mutex<StreamState>,
    /// Notified when the interpreter has answered.
    answered: Notify,
}

#[derive(Default)]
struct StreamState {
    call: Option<(DelimiterScanner, CallOutput, ToolContext)>,
    /// Output while no call ran.
    between: ReplBuffer,
}

impl OutputStream {
    fn state(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the output of a call, with what was written since the last one.
    pub(super) fn begin(&self, nonce: &str, cx: &ToolContext) {
        let mut state = self.state();
        let between = std::mem::take(&mut state.between);
        let mut output = CallOutput::default();
        if between.total() > 0 {
            let excerpt = between.excerpt();
            let text = format!("(Written since the last call:)\n{}\n(This call:)\n", excerpt.text("(… cut …)"));
            output.buffer.push(text.as_bytes());
        }
        state.call = Some((DelimiterScanner::new(nonce), output, cx.clone()));
    }

    /// Waits until the interpreter has answered.
    pub(super) async fn answered(&self) {
        loop {
            let answered = self.answered.notified();
            if self.state().call.as_ref().is_none_or(|(_, output, _)| output.outcome.is_some()) {
                return;
            }
            answered.await;
        }
    }

    /// Number of bytes of this call so far, and the bytes that are kept.
    pub(super) fn so_far(&self) -> (u64, Vec<u8>) {
        let state = self.state();
        let kept = state.call.as_ref().map(|(_, output, _)| &output.buffer);
        kept.map_or_else(|| (0, Vec::new()), |kept| (kept.total(), [kept.parts().0, kept.parts().1].concat()))
    }

    /// Ends the call; returns its output, and a file with all of it if it is long.
    pub(super) async fn finish(&self) -> (CallOutput, Option<SpillFile>) {
        let Some((mut scanner, mut output, _)) = self.state().call.take() else { return (CallOutput::default(), None) };
        let rest = scanner.rest();
        output.buffer.push(&rest);
        match std::mem::take(&mut output.spill) {
            CallSpill::Open(mut writer) => {
                let written = writer.write(&rest).await;
                let file = if written.is_ok() { writer.finish().await.ok() } else { None };
                (output, file)
            }
            _ => (output, None),
        }
    }

    /// Adds the next piece of output.
    async fn take(&self, piece: &[u8]) {
        let Some((spill, text, cx)) = self.split(piece) else { return };
        let spill = write_spill(spill, &text, &cx).await;
        let mut state = self.state();
        let Some((_, output, _)) = &mut state.call else { return };
        output.spill = spill;
        output.buffer.push(&text.new);
        if text.outcome.is_some() {
            output.outcome = text.outcome;
            self.answered.notify_waiters();
        }
    }

    /// Splits a piece into the output of the call and what follows it.
    fn split(&self, piece: &[u8]) -> Option<(CallSpill, CallText, ToolContext)> {
        let mut state = self.state();
        let StreamState { call, between } = &mut *state;
        let Some((scanner, output, cx)) = call.as_mut().filter(|(_, output, _)| output.outcome.is_none()) else {
            between.push(piece);
            return None;
        };
        let mut text = CallText { ends_a_line: output.buffer.ends_a_line(), ..CallText::default() };
        for part in scanner.parts(piece) {
            match part {
                ReplPart::Output(bytes) if text.outcome.is_some() => between.push(&bytes),
                ReplPart::Output(bytes) => text.add(&bytes, &mut output.value),
                ReplPart::Word(word) => text.end_part(&word, &mut output.value),
            }
        }
        if text.outcome.is_some() {
            between.push(&scanner.rest());
        }
        if output.buffer.total() <= SHORT && output.buffer.total() + text.new.len() as u64 > SHORT {
            let (head, tail) = output.buffer.parts();
            text.before = Some([head, tail].concat());
        }
        Some((std::mem::take(&mut output.spill), text, cx.clone()))
    }
}

/// The addition of a piece to a call.
#[derive(Default)]
struct CallText {
    /// All output before, when it becomes too much for memory.
    before: Option<Vec<u8>>,
    new: Vec<u8>,
    ends_a_line: bool,
    outcome: Option<CodeOutcome>,
}

impl CallText {
    fn add(&mut self, bytes: &[u8], value: &mut Option<Vec<u8>>) {
        if let Some(value) = value {
            value.extend_from_slice(&bytes[..bytes.len().min(VALUE - value.len())]);
        }
        self.ends_a_line = bytes.last().map_or(self.ends_a_line, |byte| *byte == b'\n');
        self.new.extend_from_slice(bytes);
    }

    fn end_part(&mut self, word: &str, value: &mut Option<Vec<u8>>) {
        self.outcome = match word {
            "value" | "trace" => {
                self.new.extend_from_slice(if self.ends_a_line { b"" } else { b"\n" });
                if word == "value" {
                    self.new.extend_from_slice(ARROW);
                    *value = Some(Vec::new());
                }
                None
            }
            "done" => Some(CodeOutcome::Done),
            "interrupted" => Some(CodeOutcome::Interrupted),
            "raised" => Some(CodeOutcome::Raised),
            code => code.strip_prefix("code=").and_then(|code| code.parse().ok()).map(CodeOutcome::Code),
        };
    }
}

/// Writes to the file of a call, opened when needed. A full disk must not stop the interpreter.
async fn write_spill(spill: CallSpill, text: &CallText, cx: &ToolContext) -> CallSpill {
    let mut writer = match spill {
        CallSpill::Unneeded if text.before.is_none() => return CallSpill::Unneeded,
        CallSpill::Unneeded => match cx.spills().create("txt").await {
            Ok(writer) => writer,
            Err(_) => return CallSpill::Lost,
        },
        CallSpill::Open(writer) => writer,
        CallSpill::Lost => return CallSpill::Lost,
    };
    for piece in text.before.iter().chain([&text.new]) {
        if writer.write(piece).await.is_err() {
            return CallSpill::Lost;
        }
    }
    CallSpill::Open(writer)
}

/// Hands the output of the interpreter to its stream.
pub(super) struct OutputTap(pub(super) Arc<OutputStream>);

impl SpillWriter for OutputTap {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.0.take(bytes).await;
            Ok(())
        })
    }

    /// Each call has its own file.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::execution("The output of an interpreter is kept call by call."))))
    }
}
