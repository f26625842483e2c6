//! The server: listens, answers until it is stopped, and then ends every session in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::approvals::PageApprovals;
use crate::auth::{FailureLimit, GuardState, NewToken, Scope, Scopes, TokenBook};
use crate::backend::GatewayBackend;
use crate::connections::BoundedListener;
use crate::error::ApiError;
use crate::invocations::Invocations;
use crate::routes::router;
use crate::sessions::SessionHost;

/// How long turns that are cancelled may take to end.
const TURN_GRACE: Duration = Duration::from_secs(10);
/// How long requests may take to end after that.
const REQUEST_GRACE: Duration = Duration::from_secs(2);

/// Why there is no server.
#[derive(Debug)]
#[non_exhaustive]
pub enum GatewayError {
    /// Other machines could reach it, and nothing encrypts what they send.
    NotLoopback(SocketAddr),
    /// The address is taken, or not one of this machine.
    Address(SocketAddr, std::io::Error),
    /// No token can be made.
    Token(String),
    /// Connections cannot be accepted.
    Failed(std::io::Error),
}

impl std::fmt::Display for GatewayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotLoopback(address) => write!(f, "{address} can be reached from other machines"),
            Self::Address(address, error) => write!(f, "{address} cannot be listened on: {error}"),
            Self::Token(why) => f.write_str(why),
            Self::Failed(error) => write!(f, "the server failed: {error}"),
        }
    }
}

impl std::error::Error for GatewayError {}

/// How the server is reached.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// Names of this server besides its address and `localhost`.
    pub host_names: Vec<String>,
}

impl GatewayOptions {
    /// Listens on this address, for this machine alone.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, host_names: Vec::new() }
    }
}

/// A server that listens.
pub struct Gateway {
    listener: TcpListener,
    app: App,
    link: String,
    program_token: String,
}

haft_contract::opaque_debug!(Gateway: link = program_token);

impl Gateway {
    /// Listens; answers nothing yet.
    pub async fn bind(backend: Arc<dyn GatewayBackend>, approvals: PageApprovals, options: GatewayOptions) -> Result<Self, GatewayError> {
        let address = options.address;
        if !address.ip().is_loopback() {
            return Err(GatewayError::NotLoopback(address));
        }
        let listener = TcpListener::bind(address).await.map_err(|error| GatewayError::Address(address, error))?;
        let address = listener.local_addr().map_err(|error| GatewayError::Address(address, error))?;
        let tokens = TokenBook::default();
        let refused = |error: ApiError| GatewayError::Token(error.message().to_owned());
        let NewToken { link, .. } = tokens.mint("link", Scopes::all(), None).map_err(refused)?;
        let program = tokens.mint("programs", [Scope::View, Scope::Chat].into_iter().collect(), None).map_err(refused)?;
        let hosts = hosts(address, &options.host_names);
        let guard = GuardState { tokens, failures: FailureLimit::default(), hosts, scheme: "http", port: address.port() };
        let (url, stop): (Arc<str>, _) = (format!("http://{address}").into(), CancellationToken::new());
        let sessions = SessionHost::new(Arc::clone(&backend), approvals.clone(), stop.clone());
        let link = format!("{url}/#token={link}");
        let app = App { backend, guard: Arc::new(guard), approvals, sessions, invocations: Arc::new(Invocations::default()), url, stop };
        Ok(Self { listener, app, link, program_token: program.secret })
    }

    /// The address of the page.
    pub fn url(&self) -> &str {
        &self.app.url
    }

    /// The address that signs a page in, once, with every scope.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// A token for programs of this user, to view and to chat.
    pub fn program_token(&self) -> &str {
        &self.program_token
    }

    /// Answers requests until the token is cancelled. Then no new turn begins, running ones are cancelled, and each gets its end.
    pub async fn serve(self, stop: &CancellationToken) -> Result<(), GatewayError> {
        let Self { listener, app, .. } = self;
        let stopped = app.stop.clone();
        let (sessions, service) = (Arc::clone(&app.sessions), router(app));
        let serving = axum::serve(BoundedListener::new(listener), service).with_graceful_shutdown(stopped.clone().cancelled_owned());
        let ending = async {
            stop.cancelled().await;
            stopped.cancel();
            tokio::time::timeout(TURN_GRACE, sessions.finished()).await.ok();
            tokio::time::sleep(REQUEST_GRACE).await;
        };
        tokio::select! {
            // It ends when the last connection has.
            ended = serving.into_future() => {
                tokio::time::timeout(TURN_GRACE, sessions.finished()).await.ok();
                ended.map_err(GatewayError::Failed)
            }
            () = ending => Ok(()),
        }
    }
}

/// The values of `Host` that mean this server.
fn hosts(address: SocketAddr, names: &[String]) -> Vec<String> {
    let port = address.port();
    let own = [address.to_string(), format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    own.into_iter().chain(names.iter().flat_map(|name| [name.clone(), format!("{name}:{port}")])).collect()
}
