//! What is written to the client: lines wait together, and go out with as few writes as possible.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

/// The memory that stays between messages.
const USUAL: usize = 64 * 1024;

/// Lines for the client.
pub(super) struct MessageOutput<W> {
    /// Whole lines that nobody has begun to write.
    waiting: Mutex<Vec<u8>>,
    pipe: tokio::sync::Mutex<OutputPipe<W>>,
    /// Whether a task will write what waits. It says so until it looks, so one task is enough however slowly the client reads.
    has_task: AtomicBool,
    /// Cancelled when the client reads nothing any more.
    closing: CancellationToken,
}

struct OutputPipe<W> {
    /// Until it is closed.
    writer: Option<W>,
    /// Lines of which a part may be written. They are here, and not in a future, so that a flush that is dropped loses nothing.
    lines: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> MessageOutput<W> {
    pub(super) fn new(writer: W, closing: CancellationToken) -> Self {
        let pipe = OutputPipe { writer: Some(writer), lines: Vec::new(), written: 0 };
        Self { waiting: Mutex::default(), pipe: tokio::sync::Mutex::new(pipe), has_task: AtomicBool::new(false), closing }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<u8>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message with its line feed, to be written by the next flush. One that cannot be made is left out as a whole.
    pub(super) fn push(&self, make: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let mut waiting = self.waiting();
        let before = waiting.len();
        make(&mut waiting).inspect_err(|_| waiting.truncate(before))?;
        waiting.push(b'\n');
        Ok(())
    }

    /// How many bytes wait.
    pub(super) fn len(&self) -> usize {
        self.waiting().len()
    }

    /// Writes everything that waits. A flush that is dropped is continued by the next.
    pub(super) async fn flush(&self) -> io::Result<()> {
        self.flush_pipe(self.pipe.lock().await).await
    }

    async fn flush_pipe(&self, mut pipe: tokio::sync::MutexGuard<'_, OutputPipe<W>>) -> io::Result<()> {
        let flushed = async {
            while self.refill(&mut pipe) {
                pipe.write().await?;
            }
            pipe.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?.flush().await
        };
        // A client that reads nothing any more has gone.
        flushed.await.inspect_err(|_| self.closing.cancel())
    }

    /// Whether there is something to write.
    fn refill(&self, pipe: &mut OutputPipe<W>) -> bool {
        if pipe.written == pipe.lines.len() {
            pipe.written = 0;
            pipe.lines.clear();
            pipe.lines.shrink_to(USUAL);
            std::mem::swap(&mut pipe.lines, &mut self.waiting());
        }
        !pipe.lines.is_empty()
    }

    /// Nothing is written after this.
    pub(super) async fn close(&self) {
        drop(self.pipe.lock().await.writer.take());
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> MessageOutput<W> {
    /// Writes everything that waits at once where the client has room for it, and behind the caller where it has not.
    pub(super) fn flush_behind(self: &Arc<Self>) {
        if self.flush().now_or_never().is_some() || self.has_task.swap(true, Ordering::AcqRel) {
            return;
        }
        let output = Arc::clone(self);
        tokio::spawn(async move {
            let pipe = output.pipe.lock().await;
            output.has_task.store(false, Ordering::Release);
            output.flush_pipe(pipe).await.ok();
        });
    }
}

impl<W: AsyncWrite + Unpin> OutputPipe<W> {
    async fn write(&mut self) -> io::Result<()> {
        let writer = self.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        match writer.write(&self.lines[self.written..]).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            count => {
                self.written += count;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn add<W: AsyncWrite + Unpin>(output: &MessageOutput<W>, text: &str) {
        let write = |lines: &mut Vec<u8>| {
            lines.extend_from_slice(text.as_bytes());
            Ok(())
        };
        output.push(write).unwrap();
    }

    #[tokio::test]
    async fn flush_that_is_dropped_is_continued_and_lines_stay_in_order() {
        let (near, mut far) = tokio::io::duplex(4);
        let output = Arc::new(MessageOutput::new(near, CancellationToken::new()));
        add(&output, "one\ntwo");
        assert!(output.flush().now_or_never().is_none(), "the client has room for four bytes");
        add(&output, "three");
        assert!(
            output
                .push(|lines| {
                    lines.push(b'x');
                    Err(io::ErrorKind::InvalidData.into())
                })
                .is_err()
        );
        output.flush_behind();
        let mut read = [0; 14];
        far.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"one\ntwo\nthree\n");
        output.close().await;
        assert_eq!(far.read(&mut read).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn client_that_has_gone_ends_the_connection() {
        let (near, far) = tokio::io::duplex(4);
        let output = MessageOutput::new(near, CancellationToken::new());
        drop(far);
        add(&output, "one");
        output.flush().await.unwrap_err();
        assert!(output.closing.is_cancelled());
    }
}
