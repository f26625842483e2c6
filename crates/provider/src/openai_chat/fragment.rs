//! Assigns fragments of calls to their call. The protocol uses an index; servers omit it, give every call the same one, give
//! every fragment another id, send whole calls, or send them twice.

use std::borrow::Cow;

use crate::Delta;
use crate::json::{EventJson, EventValue, is_object};
use crate::openai_shared::CallAssembler;

/// A fragment of a call.
#[derive(Debug)]
pub(super) struct CallFragment<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    /// The arguments are a JSON value instead of text, so they are complete.
    is_whole: bool,
}

impl<'a> CallFragment<'a> {
    /// One entry of a list; entries of one list without an index are different calls.
    pub(super) fn read(entry: EventJson<'a>, position: usize, length: usize) -> Self {
        let function = entry.get("function").unwrap_or(entry);
        let index = entry.at("index").as_u64();
        let (arguments, is_whole) = match function.at("arguments").value() {
            EventValue::Null => (Cow::Borrowed(""), false),
            EventValue::Text(text) => (Cow::Borrowed(text.as_ref()), false),
            _ => (Cow::Owned(function.at("arguments").to_value().to_string()), true),
        };
        let index = index.or_else(|| u64::try_from(position).ok().filter(|_| length > 1));
        Self { index, id: entry.text("id"), name: function.text("name"), arguments, is_whole }
    }
}

/// The calls of an answer by the indexes of the server.
#[derive(Debug)]
pub(super) struct IndexedCalls {
    pub(super) calls: CallAssembler,
    indexes: Vec<Option<u64>>,
}

impl IndexedCalls {
    pub(super) fn new(calls: CallAssembler) -> Self {
        Self { calls, indexes: Vec::new() }
    }

    pub(super) fn add(&mut self, fragment: &CallFragment<'_>, out: &mut Vec<Delta>) {
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

    /// The last call with the same index; without an index, with the same id; without either, the last call.
    fn find(&self, fragment: &CallFragment<'_>) -> Option<usize> {
        match fragment.index {
            Some(_) => self.indexes.iter().rposition(|index| *index == fragment.index),
            None if fragment.id.is_empty() => self.calls.len().checked_sub(1),
            None => (0..self.calls.len()).rfind(|slot| self.calls.id(*slot) == fragment.id),
        }
    }

    fn begin(&mut self, fragment: &CallFragment<'_>, out: &mut Vec<Delta>) -> usize {
        self.indexes.push(fragment.index);
        self.calls.open(out)
    }

    /// Whether the fragment repeats a complete call.
    fn repeats(&self, slot: usize, fragment: &CallFragment<'_>) -> bool {
        let same = |new: &str, known: &str| !new.is_empty() && new == known;
        same(fragment.id, self.calls.id(slot))
            && same(fragment.name, self.calls.name(slot))
            && fragment.arguments == self.calls.arguments(slot)
            && is_object(&fragment.arguments)
    }

    /// Whether the fragment begins another call: it has a name, and another id or nothing to add to this call.
    fn begins_another(&self, slot: usize, fragment: &CallFragment<'_>) -> bool {
        let id = self.calls.id(slot);
        let other_id = !fragment.id.is_empty() && !id.is_empty() && fragment.id != id;
        let arguments = self.calls.arguments(slot);
        let adds = !fragment.arguments.trim().is_empty();
        let other_name = !arguments.is_empty() && fragment.index.is_none() && fragment.name != self.calls.name(slot);
        !fragment.name.is_empty() && (other_id || other_name || (adds && is_object(arguments)))
    }
}
