//! What arrives.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, BufReader};

use crate::{FIN, MASKED, MAX_CONTROL, MAX_MESSAGE, WsMessage, WsRole, apply_mask, broken};

/// Reads messages.
#[derive(Debug)]
pub struct WsReader<R> {
    io: BufReader<R>,
    role: WsRole,
    /// A message of which not all fragments have come: whether it is text, and what there is of it.
    begun: Option<(bool, Vec<u8>)>,
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
        Self { io: BufReader::with_capacity(16 << 10, io), role, begun: None }
    }

    /// The next message; an error ends the connection. Controls may come between the fragments of a message.
    pub async fn next(&mut self) -> io::Result<WsMessage> {
        loop {
            let head = self.head().await?;
            let so_far = self.begun.as_ref().map_or(0, |(_, bytes)| bytes.len());
            if so_far + head.length > MAX_MESSAGE {
                return Err(broken("the message is too long"));
            }
            let payload = self.payload(&head).await?;
            match head.opcode {
                0 => self.begun.as_mut().ok_or_else(|| broken("a fragment without a beginning"))?.1.extend_from_slice(&payload),
                kind @ (1 | 2) if self.begun.is_none() => self.begun = Some((kind == 1, payload)),
                1 | 2 => return Err(broken("a message begins before the one before has ended")),
                8 => return Ok(WsMessage::Close),
                9 => return Ok(WsMessage::Ping(payload)),
                10 => return Ok(WsMessage::Pong),
                _ => return Err(broken("a kind of message that does not exist")),
            }
            if head.is_last
                && let Some((is_text, bytes)) = self.begun.take()
            {
                if !is_text {
                    return Ok(WsMessage::Binary(bytes));
                }
                return String::from_utf8(bytes).map(WsMessage::Text).map_err(|_| broken("a text that is none"));
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
