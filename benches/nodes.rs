//! What a call on a node costs: reading 4 KB there, beside a bare WebSocket that echoes 4 KB, in the same run over loopback.
//!
//! `cargo bench --bench nodes` prints medians of five rounds and the ratio. Nothing here fails a test run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft::{BoxFuture, Toolbox};
use haft_nodes::{About, CallClaims, NodeClient, NodeEvent, NodeHub, NodeOutcome, NodeRequest, NodeRunner, NodeStore};
use haft_websocket::{WsMessage, WsReader, WsRole, WsWriter, accept_key};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 5;
const CALLS: u32 = 2000;
const BYTES: usize = 4096;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut echo, node) = (Echo::connect().await, PairedNode::start(folder.path()).await);
    let (mut bare, mut calls, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(echo.round().await);
        calls.push(node.round().await);
        again.push(echo.round().await);
    }
    let (bare, calls, again) = (median(bare), median(calls), median(again));
    println!("bare WebSocket echo, 4 KB     {:>8.1} µs", bare.as_secs_f64() * 1e6);
    println!("the same again                {:>8.1} µs  {:.2} x", again.as_secs_f64() * 1e6, again.as_secs_f64() / bare.as_secs_f64());
    println!("read of 4 KB on a node        {:>8.1} µs  {:.2} x", calls.as_secs_f64() * 1e6, calls.as_secs_f64() / bare.as_secs_f64());
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A server that sends back what it gets.
struct Echo {
    reader: WsReader<tokio::net::tcp::OwnedReadHalf>,
    writer: WsWriter<tokio::net::tcp::OwnedWriteHalf>,
}

impl Echo {
    async fn connect() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            let (read, write) = stream.into_split();
            let (mut reader, mut writer) = (WsReader::new(read, WsRole::Server), WsWriter::new(write, WsRole::Server));
            while let Ok(WsMessage::Binary(message)) = reader.next().await {
                writer.binary(&message).await.expect("an echo");
            }
        });
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let (read, write) = stream.into_split();
        Self { reader: WsReader::new(read, WsRole::Client), writer: WsWriter::new(write, WsRole::Client) }
    }

    async fn round(&mut self) -> Duration {
        let message = vec![b'x'; BYTES];
        let start = Instant::now();
        for _ in 0..CALLS {
            self.writer.binary(&message).await.expect("a message");
            self.reader.next().await.expect("its echo");
        }
        start.elapsed() / CALLS
    }
}

/// A node with the real file tool, and its gateway.
struct PairedNode {
    hub: NodeHub,
    id: String,
    name: String,
}

impl PairedNode {
    async fn start(folder: &Path) -> Self {
        let workspace = folder.join("workspace");
        std::fs::create_dir_all(&workspace).expect("a workspace");
        std::fs::write(workspace.join("four.txt"), "0123456789abcde\n".repeat(BYTES / 16)).expect("a file");
        let hub = NodeHub::open(&folder.join("gateway"), false, CancellationToken::new()).expect("a gateway");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("ws://{}#{}", listener.local_addr().expect("an address"), hub.fingerprint());
        let served = hub.clone();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            served.accept(Box::new(upgraded(stream).await)).await.expect("a node");
        });
        let code: Arc<Mutex<Option<String>>> = Arc::default();
        let shown = Arc::clone(&code);
        let watcher = Arc::new(move |event: &NodeEvent| {
            if let NodeEvent::Waiting { code } = event {
                *shown.lock().expect("a lock") = Some(code.clone());
            }
        });
        let toolbox = Toolbox::open(&workspace, folder.join("state")).expect("a toolbox");
        let runner = Arc::new(ToolboxRunner { toolbox, root: workspace.canonicalize().expect("a path") });
        let node = NodeClient { url, name: "bench".into(), store: NodeStore::new(&folder.join("node")), runner, watcher };
        hub.open_window(Duration::from_mins(1));
        tokio::spawn(async move { node.run(&CancellationToken::new()).await });
        let code = loop {
            if let Some(code) = code.lock().expect("a lock").take() {
                break code;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        while hub.pending_nodes().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let paired = hub.approve(&code).expect("a paired node");
        while hub.summaries().expect("a list").iter().any(|node| node.actions.is_empty()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Self { hub, id: paired.id, name: paired.name }
    }

    async fn round(&self) -> Duration {
        use haft::ports::{NodeCall, NodeDirectory};
        let effects = json!([{"effect": "node", "node": self.name, "action": "read", "target": "four.txt"}]);
        let call = NodeCall {
            node: self.id.clone(),
            name: self.name.clone(),
            tool: "read_file".into(),
            arguments: json!({"path": "four.txt", "again": true}),
            effects,
            timeout: Duration::from_secs(10),
        };
        let start = Instant::now();
        for _ in 0..CALLS {
            let output = self.hub.call(call.clone()).await.expect("a result");
            assert!(output.texts().map(str::len).sum::<usize>() >= BYTES - 1);
        }
        start.elapsed() / CALLS
    }
}

async fn upgraded(mut stream: TcpStream) -> TcpStream {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    let head = String::from_utf8(head).expect("text");
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).expect("a key").trim();
    let answer = format!("HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: {}\r\n\r\n", accept_key(key));
    stream.write_all(answer.as_bytes()).await.expect("an answer");
    stream
}

struct ToolboxRunner {
    toolbox: Toolbox,
    root: PathBuf,
}

impl NodeRunner for ToolboxRunner {
    fn run(self: Arc<Self>, request: NodeRequest) -> BoxFuture<'static, NodeOutcome> {
        Box::pin(async move {
            let call = self.toolbox.call(&request.tool, request.arguments);
            let (result, effects) = Box::pin(CallClaims::limit(&request.effects, &self.root, call)).await;
            NodeOutcome { result: result.outcome, effects }
        })
    }
    fn about(&self) -> About {
        About { actions: vec!["read".into()], ..About::default() }
    }
}
