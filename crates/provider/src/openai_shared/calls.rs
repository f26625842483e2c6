//! The calls of one answer, while they arrive.

use std::collections::HashSet;

use super::is_object;
use crate::ids::CallIds;
use crate::{Block, Delta, NameMap, Protocol, Turn};

/// The calls of one answer. A call may run as soon as its arguments are a whole object; any other, such as one without
/// arguments, only when the answer has come to its proper end, because until then nobody knows whether more follows. A call of
/// an answer that was cut stays as it is, and is no part of it.
#[derive(Debug)]
pub(crate) struct Calls {
    names: NameMap,
    shown: HashSet<String>,
    ids: CallIds,
    list: Vec<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    id: String,
    name: String,
    arguments: String,
    begun: bool,
    ready: Option<Block>,
}

impl Calls {
    pub(crate) fn new(protocol: Protocol, turn: &Turn<'_>) -> Self {
        let names = NameMap::new(protocol, turn.tools.iter().map(|tool| &tool.name));
        let shown = turn.tools.iter().map(|tool| names.wire(&tool.name).into_owned()).collect();
        Self { names, shown, ids: CallIds::of(turn.messages), list: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn id(&self, index: usize) -> &str {
        &self.list[index].id
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        &self.list[index].name
    }

    pub(crate) fn arguments(&self, index: usize) -> &str {
        &self.list[index].arguments
    }

    /// One more call has begun: those before it that are whole are ready.
    pub(crate) fn open(&mut self, out: &mut Vec<Delta>) -> usize {
        self.settle_whole(out);
        self.list.push(Pending::default());
        self.list.len() - 1
    }

    /// The first id counts; some servers make a new one for every piece.
    pub(crate) fn set_id(&mut self, index: usize, id: &str) {
        let call = &mut self.list[index];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
    }

    /// A piece of the name: some servers send it in pieces, some send all of it again and again.
    pub(crate) fn add_name(&mut self, index: usize, piece: &str, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        if call.begun {
            return;
        }
        call.name = longer_name(&self.shown, &call.name, piece);
        if is_final(&self.shown, &call.name) {
            self.announce(index, out);
        }
    }

    /// The whole name.
    pub(crate) fn set_name(&mut self, index: usize, name: &str, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        if !name.is_empty() && !call.begun {
            name.clone_into(&mut call.name);
            self.announce(index, out);
        }
    }

    /// A piece of the arguments. A name that has come is complete when they begin.
    pub(crate) fn add_arguments(&mut self, index: usize, piece: &str, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        call.arguments.push_str(piece);
        if !piece.is_empty() && !call.name.is_empty() {
            self.announce(index, out);
        }
    }

    /// The whole arguments.
    pub(crate) fn set_arguments(&mut self, index: usize, arguments: &str) {
        arguments.clone_into(&mut self.list[index].arguments);
    }

    /// The call is ready if its arguments are a whole object.
    pub(crate) fn settle_if_whole(&mut self, index: usize, out: &mut Vec<Delta>) {
        if self.list[index].is_open() && is_object(&self.list[index].arguments) {
            self.settle(index, out);
        }
    }

    /// What is whole is ready.
    pub(crate) fn settle_whole(&mut self, out: &mut Vec<Delta>) {
        (0..self.list.len()).for_each(|index| self.settle_if_whole(index, out));
    }

    /// The answer is complete: every call is as it was meant.
    pub(crate) fn settle_all(&mut self, out: &mut Vec<Delta>) {
        for index in 0..self.list.len() {
            if self.list[index].is_open() {
                self.settle(index, out);
            }
        }
    }

    /// The call, if it became ready.
    pub(crate) fn ready(&self, index: usize) -> Option<&Block> {
        self.list[index].ready.as_ref()
    }

    fn announce(&mut self, index: usize, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        if !call.begun {
            call.begun = true;
            out.push(Delta::CallBegun { index, name: self.names.back(&call.name) });
        }
    }

    fn settle(&mut self, index: usize, out: &mut Vec<Delta>) {
        self.announce(index, out);
        let call = &mut self.list[index];
        let id = self.ids.take(&call.id);
        let block = Block::Call { id, name: self.names.back(&call.name), arguments: call.arguments.clone(), opaque: None };
        call.ready = Some(block.clone());
        out.push(Delta::CallReady { index, call: block });
    }
}

impl Pending {
    fn is_open(&self) -> bool {
        self.ready.is_none()
    }
}

fn longer_name(shown: &HashSet<String>, name: &str, piece: &str) -> String {
    let both = format!("{name}{piece}");
    if piece == name || (shown.contains(name) && !shown.contains(&both)) {
        name.to_owned()
    } else if shown.contains(piece) && piece.starts_with(name) {
        piece.to_owned()
    } else {
        both
    }
}

/// Whether nothing can follow: it is a tool's name, and no other begins with it.
fn is_final(shown: &HashSet<String>, name: &str) -> bool {
    shown.contains(name) && !shown.iter().any(|other| other.len() > name.len() && other.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_grows_in_pieces_and_not_by_being_repeated() {
        let shown: HashSet<String> = ["read", "read_file", "exec"].map(str::to_owned).into();
        for (pieces, name) in [
            (vec!["exec"], "exec"),
            (vec!["exec", "exec", "exec"], "exec"),
            (vec!["ex", "ec"], "exec"),
            (vec!["ex", "exec"], "exec"),
            (vec!["", "exec", ""], "exec"),
            (vec!["read", "_file"], "read_file"),
            (vec!["unknown"], "unknown"),
            (vec!["unknown", "unknown"], "unknown"),
            (vec!["un", "known"], "unknown"),
            (vec![], ""),
        ] {
            let grown = pieces.iter().fold(String::new(), |name, piece| longer_name(&shown, &name, piece));
            assert_eq!(grown, name, "{pieces:?}");
        }
    }
    /// What comes of one call whose names and arguments arrive so, with these tools shown.
    fn deltas(pieces: &[(&str, &str)]) -> Vec<Delta> {
        let model = crate::Model::new("openai", Protocol::OpenAi, "gpt-5");
        let tool = |name: &str| crate::ToolSpec { name: name.into(), description: String::new(), parameters: serde_json::Value::Null };
        let tools = ["read", "read_file"].map(tool);
        let mut calls = Calls::new(Protocol::OpenAi, &Turn { model: &model, system: "", messages: &[], tools: &tools });
        let mut out = Vec::new();
        let index = calls.open(&mut out);
        calls.set_id(index, "id");
        for (name, arguments) in pieces {
            calls.add_name(index, name, &mut out);
            calls.add_arguments(index, arguments, &mut out);
        }
        calls.settle_all(&mut out);
        out
    }

    #[test]
    fn the_name_that_was_announced_is_the_name_that_runs() {
        for (pieces, name, arguments) in [
            (vec![("read", ""), ("_file", ""), ("", "{}")], "read_file", "{}"),
            (vec![("read", ""), ("", "{}")], "read", "{}"),
            (vec![("read", "")], "read", ""),
            (vec![("read", "{"), ("_file", "}")], "read", "{}"),
            (vec![("un", "{"), ("known", "}")], "un", "{}"),
        ] {
            let call = Block::Call { id: "id".into(), name: name.into(), arguments: arguments.into(), opaque: None };
            let expected = [Delta::CallBegun { index: 0, name: name.into() }, Delta::CallReady { index: 0, call }];
            assert_eq!(deltas(&pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_name_that_begins_another_is_not_final() {
        let shown: HashSet<String> = ["read", "read_file", "exec"].map(str::to_owned).into();
        for (name, last) in [("exec", true), ("read_file", true), ("read", false), ("rea", false), ("", false)] {
            assert_eq!(is_final(&shown, name), last, "{name}");
        }
    }
}
