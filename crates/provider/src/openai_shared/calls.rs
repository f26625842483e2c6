//! Assembles the calls of one answer while it streams.

use std::collections::HashSet;

use crate::ids::CallIds;
use crate::json::is_object;
use crate::{Block, Delta, ModelTurn, NameMap, Protocol};

/// The calls of one answer. A call is ready as soon as its arguments are a complete object; any other, such as one without
/// arguments, only at the proper end of the answer, because more may follow. An incomplete call of a truncated answer is dropped.
#[derive(Debug)]
pub(crate) struct CallAssembler {
    names: NameMap,
    offered: HashSet<String>,
    ids: CallIds,
    list: Vec<PendingCall>,
}

#[derive(Debug, Default)]
struct PendingCall {
    id: String,
    name: String,
    arguments: String,
    begun: bool,
    ready: Option<Block>,
}

impl CallAssembler {
    pub(crate) fn new(protocol: Protocol, turn: &ModelTurn<'_>) -> Self {
        let names = NameMap::new(protocol, turn.tools.iter().map(|tool| &tool.name));
        let offered = turn.tools.iter().map(|tool| names.wire(&tool.name).into_owned()).collect();
        Self { names, offered, ids: CallIds::from_messages(turn.messages), list: Vec::new() }
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

    /// Begins another call; complete calls before it become ready.
    pub(crate) fn open(&mut self, out: &mut Vec<Delta>) -> usize {
        self.finish_complete(out);
        self.list.push(PendingCall::default());
        self.list.len() - 1
    }

    /// Sets the id once; some servers send a new one with every fragment.
    pub(crate) fn set_id(&mut self, index: usize, id: &str) {
        let call = &mut self.list[index];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
    }

    /// Adds a fragment of the name: some servers split it, some repeat all of it.
    pub(crate) fn add_name(&mut self, index: usize, piece: &str, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        if call.begun {
            return;
        }
        call.name = longer_name(&self.offered, &call.name, piece);
        if is_final(&self.offered, &call.name) {
            self.announce(index, out);
        }
    }

    /// Sets the name.
    pub(crate) fn set_name(&mut self, index: usize, name: &str, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        if !name.is_empty() && !call.begun {
            name.clone_into(&mut call.name);
            self.announce(index, out);
        }
    }

    /// Adds a fragment of the arguments. The name is complete when they begin.
    pub(crate) fn add_arguments(&mut self, index: usize, piece: &str, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        call.arguments.push_str(piece);
        if !piece.is_empty() && !call.name.is_empty() {
            self.announce(index, out);
        }
    }

    /// Sets the arguments.
    pub(crate) fn set_arguments(&mut self, index: usize, arguments: &str) {
        arguments.clone_into(&mut self.list[index].arguments);
    }

    /// Marks the call ready if its arguments are a complete object.
    pub(crate) fn finish_if_complete(&mut self, index: usize, out: &mut Vec<Delta>) {
        if self.list[index].is_open() && is_object(&self.list[index].arguments) {
            self.finish(index, out);
        }
    }

    /// Marks all calls with complete arguments ready.
    pub(crate) fn finish_complete(&mut self, out: &mut Vec<Delta>) {
        (0..self.list.len()).for_each(|index| self.finish_if_complete(index, out));
    }

    /// Marks every call ready at the proper end of the answer.
    pub(crate) fn finish_all(&mut self, out: &mut Vec<Delta>) {
        for index in 0..self.list.len() {
            if self.list[index].is_open() {
                self.finish(index, out);
            }
        }
    }

    /// The call, if it is ready.
    pub(crate) fn ready(&self, index: usize) -> Option<&Block> {
        self.list[index].ready.as_ref()
    }

    fn announce(&mut self, index: usize, out: &mut Vec<Delta>) {
        let call = &mut self.list[index];
        if !call.begun {
            call.begun = true;
            out.push(Delta::CallBegun { index, name: self.names.original(&call.name) });
        }
    }

    fn finish(&mut self, index: usize, out: &mut Vec<Delta>) {
        self.announce(index, out);
        let call = &mut self.list[index];
        let id = self.ids.take(&call.id);
        let block = Block::Call { id, name: self.names.original(&call.name), arguments: call.arguments.clone(), opaque: None };
        call.ready = Some(block.clone());
        out.push(Delta::CallReady { index, call: block });
    }
}

impl PendingCall {
    fn is_open(&self) -> bool {
        self.ready.is_none()
    }
}

fn longer_name(offered: &HashSet<String>, name: &str, piece: &str) -> String {
    let both = format!("{name}{piece}");
    if piece == name || (offered.contains(name) && !offered.contains(&both)) {
        name.to_owned()
    } else if offered.contains(piece) && piece.starts_with(name) {
        piece.to_owned()
    } else {
        both
    }
}

/// Whether the name is complete: it is a tool, and no other tool begins with it.
fn is_final(offered: &HashSet<String>, name: &str) -> bool {
    offered.contains(name) && !offered.iter().any(|other| other.len() > name.len() && other.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_fragments_are_joined_and_repetitions_ignored() {
        let offered: HashSet<String> = ["read", "read_file", "exec"].map(str::to_owned).into();
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
            let grown = pieces.iter().fold(String::new(), |name, piece| longer_name(&offered, &name, piece));
            assert_eq!(grown, name, "{pieces:?}");
        }
    }
    /// The deltas of one call whose name and arguments arrive in these fragments.
    fn deltas(pieces: &[(&str, &str)]) -> Vec<Delta> {
        let model = crate::Model::new("openai", Protocol::OpenAi, "gpt-5");
        let tool =
            |name: &str| crate::OfferedTool { name: name.into(), description: String::new(), parameters: serde_json::Value::Null.into() };
        let tools = ["read", "read_file"].map(tool);
        let mut calls = CallAssembler::new(Protocol::OpenAi, &ModelTurn { model: &model, system: "", messages: &[], tools: &tools });
        let mut out = Vec::new();
        let index = calls.open(&mut out);
        calls.set_id(index, "id");
        for (name, arguments) in pieces {
            calls.add_name(index, name, &mut out);
            calls.add_arguments(index, arguments, &mut out);
        }
        calls.finish_all(&mut out);
        out
    }

    #[test]
    fn announced_name_is_the_name_of_the_call() {
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
    fn name_that_begins_another_is_not_final() {
        let offered: HashSet<String> = ["read", "read_file", "exec"].map(str::to_owned).into();
        for (name, last) in [("exec", true), ("read_file", true), ("read", false), ("rea", false), ("", false)] {
            assert_eq!(is_final(&offered, name), last, "{name}");
        }
    }
}
