//! Where a conversation is kept.

use haft_contract::BoxFuture;
use haft_provider::{Block, Message, StopReason, Usage};
use serde::{Deserialize, Serialize};

/// One entry of a session, in the order in which things happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// What the person said.
    User {
        /// Their message.
        message: Message,
    },
    /// A call is about to run, while its answer is still arriving: should the process end here, it is known that it may have
    /// had an effect. The answer that follows holds it too.
    Begun {
        /// Always a [`Block::Call`].
        call: Block,
    },
    /// What the model answered.
    Assistant {
        /// Its message.
        message: Message,
        /// Which one: provider/model.
        model: String,
        /// Why it stopped.
        stop: StopReason,
        /// What it cost.
        usage: Usage,
    },
    /// The results of its calls, and what the person said meanwhile.
    Results {
        /// The message.
        message: Message,
    },
    /// The conversation grew too long: from here on it begins with this message, and the last ones before it follow.
    Summary {
        /// What stands for all that was left out.
        message: Message,
        /// How many of the messages before this entry still belong to the conversation.
        kept: usize,
    },
}

/// An entry that is a message and no more.
#[derive(Deserialize)]
struct Alone {
    message: Message,
}

/// The rest of an [`Entry::Assistant`].
#[derive(Deserialize)]
struct Answered {
    message: Message,
    model: String,
    stop: StopReason,
    usage: Usage,
}

impl Entry {
    /// Reads an entry of a known kind. Nothing, if this version does not know it. The kind is known beforehand so that the
    /// body is read once: looking for it first takes as long again, which a session of 10,000 messages feels.
    pub fn read(kind: &str, body: &str) -> Option<Self> {
        let alone = || serde_json::from_str::<Alone>(body).ok().map(|Alone { message }| message);
        match kind {
            "user" => alone().map(|message| Self::User { message }),
            "results" => alone().map(|message| Self::Results { message }),
            "assistant" => {
                let Answered { message, model, stop, usage } = serde_json::from_str(body).ok()?;
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
            Self::Summary { .. } => "summary",
        }
    }
}

/// Keeps entries. What it was given is durable when it returns: nothing else happens before.
pub trait Ledger: Send + Sync {
    /// Keeps one entry; says why it could not, in words for a person.
    fn keep<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), String>>;
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgetful;

impl Ledger for Forgetful {
    fn keep<'a>(&'a self, _: &'a Entry) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Block {
        Block::Call { id: id.into(), name: "noop".into(), arguments: String::new(), opaque: None }
    }

    fn assistant(blocks: Vec<Block>) -> Entry {
        let message = Message::assistant(blocks);
        Entry::Assistant { message, model: "a/b".into(), stop: StopReason::ToolCalls, usage: Usage::default() }
    }

    #[test]
    fn entries_survive_json() {
        for entry in [
            Entry::User { message: Message::user("hi") },
            Entry::Begun { call: call("1") },
            assistant(vec![call("1")]),
            Entry::Results { message: Message::user("so") },
            Entry::Summary { message: Message::user("all"), kept: 3 },
        ] {
            let text = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry, "{text}");
            assert_eq!(Entry::read(entry.kind(), &text).as_ref(), Some(&entry), "{text}");
        }
    }
}
