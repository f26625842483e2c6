//! The checks of each request: host, origin, token, and the headers of each answer.

use std::sync::Arc;
use std::time::Instant;

use axum::body::to_bytes;
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use haft_text::display;
use tokio_util::sync::CancellationToken;

use super::limiter::FailureLimit;
use super::tokens::{TokenBook, TokenUse, missing};
use super::{Scope, Scopes};
use crate::connections::PageRequests;
use crate::error::ApiError;
use crate::openapi::needed_scope;

/// Scripts and styles are files of ours; nothing is inline, and no other site may frame the page.
const CONTENT_POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'none'; \
                              frame-ancestors 'none'";

/// The longest message of the framework.
const MOST_ERROR_BYTES: usize = 16 << 10;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What requests are checked against.
#[derive(Debug)]
pub(crate) struct GuardState {
    pub(crate) tokens: TokenBook,
    pub(crate) failures: FailureLimit,
    /// Values of `Host` that mean this server.
    pub(crate) hosts: Vec<String>,
    /// `http` or `https`.
    pub(crate) scheme: String,
    pub(crate) port: u16,
}

/// The token with which a request was made.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn(pub(crate) TokenUse);

impl SignedIn {
    pub(crate) fn scopes(&self) -> Scopes {
        self.0.scopes
    }
    pub(crate) fn revoked(&self) -> &CancellationToken {
        &self.0.revoked
    }
    /// Refuses a request whose token lacks a scope.
    pub(crate) fn need(&self, scope: Scope) -> Result<(), ApiError> {
        if self.0.scopes.has(scope) {
            return Ok(());
        }
        let word = scope.as_str();
        Err(missing(format!("This needs the scope '{word}', and the token '{}' does not have it.", self.0.name))
            .help(format!("Use a token with '{word}': `haft serve` prints a link with all scopes.")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SignedIn {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthenticated)
    }
}

/// The cookie of a server: those of one host share their cookies, whatever the port.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("haft_token_{port}")
}

/// Lets a request through, or refuses it.
pub(crate) async fn check(State(guard): State<Arc<GuardState>>, mut request: Request, next: Next) -> Response {
    let _answering = request.extensions().get::<ConnectInfo<PageRequests>>().map(|ConnectInfo(requests)| requests.begin());
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match guard.admit(&mut request) {
        Ok(()) if is_api => in_one_shape(next.run(request).await).await,
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    protect(response.headers_mut());
    response
}

/// Gives the errors of the framework, such as those about a query, the shape of ours.
async fn in_one_shape(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_plain = kind.is_none_or(|kind| kind.starts_with(b"text/plain"));
    if !status.is_client_error() || !is_plain {
        return response;
    }
    let allowed = response.headers().get(header::ALLOW).cloned();
    let text = to_bytes(response.into_body(), MOST_ERROR_BYTES).await.unwrap_or_default();
    let message = match (status, String::from_utf8_lossy(&text).trim()) {
        (StatusCode::METHOD_NOT_ALLOWED, _) => "This path does not take this method.".to_owned(),
        (_, "") => format!("The request was refused: {status}."),
        (_, text) => format!("{}.", display::escape_line(text.trim_end_matches('.'))),
    };
    let error = ApiError::new(status, "bad_request", message).help("docs/GATEWAY.md and /api/openapi.json list the paths.");
    let mut response = error.into_response();
    if let Some(allowed) = allowed {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

impl GuardState {
    fn admit(&self, request: &mut Request) -> Result<(), ApiError> {
        self.check_host(request.headers())?;
        self.check_origin(request.headers())?;
        let path = request.uri().path();
        if !path.starts_with("/api/") || path == "/api/login" {
            return Ok(());
        }
        let token = SignedIn(self.token(request)?);
        // Before a body or a query is read, so that a token without the scope learns nothing of what a request takes.
        if let Some(scope) = needed_scope(request.method().as_str(), request.uri().path()) {
            token.need(scope)?;
        }
        request.extensions_mut().insert(token);
        Ok(())
    }

    /// A page that was rebound to this address names another host.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = only(headers, &header::HOST).unwrap_or_default();
        if self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return Ok(());
        }
        Err(ApiError::new(StatusCode::FORBIDDEN, "wrong_host", "The header 'Host' does not name this server.")
            .help(format!("Use http://{} or add the name with --host-name.", self.hosts.first().map_or("", String::as_str))))
    }

    /// Requests of other sites are refused, whatever they ask for.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let foreign = || {
            ApiError::new(StatusCode::FORBIDDEN, "wrong_origin", "Pages of other sites may not use this server.")
                .help("Open the page of this server, or call the API from a program without the header 'Origin'.")
        };
        if headers.contains_key(header::ORIGIN) && !self.is_own_origin(only(headers, &header::ORIGIN).unwrap_or_default()) {
            return Err(foreign());
        }
        match only(headers, &FETCH_SITE) {
            Some("cross-site" | "same-site") if !is_navigation(headers) => Err(foreign()),
            _ => Ok(()),
        }
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        let host = origin.strip_prefix(self.scheme.as_str()).and_then(|rest| rest.strip_prefix("://"));
        host.is_some_and(|host| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)))
    }

    fn token(&self, request: &Request) -> Result<TokenUse, ApiError> {
        let headers = request.headers();
        let Some(secret) = credential(headers, self.port) else { return Err(unauthenticated()) };
        let Some(token) = self.tokens.find(secret) else { return Err(self.wrong_token()) };
        // A browser always says where a change comes from; SameSite=Strict is the first lock, this is the second.
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
        if changes && bearer(headers).is_none() && !headers.contains_key(header::ORIGIN) {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "wrong_origin", "A change with a cookie needs the header 'Origin'.")
                .help("Programs send the token as 'Authorization: Bearer TOKEN'."));
        }
        Ok(token)
    }

    /// Counts a wrong token.
    pub(crate) fn wrong_token(&self) -> ApiError {
        match self.failures.count(Instant::now()) {
            Ok(()) => unauthenticated(),
            Err(seconds) => ApiError::rate_limited(seconds, format!("Too many wrong tokens: try again in {seconds} seconds.")),
        }
    }
}

fn unauthenticated() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", "The token is missing, wrong, used up or revoked.")
        .help("Open the link that `haft serve` printed, or send 'Authorization: Bearer TOKEN'. Restart it for a new link.")
}

/// The secret of a request, as its header or its cookie has it.
pub(crate) fn credential(headers: &HeaderMap, port: u16) -> Option<&str> {
    bearer(headers).or_else(|| cookie(headers, &cookie_name(port)))
}

/// A link on another site may lead here: the page it opens has no rights of that site.
fn is_navigation(headers: &HeaderMap) -> bool {
    only(headers, &FETCH_MODE) == Some("navigate")
}

/// The value of a header that is given once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

/// A token in the address is none: addresses are logged.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(found, _)| *found == name).map(|(_, value)| value)
}

fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The frame of the canvas has stricter ones of its own.
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(CONTENT_POLICY));
    headers.entry(header::X_FRAME_OPTIONS).or_insert(HeaderValue::from_static("DENY"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
