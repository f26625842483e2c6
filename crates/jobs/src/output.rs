//! The output of a job: its beginning and end in memory, and the working directory that its shell prints at its end.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Bytes kept of the beginning.
const HEAD_BYTES: usize = 64 * 1024;
/// Bytes kept of the end.
const TAIL_BYTES: usize = 256 * 1024;
/// Starts a cwd sentinel.
const SENTINEL_START: u8 = 0x1e;
/// Ends the path after a cwd sentinel; no path contains it.
const PATH_END: u8 = 0;
const LONGEST_PATH: usize = 4096;

/// The output of a job, of which memory holds the beginning and the end.
#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl OutputBuffer {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        // After a gap the head cannot grow any more.
        let is_beginning = self.head.len() as u64 == self.total;
        let fits = if is_beginning { (HEAD_BYTES - self.head.len()).min(chunk.len()) } else { 0 };
        self.head.extend_from_slice(&chunk[..fits]);
        let last = &chunk[chunk.len().saturating_sub(TAIL_BYTES)..];
        let excess = (self.tail.len() + last.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
        self.tail.extend(last);
        self.total += chunk.len() as u64;
    }

    /// Adds a chunk that starts at a position. It may leave a gap, or repeat bytes that are here already.
    pub(crate) fn push_at(&mut self, position: u64, chunk: &[u8]) {
        if position > self.total {
            self.tail.clear();
            self.total = position;
        }
        let known = usize::try_from(self.total - position).unwrap_or(chunk.len());
        self.push(chunk.get(known..).unwrap_or_default());
    }

    /// Bytes so far.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }
    fn tail_start(&self) -> u64 {
        self.total - self.tail.len() as u64
    }
    pub(crate) fn head(&self) -> Vec<u8> {
        self.head.clone()
    }
    /// At most this many of the last bytes.
    pub(crate) fn tail(&self, most: usize) -> Vec<u8> {
        self.tail.iter().skip(self.tail.len().saturating_sub(most)).copied().collect()
    }
    /// Whether head and tail together are the whole output.
    fn is_whole(&self) -> bool {
        self.tail_start() <= self.head.len() as u64
    }
    /// The start of the bytes that are here besides the head: 0 if all are.
    pub(crate) fn kept_from(&self) -> u64 {
        if self.is_whole() { 0 } else { self.tail_start() }
    }

    /// At most this many bytes from a position, and their actual start.
    pub(crate) fn from(&self, position: u64, most: usize) -> (u64, Vec<u8>) {
        let in_head = usize::try_from(position).ok().and_then(|at| self.head.get(at..)).filter(|rest| !rest.is_empty());
        if position < self.tail_start()
            && let Some(rest) = in_head
        {
            return (position, rest[..rest.len().min(most)].to_vec());
        }
        let start = position.clamp(self.tail_start(), self.total);
        let skipped = usize::try_from(start - self.tail_start()).unwrap_or(self.tail.len());
        (start, self.tail.iter().skip(skipped).take(most).copied().collect())
    }
}

/// Cwd tracking: the shell prints a sentinel and its working directory when it exits, and both are cut out of the output.
#[derive(Debug)]
pub(crate) struct CwdTracker {
    sentinel: Vec<u8>,
    /// Output that may be the start of a sentinel.
    pending: Vec<u8>,
    /// The directory that was printed last. The command can forge it.
    pub(crate) directory: Option<PathBuf>,
}

impl CwdTracker {
    pub(crate) fn new(sentinel: &str) -> Self {
        Self { sentinel: [&[SENTINEL_START], sentinel.as_bytes()].concat(), pending: Vec::new(), directory: None }
    }

    /// A random sentinel, which no output contains by accident.
    pub(crate) fn new_sentinel() -> String {
        // The standard library seeds these from the system's random numbers.
        let number = || RandomState::new().build_hasher().finish();
        format!("{:016x}{:016x}", number(), number())
    }

    /// The command with an exit trap that prints the directory. It prints only to the output of the job, not to one that the
    /// command has redirected.
    pub(crate) fn wrap_command(command: &str, sentinel: &str) -> String {
        format!("trap '{{ [ -p /dev/stdout ] || [ -t 1 ]; }} && printf \"\\036{sentinel}%s\\000\" \"$PWD\"' EXIT; {command}")
    }

    /// The output of a chunk, without sentinels.
    pub(crate) fn filter<'a>(&mut self, chunk: &'a [u8]) -> Cow<'a, [u8]> {
        // As nearly every chunk is.
        if self.pending.is_empty() && !chunk.contains(&SENTINEL_START) {
            return Cow::Borrowed(chunk);
        }
        Cow::Owned(self.filter_pending(chunk))
    }

    fn filter_pending(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(chunk);
        let mut output = Vec::new();
        while let Some(at) = self.pending.iter().position(|byte| *byte == SENTINEL_START) {
            output.extend(self.pending.drain(..at));
            match self.parse_sentinel() {
                Sentinel::Incomplete => return output,
                Sentinel::Absent => output.extend(self.pending.drain(..1)),
                Sentinel::Directory(path) => self.directory = Some(path),
            }
        }
        output.append(&mut self.pending);
        output
    }

    /// The pending output, which is no sentinel because nothing follows it.
    pub(crate) fn take_pending(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    fn parse_sentinel(&mut self) -> Sentinel {
        let compared = self.sentinel.len().min(self.pending.len());
        if self.pending[..compared] != self.sentinel[..compared] {
            return Sentinel::Absent;
        }
        let path = self.pending.get(self.sentinel.len()..).unwrap_or_default();
        match path.iter().take(LONGEST_PATH + 1).position(|byte| *byte == PATH_END) {
            Some(length) => {
                let path = path[..length].to_vec();
                self.pending.drain(..=self.sentinel.len() + length);
                Sentinel::Directory(OsString::from_vec(path).into())
            }
            None if path.len() > LONGEST_PATH => Sentinel::Absent,
            None => Sentinel::Incomplete,
        }
    }
}

enum Sentinel {
    Absent,
    Incomplete,
    Directory(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(total: usize, chunk: usize) -> (OutputBuffer, Vec<u8>) {
        let all: Vec<u8> = (0..total).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut buffer = OutputBuffer::default();
        all.chunks(chunk).for_each(|chunk| buffer.push(chunk));
        (buffer, all)
    }

    #[test]
    fn output_buffer_keeps_beginning_and_end_whatever_the_chunks() {
        for total in [0, 1, HEAD_BYTES, HEAD_BYTES + 1, TAIL_BYTES, HEAD_BYTES + TAIL_BYTES, HEAD_BYTES + TAIL_BYTES + 1, 3 * TAIL_BYTES] {
            for chunk in [1000, HEAD_BYTES, TAIL_BYTES, 2 * TAIL_BYTES] {
                let (buffer, all) = counted(total, chunk);
                assert_eq!(buffer.head(), all[..total.min(HEAD_BYTES)], "{total} in {chunk}");
                assert_eq!(buffer.from(0, usize::MAX).1, if buffer.tail_start() == 0 { &all[..] } else { &all[..HEAD_BYTES.min(total)] });
                let tail = total.saturating_sub(TAIL_BYTES);
                assert_eq!(buffer.from(tail as u64, usize::MAX), (tail as u64, all[tail..].to_vec()), "{total} in {chunk}");
                assert_eq!((buffer.total(), buffer.is_whole()), (total as u64, total <= HEAD_BYTES + TAIL_BYTES));
            }
        }
    }

    #[test]
    fn output_buffer_filled_from_another_equals_it() {
        for total in [0, 10, HEAD_BYTES, TAIL_BYTES, HEAD_BYTES + TAIL_BYTES, HEAD_BYTES + TAIL_BYTES + 1, 3 * TAIL_BYTES] {
            let (buffer, _) = counted(total, 4096);
            let mut copy = OutputBuffer::default();
            let mut position = 0;
            while position < buffer.total() {
                let (from, bytes) = buffer.from(position, TAIL_BYTES);
                copy.push_at(from, &bytes);
                position = from + bytes.len() as u64;
            }
            copy.push_at(position.saturating_sub(5), &buffer.from(position.saturating_sub(5), 5).1);
            assert_eq!((copy.head(), copy.total(), copy.is_whole()), (buffer.head(), buffer.total(), buffer.is_whole()), "{total}");
            assert_eq!(copy.from(buffer.tail_start(), TAIL_BYTES), buffer.from(buffer.tail_start(), TAIL_BYTES), "{total}");
        }
    }

    #[test]
    fn output_buffer_skips_bytes_that_are_gone() {
        let (buffer, all) = counted(2 * TAIL_BYTES, 4096);
        assert_eq!(buffer.from(HEAD_BYTES as u64, 10), (TAIL_BYTES as u64, all[TAIL_BYTES..TAIL_BYTES + 10].to_vec()));
        assert_eq!(buffer.from(u64::MAX, 10), (2 * TAIL_BYTES as u64, Vec::new()));
        assert_eq!(buffer.from(5, 3), (5, all[5..8].to_vec()));
    }

    #[test]
    fn cwd_tracker_cuts_sentinels_out_whatever_the_chunks() {
        let long = format!("a\x1etag{}\0b", "x".repeat(LONGEST_PATH + 1));
        for (stream, output, directory) in [
            ("", "", None),
            ("a\x1eb\x1eta", "a\x1eb\x1eta", None),
            ("a\x1etag/w/s\0", "a", Some("/w/s")),
            ("a\x1e\x1etag/w s\0b\n", "a\x1eb\n", Some("/w s")),
            ("a\x1etag/1\0b\x1etag/2\0", "ab", Some("/2")),
            ("a\x1etag/w", "a\x1etag/w", None),
            (&long, &long, None),
        ] {
            for size in [1, 2, 5, 8192] {
                let mut tracker = CwdTracker::new("tag");
                let mut filtered: Vec<u8> = stream.as_bytes().chunks(size).flat_map(|chunk| tracker.filter(chunk).into_owned()).collect();
                filtered.extend(tracker.take_pending());
                assert_eq!(String::from_utf8(filtered).unwrap(), output, "in chunks of {size}");
                assert_eq!(tracker.directory, directory.map(PathBuf::from), "{stream}");
            }
        }
    }
}
