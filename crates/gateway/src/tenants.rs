//! Tenants: each is a server of its own, in a process of its own, behind this one.
//!
//! This server only looks at the first part of a secret, which says whose it is, and hands the whole request over. It decides nothing: the
//! server of the tenant checks host, origin, token and scopes as if it had been reached directly. What it does not know it treats as any
//! other wrong token, so an answer does not tell which tenants there are.

mod activity;
mod forward;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use haft_contract::BoxFuture;
use haft_tui::failure::Failure;
use serde::{Deserialize, Serialize};

pub(crate) use self::activity::CountedListener;
pub use self::activity::TenantActivity;
use self::forward::forward;
use crate::auth::{UserDirectory, credential};
use crate::connections::PageRequests;
use crate::error::ApiError;

/// A request to sign in is not larger.
const MOST_LOGIN_BYTES: usize = 16 << 10;
/// How long a server that ends because nobody used it may take, before it can be started again.
const ENDING: Duration = Duration::from_secs(15);
/// How often it is looked for meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// How clients reach a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicAddress {
    /// The address of the page.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The port.
    pub port: u16,
    /// Values of `Host` that mean it.
    pub hosts: Vec<String>,
}

/// The place of a tenant's server behind another one.
#[derive(Debug, Clone)]
pub struct TenantSeat {
    /// Where it listens.
    pub socket: PathBuf,
    /// How clients reach the server in front of it.
    pub public: PublicAddress,
    /// What its secrets begin with.
    pub prefix: String,
    /// Whom the operator lets in.
    pub users: Arc<dyn UserDirectory>,
}

/// Knows the tenants, and starts their servers.
pub trait TenantHost: Send + Sync {
    /// The socket of the tenant whose secrets begin so, whose server is started if it does not run; `None` if there is no such tenant.
    fn socket<'a>(&'a self, route: &'a str) -> BoxFuture<'a, Option<Result<PathBuf, Failure>>>;
}

/// What hands requests over.
#[derive(Clone)]
pub(crate) struct TenantFront {
    pub(crate) host: Arc<dyn TenantHost>,
    pub(crate) port: u16,
}

/// Hands a request of a tenant to its server, and any other on.
pub(crate) async fn route_tenants(State(front): State<TenantFront>, request: Request, next: Next) -> Response {
    let _answering = request.extensions().get::<ConnectInfo<PageRequests>>().map(|ConnectInfo(requests)| requests.begin());
    let (request, route) = match front.route(request).await {
        Ok(routed) => routed,
        Err(error) => return error.into_response(),
    };
    let Some(route) = route else { return next.run(request).await };
    let Some(found) = front.host.socket(&route).await else { return next.run(request).await };
    match front.connected(&route, found).await {
        Ok(stream) => forward(stream, request).await.unwrap_or_else(IntoResponse::into_response),
        Err(error) => error.into_response(),
    }
}

impl TenantFront {
    /// The request, and whose it is if its secret says so.
    async fn route(&self, request: Request) -> Result<(Request, Option<String>), ApiError> {
        let path = request.uri().path();
        if !path.starts_with("/api/") && !path.starts_with("/canvas/") {
            return Ok((request, None));
        }
        if path != "/api/login" || request.method() != Method::POST {
            let route = credential(request.headers(), self.port).and_then(route_of);
            return Ok((request, route));
        }
        let (parts, body) = request.into_parts();
        let too_large = |_| ApiError::bad_request(format!("A request to sign in has at most {MOST_LOGIN_BYTES} bytes."));
        let bytes = to_bytes(body, MOST_LOGIN_BYTES).await.map_err(too_large)?;
        let route = serde_json::from_slice::<LoginToken>(&bytes).ok().and_then(|login| route_of(&login.token));
        Ok((Request::from_parts(parts, Body::from(bytes)), route))
    }

    async fn connected(&self, route: &str, found: Result<PathBuf, Failure>) -> Result<tokio::net::UnixStream, ApiError> {
        let (mut found, started) = (Some(found), Instant::now());
        while started.elapsed() < ENDING {
            let socket = found.take().ok_or_else(unavailable)?.map_err(|_| unavailable())?;
            if let Ok(stream) = tokio::net::UnixStream::connect(&socket).await {
                return Ok(stream);
            }
            tokio::time::sleep(LOOK).await;
            found = self.host.socket(route).await;
        }
        Err(unavailable())
    }
}

/// Why it is not there is for the operator, who finds it on the terminal of the server.
fn unavailable() -> ApiError {
    ApiError::unavailable("Your server cannot be started now.").help("Try again in a minute, or tell the operator.")
}

#[derive(Deserialize)]
struct LoginToken {
    token: String,
}

/// The part of a secret that says whose it is.
fn route_of(secret: &str) -> Option<String> {
    secret.split_once('.').map(|(route, _)| route.to_owned())
}
