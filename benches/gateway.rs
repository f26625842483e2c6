//! What reading the API of `haft serve` costs: each request beside an empty axum handler, on one connection each, in the same run.
//!
//! `cargo bench --bench gateway` measures `target/release/haft`, or the program that `HAFT_BINARY` names, and prints medians. Nothing here
//! fails a test run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 1000;
/// Files of the workspace, and calls in the history.
const FILES: usize = 500;
const TURNS: usize = 40;
const PATHS: [&str; 18] = [
    "/api/approvals",
    "/api/me",
    "/api/sessions",
    "/api/settings",
    "/api/jobs",
    "/api/tools",
    "/api/policy",
    "/api/agents",
    "/api/nodes",
    "/api/connections",
    "/api/automation",
    "/api/history",
    "/api/history?tool=read_file&status=success",
    "/api/usage?days=30",
    "/api/files?text=src/m",
    "/api/memory",
    "/api/memory?text=release",
    "/api/changes",
];

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path());
    let mut client = server.connect();
    fill(&mut client);
    let mut empty = Connection::open(handler(), String::new());
    println!("{:<44} {:>9} {:>9} {:>7} {:>8} {:>19}", "GET", "p50", "empty", "ratio", "bytes", "beside as many bytes");
    for path in PATHS {
        let bytes = client.time(path).1;
        let (ours, reference) = beside(&mut client, path, &mut empty, "/");
        let (again, same) = beside(&mut client, path, &mut empty, &format!("/{bytes}"));
        println!("{path:<44} {ours:>6.1} µs {reference:>6.1} µs {:>5.2} x {bytes:>8} {:>17.2} x", ours / reference, again / same);
    }
}

/// The medians of two requests that take turns, so that each finds the caches as the other leaves them.
fn beside(client: &mut Connection, path: &str, empty: &mut Connection, other: &str) -> (f64, f64) {
    let rounds = (0..ROUNDS).map(|_| (empty.time(other).0, client.time(path).0));
    let (reference, ours) = rounds.unzip();
    (median(ours), median(reference))
}

/// The median in microseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Axum with a route that answers nothing, and one that answers as many bytes as it is asked for.
fn handler() -> SocketAddr {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender.send(listener.local_addr().expect("an address")).expect("a listener");
            let bytes = axum::body::Bytes::from(vec![b'x'; 1 << 20]);
            let some = move |axum::extract::Path(count): axum::extract::Path<usize>| async move { bytes.slice(..count) };
            let routes = axum::Router::new().route("/", axum::routing::get(|| async {})).route("/{count}", axum::routing::get(some));
            axum::serve(listener, routes).await.expect("a server");
        });
    });
    address.recv().expect("an address")
}

/// A server that ends with this program.
struct Server {
    child: Child,
    address: SocketAddr,
    token: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let workspace = folder.join("work");
        for index in 0..FILES {
            let path = workspace.join(format!("src/module{}/file{index}.rs", index % 20));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, "fn main() {}\n").expect("a file");
        }
        std::fs::create_dir_all(workspace.join("memory")).expect("a folder");
        std::fs::write(workspace.join("MEMORY.md"), "# Releases\n\nReleases are on Fridays.\n".repeat(20)).expect("notes");
        let program = std::env::var_os("HAFT_BINARY")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/release/haft"), PathBuf::from);
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(&workspace).env("HOME", folder);
        command.env("XDG_CONFIG_HOME", folder.join("config")).env("XDG_DATA_HOME", folder.join("data"));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("haft");
        let link = BufReader::new(child.stdout.take().expect("its output"))
            .lines()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split("http://").nth(1)?.trim().to_owned()));
        let (address, token) = link.as_deref().and_then(|link| link.split_once("/#token=")).expect("a link");
        Self { child, address: address.parse().expect("an address"), token: token.to_owned() }
    }

    fn connect(&self) -> Connection {
        let mut connection = Connection::open(self.address, String::new());
        let (head, _) = connection.send("POST", "/api/login", &format!(r#"{{"token":"{}"}}"#, self.token));
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        let cookie = cookie.split(';').next().expect("a value");
        connection.cookie = format!("cookie: {cookie}\r\norigin: http://{}\r\n", self.address);
        connection
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// One connection that stays open.
struct Connection {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
    cookie: String,
}

impl Connection {
    fn open(address: SocketAddr, cookie: String) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        Self { address, stream: BufReader::with_capacity(1 << 17, stream), cookie }
    }

    fn time(&mut self, path: &str) -> (Duration, usize) {
        let start = Instant::now();
        let (head, body) = self.send("GET", path, "");
        let elapsed = start.elapsed();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        (elapsed, body.len())
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> (String, Vec<u8>) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            self.cookie,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("a request");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.stream.read_line(&mut head).expect("a head") > 0, "the server closed the connection");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        (head, body)
    }
}

/// Turns of the demo model, so that there are calls to list.
fn fill(client: &mut Connection) {
    let (_, body) = client.send("POST", "/api/sessions", "{}");
    let session: serde_json::Value = serde_json::from_slice(&body).expect("a session");
    let session = session["id"].as_str().expect("an id").to_owned();
    for index in 0..TURNS {
        let message = format!(r#"{{"text":"read src/module{}/file{index}.rs"}}"#, index % 20);
        client.send("POST", &format!("/api/sessions/{session}/messages"), &message);
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            let (_, body) = client.send("GET", &format!("/api/sessions/{session}"), "");
            if String::from_utf8_lossy(&body).contains(r#""state":"idle""#) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
