//! Connections of our HTTP servers: a bounded number, and none that neither reads nor writes for long.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// How long a new connection has for the head of its first request. A client that is slower takes the place of others.
const FIRST_HEAD: Duration = Duration::from_secs(10);
/// What ends a head.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Pause after an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// How many connections a server has, and for how long.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// Connections that may be open at once. More wait to be accepted.
    pub most: usize,
    /// A connection over which nothing goes for this long is closed. Servers send a comment on open streams every 15 seconds, so this
    /// ends those whose other side does not read.
    pub idle: Duration,
}

impl ConnectionLimits {
    /// At most this many, each closed when it was idle for this long.
    pub fn new(most: usize, idle: Duration) -> Self {
        Self { most, idle }
    }
}

/// Accepts connections.
#[derive(Debug)]
pub struct BoundedListener {
    listener: TcpListener,
    slots: Arc<Semaphore>,
    idle: Duration,
}

impl BoundedListener {
    /// Accepts from this listener, within these limits.
    pub fn new(listener: TcpListener, limits: ConnectionLimits) -> Self {
        Self { listener, slots: Arc::new(Semaphore::new(limits.most)), idle: limits.idle }
    }
}

impl Listener for BoundedListener {
    type Io = HttpConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (HttpConnection, SocketAddr) {
        loop {
            let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Small events would wait 40 ms for the acknowledgement of the ones before.
                    stream.set_nodelay(true).ok();
                    return (HttpConnection::new(stream, slot, self.idle), address);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The requests of a connection that are being answered: a call may wait for an approval longer than a connection may be idle.
#[derive(Debug, Clone, Default)]
pub struct OpenRequests(Arc<AtomicUsize>);

impl OpenRequests {
    /// Counts a request until the guard is dropped.
    pub fn begin(&self) -> RequestGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        RequestGuard(self.clone())
    }

    fn is_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub struct RequestGuard(OpenRequests);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that ends when nothing moves on it and no request is being answered.
#[derive(Debug)]
pub struct HttpConnection {
    stream: TcpStream,
    requests: OpenRequests,
    idle: Duration,
    deadline: Pin<Box<Sleep>>,
    /// While the head of its first request is not here: how much of what ends one is.
    head: Option<usize>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl HttpConnection {
    fn new(stream: TcpStream, slot: Option<OwnedSemaphorePermit>, idle: Duration) -> Self {
        let deadline = Box::pin(tokio::time::sleep(idle.min(FIRST_HEAD)));
        Self { stream, requests: OpenRequests::default(), idle, deadline, head: Some(0), _slot: slot }
    }

    /// Looks for the end of the first head in what was read.
    fn follow_head(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let Some(found) = self.head else { return };
            let found = if *byte == END_OF_HEAD[found] { found + 1 } else { usize::from(*byte == END_OF_HEAD[0]) };
            self.head = (found < END_OF_HEAD.len()).then_some(found);
        }
    }

    /// Its requests that are being answered.
    pub fn requests(&self) -> &OpenRequests {
        &self.requests
    }

    /// Counts a success as a sign of life, and ends a wait that is too long.
    fn watched<T>(&mut self, outcome: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            if self.head.is_none() {
                self.rest();
            }
            return outcome;
        }
        ready!(self.deadline.as_mut().poll(cx));
        if self.requests.is_any() {
            self.rest();
            return self.deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// It may be idle again from now on.
    fn rest(&mut self) {
        let deadline = Instant::now() + self.idle;
        self.deadline.as_mut().reset(deadline);
    }
}

impl AsyncRead for HttpConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.follow_head(&buffer.filled()[before..]);
        self.watched(outcome, cx)
    }
}

impl AsyncWrite for HttpConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // An answer, or the handshake of TLS, in which nobody sees a head.
        self.head = None;
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watched(outcome, cx)
    }
    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.head = None;
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.watched(outcome, cx)
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn pair(idle: Duration) -> (TcpStream, HttpConnection) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = BoundedListener::new(listener, ConnectionLimits::new(2, idle)).accept().await;
        assert!(accepted.stream.nodelay().unwrap());
        (client, HttpConnection::new(accepted.stream, None, idle))
    }

    #[tokio::test]
    async fn connection_that_neither_sends_nor_reads_is_closed() {
        let (client, mut server) = pair(Duration::from_millis(30)).await;
        let ended = server.read(&mut [0; 8]).await.map_err(|error| error.kind());
        assert_eq!(ended, Err(io::ErrorKind::TimedOut));
        // The other side never reads: its buffer is full at some point, and the write ends.
        let mut written = Ok(());
        for _ in 0..10_000 {
            written = server.write_all(&vec![0; 65_536]).await.map_err(|error| error.kind());
            if written.is_err() {
                break;
            }
        }
        assert_eq!(written, Err(io::ErrorKind::TimedOut));
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn head_that_comes_a_byte_at_a_time_is_not_waited_for() {
        let idle = Duration::from_mins(2);
        let (mut client, mut server) = pair(idle).await;
        let began = Instant::now();
        let dripping = async {
            for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: aaaaaaaaaaaaaaaaaaaa".iter().cycle() {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if client.write_all(&[*byte]).await.is_err() {
                    break;
                }
            }
        };
        let reading = async {
            let mut bytes = [0; 8];
            loop {
                if let Err(error) = server.read(&mut bytes).await {
                    return error.kind();
                }
            }
        };
        let ended = tokio::select! {
            ended = reading => ended,
            () = dripping => panic!("the connection is still open"),
        };
        assert_eq!((ended, began.elapsed().as_secs()), (io::ErrorKind::TimedOut, FIRST_HEAD.as_secs()));
    }

    #[tokio::test]
    async fn connection_has_its_whole_time_from_the_end_of_the_first_head_on() {
        for (sent, is_young) in [("GET / HTTP/1.1\r\n\r", true), ("GET / HTTP/1.1\r\n\r\n", false), ("\r\n\r\r\n\r\nbody", false)] {
            let (mut client, mut server) = pair(Duration::from_mins(2)).await;
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut bytes = vec![0; sent.len()];
            server.read_exact(&mut bytes).await.unwrap();
            assert_eq!(server.head.is_some(), is_young, "{sent:?}");
            let left = server.deadline.deadline().duration_since(Instant::now());
            assert_eq!(left <= FIRST_HEAD, is_young, "{left:?}");
        }
    }

    #[tokio::test]
    async fn connection_whose_request_is_being_answered_is_kept() {
        let idle = Duration::from_millis(30);
        let (client, mut server) = pair(idle).await;
        let request = server.requests.begin();
        let waiting = tokio::time::timeout(idle * 10, server.read(&mut [0; 8])).await;
        assert!(waiting.is_err(), "it is still open: {waiting:?}");
        drop(request);
        assert_eq!(server.read(&mut [0; 8]).await.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        drop(client);
    }
}
