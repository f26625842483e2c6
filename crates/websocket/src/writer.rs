//! What is sent.

use std::io;

use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::{FIN, MASKED, MAX_MESSAGE, WsMessage, WsRole, apply_mask, broken};

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
            WsMessage::Text(text) => self.frame(1, text.as_bytes()).await,
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
