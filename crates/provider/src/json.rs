//! JSON that borrows from the event it was parsed from. Most of a stream is read once and dropped, so strings are not copied, and all
//! values of an event are one list: a value, and behind it those that it holds.

mod parse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::{Map, Number, Value};

/// An event as a list of values.
#[derive(Debug)]
pub(crate) struct EventTree<'a> {
    nodes: Vec<EventNode<'a>>,
}

/// A value in the list.
#[derive(Debug, Clone)]
struct EventNode<'a> {
    /// The field that it is the value of; empty in a list.
    name: Cow<'a, str>,
    value: EventValue<'a>,
    /// How many nodes it takes with those that it holds.
    length: usize,
}

/// A JSON value that borrows from its text; the values of lists and objects are those that [`EventJson`] gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventValue<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List,
    Object,
}

/// A value of an event, and what it holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventJson<'e> {
    /// Never empty: the first is the value itself.
    nodes: &'e [EventNode<'e>],
}

/// What absent fields are.
const ABSENT: &[EventNode<'static>] = &[EventNode { name: Cow::Borrowed(""), value: EventValue::Null, length: 1 }];

impl<'a> EventTree<'a> {
    /// Parses an event. Fields of the event itself that no protocol needs are passed over: they are half of most streams.
    pub(crate) fn event(text: &'a str) -> serde_json::Result<Self> {
        Ok(Self { nodes: parse::event(text)? })
    }

    /// The whole event.
    pub(crate) fn root(&self) -> EventJson<'_> {
        EventJson { nodes: if self.nodes.is_empty() { ABSENT } else { &self.nodes } }
    }

    /// An object of these fields.
    pub(crate) fn of_fields(fields: &[(&'static str, EventJson<'a>)]) -> Self {
        let mut nodes = vec![EventNode { name: Cow::Borrowed(""), value: EventValue::Object, length: 1 }];
        for (name, field) in fields {
            let first = nodes.len();
            nodes.extend_from_slice(field.nodes);
            nodes[first].name = Cow::Borrowed(name);
        }
        nodes[0].length = nodes.len();
        Self { nodes }
    }

    /// A number.
    pub(crate) fn of_number(number: usize) -> Self {
        Self { nodes: vec![EventNode { name: Cow::Borrowed(""), value: EventValue::Number(number.into()), length: 1 }] }
    }
}

impl<'e> EventJson<'e> {
    pub(crate) fn value(self) -> &'e EventValue<'e> {
        &self.nodes[0].value
    }

    /// What a list or an object holds directly.
    fn nodes_within(self) -> impl Iterator<Item = &'e [EventNode<'e>]> {
        let mut rest = &self.nodes[1..];
        std::iter::from_fn(move || {
            let length = rest.first()?.length;
            let (node, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(node)
        })
    }

    /// The fields of an object in order; nothing for anything else. The last of several with one name counts.
    pub(crate) fn fields(self) -> impl Iterator<Item = (&'e str, Self)> {
        let is_object = self.is_object();
        self.nodes_within().take_while(move |_| is_object).map(|nodes| (&*nodes[0].name, Self { nodes }))
    }

    /// The value of a field; `null` if absent. The last of several counts.
    pub(crate) fn at(self, name: &str) -> Self {
        self.get(name).unwrap_or(Self { nodes: ABSENT })
    }

    pub(crate) fn get(self, name: &str) -> Option<Self> {
        if !self.is_object() {
            return None;
        }
        self.nodes_within().filter(|nodes| nodes[0].name == name).last().map(|nodes| Self { nodes })
    }

    pub(crate) fn as_str(self) -> Option<&'e str> {
        if let EventValue::Text(text) = self.value() { Some(text) } else { None }
    }

    /// The string in a field; empty if absent.
    pub(crate) fn text(self, name: &str) -> &'e str {
        self.at(name).as_str().unwrap_or_default()
    }

    /// The string of an object that has this one field and no other.
    pub(crate) fn only_text(self, name: &str) -> Option<&'e str> {
        match self.nodes {
            [EventNode { value: EventValue::Object, .. }, EventNode { name: field, value: EventValue::Text(text), .. }]
                if field == name =>
            {
                Some(text)
            }
            _ => None,
        }
    }

    pub(crate) fn as_u64(self) -> Option<u64> {
        if let EventValue::Number(number) = self.value() { number.as_u64() } else { None }
    }

    /// The elements of a list; nothing for anything else.
    pub(crate) fn list(self) -> impl Iterator<Item = Self> {
        let is_list = matches!(self.value(), EventValue::List);
        self.nodes_within().take_while(move |_| is_list).map(|nodes| Self { nodes })
    }

    pub(crate) fn is_object(self) -> bool {
        matches!(self.value(), EventValue::Object)
    }

    /// Whether it is an object without fields.
    pub(crate) fn is_empty_object(self) -> bool {
        self.is_object() && self.nodes.len() == 1
    }

    pub(crate) fn is_null(self) -> bool {
        matches!(self.value(), EventValue::Null)
    }

    /// An owned copy.
    pub(crate) fn to_value(self) -> Value {
        match self.value() {
            EventValue::Null => Value::Null,
            EventValue::Bool(truth) => Value::Bool(*truth),
            EventValue::Number(number) => Value::Number(number.clone()),
            EventValue::Text(text) => Value::String(text.clone().into_owned()),
            EventValue::List => self.list().map(Self::to_value).collect(),
            EventValue::Object => {
                let fields = self.nodes_within().map(|nodes| (nodes[0].name.clone().into_owned(), Self { nodes }.to_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

/// Whether the text is one complete JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
