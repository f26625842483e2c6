//! Connections: a bounded number, none that is idle for ever, and no delay for small answers.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Connections that may be open at once. More wait to be accepted.
const MOST: usize = 128;
/// A connection on which nothing is read or written for this long is closed. Open streams get a comment every 15 seconds.
const IDLE: Duration = Duration::from_mins(2);
/// Pause after an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections.
#[derive(Debug)]
pub(super) struct BoundedListener {
    listener: TcpListener,
    slots: Arc<Semaphore>,
}

impl BoundedListener {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, slots: Arc::new(Semaphore::new(MOST)) }
    }
}

impl Listener for BoundedListener {
    type Io = ClientStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ClientStream, SocketAddr) {
        loop {
            let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Small answers would wait 40 ms for the acknowledgement of the ones before.
                    stream.set_nodelay(true).ok();
                    return (ClientStream::new(stream, slot, IDLE), address);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when it is idle for too long.
#[derive(Debug)]
pub(super) struct ClientStream {
    stream: TcpStream,
    idle: Duration,
    deadline: Pin<Box<Sleep>>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl ClientStream {
    fn new(stream: TcpStream, slot: Option<OwnedSemaphorePermit>, idle: Duration) -> Self {
        Self { stream, idle, deadline: Box::pin(tokio::time::sleep(idle)), _slot: slot }
    }

    fn touch(&mut self) {
        let deadline = Instant::now() + self.idle;
        self.deadline.as_mut().reset(deadline);
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(read) => {
                self.touch();
                Poll::Ready(read)
            }
            Poll::Pending => {
                ready!(self.deadline.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.touch();
        Poll::Ready(written)
    }
    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts));
        self.touch();
        Poll::Ready(written)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn idle_connection_is_closed_and_small_answers_are_not_delayed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut listener = BoundedListener::new(listener);
        let client = TcpStream::connect(address).await.unwrap();
        let (accepted, _) = listener.accept().await;
        assert!(accepted.stream.nodelay().unwrap());
        let mut stream = ClientStream::new(accepted.stream, None, Duration::from_millis(20));
        let ended = stream.read(&mut [0; 8]).await.map_err(|error| error.kind());
        assert_eq!(ended, Err(io::ErrorKind::TimedOut));
        drop(client);
    }
}
