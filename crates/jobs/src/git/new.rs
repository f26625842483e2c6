//! Repositories that a command made, or changed without an overlay: cleaned in place of what Git runs or trusts.

use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::RefusedChange;

use super::apply::Applier;
use super::config::{MAX_BYTES, MergedConfig, Scope, merge, normalize};
use super::content::Content;
use super::pointer::{lies_in, named_folder, named_path, path_of};
use super::report::Reporter;
use super::rules::{Class, Owner, classify};
use super::tree::Tree;
use super::worktree::is_sound;
use crate::changes::change_time;
use crate::own_data::OwnData;
use crate::quarantine::{Origin, Quarantine};

/// A repository with more entries is moved to quarantine whole.
const MAX_ENTRIES: usize = 300_000;
const MAX_DEPTH: usize = 64;
/// A longer list of folders is not Git's.
const MAX_LIST: u64 = 1 << 20;
const TRUSTED: &str = "Git runs or trusts it";

/// What is known of a repository that is cleaned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRepository<'a> {
    pub(crate) writable: &'a [PathBuf],
    /// The Git folders that had overlays, and were settled.
    pub(crate) overlaid: &'a [PathBuf],
    /// Only what changed since then is looked at.
    pub(crate) since: SystemTime,
    /// The settings at that time, of a repository that existed.
    pub(crate) old_config: Option<&'a [u8]>,
    /// Hooks and settings of repositories that were there before, sorted.
    pub(crate) kept: &'a [PathBuf],
    /// Where it is now, and where it belongs, if it is staged.
    pub(crate) staged: Option<(&'a Path, &'a Path)>,
    /// Whether the command still runs: what it has added to repositories with overlays is not there yet.
    pub(crate) is_running: bool,
    pub(crate) quarantine: &'a Quarantine,
    pub(crate) origin: &'a Origin,
}

/// Cleans a repository: a Git folder, or a `.git` file that names one. What `git init` and `git clone` write stays as it is.
pub(crate) fn sanitize_new(git: &Path, new: &NewRepository) -> Vec<RefusedChange> {
    let mut reporter = Reporter::new(new.quarantine, new.origin).with_moved(new.staged);
    if let Err(error) = sanitize(git, new, &mut reporter) {
        let why = format!("this repository cannot be looked through ({error})");
        put(git, &why, &mut reporter);
    }
    reporter.finish().refused
}

fn sanitize(git: &Path, new: &NewRepository, reporter: &mut Reporter) -> io::Result<()> {
    let metadata = git.symlink_metadata()?;
    if metadata.is_dir() {
        return Cleaner::new(new, git, None)?.clean(reporter);
    }
    if new.is_running && metadata.is_file() && named_path(git).is_some_and(|named| lies_in(&named, new.overlaid)) {
        return Ok(());
    }
    let folder = if metadata.is_file() { named_folder(git, new.writable) } else { None };
    match folder.filter(|folder| !leads_into_data(git, folder, new)) {
        Some(folder) if lies_in(&folder, new.overlaid) && folder.join("HEAD").is_file() => Ok(()),
        Some(folder) if !lies_in(&folder, new.overlaid) => Cleaner::new(new, &folder, git.parent())?.clean(reporter),
        _ => {
            put(git, "it leads Git to a folder outside of the workspace, or to one that is no repository", reporter);
            Ok(())
        }
    }
}

/// Whether a pointer of the workspace names a folder in the data of this program: commands write parts of it, which are not cleaned.
fn leads_into_data(git: &Path, folder: &Path, new: &NewRepository) -> bool {
    let data = OwnData::new(new.quarantine.data_folder());
    data.holds(folder, new.writable) && !data.holds(git, new.writable)
}

/// Moves an entry to quarantine by its path.
fn put(path: &Path, why: &str, reporter: &mut Reporter) {
    let (Ok(root), Ok(relative)) = (Tree::open(Path::new("/")), path.strip_prefix("/")) else { return };
    reporter.quarantine(&root, relative, path, why);
}

/// Cleans one Git folder.
struct Cleaner<'a> {
    new: &'a NewRepository<'a>,
    tree: Tree,
    path: &'a Path,
    /// Where the working tree of a submodule may be.
    outer: Option<&'a Path>,
    seen: usize,
}

impl<'a> Cleaner<'a> {
    fn new(new: &'a NewRepository<'a>, path: &'a Path, outer: Option<&'a Path>) -> io::Result<Self> {
        Ok(Self { new, tree: Tree::open_in(path, new.writable)?, path, outer, seen: 0 })
    }

    fn clean(&mut self, reporter: &mut Reporter) -> io::Result<()> {
        self.folder(Path::new(""), 0, reporter)?;
        self.config(reporter)
    }

    fn folder(&mut self, path: &Path, depth: usize, reporter: &mut Reporter) -> io::Result<()> {
        self.tree.folder(path)?.open_to_owner()?;
        for name in self.tree.names(path)? {
            self.seen += 1;
            if self.seen > MAX_ENTRIES || depth > MAX_DEPTH {
                return Err(io::Error::other("it has too many or too deep folders"));
            }
            let path = path.join(name);
            let Some(metadata) = self.tree.entry(&path)? else { continue };
            if metadata.is_dir() {
                if !self.is_special_folder(&path, reporter)? {
                    self.folder(&path, depth + 1, reporter)?;
                }
            } else if (change_time(&metadata) >= self.new.since || self.came_with_folder(&path))
                && let Some((entry, why)) = self.refusal(&path, &metadata)
            {
                reporter.quarantine(&self.tree, &entry, &self.path.join(&entry), why);
            } else if !self.new.is_running && metadata.is_file() && metadata.nlink() > 1 && !path.starts_with("objects") {
                self.separate(&path)?;
            }
        }
        Ok(())
    }

    /// Gives a file content of its own: a later command could change it by another name, which the overlay of this folder does not
    /// cover. Not while the command runs: its Git may hold the lock of the file.
    fn separate(&self, path: &Path) -> io::Result<()> {
        let bytes = self.tree.read(path, Content::Index.max_bytes())?;
        Applier::new(&self.tree, &self.tree).write(path, &bytes)
    }

    /// Whether a hook was not here, and its folder changed: a rename of the folder leaves the times of what is in it.
    fn came_with_folder(&self, path: &Path) -> bool {
        let is_changed =
            |above: &Path| self.tree.entry(above).is_ok_and(|found| found.is_some_and(|found| change_time(&found) >= self.new.since));
        let is_above = |above: &&Path| !above.as_os_str().is_empty();
        path.starts_with("hooks")
            && self.new.kept.binary_search(&self.path.join(path)).is_err()
            && path.ancestors().skip(1).take_while(is_above).any(is_changed)
    }

    /// Submodules and linked worktrees have rules of their own.
    fn is_special_folder(&self, path: &Path, reporter: &mut Reporter) -> io::Result<bool> {
        let at = self.path.join(path);
        if path.starts_with("modules") && self.tree.has_file(&path.join("HEAD")) {
            let outer = self.outer.or_else(|| self.path.parent());
            Cleaner::new(&NewRepository { old_config: None, ..*self.new }, &at, outer)?.clean(reporter)?;
            return Ok(true);
        }
        let is_worktree = path.parent() == Some(Path::new("worktrees"));
        if is_worktree && !is_sound(self.path, self.new.writable, &self.tree, path) {
            reporter.quarantine(&self.tree, path, &at, "it ties a linked worktree to a folder outside of the workspace");
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether an entry may not stay: what has to go, and why.
    fn refusal(&self, path: &Path, metadata: &Metadata) -> Option<(PathBuf, &'static str)> {
        let bytes = path.as_os_str().as_bytes();
        let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'/').collect();
        if !metadata.is_file() {
            return Some((path.to_owned(), "it is a link, a pipe or a device in a folder of Git"));
        }
        let is_linked = parts[0] == b"worktrees" && parts.len() > 2;
        let (owner, inside) = if is_linked { (Owner::Worktree, parts[2..].join(&b'/')) } else { (Owner::Repository, bytes.to_vec()) };
        let refuse = |why: &'static str| Some((path.to_owned(), why));
        match (classify(owner, &inside), parts.as_slice()) {
            (Class::Operation(content), _) if !self.holds(path, content) => {
                let depth = if is_linked { 3 } else { 1 };
                Some((path.components().take(depth).collect(), "Git would run a program from it when the operation continues"))
            }
            (Class::Together(content) | Class::Single(content), _) if !self.holds(path, content) => {
                refuse("its content is not what Git writes there")
            }
            (Class::Index, _) if !self.holds(path, Content::Index) => refuse("it leads Git to files outside of the working tree"),
            (Class::Refused, [b"objects", b"info", b"alternates"]) if self.are_inside(path) => None,
            (
                Class::Refused,
                [b"objects", b"info", ..]
                | [b"commondir" | b"config.worktree"]
                | [b"hooks" | b"remotes" | b"branches", ..]
                | [b"info", b"attributes" | b"grafts"]
                | [b"worktrees", _, b"config.worktree"],
            ) => refuse(TRUSTED),
            (Class::Refused, [name, ..]) if name.starts_with(b"fsmonitor") => refuse(TRUSTED),
            _ => None,
        }
    }

    fn holds(&self, path: &Path, content: Content) -> bool {
        content == Content::Text || self.tree.read(path, content.max_bytes()).is_ok_and(|bytes| content.accepts(&bytes))
    }

    /// Whether every folder that objects are borrowed from lies in a writable root.
    fn are_inside(&self, path: &Path) -> bool {
        let is_inside =
            |line: &[u8]| path_of(line).is_some_and(|named| lies_in(&normalize(&self.path.join("objects").join(named)), self.new.writable));
        let lines = self.tree.read(path, MAX_LIST).unwrap_or_default();
        lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).all(is_inside)
    }

    /// Leaves only harmless settings.
    fn config(&self, reporter: &mut Reporter) -> io::Result<()> {
        let name = Path::new("config");
        let Some(metadata) = self.tree.entry(name)? else { return Ok(()) };
        if change_time(&metadata) < self.new.since {
            return Ok(());
        }
        let at = self.path.join(name);
        let private = self.new.quarantine.data_folder();
        let old = self.new.old_config.unwrap_or_default();
        let scope = Scope { is_new: self.new.old_config.is_none(), work_tree: self.outer, git_dir: self.path, private };
        let current = self.tree.read(name, MAX_BYTES);
        let merged = current.as_ref().map_err(|_| "its settings cannot be read").and_then(|current| merge(old, current, &scope));
        let (text, why) = match (merged, &current) {
            (Ok(MergedConfig { text, refused, .. }), Ok(current)) if refused.is_empty() && text == *current => return Ok(()),
            (Ok(MergedConfig { text, refused, .. }), _) if refused.is_empty() => (text, None),
            (Ok(MergedConfig { text, refused, .. }), _) => {
                (text, Some(format!("Git would run or trust what these settings say: {}", refused.join(", "))))
            }
            (Err(why), _) => (old.to_vec(), Some(why.to_owned())),
        };
        if let Some(why) = why {
            reporter.quarantine(&self.tree, name, &at, &why);
        }
        Applier::new(&self.tree, &self.tree).write(name, &text)
    }
}
