//! When hooks run, and which way they fail: words that the configuration and the engine share.

use serde::Serialize;

/// When a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// Before a call is permitted: it may be changed, blocked or answered.
    BeforeToolCall,
    /// After a call: nothing of it can be changed any more.
    AfterToolCall,
    /// Before the result is stored: what history keeps of it may be changed.
    ToolResultPersist,
}

impl HookEvent {
    /// All of them, in the order of a call.
    pub const ALL: [Self; 3] = [Self::BeforeToolCall, Self::AfterToolCall, Self::ToolResultPersist];

    /// The word in configuration and on a command's input.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeToolCall => "before_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::ToolResultPersist => "tool_result_persist",
        }
    }
    /// What a hook does when it cannot run, unless it says otherwise: after a call there is nothing left to block.
    pub const fn default_failure(self) -> OnFailure {
        match self {
            Self::BeforeToolCall | Self::ToolResultPersist => OnFailure::Block,
            Self::AfterToolCall => OnFailure::Continue,
        }
    }
}

/// What becomes of a call, or of what is stored of it, when a hook could not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The call is not made; the text is not stored.
    Block,
    /// It goes on as if there were no hook, and whoever watches is told.
    Continue,
}

impl OnFailure {
    /// The word in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Continue => "continue",
        }
    }
}
