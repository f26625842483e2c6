//! Server-sent events, as a protocol has them and before anything happens to them.

use serde_json::Value;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) text: String,
    /// Whether it belongs to what says that the model is done.
    pub(super) ends: bool,
}

impl Event {
    pub(super) fn data(data: &Value) -> Self {
        Self::plain(&data.to_string())
    }

    pub(super) fn plain(data: &str) -> Self {
        Self { text: format!("data: {data}\n\n"), ends: false }
    }

    /// Named as its data is.
    pub(super) fn named(data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        Self { text: format!("event: {name}\ndata: {data}\n\n"), ends: false }
    }

    pub(super) fn ending(self) -> Self {
        Self { ends: true, ..self }
    }
}

/// The text of the arguments as a model writes it: in two pieces.
pub(super) fn pieces(arguments: &Value) -> [String; 2] {
    let text = arguments.to_string();
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first.to_owned(), second.to_owned()]
}
