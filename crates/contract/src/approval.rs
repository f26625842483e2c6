//! Asking a person whether a call may go on.

use serde_json::Value;

use crate::{BoxFuture, CallInfo, Effect};

/// When a person is asked; how much may be done is decided elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum AskMode {
    /// Nobody is asked: what would be asked is refused.
    Never,
    /// Also about what goes beyond the access level.
    Beyond,
    /// About what rules and unknown effects ask.
    #[default]
    Rules,
    /// About every change.
    Changes,
    /// About every call.
    Always,
}

impl AskMode {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Never, Self::Beyond, Self::Rules, Self::Changes, Self::Always];

    /// The word in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Beyond => "beyond",
            Self::Rules => "rules",
            Self::Changes => "changes",
            Self::Always => "always",
        }
    }
}

/// What a person is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the question; an answer that arrives by another way names it.
    pub id: String,
    /// The call.
    pub call: CallInfo,
    /// Its arguments, frozen: what is approved is what runs.
    pub arguments: Value,
    /// What it will do.
    pub effects: Vec<Effect>,
    /// Why it is asked.
    pub reason: String,
    /// Stands for exactly this tool with these arguments and effects; an answer counts for nothing else.
    pub fingerprint: String,
    /// What [`Answer::Session`] and [`Answer::Always`] would allow from then on, or why neither can be answered.
    pub lasting: Result<Vec<String>, String>,
}

impl ApprovalRequest {
    /// For the engine.
    pub fn new(call: CallInfo, arguments: Value, effects: Vec<Effect>, reason: String) -> Self {
        let lasting = Err(String::new());
        Self { id: String::new(), call, arguments, effects, reason, fingerprint: String::new(), lasting }
    }
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, this once.
    Once,
    /// Yes, and the rules of the question hold for the rest of the session.
    Session,
    /// Yes, and the rules of the question are saved in the person's own file.
    Always,
    /// No; the comment is for the model.
    Deny {
        /// What the person says to the model.
        comment: Option<String>,
    },
}

/// Whoever answers an ask: a terminal, a page, a chat, a callback of the embedding program.
pub trait Approver: Send + Sync {
    /// Asks. The engine gives up after its own time limit, and then the answer counts for nothing.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer>;
    /// Whether the engine should ask one question after the other. A page can show several at once, a terminal cannot.
    fn one_at_a_time(&self) -> bool {
        true
    }
}

/// Saves the rules of [`Answer::Always`] where they outlast the session: in the person's own file, never a project's.
pub trait RuleKeeper: Send + Sync {
    /// Saves them; says where, or why not.
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, String>>;
}
