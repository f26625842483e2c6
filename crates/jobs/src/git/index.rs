//! The index: comparing two versions by what they track, not by the times of files that Git remembers in it, and which paths one may
//! track. Git checks a path when it adds an entry, and not when it reads the index: one that names `.git/hooks` or leads out of the
//! working tree is written to by the next `git checkout .`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::tree::Tree;

const MAX_BYTES: u64 = 256 << 20;
/// Bytes of an entry before its id: times, numbers and sizes of the file, of which only the mode is compared.
const STAT: usize = 40;
const MODE: std::ops::Range<usize> = 24..28;
const EXTENDED: u16 = 0x4000;
/// The length of a path, in the flags of its entry; this one means "longer".
const LENGTH: u16 = 0x0fff;
/// In bytes, of either format.
const IDS: [usize; 2] = [20, 32];
/// Says that entries are in another file.
const SPLIT: &[u8] = b"link";
/// Say where entries are, so that Git reads others than those that follow each other. It writes them on request only.
const OFFSETS: [&[u8]; 2] = [b"IEOT", b"EOIE"];

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

/// Whether every path of an index is one in the working tree, and not in a Git folder. In a repository of either format: Git reads it by
/// the one that the repository has.
pub(super) fn has_usual_paths(bytes: &[u8]) -> bool {
    let mut read = IDS.into_iter().filter_map(|id| read_index(bytes, id)).peekable();
    read.peek().is_some() && read.all(|index| index.has_usual_paths())
}

/// Whether a path is one that Git writes beneath a working tree.
pub(super) fn is_usual_path(path: &[u8]) -> bool {
    let is_git = |name: &[u8]| name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1");
    path.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b"..") && !is_git(name))
}

/// Mode, id, flags and path of each entry; `None` for an index that cannot be compared.
fn entries(bytes: &[u8]) -> Option<Vec<u8>> {
    // In version 4 paths are shortened by what precedes them, and equal lists are shortened alike.
    tracked(bytes).map(|entries| entries.into_iter().flat_map(|entry| entry.content).collect())
}

/// What an index tracks; `None` for one that cannot be read, or has its entries in another file.
pub(super) fn tracked(bytes: &[u8]) -> Option<Vec<IndexEntry>> {
    let index = IDS.into_iter().find_map(|id| read_index(bytes, id))?;
    (!index.is_split()).then_some(index.entries)
}

/// An index as it is stored.
struct StoredIndex<'a> {
    entries: Vec<IndexEntry>,
    /// The names of what follows the entries.
    extensions: Vec<&'a [u8]>,
}

impl StoredIndex<'_> {
    fn is_split(&self) -> bool {
        self.extensions.contains(&SPLIT)
    }

    fn has_usual_paths(&self) -> bool {
        let is_usual = |entry: &IndexEntry| match &*entry.name {
            // The path is in the other file, which is an index too.
            b"" => self.is_split(),
            // A folder of which nothing is checked out.
            path => is_usual_path(path.strip_suffix(b"/").unwrap_or(path)),
        };
        self.entries.iter().all(is_usual) && !OFFSETS.iter().any(|name| self.extensions.contains(name))
    }
}

/// Reads an index with ids of this length as Git does; `None` if it is none.
fn read_index(bytes: &[u8], id: usize) -> Option<StoredIndex<'_>> {
    let header = bytes.get(..12)?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    if &header[..4] != b"DIRC" || !(2..=4).contains(&number(4)?) {
        return None;
    }
    let (entries, end) = read_entries(bytes, number(4)?, number(8)?, id)?;
    let extensions = read_extensions(bytes.get(end..bytes.len().checked_sub(id)?)?)?;
    Some(StoredIndex { entries, extensions })
}

/// The entries, and where they end.
fn read_entries(bytes: &[u8], version: u32, count: u32, id: usize) -> Option<(Vec<IndexEntry>, usize)> {
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
        // Git goes by the length: with another it would read other entries.
        if usize::from(flags & LENGTH) != name.len().min(usize::from(LENGTH)) {
            return None;
        }
        let content = [&entry[MODE], &entry[STAT..=name_at + length]].concat();
        found.push(IndexEntry { flags_at: at + flags_at, name, content });
        let end = name_at + length;
        at += if version == 4 { end + 1 } else { (end + 8) & !7 };
    }
    Some((found, at))
}

/// The names of all extensions: each has four letters, a length, and so many bytes.
fn read_extensions(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut names = Vec::new();
    while !bytes.is_empty() {
        let (name, length) = (bytes.get(..4)?, u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?));
        let is_name = name.iter().all(u8::is_ascii_alphabetic);
        bytes = bytes.get(8_usize.checked_add(usize::try_from(length).ok()?)?..).filter(|_| is_name)?;
        names.push(name);
    }
    Some(names)
}

/// How many bytes of the path before are left out: a number in groups of seven bits, each but the last one too low by one.
fn removed(stored: &[u8]) -> usize {
    stored.iter().enumerate().fold(0, |number: usize, (at, byte)| {
        let more = if at == 0 { number } else { number.saturating_add(1).saturating_mul(128) };
        more.saturating_add(usize::from(byte & 0x7f))
    })
}
