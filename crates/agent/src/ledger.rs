//! The ledger: the durable record of a conversation.
//!
//! An entry is written before what it announces: a call is stored as begun before it runs, so that a process that dies in it leaves
//! a record that it may have had an effect, and the usage of an answer before the next is requested, so a budget holds across
//! processes. Compaction deletes nothing: a summary is one more entry, with the number of messages that follow it.

use haft_contract::BoxFuture;
use haft_provider::{Block, Message, StopReason, Usage};
use serde::{Deserialize, Serialize};

use crate::carried::CarriedState;

/// One entry of a session, in the order in which things happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LedgerEntry {
    /// A message of the user.
    User {
        /// The message.
        message: Message,
    },
    /// A call is about to run, while its answer is still arriving: if the process ends here, the call may have had an effect.
    /// The answer that follows contains it too.
    Begun {
        /// Always a [`Block::Call`].
        call: Block,
    },
    /// An answer of the model.
    Assistant {
        /// The message.
        message: Message,
        /// The model, as provider/model.
        model: String,
        /// Why it stopped.
        stop: StopReason,
        /// Its token usage.
        usage: Usage,
    },
    /// The results of its calls, and messages of the user that arrived meanwhile.
    Results {
        /// The message.
        message: Message,
    },
    /// The entry that follows has these messages of the user, which someone else has stored until now. Both are stored together, so each
    /// message is in the conversation once, whatever ends the process.
    Heard {
        /// Their ids.
        messages: Vec<String>,
    },
    /// A compaction: from here on the conversation begins with this message, followed by the last ones before it.
    Summary {
        /// The summary of all that was left out.
        message: Message,
        /// How many of the messages before this entry stay in the conversation.
        kept: usize,
    },
}

/// The body of an entry that is only a message.
#[derive(Deserialize)]
struct MessageBody {
    message: Message,
}

/// The body of an [`LedgerEntry::Assistant`].
#[derive(Deserialize)]
struct AssistantBody {
    message: Message,
    model: String,
    stop: StopReason,
    usage: Usage,
}

impl LedgerEntry {
    /// Reads an entry; `None` if this version does not know its kind. The kind is a parameter so that the body is parsed once:
    /// searching it for the kind first would double the time.
    pub fn read(kind: &str, body: &str) -> Option<Self> {
        let message = || serde_json::from_str::<MessageBody>(body).ok().map(|MessageBody { message }| message);
        match kind {
            "user" => message().map(|message| Self::User { message }),
            "results" => message().map(|message| Self::Results { message }),
            "assistant" => {
                let AssistantBody { message, model, stop, usage } = serde_json::from_str(body).ok()?;
                Some(Self::Assistant { message, model, stop, usage })
            }
            _ => serde_json::from_str(body).ok(),
        }
    }

    /// The name of its kind, for listings.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Begun { .. } => "begun",
            Self::Assistant { .. } => "assistant",
            Self::Results { .. } => "results",
            Self::Heard { .. } => "heard",
            Self::Summary { .. } => "summary",
        }
    }
}

/// Stores entries. An entry is durable when [`keep`](Self::keep) returns; the turn waits for it.
pub trait Ledger: Send + Sync {
    /// Stores one entry; the error is a sentence for the user.
    fn keep<'a>(&'a self, entry: &'a LedgerEntry) -> BoxFuture<'a, Result<(), String>>;
    /// Stores entries together: all of them, or none.
    fn keep_all<'a>(&'a self, entries: &'a [LedgerEntry]) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            for entry in entries {
                self.keep(entry).await?;
            }
            Ok(())
        })
    }
    /// Stores what the session carries over to the process that resumes it, as far as it differs from what is stored.
    fn carry<'a>(&'a self, _now: &'a CarriedState, _stored: &'a CarriedState) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// Stores nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullLedger;

impl Ledger for NullLedger {
    fn keep<'a>(&'a self, _: &'a LedgerEntry) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Block {
        Block::Call { id: id.into(), name: "noop".into(), arguments: String::new(), opaque: None }
    }

    fn assistant(blocks: Vec<Block>) -> LedgerEntry {
        let message = Message::assistant(blocks);
        LedgerEntry::Assistant { message, model: "a/b".into(), stop: StopReason::ToolCalls, usage: Usage::default() }
    }

    #[test]
    fn entries_survive_json() {
        for entry in [
            LedgerEntry::User { message: Message::user("hi") },
            LedgerEntry::Begun { call: call("1") },
            assistant(vec![call("1")]),
            LedgerEntry::Results { message: Message::user("so") },
            LedgerEntry::Heard { messages: vec!["1".into()] },
            LedgerEntry::Summary { message: Message::user("all"), kept: 3 },
        ] {
            let text = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<LedgerEntry>(&text).unwrap(), entry, "{text}");
            assert_eq!(LedgerEntry::read(entry.kind(), &text).as_ref(), Some(&entry), "{text}");
        }
    }
}
