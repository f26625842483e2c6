//! Answers without an end: D12. Each costs its own call a bounded time, this process a bounded memory, and the browser works afterwards.

use std::time::{Duration, Instant};

use haft_contract::ports::BrowserAction;

use crate::raw::{RawAnswer, RawServer};
use crate::world::{World, options};

/// Megabytes that the bomb has when it is unpacked.
const BOMB: usize = 400;
/// Kilobytes that this process may grow by.
const MOST_GROWTH: usize = 150 << 10;

/// Bits of a deflate stream, the lowest first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, value: u32, length: usize) {
        for at in 0..length {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= u8::from(value >> at & 1 == 1) << (self.count % 8);
            self.count += 1;
        }
    }
    /// A code of the fixed table: the highest first.
    fn code(&mut self, value: u32, length: usize) {
        (0..length).rev().for_each(|at| self.push(value >> at & 1, 1));
    }
}

/// Spaces without end, packed: one literal, then matches of 258 bytes.
fn bomb() -> Vec<u8> {
    let mut bits = Bits { bytes: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], count: 80 };
    bits.push(0b011, 3);
    bits.code(0x30 + u32::from(b' '), 8);
    for _ in 0..(BOMB << 20) / 258 {
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    bits.code(0, 7);
    bits.bytes.extend([0; 8]);
    bits.bytes
}

fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

pub(crate) async fn floods_are_bounded_in_time_and_memory() {
    let packed = bomb();
    let server =
        RawServer::at("127.0.0.2", move |head| match head.split(' ').nth(1).unwrap_or_default().rsplit('/').next().unwrap_or_default() {
            "bomb" => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                    packed.len()
                );
                RawAnswer::Bytes([head.as_bytes(), &packed].concat())
            }
            "chunks" => RawAnswer::Endless(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
                [b"2000\r\n", " ".repeat(0x2000).as_bytes(), b"\r\n"].concat(),
            ),
            "header" => RawAnswer::Endless(b"HTTP/1.1 200 OK\r\nX-Long: ".to_vec(), vec![b'x'; 1 << 16]),
            "headers" => RawAnswer::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"X-Many: y\r\n".repeat(1000)),
            "slow" => RawAnswer::Slow(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<h1>Late".to_vec()),
            _ => RawAnswer::page("", "<h1>Good</h1>"),
        })
        .await;
    let world = World::new();
    let url = |path: &str| format!("http://127.0.0.2:{}/{path}", server.port);
    world.open(&url("good")).await;
    let before = resident_kilobytes();
    for path in ["bomb", "chunks", "header", "headers", "slow"] {
        let (began, time) = (Instant::now(), Duration::from_secs(6));
        let outcome = world.perform_in(None, BrowserAction::Navigate(url(path)), time).await;
        assert!(began.elapsed() < time + Duration::from_secs(4), "{path} took {:?}: {outcome:?}", began.elapsed());
        assert!(outcome.is_err() || path == "bomb" || path == "chunks", "{path}: {outcome:?}");
        if let Ok(reply) = world.perform_in(None, BrowserAction::Snapshot(options()), time).await {
            assert!(reply.page.unwrap_or_default().len() < 200_000, "{path}");
        }
        let grown = resident_kilobytes().saturating_sub(before);
        assert!(grown < MOST_GROWTH, "{path}: this process has {grown} KB more");
        world.perform(BrowserAction::Open(url("good"))).await.unwrap();
        assert_eq!(world.snapshot().await, "- heading \"Good\" [level=1]", "after {path}");
    }
}
