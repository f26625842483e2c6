//! From the upper layer of an overlay to what it changes.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::{ChangeDeed, EntryKind, FileChange, FileSystem};
use haft_sandbox::Layer;

use super::entries::{changed, fingerprint, is_directory, is_opaque, is_whiteout, kind, mode, names, names_of, same_mode};
use crate::LocalFiles;
use crate::files::{directory_state, link_state};

/// How many paths a set holds; with more it cannot be committed.
const MOST_CHANGES: usize = 20_000;
/// How much content is looked at to know what was there.
const MOST_BYTES: u64 = 4 << 30;
/// What stands for something that was changed while the command ran: no file is ever like it.
const RACED: &str = "changed while the command ran";

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) changes: Vec<FileChange>,
    /// Why it cannot be committed.
    pub(super) refused: Option<String>,
}

/// Reads what a run left in its layers.
pub(super) fn read(layers: &[Layer], files: &LocalFiles, started: SystemTime) -> Found {
    let mut reading = Reading { files, started, found: Found::default(), bytes: 0 };
    for layer in layers {
        reading.directory(&layer.upper, &layer.lower);
    }
    let mut found = reading.found;
    found.changes.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

struct Reading<'a> {
    files: &'a LocalFiles,
    started: SystemTime,
    found: Found,
    bytes: u64,
}

impl Reading<'_> {
    /// What differs between a directory of the upper layer and the one beneath it.
    fn directory(&mut self, upper: &Path, lower: &Path) {
        let names = match names(upper) {
            Ok(names) => names,
            Err(error) => return self.refuse(format!("'{}' cannot be listed: {error}", lower.display())),
        };
        if is_opaque(upper) && is_directory(lower) {
            for name in names_of(lower).into_iter().filter(|name| !names.contains(name)) {
                self.deleted(&lower.join(name));
            }
        }
        for name in &names {
            if self.is_full() {
                return;
            }
            self.entry(&upper.join(name), &lower.join(name));
        }
    }

    fn entry(&mut self, upper: &Path, lower: &Path) {
        let now = match fs::symlink_metadata(upper) {
            Ok(now) => now,
            Err(error) => return self.refuse(format!("'{}' cannot be looked at: {error}", lower.display())),
        };
        let before = fs::symlink_metadata(lower).ok();
        if is_whiteout(&now) {
            if before.is_some() {
                self.deleted(lower);
            }
        } else if !Layer::is_placeholder(&now) {
            self.compared(upper, &now, lower, before.as_ref());
        }
    }

    fn compared(&mut self, upper: &Path, now: &Metadata, lower: &Path, before: Option<&Metadata>) {
        let was_directory = before.is_some_and(Metadata::is_dir);
        if was_directory && !now.is_dir() {
            for name in names_of(lower) {
                self.deleted(&lower.join(name));
            }
        }
        let state = self.state(lower, before);
        let is_same = before.is_some_and(|before| kind(before) == kind(now) && same_mode(before, now));
        if !(is_same && (now.is_dir() || self.state(upper, Some(now)) == state)) {
            let deed = if before.is_some() { ChangeDeed::Changed } else { ChangeDeed::Created };
            let mode_before = before.filter(|before| kind(before) == kind(now) && !same_mode(before, now)).map(mode);
            let target = now.is_symlink().then(|| fs::read_link(upper).ok()).flatten();
            self.push(FileChange { target, mode_before, mode: Some(mode(now)), ..self.change(lower, deed, now) }, state, before);
        }
        if now.is_dir() {
            self.directory(upper, lower);
        }
    }

    /// A path that is gone, with all that was beneath it.
    fn deleted(&mut self, lower: &Path) {
        let Ok(before) = fs::symlink_metadata(lower) else { return };
        if before.is_dir() {
            for name in names_of(lower) {
                if self.is_full() {
                    return;
                }
                self.deleted(&lower.join(name));
            }
        }
        let state = self.state(lower, Some(&before));
        self.push(self.change(lower, ChangeDeed::Deleted, &before), state, Some(&before));
    }

    fn change(&self, path: &Path, deed: ChangeDeed, about: &Metadata) -> FileChange {
        // A path that cannot be meant is not shown either.
        let hidden = self.files.locate_entry(path).map_or(true, |at| at.no_read().is_some());
        let size = if about.is_file() { about.len() } else { 0 };
        let entry = kind(about);
        FileChange { path: path.to_owned(), deed, entry, size, mode: None, mode_before: None, target: None, before: None, hidden }
    }

    fn push(&mut self, mut change: FileChange, before: Option<String>, below: Option<&Metadata>) {
        let is_raced = below.is_some_and(|below| !below.is_dir() && changed(below) > self.started);
        change.before = if is_raced { Some(RACED.to_owned()) } else { before };
        self.found.changes.push(change);
    }

    /// What is at a path, in the word that a commit compares.
    fn state(&mut self, path: &Path, metadata: Option<&Metadata>) -> Option<String> {
        let metadata = metadata?;
        match kind(metadata) {
            EntryKind::Directory => directory_state(mode(metadata)),
            EntryKind::Link => fs::read_link(path).ok().and_then(|target| link_state(&target)),
            EntryKind::Special => Some("special".to_owned()),
            EntryKind::File => {
                self.bytes += metadata.len();
                if self.bytes > MOST_BYTES {
                    self.refuse("it touches more than 4 GB of content".to_owned());
                    return None;
                }
                match fingerprint(path) {
                    Ok(fingerprint) => Some(fingerprint),
                    Err(error) => {
                        self.refuse(format!("'{}' cannot be read: {error}", path.display()));
                        None
                    }
                }
            }
        }
    }

    fn is_full(&mut self) -> bool {
        let is_full = self.found.changes.len() >= MOST_CHANGES;
        if is_full {
            self.refuse(format!("it changes more than {MOST_CHANGES} paths, of which the rest is not listed"));
        }
        is_full
    }

    /// The first reason is the one that is told.
    fn refuse(&mut self, why: String) {
        self.found.refused.get_or_insert(why);
    }
}

/// Where a path of a root lies in the upper layer.
pub(super) fn above(layers: &[(PathBuf, PathBuf)], path: &Path) -> Option<PathBuf> {
    let deepest = layers.iter().filter(|(lower, _)| path.starts_with(lower)).max_by_key(|(lower, _)| lower.components().count());
    deepest.and_then(|(lower, upper)| path.strip_prefix(lower).ok().map(|rest| upper.join(rest)))
}

#[cfg(test)]
mod tests;
