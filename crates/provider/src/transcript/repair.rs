//! Repairs a conversation that was interrupted, truncated or badly stored.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::{Flaw, has_content, is_empty, is_half, is_misplaced, validate};
use crate::{Block, Message, ResultPart, Role};

/// Result of an interrupted call.
const INTERRUPTED: &str = concat!(
    r#"{"status":"error","error_type":"cancelled","message":"The call was interrupted before its outcome was known. "#,
    r#"It may or may not have had an effect; check before repeating it."}"#
);

/// The repaired conversation and its flaws. A valid one is returned unchanged.
///
/// A late result moves to its call; a call without a result gets an error that says its outcome is unknown; results without a
/// call, truncated calls and blocks of the wrong role are dropped; a call with a taken id gets another, together with its result;
/// messages of the model before the first of the user are dropped.
pub fn repair(messages: Vec<Message>) -> (Vec<Message>, Vec<Flaw>) {
    let flaws = validate(&messages);
    if flaws.is_empty() {
        return (messages, flaws);
    }
    let mut draft = RepairDraft::default();
    for message in messages {
        draft.take(message);
    }
    draft.drop_half_calls();
    draft.merge();
    draft.rename();
    draft.pair();
    draft.merge();
    let messages = draft
        .turns
        .into_iter()
        .map(|turn| Message { role: turn.role, blocks: turn.parts.into_iter().filter_map(DraftPart::block).collect() });
    (messages.collect(), flaws)
}

#[derive(Default)]
struct RepairDraft {
    turns: Vec<DraftTurn>,
    calls: Vec<DraftCall>,
    /// Numbers of the calls without a result, by id.
    waiting: HashMap<String, Vec<usize>>,
}

struct DraftTurn {
    role: Role,
    parts: Vec<DraftPart>,
}

enum DraftPart {
    /// Anything but calls and results.
    Other(Block),
    /// A call, by its number.
    Call(usize, Block),
    /// Placeholder of a result that moves to its call.
    Moved,
    /// A result after its call.
    Result(Block),
}

impl DraftPart {
    fn block(self) -> Option<Block> {
        match self {
            Self::Other(block) | Self::Call(_, block) | Self::Result(block) => Some(block),
            Self::Moved => None,
        }
    }

    fn has_content(&self) -> bool {
        match self {
            Self::Other(block) => has_content(block),
            Self::Call(..) | Self::Moved | Self::Result(_) => true,
        }
    }
}

struct DraftCall {
    id: String,
    name: String,
    turn: usize,
    is_half: bool,
    result: Option<(Vec<ResultPart>, bool)>,
}

impl RepairDraft {
    fn take(&mut self, message: Message) {
        if self.turns.is_empty() && message.role == Role::Assistant {
            return;
        }
        let mut turn = DraftTurn { role: message.role, parts: Vec::new() };
        for block in message.blocks {
            turn.parts.extend(self.part(block, message.role));
        }
        if turn.parts.iter().any(DraftPart::has_content) {
            self.turns.push(turn);
        }
    }

    fn part(&mut self, block: Block, role: Role) -> Option<DraftPart> {
        match block {
            // Accepted in the wrong role too: the result of a tool matters more than its position.
            Block::Result { id, name, content, is_error } => self.assign_result(&id, &name, (content, is_error)).map(|()| DraftPart::Moved),
            block if is_misplaced(&block, role) || is_empty(&block) => None,
            Block::Call { ref id, ref name, ref arguments, .. } => {
                let number = self.calls.len();
                let call =
                    DraftCall { id: id.clone(), name: name.clone(), turn: self.turns.len(), is_half: is_half(arguments), result: None };
                self.waiting.entry(id.clone()).or_default().push(number);
                self.calls.push(call);
                Some(DraftPart::Call(number, block))
            }
            block => Some(DraftPart::Other(block)),
        }
    }

    /// Assigns a result to its call: in the latest message with an open call of this id, the first one, preferably of this name.
    fn assign_result(&mut self, id: &str, name: &str, result: (Vec<ResultPart>, bool)) -> Option<()> {
        let waiting = self.waiting.get_mut(id)?;
        let latest = self.calls[*waiting.last()?].turn;
        let first = waiting.iter().rposition(|number| self.calls[*number].turn != latest).map_or(0, |before| before + 1);
        let of_this_name = waiting[first..].iter().position(|number| self.calls[*number].name == name);
        let number = waiting.remove(first + of_this_name.unwrap_or(0));
        self.calls[number].result = Some(result);
        Some(())
    }

    fn drop_half_calls(&mut self) {
        for turn in &mut self.turns {
            let calls = &self.calls;
            turn.parts
                .retain(|part| !matches!(part, DraftPart::Call(number, _) if calls[*number].is_half && calls[*number].result.is_none()));
        }
    }

    /// Drops empty turns, then merges neighbours of one role.
    fn merge(&mut self) {
        let mut merged: Vec<DraftTurn> = Vec::new();
        for turn in mem::take(&mut self.turns).into_iter().filter(|turn| turn.parts.iter().any(DraftPart::has_content)) {
            match merged.last_mut() {
                Some(last) if last.role == turn.role => last.parts.extend(turn.parts),
                _ => merged.push(turn),
            }
        }
        self.turns = merged;
    }

    fn rename(&mut self) {
        let mut taken: HashSet<String> = self.calls.iter().map(|call| call.id.clone()).collect();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for part in self.turns.iter_mut().flat_map(|turn| &mut turn.parts) {
            if let DraftPart::Call(number, Block::Call { id, .. }) = part {
                let times = seen.entry(id.clone()).or_insert(0);
                *times += 1;
                if *times > 1 {
                    *id = free_id(id, times, &taken);
                    taken.insert(id.clone());
                }
                self.calls[*number].id.clone_from(id);
            }
        }
    }

    /// Puts the results of each turn's calls at the beginning of the next turn.
    fn pair(&mut self) {
        let mut paired: Vec<DraftTurn> = Vec::new();
        let mut waiting: Vec<DraftPart> = Vec::new();
        for mut turn in mem::take(&mut self.turns) {
            turn.parts.retain(|part| !matches!(part, DraftPart::Moved));
            let calls: Vec<usize> =
                turn.parts.iter().filter_map(|part| if let DraftPart::Call(number, _) = part { Some(*number) } else { None }).collect();
            turn.parts.splice(0..0, mem::take(&mut waiting));
            waiting = calls.into_iter().map(|number| DraftPart::Result(self.result(number))).collect();
            paired.push(turn);
        }
        if !waiting.is_empty() {
            paired.push(DraftTurn { role: Role::User, parts: waiting });
        }
        self.turns = paired;
    }

    fn result(&mut self, number: usize) -> Block {
        let call = &mut self.calls[number];
        let (content, is_error) = call.result.take().unwrap_or_else(|| (vec![ResultPart::Text { text: INTERRUPTED.into() }], true));
        Block::Result { id: call.id.clone(), name: call.name.clone(), content, is_error }
    }
}

/// The id with the first number that makes it unique.
fn free_id(id: &str, times: &mut usize, taken: &HashSet<String>) -> String {
    loop {
        let candidate = format!("{id}-{times}");
        if !taken.contains(&candidate) {
            return candidate;
        }
        *times += 1;
    }
}
