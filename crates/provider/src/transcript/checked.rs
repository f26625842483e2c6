//! A conversation that grows is not looked at from its beginning again and again.

use std::collections::HashSet;

use super::validate_from;
use crate::{Block, Message};

/// How far a conversation is known to be valid. What was looked at may change its words, and must keep its calls and results.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    messages: usize,
    ids: HashSet<String>,
}

impl Checked {
    /// Whether the conversation may be sent, as [`validate`](super::validate) says; only what is new of it is looked at. One that
    /// has become shorter, or was not valid the last time, is looked at from its beginning.
    pub fn is_valid(&mut self, messages: &[Message]) -> bool {
        if messages.len() < self.messages {
            *self = Self::default();
        }
        if !validate_from(messages, self.messages, &self.ids).is_empty() {
            *self = Self::default();
            return false;
        }
        let new = messages[self.messages..].iter().flat_map(|message| &message.blocks);
        self.ids.extend(new.filter_map(Block::call_id).map(str::to_owned));
        self.messages = messages.len();
        true
    }
}
