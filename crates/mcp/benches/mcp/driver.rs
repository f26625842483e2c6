//! Clients that do nothing but measure.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

fn hello() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// `again`: what was shown before is shown in full, not as a note that it has not changed.
fn call(id: u32) -> Value {
    let params = json!({"name": "read_file", "arguments": {"path": "page.txt", "again": true}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn check(answer: &str) {
    assert!(answer.contains("\"isError\":false") && answer.len() > 4096, "{answer}");
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A server on pipes; it ends with this.
pub(crate) struct StdioDriver {
    server: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    next: u32,
}

impl StdioDriver {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = server.stdin.take().map(BufWriter::new);
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut driver = Self { server, input, output, next: 1 };
        driver.send(&hello());
        driver.receive();
        driver.send(&initialized());
        driver
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn receive(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn list(&mut self) {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/list"}));
        assert!(self.receive().contains("read_file"));
    }

    fn call(&mut self) {
        self.next += 1;
        self.send(&call(self.next));
    }

    /// The median of calls one after the other.
    pub(crate) fn latency(&mut self, count: u32) -> Duration {
        let one = |_| {
            let started = Instant::now();
            self.call();
            check(&self.receive());
            started.elapsed()
        };
        middle((0..count).map(one).collect())
    }

    /// The time of each call with so many in flight.
    pub(crate) fn flight(&mut self, count: u32, at_once: u32) -> Duration {
        let started = Instant::now();
        (0..at_once).for_each(|_| self.call());
        for done in 0..count {
            check(&self.receive());
            if done + at_once < count {
                self.call();
            }
        }
        started.elapsed() / count
    }

    /// The memory of the server in KB.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for StdioDriver {
    fn drop(&mut self) {
        drop(self.input.take());
        self.server.wait().ok();
    }
}

/// A server over HTTP; it ends with this.
pub(crate) struct HttpDriver {
    server: Child,
    stream: BufReader<TcpStream>,
    head: String,
}

impl HttpDriver {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_nodelay(true).unwrap();
        let token = said["token"].as_str().unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        let mut driver = Self { server, stream: BufReader::new(stream), head };
        let answer = driver.send(&hello());
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
        driver.head.push_str(&["Mcp-Session-Id: ", &session, "\r\n"].concat());
        driver.send(&initialized());
        driver
    }

    /// Sends a message and reads the whole answer.
    fn send(&mut self, message: &Value) -> String {
        let body = message.to_string();
        let request = format!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut answer, mut length, mut is_chunked) = (String::new(), 0, false);
        loop {
            let line = self.line();
            let lower = line.to_ascii_lowercase();
            length = lower.strip_prefix("content-length: ").map_or(length, |length| length.trim().parse().unwrap());
            is_chunked |= lower.starts_with("transfer-encoding: chunked");
            answer += &line;
            if line == "\r\n" {
                break;
            }
        }
        while is_chunked {
            let size = usize::from_str_radix(self.line().trim(), 16).unwrap();
            answer += &self.bytes(size + 2);
            is_chunked = size > 0;
        }
        answer + &self.bytes(length)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.stream.read_line(&mut line).unwrap() > 0, "the server hung up");
        line
    }

    fn bytes(&mut self, count: usize) -> String {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The median of calls one after the other.
    pub(crate) fn latency(&mut self, count: u32) -> Duration {
        let one = |id| {
            let started = Instant::now();
            check(&self.send(&call(id + 1)));
            started.elapsed()
        };
        middle((0..count).map(one).collect())
    }
}

impl Drop for HttpDriver {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}
