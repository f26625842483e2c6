//! The request that turns a connection into a WebSocket.

use std::io;

use haft_text::base64;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::accept_key;

/// The longest answer to the request.
const MAX_HEAD: usize = 16 << 10;

/// Asks the server of this name for a WebSocket at a path with its query. The error names the answer of a server that refuses.
pub async fn request_upgrade<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, host: &str, path: &str) -> io::Result<()> {
    let mut nonce = [0; 16];
    SystemRandom::new().fill(&mut nonce).map_err(|_| io::Error::other("this machine gives no random numbers"))?;
    let key = base64::encode(&nonce);
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {key}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let head = read_head(stream).await?;
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("101") {
        return Err(io::Error::other(format!("it answered '{status}'")));
    }
    let accepted = lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-accept"));
    if accepted.map(|(_, value)| value.trim()) != Some(accept_key(&key).as_str()) {
        return Err(io::Error::other("it answered with another WebSocket than the one that was asked for"));
    }
    Ok(())
}

/// Reads to the empty line and not beyond: what follows are messages.
async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD {
            return Err(io::Error::other("its answer is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    String::from_utf8(head).map_err(io::Error::other)
}
