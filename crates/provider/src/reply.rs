//! The answer of a model: deltas, and the whole reply.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Block;

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// It waits for tool results.
    ToolCalls,
    /// The answer was truncated: an incomplete call must not run.
    MaxTokens,
    /// The model or a filter refused.
    Refused,
    /// It paused; the same conversation continues.
    Paused,
    /// Another reason, in the words of the provider.
    Other(String),
}

/// Token counts of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Input tokens, cached or not.
    pub input: u64,
    /// Output tokens, with reasoning.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
    /// Input tokens written to the cache.
    pub cache_writes: u64,
    /// Output tokens of reasoning.
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

/// A streamed piece of an answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// Text for the user.
    Text(String),
    /// Reasoning text.
    Thinking(String),
    /// A call has begun; its arguments follow.
    CallBegun {
        /// Index among the calls of this answer.
        index: usize,
        /// Name of the tool, translated back from the wire.
        name: String,
    },
    /// A call is complete, and may run.
    CallReady {
        /// Index among the calls of this answer.
        index: usize,
        /// The whole call: always a [`Block::Call`].
        call: Block,
    },
    /// Token counts so far; the last one counts.
    Usage(Usage),
    /// The request failed and is sent again after a delay.
    Retry(Retry),
}

/// A coming retry, reported before the delay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// Number of the retry, from 1.
    pub number: u32,
    /// How many there are at most.
    pub most: u32,
    /// Delay before it.
    pub wait: Duration,
    /// The error of the last attempt.
    pub reason: String,
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, most, wait, reason } = self;
        write!(f, "{reason} Retry {number} of {most} in {:.1} s; Ctrl-C stops it.", wait.as_secs_f64())
    }
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelReply {
    /// Content in order, without truncated calls.
    pub blocks: Vec<Block>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Token counts.
    pub usage: Usage,
}

impl ModelReply {
    /// A reply.
    pub fn new(blocks: Vec<Block>, stop: StopReason, usage: Usage) -> Self {
        Self { blocks, stop, usage }
    }
}

/// A complete answer of a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Completion {
    /// The reply of the model.
    pub reply: ModelReply,
    /// Warnings for the user: tools left out, images not sent.
    pub warnings: Vec<String>,
    /// Number of retries.
    pub retries: u32,
}

impl Completion {
    /// A completion without warnings and retries.
    pub fn new(reply: ModelReply) -> Self {
        Self { reply, warnings: Vec::new(), retries: 0 }
    }
}
