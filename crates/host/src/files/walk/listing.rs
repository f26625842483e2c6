//! The names in a directory, some at a time.

use std::ffi::{CStr, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;
use rustix::io::Errno;

/// How many names are held at once, give or take what one call of the kernel brings.
const SOME: usize = 1024;
/// What the kernel fills at once: some hundred names.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BUFFER: usize = 32 * 1024;

/// Names in one directory, with what they are.
#[derive(Debug, Default)]
pub(super) struct NameBatch {
    bytes: Vec<u8>,
    all: Vec<Listed>,
}

#[derive(Debug, Clone, Copy)]
struct Listed {
    start: usize,
    end: usize,
    kind: FileType,
}

impl NameBatch {
    fn push(&mut self, name: &CStr, kind: FileType) {
        let name = name.to_bytes();
        if !matches!(name, b"." | b"..") {
            self.add(OsStr::from_bytes(name), kind);
        }
    }
    /// Adds a name.
    pub(super) fn add(&mut self, name: &OsStr, kind: FileType) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name.as_bytes());
        self.all.push(Listed { start, end: self.bytes.len(), kind });
    }
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
    /// A name by its place, and what it is.
    pub(super) fn get(&self, place: usize) -> (&OsStr, FileType) {
        let Listed { start, end, kind } = self.all[place];
        (OsStr::from_bytes(&self.bytes[start..end]), kind)
    }
    /// Every name, and what it is.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, FileType)> {
        (0..self.len()).map(|place| self.get(place))
    }
    /// Those for which something holds.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&OsStr, FileType) -> bool) {
        let bytes = &self.bytes;
        self.all.retain(|listed| keep(OsStr::from_bytes(&bytes[listed.start..listed.end]), listed.kind));
    }
    /// Takes the names from a place on.
    pub(super) fn split_off(&mut self, place: usize) -> Self {
        let mut rest = Self::default();
        for Listed { start, end, kind } in self.all.drain(place..) {
            rest.add(OsStr::from_bytes(&self.bytes[start..end]), kind);
        }
        rest
    }
}

/// Reads a directory on.
pub(super) struct Listing {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    buffer: Vec<u8>,
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    open: Option<rustix::fs::Dir>,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl Listing {
    pub(super) fn new() -> Self {
        Self { buffer: Vec::with_capacity(BUFFER) }
    }

    /// Some names more; nothing is left if the answer is `false`.
    pub(super) fn next(&mut self, handle: &OwnedFd, names: &mut NameBatch) -> Result<bool, Errno> {
        let mut entries = rustix::fs::RawDir::new(handle, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            names.push(entry.file_name(), entry.file_type());
            if names.len() >= SOME && entries.is_buffer_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl Listing {
    pub(super) fn new() -> Self {
        Self { open: None }
    }

    /// Some names more; nothing is left if the answer is `false`.
    pub(super) fn next(&mut self, handle: &OwnedFd, names: &mut NameBatch) -> Result<bool, Errno> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => rustix::fs::Dir::read_from(handle)?,
        };
        while let Some(entry) = open.read() {
            let entry = entry?;
            names.push(entry.file_name(), entry.file_type());
            if names.len() >= SOME {
                self.open = Some(open);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: &NameBatch) -> Vec<(String, FileType)> {
        names.iter().map(|(name, kind)| (name.to_string_lossy().into_owned(), kind)).collect()
    }

    #[test]
    fn names_are_kept_sifted_and_shared() {
        let mut names = NameBatch::default();
        for (name, kind) in [("a", FileType::RegularFile), ("bc", FileType::Directory), ("", FileType::Fifo), ("d", FileType::RegularFile)]
        {
            names.add(OsStr::new(name), kind);
        }
        names.retain(|name, _| !name.is_empty());
        let rest = names.split_off(1);
        assert_eq!(listed(&names), [("a".to_owned(), FileType::RegularFile)]);
        assert_eq!(listed(&rest), [("bc".to_owned(), FileType::Directory), ("d".to_owned(), FileType::RegularFile)]);
    }

    #[test]
    fn a_large_directory_comes_in_parts_that_are_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..5 * SOME {
            std::fs::write(folder.path().join(format!("{number:05}{}", "x".repeat(number % 200))), "").unwrap();
        }
        let handle = OwnedFd::from(std::fs::File::open(folder.path()).unwrap());
        let (mut listing, mut all, mut parts) = (Listing::new(), Vec::new(), 0);
        loop {
            let mut names = NameBatch::default();
            let more = listing.next(&handle, &mut names).unwrap();
            parts += 1;
            assert!(names.len() < 3 * SOME, "{} at once", names.len());
            all.extend(listed(&names).into_iter().map(|(name, kind)| (name[..5].parse::<usize>().unwrap(), kind)));
            if !more {
                break;
            }
        }
        all.sort_by_key(|(number, _)| *number);
        let expected: Vec<_> = (0..5 * SOME).map(|number| (number, FileType::RegularFile)).collect();
        assert!(all == expected && parts > 2, "{} names in {parts} parts", all.len());
    }
}
