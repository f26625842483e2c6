//! The items of an answer, while they arrive.

use serde_json::Value;

use crate::json::Json;

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
    pub(super) fn find(&mut self, event: &Json<'_>) -> Option<&mut Item> {
        let place = self.position(place_of(event), id_of(event))?;
        self.0.get_mut(place)
    }

    /// Adds the item that begins with this event.
    pub(super) fn add(&mut self, event: &Json<'_>, kind: Kind) {
        self.0.push(Item { index: place_of(event), id: id_of(event).to_owned(), kind });
    }

    /// Whether this event begins an item that is known already.
    pub(super) fn knows(&self, event: &Json<'_>) -> bool {
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

fn place_of(event: &Json<'_>) -> Option<u64> {
    event.at("output_index").as_u64()
}

fn id_of<'a>(event: &'a Json<'_>) -> &'a str {
    event.get("item_id").unwrap_or_else(|| event.at("item").at("id")).as_str().unwrap_or_default()
}

/// All the text in a list of parts, and whether some of it is a refusal.
pub(super) fn text_of_parts(parts: &Json<'_>) -> (String, bool) {
    let parts = parts.list();
    let refused = parts.iter().any(|part| part.text("type") == "refusal");
    (parts.iter().filter_map(|part| part.at("text").as_str().or_else(|| part.at("refusal").as_str())).collect(), refused)
}
