//! A server on loopback that does to each connection what a script says, and remembers what it received.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// One step of a scripted connection, which is closed at the end.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Read a request: its head, and as much body as it announces.
    Read,
    Say(Vec<u8>),
    /// Say something again and again, until the client has gone.
    Drip(Vec<u8>, Duration),
    /// Break the connection, so that the client sees a reset.
    Reset,
    /// Do nothing until the client has gone.
    Hang,
}

pub(crate) type Script = Vec<Act>;

/// Progress of the server, for tests to wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) connections: usize,
    pub(crate) requests: usize,
    /// Connections on which a hanging server saw the client go.
    pub(crate) gone: usize,
    /// Scripts that have come to their `Hang`.
    pub(crate) hanging: usize,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: watch::Receiver<Seen>,
    /// The last accepted client.
    last: watch::Receiver<Option<SocketAddr>>,
    received: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

#[derive(Clone)]
struct Log {
    seen: Arc<watch::Sender<Seen>>,
    received: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// One script for each connection; the last one for all that follow.
    pub(crate) async fn playing(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = watch::channel(Seen::default());
        let log = Log { seen: Arc::new(sender), received: Arc::default() };
        let received = Arc::clone(&log.received);
        let (newest, last) = watch::channel(None);
        let task = tokio::spawn(async move {
            for number in 0.. {
                let (stream, peer) = listener.accept().await.unwrap();
                log.seen.send_modify(|seen| seen.connections += 1);
                newest.send_replace(Some(peer));
                let script = scripts[number.min(scripts.len() - 1)].clone();
                tokio::spawn(play(stream, script, log.clone()));
            }
        });
        Self { address, seen, last, received, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
    pub(crate) fn seen(&self) -> Seen {
        *self.seen.borrow()
    }
    /// The connections of the client, of which the last may still be on its way: they are let in one after the other, so when
    /// one that is made now is in, all are.
    pub(crate) async fn connections(&self) -> usize {
        let fence = TcpStream::connect(self.address).await.unwrap();
        let own = fence.local_addr().unwrap();
        self.last.clone().wait_for(|peer| *peer == Some(own)).await.unwrap();
        self.seen().connections.saturating_sub(1)
    }
    /// Waits until the server has come so far.
    pub(crate) async fn until(&self, far: impl FnMut(&Seen) -> bool) {
        self.seen.clone().wait_for(far).await.unwrap();
    }
    /// The requests, heads and bodies.
    pub(crate) fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn play(mut stream: TcpStream, script: Script, log: Log) {
    for act in script {
        match act {
            Act::Read => {
                let Some(request) = read_request(&mut stream).await else { return };
                log.received.lock().unwrap().push(request);
                log.seen.send_modify(|seen| seen.requests += 1);
            }
            Act::Say(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Act::Drip(bytes, pause) => {
                while stream.write_all(&bytes).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
                return;
            }
            Act::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
            Act::Hang => {
                log.seen.send_modify(|seen| seen.hanging += 1);
                while !matches!(stream.read(&mut [0; 1024]).await, Ok(0) | Err(_)) {}
                log.seen.send_modify(|seen| seen.gone += 1);
                return;
            }
        }
    }
    // Closed in one direction first: bytes that nobody read would turn the close into a reset.
    if stream.shutdown().await.is_ok() {
        while matches!(stream.read(&mut [0; 1024]).await, Ok(1..)) {}
    }
}

pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let length = String::from_utf8_lossy(&bytes[..head]).lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    while bytes.len() < head + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(String::from_utf8(bytes).unwrap())
}
