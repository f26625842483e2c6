//! When the server of a tenant was last used: one that nobody uses ends.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{UnixListener, UnixStream};

/// Pause after an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections to the server of a tenant. Clones are the same.
#[derive(Debug, Clone)]
pub struct TenantActivity(Arc<Mutex<ConnectionCounts>>);

#[derive(Debug)]
struct ConnectionCounts {
    accepted: u64,
    open: usize,
    /// When the last one was closed.
    closed: Instant,
}

impl Default for TenantActivity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ConnectionCounts { accepted: 0, open: 0, closed: Instant::now() })))
    }
}

impl TenantActivity {
    /// For how long nobody was connected.
    pub fn idle_for(&self) -> Duration {
        let counts = self.counts();
        if counts.open > 0 { Duration::ZERO } else { counts.closed.elapsed() }
    }

    /// Closes the socket for new connections, unless one came meanwhile. Then it is open as before.
    ///
    /// A request that is already in the queue of the socket would be dropped by a server that ends now. So the socket is renamed, and
    /// then connected to under its new name: the queue is in order, so every earlier connection is accepted before this one.
    pub async fn close_if_unused(&self, socket: &Path) -> bool {
        let before = self.counts().accepted;
        // No longer than its name: there is a limit for paths of sockets.
        let closed = socket.with_extension("old");
        if std::fs::rename(socket, &closed).is_err() {
            return false;
        }
        let last = accepted_connection(&closed).await.is_ok();
        let counts = self.counts();
        let unused = last && counts.accepted == before + 1 && counts.open == 0;
        drop(counts);
        if unused {
            std::fs::remove_file(&closed).ok();
            return true;
        }
        std::fs::rename(&closed, socket).ok();
        false
    }

    fn begin(&self) -> OpenConnection {
        let mut counts = self.counts();
        counts.accepted += 1;
        counts.open += 1;
        OpenConnection(self.clone())
    }

    // Numbers that are written together.
    fn counts(&self) -> MutexGuard<'_, ConnectionCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects, and waits until the server has accepted and closed the connection.
async fn accepted_connection(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.shutdown().await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(())
}

struct OpenConnection(TenantActivity);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut counts = self.0.counts();
        counts.open = counts.open.saturating_sub(1);
        counts.closed = Instant::now();
    }
}

/// Accepts connections of the server in front, and counts them.
pub(crate) struct CountedListener {
    listener: UnixListener,
    activity: TenantActivity,
}

impl CountedListener {
    pub(crate) fn new(listener: UnixListener, activity: TenantActivity) -> Self {
        Self { listener, activity }
    }
}

impl Listener for CountedListener {
    type Io = CountedConnection;
    type Addr = tokio::net::unix::SocketAddr;

    async fn accept(&mut self) -> (CountedConnection, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => return (CountedConnection { stream, _open: self.activity.begin() }, address),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that counts as long as it is open.
pub(crate) struct CountedConnection {
    stream: UnixStream,
    _open: OpenConnection,
}

impl AsyncRead for CountedConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for CountedConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
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
    use axum::Router;
    use axum::routing::get;

    use super::*;

    async fn answer(socket: &Path) -> io::Result<String> {
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text)
    }

    #[tokio::test]
    async fn socket_closes_when_unused_and_a_request_in_its_queue_keeps_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let (activity, listener) = (TenantActivity::default(), UnixListener::bind(&socket).unwrap());
        // In the queue before the server accepts anything.
        let waiting = tokio::spawn({
            let socket = socket.clone();
            async move { answer(&socket).await }
        });
        tokio::task::yield_now().await;
        let app = Router::new().route("/", get(|| async { "here" }));
        let server = tokio::spawn(axum::serve(CountedListener::new(listener, activity.clone()), app).into_future());
        assert!(!activity.close_if_unused(&socket).await, "a request was in the queue");
        assert!(waiting.await.unwrap().unwrap().ends_with("here"));
        assert!(answer(&socket).await.unwrap().ends_with("here"), "the socket is open again");
        assert!(activity.close_if_unused(&socket).await);
        assert_eq!(answer(&socket).await.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        server.abort();
    }
}
