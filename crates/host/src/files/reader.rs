//! Reading an open file at a position.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use haft_contract::{BoxFuture, FileReader, Location, ToolError};
use haft_text::hex;
use ring::digest::{Context, SHA256};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::blocking::{Call, blocking};
use super::cached;
use super::errors::{self, FileAction, failed};
use super::fingerprint::of_rest;
use super::open::{open_file, size_of};
use super::roots::RootedPath;

/// What is read together with opening; most files are no longer, and cost at most one hop to another thread.
const HEAD: usize = 64 * 1024;
/// What is read on the caller's thread at most, if the kernel has it in memory.
const MOST_AT_ONCE: usize = HEAD;
/// How much is read at once.
pub(super) const PIECE: usize = 256 * 1024;

/// An open file, with its beginning in memory.
#[derive(Debug)]
pub(super) struct OpenFile {
    at: Location,
    file: Arc<File>,
    size: u64,
    head: Vec<u8>,
    /// Whether the head is all there is.
    whole: bool,
}

impl OpenFile {
    /// Opens a file and reads its head.
    pub(super) fn open(at: Location) -> Result<Self, ToolError> {
        errors::check_readable(&at)?;
        let (file, stat) = open_file(&at, FileAction::Read)?;
        let head = read(&file, 0, head_length(&stat)).map_err(|errno| failed(FileAction::Read, &at, errno))?;
        Ok(Self::with_head(at, file, &stat, head))
    }

    /// The same for a file that the kernel has in memory, without waiting; `None` if it has not, or anything is wrong.
    pub(super) fn open_cached(at: &Location) -> Option<Self> {
        errors::check_readable(at).ok()?;
        if errors::names_a_folder(at) {
            return None;
        }
        let (file, stat) = cached::open(RootedPath::from_location(at).ok()?)?;
        let head = cached::read(&file, 0, head_length(&stat))?;
        Some(Self::with_head(at.clone(), file, &stat, head))
    }

    fn with_head(at: Location, file: File, stat: &Stat, head: Vec<u8>) -> Self {
        let whole = head.len() < head_length(stat);
        let size = if whole { head.len() as u64 } else { size_of(stat) };
        Self { at, file: Arc::new(file), size, head, whole }
    }

    fn in_memory(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.head.len());
        let rest = &self.head[start..];
        (self.whole || rest.len() >= length).then(|| rest[..length.min(rest.len())].to_vec())
    }
}

impl FileReader for OpenFile {
    fn size(&self) -> u64 {
        self.size
    }
    fn read_at(&self, offset: u64, length: usize) -> BoxFuture<'_, Result<Vec<u8>, ToolError>> {
        if let Some(bytes) = self.in_memory(offset, length) {
            return Box::pin(std::future::ready(Ok(bytes)));
        }
        if length <= MOST_AT_ONCE
            && let Some(bytes) = cached::read(&self.file, offset, length)
        {
            return Box::pin(std::future::ready(Ok(bytes)));
        }
        let (file, at) = (Arc::clone(&self.file), self.at.clone());
        Box::pin(blocking(move || read(&file, offset, length).map_err(|errno| failed(FileAction::Read, &at, errno))))
    }
    fn fingerprint(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        // The head is shown as it was read when the file was opened, so it is hashed as that.
        let mut hash = Context::new(&SHA256);
        hash.update(&self.head);
        if self.whole {
            return Box::pin(std::future::ready(Ok(hex::encode(hash.finish()))));
        }
        let (file, at, from) = (Arc::clone(&self.file), self.at.clone(), self.head.len() as u64);
        Box::pin(async move {
            let (_call, stop) = Call::begin();
            blocking(move || of_rest(hash, &file, from, &stop).map_err(|errno| failed(FileAction::Read, &at, errno))).await
        })
    }
}

/// One byte more than the file should have, to see that it ends there.
fn head_length(stat: &Stat) -> usize {
    usize::try_from(size_of(stat)).map_or(HEAD, |size| size.saturating_add(1).min(HEAD))
}

/// Up to `length` bytes from `offset`. Memory grows with what is there, not with what was asked for.
fn read(file: &File, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let start = bytes.len();
        // Doubled, because what is there may be moved each time; not filled with zeros first, which takes a third of the time of reading.
        bytes.reserve_exact((length - start).min(start.max(PIECE)));
        let position = offset.saturating_add(start as u64);
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), position) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// One read, again if a signal came between.
pub(super) fn read_once(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(errors::number(&error)),
            Ok(count) => return Ok(count),
        }
    }
}
