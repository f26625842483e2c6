//! Resolves a path to a location: the handle of a root, and a path beneath it that is free of links.
//!
//! The path is walked name by name from an open directory handle, and every symbolic link is expanded here, not by the kernel, so
//! that each name on the way is checked: a protected name in the middle is enough to refuse. `cached` or `beneath` opens the result
//! later without following any link, so a link that is planted between check and open (TOCTOU) leads to an error, never elsewhere.
//!
//! This is why there is no `cap-std`: it resolves beneath a handle too, but follows links while it opens. The checked path and the
//! opened path would be two resolutions, and a link planted in between could lead the second to another file of the workspace.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_contract::{ErrorKind, ToolError};
use haft_text::paths::lexical;
use rustix::fs::{AtFlags, FileType, readlinkat, statat};
use rustix::io::Errno;

use super::beneath::{DIRECTORY, open_beneath, open_name};
use super::protected::{ProtectedRules, Refusals};
use super::roots::{Root, RootedPath, Roots};
use super::spelling;

/// How many links a path may pass: what the kernel allows.
const MOST_LINKS: usize = 40;

/// What a path means: the handle of a location.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The root and the way beneath it.
    pub(super) place: RootedPath,
    /// The whole path, free of links.
    pub(super) path: PathBuf,
    /// How it was spelled: as it was asked for, and anew at every link.
    pub(super) spellings: Vec<PathBuf>,
    /// What may not be done with it.
    pub(super) refusals: Refusals,
}

/// Resolves a path. What is missing, or beneath a file, is taken as spelled.
pub(super) fn resolve(roots: &Roots, rules: &ProtectedRules, requested: &Path) -> Result<Resolved, ToolError> {
    walked(PathWalk::from_the_workspace(roots, rules, requested)?)
}

/// The same, but no link is followed: the path is the place itself, and cannot be opened while a link is on the way.
pub(super) fn resolve_entry(roots: &Roots, rules: &ProtectedRules, requested: &Path) -> Result<Resolved, ToolError> {
    walked(PathWalk { is_literal: true, ..PathWalk::from_the_workspace(roots, rules, requested)? })
}

/// Where a path leads that the user's settings name. If the kernel finds no link in what is there of it, that is itself: a call for each
/// name that is missing, and one for all others.
pub(super) fn real_path(roots: &Roots, rules: &ProtectedRules, requested: &Path) -> Result<PathBuf, ToolError> {
    if is_free_of_links(roots, requested) { Ok(requested.to_owned()) } else { Ok(resolve(roots, rules, requested)?.path) }
}

fn is_free_of_links(roots: &Roots, path: &Path) -> bool {
    let Ok(names) = path.strip_prefix("/") else { return false };
    let is_plain = names.components().all(|part| matches!(part, Component::Normal(_)));
    let Some(machine) = roots.at(Path::new("/")).filter(|_| is_plain && !names.as_os_str().is_empty()) else { return false };
    let opened = names.ancestors().map(|names| open_beneath(machine, names, DIRECTORY));
    let mut there = opened.skip_while(|opened| matches!(opened, Err(Errno::NOENT)));
    matches!(there.next(), Some(Ok(_)))
}

fn walked(mut walk: PathWalk<'_>) -> Result<Resolved, ToolError> {
    let requested = walk.requested;
    walk.queue(requested)?;
    walk.check(None);
    while let Some(name) = walk.pending.pop() {
        walk.step(name)?;
    }
    if walk.turned {
        walk.check(None);
    }
    Ok(walk.finish())
}

struct PathWalk<'a> {
    roots: &'a Roots,
    rules: &'a ProtectedRules,
    requested: &'a Path,
    root: Arc<Root>,
    /// The names passed beneath the root, free of links.
    names: Vec<OsString>,
    /// Their handles; fewer than names once something is missing or no directory.
    handles: Vec<OwnedFd>,
    /// The names still to pass, the next one last.
    pending: Vec<OsString>,
    links: usize,
    /// Whether links are names like any other.
    is_literal: bool,
    /// Whether a link, a `..` or another root made it other than it was spelled.
    turned: bool,
    spellings: Vec<PathBuf>,
    refusals: Refusals,
}

/// What a name turned out to be.
enum Seen {
    Missing,
    Link(PathBuf),
    Directory(OwnedFd),
    Other,
    Changed,
}

impl<'a> PathWalk<'a> {
    fn from_the_workspace(roots: &'a Roots, rules: &'a ProtectedRules, requested: &'a Path) -> Result<Self, ToolError> {
        let (root, _) = roots.holding(roots.main()).ok_or_else(|| nowhere(roots.main()))?;
        let root = Arc::clone(root);
        let (names, handles, pending, spellings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let refusals = Refusals::default();
        Ok(Self { roots, rules, requested, root, names, handles, pending, links: 0, is_literal: false, turned: false, spellings, refusals })
    }

    /// Puts a path before what is pending; an absolute one starts over from its root.
    fn queue(&mut self, path: &Path) -> Result<(), ToolError> {
        let mut rest = path;
        if path.is_absolute() {
            let (root, beneath) = self.roots.holding(path).ok_or_else(|| nowhere(path))?;
            rest = beneath;
            let root = Arc::clone(root);
            self.enter(root);
        }
        let names = rest.components().filter(|part| !matches!(part, Component::RootDir | Component::CurDir));
        self.pending.extend(names.rev().map(|part| part.as_os_str().to_owned()));
        if self.names.len() + self.pending.len() > spelling::DEEPEST {
            return Err(self.refused(format_args!("leads more than {} names deep", spelling::DEEPEST)));
        }
        Ok(())
    }

    fn step(&mut self, name: OsString) -> Result<(), ToolError> {
        if name == ".." {
            return self.up();
        }
        if let Some(root) = self.roots.at(&self.path_to(&name)) {
            let root = Arc::clone(root);
            self.enter(root);
            return Ok(());
        }
        if self.handles.len() < self.names.len() {
            self.names.push(name);
            return Ok(());
        }
        match look(self.directory(), &name).map_err(|errno| self.failed(errno))? {
            Seen::Link(_) if self.is_literal => {}
            Seen::Link(target) => return self.follow(&name, &target),
            Seen::Changed => return self.again(name),
            Seen::Directory(handle) => self.handles.push(handle),
            // A file in the middle is like nothing at all: what is there is told by opening it, after the policy had its say.
            Seen::Other | Seen::Missing => {}
        }
        self.names.push(name);
        Ok(())
    }

    /// One up; above the root the path continues from the file system root.
    fn up(&mut self) -> Result<(), ToolError> {
        self.turned = true;
        if self.names.pop().is_some() {
            self.handles.truncate(self.names.len());
            return Ok(());
        }
        let above = self.root.path().parent().unwrap_or(Path::new("/")).to_owned();
        let (root, _) = self.roots.holding(Path::new("/")).ok_or_else(|| nowhere(&above))?;
        let root = Arc::clone(root);
        self.enter(root);
        self.queue(above.strip_prefix("/").unwrap_or(&above))
    }

    fn follow(&mut self, name: &OsStr, target: &Path) -> Result<(), ToolError> {
        self.turned = true;
        self.count_link()?;
        spelling::check_bytes(target)?;
        self.check(Some(name));
        self.queue(target)
    }

    /// Something changed between two looks at one name: looks again, as often as links may be followed.
    fn again(&mut self, name: OsString) -> Result<(), ToolError> {
        self.count_link()?;
        self.pending.push(name);
        Ok(())
    }

    fn count_link(&mut self) -> Result<(), ToolError> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(self.refused(format_args!("passes more than {MOST_LINKS} symbolic links, a loop or too long a chain")));
        }
        Ok(())
    }

    /// Checks the path as it is spelled here, and remembers it: where the walk is, the name it is at, and what is pending.
    fn check(&mut self, name: Option<&OsStr>) {
        let pending = self.pending.iter().rev().map(OsString::as_os_str);
        let spelled: PathBuf = self.names.iter().map(OsString::as_os_str).chain(name).chain(pending).collect();
        self.rules.check(self.root.path(), &spelled, self.requested, &mut self.refusals);
        self.spellings.push(lexical(&self.root.path().join(spelled)));
    }

    fn enter(&mut self, root: Arc<Root>) {
        self.turned = true;
        self.root = root;
        self.names.clear();
        self.handles.clear();
    }
    fn directory(&self) -> BorrowedFd<'_> {
        self.handles.last().map_or(self.root.handle(), AsFd::as_fd)
    }
    fn path_to(&self, name: &OsStr) -> PathBuf {
        let mut path = self.root.path().to_owned();
        path.extend(&self.names);
        path.push(name);
        path
    }
    fn finish(self) -> Resolved {
        let beneath: PathBuf = self.names.iter().collect();
        let path = if self.names.is_empty() { self.root.path().to_owned() } else { self.root.path().join(&beneath) };
        Resolved { place: RootedPath { root: self.root, beneath }, path, spellings: self.spellings, refusals: self.refusals }
    }

    fn refused(&self, why: std::fmt::Arguments<'_>) -> ToolError {
        let message = format!("The path '{}' {why}: give the path of the real file.", self.requested.display());
        ToolError::new(ErrorKind::PathNotAllowed, message)
    }
    fn failed(&self, errno: Errno) -> ToolError {
        let path = self.requested.display();
        if errno == Errno::NAMETOOLONG {
            return ToolError::validation(format!("A name in the path '{path}' is longer than its volume allows: give a shorter one."));
        }
        ToolError::execution(format!("The path '{path}' could not be looked up: {errno}.")).with_source(errno)
    }
}

fn look(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Seen, Errno> {
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        // What cannot be seen is taken as spelled; opening it meets the same refusal, and follows no link either.
        Err(Errno::NOENT | Errno::ACCESS) => return Ok(Seen::Missing),
        Err(errno) => return Err(errno),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => changed_or(readlinkat(directory, name, Vec::new()))
            .map(|target| target.map_or(Seen::Changed, |target| Seen::Link(OsString::from_vec(target.into_bytes()).into()))),
        FileType::Directory => match open_name(directory, name, DIRECTORY) {
            Err(Errno::ACCESS) => Ok(Seen::Missing),
            opened => changed_or(opened).map(|handle| handle.map_or(Seen::Changed, Seen::Directory)),
        },
        _ => Ok(Seen::Other),
    }
}

/// `None` if the name is not what it was a moment ago.
fn changed_or<T>(answer: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn nowhere(path: &Path) -> ToolError {
    ToolError::execution(format!("'{}' lies beneath no folder of this machine.", path.display()))
}
