//! The output of an interpreter, call by call: what it writes is taken as it comes, so that none is lost and none is waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{BoxFuture, SpillFile, SpillWriter, ToolContext, ToolError};
use tokio::sync::Notify;

use super::kept::Kept;
use super::marks::{Marks, Part};

/// More than this is kept in a file as well.
const SHORT: u64 = 16 * 1024;
/// Bytes of a value for programs.
const VALUE: usize = 4_096;
/// What stands before a value.
const ARROW: &[u8] = b"=> ";

/// What an interpreter said of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Raised,
    Interrupted,
    Code(i32),
}

/// One call's output, so far.
#[derive(Default)]
pub(super) struct Capture {
    pub(super) kept: Kept,
    /// The beginning of the value of its last expression.
    pub(super) value: Option<Vec<u8>>,
    pub(super) outcome: Option<Outcome>,
    spill: Spill,
}

/// Where all of a call's output goes.
#[derive(Default)]
enum Spill {
    /// Nowhere, as long as it is short.
    #[default]
    Unneeded,
    Open(Box<dyn SpillWriter>),
    /// It could not be kept.
    Lost,
}

/// A stream that is listened to while a call runs.
#[derive(Default)]
pub(super) struct Stream {
    state: Mutex<State>,
    /// Told when the interpreter has answered.
    answered: Notify,
}

#[derive(Default)]
struct State {
    call: Option<(Marks, Capture, ToolContext)>,
    /// What was written while no call ran.
    between: Kept,
}

impl Stream {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens for a call. What was written since the last one comes first.
    pub(super) fn listen(&self, nonce: &str, cx: &ToolContext) {
        let mut state = self.state();
        let between = std::mem::take(&mut state.between);
        let mut capture = Capture::default();
        if between.total() > 0 {
            let excerpt = between.excerpt();
            let text = format!("(Written since the last call:)\n{}\n(This call:)\n", excerpt.text("(… cut …)"));
            capture.kept.push(text.as_bytes());
        }
        state.call = Some((Marks::new(nonce), capture, cx.clone()));
    }

    /// Resolves when the interpreter has answered.
    pub(super) async fn answered(&self) {
        loop {
            let answered = self.answered.notified();
            if self.state().call.as_ref().is_none_or(|(_, capture, _)| capture.outcome.is_some()) {
                return;
            }
            answered.await;
        }
    }

    /// Bytes of this call so far, and the last of them.
    pub(super) fn so_far(&self) -> (u64, Vec<u8>) {
        let state = self.state();
        let kept = state.call.as_ref().map(|(_, capture, _)| &capture.kept);
        kept.map_or_else(|| (0, Vec::new()), |kept| (kept.total(), [kept.parts().0, kept.parts().1].concat()))
    }

    /// Stops listening; gives what there was, and all of it as a file if it is long.
    pub(super) async fn taken(&self) -> (Capture, Option<SpillFile>) {
        let Some((mut marks, mut capture, _)) = self.state().call.take() else { return (Capture::default(), None) };
        let rest = marks.rest();
        capture.kept.push(&rest);
        match std::mem::take(&mut capture.spill) {
            Spill::Open(mut writer) => {
                let written = writer.write(&rest).await;
                let file = if written.is_ok() { writer.finish().await.ok() } else { None };
                (capture, file)
            }
            _ => (capture, None),
        }
    }

    /// Takes the next piece of output.
    async fn take(&self, piece: &[u8]) {
        let Some((spill, text, cx)) = self.sorted(piece) else { return };
        let spill = written(spill, &text, &cx).await;
        let mut state = self.state();
        let Some((_, capture, _)) = &mut state.call else { return };
        capture.spill = spill;
        capture.kept.push(&text.new);
        if text.outcome.is_some() {
            capture.outcome = text.outcome;
            self.answered.notify_waiters();
        }
    }

    /// What of a piece belongs to the call; the rest is kept for the next.
    fn sorted(&self, piece: &[u8]) -> Option<(Spill, Text, ToolContext)> {
        let mut state = self.state();
        let State { call, between } = &mut *state;
        let Some((marks, capture, cx)) = call.as_mut().filter(|(_, capture, _)| capture.outcome.is_none()) else {
            between.push(piece);
            return None;
        };
        let mut text = Text { ends_a_line: capture.kept.ends_a_line(), ..Text::default() };
        for part in marks.parts(piece) {
            match part {
                Part::Output(bytes) if text.outcome.is_some() => between.push(&bytes),
                Part::Output(bytes) => text.add(&bytes, &mut capture.value),
                Part::Word(word) => text.mark(&word, &mut capture.value),
            }
        }
        if text.outcome.is_some() {
            between.push(&marks.rest());
        }
        if capture.kept.total() <= SHORT && capture.kept.total() + text.new.len() as u64 > SHORT {
            let (head, tail) = capture.kept.parts();
            text.before = Some([head, tail].concat());
        }
        Some((std::mem::take(&mut capture.spill), text, cx.clone()))
    }
}

/// What a piece adds to a call.
#[derive(Default)]
struct Text {
    /// All that came before, be it nothing, where it is now too much for memory alone.
    before: Option<Vec<u8>>,
    new: Vec<u8>,
    ends_a_line: bool,
    outcome: Option<Outcome>,
}

impl Text {
    fn add(&mut self, bytes: &[u8], value: &mut Option<Vec<u8>>) {
        if let Some(value) = value {
            value.extend_from_slice(&bytes[..bytes.len().min(VALUE - value.len())]);
        }
        self.ends_a_line = bytes.last().map_or(self.ends_a_line, |byte| *byte == b'\n');
        self.new.extend_from_slice(bytes);
    }

    fn mark(&mut self, word: &str, value: &mut Option<Vec<u8>>) {
        self.outcome = match word {
            "value" | "trace" => {
                self.new.extend_from_slice(if self.ends_a_line { b"" } else { b"\n" });
                if word == "value" {
                    self.new.extend_from_slice(ARROW);
                    *value = Some(Vec::new());
                }
                None
            }
            "done" => Some(Outcome::Done),
            "interrupted" => Some(Outcome::Interrupted),
            "raised" => Some(Outcome::Raised),
            code => code.strip_prefix("code=").and_then(|code| code.parse().ok()).map(Outcome::Code),
        };
    }
}

/// Writes to the file of a call, which is opened once there is enough for one. A full disk must not stop the interpreter.
async fn written(spill: Spill, text: &Text, cx: &ToolContext) -> Spill {
    let mut writer = match spill {
        Spill::Unneeded if text.before.is_none() => return Spill::Unneeded,
        Spill::Unneeded => match cx.spills().create("txt").await {
            Ok(writer) => writer,
            Err(_) => return Spill::Lost,
        },
        Spill::Open(writer) => writer,
        Spill::Lost => return Spill::Lost,
    };
    for piece in text.before.iter().chain([&text.new]) {
        if writer.write(piece).await.is_err() {
            return Spill::Lost;
        }
    }
    Spill::Open(writer)
}

/// What an interpreter's output is given to.
pub(super) struct Tap(pub(super) Arc<Stream>);

impl SpillWriter for Tap {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.0.take(bytes).await;
            Ok(())
        })
    }

    /// Each call keeps its own part.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::execution("The output of an interpreter is kept call by call."))))
    }
}
