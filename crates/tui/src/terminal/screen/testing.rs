//! Screens that write into memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::{Screen, ScreenStyle, StreamLayout};

/// Everything that was written, in order.
#[derive(Debug, Clone, Default)]
pub(in crate::terminal) struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl CapturedOutput {
    pub(in crate::terminal) fn read(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal, and what it was sent.
pub(in crate::terminal) fn terminal(coloured: bool) -> (Arc<Screen>, CapturedOutput) {
    let written = CapturedOutput::default();
    let style = ScreenStyle { layout: StreamLayout::Shared, escaped: true, coloured };
    (Arc::new(Screen::new(style, Box::new(written.clone()), Box::new(written.clone()))), written)
}

/// Two pipes, and what went into each.
pub(in crate::terminal) fn pipes() -> (Arc<Screen>, CapturedOutput, CapturedOutput) {
    let (out, err) = (CapturedOutput::default(), CapturedOutput::default());
    let style = ScreenStyle { layout: StreamLayout::Separate, escaped: false, coloured: false };
    (Arc::new(Screen::new(style, Box::new(out.clone()), Box::new(err.clone()))), out, err)
}
