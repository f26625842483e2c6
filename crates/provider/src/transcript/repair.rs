//! Makes a conversation valid that was interrupted, cut or badly stored.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::{Flaw, is_empty, is_half, is_misplaced, says_something, validate};
use crate::{Block, Message, Piece, Role};

/// What the model is told of a call that was interrupted: the envelope of an error.
const INTERRUPTED: &str = concat!(
    r#"{"status":"error","error_type":"cancelled","message":"The call was interrupted before its outcome was known. "#,
    r#"It may or may not have had an effect; check before repeating it."}"#
);

/// The conversation as it may be sent, and what was wrong with it. A valid one comes back as it is.
///
/// A result goes to its call, wherever it stood behind it; a call without one gets an error that says that its outcome is
/// unknown; results without a call, calls that were cut and blocks on the wrong side are dropped; a later call with an id that
/// is taken gets another, together with its result; what the model said before the user spoke is dropped.
pub fn repair(messages: Vec<Message>) -> (Vec<Message>, Vec<Flaw>) {
    let flaws = validate(&messages);
    if flaws.is_empty() {
        return (messages, flaws);
    }
    let mut draft = Draft::default();
    for message in messages {
        draft.take(message);
    }
    draft.drop_half_calls();
    draft.merge();
    draft.rename();
    draft.pair();
    draft.merge();
    let messages =
        draft.turns.into_iter().map(|turn| Message { role: turn.role, blocks: turn.parts.into_iter().filter_map(Part::block).collect() });
    (messages.collect(), flaws)
}

#[derive(Default)]
struct Draft {
    turns: Vec<Turn>,
    calls: Vec<Call>,
    /// The numbers of the calls that have no result yet, by id.
    waiting: HashMap<String, Vec<usize>>,
}

struct Turn {
    role: Role,
    parts: Vec<Part>,
}

enum Part {
    /// Anything but calls and results.
    Other(Block),
    /// A call, by its number.
    Call(usize, Block),
    /// Where the result of an earlier call stood.
    Answer,
    /// A result at its place.
    Result(Block),
}

impl Part {
    fn block(self) -> Option<Block> {
        match self {
            Self::Other(block) | Self::Call(_, block) | Self::Result(block) => Some(block),
            Self::Answer => None,
        }
    }

    fn counts(&self) -> bool {
        match self {
            Self::Other(block) => says_something(block),
            Self::Call(..) | Self::Answer | Self::Result(_) => true,
        }
    }
}

struct Call {
    id: String,
    name: String,
    turn: usize,
    is_half: bool,
    result: Option<(Vec<Piece>, bool)>,
}

impl Draft {
    fn take(&mut self, message: Message) {
        if self.turns.is_empty() && message.role == Role::Assistant {
            return;
        }
        let mut turn = Turn { role: message.role, parts: Vec::new() };
        for block in message.blocks {
            turn.parts.extend(self.part(block, message.role));
        }
        if turn.parts.iter().any(Part::counts) {
            self.turns.push(turn);
        }
    }

    fn part(&mut self, block: Block, role: Role) -> Option<Part> {
        match block {
            // Matched even on the wrong side: what a tool answered is worth more than where it stood.
            Block::Result { id, name, content, is_error } => self.answer(&id, &name, (content, is_error)).map(|()| Part::Answer),
            block if is_misplaced(&block, role) || is_empty(&block) => None,
            Block::Call { ref id, ref name, ref arguments, .. } => {
                let number = self.calls.len();
                let call = Call { id: id.clone(), name: name.clone(), turn: self.turns.len(), is_half: is_half(arguments), result: None };
                self.waiting.entry(id.clone()).or_default().push(number);
                self.calls.push(call);
                Some(Part::Call(number, block))
            }
            block => Some(Part::Other(block)),
        }
    }

    /// Gives a result to the call it belongs to: of the latest message that waits for this id, the first call, rather one of
    /// this name.
    fn answer(&mut self, id: &str, name: &str, result: (Vec<Piece>, bool)) -> Option<()> {
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
            turn.parts.retain(|part| !matches!(part, Part::Call(number, _) if calls[*number].is_half && calls[*number].result.is_none()));
        }
    }

    /// Drops turns that say nothing, then joins neighbours of one side.
    fn merge(&mut self) {
        let mut merged: Vec<Turn> = Vec::new();
        for turn in mem::take(&mut self.turns).into_iter().filter(|turn| turn.parts.iter().any(Part::counts)) {
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
            if let Part::Call(number, Block::Call { id, .. }) = part {
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

    /// Puts the results of each turn's calls at the beginning of the turn behind it.
    fn pair(&mut self) {
        let mut paired: Vec<Turn> = Vec::new();
        let mut waiting: Vec<Part> = Vec::new();
        for mut turn in mem::take(&mut self.turns) {
            turn.parts.retain(|part| !matches!(part, Part::Answer));
            let calls: Vec<usize> =
                turn.parts.iter().filter_map(|part| if let Part::Call(number, _) = part { Some(*number) } else { None }).collect();
            turn.parts.splice(0..0, mem::take(&mut waiting));
            waiting = calls.into_iter().map(|number| Part::Result(self.result(number))).collect();
            paired.push(turn);
        }
        if !waiting.is_empty() {
            paired.push(Turn { role: Role::User, parts: waiting });
        }
        self.turns = paired;
    }

    fn result(&mut self, number: usize) -> Block {
        let call = &mut self.calls[number];
        let (content, is_error) = call.result.take().unwrap_or_else(|| (vec![Piece::Text { text: INTERRUPTED.into() }], true));
        Block::Result { id: call.id.clone(), name: call.name.clone(), content, is_error }
    }
}

/// The id with the first number behind it that makes it one of its own.
fn free_id(id: &str, times: &mut usize, taken: &HashSet<String>) -> String {
    loop {
        let candidate = format!("{id}-{times}");
        if !taken.contains(&candidate) {
            return candidate;
        }
        *times += 1;
    }
}
