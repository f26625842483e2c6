//! Listens in between haft and the simulator: aimock's journal holds its own reading of a request, this holds the request.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// One request as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    /// The path, with the query.
    pub(super) path: String,
    pub(super) body: Value,
}

/// A port that passes on every byte in both directions.
#[derive(Debug)]
pub(super) struct Tap {
    pub(super) address: SocketAddr,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Tap {
    pub(super) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // The simulator ends with its test, which may be before the last connection does.
                let Ok(server) = TcpStream::connect(server) else { break };
                let (client_too, server_too, kept) = (client.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(&kept));
                let mut unread = Vec::new();
                thread::spawn(move || pass(&client, &server, |piece| listen(&mut unread, piece, &kept)));
                thread::spawn(move || pass(&server_too, &client_too, |_| {}));
            }
        });
        Self { address, sent }
    }

    /// Every whole request so far, in the order in which they came to their end.
    pub(super) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

/// Until one of the two has had enough; then the other hears of it.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut each: impl FnMut(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        each(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // They may be closed already.
    to.shutdown(Shutdown::Both).ok();
    from.shutdown(Shutdown::Both).ok();
}

fn listen(unread: &mut Vec<u8>, piece: &[u8], kept: &Mutex<Vec<Sent>>) {
    unread.extend_from_slice(piece);
    while let Some((sent, length)) = request(unread) {
        kept.lock().unwrap().push(sent);
        unread.drain(..length);
    }
}

/// The first request, if all of it is there, and its length.
fn request(bytes: &[u8]) -> Option<(Sent, usize)> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let lines = std::str::from_utf8(&bytes[..head]).unwrap();
    let header = |line: &str| line.to_lowercase().strip_prefix("content-length:").and_then(|length| length.trim().parse::<usize>().ok());
    let length = lines.lines().find_map(header).expect("haft says how long a body is");
    let body = bytes.get(head + 4..head + 4 + length)?;
    let path = lines.split(' ').nth(1).unwrap().to_owned();
    Some((Sent { path, body: serde_json::from_slice(body).unwrap() }, head + 4 + length))
}
