//! WebSocket messages (RFC 6455) over any stream: the part of it that two ends of ours need.
//!
//! There are no extensions, messages have a bound, and a message that an intermediary cut into fragments is put together again.

use std::io::{self, ErrorKind};

use haft_text::base64;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// The largest message.
pub const MAX_MESSAGE: usize = 1 << 20;
/// What the standard adds to the key of a client.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const MAX_CONTROL: usize = 125;
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;

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
    /// A message.
    Binary(Vec<u8>),
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

fn broken(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("this is no WebSocket of a node: {why}"))
}

/// Reads messages.
#[derive(Debug)]
pub struct WsReader<R> {
    io: BufReader<R>,
    role: WsRole,
}

/// The head of a frame.
struct FrameHead {
    is_last: bool,
    opcode: u8,
    length: usize,
    mask: Option<[u8; 4]>,
}

impl<R: AsyncRead + Unpin> WsReader<R> {
    /// Reads what the other end of this role's end sends.
    pub fn new(io: R, role: WsRole) -> Self {
        Self { io: BufReader::with_capacity(16 << 10, io), role }
    }

    /// The next message; an error ends the connection.
    pub async fn next(&mut self) -> io::Result<WsMessage> {
        let mut message: Option<Vec<u8>> = None;
        loop {
            let head = self.head().await?;
            let so_far = message.as_ref().map_or(0, Vec::len);
            if so_far + head.length > MAX_MESSAGE {
                return Err(broken("the message is too long"));
            }
            let payload = self.payload(&head).await?;
            match head.opcode {
                0 => message.as_mut().ok_or_else(|| broken("a fragment without a beginning"))?.extend_from_slice(&payload),
                2 if message.is_none() => message = Some(payload),
                8 => return Ok(WsMessage::Close),
                9 => return Ok(WsMessage::Ping(payload)),
                10 => return Ok(WsMessage::Pong),
                _ => return Err(broken("only binary messages are understood")),
            }
            if head.is_last {
                return Ok(WsMessage::Binary(message.unwrap_or_default()));
            }
        }
    }

    async fn head(&mut self) -> io::Result<FrameHead> {
        let mut start = [0; 2];
        self.io.read_exact(&mut start).await?;
        let (opcode, is_last) = (start[0] & 0x0f, start[0] & FIN != 0);
        if start[0] & 0x70 != 0 {
            return Err(broken("it uses an extension"));
        }
        if (start[1] & MASKED != 0) != (self.role == WsRole::Server) {
            return Err(broken("exactly what a client sends is masked"));
        }
        let length = match start[1] & !MASKED {
            126 => u64::from(self.io.read_u16().await?),
            127 => self.io.read_u64().await?,
            short => u64::from(short),
        };
        let length = usize::try_from(length).map_err(|_| broken("the message is too long"))?;
        if opcode >= 8 && (length > MAX_CONTROL || !is_last) {
            return Err(broken("a control message is long or cut"));
        }
        let mut mask = None;
        if self.role == WsRole::Server {
            let key = mask.insert([0; 4]);
            self.io.read_exact(key).await?;
        }
        Ok(FrameHead { is_last, opcode, length, mask })
    }

    async fn payload(&mut self, head: &FrameHead) -> io::Result<Vec<u8>> {
        let mut payload = vec![0; head.length];
        self.io.read_exact(&mut payload).await?;
        if let Some(mask) = head.mask {
            apply_mask(&mut payload, mask);
        }
        Ok(payload)
    }
}

/// Writes messages.
#[derive(Debug)]
pub struct WsWriter<W> {
    io: W,
    role: WsRole,
    random: SystemRandom,
    buffer: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> WsWriter<W> {
    /// Writes as this end.
    pub fn new(io: W, role: WsRole) -> Self {
        Self { io, role, random: SystemRandom::new(), buffer: Vec::new() }
    }

    /// Sends one message, whole.
    pub async fn send(&mut self, message: &WsMessage) -> io::Result<()> {
        match message {
            WsMessage::Binary(payload) => self.frame(2, payload).await,
            WsMessage::Ping(payload) => self.frame(9, payload).await,
            WsMessage::Pong => self.frame(10, &[]).await,
            WsMessage::Close => self.frame(8, &[]).await,
        }
    }

    /// Answers a question whether this end is there.
    pub async fn pong(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame(10, payload).await
    }

    /// Sends one binary message.
    pub async fn binary(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame(2, payload).await
    }

    async fn frame(&mut self, opcode: u8, payload: &[u8]) -> io::Result<()> {
        if payload.len() > MAX_MESSAGE {
            return Err(broken("the message is too long"));
        }
        let masked = if self.role == WsRole::Client { MASKED } else { 0 };
        let out = &mut self.buffer;
        out.clear();
        out.push(FIN | opcode);
        match payload.len() {
            short @ 0..=125 => out.push(masked | u8::try_from(short).unwrap_or_default()),
            middle @ 126..=0xffff => {
                out.push(masked | 0x7e);
                out.extend_from_slice(&u16::try_from(middle).unwrap_or_default().to_be_bytes());
            }
            long => {
                out.push(masked | 0x7f);
                out.extend_from_slice(&u64::try_from(long).unwrap_or_default().to_be_bytes());
            }
        }
        if masked != 0 {
            let mut mask = [0; 4];
            self.random.fill(&mut mask).map_err(|_| io::Error::other("this machine gives no random numbers"))?;
            out.extend_from_slice(&mask);
            let start = out.len();
            out.extend_from_slice(payload);
            apply_mask(&mut out[start..], mask);
        } else {
            out.extend_from_slice(payload);
        }
        // In one write: a head that travels alone would wait for its acknowledgement.
        self.io.write_all(out).await?;
        self.io.flush().await
    }
}

fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
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

#[cfg(test)]
mod tests;
