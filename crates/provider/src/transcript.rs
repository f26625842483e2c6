//! Validates conversations before they are sent, and repairs interrupted ones.
//!
//! Every provider refuses a request with one call without its result, so this is checked and repaired once, on the neutral
//! conversation, before an adapter encodes it.

mod prefix;
mod repair;
mod size;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value};

pub use prefix::ValidatedPrefix;
pub use repair::repair;
pub use size::size;

use crate::{Block, Message, Role};

/// A flaw of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flaw {
    /// Its kind.
    pub kind: FlawKind,
    /// Index of the message.
    pub message: usize,
    /// Index of the block; none for the whole message.
    pub block: Option<usize>,
    /// Description for the user.
    pub sentence: String,
}

/// The kinds of flaws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlawKind {
    /// The conversation does not begin with the user.
    Beginning,
    /// Two messages of one role in a row.
    SameRole,
    /// A message without content.
    EmptyMessage,
    /// An empty text.
    EmptyBlock,
    /// A block in the wrong role: a call of the user, a result or an image of the model.
    Misplaced,
    /// A call without a result.
    Unanswered,
    /// A call without a result and with incomplete arguments: its stream was truncated, so it never ran.
    HalfCall,
    /// A result without a call in the message before.
    Orphan,
    /// A second result of one call.
    SecondResult,
    /// Results that do not come first, or not in the order of their calls.
    Order,
    /// Two calls with one id.
    SameId,
    /// A result that names another tool than its call.
    OtherTool,
}

/// The flaws of a conversation; empty if it may be sent.
pub fn validate(messages: &[Message]) -> Vec<Flaw> {
    validate_from(messages, 0, &HashSet::new())
}

/// The flaws from `start` on; the messages before are valid and have calls with the `known` ids.
fn validate_from(messages: &[Message], start: usize, known: &HashSet<String>) -> Vec<Flaw> {
    let ids = HashSet::with_capacity(messages.len() - start);
    let mut check = TranscriptCheck { at: start, known, ids, flaws: Vec::new() };
    let mut before: Option<&Message> = messages[..start].last();
    for (index, message) in messages.iter().enumerate().skip(start) {
        check.at = index;
        check.message(message, before);
        check.blocks(message);
        check.pairing(&message.blocks, before);
        before = Some(message);
    }
    check.at = messages.len();
    check.pairing(&[], before);
    check.flaws
}

struct TranscriptCheck<'a> {
    at: usize,
    known: &'a HashSet<String>,
    ids: HashSet<&'a str>,
    flaws: Vec<Flaw>,
}

impl<'a> TranscriptCheck<'a> {
    fn add(&mut self, kind: FlawKind, message: usize, block: Option<usize>, sentence: String) {
        self.flaws.push(Flaw { kind, message, block, sentence });
    }

    fn message(&mut self, message: &Message, before: Option<&Message>) {
        match before {
            None if message.role == Role::Assistant => {
                self.add(FlawKind::Beginning, self.at, None, "The conversation begins with the model.".into());
            }
            Some(before) if before.role == message.role => {
                self.add(FlawKind::SameRole, self.at, None, "The message before has the same role.".into());
            }
            _ => {}
        }
        if !message.blocks.iter().any(has_content) {
            self.add(FlawKind::EmptyMessage, self.at, None, "The message is empty.".into());
        }
    }

    fn blocks(&mut self, message: &'a Message) {
        for (index, block) in message.blocks.iter().enumerate() {
            if is_misplaced(block, message.role) {
                self.add(FlawKind::Misplaced, self.at, Some(index), "This role cannot have this block.".into());
            }
            if is_empty(block) {
                self.add(FlawKind::EmptyBlock, self.at, Some(index), "The text is empty.".into());
            }
            if let Some(id) = block.call_id()
                && (self.known.contains(id) || !self.ids.insert(id))
            {
                self.add(FlawKind::SameId, self.at, Some(index), format!("Another call has the id '{id}' already."));
            }
        }
    }

    /// Compares the results of a message with the calls of the one before.
    fn pairing(&mut self, blocks: &[Block], before: Option<&Message>) {
        let calls: Vec<CallRef<'_>> = before.filter(|before| before.role == Role::Assistant).map(calls_of).unwrap_or_default();
        if calls.is_empty() && blocks.iter().all(|block| block.result_id().is_none()) {
            return;
        }
        let mut answers: Vec<Option<usize>> = vec![None; calls.len()];
        for (index, block) in blocks.iter().enumerate() {
            if let Block::Result { id, name, .. } = block {
                self.result(&calls, &mut answers, index, (id, name));
            }
        }
        for (call, answer) in calls.iter().zip(&answers) {
            if answer.is_none() {
                self.unanswered(call);
            }
        }
        let in_order = answers.iter().flatten().copied().eq(0..answers.iter().flatten().count());
        if !in_order {
            self.add(FlawKind::Order, self.at, None, "The results are not first and in the order of their calls.".into());
        }
    }

    fn result(&mut self, calls: &[CallRef<'_>], answers: &mut [Option<usize>], index: usize, (id, name): (&str, &str)) {
        let open = |exact: bool| {
            calls.iter().zip(answers.iter()).position(|(call, answer)| answer.is_none() && call.id == id && (!exact || call.name == name))
        };
        match open(true).or_else(|| open(false)) {
            Some(call) => {
                answers[call] = Some(index);
                if calls[call].name != name {
                    let sentence = format!("The result names the tool '{name}', its call '{}'.", calls[call].name);
                    self.add(FlawKind::OtherTool, self.at, Some(index), sentence);
                }
            }
            None if calls.iter().any(|call| call.id == id) => {
                self.add(FlawKind::SecondResult, self.at, Some(index), format!("The call '{id}' has a result already."));
            }
            None => self.add(FlawKind::Orphan, self.at, Some(index), format!("The message before has no call '{id}'.")),
        }
    }

    fn unanswered(&mut self, call: &CallRef<'_>) {
        let (kind, why) = if is_half(call.arguments) {
            (FlawKind::HalfCall, "was truncated before its arguments were complete")
        } else {
            (FlawKind::Unanswered, "has no result")
        };
        self.add(kind, self.at - 1, Some(call.block), format!("The call '{}' of {} {why}.", call.id, call.name));
    }
}

struct CallRef<'a> {
    block: usize,
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

fn calls_of(message: &Message) -> Vec<CallRef<'_>> {
    let blocks = message.blocks.iter().enumerate();
    blocks
        .filter_map(|(block, content)| match content {
            Block::Call { id, name, arguments, .. } => Some(CallRef { block, id, name, arguments }),
            _ => None,
        })
        .collect()
}

/// Whether a block is content for every provider; thinking and signatures are not.
fn has_content(block: &Block) -> bool {
    match block {
        Block::Text { text, .. } => !text.trim().is_empty(),
        Block::Thinking { .. } => false,
        Block::Image { .. } | Block::Call { .. } | Block::Result { .. } => true,
    }
}

/// Whether a text is empty and has no opaque data.
fn is_empty(block: &Block) -> bool {
    match block {
        Block::Text { text, opaque } | Block::Thinking { text, opaque } => opaque.is_none() && text.trim().is_empty(),
        Block::Image { .. } | Block::Call { .. } | Block::Result { .. } => false,
    }
}

fn is_misplaced(block: &Block, role: Role) -> bool {
    match block {
        Block::Text { .. } => false,
        Block::Call { .. } | Block::Thinking { .. } => role == Role::User,
        Block::Result { .. } | Block::Image { .. } => role == Role::Assistant,
    }
}

/// Whether the arguments are incomplete.
fn is_half(arguments: &str) -> bool {
    !arguments.trim().is_empty() && serde_json::from_str::<Map<String, Value>>(arguments).is_err()
}
