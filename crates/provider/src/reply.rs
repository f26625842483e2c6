//! What a model answers, piece by piece and whole.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::Block;

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It is done.
    EndTurn,
    /// It waits for results.
    ToolCalls,
    /// Its answer was cut: a call that is not complete must not run.
    MaxTokens,
    /// It, or a filter, refused.
    Refused,
    /// It paused; the conversation goes on as it is.
    Paused,
    /// Something else, in the provider's words.
    Other(String),
}

/// What an answer cost in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// What was sent, cached or not.
    pub input: u64,
    /// What came back, reasoning included.
    pub output: u64,
    /// How much of the input was read from a cache.
    pub cached: u64,
    /// How much of the input was written to a cache.
    pub cache_writes: u64,
    /// How much of the output was reasoning.
    pub reasoning: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
        self.cache_writes += other.cache_writes;
        self.reasoning += other.reasoning;
    }
}

/// Something that arrived.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// Text for the person.
    Text(String),
    /// What the model thinks aloud.
    Thinking(String),
    /// A call has begun; its arguments follow.
    CallBegun {
        /// Its place among the calls of this answer.
        index: usize,
        /// The tool, translated back from the wire.
        name: String,
    },
    /// A call is complete, and may run.
    CallReady {
        /// Its place among the calls of this answer.
        index: usize,
        /// The whole call: always a [`Block::Call`].
        call: Block,
    },
    /// What it has cost so far; the last one counts.
    Usage(Usage),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What the model said, in order. Calls that were cut are not in it.
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
}

impl Reply {
    /// A reply; for adapters.
    pub fn new(blocks: Vec<Block>, stop: StopReason, usage: Usage) -> Self {
        Self { blocks, stop, usage }
    }
}
