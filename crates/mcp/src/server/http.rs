//! Several clients over streamable HTTP, each with its own session.

mod guard;
mod messages;
mod sessions;
mod token_file;
mod token_gate;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use haft_listen::{BoundedListener, ConnectionLimits};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::guard::HttpGuard;
use self::messages::{DirectMessages, ServerNames};
use self::sessions::HttpSessions;
use self::token_gate::TokenGate;
use super::backend::ToolBackend;
use super::handler::ToolServer;

pub(super) use self::sessions::OpenedSession;

pub use self::guard::AccessToken;
pub use self::token_file::{HttpTokenEntry, HttpTokenFile, TokenLife};

/// The path of the endpoint.
pub(super) const PATH: &str = "/mcp";
/// The largest body: the largest arguments of a call, and what is around them.
const MOST_BYTES: usize = 32 << 20;
/// A session that nobody uses ends after this time.
const IDLE_SESSION: Duration = Duration::from_mins(30);
/// What runs when the server stops has this long to end.
const GRACE: Duration = Duration::from_secs(5);
/// Connections that may be open at once.
const MOST_CONNECTIONS: usize = 128;
/// A connection on which nothing is read or written for this long is closed.
const IDLE_CONNECTION: Duration = Duration::from_mins(2);

/// Why there is no HTTP server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Everybody in the network could reach it.
    #[error("{0} can be reached from other machines")]
    NotLoopback(SocketAddr),
    /// The address is taken, or not one of this machine.
    #[error("{0} cannot be listened on: {1}")]
    Address(SocketAddr, std::io::Error),
    /// Its token cannot be kept.
    #[error("{0}")]
    Token(String),
    /// The connection failed.
    #[error("the HTTP server failed: {0}")]
    Failed(std::io::Error),
}

/// How the server is reached.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpHttpOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// What clients must present; `None` takes every client, for tests on loopback.
    pub token: Option<AccessToken>,
    /// Where its hash is kept, with other tokens of this address, so that the user can revoke it and add others; `None` keeps it in memory.
    pub token_file: Option<HttpTokenFile>,
    /// Whether other machines may reach it.
    pub reach: HttpReach,
    /// Names of this server that clients on other machines use.
    pub hosts: Vec<String>,
}

/// Who can reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpReach {
    /// This machine alone.
    Loopback,
    /// Other machines as well.
    Network,
}

impl McpHttpOptions {
    /// A server for this machine alone.
    pub fn new(address: SocketAddr, token: Option<AccessToken>) -> Self {
        Self { address, token, token_file: None, reach: HttpReach::Loopback, hosts: Vec::new() }
    }
}

/// A server that listens.
pub struct HttpListener {
    listener: TcpListener,
    address: SocketAddr,
    options: McpHttpOptions,
    backend: Arc<dyn ToolBackend>,
    /// The token as it is kept.
    kept: Option<HttpTokenEntry>,
}

haft_contract::opaque_debug!(HttpListener: address = address);

impl HttpListener {
    /// Listens; answers nothing yet.
    pub async fn bind(backend: Arc<dyn ToolBackend>, options: McpHttpOptions) -> Result<Self, ListenError> {
        let address = options.address;
        if !address.ip().is_loopback() && options.reach == HttpReach::Loopback {
            return Err(ListenError::NotLoopback(address));
        }
        let listener = TcpListener::bind(address).await.map_err(|error| ListenError::Address(address, error))?;
        let address = listener.local_addr().map_err(|error| ListenError::Address(address, error))?;
        let kept = match (&options.token_file, &options.token) {
            (Some(file), Some(token)) => Some(file.add(address, token, TokenLife::WithServer).map_err(ListenError::Token)?),
            _ => None,
        };
        Ok(Self { listener, address, options, backend, kept })
    }

    /// The address of the endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// What the user revokes the token by, if it is kept in a file.
    pub fn token_id(&self) -> Option<&str> {
        self.kept.as_ref().map(|kept| kept.id.as_str())
    }

    /// What opens the server.
    fn gate(&self) -> Option<TokenGate> {
        match (&self.options.token_file, &self.options.token) {
            (_, None) => None,
            (Some(file), Some(_)) => Some(TokenGate::of_file(file.clone(), self.address)),
            (None, Some(token)) => Some(TokenGate::fixed(token)),
        }
    }

    /// Answers clients until the token is cancelled.
    pub async fn serve(self, stop: &CancellationToken) -> Result<(), ListenError> {
        let sessions = Arc::new(session_manager());
        let guard = HttpGuard::new(self.gate(), Arc::clone(&sessions));
        let server = ToolServer::new(self.backend, stop.child_token());
        let names = names(self.address, &self.options);
        let config = config(self.address, &names, stop);
        let messages = DirectMessages {
            server: server.clone(),
            sessions: Arc::new(HttpSessions::new(Arc::clone(&sessions))),
            names: Arc::new(ServerNames::new(&names, self.address)),
        };
        let service = StreamableHttpService::new(move || Ok(server.for_next_client()), Arc::clone(&sessions), config);
        let follower = guard.clone();
        // The last layer is the first to look at a request: nobody's body is read before their token.
        let app = Router::new().route_service(PATH, service).layer(axum::middleware::from_fn_with_state(messages, messages::answer));
        let app = app.layer(axum::middleware::from_fn_with_state(guard, guard::check));
        let listener = BoundedListener::new(self.listener, ConnectionLimits::new(MOST_CONNECTIONS, IDLE_CONNECTION));
        let serving = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
        let outcome = tokio::select! {
            ended = serving.into_future() => ended.map_err(ListenError::Failed),
            () = follower.follow_revocations() => Ok(()),
            () = async { stop.cancelled().await; tokio::time::sleep(GRACE).await } => Ok(()),
        };
        close_all(&sessions).await;
        if let (Some(file), Some(kept)) = (&self.options.token_file, &self.kept) {
            // One that stays is removed at the next start.
            file.revoke(&kept.id).ok();
        }
        outcome
    }
}

/// Ends the sessions of all clients.
async fn close_all(sessions: &LocalSessionManager) {
    let ids: Vec<_> = sessions.sessions.read().await.keys().cloned().collect();
    for id in ids {
        // One that has ended meanwhile needs no end.
        sessions.close_session(&id).await.ok();
    }
}

fn session_manager() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE_SESSION);
    sessions
}

/// The names of this server.
fn names(address: SocketAddr, options: &McpHttpOptions) -> Vec<String> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned(), host(address)];
    names.into_iter().chain(options.hosts.iter().cloned()).collect()
}

/// Only names of this server are taken as its host, and only pages of it as an origin: a page that was rebound to this address is neither.
fn config(address: SocketAddr, names: &[String], stop: &CancellationToken) -> StreamableHttpServerConfig {
    let origins = names.iter().map(|name| format!("http://{name}:{}", address.port()));
    StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_allowed_hosts(names.iter().map(|name| name.trim_matches(['[', ']']).to_owned()))
        .with_max_request_body_bytes(MOST_BYTES)
        .with_json_response(true)
        .with_cancellation_token(stop.child_token())
}

fn host(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}
