//! Files that a command does not see although Git tracks them, such as a committed `.env`. In the index that the command gets they are
//! marked as unchanged (`git update-index --assume-unchanged`), so that Git neither misses nor stores what is in their place; the
//! marks are taken away before the index is applied.

use std::fs;
use std::path::Path;

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

use super::index::{IndexEntry, tracked};
use super::tree::Tree;

const INDEX: &str = "index";
const MAX_BYTES: u64 = 64 << 20;
/// In the flags of an entry.
const UNCHANGED: u8 = 0x80;

/// The marks in the index of one repository.
#[derive(Debug)]
pub(super) struct HiddenEntries {
    names: Vec<Vec<u8>>,
    /// The index as it was given to the command.
    marked: Vec<u8>,
}

impl HiddenEntries {
    /// Marks the entries of hidden files and folders, by their paths in the working tree, in a copy of the index in the upper layer.
    /// `None` if there is nothing to mark.
    pub(super) fn mark(lower: &Tree, upper: &Path, hidden: &[Vec<u8>]) -> Option<Self> {
        let bytes = lower.read(Path::new(INDEX), MAX_BYTES).ok().filter(|_| !hidden.is_empty())?;
        let is_hidden =
            |name: &[u8]| hidden.iter().any(|path| name.strip_prefix(&**path).is_some_and(|rest| matches!(rest, [] | [b'/', ..])));
        let is_marked = |entry: &IndexEntry| bytes.get(entry.flags_at).is_some_and(|flags| flags & UNCHANGED != 0);
        let chosen = tracked(&bytes)?.into_iter().filter(|entry| is_hidden(&entry.name) && !is_marked(entry));
        let names: Vec<Vec<u8>> = chosen.map(|entry| entry.name).collect();
        if names.is_empty() {
            return None;
        }
        let marked = with_flags(&bytes, &names, |flags| flags | UNCHANGED)?;
        fs::write(upper.join(INDEX), &marked).ok()?;
        Some(Self { names, marked })
    }

    /// Takes the marks away again. An index that the command has not touched is no change.
    pub(super) fn unmark(&self, tree: &Tree, upper: &Path) {
        let Ok(bytes) = tree.read(Path::new(INDEX), MAX_BYTES) else { return };
        if bytes == self.marked {
            tree.remove_file(Path::new(INDEX)).ok();
        } else if let Some(clean) = with_flags(&bytes, &self.names, |flags| flags & !UNCHANGED) {
            // By a rename: the command may have left a link in its place.
            let new = upper.with_file_name("index-without-marks");
            fs::write(&new, clean).and_then(|()| fs::rename(&new, upper.join(INDEX))).ok();
        }
    }
}

/// An index with other flags of these entries, and the checksum that fits.
fn with_flags(bytes: &[u8], names: &[Vec<u8>], change: impl Fn(u8) -> u8) -> Option<Vec<u8>> {
    let algorithm = checksum(bytes)?;
    let mut changed = bytes.to_vec();
    for entry in tracked(bytes)?.into_iter().filter(|entry| names.contains(&entry.name)) {
        let flags = changed.get_mut(entry.flags_at)?;
        *flags = change(*flags);
    }
    let end = changed.len() - algorithm.output_len();
    let sum = digest(algorithm, &changed[..end]);
    changed[end..].copy_from_slice(sum.as_ref());
    Some(changed)
}

/// How the index ends; `None` if its checksum does not fit.
fn checksum(bytes: &[u8]) -> Option<&'static Algorithm> {
    [&SHA1_FOR_LEGACY_USE_ONLY, &SHA256].into_iter().find(|algorithm| {
        let end = bytes.len().checked_sub(algorithm.output_len());
        end.is_some_and(|end| digest(algorithm, &bytes[..end]).as_ref() == &bytes[end..])
    })
}
