//! A piece of a call, and to which call it belongs. The protocol says: by its index. Servers that speak it leave out the
//! index, give every call the same one, give every piece another id, send whole calls, or send them twice.

use std::borrow::Cow;

use crate::Delta;
use crate::json::Json;
use crate::openai_shared::{Calls, is_object};

/// A piece of a call.
#[derive(Debug)]
pub(super) struct Fragment<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    /// The arguments came as a value, so they are all there is.
    is_whole: bool,
}

impl<'a> Fragment<'a> {
    /// One entry of a list; entries of one list that have no index are different calls.
    pub(super) fn read(entry: &'a Json<'a>, place: usize, length: usize) -> Self {
        let function = entry.get("function").unwrap_or(entry);
        let given = entry.at("index").as_u64();
        let (arguments, is_whole) = match function.at("arguments") {
            Json::Null => (Cow::Borrowed(""), false),
            Json::Text(text) => (Cow::Borrowed(text.as_ref()), false),
            value => (Cow::Owned(value.to_value().to_string()), true),
        };
        let index = given.or_else(|| u64::try_from(place).ok().filter(|_| length > 1));
        Self { index, id: entry.text("id"), name: function.text("name"), arguments, is_whole }
    }
}

/// The calls of an answer by the indexes that their server gave them.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) calls: Calls,
    indexes: Vec<Option<u64>>,
}

impl Slots {
    pub(super) fn new(calls: Calls) -> Self {
        Self { calls, indexes: Vec::new() }
    }

    pub(super) fn take(&mut self, fragment: &Fragment<'_>, out: &mut Vec<Delta>) {
        let slot = match self.find(fragment) {
            Some(slot) if self.repeats(slot, fragment) => return,
            Some(slot) if !self.begins_another(slot, fragment) => slot,
            _ => self.begin(fragment, out),
        };
        self.calls.set_id(slot, fragment.id);
        self.calls.add_name(slot, fragment.name, out);
        if fragment.is_whole {
            self.calls.set_arguments(slot, "");
        }
        self.calls.add_arguments(slot, &fragment.arguments, out);
    }

    /// The last call with the same index; without one, the last with the same id; without either, the last.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        match fragment.index {
            Some(_) => self.indexes.iter().rposition(|index| *index == fragment.index),
            None if fragment.id.is_empty() => self.calls.len().checked_sub(1),
            None => (0..self.calls.len()).rfind(|slot| self.calls.id(*slot) == fragment.id),
        }
    }

    fn begin(&mut self, fragment: &Fragment<'_>, out: &mut Vec<Delta>) -> usize {
        self.indexes.push(fragment.index);
        self.calls.open(out)
    }

    /// The same call once more, as a whole.
    fn repeats(&self, slot: usize, fragment: &Fragment<'_>) -> bool {
        let same = |given: &str, known: &str| !given.is_empty() && given == known;
        same(fragment.id, self.calls.id(slot))
            && same(fragment.name, self.calls.name(slot))
            && fragment.arguments == self.calls.arguments(slot)
            && is_object(&fragment.arguments)
    }

    /// A name comes with the beginning of a call. It is another one if its id is, or if there is nothing to add to this one.
    fn begins_another(&self, slot: usize, fragment: &Fragment<'_>) -> bool {
        let id = self.calls.id(slot);
        let other_id = !fragment.id.is_empty() && !id.is_empty() && fragment.id != id;
        let arguments = self.calls.arguments(slot);
        let adds = !fragment.arguments.trim().is_empty();
        let other_name = !arguments.is_empty() && fragment.index.is_none() && fragment.name != self.calls.name(slot);
        !fragment.name.is_empty() && (other_id || other_name || (adds && is_object(arguments)))
    }
}
