//! The server: listens, answers until it is stopped, and then ends every session in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::middleware::from_fn_with_state;
use axum::serve::{IncomingStream, Listener};
use haft_listen::BoundedListener;
use haft_nodes::NodeHub;
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::approvals::PageApprovals;
use crate::auth::{FailureLimit, GuardState, Lifetime, NewToken, Scope, Scopes, TenantTokens, TokenBook, TokenFile};
use crate::backend::GatewayBackend;
use crate::browsers::PageBrowsers;
use crate::canvas::PageCanvas;
use crate::connections::{PageRequests, limits};
use crate::error::ApiError;
use crate::routes::router;
use crate::served_sessions::ServedSessions;
use crate::sessions::SessionHost;
use crate::tenants::{CountedListener, PublicAddress, TenantActivity, TenantFront, TenantHost, TenantSeat, route_tenants};
use crate::tls::{SecureListener, TlsFiles};

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
    /// All addresses of the machine are listened on, and browsers need a name for one of them.
    Nameless(SocketAddr),
    /// The certificate or its key cannot be used.
    Certificate(String),
    /// The address is taken, or not one of this machine.
    Address(SocketAddr, std::io::Error),
    /// The socket of a tenant cannot be made.
    Socket(PathBuf, std::io::Error),
    /// No token can be made.
    Token(String),
    /// Connections cannot be accepted.
    Failed(std::io::Error),
}

impl std::fmt::Display for GatewayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotLoopback(address) => write!(f, "{address} can be reached from other machines, and nothing encrypts what they send"),
            Self::Nameless(address) => write!(f, "{address} means every address of this machine, and none that a browser can use"),
            Self::Certificate(why) => write!(f, "there is no encryption: {why}"),
            Self::Address(address, error) => write!(f, "{address} cannot be listened on: {error}"),
            Self::Socket(path, error) => write!(f, "the socket {} cannot be listened on: {error}", path.display()),
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
    /// Where tokens are stored, as hashes; without it they end with the server.
    pub token_file: Option<PathBuf>,
    /// The certificate and its key, without which only this machine can reach the server.
    pub tls: Option<TlsFiles>,
    /// The paired machines, which connect to the same address.
    pub nodes: Option<NodeHub>,
    /// What agents show on the page; without it nothing is shown.
    pub canvas: Option<PageCanvas>,
    /// The browsers of its sessions.
    pub browsers: PageBrowsers,
    /// Where it is the server of a tenant: who is in front of it. Then it listens on a socket alone.
    pub tenant: Option<TenantSeat>,
}

impl GatewayOptions {
    /// Listens on this address, for this machine alone.
    pub fn new(address: SocketAddr) -> Self {
        let browsers = PageBrowsers::default();
        Self { address, host_names: Vec::new(), token_file: None, tls: None, nodes: None, canvas: None, browsers, tenant: None }
    }
}

/// A server that listens.
pub struct Gateway {
    listener: PageListener,
    tls: Option<TlsAcceptor>,
    app: App,
    tenants: Option<Arc<dyn TenantHost>>,
    activity: TenantActivity,
    link: String,
    program_token: String,
    notice: Option<String>,
}

haft_contract::opaque_debug!(Gateway);

enum PageListener {
    Tcp(TcpListener),
    /// That of a tenant, to which the server in front of it connects.
    Socket(UnixListener),
}

impl Gateway {
    /// Listens; answers nothing yet.
    pub async fn bind(backend: Arc<dyn GatewayBackend>, approvals: PageApprovals, options: GatewayOptions) -> Result<Self, GatewayError> {
        let tls = options.tls.as_ref().map(TlsFiles::acceptor).transpose().map_err(GatewayError::Certificate)?;
        let (listener, public) = listen(&options).await?;
        let (tokens, notice) = stored_tokens(&options);
        let refused = |error: ApiError| GatewayError::Token(error.message().to_owned());
        let NewToken { link, .. } = tokens.mint("link", Scopes::all(), None, Lifetime::AfterSignIn).map_err(refused)?;
        let for_programs = [Scope::View, Scope::Chat].into_iter().collect();
        let program = tokens.mint("programs", for_programs, None, Lifetime::Server).map_err(refused)?;
        let PublicAddress { url, scheme, port, hosts } = public;
        let guard = GuardState { tokens, failures: FailureLimit::default(), hosts, scheme, port };
        let (url, stop): (Arc<str>, _) = (url.into(), CancellationToken::new());
        let sessions = SessionHost::new(Arc::clone(&backend), approvals.clone(), stop.clone());
        let link = format!("{url}/#token={link}");
        let (guard, invocations, answers, nodes, browsers) =
            (Arc::new(guard), Arc::default(), Arc::default(), options.nodes, options.browsers);
        let canvas = options.canvas.unwrap_or_else(|| PageCanvas::new(&approvals));
        let app = App { backend, guard, approvals, canvas, browsers, sessions, invocations, answers, nodes, url, stop };
        let (tenants, activity) = (None, TenantActivity::default());
        Ok(Self { listener, tls, app, tenants, activity, link, program_token: program.secret, notice })
    }

    /// Hands requests of tenants to their servers.
    pub fn serve_tenants(&mut self, tenants: Arc<dyn TenantHost>) {
        self.tenants = Some(tenants);
    }

    /// How clients reach it, for the servers of its tenants.
    pub fn public_address(&self) -> PublicAddress {
        let guard = &self.app.guard;
        PublicAddress { url: self.app.url.to_string(), scheme: guard.scheme.clone(), port: guard.port, hosts: guard.hosts.clone() }
    }

    /// When the server of a tenant was last used.
    pub fn activity(&self) -> TenantActivity {
        self.activity.clone()
    }

    /// Takes what the operator has changed about the users of a tenant.
    pub fn user_follower(&self) -> impl Fn() + Send + Sync + use<> {
        let guard = Arc::clone(&self.app.guard);
        move || guard.tokens.follow_users()
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

    /// The sessions of the server, for programs that run turns in it.
    pub fn sessions(&self) -> ServedSessions {
        ServedSessions::new(&self.app)
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.listener {
            PageListener::Tcp(listener) => listener.local_addr().ok(),
            PageListener::Socket(_) => None,
        }
    }

    /// What the user should know, such as tokens of an earlier server that cannot be read.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Answers requests until the token is cancelled. Then no new turn begins, running ones are cancelled, and each gets its end.
    pub async fn serve(self, stop: &CancellationToken) -> Result<(), GatewayError> {
        let Self { listener, tls, app, tenants, activity, .. } = self;
        let (stopped, port) = (app.stop.clone(), app.guard.port);
        let (sessions, mut service) = (Arc::clone(&app.sessions), router(app));
        if let Some(host) = tenants {
            service = service.layer(from_fn_with_state(TenantFront { host, port }, route_tenants));
        }
        let serving = async {
            match (listener, tls) {
                (PageListener::Tcp(listener), Some(acceptor)) => {
                    answer(SecureListener::new(BoundedListener::new(listener, limits()), acceptor), service, &stopped).await
                }
                (PageListener::Tcp(listener), None) => answer(BoundedListener::new(listener, limits()), service, &stopped).await,
                (PageListener::Socket(listener), _) => {
                    let serving = axum::serve(CountedListener::new(listener, activity), service.into_make_service());
                    serving.with_graceful_shutdown(stopped.clone().cancelled_owned()).await
                }
            }
        };
        let ending = async {
            stop.cancelled().await;
            stopped.cancel();
            tokio::time::timeout(TURN_GRACE, sessions.finished()).await.ok();
            tokio::time::sleep(REQUEST_GRACE).await;
        };
        tokio::select! {
            // It ends when the last connection has.
            ended = serving => {
                tokio::time::timeout(TURN_GRACE, sessions.finished()).await.ok();
                ended.map_err(GatewayError::Failed)
            }
            () = ending => Ok(()),
        }
    }
}

async fn answer<L>(listener: L, service: Router, stopped: &CancellationToken) -> std::io::Result<()>
where
    L: Listener<Addr = SocketAddr>,
    PageRequests: for<'a> Connected<IncomingStream<'a, L>>,
{
    let service = service.into_make_service_with_connect_info::<PageRequests>();
    axum::serve(listener, service).with_graceful_shutdown(stopped.clone().cancelled_owned()).await
}

/// Takes the address, or the socket of a tenant; says how clients reach it.
async fn listen(options: &GatewayOptions) -> Result<(PageListener, PublicAddress), GatewayError> {
    if let Some(seat) = &options.tenant {
        let listener = UnixListener::bind(&seat.socket).map_err(|error| GatewayError::Socket(seat.socket.clone(), error))?;
        return Ok((PageListener::Socket(listener), seat.public.clone()));
    }
    let listener = listen_at(options).await?;
    let address = listener.local_addr().map_err(|error| GatewayError::Address(options.address, error))?;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let name = options.host_names.first().map_or_else(|| address.to_string(), |name| format!("{name}:{}", address.port()));
    let (url, hosts) = (format!("{scheme}://{name}"), hosts(address, &options.host_names));
    Ok((PageListener::Tcp(listener), PublicAddress { url, scheme: scheme.to_owned(), port: address.port(), hosts }))
}

/// Others than addresses of this machine need encryption, and a name for the browser.
async fn listen_at(options: &GatewayOptions) -> Result<TcpListener, GatewayError> {
    let address = options.address;
    if !address.ip().is_loopback() && options.tls.is_none() {
        return Err(GatewayError::NotLoopback(address));
    }
    if address.ip().is_unspecified() && options.host_names.is_empty() {
        return Err(GatewayError::Nameless(address));
    }
    TcpListener::bind(address).await.map_err(|error| GatewayError::Address(address, error))
}

/// The tokens of earlier servers, and what the user should know about them.
fn stored_tokens(options: &GatewayOptions) -> (TokenBook, Option<String>) {
    let (tokens, notice) = tokens_of_file(options);
    let Some(seat) = &options.tenant else { return (tokens, notice) };
    (tokens.of_tenant(TenantTokens { prefix: seat.prefix.clone(), users: Arc::clone(&seat.users) }), notice)
}

fn tokens_of_file(options: &GatewayOptions) -> (TokenBook, Option<String>) {
    let Some(path) = &options.token_file else { return (TokenBook::default(), None) };
    let lost = |error: std::io::Error| format!("pages have to sign in again: {} cannot be used: {error}", path.display());
    match TokenFile::open(path) {
        Ok(Some(file)) => {
            let (tokens, fault) = TokenBook::load(file, SystemTime::now());
            (tokens, fault.map(lost))
        }
        Ok(None) => (TokenBook::default(), Some("another server runs in this workspace: tokens of this one end with it".into())),
        Err(error) => (TokenBook::default(), Some(lost(error))),
    }
}

/// The values of `Host` that mean this server.
fn hosts(address: SocketAddr, names: &[String]) -> Vec<String> {
    let port = address.port();
    let own = [address.to_string(), format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    own.into_iter().chain(names.iter().flat_map(|name| [name.clone(), format!("{name}:{port}")])).collect()
}
