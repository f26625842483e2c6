//! Port for messages to the user of a conversation.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{BoxFuture, ToolError};

/// How a message to the user is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageLevel {
    /// For information.
    #[default]
    Info,
    /// Something that the user should look at.
    Warning,
    /// Something that the user should answer.
    Question,
}

impl MessageLevel {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Question => "question",
        }
    }
}

/// A file that a message to the user names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is a picture.
    pub is_image: bool,
}

/// A message of the model to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserMessage {
    /// The text.
    pub message: String,
    /// How it is meant.
    pub level: MessageLevel,
    /// Whether the user did not ask for it.
    pub proactive: bool,
    /// Files that belong to it.
    pub attachments: Vec<Attachment>,
}

/// Shows messages to the user of a conversation.
pub trait UserMessages: Send + Sync {
    /// Shows a message now.
    fn show<'a>(&'a self, message: &'a UserMessage) -> BoxFuture<'a, Result<(), ToolError>>;
}
