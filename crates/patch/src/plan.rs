//! A whole patch, worked out before anything is done: either every file can be changed, or every reason why not is known.

mod fault;

use std::collections::BTreeMap;

pub use fault::{PatchError, PatchFault};

use crate::apply::{HunkPlace, apply_update};
use crate::{Action, FilePatch, Hunk, Patch};

/// After so many files whose hunks do not fit, no others are tried: the nearest places are looked for in each.
const MAX_UNFIT: usize = 20;

/// What is done to one file. Paths are as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A file is made.
    Add {
        /// The file.
        path: String,
        /// What is in it.
        bytes: Vec<u8>,
    },
    /// A file is removed.
    Delete {
        /// The file.
        path: String,
        /// What was in it.
        before: Vec<u8>,
    },
    /// A file is changed.
    Update {
        /// The file.
        path: String,
        /// What was in it.
        before: Vec<u8>,
        /// What is in it.
        bytes: Vec<u8>,
        /// Where the hunks were applied.
        places: Vec<HunkPlace>,
    },
    /// A file is moved, and perhaps changed.
    Move {
        /// The file as it was called.
        from: String,
        /// The file as it is called.
        to: String,
        /// What was in it.
        before: Vec<u8>,
        /// What is in it.
        bytes: Vec<u8>,
        /// Where the hunks were applied.
        places: Vec<HunkPlace>,
    },
}

impl Change {
    /// The change that takes this one back.
    #[must_use]
    pub fn inverse(self) -> Self {
        match self {
            Self::Add { path, bytes } => Self::Delete { path, before: bytes },
            Self::Delete { path, before } => Self::Add { path, bytes: before },
            Self::Update { path, before, bytes, .. } => Self::Update { path, before: bytes, bytes: before, places: Vec::new() },
            Self::Move { from, to, before, bytes, .. } => {
                Self::Move { from: to, to: from, before: bytes, bytes: before, places: Vec::new() }
            }
        }
    }
}

/// The changes that take these back, in the order in which to make them.
pub fn reverse(changes: Vec<Change>) -> Vec<Change> {
    changes.into_iter().rev().map(Change::inverse).collect()
}

/// Gives what is in a file, or `None` if there is no such file.
pub type Read<'a, E> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, E> + 'a;

/// Works a patch out. `read` is asked for every file that the patch names; of a file that would be removed it need not
/// give more than that it is there.
pub fn plan<E>(patch: &Patch, read: &mut Read<'_, E>) -> Result<Vec<Change>, PatchError<E>> {
    let mut faults = named_twice(patch);
    let mut changes = Vec::with_capacity(patch.files.len());
    let mut hunks = 0;
    for file in &patch.files {
        match plan_file(file, read) {
            Ok(change) => changes.push(change),
            Err(fault) => {
                hunks += usize::from(matches!(fault, PatchFault::Hunks { .. }));
                faults.push(fault);
            }
        }
        if hunks == MAX_UNFIT {
            break;
        }
    }
    if faults.is_empty() { Ok(changes) } else { Err(PatchError { faults }) }
}

fn plan_file<E>(file: &FilePatch, read: &mut Read<'_, E>) -> Result<Change, PatchFault<E>> {
    let path = file.path.clone();
    let found = read(&path).map_err(|error| PatchFault::Unreadable { path: path.clone(), error })?;
    match (&file.action, found) {
        (Action::Add { .. }, Some(_)) => Err(PatchFault::Exists { path }),
        (Action::Add { text }, None) => Ok(Change::Add { path, bytes: text.clone().into_bytes() }),
        (Action::Delete | Action::Update { .. }, None) => Err(PatchFault::Missing { path }),
        (Action::Delete, Some(before)) => Ok(Change::Delete { path, before }),
        (Action::Update { move_to, hunks }, Some(before)) => {
            let to = move_to.as_deref().filter(|to| lexical(to) != lexical(&path));
            refuse_taken(to, read)?;
            update(path, to, before, hunks)
        }
    }
}

fn refuse_taken<E>(to: Option<&str>, read: &mut Read<'_, E>) -> Result<(), PatchFault<E>> {
    let Some(to) = to else { return Ok(()) };
    match read(to) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(PatchFault::Taken { path: to.to_owned() }),
        Err(error) => Err(PatchFault::Unreadable { path: to.to_owned(), error }),
    }
}

fn update<E>(path: String, to: Option<&str>, before: Vec<u8>, hunks: &[Hunk]) -> Result<Change, PatchFault<E>> {
    let (bytes, places) = match apply_update(&before, hunks) {
        Ok(updated) => (updated.bytes, updated.places),
        Err(error) => return Err(PatchFault::Hunks { path, error }),
    };
    match to {
        Some(to) => Ok(Change::Move { from: path, to: to.to_owned(), before, bytes, places }),
        None if bytes == before => Err(PatchFault::Unchanged { path }),
        None => Ok(Change::Update { path, before, bytes, places }),
    }
}

/// Files that the patch names more than once.
fn named_twice<E>(patch: &Patch) -> Vec<PatchFault<E>> {
    let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for file in &patch.files {
        names.entry(lexical(&file.path)).or_default().push(file.line);
        if let Action::Update { move_to: Some(to), .. } = &file.action
            && lexical(to) != lexical(&file.path)
        {
            names.entry(lexical(to)).or_default().push(file.line);
        }
    }
    let twice = names.into_iter().filter(|(_, lines)| lines.len() > 1);
    twice.map(|(path, lines)| PatchFault::NamedTwice { path, lines }).collect()
}

/// A path without `.`, `..` and empty names, as far as that can be told without looking.
fn lexical(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            name => names.push(name),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    root.to_owned() + &names.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_name() {
        for (path, expected) in
            [("a/b", "a/b"), ("./a//b/.", "a/b"), ("a/../b", "b"), ("../a/../../b", "../../b"), ("/a/b", "/a/b"), ("a", "a"), ("", "")]
        {
            assert_eq!(lexical(path), expected, "{path}");
        }
    }
}
