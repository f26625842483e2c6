//! What a program writes, up to a limit; the rest is read, counted and dropped, so that the program never blocks on it.

use tokio::io::{AsyncRead, AsyncReadExt};

const PIECE: usize = 16 * 1024;

/// One stream of a program.
#[derive(Debug)]
pub(super) struct Capture {
    pub(super) kept: Vec<u8>,
    pub(super) dropped: u64,
    limit: usize,
}

impl Capture {
    pub(super) const fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), dropped: 0, limit }
    }

    /// Reads a stream to its end.
    pub(super) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut piece = vec![0; PIECE];
        // A pipe that fails has nothing more to say, just as one that ends.
        while let Ok(count @ 1..) = stream.read(&mut piece).await {
            self.take(&piece[..count]);
        }
    }

    fn take(&mut self, piece: &[u8]) {
        let room = (self.limit - self.kept.len()).min(piece.len());
        self.kept.extend_from_slice(&piece[..room]);
        self.dropped += (piece.len() - room) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_is_cut_at_the_limit_and_read_to_its_end() {
        for (limit, kept, dropped) in [(0, "", 5), (3, "abc", 2), (5, "abcde", 0), (9, "abcde", 0)] {
            let mut capture = Capture::new(limit);
            capture.fill(Some(&b"abcde"[..])).await;
            assert_eq!((capture.kept.as_slice(), capture.dropped), (kept.as_bytes(), dropped), "{limit}");
        }
    }
}
