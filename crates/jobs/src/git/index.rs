//! Comparing two versions of the index by what they track, not by the times of files that Git remembers in it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::tree::Tree;

const MAX_BYTES: u64 = 256 << 20;
/// Bytes of an entry before its id: times, numbers and sizes of the file, of which only the mode is compared.
const STAT: usize = 40;
const MODE: std::ops::Range<usize> = 24..28;
const EXTENDED: u16 = 0x4000;

/// Whether an index that was kept and the one of a folder track the same files in the same versions.
pub(super) fn same_entries(kept: &Path, lower: &Tree) -> bool {
    let read = |file: File| {
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).is_ok().then_some(bytes)
    };
    let before = File::open(kept).ok().and_then(read);
    let now = lower.open_file(Path::new("index")).ok().and_then(read);
    let (Some(before), Some(now)) = (before, now) else { return false };
    before == now || entries(&before).is_some_and(|before| entries(&now) == Some(before))
}

/// An entry of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// Where its flags are.
    pub(super) flags_at: usize,
    pub(super) name: Vec<u8>,
    /// All of it but the times and sizes, as it is stored.
    content: Vec<u8>,
}

/// Mode, id, flags and path of each entry; `None` for an index that cannot be compared.
fn entries(bytes: &[u8]) -> Option<Vec<u8>> {
    // In version 4 paths are shortened by what precedes them, and equal lists are shortened alike.
    tracked(bytes).map(|entries| entries.into_iter().flat_map(|entry| entry.content).collect())
}

/// What an index tracks; `None` for one that cannot be read, or has its entries in another file.
pub(super) fn tracked(bytes: &[u8]) -> Option<Vec<IndexEntry>> {
    let header = bytes.get(..12)?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    if &header[..4] != b"DIRC" || !(2..=4).contains(&number(4)?) {
        return None;
    }
    [20, 32].into_iter().find_map(|id| read_entries(bytes, number(4)?, number(8)?, id))
}

fn read_entries(bytes: &[u8], version: u32, count: u32, id: usize) -> Option<Vec<IndexEntry>> {
    let (mut at, mut found): (usize, Vec<IndexEntry>) = (12, Vec::new());
    for _ in 0..count {
        let entry = bytes.get(at..)?;
        let flags_at = STAT + id;
        let flags = u16::from_be_bytes(entry.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let is_extended = flags & EXTENDED != 0;
        let name_at = flags_at + if is_extended { 4 } else { 2 };
        let stored = entry.get(name_at..)?;
        let prefix = if version == 4 { stored.iter().position(|byte| byte & 0x80 == 0)? + 1 } else { 0 };
        let length = prefix + stored.get(prefix..)?.iter().position(|byte| *byte == 0)?;
        let mut name = match found.last() {
            Some(before) if version == 4 => before.name.get(..before.name.len().checked_sub(removed(&stored[..prefix]))?)?.to_vec(),
            _ => Vec::new(),
        };
        name.extend_from_slice(&stored[prefix..length]);
        let content = [&entry[MODE], &entry[STAT..=name_at + length]].concat();
        found.push(IndexEntry { flags_at: at + flags_at, name, content });
        let end = name_at + length;
        at += if version == 4 { end + 1 } else { (end + 8) & !7 };
    }
    // A split index has its entries in another file.
    let extensions = bytes.get(at..bytes.len().checked_sub(id)?)?;
    let is_whole = extensions.is_empty() || (extensions.len() >= 8 && &extensions[..4] != b"link" && extensions[0].is_ascii_alphabetic());
    is_whole.then_some(found)
}

/// How many bytes of the path before are left out: a number in groups of seven bits, each but the last one too low by one.
fn removed(stored: &[u8]) -> usize {
    stored.iter().enumerate().fold(0, |number: usize, (at, byte)| {
        let more = if at == 0 { number } else { number.saturating_add(1).saturating_mul(128) };
        more.saturating_add(usize::from(byte & 0x7f))
    })
}
