//! Port for the canvas: a frame on the user's page that an agent draws in.

use std::time::Duration;

use serde_json::Value;

use crate::{BoxFuture, ToolError};

/// What is done with the canvas of a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CanvasCommand {
    /// Shows it, with this document if one is given.
    Present(Option<CanvasDocument>),
    /// Hides it; what it shows stays.
    Hide,
    /// Runs a script in its frame, and returns what that gives as text.
    Eval(String),
    /// Draws it; returns `{"mime", "data"}` with base64, or `{"missing"}` with what is missing.
    Snapshot {
        /// The media type.
        mime: &'static str,
        /// Most pixels of its width.
        max_width: u32,
        /// Quality of a JPEG image in percent.
        quality: u32,
    },
    /// Adds messages of A2UI, which were checked.
    Push(Vec<Value>),
    /// Removes everything that was pushed.
    Reset,
}

/// A document for the canvas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanvasDocument {
    /// Where it is from, for the user.
    pub source: String,
    /// The document.
    pub html: String,
}

/// The pages of the user on which a canvas can be shown.
pub trait CanvasPages: Send + Sync {
    /// Whether a page is open.
    fn is_open(&self) -> bool;
    /// Does something with the canvas of a session, and waits for the page at most so long.
    fn perform<'a>(&'a self, session: &'a str, command: CanvasCommand, patience: Duration) -> BoxFuture<'a, Result<Value, ToolError>>;
}
