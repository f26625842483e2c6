//! What a line of shell changed while its changes were kept apart from the real files, so that they can be looked at first.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{BoxFuture, PreImage, ToolError};

/// What becomes of what a line changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Changes {
    /// It happens to the real files at once.
    #[default]
    Direct,
    /// It is kept apart, and applied when the line has ended, so that it can be taken back.
    Undo,
    /// It is kept apart until it is committed.
    Review,
}

impl Changes {
    /// All of them, loosest first.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Undo, Self::Review];
    /// The name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Undo => "undo",
            Self::Review => "review",
        }
    }
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeDeed {
    /// It is new.
    Created,
    /// It is another one, or has other permissions.
    Changed,
    /// It is gone.
    Deleted,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// An ordinary file.
    File,
    /// A symbolic link, itself.
    Link,
    /// A directory.
    Directory,
    /// A pipe, device, socket: told of, and never made.
    Special,
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Where, absolute.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// What happened to it.
    pub deed: ChangeDeed,
    /// What it is now; what it was if it is gone.
    pub entry: EntryKind,
    /// Bytes of its content now; those that it had if it is gone.
    pub size: u64,
    /// Its permission bits now.
    pub mode: Option<u32>,
    /// Its permission bits before, where they are others.
    pub mode_before: Option<u32>,
    /// Where a link leads.
    #[serde(with = "any_target")]
    pub target: Option<PathBuf>,
    /// What was there, as [`FileSystem::state`](crate::FileSystem::state) has it: only upon that it can be applied.
    pub before: Option<String>,
    /// Whether its content may not be read.
    pub hidden: bool,
}

impl FileChange {
    /// Whether a commit makes it.
    pub fn applies(&self) -> bool {
        self.entry != EntryKind::Special
    }
}

/// What one line changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// What it is called; whoever knows it may commit it.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// The folder that it belongs to.
    #[serde(with = "any_path")]
    pub workspace: PathBuf,
    /// The line that made it.
    pub line: String,
    /// When.
    pub made: SystemTime,
    /// Every path that differs, by name.
    pub changes: Vec<FileChange>,
    /// Why it cannot be committed, if so.
    pub refused: Option<String>,
}

impl ChangeSet {
    /// A path as people know it: from the workspace, where it lies in it.
    pub fn display<'a>(&self, change: &'a FileChange) -> std::borrow::Cow<'a, str> {
        change.path.strip_prefix(&self.workspace).unwrap_or(&change.path).to_string_lossy()
    }
    /// How many were created, changed and deleted.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |deed| self.changes.iter().filter(|change| change.deed == deed).count();
        (count(ChangeDeed::Created), count(ChangeDeed::Changed), count(ChangeDeed::Deleted))
    }
}

/// A file that other programs run by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trigger {
    /// Which, from the workspace.
    pub path: String,
    /// Who runs it, and when.
    pub why: &'static str,
}

/// What is known of a line when it has ended.
#[derive(Debug, Default)]
pub struct Aftermath {
    /// What it changed, where that was kept apart; or why it is lost.
    pub changes: Option<Result<Arc<ChangeSet>, String>>,
    /// Files that it changed and that other programs run by themselves.
    pub triggers: Vec<Trigger>,
}

/// Which half of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What was there.
    Before,
    /// What is there after.
    After,
}

/// Change sets that wait for a word.
pub trait ChangeSets: Send + Sync {
    /// One by its name, if it is of this workspace and was not committed yet.
    fn find(&self, id: &str) -> Result<Arc<ChangeSet>, ToolError>;
    /// The first bytes of a file in a set.
    fn content<'a>(&'a self, set: &'a ChangeSet, change: usize, side: Side, most: usize) -> BoxFuture<'a, Result<Vec<u8>, ToolError>>;
    /// Takes a set for the one commit that it can have; no other session's.
    fn claim<'a>(&'a self, session: &'a str, id: &'a str) -> BoxFuture<'a, Result<Box<dyn Claim>, ToolError>>;
}

/// A set that is being committed. Dropped without [`done`](Claim::done), it can be committed again.
pub trait Claim: Send + Sync {
    /// What it holds.
    fn set(&self) -> &ChangeSet;
    /// What is to be put in place, in this order: the place of each change in the set, and what is to be there, with
    /// [`after`](PreImage::after) as what must be there now.
    fn steps(&self) -> Vec<(usize, PreImage)>;
    /// It was committed: its content is not needed any more.
    fn done(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Paths need not be text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum AnyPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for AnyPath {
    fn from(path: &Path) -> Self {
        path.to_str().map_or_else(|| Self::Bytes(path.as_os_str().as_encoded_bytes().to_vec()), |text| Self::Text(text.to_owned()))
    }
}

impl From<AnyPath> for PathBuf {
    fn from(path: AnyPath) -> Self {
        match path {
            AnyPath::Text(text) => Self::from(text),
            #[cfg(unix)]
            AnyPath::Bytes(bytes) => Self::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)),
            #[cfg(not(unix))]
            AnyPath::Bytes(bytes) => Self::from(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

mod any_path {
    use super::{AnyPath, Deserialize, Path, PathBuf, Serialize};

    pub(super) fn serialize<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        AnyPath::from(path).serialize(serializer)
    }
    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        AnyPath::deserialize(deserializer).map(Into::into)
    }
}

mod any_target {
    use super::{AnyPath, Deserialize, PathBuf, Serialize};

    #[expect(clippy::ref_option, reason = "serde asks for it")]
    pub(super) fn serialize<S: serde::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(AnyPath::from).serialize(serializer)
    }
    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Option::<AnyPath>::deserialize(deserializer).map(|path| path.map(Into::into))
    }
}
