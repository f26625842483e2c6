//! A conversation, as no provider writes it and every adapter can.

mod flat;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::flat::{FlatBlock, FlatPiece};
use crate::Protocol;

/// Who speaks. What the system says is not part of the conversation, and results of tools belong to the user's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One turn of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What they say, in order.
    pub blocks: Vec<Block>,
}

impl Message {
    /// What a person typed.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::text(text)] }
    }
    /// What a model answered.
    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self { role: Role::Assistant, blocks }
    }
    /// Results of tools, in the order of their calls.
    pub fn results(blocks: Vec<Block>) -> Self {
        Self { role: Role::User, blocks }
    }
}

/// What a provider wants back as it came, and nobody else understands: signatures, encrypted reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The protocol it belongs to.
    pub protocol: Protocol,
    /// The provider it came from: to any other it is not sent.
    pub provider: String,
    /// The value, verbatim.
    pub value: Value,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "FlatBlock")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What came with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// What the model thought aloud; the text may be empty where only the opaque part counts.
    Thinking {
        /// The text that may be shown.
        text: String,
        /// What must be sent back with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A picture from the person.
    Image {
        /// `image/png` and the like.
        mime: String,
        /// The bytes in base64, as every provider sends them.
        data: String,
    },
    /// The model asks for a tool.
    Call {
        /// The provider's id, or one that was made where it gave none.
        id: String,
        /// The tool by the name that was shown, translated back from the wire.
        name: String,
        /// The arguments as they came: text that should hold a JSON object, and may not. Empty means none.
        arguments: String,
        /// What came with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// The one result of one call.
    Result {
        /// The id of the call.
        id: String,
        /// The tool, as in the call.
        name: String,
        /// What the model gets.
        content: Vec<Piece>,
        /// Whether it failed.
        is_error: bool,
    },
}

impl Block {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), opaque: None }
    }
    /// The id, if it is a call.
    pub fn call_id(&self) -> Option<&str> {
        if let Self::Call { id, .. } = self { Some(id) } else { None }
    }
    /// The id of the call that it answers.
    pub fn result_id(&self) -> Option<&str> {
        if let Self::Result { id, .. } = self { Some(id) } else { None }
    }
}

/// A piece of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "FlatPiece")]
#[non_exhaustive]
pub enum Piece {
    /// Text: the JSON envelope of the result.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// `image/png` and the like.
        mime: String,
        /// The bytes in base64.
        data: String,
    },
}
