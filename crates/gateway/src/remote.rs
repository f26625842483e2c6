//! Turns that other processes run: a server gives them away, and shows what it is told of them.

mod shown;

use haft_agent::{TurnEnd, TurnEventRecord};
use haft_contract::ports::ApprovalAnswer;
use haft_contract::{Access, BoxFuture};
use haft_provider::Block;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::shown::{RemoteCanvas, RemoteCanvasAnswer, RemoteScreenAnswer, RemoteScreenAsk, RemoteView};

/// A turn to be run elsewhere.
#[derive(Debug, Clone)]
pub struct RemoteTurn {
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// The level that the user chose for it.
    pub access: Option<Access>,
    /// What the user wrote.
    pub text: String,
    /// Files that come with it.
    pub blocks: Vec<Block>,
    /// The model that the user chose.
    pub model: Option<String>,
    /// How many messages the session had.
    pub messages: u64,
    /// Whether it answers what was said to the turn before and came too late for that: the text is what pages show.
    pub answers_said: bool,
}

/// Runs turns in other processes.
pub trait RemoteTurns: Send + Sync {
    /// Runs a turn to its end; the error says why there is none.
    fn run<'a>(&'a self, turn: RemoteTurn, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<TurnEnd, String>>;
    /// Tells the process that runs a turn of a session, whichever it is.
    fn tell(&self, session: &str, message: RemoteMessage);
    /// The same, and waits for its answer; `None` if there is none.
    fn ask<'a>(&'a self, session: &'a str, message: RemoteMessage) -> BoxFuture<'a, Option<Value>>;
    /// Tells every server that a session is new, or that what lists show of it has changed.
    fn announce(&self, session: &str);
    /// Stores what the user says to the model of a turn until the conversation has it, and tells the process that runs the turn.
    fn say<'a>(&'a self, session: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), String>>;
    /// What was said to a session and is not in the conversation yet.
    fn unheard<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<String>, String>>;
}

/// What a server tells the process that runs a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemoteMessage {
    /// The user wants the turn to end.
    Cancel,
    /// The user has said something to the model, which is stored.
    Said,
    /// The user says this to the model meanwhile; a server of an older version does not store it.
    Say {
        /// The text.
        text: String,
    },
    /// The user has answered a question.
    Answer {
        /// The question.
        id: String,
        /// Its hash, as the user saw it.
        fingerprint: String,
        /// The answer.
        answer: RemoteAnswer,
        /// Who answered.
        by: String,
    },
    /// What became of what the model does with the canvas.
    Canvas {
        /// Of which command.
        request: String,
        /// What.
        answer: RemoteCanvasAnswer,
    },
    /// A page asks this of the browser; the process that has it answers.
    Screen {
        /// What.
        ask: RemoteScreenAsk,
    },
}

/// An answer as it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemoteAnswer {
    /// Yes, this once.
    Once,
    /// Yes, for the session.
    Session,
    /// Yes, for good.
    Always,
    /// Yes, for good, at this width.
    AlwaysAs {
        /// Its index.
        width: usize,
    },
    /// Yes, for good, by these rules of the user.
    AlwaysBy {
        /// As they were written.
        rules: Vec<String>,
    },
    /// With other arguments.
    Edit {
        /// The arguments.
        arguments: Value,
    },
    /// No.
    Deny {
        /// For the model.
        comment: Option<String>,
    },
}

impl From<ApprovalAnswer> for RemoteAnswer {
    fn from(answer: ApprovalAnswer) -> Self {
        match answer {
            ApprovalAnswer::Once => Self::Once,
            ApprovalAnswer::Session => Self::Session,
            ApprovalAnswer::Always => Self::Always,
            ApprovalAnswer::AlwaysAs(width) => Self::AlwaysAs { width },
            ApprovalAnswer::AlwaysBy(rules) => Self::AlwaysBy { rules },
            ApprovalAnswer::Edit(arguments) => Self::Edit { arguments },
            ApprovalAnswer::Deny { comment } => Self::Deny { comment },
            // One that this version cannot send allows nothing.
            _ => Self::Deny { comment: None },
        }
    }
}

impl From<RemoteAnswer> for ApprovalAnswer {
    fn from(answer: RemoteAnswer) -> Self {
        match answer {
            RemoteAnswer::Once => Self::Once,
            RemoteAnswer::Session => Self::Session,
            RemoteAnswer::Always => Self::Always,
            RemoteAnswer::AlwaysAs { width } => Self::AlwaysAs(width),
            RemoteAnswer::AlwaysBy { rules } => Self::AlwaysBy(rules),
            RemoteAnswer::Edit { arguments } => Self::Edit(arguments),
            RemoteAnswer::Deny { comment } => Self::Deny { comment },
        }
    }
}

/// What every server is told of a turn that runs elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemoteEvent {
    /// It begins with this message of the user.
    Begin {
        /// The agent of the session.
        agent: String,
        /// The message, as it is shown.
        text: String,
        /// How many messages the session had.
        messages: u64,
    },
    /// Something happens in it.
    Event {
        /// What.
        event: TurnEventRecord,
    },
    /// The user is asked.
    Question {
        /// The question, as pages get it.
        view: Value,
    },
    /// A question was answered, or nobody waits for it any more.
    QuestionClosed {
        /// Which.
        id: String,
        /// The answer.
        answer: String,
        /// Who answered.
        by: String,
    },
    /// The model does this with the canvas.
    Canvas {
        /// A name of it that no other command has.
        request: String,
        /// What.
        command: RemoteCanvas,
    },
    /// It has a browser, or has it no longer.
    Browser {
        /// Whether it has.
        runs: bool,
    },
    /// It is over, and the store has all of it.
    Over,
    /// The session is new, or what lists show of it has changed; no turn of it needs to run.
    Changed,
}
