//! What the web tools cost on a server of this machine: the address guard, many fetches at once, and large responses.
//!
//! `cargo bench --bench web`; extraction alone is `cargo bench -p haft-extract`.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

mod measure;

use std::net::SocketAddr;
use std::sync::Arc;

use haft::host::{GuardedClient, LocalFiles, LocalHost, LocalProcesses, NetworkRules, WorkspaceOptions};
use haft::ports::HttpClient;
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{Access, Engine, Registry, Session, ToolCall, ToolSource, Toolbox, WebSettings};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::measure::{head, median, middle, row, time};

const PAGE: &str = include_str!("../crates/extract/tests/corpus/01-news-article.html");
const AT_ONCE: usize = 500;

fn main() {
    head();
    guard();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let server = serve().await;
        large(server).await;
        fetches(server).await;
    });
}

/// Parsing and judging an address without looking up its name.
fn guard() {
    let client = GuardedClient::new(NetworkRules::parse(&["10.1.0.0/16", "*.corp.test"], &["ads.test"]).expect("rules"));
    let fake = haft_testkit::FakeHost::new();
    for url in ["https://docs.example.org/a/b?c=d", "http://[2002:7f00:1::]/", "http://2130706433/"] {
        let ours = median(|| time(10_000, || drop(client.locate("GET", url))));
        let reference = median(|| time(10_000, || drop(fake.http.locate("GET", url))));
        row(&format!("guard: {url}"), ours, reference, "parsing the URL");
    }
}

/// A page, or so many megabytes.
async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    address
}

async fn answer(mut stream: TcpStream) -> Option<()> {
    let mut request = vec![0; 4096];
    let length = stream.read(&mut request).await.ok()?;
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let megabytes: Option<usize> = request.strip_prefix("GET /mb/").and_then(|rest| rest.split(' ').next()?.parse().ok());
    let length = megabytes.map_or(PAGE.len(), |megabytes| megabytes << 20);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    match megabytes {
        Some(megabytes) => {
            let piece = vec![b'x'; 1 << 20];
            for _ in 0..megabytes {
                stream.write_all(&piece).await.ok()?;
            }
        }
        None => stream.write_all(PAGE.as_bytes()).await.ok()?,
    }
    stream.shutdown().await.ok()
}

struct Place {
    toolbox: Toolbox,
    _folder: tempfile::TempDir,
}

fn place(server: SocketAddr) -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    let (workspace, state) = (folder.path().join("work"), folder.path().join("state"));
    std::fs::create_dir(&workspace).expect("a workspace");
    let files = LocalFiles::open(WorkspaceOptions::new(&workspace)).expect("files");
    let http = GuardedClient::new(NetworkRules::parse(&[server.to_string()], &[]).expect("rules"));
    let mut web = WebSettings::default();
    web.respect_robots = false;
    let processes = Arc::<LocalProcesses>::default();
    let host = LocalHost::new(Arc::new(files), Arc::new(http), processes, state.join("alerts.log")).with_web(web, state.join("cache"));
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).expect("a tool");
    }
    let blobs = FileBlobs::open(&state).expect("blobs");
    let engine = Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).build();
    let session = Session::builder(Arc::new(host)).workspace(workspace).owner().access(Access::FullAccess).loop_limits(None).build();
    Place { toolbox: Toolbox::from_parts(engine, session), _folder: folder }
}

/// Memory does not grow with the response: the peak after 1 MB, and after 1 GB.
async fn large(server: SocketAddr) {
    let place = place(server);
    for megabytes in [1, 1024] {
        for tool in ["http_request", "web_fetch"] {
            place.toolbox.call(tool, json!({"url": format!("http://{server}/mb/{megabytes}")}).to_string()).await;
            println!("{:<46} {:>9} MB", format!("peak memory, {tool} of {megabytes} MB"), peak_memory());
        }
    }
}

/// Many fetches of different pages at once, beside plain connections.
async fn fetches(server: SocketAddr) {
    let place = place(server);
    let ours = tokio::time::Instant::now();
    let call =
        |number: usize| ToolCall::new(format!("c{number}"), "web_fetch", json!({"url": format!("http://{server}/{number}")}).to_string());
    let results = place.toolbox.call_all((0..AT_ONCE).map(call).collect()).await;
    let ours = ours.elapsed();
    assert!(results.iter().all(|result| result.outcome.is_ok()), "every page is fetched");
    let mut times = Vec::new();
    for _ in 0..3 {
        let started = tokio::time::Instant::now();
        let plain = (0..AT_ONCE).map(|_| tokio::spawn(plain_request(server)));
        for request in plain.collect::<Vec<_>>() {
            request.await.expect("a request");
        }
        times.push(started.elapsed());
    }
    row(&format!("{AT_ONCE} fetches at once"), ours, middle(times), "plain requests, nothing read");
    println!("{:<46} {:>9} MB", "peak memory", peak_memory());
}

async fn plain_request(server: SocketAddr) {
    let mut stream = TcpStream::connect(server).await.expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("a request");
    let mut body = Vec::new();
    stream.read_to_end(&mut body).await.expect("a response");
}

/// The largest that this process was so far.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() / 1024
}
