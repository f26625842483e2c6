//! What a conversation must be before it is sent, and how one that was interrupted becomes such again.
//!
//! Every provider refuses a whole request for one call without its result, so this is checked and mended once, on the neutral
//! conversation, before any adapter sees it.

mod checked;
mod repair;
mod size;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value};

pub use checked::Checked;
pub use repair::repair;
pub use size::size;

use crate::{Block, Message, Role};

/// What is wrong at one place of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flaw {
    /// What kind of wrong.
    pub kind: FlawKind,
    /// Which message, counted from 0.
    pub message: usize,
    /// Which block of it, counted from 0; none where it is the message as a whole.
    pub block: Option<usize>,
    /// One sentence for a person.
    pub sentence: String,
}

/// The kinds of flaws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlawKind {
    /// The conversation does not begin with the user.
    Beginning,
    /// Two messages of one side in a row.
    SameRole,
    /// A message that says nothing.
    EmptyMessage,
    /// A text without text.
    EmptyBlock,
    /// A block that this side cannot say: a call by the user, a result or a picture by the model.
    Misplaced,
    /// A call without a result.
    Unanswered,
    /// A call without a result whose arguments are not complete: its stream was cut, so it never ran.
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

/// Everything that is wrong with a conversation; nothing if it may be sent.
pub fn validate(messages: &[Message]) -> Vec<Flaw> {
    validate_from(messages, 0, &HashSet::new())
}

/// What is wrong from a message on, where what stands before it is valid and has calls of these ids.
fn validate_from(messages: &[Message], start: usize, known: &HashSet<String>) -> Vec<Flaw> {
    let ids = HashSet::with_capacity(messages.len() - start);
    let mut check = Check { at: start, known, ids, flaws: Vec::new() };
    let mut before: Option<&Message> = messages[..start].last();
    for (index, message) in messages.iter().enumerate().skip(start) {
        check.at = index;
        check.place(message, before);
        check.blocks(message);
        check.pairing(&message.blocks, before);
        before = Some(message);
    }
    check.at = messages.len();
    check.pairing(&[], before);
    check.flaws
}

struct Check<'a> {
    at: usize,
    known: &'a HashSet<String>,
    ids: HashSet<&'a str>,
    flaws: Vec<Flaw>,
}

impl<'a> Check<'a> {
    fn add(&mut self, kind: FlawKind, message: usize, block: Option<usize>, sentence: String) {
        self.flaws.push(Flaw { kind, message, block, sentence });
    }

    fn place(&mut self, message: &Message, before: Option<&Message>) {
        match before {
            None if message.role == Role::Assistant => {
                self.add(FlawKind::Beginning, self.at, None, "The conversation begins with the model.".into());
            }
            Some(before) if before.role == message.role => {
                self.add(FlawKind::SameRole, self.at, None, "The same side spoke in the message before.".into());
            }
            _ => {}
        }
        if !message.blocks.iter().any(says_something) {
            self.add(FlawKind::EmptyMessage, self.at, None, "The message says nothing.".into());
        }
    }

    fn blocks(&mut self, message: &'a Message) {
        for (index, block) in message.blocks.iter().enumerate() {
            if is_misplaced(block, message.role) {
                self.add(FlawKind::Misplaced, self.at, Some(index), "This side of the conversation cannot say this.".into());
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
        let calls: Vec<Asked<'_>> = before.filter(|before| before.role == Role::Assistant).map(asked).unwrap_or_default();
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
            self.add(FlawKind::Order, self.at, None, "The results do not stand first and in the order of their calls.".into());
        }
    }

    fn result(&mut self, calls: &[Asked<'_>], answers: &mut [Option<usize>], index: usize, (id, name): (&str, &str)) {
        let open = |exact: bool| {
            calls.iter().zip(answers.iter()).position(|(call, answer)| answer.is_none() && call.id == id && (!exact || call.name == name))
        };
        match open(true).or_else(|| open(false)) {
            Some(found) => {
                answers[found] = Some(index);
                if calls[found].name != name {
                    let sentence = format!("The result names the tool '{name}', its call '{}'.", calls[found].name);
                    self.add(FlawKind::OtherTool, self.at, Some(index), sentence);
                }
            }
            None if calls.iter().any(|call| call.id == id) => {
                self.add(FlawKind::SecondResult, self.at, Some(index), format!("The call '{id}' has a result already."));
            }
            None => self.add(FlawKind::Orphan, self.at, Some(index), format!("No call '{id}' stands in the message before.")),
        }
    }

    fn unanswered(&mut self, call: &Asked<'_>) {
        let (kind, why) = if is_half(call.arguments) {
            (FlawKind::HalfCall, "was cut before its arguments were complete")
        } else {
            (FlawKind::Unanswered, "has no result")
        };
        self.add(kind, self.at - 1, Some(call.block), format!("The call '{}' of {} {why}.", call.id, call.name));
    }
}

struct Asked<'a> {
    block: usize,
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

fn asked(message: &Message) -> Vec<Asked<'_>> {
    let blocks = message.blocks.iter().enumerate();
    blocks
        .filter_map(|(block, content)| match content {
            Block::Call { id, name, arguments, .. } => Some(Asked { block, id, name, arguments }),
            _ => None,
        })
        .collect()
}

/// Whether a block alone makes a message worth sending. Thoughts and signatures do not: another provider never gets them.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Text { text, .. } => !text.trim().is_empty(),
        Block::Thinking { .. } => false,
        Block::Image { .. } | Block::Call { .. } | Block::Result { .. } => true,
    }
}

/// A text without text; what its provider wants back with it makes it count.
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

/// Whether the arguments are not what a whole call has.
fn is_half(arguments: &str) -> bool {
    !arguments.trim().is_empty() && serde_json::from_str::<Map<String, Value>>(arguments).is_err()
}
