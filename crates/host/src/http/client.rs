//! The client: resolve, check, pin, connect; every redirect checked again.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use haft_contract::{
    Body, BoxFuture, Connect, ErrorKind, HttpRequest, HttpResponse, ToolError, causes,
    ports::{EgressGate, HttpClient, RedirectCheck, ResolvedAddress},
};
use haft_pattern::HostPattern;
use reqwest::header::{CONTENT_LENGTH, LOCATION};
use reqwest::{Method, Response};
use url::Host;

use super::guard::AddressGuard;
use super::redirect::{self, Hop};
use super::resolver::{self, CheckingResolver, Resolve, SystemResolver};
use super::rule::NetworkRules;
use super::sandbox::{self, SandboxDialer};
use super::slots::{HostSlots, Slot};
use super::target::RequestTarget;
use super::upstream::{ProxyResolver, UpstreamProxy};
use super::{failure, headers};
use crate::proxy::{EgressProxy, ProxyReach};

/// More ports at once than any honest session uses; beyond it, idle connections are given up.
const MAX_CLIENTS: usize = 16;
const MAX_IDLE_CONNECTIONS: usize = 4;
const MAX_RESPONSE_HEADERS: usize = 200;
/// HTTP/1 heads are bounded by the client library at about 400 KiB; this is the bound for HTTP/2.
const MAX_RESPONSE_HEADER_BYTES: u32 = 256 * 1024;

/// How the client connects, and how long it waits.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// For a connection: name lookup, TCP and TLS together.
    pub connect_timeout: Duration,
    /// For the head of an answer, and for each further piece of its body.
    pub idle_timeout: Duration,
    /// How many requests go to one host at the same time.
    pub parallel_per_host: usize,
    /// The proxy of the user's network.
    pub proxy: Option<UpstreamProxy>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self { connect_timeout: Duration::from_secs(10), idle_timeout: Duration::from_secs(30), parallel_per_host: 8, proxy: None }
    }
}

/// The only way from a tool to the network.
pub struct GuardedClient {
    guard: Arc<AddressGuard>,
    resolver: Arc<dyn Resolve>,
    options: Arc<HttpOptions>,
    /// By scheme, port, and whether they use the proxy.
    clients: Mutex<HashMap<(String, u16, bool), reqwest::Client>>,
    sandbox: OnceLock<Arc<dyn SandboxDialer>>,
    slots: HostSlots,
}

haft_contract::opaque_debug!(GuardedClient: guard = guard, options = options);

impl Default for GuardedClient {
    fn default() -> Self {
        Self::new(NetworkRules::default())
    }
}

impl GuardedClient {
    /// A client that reaches public addresses and what the rules allow.
    pub fn new(rules: NetworkRules) -> Self {
        Self::with(rules, HttpOptions::default(), Arc::new(SystemResolver))
    }

    /// A client with its own waiting times and resolver.
    pub fn with(rules: NetworkRules, options: HttpOptions, resolver: Arc<dyn Resolve>) -> Self {
        // The TLS library takes one provider for the whole process; if another part was first, its choice stands.
        drop(rustls::crypto::ring::default_provider().install_default());
        let slots = HostSlots::new(options.parallel_per_host);
        Self {
            guard: Arc::new(AddressGuard::new(rules)),
            resolver,
            options: Arc::new(options),
            clients: Mutex::default(),
            sandbox: OnceLock::new(),
            slots,
        }
    }

    /// Sets what connects to servers in the sandbox of a session, once; it must not hold this client. Without it,
    /// [`Connect::SANDBOX_HOST`] leads nowhere.
    pub fn set_sandbox_dialer(&self, dialer: Arc<dyn SandboxDialer>) {
        self.sandbox.get_or_init(|| dialer);
    }

    /// Starts a proxy to these hosts, and to those that the gate permits, under the same address guard. It listens at a path that
    /// must not exist yet.
    pub fn proxy(&self, socket: &Path, allowed: Vec<HostPattern>, gate: Option<Arc<dyn EgressGate>>) -> io::Result<EgressProxy> {
        let (guard, resolver, upstream) = (Arc::clone(&self.guard), Arc::clone(&self.resolver), self.options.proxy.clone());
        EgressProxy::start(socket, ProxyReach { allowed, gate, guard, resolver, upstream })
    }

    fn target(&self, method: &str, url: &str) -> Result<RequestTarget, ToolError> {
        RequestTarget::parse(method, url).map(|target| self.screened(target))
    }

    fn screened(&self, mut target: RequestTarget) -> RequestTarget {
        // Not an address of this machine: the guard has no say, and no setting leads it there.
        if target.connect.is_sandbox() {
            target.connect.refused = sandbox::refusal(&target.connect);
            return target;
        }
        let refusal = self.guard.screen(&target.host, target.connect.port).err();
        if refusal.is_some() {
            target.connect.causes = self.guard.causes(&target.host, target.connect.port);
        }
        target.connect.refused = refusal.map(|refusal| refusal.to_string());
        target
    }

    async fn follow(&self, request: HttpRequest, redirects: &dyn RedirectCheck) -> Result<HttpResponse, ToolError> {
        let limit = request.redirects;
        let mut hop = Hop {
            target: self.target(&request.method, &request.url)?,
            headers: headers::checked(&request.headers)?,
            body: request.body.map(Into::into),
        };
        let mut trail = Vec::new();
        loop {
            let slot = self.slots.take(&hop.target.connect.host, hop.target.connect.port).await;
            let response =
                self.exchange(&hop, redirects.session()).await.map_err(|error| redirect::led_there(error, &trail, &hop.target))?;
            let Some(location) = location(&response).filter(|_| limit > 0) else {
                return Ok(self.answer(response, hop.target, trail, slot));
            };
            if trail.len() == usize::from(limit) {
                return Err(redirect::too_many(limit, &hop.target));
            }
            trail.push(hop.target.url.to_string());
            let from = hop.target.connect.clone();
            let mut next = hop.follow(response.status().as_u16(), &location)?;
            next.target = self.screened(next.target);
            let checked = within_sandbox(&from, &next.target.connect)
                .and_then(|()| permitted(&next.target.connect))
                .and_then(|()| redirects.check(&next.target.connect));
            checked.map_err(|error| redirect::led_there(error, &trail, &next.target))?;
            hop = next;
        }
    }

    /// One request and the head of its answer.
    async fn exchange(&self, hop: &Hop, session: Option<&str>) -> Result<Response, ToolError> {
        let connect = &hop.target.connect;
        permitted(connect)?;
        let method = Method::from_bytes(connect.method.as_bytes())
            .map_err(|_| ToolError::validation(format!("Unsupported HTTP method: {}", connect.method)))?;
        let upstream = self.upstream(&hop.target);
        let client = if connect.is_sandbox() { self.sandbox_client(connect, session).await? } else { self.client(connect, upstream)? };
        let mut request = client.request(method, hop.target.url.clone()).headers(hop.headers.clone());
        request = match &hop.body {
            Some(body) if !body.is_empty() => request.body(body.clone()),
            // Some servers refuse these methods with 411 unless the length is said, even of nothing.
            _ if matches!(connect.method.as_str(), "POST" | "PUT" | "PATCH") => request.header(CONTENT_LENGTH, 0),
            _ => request,
        };
        let response = request.send().await.map_err(|error| {
            let error = failure::describe(error, &hop.target, &self.options);
            let Some(proxy) = upstream else { return error };
            let message = format!("{} {}", error.message(), proxy.note());
            error.with_message(message)
        })?;
        // The peer of a proxied request is the proxy.
        if !connect.is_sandbox() && upstream.is_none() {
            self.check_peer(&response, &hop.target)?;
        }
        Ok(response)
    }

    /// The proxy that a request goes through.
    fn upstream(&self, target: &RequestTarget) -> Option<&UpstreamProxy> {
        let proxy = self.options.proxy.as_ref()?;
        (!target.connect.is_sandbox() && proxy.leads_to(&target.host, target.connect.port)).then_some(proxy)
    }

    /// A client whose one connection leads to a server in the sandbox of the session.
    async fn sandbox_client(&self, connect: &Connect, session: Option<&str>) -> Result<reqwest::Client, ToolError> {
        let socket = sandbox::relay(self.sandbox.get().cloned(), session, connect.port, self.options.connect_timeout).await?;
        let builder = self.builder(connect, None)?.unix_socket(socket).pool_max_idle_per_host(0);
        builder.build().map_err(|error| not_built(&error))
    }

    /// Only checked addresses are connected to; this would catch a connection that got around the resolver.
    fn check_peer(&self, response: &Response, target: &RequestTarget) -> Result<(), ToolError> {
        let peer = response.remote_addr().ok_or_else(|| network_error(format!("The peer of {} is not known.", target.display_url())))?;
        self.guard.check(&target.connect.host, peer).map_err(|refusal| network_error(refusal.to_string()))
    }

    fn answer(&self, response: Response, target: RequestTarget, redirected_from: Vec<String>, slot: Slot) -> HttpResponse {
        let status = response.status();
        HttpResponse {
            status: status.as_u16(),
            reason: status.canonical_reason().unwrap_or_default().into(),
            headers: headers::to_text(response.headers()),
            url: target.url.to_string(),
            redirected_from,
            body: Box::new(Pieces { response, target, options: Arc::clone(&self.options), _slot: slot }),
        }
    }

    /// The client for a scheme and port, made at first use: most calls of most programs never go out.
    fn client(&self, connect: &Connect, upstream: Option<&UpstreamProxy>) -> Result<reqwest::Client, ToolError> {
        let key = (connect.scheme.clone(), connect.port, upstream.is_some());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = self.builder(connect, upstream)?.build().map_err(|error| not_built(&error))?;
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }

    fn builder(&self, connect: &Connect, upstream: Option<&UpstreamProxy>) -> Result<reqwest::ClientBuilder, ToolError> {
        let resolver = Arc::clone(&self.resolver);
        let builder = reqwest::Client::builder()
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            // A proxy from the environment would resolve names itself, past the guard.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(self.options.connect_timeout)
            .read_timeout(self.options.idle_timeout)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .pool_idle_timeout(Duration::from_secs(30))
            .http1_max_headers(MAX_RESPONSE_HEADERS)
            .http2_max_header_list_size(MAX_RESPONSE_HEADER_BYTES)
            .tcp_nodelay(true);
        let builder = match upstream {
            Some(proxy) => builder.proxy(proxy.for_client().map_err(|error| not_built(&error))?).dns_resolver(ProxyResolver(resolver)),
            None => builder.dns_resolver(CheckingResolver { guard: Arc::clone(&self.guard), resolver, port: connect.port }),
        };
        // Plain http must work where no certificates are installed, and need not wait for them to be read.
        Ok(if connect.scheme == "http" { builder.tls_certs_only([]) } else { builder })
    }
}

impl HttpClient for GuardedClient {
    fn locate(&self, method: &str, url: &str) -> Result<Connect, ToolError> {
        self.target(method, url).map(|target| target.connect)
    }

    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Result<Vec<ResolvedAddress>, ToolError>> {
        Box::pin(async move {
            let parsed = Host::parse(host).ok();
            if let Some(proxy) = self.options.proxy.as_ref().filter(|proxy| parsed.is_some_and(|host| proxy.leads_to(&host, port))) {
                return Err(network_error(format!("Resolved by the proxy {proxy} (network.proxy): only the name can be checked.")));
            }
            let found = resolver::addresses_of(&*self.resolver, host).await;
            let found = found.map_err(|error| network_error(format!("Cannot resolve host: {host} ({error}).")))?;
            let evaluated = |address: IpAddr| {
                let refusal = self.guard.check(host, SocketAddr::new(address, port)).err();
                ResolvedAddress { address, refused: refusal.map(|refusal| refusal.to_string()) }
            };
            Ok(found.into_iter().map(evaluated).collect())
        })
    }

    fn send<'a>(&'a self, request: HttpRequest, redirects: &'a dyn RedirectCheck) -> BoxFuture<'a, Result<HttpResponse, ToolError>> {
        Box::pin(self.follow(request, redirects))
    }
}

fn location(response: &Response) -> Option<String> {
    let value = response.headers().get(LOCATION).filter(|_| redirect::is_redirect(response.status().as_u16()))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// A page from outside must not make requests to servers in the sandbox.
fn within_sandbox(from: &Connect, to: &Connect) -> Result<(), ToolError> {
    if to.is_sandbox() && !from.is_sandbox() {
        return Err(network_error("Address not allowed: a redirect from outside does not lead into the sandbox"));
    }
    Ok(())
}

fn not_built(error: &reqwest::Error) -> ToolError {
    network_error(format!("The HTTP client could not be set up: {}. Check the system's certificates.", causes::innermost(error)))
}

fn permitted(connect: &Connect) -> Result<(), ToolError> {
    connect.refused.as_ref().map_or(Ok(()), |why| Err(network_error(why)))
}

fn network_error(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::NetworkError, message)
}

/// A body on its way. Dropping it before its end closes the connection.
struct Pieces {
    response: Response,
    target: RequestTarget,
    options: Arc<HttpOptions>,
    _slot: Slot,
}

impl Body for Pieces {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>> {
        Box::pin(async move {
            let piece = self.response.chunk().await.map_err(|error| failure::describe(error, &self.target, &self.options))?;
            Ok(piece.map(Into::into))
        })
    }
}
