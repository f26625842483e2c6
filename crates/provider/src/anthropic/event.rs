//! The events of a Messages stream. What is not known is ignored: the protocol promises to grow. Pieces of blocks, which are most
//! of a stream, are read without them.

use serde::Deserialize;
use serde_json::Value;

use super::refusal::Said;
use crate::Usage;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Begun,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: End,
        #[serde(default)]
        usage: Option<Counts>,
    },
    Error {
        error: Said,
    },
    #[serde(other)]
    Other,
}

impl Event {
    /// Whether an event of this name can concern us; one without a name says in its data what it is.
    pub(super) fn is_known(name: &str) -> bool {
        let named = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"];
        matches!(name, "" | "message") || named.contains(&name)
    }
}

#[derive(Deserialize)]
pub(super) struct Start {
    #[serde(default)]
    pub(super) usage: Option<Counts>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Begun {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
pub(super) struct End {
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
}

/// Token counts; each is cumulative, and one that is absent has not changed.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<Details>,
}

#[derive(Clone, Deserialize)]
struct Details {
    #[serde(default)]
    thinking_tokens: u64,
}

impl Counts {
    pub(super) fn update(&mut self, new: Self) {
        self.input_tokens = new.input_tokens.or(self.input_tokens);
        self.cache_read_input_tokens = new.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = new.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.output_tokens = new.output_tokens.or(self.output_tokens);
        self.output_tokens_details = new.output_tokens_details.or(self.output_tokens_details.take());
    }

    /// The provider counts what it read from a cache and wrote to it beside the rest of the input.
    pub(super) fn usage(&self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let cache_writes = self.cache_creation_input_tokens.unwrap_or(0);
        let input = self.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(cache_writes);
        let reasoning = self.output_tokens_details.as_ref().map_or(0, |details| details.thinking_tokens);
        Usage { input, output: self.output_tokens.unwrap_or(0), cached, cache_writes, reasoning }
    }
}
