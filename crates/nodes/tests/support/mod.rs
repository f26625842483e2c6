//! A gateway on a loopback port, and machines that connect to it.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::ports::{NodeCall, NodeSummary};
use haft_contract::{BoxFuture, ToolOutput};
use haft_nodes::claims::Claim;
use haft_nodes::{About, NodeClient, NodeEnded, NodeEvent, NodeHub, NodeOutcome, NodeRequest, NodeRunner, NodeStore};
use haft_websocket::accept_key;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Waits for a condition, up to ten seconds.
pub async fn until(condition: impl Fn() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not happen within ten seconds");
}

/// A call with the plan that permits it.
pub fn call(node: &NodeSummary, tool: &str, arguments: Value) -> NodeCall {
    let effects = json!([{"effect": "node", "node": node.name, "action": tool, "target": ""}]);
    NodeCall { node: node.id.clone(), name: node.name.clone(), tool: tool.into(), arguments, effects, timeout: Duration::from_secs(20) }
}

/// A gateway.
pub struct Gateway {
    pub hub: NodeHub,
    port: u16,
    folder: TempDir,
    connections: Arc<Mutex<Vec<JoinHandle<()>>>>,
    listening: JoinHandle<()>,
}

impl Gateway {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (hub, connections, listening) = serve(&folder, listener);
        Self { hub, port, folder, connections, listening }
    }

    /// Ends everything as a kill does, and starts again with what is on disk.
    pub async fn restart(&mut self) {
        self.listening.abort();
        self.cut();
        let listener = loop {
            match TcpListener::bind(("127.0.0.1", self.port)).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        (self.hub, self.connections, self.listening) = serve(&self.folder, listener);
    }

    /// Cuts every connection.
    pub fn cut(&self) {
        self.connections.lock().unwrap().drain(..).for_each(|connection| connection.abort());
    }

    pub fn is_connected(&self, id: &str) -> bool {
        self.hub.summaries().unwrap().iter().any(|node| node.id == id && node.connected == Some(true))
    }

    /// The address of this gateway with the fingerprint of one.
    pub fn url_with(&self, named: &Self) -> String {
        format!("ws://127.0.0.1:{}#{}", self.port, named.hub.fingerprint())
    }
}

type Served = (NodeHub, Arc<Mutex<Vec<JoinHandle<()>>>>, JoinHandle<()>);

fn serve(folder: &TempDir, listener: TcpListener) -> Served {
    let hub = NodeHub::open(folder.path(), false, CancellationToken::new()).unwrap();
    let connections: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
    let (served, listed) = (hub.clone(), Arc::clone(&connections));
    let listening = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let hub = served.clone();
            let task = tokio::spawn(async move {
                if let Some(stream) = upgrade(stream).await {
                    hub.accept(Box::new(stream)).await.ok();
                }
            });
            listed.lock().unwrap().push(task);
        }
    });
    (hub, connections, listening)
}

/// Answers the request for a WebSocket as a server does.
pub async fn upgrade(mut stream: TcpStream) -> Option<TcpStream> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap().trim().to_owned();
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        accept_key(&key)
    );
    stream.write_all(answer.as_bytes()).await.ok()?;
    Some(stream)
}

/// Answers calls: `echo`, `wait` for ever, `large` results.
#[derive(Default)]
pub struct TestRunner {
    seen: Mutex<Vec<NodeRequest>>,
    pub running: Arc<AtomicUsize>,
    lies: bool,
}

impl TestRunner {
    /// Says that it did what nobody permitted.
    pub fn lying() -> Self {
        Self { lies: true, ..Self::default() }
    }
    pub fn seen(&self) -> Vec<NodeRequest> {
        self.seen.lock().unwrap().clone()
    }
}

/// Counts a call while it runs.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl NodeRunner for TestRunner {
    fn run(self: Arc<Self>, request: NodeRequest) -> BoxFuture<'static, NodeOutcome> {
        Box::pin(async move {
            self.seen.lock().unwrap().push(request.clone());
            self.running.fetch_add(1, Ordering::SeqCst);
            let _running = Running(Arc::clone(&self.running));
            let text = match request.tool.as_str() {
                "wait" => std::future::pending().await,
                "large" => "x".repeat(usize::try_from(request.arguments["bytes"].as_u64().unwrap()).unwrap()),
                _ => request.arguments.to_string(),
            };
            let effects = if self.lies { vec![Claim::Read("/etc/passwd".into())] } else { Vec::new() };
            NodeOutcome { result: Ok(ToolOutput::text(text)), effects }
        })
    }
    fn about(&self) -> About {
        About { actions: vec!["echo".into()], platform: "test".into(), workspace: "/work".into() }
    }
}

/// A machine that runs as a node.
pub struct Machine {
    pub runner: Arc<TestRunner>,
    events: watch::Receiver<Vec<NodeEvent>>,
    task: tokio::sync::Mutex<JoinHandle<Result<(), NodeEnded>>>,
    abort: tokio::task::AbortHandle,
    folder: Arc<TempDir>,
    stop: CancellationToken,
}

impl Machine {
    pub fn start(gateway: &Gateway, name: &str, runner: TestRunner) -> Self {
        Self::start_at(&gateway.url_with(gateway), name, runner)
    }

    pub fn start_at(url: &str, name: &str, runner: TestRunner) -> Self {
        Self::run(url, name, Arc::new(runner), Arc::new(tempfile::tempdir().unwrap()))
    }

    /// The same machine, with what it stores, at another address.
    pub fn again_at(&self, url: &str) -> Self {
        Self::run(url, "laptop", Arc::clone(&self.runner), Arc::clone(&self.folder))
    }

    fn run(url: &str, name: &str, runner: Arc<TestRunner>, folder: Arc<TempDir>) -> Self {
        let (send, events) = watch::channel(Vec::new());
        let watcher = Arc::new(move |event: &NodeEvent| send.send_modify(|events| events.push(event.clone())));
        let store = NodeStore::new(&PathBuf::from(folder.path()));
        let node = NodeClient { url: url.into(), name: name.into(), store, runner: Arc::clone(&runner) as _, watcher };
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move { node.run(&stopped).await });
        let abort = task.abort_handle();
        Self { runner, events, task: tokio::sync::Mutex::new(task), abort, folder, stop }
    }

    /// The code on its screen.
    pub async fn code(&self) -> String {
        let code = |events: &[NodeEvent]| {
            events.iter().find_map(|event| if let NodeEvent::Waiting { code } = event { Some(code.clone()) } else { None })
        };
        let mut events = self.events.clone();
        let waiting = events.wait_for(|events| code(events).is_some());
        let events = tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap().unwrap();
        code(&events).unwrap()
    }

    /// Pairs it, and waits until it is connected.
    pub async fn pair(&self, gateway: &Gateway) -> NodeSummary {
        gateway.hub.open_window(Duration::from_mins(1));
        // It may have come before, and have been sent away.
        let code = self.code().await;
        until(|| !gateway.hub.pending_nodes().is_empty()).await;
        let node = gateway.hub.approve(&code).unwrap().summary();
        until(|| gateway.is_connected(&node.id)).await;
        until(|| gateway.hub.summaries().unwrap().iter().any(|listed| listed.id == node.id && !listed.actions.is_empty())).await;
        node
    }

    pub fn count(&self, is_meant: impl Fn(&NodeEvent) -> bool) -> usize {
        self.events.borrow().iter().filter(|event| is_meant(event)).count()
    }

    /// How it ended for good.
    pub async fn ended(&self) -> Result<(), NodeEnded> {
        tokio::time::timeout(Duration::from_secs(10), &mut *self.task.lock().await).await.unwrap().unwrap()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.cancel();
        self.abort.abort();
    }
}
