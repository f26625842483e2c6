//! A server, and a client that speaks HTTP by hand: it can also send what no browser would.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::suite::harness::World;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; ended with the test.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    pub(crate) link: String,
}

impl Served {
    pub(crate) fn start(world: &World) -> Self {
        Self::start_with(world, &[])
    }

    pub(crate) fn start_with(world: &World, words: &[&str]) -> Self {
        Self::spawn(world.command(&["serve", "--json"]), words)
    }

    pub(crate) fn start_with_variables(world: &World, variables: &[(&str, &str)]) -> Self {
        Self::start_in(world, variables, &[])
    }

    pub(crate) fn start_in(world: &World, variables: &[(&str, &str)], words: &[&str]) -> Self {
        let mut command = world.command(&["serve", "--json"]);
        command.envs(variables.iter().copied());
        Self::spawn(command, words)
    }

    fn spawn(mut command: Command, words: &[&str]) -> Self {
        if !words.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(words).env("HAFT_LOCAL_MODELS", "").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| started[name].as_str().unwrap().to_owned();
        Self { child, address: text("url").trim_start_matches("http://").to_owned(), link: text("link") }
    }

    /// The secret of the link.
    pub(crate) fn link_token(&self) -> &str {
        self.link.split_once("#token=").unwrap().1
    }

    /// A client without a token.
    pub(crate) fn stranger(&self) -> PageClient {
        PageClient::new(&self.address)
    }

    /// A page that has signed in with the link.
    pub(crate) fn page(&self) -> PageClient {
        PageClient::sign_in(&self.address, self.link_token())
    }

    /// Interrupts the server, and gives its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < end, "the server does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the server at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends requests with these headers.
#[derive(Clone)]
pub(crate) struct PageClient {
    pub(crate) address: String,
    headers: Vec<(String, String)>,
}

/// An answer.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl PageClient {
    fn new(address: &str) -> Self {
        Self { address: address.to_owned(), headers: Vec::new() }
    }

    /// Takes the cookie for the token of a link.
    pub(crate) fn sign_in(address: &str, token: &str) -> Self {
        let stranger = Self::new(address);
        let answer = stranger.origin().post("/api/login", &json!({ "token": token }));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        stranger.with("cookie", cookie.split(';').next().unwrap()).origin()
    }

    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }
    pub(crate) fn bearer(&self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }
    /// As a page of the server sends it.
    pub(crate) fn origin(&self) -> Self {
        self.with("origin", &format!("http://{}", self.address))
    }
    pub(crate) fn get(&self, path: &str) -> HttpAnswer {
        self.send("GET", path, b"")
    }
    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.send("POST", path, body.to_string().as_bytes())
    }
    /// A GET that must work.
    pub(crate) fn read(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &[u8]) -> HttpAnswer {
        let mut stream = self.connect(method, path, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        HttpAnswer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a request, and reads nothing of the answer.
    pub(crate) fn connect(&self, method: &str, path: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let has = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let host = if has("host") { String::new() } else { format!("host: {}\r\n", self.address) };
        let kind = if has("content-type") { "" } else { "content-type: application/json\r\n" };
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<Vec<_>>().concat();
        // The stream is read line by line: without chunks, which could end in the middle of one.
        let version = if path.starts_with("/api/events") { "1.0" } else { "1.1" };
        let head =
            format!("{method} {path} HTTP/{version}\r\n{host}{kind}{headers}connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses early closes the connection; its answer is still there.
        stream.write_all(body).ok();
        stream
    }

    /// Opens the stream of events.
    pub(crate) fn events(&self, query: &str) -> EventReader {
        let reader = BufReader::new(self.connect("GET", &format!("/api/events{query}"), b""));
        let mut events = EventReader { reader, id: None };
        let (name, _) = events.next().expect("the stream begins");
        assert_eq!(name, "hello");
        events
    }

    /// The events of a session from now on, until its turn has ended.
    pub(crate) fn turn(&self, session: &str, text: &str) -> Vec<(String, Value)> {
        let mut events = self.events("");
        let sent = self.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text }));
        assert_eq!(sent.status, 202, "{}", sent.body);
        events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end")
    }

    pub(crate) fn create(&self) -> String {
        let answer = self.post("/api/sessions", &json!({}));
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()["id"].as_str().unwrap().to_owned()
    }
}

/// Reads events.
pub(crate) struct EventReader {
    reader: BufReader<TcpStream>,
    pub(crate) id: Option<u64>,
}

impl EventReader {
    /// The next event; `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            match self.reader.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => panic!("no event came"),
                Err(_) => return None,
            }
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                self.id = id.parse().ok();
            } else if let Some(event) = line.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// All events up to the first that fits.
    pub(crate) fn until(&mut self, fits: impl Fn(&str, &Value) -> bool) -> Vec<(String, Value)> {
        let mut seen = Vec::new();
        let end = Instant::now() + PATIENCE;
        loop {
            let Some((name, data)) = self.next() else { panic!("the stream ended after {seen:?}") };
            let is_last = fits(&name, &data);
            seen.push((name, data));
            if is_last {
                return seen;
            }
            assert!(Instant::now() < end, "the event did not come: {seen:?}");
        }
    }
}
