//! SHA-256 of what a file holds.

use std::fs::File;
use std::io::Read;

use haft_contract::{ErrorKind, Location, ToolError};
use ring::digest::{Context, Digest, SHA256};
use rustix::io::Errno;

use super::blocking::Stop;
use super::errors::{Deed, failed};
use super::open::open_file;
use super::reader::{PIECE, read_once};

/// The fingerprint of a file, piece by piece; `None` if there is no file.
pub(super) fn fingerprint(at: &Location, stop: &Stop) -> Result<Option<String>, ToolError> {
    let file = match open_file(at, Deed::Read) {
        Ok((file, _)) => file,
        Err(error) if error.kind() == ErrorKind::FileNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    of_file(&file, stop).map(Some).map_err(|errno| failed(Deed::Read, at, errno))
}

/// The fingerprint of an open file.
pub(super) fn of_file(file: &File, stop: &Stop) -> Result<String, Errno> {
    let mut hash = Context::new(&SHA256);
    each_piece(file, stop, |piece| {
        hash.update(piece);
        Ok(())
    })?;
    Ok(hex(&hash.finish()))
}

/// The fingerprint of content that is in no file of the roots.
pub(super) fn of_content(mut content: Box<dyn Read + Send>, stop: &Stop) -> Result<String, ToolError> {
    let failed = |error: std::io::Error| ToolError::execution(format!("What was kept cannot be read: {error}.")).with_source(error);
    let (mut hash, mut buffer) = (Context::new(&SHA256), vec![0; PIECE]);
    loop {
        stop.check().map_err(|errno| failed(errno.into()))?;
        match next_piece(&mut content, &mut buffer).map_err(failed)? {
            0 => return Ok(hex(&hash.finish())),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// The next piece of some content, again if a signal came between; nothing at its end.
pub(super) fn next_piece(content: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match content.read(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}

/// Hands out a file's content in pieces, from its start to its end.
pub(super) fn each_piece(file: &File, stop: &Stop, mut take: impl FnMut(&[u8]) -> Result<(), Errno>) -> Result<(), Errno> {
    let mut buffer = vec![0; PIECE];
    let mut offset = 0;
    loop {
        stop.check()?;
        let count = read_once(file, &mut buffer, offset)?;
        if count == 0 {
            return Ok(());
        }
        take(&buffer[..count])?;
        offset += count as u64;
    }
}

/// A digest in hexadecimal digits.
pub(crate) fn hex(digest: &Digest) -> String {
    hex_of(digest.as_ref())
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
