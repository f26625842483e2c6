//! Who may send requests.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio_util::sync::CancellationToken;

use super::token_gate::{PresentedToken, TokenGate};
use crate::server::random::random_text;

/// Sessions that may exist at once.
const MOST_SESSIONS: usize = 64;
/// Wrong tokens in [`WINDOW`] after which others are told to wait. The right one always passes: else anybody on this machine could lock
/// the client out, and guessing is hopeless at any speed.
const MOST_FAILURES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);
/// The shortest token that a user may choose.
const SHORTEST: usize = 32;
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Who has no token keeps no connection: their number is bounded.
const CLOSE: [(HeaderName, &str); 1] = [(header::CONNECTION, "close")];
/// How often sessions are compared with the tokens that opened them.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A secret that clients present.
#[derive(Clone)]
pub struct AccessToken(Arc<str>);

impl AccessToken {
    /// A new one; `None` if the machine gives no random numbers.
    pub fn random() -> Option<Self> {
        random_text().map(|text| Self(text.into()))
    }

    /// A token of the user. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() < SHORTEST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("a token has {SHORTEST} or more letters, digits and signs, without blanks"));
        }
        Ok(Self(text.into()))
    }

    /// The secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken")
    }
}

/// Checks requests before anything else looks at them.
#[derive(Clone)]
pub(super) struct HttpGuard {
    gate: Option<Arc<TokenGate>>,
    sessions: Arc<LocalSessionManager>,
    /// The token that opened each session.
    openers: Arc<Mutex<HashMap<String, String>>>,
    failures: Arc<Mutex<Failures>>,
}

struct Failures {
    since: Instant,
    count: u32,
}

impl HttpGuard {
    pub(super) fn new(gate: Option<TokenGate>, sessions: Arc<LocalSessionManager>) -> Self {
        let failures = Arc::new(Mutex::new(Failures { since: Instant::now(), count: 0 }));
        Self { gate: gate.map(Arc::new), sessions, openers: Arc::default(), failures }
    }

    /// The token of a request; `None` if none is needed.
    fn admit(&self, headers: &HeaderMap) -> Result<Option<PresentedToken>, Box<Response>> {
        let Some(gate) = &self.gate else { return Ok(None) };
        match bearer(headers).and_then(|presented| gate.find(presented)) {
            Some(token) => Ok(Some(token)),
            None => Err(Box::new(self.refuse())),
        }
    }

    fn refuse(&self) -> Response {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.since.elapsed() > WINDOW {
            *failures = Failures { since: Instant::now(), count: 0 };
        }
        if failures.count >= MOST_FAILURES {
            let text = "Too many wrong tokens: try again in ten seconds.\n";
            return (StatusCode::TOO_MANY_REQUESTS, CLOSE, text).into_response();
        }
        failures.count += 1;
        unauthorized()
    }

    /// Whether a session may be used with this token: the one that opened it.
    fn is_opener(&self, session: &str, token: &PresentedToken) -> bool {
        let openers = self.openers.lock().unwrap_or_else(PoisonError::into_inner);
        openers.get(session).is_none_or(|opener| *opener == token.id)
    }

    /// Notes which token opened a session; forgets sessions that have ended.
    async fn note_opener(&self, session: &str, token: &PresentedToken) {
        let open = self.sessions.sessions.read().await;
        let mut openers = self.openers.lock().unwrap_or_else(PoisonError::into_inner);
        openers.retain(|known, _| open.contains_key(known.as_str()));
        openers.insert(session.to_owned(), token.id.clone());
    }

    /// Ends sessions whose token was revoked, as long as it runs.
    pub(super) async fn follow_revocations(&self) {
        let Some(gate) = &self.gate else { return std::future::pending().await };
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let openers = self.openers.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (session, _) in openers.iter().filter(|(_, token)| !gate.is_good(token)) {
                self.openers.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
                // One that has ended meanwhile needs no end.
                self.sessions.close_session(&session.as_str().into()).await.ok();
            }
        }
    }
}

fn unauthorized() -> Response {
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, CLOSE, challenge, "Send the token that `haft mcp` printed: 'Authorization: Bearer TOKEN'.\n").into_response()
}

/// The one token of a request. A token in the address is none: addresses are logged.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// Lets a request through, or refuses it.
pub(super) async fn check(State(guard): State<HttpGuard>, request: Request, next: Next) -> Response {
    let token = match guard.admit(request.headers()) {
        Ok(token) => token,
        Err(refusal) => return *refusal,
    };
    if !names_one_server(&request) {
        return (StatusCode::BAD_REQUEST, CLOSE, "Name one server as the host, and no user.\n").into_response();
    }
    let session = request.headers().get(SESSION).map(|session| session.to_str().unwrap_or_default().to_owned());
    if let (Some(session), Some(token)) = (&session, &token)
        && !guard.is_opener(session, token)
    {
        return (StatusCode::NOT_FOUND, "There is no such session.\n").into_response();
    }
    if session.is_none() && guard.sessions.sessions.read().await.len() >= MOST_SESSIONS {
        let text = format!("{MOST_SESSIONS} sessions are open: end one of them, or wait until one is idle for long enough.\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    let Some(token) = token else { return next.run(request).await };
    // A call that runs ends with the token that it came with.
    let Some(response) = token.revoked.run_until_cancelled(next.run(request)).await else { return unauthorized() };
    if let Some(opened) = response.headers().get(SESSION).and_then(|opened| opened.to_str().ok()).filter(|_| session.is_none()) {
        guard.note_opener(opened, &token).await;
    }
    until_revoked(response, token.revoked)
}

/// Whether the request names its server once: what one reader takes for the host no other may take for something else.
fn names_one_server(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (host, more) = (hosts.next().map(HeaderValue::as_bytes), hosts.next());
    let in_address = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    more.is_none() && host.is_none_or(|host| !host.contains(&b'@')) && in_address.is_none_or(|named| host == Some(named))
}

/// A stream ends with its token.
fn until_revoked(response: Response, revoked: CancellationToken) -> Response {
    let is_stream = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked.cancelled_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(guard: &HttpGuard, values: &[&str]) -> u16 {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        guard.admit(&headers).map_or_else(|response| response.status().as_u16(), |_| 200)
    }

    #[test]
    fn only_the_whole_token_passes() {
        let token = AccessToken::parse("0123456789abcdef0123456789abcdef").unwrap();
        let guard = || HttpGuard::new(Some(TokenGate::fixed(&token)), Arc::default());
        let right = format!("Bearer {}", token.reveal());
        for (values, expected) in [
            (&[right.as_str()][..], 200),
            (&["bearer 0123456789abcdef0123456789abcdef"], 200),
            (&[], 401),
            (&["Bearer "], 401),
            (&["Bearer 0123456789abcdef0123456789abcde"], 401),
            (&["Bearer 0123456789abcdef0123456789abcdef0"], 401),
            (&["Basic 0123456789abcdef0123456789abcdef"], 401),
            (&[right.as_str(), right.as_str()], 401),
            (&["0123456789abcdef0123456789abcdef"], 401),
        ] {
            assert_eq!(status(&guard(), values), expected, "{values:?}");
        }
    }

    #[test]
    fn server_is_named_once_and_without_a_user() {
        let names = |address: &str, hosts: &[&str]| {
            let request = Request::builder().uri(address);
            let request = hosts.iter().fold(request, |request, host| request.header(header::HOST, *host));
            names_one_server(&request.body(Body::empty()).unwrap())
        };
        for (address, hosts, fine) in [
            ("/mcp", &["127.0.0.1:7333"][..], true),
            ("http://127.0.0.1:7333/mcp", &["127.0.0.1:7333"], true),
            ("http://evil.example/mcp", &["127.0.0.1:7333"], false),
            ("http://127.0.0.1:7333/mcp", &[], false),
            ("/mcp", &["127.0.0.1:7333", "evil.example"], false),
            ("/mcp", &["ann@127.0.0.1:7333"], false),
        ] {
            assert_eq!(names(address, hosts), fine, "{address} {hosts:?}");
        }
    }

    #[test]
    fn guesses_are_limited_and_lock_nobody_out() {
        let token = AccessToken::random().unwrap();
        let guard = HttpGuard::new(Some(TokenGate::fixed(&token)), Arc::default());
        let guesses: Vec<u16> = (0..=MOST_FAILURES).map(|_| status(&guard, &["Bearer x"])).collect();
        assert_eq!((guesses[0], guesses[guesses.len() - 1]), (401, 429));
        assert_eq!(status(&guard, &[&format!("Bearer {}", token.reveal())]), 200);
    }

    #[test]
    fn tokens_are_long_and_not_printed() {
        for text in ["", "short", "0123456789abcdef 123456789abcdef", "0123456789abcdef0123456789abcdeä"] {
            assert!(AccessToken::parse(text).is_err(), "{text}");
        }
        let (one, other) = (AccessToken::random().unwrap(), AccessToken::random().unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert!(AccessToken::parse(one.reveal()).is_ok());
        assert_eq!(format!("{one:?}"), "AccessToken");
    }
}
