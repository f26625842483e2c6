//! The items of an answer, while they arrive.

use serde_json::Value;

/// An item of the answer.
#[derive(Debug)]
pub(super) struct Item {
    /// Its place, where the server says it.
    index: Option<u64>,
    /// The provider's id, where it gives one.
    id: String,
    pub(super) kind: Kind,
}

/// What an item holds.
#[derive(Debug)]
pub(super) enum Kind {
    /// What the model thinks, and the whole item once it is complete.
    Thought { text: String, whole: Option<Value> },
    /// What it says; the phase belongs to the item and is sent back.
    Message { text: String, phase: Option<Value> },
    /// A call, by its place among the calls.
    Call(usize),
}

/// The items in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Items(Vec<Item>);

impl Items {
    /// The item that an event is about. Ids come first, because some servers give every item the same place; where no item
    /// has the id it is the place, because some give every event another id.
    pub(super) fn find(&mut self, event: &Value) -> Option<&mut Item> {
        let place = self.position(place_of(event), id_of(event))?;
        self.0.get_mut(place)
    }

    /// Adds the item that begins with this event.
    pub(super) fn add(&mut self, event: &Value, kind: Kind) {
        self.0.push(Item { index: place_of(event), id: id_of(event).to_owned(), kind });
    }

    /// Whether this event begins an item that is known already.
    pub(super) fn knows(&self, event: &Value) -> bool {
        let id = id_of(event);
        if id.is_empty() { self.position(place_of(event), id).is_some() } else { self.0.iter().any(|item| item.id == id) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Item> {
        self.0.iter()
    }

    fn position(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let by_id = self.0.iter().rposition(|item| !id.is_empty() && item.id == id);
        by_id.or_else(|| self.0.iter().rposition(|item| index.is_some() && item.index == index))
    }
}

fn place_of(event: &Value) -> Option<u64> {
    event.get("output_index").and_then(Value::as_u64)
}

fn id_of(event: &Value) -> &str {
    let id = event.get("item_id").or_else(|| event.get("item")?.get("id"));
    id.and_then(Value::as_str).unwrap_or_default()
}

/// All the text in a list of parts, and whether some of it is a refusal.
pub(super) fn text_of_parts(parts: &Value) -> (String, bool) {
    let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
    let text = |part: &Value, name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
    let refused = parts.iter().any(|part| part["type"] == "refusal");
    (parts.iter().filter_map(|part| text(part, "text").or_else(|| text(part, "refusal"))).collect(), refused)
}
