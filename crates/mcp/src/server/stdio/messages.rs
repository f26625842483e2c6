//! Messages to the client: those that are ready together are written together.

use std::io;
use std::sync::PoisonError;

use rmcp::model::ServerJsonRpcMessage;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Memory that is kept for the next messages; one large message must not hold its own for ever.
const KEPT_BUFFER: usize = 256 * 1024;

/// Writes messages, each on a line of its own.
pub(super) struct MessageWriter<W> {
    /// Messages that the next write takes with it: answers of calls that end together cost one write, not one each.
    ready: std::sync::Mutex<Vec<u8>>,
    output: Mutex<Option<MessageOutput<W>>>,
    closing: CancellationToken,
}

struct MessageOutput<W> {
    writer: W,
    /// The messages of the current write; its memory is that of the next ones.
    messages: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> MessageWriter<W> {
    pub(super) fn new(writer: W, closing: CancellationToken) -> Self {
        let output = MessageOutput { writer, messages: Vec::new() };
        Self { ready: std::sync::Mutex::default(), output: Mutex::new(Some(output)), closing }
    }

    /// Resolves when the message is written, or the connection has failed.
    pub(super) async fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        self.add(message)?;
        // Whatever else is ready to be sent adds itself now.
        tokio::task::yield_now().await;
        let mut output = self.output.lock().await;
        let MessageOutput { writer, messages } = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        messages.clear();
        messages.shrink_to(KEPT_BUFFER);
        std::mem::swap(messages, &mut *self.ready.lock().unwrap_or_else(PoisonError::into_inner));
        // Another write has taken this message with it.
        if messages.is_empty() {
            return Ok(());
        }
        let written = async {
            writer.write_all(messages).await?;
            writer.flush().await
        };
        // A client that reads nothing any more has gone.
        written.await.inspect_err(|_| self.closing.cancel())
    }

    /// Ends the output.
    pub(super) async fn close(&self) {
        drop(self.output.lock().await.take());
    }

    /// Adds a whole message, or nothing of it.
    fn add(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let before = ready.len();
        serde_json::to_writer(&mut *ready, message).inspect_err(|_| ready.truncate(before))?;
        ready.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::{Arc, Mutex as SyncMutex};
    use std::task::{Context, Poll};

    use rmcp::model::{ErrorData, RequestId};

    use super::*;

    /// Keeps what each write brought.
    #[derive(Clone, Default)]
    struct KeptWrites(Arc<SyncMutex<Vec<Vec<u8>>>>);

    impl AsyncWrite for KeptWrites {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.0.lock().unwrap().push(bytes.to_vec());
            Poll::Ready(Ok(bytes.len()))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn message(number: i64, text: &str) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::error(ErrorData::internal_error(text.to_owned(), None), Some(RequestId::Number(number)))
    }

    #[tokio::test]
    async fn messages_that_are_ready_together_cost_one_write() {
        let kept = KeptWrites::default();
        let writer = Arc::new(MessageWriter::new(kept.clone(), CancellationToken::new()));
        let tasks: Vec<_> = (0..50).map(|number| (Arc::clone(&writer), number)).collect();
        let tasks: Vec<_> =
            tasks.into_iter().map(|(writer, number)| tokio::spawn(async move { writer.write(&message(number, "x")).await })).collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let writes = kept.0.lock().unwrap().clone();
        assert_eq!(writes.len(), 1);
        let lines: Vec<serde_json::Value> =
            String::from_utf8(writes.concat()).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.iter().map(|line| line["id"].as_i64().unwrap()).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_large_message_does_not_hold_its_memory() {
        let kept = KeptWrites::default();
        let writer = MessageWriter::new(kept.clone(), CancellationToken::new());
        writer.write(&message(1, &"x".repeat(4 << 20))).await.unwrap();
        writer.write(&message(2, "x")).await.unwrap();
        writer.write(&message(3, "x")).await.unwrap();
        assert_eq!(kept.0.lock().unwrap().len(), 3);
        let held = writer.output.lock().await.as_ref().unwrap().messages.capacity() + writer.ready.lock().unwrap().capacity();
        assert!(held <= 2 * KEPT_BUFFER, "{held}");
        writer.close().await;
        assert!(writer.write(&message(4, "x")).await.is_err(), "nothing is written after the end");
    }
}
