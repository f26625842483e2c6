//! SHA-256 of what a file holds.

use std::fs::File;
use std::io::Read;

use haft_contract::{ErrorKind, Location, ToolError};
use haft_text::hex;
use ring::digest::{Context, SHA256};
use rustix::io::Errno;

use super::blocking::Stop;
use super::errors::{FileAction, failed};
use super::open::open_file;
use super::reader::{PIECE, read_once};

/// The fingerprint of a file, piece by piece; `None` if there is no file.
pub(super) fn fingerprint(at: &Location, stop: &Stop) -> Result<Option<String>, ToolError> {
    let file = match open_file(at, FileAction::Read) {
        Ok((file, _)) => file,
        Err(error) if error.kind() == ErrorKind::FileNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    of_file(&file, stop).map(Some).map_err(|errno| failed(FileAction::Read, at, errno))
}

/// The fingerprint of an open file.
pub(super) fn of_file(file: &File, stop: &Stop) -> Result<String, Errno> {
    of_rest(Context::new(&SHA256), file, 0, stop)
}

/// The fingerprint of an open file whose bytes up to `from` are hashed already.
pub(super) fn of_rest(mut hash: Context, file: &File, from: u64, stop: &Stop) -> Result<String, Errno> {
    each_piece(file, from, stop, |piece| {
        hash.update(piece);
        Ok(())
    })?;
    Ok(hex::encode(hash.finish()))
}

/// The fingerprint of content that is in no file of the roots.
pub(super) fn of_content(content: impl Read, stop: &Stop) -> Result<String, ToolError> {
    let failed = |error: std::io::Error| ToolError::execution(format!("What was kept cannot be read: {error}.")).with_source(error);
    sha256(content, || stop.check().map_err(Into::into)).map_err(failed)
}

/// SHA-256 of a content in hexadecimal digits; `check` may stop it before each piece.
pub fn sha256(mut content: impl Read, mut check: impl FnMut() -> std::io::Result<()>) -> std::io::Result<String> {
    let (mut hash, mut buffer) = (Context::new(&SHA256), vec![0; PIECE]);
    loop {
        check()?;
        match next_piece(&mut content, &mut buffer)? {
            0 => return Ok(hex::encode(hash.finish())),
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

/// Hands out a file's content in pieces, from a position to its end.
pub(super) fn each_piece(file: &File, from: u64, stop: &Stop, mut take: impl FnMut(&[u8]) -> Result<(), Errno>) -> Result<(), Errno> {
    let mut buffer = vec![0; PIECE];
    let mut offset = from;
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
