//! What a call on a node costs: 4 KB of a node, beside a bare WebSocket that echoes 4 KB, and beside one that reads 4 KB of a file and sends
//! them, in the same run over loopback; once from a node that answers at once, and once with the tool that reads a file, which is also
//! called without a node.
//!
//! `cargo bench --bench nodes` prints medians of five rounds and the ratios: of calls without a pause, where what is written behind them
//! takes its share, and of calls one by one, as an agent makes them. Nothing here fails a test run.
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
const CALLS: usize = 2000;
const SINGLE_CALLS: usize = 200;
/// Between two calls that are made one by one: what the one before left to do is done.
const PAUSE: Duration = Duration::from_millis(1);
const BYTES: usize = 4096;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    // As a task, as the calls of a gateway are.
    runtime.block_on(async { tokio::spawn(measure()).await.expect("figures") });
}

async fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Arc::new(ToolboxRunner::open(&folder.path().join("files")));
    let mut subjects = [
        ("bare WebSocket echo", Subject::Socket(Socket::connect(None).await)),
        ("bare WebSocket that reads", Subject::Socket(Socket::connect(Some(files.root.join("four.txt"))).await)),
        ("node that answers at once", Subject::Node(PairedNode::start(&folder.path().join("b"), Arc::new(ConstantRunner)).await)),
        ("read without a node", Subject::Toolbox(Arc::clone(&files))),
        ("read on a node", Subject::Node(PairedNode::start(&folder.path().join("a"), files).await)),
        ("bare WebSocket echo again", Subject::Socket(Socket::connect(None).await)),
    ];
    for (title, calls, pause) in [("without a pause", CALLS, None), ("one by one", SINGLE_CALLS, Some(PAUSE))] {
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); subjects.len()];
        for _ in 0..ROUNDS {
            for ((_, subject), times) in subjects.iter_mut().zip(&mut times) {
                times.push(subject.round(calls, pause).await);
            }
        }
        let medians: Vec<f64> = times.into_iter().map(|times| median(times).as_secs_f64()).collect();
        println!("{title:<28} {:>11}  {:>8}  {:>8}", "", "echo", "reading");
        for ((name, _), time) in subjects.iter().zip(&medians) {
            println!("  {name:<26} {:>8.1} µs  {:>6.2} x  {:>6.2} x", time * 1e6, time / medians[0], time / medians[1]);
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// What is called.
enum Subject {
    Socket(Socket),
    Node(PairedNode),
    Toolbox(Arc<ToolboxRunner>),
}

impl Subject {
    async fn call(&mut self) {
        match self {
            Self::Socket(socket) => socket.call().await,
            Self::Node(node) => node.call().await,
            Self::Toolbox(toolbox) => toolbox.read().await,
        }
    }

    /// The median of one call; without a pause their mean, since nothing is between them.
    async fn round(&mut self, calls: usize, pause: Option<Duration>) -> Duration {
        let (mut times, start) = (Vec::with_capacity(calls), Instant::now());
        for _ in 0..calls {
            let start = Instant::now();
            self.call().await;
            times.push(start.elapsed());
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
        if pause.is_some() { median(times) } else { start.elapsed() / u32::try_from(calls).expect("a small number") }
    }
}

/// A connection to a server that sends back what it gets, or the content of a file.
struct Socket {
    reader: WsReader<tokio::net::tcp::OwnedReadHalf>,
    writer: WsWriter<tokio::net::tcp::OwnedWriteHalf>,
    message: Vec<u8>,
}

impl Socket {
    async fn connect(file: Option<PathBuf>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let message = vec![b'x'; if file.is_some() { 300 } else { BYTES }];
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            let (read, write) = stream.into_split();
            let (mut reader, mut writer) = (WsReader::new(read, WsRole::Server), WsWriter::new(write, WsRole::Server));
            while let Ok(WsMessage::Binary(mut message)) = reader.next().await {
                if let Some(file) = &file {
                    message = tokio::fs::read(file).await.expect("a file");
                }
                writer.binary(&message).await.expect("an answer");
            }
        });
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let (read, write) = stream.into_split();
        Self { reader: WsReader::new(read, WsRole::Client), writer: WsWriter::new(write, WsRole::Client), message }
    }

    async fn call(&mut self) {
        self.writer.binary(&self.message).await.expect("a message");
        self.reader.next().await.expect("its answer");
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

    async fn call(&self) {
        use haft::ports::{NodeCall, NodeDirectory};
        let call = NodeCall {
            node: self.id.clone(),
            name: self.name.clone(),
            tool: "read_file".into(),
            arguments: json!({"path": "four.txt", "again": true}),
            effects: json!([{"effect": "node", "node": self.name, "action": "read", "target": "four.txt"}]),
            timeout: Duration::from_secs(10),
        };
        let output = self.hub.call(call).await.expect("a result");
        assert!(output.texts().map(str::len).sum::<usize>() >= BYTES - 1);
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

    async fn read(&self) {
        let result = self.toolbox.call("read_file", json!({"path": "four.txt", "again": true})).await;
        assert!(result.outcome.is_ok());
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
