//! Who wrote each line of a file: by the pre-images of the calls that changed it.
//!
//! A pre-image is the file before a call; the next one, or the file as it is now, is the file after it. Lines that are new there are the
//! call's. If someone else changed the file in between, which the fingerprint shows, the call may not have written all of them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use haft_contract::BoxFuture;
use haft_contract::ports::{MemoryLines, MemoryWriter};
use haft_patch::diff::changed_lines;
use haft_text::hex;
use ring::digest::{SHA256, digest};

/// A file before one call changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Its content; absent if there was no file, or if it is no longer kept.
    pub before: Option<Vec<u8>>,
    /// SHA-256 of what the call left, as hex.
    pub after: Option<String>,
    /// Who made the call.
    pub writer: MemoryWriter,
}

/// Knows which calls changed a file.
pub trait WriterSource: Send + Sync {
    /// Every file that a call changed.
    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, String>>;
    /// The versions of a file, the oldest first.
    fn versions<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<FileVersion>, String>>;
    /// Whether a conversation has seen untrusted content.
    fn is_session_tainted<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool>;
}

/// Who wrote each line of a file as it is now; the lines of the oldest version are the user's.
pub fn writers_of_lines(versions: &[FileVersion], now: &[u8]) -> Vec<MemoryWriter> {
    let empty = Vec::new();
    let before = |version: &FileVersion| version.before.clone().unwrap_or_default();
    let mut writers: Vec<MemoryWriter> = match versions.first() {
        Some(first) => vec![MemoryWriter::default(); count_lines(first.before.as_ref().unwrap_or(&empty))],
        None => return vec![MemoryWriter::default(); count_lines(now)],
    };
    for (at, version) in versions.iter().enumerate() {
        let old = before(version);
        let new = versions.get(at + 1).map_or_else(|| now.to_vec(), before);
        let is_mixed = version.after.as_deref() != Some(&*hex::encode(digest(&SHA256, &new)));
        let writer = MemoryWriter { is_mixed, ..version.writer.clone() };
        writers = carried(&writers, &old, &new, &writer);
    }
    writers
}

/// Lines that stay keep their writers; new ones are the writer's.
fn carried(writers: &[MemoryWriter], old: &[u8], new: &[u8], writer: &MemoryWriter) -> Vec<MemoryWriter> {
    let mut carried = Vec::with_capacity(count_lines(new));
    let mut from = 0;
    for (removed, added) in changed_lines(old, new) {
        carried.extend_from_slice(writers.get(from..removed.start).unwrap_or_default());
        carried.extend(added.map(|_| writer.clone()));
        from = removed.end;
    }
    carried.extend_from_slice(writers.get(from..).unwrap_or_default());
    carried.resize(count_lines(new), writer.clone());
    carried
}

/// As `str::lines` counts them.
fn count_lines(content: &[u8]) -> usize {
    content.split_inclusive(|byte| *byte == b'\n').count()
}

/// Neighbouring lines of one writer as one part.
pub(crate) fn parts(writers: &[MemoryWriter]) -> Vec<MemoryLines> {
    let mut parts: Vec<MemoryLines> = Vec::new();
    for (at, writer) in writers.iter().enumerate() {
        match parts.last_mut() {
            Some(part) if part.writer == *writer => part.last = at + 1,
            _ => parts.push(MemoryLines { first: at + 1, last: at + 1, writer: writer.clone() }),
        }
    }
    parts
}

/// The writer of a chunk: of those of its lines, the one that is to be trusted least, and of those the last.
pub(crate) fn writer_of_chunk(writers: &[MemoryWriter], first: usize, last: usize) -> MemoryWriter {
    let lines = writers.get(first.saturating_sub(1)..last.min(writers.len())).unwrap_or_default();
    let distrust = |writer: &&MemoryWriter| (writer.is_tainted, writer.session.is_some(), writer.call.clone());
    lines.iter().max_by_key(distrust).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(call: &str, is_tainted: bool) -> MemoryWriter {
        MemoryWriter { agent: Some("main".into()), session: Some("s".into()), call: Some(call.into()), is_tainted, is_mixed: false }
    }

    fn version(before: Option<&str>, after: &str, call: &str) -> FileVersion {
        let after = Some(hex::encode(digest(&SHA256, after.as_bytes())));
        FileVersion { before: before.map(|text| text.as_bytes().to_vec()), after, writer: writer(call, call == "bad") }
    }

    fn calls(versions: &[FileVersion], now: &str) -> Vec<String> {
        let name = |writer: MemoryWriter| format!("{}{}", writer.call.unwrap_or("user".into()), if writer.is_mixed { "?" } else { "" });
        writers_of_lines(versions, now.as_bytes()).into_iter().map(name).collect()
    }

    #[test]
    fn lines_belong_to_the_call_that_added_them() {
        let versions = [version(None, "a\nb\n", "one"), version(Some("a\nb\n"), "a\nx\nb\n", "two")];
        for (versions, now, expected) in [
            (&versions[..], "a\nx\nb\n", vec!["one", "two", "one"]),
            (&versions[..], "a\nx\nb\nmine\n", vec!["one", "two?", "one", "two?"]),
            (&versions[..1], "a\nb\n", vec!["one", "one"]),
            (&[version(Some("u\n"), "u\nc\n", "one")][..], "u\nc\n", vec!["user", "one"]),
            (&[version(Some("u\n"), "u\nc\n", "one")][..], "u\n", vec!["user"]),
            (&[][..], "u\nv", vec!["user", "user"]),
            (&[version(Some("u\n"), "", "one")][..], "", vec![]),
        ] {
            assert_eq!(calls(versions, now), expected, "{now}");
        }
    }

    #[test]
    fn the_writer_of_a_chunk_is_the_one_to_be_trusted_least() {
        let lines = [MemoryWriter::default(), writer("good", false), writer("bad", true), MemoryWriter::default()];
        for ((first, last), expected) in [((1, 4), Some("bad")), ((1, 2), Some("good")), ((4, 4), None), ((9, 9), None)] {
            assert_eq!(writer_of_chunk(&lines, first, last).call.as_deref(), expected, "{first}-{last}");
        }
        let named = parts(&lines).into_iter().map(|part| (part.first, part.last, part.writer.call)).collect::<Vec<_>>();
        assert_eq!(named, [(1, 1, None), (2, 2, Some("good".into())), (3, 3, Some("bad".into())), (4, 4, None)]);
    }
}
