//! Bodies of responses, never larger in memory than their limit.

use std::io;

use futures_util::stream::{BoxStream, StreamExt};
use reqwest::Response;
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpError};
use sse_stream::{Sse, SseStream};

use super::HttpError;

/// The whole body; an error as soon as it is larger.
pub(in crate::client) async fn whole(mut response: Response, limit: usize) -> Result<Vec<u8>, HttpError> {
    let too_large = || StreamableHttpError::Io(too_large(limit));
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(StreamableHttpError::Client)? {
        if bytes.len() + chunk.len() > limit {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The start of a body; a failure ends it.
pub(super) async fn start(mut response: Response, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let Ok(Some(chunk)) = response.chunk().await else { break };
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(limit);
    bytes
}

/// The events of a body, each within the limit.
pub(super) fn events(response: Response, limit: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut size = EventSize { limit, event: 0, line: 0 };
    let chunks = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        size.count(&chunk).map(|()| chunk)
    });
    SseStream::from_bytes_stream(chunks).boxed()
}

fn too_large(limit: usize) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it sent a message of more than {} MB", limit / 1024 / 1024))
}

/// Counts the bytes of an event, which an empty line ends.
struct EventSize {
    limit: usize,
    event: usize,
    line: usize,
}

impl EventSize {
    fn count(&mut self, chunk: &[u8]) -> io::Result<()> {
        for byte in chunk {
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            self.event += 1;
            if self.event > self.limit {
                return Err(too_large(self.limit));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_bounded_one_by_one() {
        let mut size = EventSize { limit: 16, event: 0, line: 0 };
        for _ in 0..100 {
            size.count(b"data: 1\r\n\r\n").unwrap();
        }
        assert!(size.count(b"data: 1\ndata: 2\ndata: 3\n").is_err());
    }
}
