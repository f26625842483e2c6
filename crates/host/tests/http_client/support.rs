//! A small server that shows exactly what it received, names that resolve as a test wants, and checks.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::{
    BoxFuture, Connect, HttpRequest, HttpResponse, ToolError,
    ports::{HttpClient, RedirectCheck},
};
use haft_host::{GuardedClient, HttpOptions, NetworkRules, Resolve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server on loopback; it ends with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    hits: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

/// A request as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Server {
    /// Answers every request with what `respond` says, and closes the connection.
    pub(crate) async fn answering(respond: impl Fn(&Received) -> String + Send + Sync + 'static) -> Self {
        Self::answering_on("127.0.0.1", respond).await
    }

    pub(crate) async fn answering_on(host: &str, respond: impl Fn(&Received) -> String + Send + Sync + 'static) -> Self {
        let (respond, received) = (Arc::new(respond), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&received);
        let mut server = Self::handling_on(host, move |mut stream| {
            let (respond, log) = (Arc::clone(&respond), Arc::clone(&log));
            async move {
                let Some(request) = read_request(&mut stream).await else { return };
                let answer = respond(&request);
                log.lock().unwrap().push(request);
                // The client may have gone: that is for the test to notice.
                drop(stream.write_all(answer.as_bytes()).await);
            }
        })
        .await;
        server.received = received;
        server
    }

    /// Hands every connection to `handle`.
    pub(crate) async fn handling<F: Future<Output = ()> + Send + 'static>(handle: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> Self {
        Self::handling_on("127.0.0.1", handle).await
    }

    async fn handling_on<F: Future<Output = ()> + Send + 'static>(
        host: &str,
        handle: impl Fn(TcpStream) -> F + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let hits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&hits);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(handle(stream));
            }
        });
        Self { address, hits, received: Arc::default(), task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
    /// The same place under another name.
    pub(crate) fn url_as(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }
    pub(crate) fn connections(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads one request: its head, and as much body as it announces.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut body = bytes.split_off(end + 4);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        assert_ne!(stream.read_buf(&mut body).await.ok()?, 0, "the body ended early");
    }
    Some(Received { head, body })
}

pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

pub(crate) fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

/// Names that resolve as a test wants: each lookup of a name gets its next answer, the last one for ever.
#[derive(Default)]
pub(crate) struct Names {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn with(mut self, name: &str, answers: &[&[&str]]) -> Self {
        let parsed = answers.iter().map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect()).collect();
        self.answers.insert(name.into(), parsed);
        self
    }
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let mut asked = self.asked.lock().unwrap();
            let before = asked.iter().filter(|name| *name == host).count();
            asked.push(host.into());
            let answers = self.answers.get(host).ok_or_else(|| io::Error::other("no such name"))?;
            Ok(answers[before.min(answers.len() - 1)].clone())
        })
    }
}

pub(crate) fn client_with(allow: &[String], options: HttpOptions, names: Arc<dyn Resolve>) -> GuardedClient {
    GuardedClient::with(NetworkRules::parse(allow, &[]).unwrap(), options, names)
}

/// A client that may reach this server by its address, and knows no names.
pub(crate) fn client_for(server: &Server) -> GuardedClient {
    client_with(&[server.address.to_string()], patient(), Arc::new(Names::default()))
}

/// Long enough that only a hanging test meets it.
pub(crate) fn patient() -> HttpOptions {
    HttpOptions { connect_timeout: Duration::from_secs(20), idle_timeout: Duration::from_secs(20), ..HttpOptions::default() }
}

/// Follows everything, and remembers it.
#[derive(Default)]
pub(crate) struct Trusting(pub(crate) Mutex<Vec<Connect>>);

impl RedirectCheck for Trusting {
    fn check(&self, hop: &Connect) -> Result<(), ToolError> {
        self.0.lock().unwrap().push(hop.clone());
        Ok(())
    }
}

pub(crate) fn request(method: &str, url: &str) -> HttpRequest {
    HttpRequest { method: method.into(), url: url.into(), headers: Vec::new(), body: None, redirects: 10 }
}

pub(crate) fn with_headers(mut request: HttpRequest, headers: &[(&str, &str)]) -> HttpRequest {
    request.headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    request
}

pub(crate) fn with_body(mut request: HttpRequest, body: &str) -> HttpRequest {
    request.body = Some(body.into());
    request
}

pub(crate) async fn send(client: &GuardedClient, request: HttpRequest) -> Result<HttpResponse, ToolError> {
    client.send(request, &Trusting::default()).await
}

pub(crate) async fn text(mut response: HttpResponse) -> String {
    let mut all = Vec::new();
    while let Some(piece) = response.body.chunk().await.unwrap() {
        all.extend(piece);
    }
    String::from_utf8(all).unwrap()
}

/// Runs one test of this program again, in a process with another environment; it must pass there.
pub(crate) async fn pass_again(test: &str, environment: &[(&str, &str)]) {
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test]).envs(environment.iter().copied()).kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
