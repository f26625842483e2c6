//! Resolved paths.

use std::any::Any;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The zone of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Zone {
    /// In the workspace, or in another root that the user made writable.
    Workspace,
    /// In a root that may only be read, such as Haft's own spill files.
    ReadOnlyRoot,
    /// Anywhere else.
    Outside,
}

/// A spelling of a path before its links were followed: without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathSpelling {
    /// As an absolute path.
    pub absolute: PathBuf,
    /// Relative to the workspace, if the spelling lies there.
    pub in_workspace: Option<String>,
}

/// What refuses a path or an address, so that advice can name what lifts it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalCause {
    /// An entry of a list of the configuration.
    Listed {
        /// The list.
        key: &'static str,
        /// The entry as it is written there.
        entry: String,
    },
    /// An entry that a list of the configuration has not.
    Missing {
        /// The list.
        key: &'static str,
        /// The entry that it would need.
        entry: String,
    },
    /// The value of a key.
    Setting {
        /// The key.
        key: &'static str,
        /// The value that it would need.
        value: &'static str,
    },
    /// A rule that denies reading, by its pattern for the file system.
    Rule(String),
    /// Something that no setting changes.
    Fixed,
}

/// A path after resolution: the path that is checked is the one that is opened.
///
/// Only a [`FileSystem`](crate::ports::FileSystem) makes one. Its handle binds it to the root it was resolved beneath, and
/// opening it follows no symbolic link, so nothing that happens in between can lead elsewhere. It can only be
/// restricted further, and a file system accepts only locations that it made itself.
#[derive(Clone)]
pub struct Location {
    requested: PathBuf,
    path: PathBuf,
    display: String,
    zone: Zone,
    spellings: Vec<PathSpelling>,
    no_write: Option<Cow<'static, str>>,
    no_read: Option<Cow<'static, str>>,
    no_read_causes: Vec<RefusalCause>,
    folder: Option<PathBuf>,
    handle: Arc<dyn Any + Send + Sync>,
}

impl Location {
    /// A location; for implementors of [`FileSystem`](crate::ports::FileSystem).
    pub fn new(requested: PathBuf, path: PathBuf, display: String, zone: Zone, handle: Arc<dyn Any + Send + Sync>) -> Self {
        Self {
            requested,
            path,
            display,
            zone,
            spellings: Vec::new(),
            no_write: None,
            no_read: None,
            no_read_causes: Vec::new(),
            folder: None,
            handle,
        }
    }
    /// Adds a spelling: the requested one, and one for every link on the way. A spelling equal to the path is ignored.
    pub fn spelled(mut self, absolute: PathBuf, in_workspace: Option<String>) -> Self {
        let spelled = PathSpelling { absolute, in_workspace };
        if spelled.absolute != self.path && !self.spellings.contains(&spelled) {
            self.spellings.push(spelled);
        }
        self
    }
    /// Says why it may never be written; a reason that is there already stays.
    pub fn refuse_write(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.no_write.get_or_insert_with(|| why.into());
        self
    }
    /// Says why it may never be read; a reason that is there already stays.
    pub fn refuse_read(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.no_read.get_or_insert_with(|| why.into());
        self
    }
    /// Says what refuses to read it, for advice.
    pub fn with_read_causes(mut self, causes: Vec<RefusalCause>) -> Self {
        self.no_read_causes = causes;
        self
    }
    /// Names the folder that would have to be a root, for a path outside all roots.
    pub fn in_folder(mut self, folder: PathBuf) -> Self {
        self.folder = Some(folder);
        self
    }

    /// The path as it was asked for.
    pub fn requested(&self) -> &Path {
        &self.requested
    }
    /// Absolute, with every symbolic link and `..` resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Its spellings that differ from the resolved path: a rule that forbids the name of a link must match.
    pub fn spellings(&self) -> &[PathSpelling] {
        &self.spellings
    }
    /// How to name it to people and models: relative to the workspace where it lies in it.
    pub fn display(&self) -> &str {
        &self.display
    }
    /// Where it lies.
    pub fn zone(&self) -> Zone {
        self.zone
    }
    /// Why it may never be written, if so.
    pub fn no_write(&self) -> Option<&str> {
        self.no_write.as_deref()
    }
    /// Why it may never be read, if so.
    pub fn no_read(&self) -> Option<&str> {
        self.no_read.as_deref()
    }
    /// What refuses to read it; none if nothing does, or nothing is known of it.
    pub fn no_read_causes(&self) -> &[RefusalCause] {
        &self.no_read_causes
    }
    /// The folder that would have to be a root, for a path outside all roots.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
    /// The handle of the host: the open root and the path beneath it. Only lent, so that no other location can be made with it.
    pub fn handle(&self) -> &(dyn Any + Send + Sync) {
        &*self.handle
    }
}

crate::opaque_debug!(Location: path = path, zone = zone);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_accumulate_and_the_path_itself_is_none() {
        let at = |path: &str, inside: Option<&str>| (PathBuf::from(path), inside.map(str::to_owned));
        let mut location = Location::new("current/a".into(), "/ws/5/a".into(), "5/a".into(), Zone::Workspace, Arc::new(()));
        for (absolute, inside) in
            [at("/ws/current/a", Some("current/a")), at("/ws/5/a", Some("5/a")), at("/ws/current/a", Some("current/a")), at("/x/a", None)]
        {
            location = location.spelled(absolute, inside);
        }
        let spelled = |(absolute, in_workspace)| PathSpelling { absolute, in_workspace };
        assert_eq!(location.spellings(), [at("/ws/current/a", Some("current/a")), at("/x/a", None)].map(spelled));
    }

    #[test]
    fn refusals_only_add_up() {
        let free = Location::new("a".into(), "/ws/a".into(), "a".into(), Zone::Workspace, Arc::new(()));
        assert_eq!((free.no_read(), free.no_write()), (None, None));
        let refused = free.refuse_read("a key").refuse_write("git's own").refuse_read("").refuse_write("");
        assert_eq!((refused.no_read(), refused.no_write()), (Some("a key"), Some("git's own")));
    }
}
