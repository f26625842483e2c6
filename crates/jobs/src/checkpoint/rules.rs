//! What a checkpoint does not cover: files that Git ignores, and folders that programs fill and can fill again.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

/// Ignore files are short; the rest of a longer one is not read.
const MAX_BYTES: u64 = 256 << 10;
/// Folders that package managers and interpreters fill.
const GENERATED: [&str; 3] = ["node_modules", "__pycache__", ".venv"];
/// The same where no repository says what is source.
const GENERATED_OUTSIDE_REPOSITORIES: [&str; 2] = ["target", "venv"];
/// Names whose folder is a cache or a virtual environment, whatever it is called.
pub(super) const CACHE_TAGS: [&[u8]; 2] = [b"CACHEDIR.TAG", b"pyvenv.cfg"];

/// The rules that hold in a folder. Folders without rules share those of the one above.
#[derive(Debug)]
pub(super) struct Rules {
    above: Option<Arc<Self>>,
    /// How many bytes of a path lead here.
    lead: usize,
    gitignore: Gitignore,
    /// The lists of the repository that begins here: its own, and the user's.
    of_repository: Option<[Gitignore; 2]>,
    in_repository: bool,
}

impl Rules {
    /// The rules of the folders above a root, and the path from their repository to the root, with a slash at its end.
    pub(super) fn above(root: &Path) -> (Arc<Self>, Vec<u8>) {
        let nothing = Arc::new(Self { above: None, lead: 0, gitignore: Gitignore::empty(), of_repository: None, in_repository: false });
        let Some(top) = root.ancestors().skip(1).find(|folder| folder.join(".git").exists()) else { return (nothing, Vec::new()) };
        let beneath = root.strip_prefix(top).unwrap_or(root);
        let (mut rules, mut folder, mut lead) = (nothing, top.to_owned(), Vec::new());
        for name in beneath {
            rules = Self::with(rules, lead.len(), read(&folder.join(".gitignore")).as_deref(), repository_of(&folder));
            folder.push(name);
            lead.extend_from_slice(name.as_bytes());
            lead.push(b'/');
        }
        (rules, lead)
    }

    /// The rules of a folder beneath. `has` tells which names are in it.
    pub(super) fn beneath(above: &Arc<Self>, lead: usize, handle: &OwnedFd, path: &Path, has: impl Fn(&[u8]) -> bool) -> Arc<Self> {
        let gitignore = has(b".gitignore").then(|| read_at(handle, ".gitignore")).flatten();
        let repository = has(b".git").then(|| repository_of(path)).flatten();
        Self::with(Arc::clone(above), lead, gitignore.as_deref(), repository)
    }

    fn with(above: Arc<Self>, lead: usize, gitignore: Option<&[u8]>, of_repository: Option<[Gitignore; 2]>) -> Arc<Self> {
        if gitignore.is_none() && of_repository.is_none() {
            return above;
        }
        let in_repository = above.in_repository || of_repository.is_some();
        Arc::new(Self { above: Some(above), lead, gitignore: parse(gitignore), of_repository, in_repository })
    }

    /// Whether a path is not covered. It begins where the outermost rules begin.
    pub(super) fn exclude(&self, path: &[u8], name: &[u8], is_directory: bool) -> bool {
        let is_generated = |names: &[&str]| names.iter().any(|generated| generated.as_bytes() == name);
        if is_directory && (is_generated(&GENERATED) || !self.in_repository && is_generated(&GENERATED_OUTSIDE_REPOSITORIES)) {
            return true;
        }
        self.is_ignored(path, is_directory)
    }

    fn is_ignored(&self, path: &[u8], is_directory: bool) -> bool {
        let mut level = Some(self);
        while let Some(here) = level {
            let beneath = &path[here.lead..];
            let verdict = matched(&here.gitignore, beneath, is_directory);
            if verdict.is_some() || here.of_repository.is_some() {
                let lists = || here.of_repository.iter().flatten().find_map(|list| matched(list, beneath, is_directory));
                // Rules of an outer repository do not reach into an inner one.
                return verdict.or_else(lists).unwrap_or(false);
            }
            level = here.above.as_deref();
        }
        false
    }
}

/// Whether a list ignores a path; `None` if it does not name it.
fn matched(list: &Gitignore, path: &[u8], is_directory: bool) -> Option<bool> {
    if list.is_empty() {
        return None;
    }
    match list.matched(Path::new(OsStr::from_bytes(path)), is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// A line that is no text or no pattern ignores nothing.
fn parse(text: Option<&[u8]>) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    let text = text.unwrap_or_default();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        builder.add_line(None, line).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The lists of the repository that begins in a folder.
fn repository_of(folder: &Path) -> Option<[Gitignore; 2]> {
    let git = folder.join(".git");
    if !git.exists() {
        return None;
    }
    let own = git_folder(folder, &git).and_then(|git| read(&git.join("info/exclude")));
    let global = ignore::gitignore::gitconfig_excludes_path().and_then(|path| read(&path));
    Some([parse(own.as_deref()), parse(global.as_deref())])
}

/// The folder with the lists of a repository: its `.git`, or the one that the `.git` of a worktree names.
fn git_folder(folder: &Path, git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let line = |path: &Path| read(path).and_then(|text| String::from_utf8(text).ok()?.lines().next().map(str::to_owned));
    let worktree = folder.join(line(git)?.strip_prefix("gitdir:")?.trim());
    let common = line(&worktree.join("commondir"))?;
    Some(worktree.join(common.trim()))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    text_of(openat(CWD, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?)
}

fn read_at(folder: &OwnedFd, name: &str) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    text_of(openat(folder, name, flags, Mode::empty()).ok()?)
}

fn text_of(handle: OwnedFd) -> Option<Vec<u8>> {
    let stat = fstat(&handle).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut text = Vec::new();
    File::from(handle).take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}
