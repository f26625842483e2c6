//! Staged changes: file changes of a command that are held in an overlay until they are reviewed and committed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::settings::named_enum;
use crate::{BoxFuture, NetworkDecision, ToolError, ports::PreImage};

named_enum! {
    /// How file changes made by a command are applied, loosest first.
    #[derive(Default)]
    ChangeMode {
        /// Directly to the real files.
        #[default]
        Direct = "direct",
        /// Staged, and applied when the command has ended, so that they can be undone.
        Staged = "staged" | "undo",
        /// Staged until they are committed.
        Review = "review",
    }
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content, its type or its permissions differ.
    Changed,
    /// It is gone.
    Deleted,
}

/// The type of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// An ordinary file.
    File,
    /// A symbolic link; it is not followed.
    Link,
    /// A directory.
    Directory,
    /// A pipe, device or socket: reported, and never created.
    Special,
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Absolute.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Its type now; its former type if it was deleted.
    pub entry: EntryKind,
    /// Bytes of its content now; its former size if it was deleted.
    pub size: u64,
    /// Its permission bits now.
    pub mode: Option<u32>,
    /// Its permission bits before, if they differ.
    pub mode_before: Option<u32>,
    /// The target of a link.
    #[serde(with = "any_target")]
    pub target: Option<PathBuf>,
    /// The state before, as [`FileSystem::state`](crate::ports::FileSystem::state) returns it: the change applies to no other.
    pub before: Option<String>,
    /// Whether its content may not be read by tools.
    pub hidden: bool,
    /// Whether it is part of a repository that the command made, out of which everything was taken that Git runs or trusts.
    #[serde(default)]
    pub is_checked: bool,
}

impl FileChange {
    /// Whether a commit applies it.
    pub fn applies(&self) -> bool {
        self.entry != EntryKind::Special
    }

    /// The `.git` of the checked repository that it is part of.
    pub fn checked_repository(&self) -> Option<&Path> {
        self.path.ancestors().filter(|_| self.is_checked).find(|path| path.ends_with(".git"))
    }
}

/// The changes of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// Its name.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// The folder that it belongs to.
    #[serde(with = "any_path")]
    pub workspace: PathBuf,
    /// The command that made them.
    pub command: String,
    /// When.
    pub made: SystemTime,
    /// Every path that differs, sorted.
    pub changes: Vec<FileChange>,
    /// Why it cannot be committed, if so.
    pub refused: Option<String>,
}

impl ChangeSet {
    /// A path for display: relative to the workspace where it lies in it.
    pub fn display<'a>(&self, change: &'a FileChange) -> std::borrow::Cow<'a, str> {
        change.path.strip_prefix(&self.workspace).unwrap_or(&change.path).to_string_lossy()
    }
    /// How many were created, changed and deleted.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |kind| self.changes.iter().filter(|change| change.kind == kind).count();
        (count(ChangeKind::Created), count(ChangeKind::Changed), count(ChangeKind::Deleted))
    }
}

/// A changed file that other programs run on their own, such as a build script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trigger {
    /// Relative to the workspace.
    pub path: String,
    /// Which program runs it, and when.
    pub why: &'static str,
}

/// What a run has changed, known when it has ended.
#[derive(Debug, Clone, Default)]
pub struct RunEffects {
    /// Its staged changes, or why they are lost; `None` if changes were not staged.
    pub changes: Option<Result<Arc<ChangeSet>, String>>,
    /// What became of them, if they were applied at the end of a job; `None` if that is left to the call.
    pub applied: Option<Result<Arc<AppliedChanges>, String>>,
    /// Files that it changed and that other programs run on their own.
    pub triggers: Vec<Trigger>,
    /// Its connections through the proxy, each host and port once for each verdict.
    pub network: Vec<NetworkDecision>,
    /// What became of its changes to repositories; `None` if those could not be changed.
    pub git: Option<GitReport>,
    /// Protected names that it wrote, and that were taken back.
    pub refused: Vec<RefusedChange>,
    /// Sentences for the model.
    pub notes: Vec<String>,
    /// Its direct changes, if a checkpoint was taken before it.
    pub direct: Option<DirectChanges>,
}

/// A change of a command that was not applied, or was taken back: a protected file, or what Git runs or trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedChange {
    /// Absolute.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// Why, as the end of a sentence.
    pub why: String,
    /// The id under which its content is in quarantine; `None` if there is none, as for a deletion.
    pub quarantined: Option<String>,
}

/// What became of the changes to repositories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitReport {
    /// How many files were applied.
    pub applied: usize,
    /// The Git folders whose branches, tags or HEAD changed. Undo does not cover that.
    pub moved: Vec<PathBuf>,
    /// What was not, and why.
    pub refused: Vec<RefusedChange>,
    /// Settings that were applied, and send what the user pushes or fetches later elsewhere than before: their file, and
    /// `remote.origin.url = https://example.org/x.git`.
    pub redirected: Vec<(PathBuf, String)>,
    /// Files that another program changed while the command ran. Of a repository with one of them, only objects and settings were
    /// applied, unless it is a file of its own such as `FETCH_HEAD`.
    pub conflicts: Vec<PathBuf>,
}

impl GitReport {
    /// Adds what became of another repository.
    pub fn add(&mut self, other: Self) {
        self.applied += other.applied;
        self.moved.extend(other.moved);
        self.refused.extend(other.refused);
        self.redirected.extend(other.redirected);
        self.conflicts.extend(other.conflicts);
    }
}

/// An entry that was moved to quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineRecord {
    /// Its name in quarantine.
    pub id: String,
    /// Where it was, or would have been.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// Its type.
    pub entry: EntryKind,
    /// Its permission bits.
    pub mode: u32,
    /// Bytes of a file's content.
    pub size: u64,
    /// Why it is here, as the end of a sentence.
    pub why: String,
    /// The session of the command.
    pub session: String,
    /// The id of the call.
    pub call: Option<String>,
    /// The command that wrote it.
    pub command: String,
    /// When.
    pub made: SystemTime,
}

/// The changes that a command made directly, found by comparing the files before and after it.
#[derive(Debug, Clone)]
pub struct DirectChanges {
    /// The folder that it belongs to.
    pub workspace: PathBuf,
    /// Every path that differs, sorted.
    pub changes: Vec<FileChange>,
    /// What undo does not cover, each in a few words.
    pub uncovered: Vec<String>,
    /// Why the changes cannot be undone, if so.
    pub undo: Result<(), String>,
}

/// One side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeSide {
    /// The real file.
    Before,
    /// The staged file.
    After,
}

/// The staged change sets of a host.
///
/// A port with one implementor: the crate that stages changes depends on this one, not the other way round, and dry runs of other
/// tools will implement it again.
pub trait ChangeSets: Send + Sync {
    /// A set by its name, if it belongs to this workspace and was not committed yet.
    fn find(&self, id: &str) -> Result<Arc<ChangeSet>, ToolError>;
    /// All sets of this workspace that were not committed yet, the newest first.
    fn list(&self) -> Vec<Arc<ChangeSet>>;
    /// The first bytes of a file in a set.
    fn content<'a>(&'a self, set: &'a ChangeSet, change: usize, side: ChangeSide, most: usize)
    -> BoxFuture<'a, Result<Vec<u8>, ToolError>>;
    /// Locks a set of this session for its one commit.
    fn claim(&self, session: &str, id: &str) -> Result<ClaimedChanges, ToolError>;
    /// Puts these repositories of a claimed set in their places, each whole; those that could not be, with the reason.
    fn place<'a>(&'a self, set: &'a ChangeSet, repositories: &'a [PathBuf]) -> BoxFuture<'a, Vec<(PathBuf, String)>>;
    /// Removes a claimed set that was committed.
    fn remove<'a>(&'a self, set: &'a ChangeSet) -> BoxFuture<'a, ()>;
    /// Keeps these changes of a claimed set, by their index, for a later commit; the others were committed.
    fn retain<'a>(&'a self, set: &'a ChangeSet, changes: &'a [usize]) -> BoxFuture<'a, ()>;
}

/// What became of a change set that was applied path by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedChanges {
    /// The whole set.
    pub set: ChangeSet,
    /// The changes that a rule did not let through, by their index, with the reason. They stay staged.
    pub refused: Vec<(usize, String)>,
    /// The repositories that could not be put in their places, with the reason.
    pub misplaced: Vec<(PathBuf, String)>,
}

/// A change set that is being committed. Dropped before [`ChangeSets::remove`], it can be claimed again.
pub struct ClaimedChanges {
    /// The set.
    pub set: ChangeSet,
    /// The steps of the commit, in order: the index of a change, and the entry to put in place, with [`after`](PreImage::after) as
    /// the state that must be there now.
    pub steps: Vec<(usize, PreImage)>,
    /// Where each entry of the set is staged, in their order.
    pub staged: Vec<PathBuf>,
    /// Keeps other commits out until it is dropped.
    pub lock: Box<dyn Send + Sync>,
}

crate::opaque_debug!(ClaimedChanges: set = set.id);

/// A path, which need not be valid UTF-8.
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
