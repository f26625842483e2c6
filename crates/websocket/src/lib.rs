//! WebSocket messages (RFC 6455) over any stream: the part of it that nodes and channels need.
//!
//! There are no extensions, messages have a bound, and a message that came in fragments is put together again.
#![warn(missing_docs)]

mod reader;
#[cfg(test)]
mod tests;
mod upgrade;
mod writer;

use std::io::{self, ErrorKind};

use haft_text::base64;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

pub use self::reader::WsReader;
pub use self::upgrade::request_upgrade;
pub use self::writer::WsWriter;

/// The largest message.
pub const MAX_MESSAGE: usize = 1 << 20;
/// What the standard adds to the key of a client.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
pub(crate) const MAX_CONTROL: usize = 125;
pub(crate) const FIN: u8 = 0x80;
pub(crate) const MASKED: u8 = 0x80;

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WsRole {
    /// The end that connected, which masks what it sends.
    Client,
    /// The end that accepted.
    Server,
}

/// What arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WsMessage {
    /// A message of bytes.
    Binary(Vec<u8>),
    /// A message of text.
    Text(String),
    /// A question whether this end is there, with what the answer repeats.
    Ping(Vec<u8>),
    /// The answer to such a question.
    Pong,
    /// The other end has nothing more to say.
    Close,
}

/// The value of `Sec-WebSocket-Accept` for the key of a client.
pub fn accept_key(key: &str) -> String {
    base64::encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{GUID}").as_bytes()).as_ref())
}

pub(crate) fn broken(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the other end does not speak WebSocket as it should: {why}"))
}

pub(crate) fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    let word = u32::from_ne_bytes(mask);
    let mut chunks = payload.chunks_exact_mut(4);
    for chunk in &mut chunks {
        let masked = u32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]) ^ word;
        chunk.copy_from_slice(&masked.to_ne_bytes());
    }
    for (byte, key) in chunks.into_remainder().iter_mut().zip(mask) {
        *byte ^= key;
    }
}
