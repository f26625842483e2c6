//! Incremental validation of a growing conversation.

use std::collections::HashSet;

use super::validate_from;
use crate::{Block, Message};

/// The validated prefix of a conversation. Its texts may change; its calls and results must not.
#[derive(Debug, Clone, Default)]
pub struct ValidatedPrefix {
    messages: usize,
    ids: HashSet<String>,
}

impl ValidatedPrefix {
    /// Whether the conversation is valid by [`validate`](super::validate). Only new messages are checked; one that became shorter,
    /// or was invalid the last time, is checked from its beginning.
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
