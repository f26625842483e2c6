//! Planning a whole patch before anything is changed: the changes of every file, or every reason why there are none.

mod fault;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use fault::{PatchError, PatchFault};

use crate::apply::{HunkPlace, PatchedFile, apply_update};
use crate::{FilePatch, Hunk, Patch, PatchAction};

/// After so many files whose hunks do not fit, no others are tried: each costs a search for the nearest text.
const MAX_UNFIT: usize = 20;

/// The change of one file. Paths are as in the patch; the old content is that of the [`FileSource`], shared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedChange {
    /// Create a file.
    Add {
        /// The file.
        path: String,
        /// Its new content.
        bytes: Vec<u8>,
    },
    /// Delete a file.
    Delete {
        /// The file.
        path: String,
        /// Its old content.
        before: Arc<Vec<u8>>,
    },
    /// Change a file.
    Update {
        /// The file.
        path: String,
        /// Its old content.
        before: Arc<Vec<u8>>,
        /// Its new content.
        bytes: Vec<u8>,
        /// Where the hunks were applied.
        places: Vec<HunkPlace>,
    },
    /// Move a file, and perhaps change it.
    Move {
        /// The old path.
        from: String,
        /// The new path.
        to: String,
        /// Its old content.
        before: Arc<Vec<u8>>,
        /// Its new content.
        bytes: Vec<u8>,
        /// Where the hunks were applied.
        places: Vec<HunkPlace>,
    },
}

impl PlannedChange {
    /// The change that takes this one back.
    #[must_use]
    pub fn inverse(self) -> Self {
        match self {
            Self::Add { path, bytes } => Self::Delete { path, before: Arc::new(bytes) },
            Self::Delete { path, before } => Self::Add { path, bytes: Arc::unwrap_or_clone(before) },
            Self::Update { path, before, bytes, .. } => {
                Self::Update { path, before: Arc::new(bytes), bytes: Arc::unwrap_or_clone(before), places: Vec::new() }
            }
            Self::Move { from, to, before, bytes, .. } => {
                Self::Move { from: to, to: from, before: Arc::new(bytes), bytes: Arc::unwrap_or_clone(before), places: Vec::new() }
            }
        }
    }
}

/// The changes that take these back, in the order in which to make them.
pub fn reverse(changes: Vec<PlannedChange>) -> Vec<PlannedChange> {
    changes.into_iter().rev().map(PlannedChange::inverse).collect()
}

/// Reads a file; `None` if there is no such file.
pub type FileSource<'a, E> = dyn FnMut(&str) -> Result<Option<Arc<Vec<u8>>>, E> + 'a;

/// Plans a patch. `read` is called for every file that the patch names; for a file that is deleted, its content may be left
/// out.
pub fn plan<E>(patch: &Patch, read: &mut FileSource<'_, E>) -> Result<Vec<PlannedChange>, PatchError<E>> {
    let mut faults = named_twice(patch);
    let mut changes = Vec::with_capacity(patch.files.len());
    let mut unfit = 0;
    for file in &patch.files {
        match plan_file(file, read) {
            Ok(change) => changes.push(change),
            Err((name, fault)) => {
                unfit += usize::from(matches!(fault, PatchFault::Hunks(_)));
                faults.push((name.to_owned(), fault));
            }
        }
        if unfit == MAX_UNFIT {
            break;
        }
    }
    if faults.is_empty() { Ok(changes) } else { Err(PatchError { faults }) }
}

/// The change of a file, or the path at fault and what is wrong with it.
fn plan_file<'a, E>(file: &'a FilePatch, read: &mut FileSource<'_, E>) -> Result<PlannedChange, (&'a str, PatchFault<E>)> {
    let mut read = |path: &'a str| read(path).map_err(|error| (path, PatchFault::Unreadable(error)));
    let path = &*file.path;
    match (&file.action, read(path)?) {
        (PatchAction::Add { text }, None) => Ok(PlannedChange::Add { path: path.to_owned(), bytes: text.clone().into_bytes() }),
        // Written anew: whether that may be, the rules for changes decide.
        (PatchAction::Add { text }, Some(before)) => {
            Ok(PlannedChange::Update { path: path.to_owned(), before, bytes: text.clone().into_bytes(), places: Vec::new() })
        }
        (PatchAction::Delete | PatchAction::Update { .. }, None) => Err((path, PatchFault::Missing)),
        (PatchAction::Delete, Some(before)) => Ok(PlannedChange::Delete { path: path.to_owned(), before }),
        (PatchAction::Update { move_to, hunks }, Some(before)) => {
            let to = move_to.as_deref().filter(|to| lexical(to) != lexical(path));
            if let Some(to) = to
                && read(to)?.is_some()
            {
                return Err((to, PatchFault::Taken));
            }
            update(path.to_owned(), to, before, hunks).map_err(|fault| (path, fault))
        }
    }
}

fn update<E>(path: String, to: Option<&str>, before: Arc<Vec<u8>>, hunks: &[Hunk]) -> Result<PlannedChange, PatchFault<E>> {
    let PatchedFile { bytes, places } = apply_update(&before, hunks).map_err(PatchFault::Hunks)?;
    match to {
        Some(to) => Ok(PlannedChange::Move { from: path, to: to.to_owned(), before, bytes, places }),
        None if bytes == *before => Err(PatchFault::Unchanged),
        None => Ok(PlannedChange::Update { path, before, bytes, places }),
    }
}

/// Files that the patch names more than once.
fn named_twice<E>(patch: &Patch) -> Vec<(String, PatchFault<E>)> {
    let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for file in &patch.files {
        names.entry(lexical(&file.path)).or_default().push(file.line);
        if let PatchAction::Update { move_to: Some(to), .. } = &file.action
            && lexical(to) != lexical(&file.path)
        {
            names.entry(lexical(to)).or_default().push(file.line);
        }
    }
    let twice = names.into_iter().filter(|(_, lines)| lines.len() > 1);
    twice.map(|(path, lines)| (path, PatchFault::NamedTwice(lines))).collect()
}

/// A path without `.`, `..` and empty names, as far as that can be told without looking.
pub(crate) fn lexical(path: &str) -> String {
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
