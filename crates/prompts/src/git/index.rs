//! The index of Git: which files have another size or time than when Git saw them last.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use super::open_plain;

/// A larger index is not read: looking at every file would be felt.
const MAX_BYTES: u64 = 1 << 20;
const MAX_ENTRIES: u32 = 5_000;
/// Bytes of an entry before its path.
const FIXED: usize = 62;
const KIND_MASK: u32 = 0o170_000;
const SUBMODULE: u32 = 0o160_000;
/// Bits of an entry: taken for unchanged by the user, more flags follow, and among those: not checked out.
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;

/// How many files of the index differ from it. `None` if it is too large, or of a form that is not known.
pub(super) fn changed_files(index: &Path, root: &Path) -> Option<usize> {
    let mut bytes = Vec::new();
    open_plain(index)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MAX_BYTES {
        return None;
    }
    let mut reader = IndexReader { bytes: &bytes, at: 0, previous: Vec::new(), version: 0 };
    let count = reader.header()?;
    let mut changed = 0;
    for _ in 0..count {
        let entry = reader.entry()?;
        changed += usize::from(entry.is_watched && differs(&entry, root));
    }
    Some(changed)
}

struct Entry {
    path: Vec<u8>,
    seconds: u32,
    size: u32,
    is_watched: bool,
}

/// Nanoseconds are not compared: not every Git stores them.
fn differs(entry: &Entry, root: &Path) -> bool {
    let path = Path::new(std::ffi::OsStr::from_bytes(&entry.path));
    if !path.components().all(|component| matches!(component, Component::Normal(_))) {
        return false;
    }
    let Ok(metadata) = root.join(path).symlink_metadata() else { return true };
    let seconds = u32::try_from(metadata.mtime() & 0xffff_ffff).unwrap_or_default();
    let size = u32::try_from(metadata.len() & 0xffff_ffff).unwrap_or_default();
    seconds != entry.seconds || size != entry.size
}

struct IndexReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Path of the entry before, of which version 4 repeats the beginning.
    previous: Vec<u8>,
    version: u32,
}

impl IndexReader<'_> {
    fn number(&self, at: usize) -> Option<u32> {
        self.bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
    }
    fn short(&self, at: usize) -> Option<u16> {
        self.bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn header(&mut self) -> Option<u32> {
        self.version = self.number(4)?;
        let count = self.number(8)?;
        let known = self.bytes.starts_with(b"DIRC") && (2..=4).contains(&self.version) && count <= MAX_ENTRIES;
        self.at = 12;
        known.then_some(count)
    }

    fn entry(&mut self) -> Option<Entry> {
        let start = self.at;
        let (seconds, mode, size, flags) =
            (self.number(start + 8)?, self.number(start + 24)?, self.number(start + 36)?, self.short(start + 60)?);
        let mut path_at = start + FIXED;
        let mut is_watched = flags & ASSUME_VALID == 0 && mode & KIND_MASK != SUBMODULE;
        if flags & EXTENDED != 0 {
            is_watched &= self.short(path_at)? & SKIP_WORKTREE == 0;
            path_at += 2;
        }
        let path = if self.version == 4 { self.compressed_path(path_at)? } else { self.padded_path(start, path_at)? };
        self.previous.clone_from(&path);
        Some(Entry { path, seconds, size, is_watched })
    }

    /// Entries are padded to eight bytes, with one zero byte at least.
    fn padded_path(&mut self, start: usize, at: usize) -> Option<Vec<u8>> {
        let path = self.until_zero(at)?;
        self.at = start + (at - start + path.len() + 8) / 8 * 8;
        Some(path)
    }

    /// How much of the path before is dropped, and what follows it.
    fn compressed_path(&mut self, mut at: usize) -> Option<Vec<u8>> {
        let mut byte = *self.bytes.get(at)?;
        let mut dropped = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            at += 1;
            byte = *self.bytes.get(at)?;
            dropped = dropped.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        let suffix = self.until_zero(at + 1)?;
        self.at = at + 1 + suffix.len() + 1;
        let mut path = self.previous.get(..self.previous.len().checked_sub(dropped)?)?.to_vec();
        path.extend(suffix);
        Some(path)
    }

    fn until_zero(&self, at: usize) -> Option<Vec<u8>> {
        let rest = self.bytes.get(at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        Some(rest[..length].to_vec())
    }
}
