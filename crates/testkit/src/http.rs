//! A network in memory: every answer is scripted, every request is written down.

use std::collections::BTreeMap;
use std::sync::Mutex;

use haft_contract::{
    Body, BoxFuture, Connect, ErrorKind, HttpRequest, HttpResponse, ToolError,
    ports::{HttpClient, RedirectCheck},
};
use url::Url;

use crate::sync::lock;

/// What a URL answers.
#[derive(Debug, Clone)]
pub struct Reply {
    outcome: Outcome,
}

#[derive(Debug, Clone)]
enum Outcome {
    Response(Scripted),
    Redirect(String),
    Failure(ErrorKind, String),
}

#[derive(Debug, Clone)]
struct Scripted {
    status: u16,
    reason: String,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    ending: Ending,
}

#[derive(Debug, Clone)]
enum Ending {
    Ends,
    Fails(ErrorKind, String),
    Repeats,
}

impl Reply {
    /// A response without headers or body.
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        let response = Scripted { status, reason: reason.into(), headers: Vec::new(), chunks: Vec::new(), ending: Ending::Ends };
        Self { outcome: Outcome::Response(response) }
    }
    /// `200 OK` with a body of this type.
    pub fn ok(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "OK").header("Content-Type", content_type).chunk(body)
    }
    /// A redirect: checked, then followed.
    pub fn redirect(to: impl Into<String>) -> Self {
        Self { outcome: Outcome::Redirect(to.into()) }
    }
    /// No response at all.
    pub fn failure(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { outcome: Outcome::Failure(kind, message.into()) }
    }
    /// Adds a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.changed(|response| response.headers.push((name.into(), value.into())))
    }
    /// Adds a piece of the body.
    pub fn chunk(self, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        self.changed(|response| response.chunks.push(bytes))
    }
    /// Breaks the body off after the pieces so far.
    pub fn breaks_off(self, kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        self.changed(|response| response.ending = Ending::Fails(kind, message))
    }
    /// Repeats the pieces for ever.
    pub fn endless(self) -> Self {
        self.changed(|response| response.ending = Ending::Repeats)
    }
    fn changed(mut self, change: impl FnOnce(&mut Scripted)) -> Self {
        if let Outcome::Response(response) = &mut self.outcome {
            change(response);
        }
        self
    }
}

/// A network in memory. A URL without a scripted answer cannot be reached.
#[derive(Debug, Default)]
pub struct FakeHttp {
    replies: Mutex<BTreeMap<(String, String), Reply>>,
    first_replies: Mutex<BTreeMap<(String, String), Vec<Reply>>>,
    refusals: Mutex<BTreeMap<String, String>>,
    requests: Mutex<Vec<HttpRequest>>,
}

impl FakeHttp {
    /// Scripts what a method and URL answer, each time.
    pub fn answer(&self, method: &str, url: &str, reply: Reply) {
        lock(&self.replies).insert((method.into(), url.into()), reply);
    }
    /// Scripts what a method and URL answer the next time, before what [`answer`](Self::answer) scripts.
    pub fn answer_once(&self, method: &str, url: &str, reply: Reply) {
        lock(&self.first_replies).entry((method.into(), url.into())).or_default().push(reply);
    }
    /// Makes the address guard refuse a host, as far as planning can know.
    pub fn refuse(&self, host: &str, why: impl Into<String>) {
        lock(&self.refusals).insert(host.into(), why.into());
    }
    /// What was sent so far, hops included.
    pub fn requests(&self) -> Vec<HttpRequest> {
        lock(&self.requests).clone()
    }
    fn reply(&self, request: &HttpRequest) -> Outcome {
        lock(&self.requests).push(request.clone());
        let key = (request.method.clone(), request.url.clone());
        if let Some(replies) = lock(&self.first_replies).get_mut(&key).filter(|replies| !replies.is_empty()) {
            return replies.remove(0).outcome;
        }
        match lock(&self.replies).get(&key) {
            Some(reply) => reply.outcome.clone(),
            None => Outcome::Failure(ErrorKind::NetworkError, format!("no answer was scripted for {} {}", request.method, request.url)),
        }
    }
    fn follow(&self, mut request: HttpRequest, redirects: &dyn RedirectCheck) -> Result<HttpResponse, ToolError> {
        let mut redirected_from = Vec::new();
        loop {
            match self.reply(&request) {
                Outcome::Response(response) => return Ok(response.open(request.url, redirected_from)),
                Outcome::Failure(kind, message) => return Err(ToolError::new(kind, message)),
                Outcome::Redirect(to) if redirected_from.len() < usize::from(request.redirects) => {
                    redirects.check(&self.locate(&request.method, &to)?)?;
                    redirected_from.push(std::mem::replace(&mut request.url, to));
                }
                Outcome::Redirect(_) => return Err(ToolError::new(ErrorKind::NetworkError, "too many redirects")),
            }
        }
    }
}

impl HttpClient for FakeHttp {
    fn locate(&self, method: &str, url: &str) -> Result<Connect, ToolError> {
        let invalid = || ToolError::validation(format!("Invalid URL: {url}"));
        let parsed = Url::parse(url).map_err(|_| invalid())?;
        let (Some(host), Some(port), "http" | "https") = (parsed.host_str(), parsed.port_or_known_default(), parsed.scheme()) else {
            return Err(invalid());
        };
        let mut connect = Connect::new(parsed.scheme(), host, port, method);
        connect.refused = lock(&self.refusals).get(host).cloned();
        Ok(connect)
    }

    fn send<'a>(&'a self, request: HttpRequest, redirects: &'a dyn RedirectCheck) -> BoxFuture<'a, Result<HttpResponse, ToolError>> {
        Box::pin(async move { self.follow(request, redirects) })
    }
}

impl Scripted {
    fn open(self, url: String, redirected_from: Vec<String>) -> HttpResponse {
        let body = FakeBody { chunks: self.chunks, next: 0, ending: self.ending };
        HttpResponse { status: self.status, reason: self.reason, headers: self.headers, url, redirected_from, body: Box::new(body) }
    }
}

struct FakeBody {
    chunks: Vec<Vec<u8>>,
    next: usize,
    ending: Ending,
}

impl Body for FakeBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>> {
        Box::pin(async move {
            if self.next == self.chunks.len() && matches!(self.ending, Ending::Repeats) {
                self.next = 0;
            }
            if let Some(chunk) = self.chunks.get(self.next) {
                self.next += 1;
                return Ok(Some(chunk.clone()));
            }
            match &self.ending {
                Ending::Fails(kind, message) => Err(ToolError::new(*kind, message.clone())),
                Ending::Ends | Ending::Repeats => Ok(None),
            }
        })
    }
}
