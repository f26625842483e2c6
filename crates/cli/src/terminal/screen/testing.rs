//! Terminals and pipes of paper.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::{Manner, Place, Screen};

/// What was written, in the order in which it was.
#[derive(Debug, Clone, Default)]
pub(in crate::terminal) struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    pub(in crate::terminal) fn read(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal, and what it was sent.
pub(in crate::terminal) fn terminal(coloured: bool) -> (Arc<Screen>, Paper) {
    let paper = Paper::default();
    let manner = Manner { place: Place::Together, escaped: true, coloured };
    (Arc::new(Screen::new(manner, Box::new(paper.clone()), Box::new(paper.clone()))), paper)
}

/// Two pipes, and what went into each.
pub(in crate::terminal) fn pipes() -> (Arc<Screen>, Paper, Paper) {
    let (out, err) = (Paper::default(), Paper::default());
    let manner = Manner { place: Place::Apart, escaped: false, coloured: false };
    (Arc::new(Screen::new(manner, Box::new(out.clone()), Box::new(err.clone()))), out, err)
}
