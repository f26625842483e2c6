//! Port for memory: notes in Markdown files that outlast a conversation, found again by search.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{FileSystem, SessionDirectory};
use crate::settings::named_enum;
use crate::{BoxFuture, Location, ToolError};

named_enum! {
    /// Who wrote a line of memory.
    MemoryAuthor {
        /// The user, or a program that Haft knows nothing of.
        User = "user",
        /// A model, with a call of a conversation.
        Agent = "agent",
    }
}

named_enum! {
    /// Where a hit of a memory search is from.
    MemorySource {
        /// A memory file.
        Memory = "memory",
        /// Another conversation.
        Sessions = "sessions",
    }
}

/// Who wrote a part of memory, as far as the history of calls knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryWriter {
    /// The agent that called; absent if the user wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The record of the call in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whether the conversation had seen untrusted content by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_tainted: bool,
    /// Whether the text was changed by someone else after the call, so that parts of it may not be of the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_mixed: bool,
}

impl MemoryWriter {
    /// Who it is.
    pub const fn author(&self) -> MemoryAuthor {
        if self.session.is_some() { MemoryAuthor::Agent } else { MemoryAuthor::User }
    }
}

/// What to look for in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryQuery {
    /// The question, in any language.
    pub query: String,
    /// At most this many hits.
    pub max_results: usize,
    /// Hits with a lower score, from 0 to 1, are left out.
    pub min_score: f64,
}

/// A part of memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryHit {
    /// The file, as it is named to the model; for a conversation, its id.
    pub path: String,
    /// The first line, counted from 1.
    pub start_line: usize,
    /// The last line.
    pub end_line: usize,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// The text, bounded.
    pub snippet: String,
    /// Where it is from.
    pub source: MemorySource,
    /// When the file was changed last.
    pub modified: Option<SystemTime>,
    /// Who wrote it; where several did, the one that matters most for trust.
    pub writer: MemoryWriter,
}

impl MemoryHit {
    /// `path#L10-L24`.
    pub fn citation(&self) -> String {
        if self.start_line == self.end_line {
            format!("{}#L{}", self.path, self.start_line)
        } else {
            format!("{}#L{}-L{}", self.path, self.start_line, self.end_line)
        }
    }
}

/// The answer of a memory search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryAnswer {
    /// The best first.
    pub hits: Vec<MemoryHit>,
    /// The model of the embeddings that were compared, as `provider/model`; absent where full text alone was searched.
    pub model: Option<String>,
    /// Why embeddings that are configured were not compared.
    pub fallback: Option<String>,
    /// What of memory was not searched, and what was repaired.
    pub warnings: Vec<String>,
    /// How many files were searched.
    pub files: usize,
}

/// Lines of a memory file that one writer wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLines {
    /// The first line, counted from 1.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// Who wrote them.
    pub writer: MemoryWriter,
}

/// What a search may look at.
pub struct MemoryScope<'a> {
    /// The files of the session: what may not be read is not found.
    pub files: &'a dyn FileSystem,
    /// The planned roots of memory.
    pub roots: Vec<Location>,
    /// The conversations that the session sees, if they are searched too.
    pub sessions: Option<&'a dyn SessionDirectory>,
}

crate::opaque_debug!(MemoryScope<'_>);

/// The memory of a workspace.
pub trait MemoryIndex: Send + Sync {
    /// The files and folders of memory: relative to the workspace, or absolute where the user's configuration adds one.
    fn roots(&self) -> &[PathBuf];
    /// Whether conversations are searched too.
    fn searches_sessions(&self) -> bool;
    /// Searches. The index is brought up to date first: a change of a file is found by the next search.
    fn search<'a>(&'a self, query: MemoryQuery, scope: MemoryScope<'a>) -> BoxFuture<'a, Result<MemoryAnswer, ToolError>>;
    /// Who wrote the lines of a memory file, whose whole content is given; in order, without gaps.
    fn writers<'a>(&'a self, at: &'a Location, content: &'a [u8]) -> BoxFuture<'a, Result<Vec<MemoryLines>, ToolError>>;
}
