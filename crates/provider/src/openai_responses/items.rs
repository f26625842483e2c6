//! The items of an answer while it streams.

use serde_json::Value;

use crate::json::EventJson;

/// An output item of the answer.
#[derive(Debug)]
pub(super) struct OutputItem {
    /// Output index, if the server sends it.
    index: Option<u64>,
    /// Id of the provider; may be empty.
    id: String,
    pub(super) kind: ItemKind,
}

/// Content of an item.
#[derive(Debug)]
pub(super) enum ItemKind {
    /// Reasoning, and the complete item once it is encrypted.
    Reasoning { text: String, whole: Option<Value> },
    /// Text; the phase is sent back.
    Message { text: String, phase: Option<Value> },
    /// A call, by its index among the calls.
    Call(usize),
}

/// The items in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct OutputItems(Vec<OutputItem>);

impl OutputItems {
    /// The item of an event: by id, because some servers give every item the same index, else by index, because some give every
    /// event another id.
    pub(super) fn find(&mut self, event: EventJson<'_>) -> Option<&mut OutputItem> {
        let position = self.position(index_of(event), id_of(event))?;
        self.0.get_mut(position)
    }

    /// Adds the item that begins with this event.
    pub(super) fn add(&mut self, event: EventJson<'_>, kind: ItemKind) {
        self.0.push(OutputItem { index: index_of(event), id: id_of(event).to_owned(), kind });
    }

    /// Whether the item of this event is known already.
    pub(super) fn knows(&self, event: EventJson<'_>) -> bool {
        let id = id_of(event);
        if id.is_empty() { self.position(index_of(event), id).is_some() } else { self.0.iter().any(|item| item.id == id) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &OutputItem> {
        self.0.iter()
    }

    fn position(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let by_id = self.0.iter().rposition(|item| !id.is_empty() && item.id == id);
        by_id.or_else(|| self.0.iter().rposition(|item| index.is_some() && item.index == index))
    }
}

fn index_of(event: EventJson<'_>) -> Option<u64> {
    event.at("output_index").as_u64()
}

fn id_of(event: EventJson<'_>) -> &str {
    event.get("item_id").unwrap_or_else(|| event.at("item").at("id")).as_str().unwrap_or_default()
}

/// The text of a list of parts, and whether some of it is a refusal.
pub(super) fn text_of_parts(parts: EventJson<'_>) -> (String, bool) {
    let refused = parts.list().any(|part| part.text("type") == "refusal");
    (parts.list().filter_map(|part| part.at("text").as_str().or_else(|| part.at("refusal").as_str())).collect(), refused)
}
