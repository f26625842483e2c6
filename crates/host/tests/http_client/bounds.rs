//! No answer, however long, slow or dense, takes more than its share.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::ErrorKind;
use haft_host::HttpOptions;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::support::{Names, Server, client_for, client_with, patient, read_request, request, send};

const MEGABYTE: usize = 1024 * 1024;

/// A gzip stream of this many zeros: a literal, then copies of 258 bytes in 13 bits each.
fn dense_zeros(length: usize) -> Vec<u8> {
    let mut packed = Bits { bytes: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], used: 8 };
    packed.push(0b011, 3); // the last block, with fixed codes
    packed.push(0b0000_1100, 8); // the byte 0
    for _ in 0..(length - 1) / 258 {
        packed.push(0b1010_0011, 8); // a copy of 258 bytes
        packed.push(0, 5); // from one byte back
    }
    packed.bytes
}

/// Bits, lowest first.
struct Bits {
    bytes: Vec<u8>,
    used: u8,
}

impl Bits {
    fn push(&mut self, bits: u8, count: u8) {
        for index in 0..count {
            if self.used == 8 {
                self.bytes.push(0);
                self.used = 0;
            }
            *self.bytes.last_mut().unwrap() |= (bits >> index & 1) << self.used;
            self.used += 1;
        }
    }
}

#[tokio::test]
async fn a_gzip_bomb_arrives_in_small_pieces() {
    let length = 64 * MEGABYTE;
    let packed = Arc::new(dense_zeros(length));
    assert!(packed.len() < length / 150);
    let server = Server::handling(move |mut stream| {
        let packed = Arc::clone(&packed);
        async move {
            read_request(&mut stream).await.unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", packed.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            drop(stream.write_all(&packed).await);
        }
    })
    .await;
    let mut response = send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap();
    let (mut total, mut largest) = (0, 0);
    // The stream ends without its checksum, which the tool would be told after the last piece.
    while let Ok(Some(piece)) = response.body.chunk().await {
        assert!(piece.iter().all(|byte| *byte == 0));
        total += piece.len();
        largest = largest.max(piece.len());
    }
    assert!(total > length - 2 * 258 - 16 * 1024 && total <= length, "{total}");
    assert!(largest <= 64 * 1024, "a piece of {largest} bytes");
}

#[tokio::test]
async fn dropping_an_endless_answer_closes_the_connection() {
    let (closed, mut was_closed) = mpsc::unbounded_channel();
    let server = Server::handling(move |mut stream| {
        let closed = closed.clone();
        async move {
            read_request(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
            let piece = [b"4000\r\n".as_slice(), &[b'x'; 0x4000], b"\r\n"].concat();
            while stream.write_all(&piece).await.is_ok() {}
            closed.send(()).unwrap();
        }
    })
    .await;
    let mut response = send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap();
    let mut total = 0;
    while total < MEGABYTE {
        total += response.body.chunk().await.unwrap().unwrap().len();
    }
    drop(response);
    was_closed.recv().await.unwrap();
}

#[tokio::test]
async fn an_endless_head_is_cut_off() {
    let (sent, mut was_sent) = mpsc::unbounded_channel();
    let server = Server::handling(move |mut stream| {
        let sent = sent.clone();
        async move {
            read_request(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nx-long: ").await.unwrap();
            let mut total = 0;
            while stream.write_all(&[b'a'; 0x4000]).await.is_ok() {
                total += 0x4000;
            }
            sent.send(total).unwrap();
        }
    })
    .await;
    let error = send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap_err();
    let expected = format!("HTTP request failed: {}: message head is too large.", server.url("/"));
    assert_eq!((error.kind(), error.message()), (ErrorKind::NetworkError, &*expected));
    let total = was_sent.recv().await.unwrap();
    assert!(total < 32 * MEGABYTE, "the client took {total} bytes of a head, socket buffers included");
}

#[tokio::test]
async fn too_many_headers_are_refused() {
    let server = Server::answering(|_| format!("HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n", "x: 1\r\n".repeat(300))).await;
    let error = send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap_err();
    assert_eq!(error.message(), format!("HTTP request failed: {}: message head is too large.", server.url("/")));
}

fn impatient() -> HttpOptions {
    HttpOptions { idle_timeout: Duration::from_secs(1), ..patient() }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let server = Server::handling(|mut stream| async move {
        read_request(&mut stream).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let client = client_with(&[server.address.to_string()], impatient(), Arc::new(Names::default()));
    let error = send(&client, request("GET", &server.url("/"))).await.unwrap_err();
    let expected = "HTTP request timed out: no data from 127.0.0.1 within 1s. Try again later, or another address.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Timeout, expected));
}

#[tokio::test]
async fn a_body_that_stops_is_given_up() {
    let server = Server::handling(|mut stream| async move {
        read_request(&mut stream).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab").await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let client = client_with(&[server.address.to_string()], impatient(), Arc::new(Names::default()));
    let mut response = send(&client, request("GET", &server.url("/"))).await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap(), Some(b"ab".to_vec()));
    let error = response.body.chunk().await.unwrap_err();
    let expected = "HTTP request timed out: no data from 127.0.0.1 within 1s. Try again later, or another address.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Timeout, expected));
}

#[tokio::test]
async fn endless_interim_answers_are_given_up() {
    let server = Server::handling(|mut stream| async move {
        read_request(&mut stream).await.unwrap();
        while stream.write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n").await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let client = client_with(&[server.address.to_string()], impatient(), Arc::new(Names::default()));
    let error = send(&client, request("GET", &server.url("/"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}
