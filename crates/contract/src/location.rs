//! Where a path leads.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Where a path lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Zone {
    /// In the workspace, or in another root the person made writable.
    Workspace,
    /// In a root that may only be read, such as Haft's own spill files.
    ReadOnlyRoot,
    /// Anywhere else.
    Outside,
}

/// A way in which a path was spelled before it led where it leads: without `.` and `..`, and with its links not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spelled {
    /// From the top of the machine.
    pub absolute: PathBuf,
    /// From the workspace, if it lies there by its spelling.
    pub in_workspace: Option<String>,
}

/// A path after resolution: what is judged here is what is opened later.
///
/// Only a [`FileSystem`](crate::FileSystem) makes one. Its handle binds it to the root it was resolved beneath, and
/// opening it follows no symbolic link, so nothing that happens in between can lead elsewhere. Nothing in it can be
/// changed, but that more is refused; and a file system accepts only what it made itself.
#[derive(Clone)]
pub struct Location {
    requested: PathBuf,
    path: PathBuf,
    display: String,
    zone: Zone,
    spellings: Vec<Spelled>,
    no_write: Option<Cow<'static, str>>,
    no_read: Option<Cow<'static, str>>,
    handle: Arc<dyn Any + Send + Sync>,
}

impl Location {
    /// A location; for implementors of [`FileSystem`](crate::FileSystem).
    pub fn new(requested: PathBuf, path: PathBuf, display: String, zone: Zone, handle: Arc<dyn Any + Send + Sync>) -> Self {
        Self { requested, path, display, zone, spellings: Vec::new(), no_write: None, no_read: None, handle }
    }
    /// Adds a way in which it was spelled: as it was asked for, and once more for every link on the way. One that is the
    /// place itself says nothing new.
    pub fn spelled(mut self, absolute: PathBuf, in_workspace: Option<String>) -> Self {
        let spelled = Spelled { absolute, in_workspace };
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

    /// The path as it was asked for.
    pub fn requested(&self) -> &Path {
        &self.requested
    }
    /// Absolute, with every symbolic link and `..` resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// How it was spelled, where that is not where it leads: a rule that forbids a link's name must find it.
    pub fn spellings(&self) -> &[Spelled] {
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
    /// The host's own: the open root and the way beneath it. Only lent, so that no other location can be made with it.
    pub fn handle(&self) -> &(dyn Any + Send + Sync) {
        &*self.handle
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Location").field("path", &self.path).field("zone", &self.zone).finish_non_exhaustive()
    }
}

/// The path without `.` and `..`, by its letters alone; above the top there is only the top.
pub fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_add_up_and_the_place_itself_is_none() {
        let at = |path: &str, inside: Option<&str>| (PathBuf::from(path), inside.map(str::to_owned));
        let mut location = Location::new("current/a".into(), "/ws/5/a".into(), "5/a".into(), Zone::Workspace, Arc::new(()));
        for (absolute, inside) in
            [at("/ws/current/a", Some("current/a")), at("/ws/5/a", Some("5/a")), at("/ws/current/a", Some("current/a")), at("/x/a", None)]
        {
            location = location.spelled(absolute, inside);
        }
        let spelled = |(absolute, in_workspace)| Spelled { absolute, in_workspace };
        assert_eq!(location.spellings(), [at("/ws/current/a", Some("current/a")), at("/x/a", None)].map(spelled));
    }

    #[test]
    fn paths_are_followed_by_their_letters() {
        for (path, clean) in
            [("/w/a/../../etc", "/etc"), ("/w/./a/../b", "/w/b"), ("/w/a/../../../..", "/"), ("a/./b/../c", "a/c"), ("..", "")]
        {
            assert_eq!(lexical(Path::new(path)), Path::new(clean), "{path}");
        }
    }

    #[test]
    fn refusals_only_add_up() {
        let free = Location::new("a".into(), "/ws/a".into(), "a".into(), Zone::Workspace, Arc::new(()));
        assert_eq!((free.no_read(), free.no_write()), (None, None));
        let refused = free.refuse_read("a key").refuse_write("git's own").refuse_read("").refuse_write("");
        assert_eq!((refused.no_read(), refused.no_write()), (Some("a key"), Some("git's own")));
    }
}
