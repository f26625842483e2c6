//! Port for a small model that answers side questions of tools.

use crate::{BoxFuture, ToolError};

/// A model without tools and without the conversation: it reads one text, and answers one question about it. What it answers is as
/// trustworthy as the text.
pub trait SmallModel: Send + Sync {
    /// Which model it is, as `provider/model`.
    fn name(&self) -> String;
    /// Answers a question about a text. The cost counts for the session. Dropping the answer ends the request.
    fn answer<'a>(&'a self, question: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, ToolError>>;
}
