//! The streams of a plugin's command: output up to a limit, and the end of standard error with progress in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{BoxFuture, Progress, SpillFile, SpillWriter, ToolContext, ToolError};
use serde_json::Value;
use tokio::sync::Notify;

/// The most that a command may print: more than any model is shown.
pub(crate) const MOST_OUTPUT: usize = 8 << 20;
/// How much of standard error is kept.
const MOST_ERRORS: usize = 16 * 1024;
/// The longest line that is looked at for progress, and the longest message of one.
const LONGEST_LINE: usize = 4 * 1024;
const LONGEST_MESSAGE: usize = 300;
/// How many updates one call may send.
const MOST_UPDATES: usize = 1_000;

/// What a command has written so far.
#[derive(Default)]
pub(crate) struct CapturedStreams {
    output: Mutex<Vec<u8>>,
    errors: Mutex<Vec<u8>>,
    overflow: Notify,
}

fn locked(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CapturedStreams {
    /// Resolves when it has printed too much.
    pub(crate) async fn overflowed(&self) {
        self.overflow.notified().await;
    }

    pub(crate) fn take_output(&self) -> Vec<u8> {
        std::mem::take(&mut *locked(&self.output))
    }

    /// The end of standard error, as text for display.
    pub(crate) fn errors(&self) -> String {
        let errors = locked(&self.errors);
        haft_text::display::escape_lines(String::from_utf8_lossy(&errors).trim()).into_owned()
    }

    fn add_output(&self, bytes: &[u8]) {
        let mut output = locked(&self.output);
        let fits = (MOST_OUTPUT - output.len()).min(bytes.len());
        output.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() {
            self.overflow.notify_one();
        }
    }

    fn add_errors(&self, bytes: &[u8]) {
        let mut errors = locked(&self.errors);
        errors.extend_from_slice(bytes);
        let excess = errors.len().saturating_sub(MOST_ERRORS);
        errors.drain(..excess);
    }
}

/// Takes standard output.
pub(crate) struct OutputReceiver(pub(crate) Arc<CapturedStreams>);

impl SpillWriter for OutputReceiver {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        self.0.add_output(bytes);
        Box::pin(std::future::ready(Ok(())))
    }
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>> {
        Box::pin(std::future::ready(Err(no_file())))
    }
}

/// Takes standard error, line by line: a line `{"progress": "…"}` is an update, any other is kept for a failure.
pub(crate) struct ErrorReceiver {
    streams: Arc<CapturedStreams>,
    cx: ToolContext,
    line: Vec<u8>,
    updates: usize,
}

impl ErrorReceiver {
    pub(crate) fn new(streams: Arc<CapturedStreams>, cx: ToolContext) -> Self {
        Self { streams, cx, line: Vec::new(), updates: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() > LONGEST_LINE || self.line.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        match progress(&line).filter(|_| self.updates < MOST_UPDATES) {
            Some(update) => {
                self.updates += 1;
                self.cx.progress(update);
            }
            None => self.streams.add_errors(&line),
        }
    }
}

/// A last line without a line break counts as well.
impl Drop for ErrorReceiver {
    fn drop(&mut self) {
        self.end_line();
    }
}

impl SpillWriter for ErrorReceiver {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>> {
        self.add(bytes);
        Box::pin(std::future::ready(Ok(())))
    }
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>> {
        Box::pin(std::future::ready(Err(no_file())))
    }
}

fn progress(line: &[u8]) -> Option<Progress> {
    let value: Value = serde_json::from_slice(line.trim_ascii()).ok()?;
    let message = haft_text::display::shorten(value.get("progress")?.as_str()?, LONGEST_MESSAGE).into_owned();
    let mut update = Progress::message(message);
    update.details = value.get("details").cloned();
    Some(update)
}

fn no_file() -> ToolError {
    ToolError::execution("The streams of a plugin are not kept in files.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_stops_at_its_limit_and_errors_keep_their_end() {
        let streams = CapturedStreams::default();
        for _ in 0..9 {
            streams.add_output(&vec![b'x'; 1 << 20]);
            streams.add_errors(&[b'a'; 10_000]);
        }
        streams.add_errors(b"the end\x1b[31m");
        assert_eq!(streams.take_output().len(), MOST_OUTPUT);
        let errors = streams.errors();
        assert!(errors.len() < MOST_ERRORS + 16 && errors.ends_with("the end\\u{1b}[31m"), "{}", &errors[errors.len() - 40..]);
    }

    #[test]
    fn progress_is_a_line_with_that_key() {
        let message = |line: &str| progress(line.as_bytes()).map(|update| update.message);
        assert_eq!(message("{\"progress\": \"half\"}\n").as_deref(), Some("half"));
        for line in ["", "half\n", "{\"progress\": 1}", "[1]", "{\"other\": \"x\"}"] {
            assert_eq!(message(line), None, "{line}");
        }
        let long = message(&serde_json::json!({ "progress": "y".repeat(1000) }).to_string()).unwrap();
        assert_eq!(long.chars().count(), LONGEST_MESSAGE + 1);
    }
}
