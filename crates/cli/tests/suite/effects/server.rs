//! A server on loopback, outside the sandbox.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name and the loopback address of this machine that a command reaches through the proxy alone: `127.0.0.1` and `localhost` are
/// the sandbox's own.
fn outside_host() -> (String, IpAddr) {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let resolved = (name.as_str(), 0).to_socket_addrs().ok().and_then(|mut found| found.find(SocketAddr::is_ipv4));
    match resolved {
        Some(address) if address.ip().is_loopback() && !name.is_empty() => (name, address.ip()),
        _ => ("127.0.0.2".to_owned(), IpAddr::from([127, 0, 0, 2])),
    }
}

/// The path of a request, and the answer: status, headers, body.
pub(crate) type Answer = (u16, Vec<(String, String)>, Vec<u8>);

/// An HTTP server on loopback, outside the sandbox, which counts who connects. It ends with the test.
pub(crate) struct Server {
    pub(crate) host: String,
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// One that answers every request with this text.
    pub(crate) fn start(text: &'static str) -> Self {
        Self::with(move |_, _| (200, Vec::new(), text.as_bytes().to_vec()))
    }

    /// One that answers with what this makes of the path and of the server's own `host:port`.
    pub(crate) fn with(answer: impl Fn(&str, &str) -> Answer + Send + 'static) -> Self {
        let (name, address) = outside_host();
        let listener = TcpListener::bind((address, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let host = format!("{name}:{}", address.port());
        let (connections, requests, closing): (Arc<AtomicUsize>, Arc<Mutex<Vec<String>>>, Arc<AtomicBool>) = Default::default();
        let (counted, heard, ends, own) = (Arc::clone(&connections), Arc::clone(&requests), Arc::clone(&closing), host.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                // A client that went away, or says nothing, gets no answer.
                serve(stream, &own, &heard, &answer).ok();
            }
        });
        Self { host, address, connections, requests, closing, thread: Some(thread) }
    }

    /// Its host without the port.
    pub(crate) fn name(&self) -> &str {
        self.host.split(':').next().unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The paths that were asked for.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // A connection wakes the listener; without one it would be waited for in vain.
        if TcpStream::connect(self.address).is_ok() {
            self.thread.take().map(JoinHandle::join);
        }
    }
}

fn serve(mut stream: TcpStream, own: &str, heard: &Mutex<Vec<String>>, answer: impl Fn(&str, &str) -> Answer) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !request.windows(4).any(|part| part == b"\r\n\r\n") {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..count]);
    }
    let text = String::from_utf8_lossy(&request);
    let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
    heard.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    let (status, headers, body) = answer(&path, own);
    let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<Vec<_>>().concat();
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len())?;
    stream.write_all(&body)
}
