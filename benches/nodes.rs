//! What a call on a node costs: 4 KB of a node, beside a bare WebSocket that echoes 4 KB, in the same run over loopback; once from a node
//! that answers at once, and once with the tool that reads a file, which is also called without a node.
//!
//! `cargo bench --bench nodes` prints medians of five rounds and the ratios. Nothing here fails a test run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft::{BoxFuture, ToolOutput, Toolbox};
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
    // As a task, as the calls of a gateway are.
    runtime.block_on(async { tokio::spawn(measure()).await.expect("figures") });
}

async fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Arc::new(ToolboxRunner::open(&folder.path().join("files")));
    let (mut echo, node) = (Echo::connect().await, PairedNode::start(&folder.path().join("a"), Arc::clone(&files) as _).await);
    let empty = PairedNode::start(&folder.path().join("b"), Arc::new(ConstantRunner)).await;
    let mut times: [Vec<Duration>; 5] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(echo.round().await);
        times[1].push(empty.round().await);
        times[2].push(files.round().await);
        times[3].push(node.round().await);
        times[4].push(echo.round().await);
    }
    let names = ["bare WebSocket echo", "node that answers at once", "read without a node", "read on a node", "bare WebSocket echo again"];
    let medians = times.map(median);
    for (name, time) in names.iter().zip(&medians) {
        println!("{name:<28} {:>8.1} µs  {:.2} x", time.as_secs_f64() * 1e6, time.as_secs_f64() / medians[0].as_secs_f64());
    }
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

/// A node and its gateway.
struct PairedNode {
    hub: NodeHub,
    id: String,
    name: String,
}

impl PairedNode {
    async fn start(folder: &Path, runner: Arc<dyn NodeRunner>) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
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

/// Answers at once: what is left is the connection.
struct ConstantRunner;

impl NodeRunner for ConstantRunner {
    fn run(self: Arc<Self>, _: NodeRequest) -> BoxFuture<'static, NodeOutcome> {
        Box::pin(async { NodeOutcome { result: Ok(ToolOutput::text("x".repeat(BYTES))), effects: Vec::new() } })
    }
    fn about(&self) -> About {
        About { actions: vec!["read".into()], ..About::default() }
    }
}

/// The real file tool.
struct ToolboxRunner {
    toolbox: Toolbox,
    root: PathBuf,
}

impl ToolboxRunner {
    fn open(folder: &Path) -> Self {
        let workspace = folder.join("workspace");
        std::fs::create_dir_all(&workspace).expect("a workspace");
        std::fs::write(workspace.join("four.txt"), "0123456789abcde\n".repeat(BYTES / 16)).expect("a file");
        // The same call again and again, which the loop guard would end.
        let builder = Toolbox::builder().workspace(&workspace).state(folder.join("state")).loop_limits(None);
        Self { toolbox: builder.build().expect("a toolbox"), root: workspace.canonicalize().expect("a path") }
    }

    async fn round(&self) -> Duration {
        let start = Instant::now();
        for _ in 0..CALLS {
            let result = self.toolbox.call("read_file", json!({"path": "four.txt", "again": true})).await;
            assert!(result.outcome.is_ok());
        }
        start.elapsed() / CALLS
    }
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
