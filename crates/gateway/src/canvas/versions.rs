//! What a canvas showed, version by version: a document or an interface that another one replaces is kept, and can be looked at again.

use std::collections::VecDeque;

use haft_contract::ToolError;
use serde_json::{Value, json};

use super::new_key;
use crate::render;

/// Versions that are kept of one canvas, with the one that is shown.
const MOST_VERSIONS: usize = 20;
/// Bytes of those that are not shown.
const MOST_KEPT_BYTES: usize = 2 << 20;

/// A document, or an interface.
#[derive(Debug, Clone, Default)]
pub(super) struct CanvasVersion {
    /// The path of its frame.
    pub(super) key: String,
    /// Where the document is from; none is an interface in A2UI.
    pub(super) source: Option<String>,
    pub(super) html: String,
    pub(super) messages: Vec<Value>,
    /// Of the messages.
    pub(super) bytes: usize,
}

impl CanvasVersion {
    fn size(&self) -> usize {
        self.html.len() + self.bytes
    }

    /// What it is made of, as text that is safe to show.
    fn source_html(&self) -> String {
        match self.source {
            Some(_) => render::code(&self.html, "html"),
            None => render::json(&json!(self.messages)),
        }
    }
}

/// The versions of one canvas. The last one is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct CanvasVersions {
    /// How many are gone.
    dropped: usize,
    replaced: VecDeque<CanvasVersion>,
    pub(super) shown: CanvasVersion,
}

impl CanvasVersions {
    /// Shows something else; what was shown before is kept, if it was anything.
    pub(super) fn replace(&mut self, next: CanvasVersion) {
        let mut before = std::mem::replace(&mut self.shown, next);
        if before.size() == 0 {
            return;
        }
        // Who wants to look at it again asks for a path.
        before.key.clear();
        self.replaced.push_back(before);
        while self.replaced.len() >= MOST_VERSIONS || self.replaced.iter().map(CanvasVersion::size).sum::<usize>() > MOST_KEPT_BYTES {
            self.replaced.pop_front();
            self.dropped += 1;
        }
    }

    /// The numbers of the first version that is kept, and of the one that is shown.
    pub(super) fn range(&self) -> (usize, usize) {
        (self.dropped + 1, self.last())
    }

    fn last(&self) -> usize {
        self.dropped + self.replaced.len() + 1
    }

    /// A version for the page. One that is not shown gets a path of its own each time, and loses the one that it had.
    pub(super) fn view(&mut self, number: usize) -> Option<Result<Value, ToolError>> {
        let is_shown = number == self.last();
        let version = if is_shown { &mut self.shown } else { self.replaced.get_mut(number.checked_sub(self.dropped + 1)?)? };
        if !is_shown {
            match new_key() {
                Ok(key) => version.key = key,
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(json!({
            "number": number, "key": version.key, "source": version.source, "messages": version.messages,
            "source_html": version.source_html(),
        })))
    }

    /// The document under a key.
    pub(super) fn html(&self, key: &str) -> Option<&str> {
        self.replaced.iter().chain([&self.shown]).find(|version| version.key == key).map(|version| version.html.as_str())
    }
}
