//! What ignore files leave out: `.gitignore`, `.git/info/exclude` and Git's global list, `.ignore`, `.rgignore`.
//!
//! The order is ripgrep's: what is nearer wins within a kind, and of the kinds `.rgignore` counts before `.ignore` before
//! `.gitignore` before the rest. Git's kinds reach from the folder up to its repository, as with Git. Outside every
//! repository ripgrep reads no `.gitignore`; here those of the workspace count all the same, because a folder that was
//! copied without its `.git` is still built and cluttered in the same places.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{CWD, FileType, Mode, fstat, openat};

use super::super::beneath::{READ, open_name};
use super::directory::OpenDirectory;
use super::lead;
use super::listing::NameBatch;

/// Ignore files are short; what is beyond this is not read.
const LONGEST: u64 = 256 << 10;

/// The files with rules of their own, by weight; the last two kinds are Git's.
const FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
const KINDS: usize = 4;
const GITIGNORE: usize = 2;
const EXCLUDE: usize = 3;

/// What ignore files say of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoreVerdict {
    LeftOut,
    /// Named as an exception, which also brings back what is hidden.
    Kept,
}

/// The rules that hold in a folder. Folders without rules share those of the one above.
#[derive(Debug)]
pub(super) struct IgnoreLevel {
    above: Option<Arc<IgnoreLevel>>,
    /// How many bytes of a whole path lead here.
    lead: usize,
    kinds: [Gitignore; KINDS],
    /// Git's global list, and how many bytes lead to where it counts from.
    global: Arc<(Gitignore, usize)>,
    /// Whether a repository begins here.
    is_repository: bool,
    in_repository: bool,
    /// Whether it lies above the root that is walked in.
    is_above_root: bool,
}

impl IgnoreLevel {
    /// The rules of the folders above one. Above `root` only a repository's count.
    pub(super) fn above(folder: &Path, root: &Path) -> Arc<Self> {
        let mut builder = GitignoreBuilder::new("");
        if let Some(text) = ignore::gitignore::gitconfig_excludes_path().and_then(|path| read(&path)) {
            add(&mut builder, &text);
        }
        let global = Arc::new((build(&builder), lead(root)));
        let mut level = Arc::new(Self::new(None, global, Path::new("/")));
        let mut above: Vec<&Path> = folder.ancestors().skip(1).collect();
        while let Some(path) = above.pop() {
            let text = |name: &str| read(&path.join(name));
            let has = |name: &str| path.join(name).exists();
            let is_above_root = root != path && root.starts_with(path);
            level = Self::with(level, path, is_above_root, [".git", ".jj"].into_iter().any(has), text);
        }
        level
    }

    /// The rules of a folder beneath; its names, if they are all known, spare looking for files that are not there.
    pub(super) fn beneath(above: Arc<Self>, directory: &OpenDirectory, names: Option<&NameBatch>) -> Arc<Self> {
        let listed: Option<Vec<&OsStr>> =
            names.map(|names| names.iter().map(|(name, _)| name).filter(|name| name.as_bytes().starts_with(b".")).collect());
        let has = |name: &str| match &listed {
            Some(listed) => listed.iter().any(|listed| *listed == name),
            None => directory.status(name.as_ref()).is_ok(),
        };
        let text = |name: &str| has(name).then(|| open_name(&directory.handle, name.as_ref(), READ).ok().and_then(text_of)).flatten();
        Self::with(above, &directory.path, false, has(".git") || has(".jj"), text)
    }

    fn new(above: Option<Arc<Self>>, global: Arc<(Gitignore, usize)>, path: &Path) -> Self {
        let in_repository = above.as_ref().is_some_and(|above| above.in_repository);
        let kinds = std::array::from_fn(|_| Gitignore::empty());
        Self { above, lead: lead(path), kinds, global, is_repository: false, in_repository, is_above_root: false }
    }

    fn with(above: Arc<Self>, path: &Path, is_above_root: bool, is_repository: bool, text: impl Fn(&str) -> Option<Vec<u8>>) -> Arc<Self> {
        let mut texts: [Option<Vec<u8>>; KINDS] = Default::default();
        for (place, name) in FILES.into_iter().enumerate() {
            texts[place] = text(name);
        }
        texts[EXCLUDE] = is_repository.then(|| read(&git_folder(path)?.join("info/exclude"))).flatten();
        if !is_repository && texts.iter().all(Option::is_none) {
            return above;
        }
        let global = Arc::clone(&above.global);
        let mut level = Self::new(Some(above), global, path);
        for (kind, text) in level.kinds.iter_mut().zip(&texts) {
            let mut builder = GitignoreBuilder::new("");
            add(&mut builder, text.as_deref().unwrap_or_default());
            *kind = build(&builder);
        }
        (level.is_repository, level.is_above_root) = (is_repository, is_above_root);
        level.in_repository |= is_repository;
        Arc::new(level)
    }

    /// What the rules say of a whole path; nothing, if they do not speak of it.
    pub(super) fn check(&self, path: &[u8], is_directory: bool) -> Option<IgnoreVerdict> {
        let mut found = [None; KINDS];
        let (mut level, mut left_repository) = (Some(self), false);
        while let Some(here) = level {
            let is_gits = !left_repository && (self.in_repository || !here.is_above_root);
            let kinds = if is_gits { KINDS } else { GITIGNORE };
            for (found, rules) in found.iter_mut().zip(&here.kinds[..kinds]) {
                if found.is_none() {
                    *found = verdict(rules, &path[here.lead..], is_directory);
                }
            }
            left_repository |= here.is_repository;
            level = here.above.as_deref();
        }
        let (global, lead) = &*self.global;
        let everywhere = || self.in_repository.then(|| verdict(global, &path[*lead..], is_directory)).flatten();
        found.into_iter().flatten().next().or_else(everywhere)
    }
}

fn verdict(rules: &Gitignore, path: &[u8], is_directory: bool) -> Option<IgnoreVerdict> {
    if rules.is_empty() {
        return None;
    }
    match rules.matched(Path::new(OsStr::from_bytes(path)), is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(IgnoreVerdict::LeftOut),
        Match::Whitelist(_) => Some(IgnoreVerdict::Kept),
    }
}

/// Adds the lines of an ignore file. One that is no text or no pattern says nothing.
fn add(builder: &mut GitignoreBuilder, text: &[u8]) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    for line in lines {
        builder.add_line(None, line).ok();
    }
}

fn build(builder: &GitignoreBuilder) -> Gitignore {
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Where a repository keeps its own list: its `.git`, or where a working tree's `.git` points.
fn git_folder(path: &Path) -> Option<PathBuf> {
    let git = path.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let line = |path: &Path| read(path).and_then(|text| String::from_utf8(text).ok()?.lines().next().map(str::to_owned));
    let folder = path.join(line(&git)?.strip_prefix("gitdir:")?.trim());
    let common = line(&folder.join("commondir"))?;
    Some(folder.join(common.trim()))
}

/// The text of an ignore file by its path; nothing if there is none.
fn read(path: &Path) -> Option<Vec<u8>> {
    text_of(openat(CWD, path, READ, Mode::empty()).ok()?)
}

fn text_of(handle: std::os::fd::OwnedFd) -> Option<Vec<u8>> {
    let stat = fstat(&handle).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut text = Vec::new();
    File::from(handle).take(LONGEST).read_to_end(&mut text).ok()?;
    Some(text)
}
