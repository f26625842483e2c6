//! The neutral conversation that every adapter encodes.

mod flat;

use haft_contract::{Content, ToolResult};
use haft_text::base64;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::flat::{FlatBlock, FlatPart};
use crate::Protocol;

/// Role of a message. The system prompt is not part of the conversation; tool results have the role of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, and tool results.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Role of the author.
    pub role: Role,
    /// Content, in order.
    #[serde(deserialize_with = "flat::short_list")]
    pub blocks: Vec<Block>,
}

impl Message {
    /// A text of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::text(text)] }
    }
    /// An answer of the model.
    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self { role: Role::Assistant, blocks }
    }
    /// Tool results, in the order of their calls.
    pub fn results(blocks: Vec<Block>) -> Self {
        Self { role: Role::User, blocks }
    }
}

/// Data that a provider wants back verbatim: signatures, encrypted reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// Its protocol.
    pub protocol: Protocol,
    /// Its provider; it is sent to no other.
    pub provider: String,
    /// The value, verbatim.
    pub value: Value,
}

/// One content block of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "FlatBlock")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Data to send back with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// Reasoning of the model; the text may be empty if only the opaque data counts.
    Thinking {
        /// The text that may be displayed.
        text: String,
        /// Data to send back with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// An image from the user.
    Image {
        /// MIME type, such as `image/png`.
        mime: String,
        /// The bytes in base64.
        data: String,
    },
    /// A tool call of the model.
    Call {
        /// The provider's id, or a generated one.
        id: String,
        /// Name of the tool, translated back from the wire.
        name: String,
        /// Arguments as received: text that should be a JSON object, and may not be. Empty means none.
        arguments: String,
        /// Data to send back with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// The result of one call.
    Result {
        /// Id of the call.
        id: String,
        /// Name of the tool, as in the call.
        name: String,
        /// Content for the model.
        content: Vec<ResultPart>,
        /// Whether it failed.
        is_error: bool,
    },
}

impl Block {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), opaque: None }
    }
    /// The result of a call, as the model gets it. The name is the one that the call used.
    pub fn result(name: impl Into<String>, result: &ToolResult) -> Self {
        let mut content = vec![ResultPart::Text { text: result.to_json() }];
        if let Ok(output) = &result.outcome {
            content.extend(output.content.iter().filter_map(|content| match content {
                Content::Image { mime, data } => Some(ResultPart::Image { mime: mime.clone(), data: base64::encode(data) }),
                _ => None,
            }));
        }
        Self::Result { id: result.call_id.clone(), name: name.into(), content, is_error: !result.is_success() }
    }
    /// The id, if it is a call.
    pub fn call_id(&self) -> Option<&str> {
        if let Self::Call { id, .. } = self { Some(id) } else { None }
    }
    /// The id of the call, if it is a result.
    pub fn result_id(&self) -> Option<&str> {
        if let Self::Result { id, .. } = self { Some(id) } else { None }
    }
}

/// One part of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "FlatPart")]
#[non_exhaustive]
pub enum ResultPart {
    /// Text: the result as JSON.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// MIME type, such as `image/png`.
        mime: String,
        /// The bytes in base64.
        data: String,
    },
}
