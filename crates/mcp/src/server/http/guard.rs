//! Who may send requests.

use std::fmt;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use crate::server::random::random_text;

/// Sessions that may exist at once.
const MOST_SESSIONS: usize = 64;
/// Wrong tokens in [`WINDOW`] after which others are told to wait. The right one always passes: else anybody on this machine could lock
/// the client out, and guessing is hopeless at any speed.
const MOST_FAILURES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);
/// The shortest token that a user may choose.
const SHORTEST: usize = 32;
const SESSION: &str = "mcp-session-id";

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

    /// Compares in a time that tells nothing of where they differ.
    fn matches(&self, presented: &[u8]) -> bool {
        let expected = self.0.as_bytes();
        let mut difference = u8::from(expected.len() != presented.len());
        for (place, byte) in expected.iter().enumerate() {
            difference |= byte ^ presented.get(place).copied().unwrap_or(!byte);
        }
        black_box(difference) == 0
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
    token: Option<AccessToken>,
    sessions: Arc<LocalSessionManager>,
    failures: Arc<Mutex<Failures>>,
}

struct Failures {
    since: Instant,
    count: u32,
}

impl HttpGuard {
    pub(super) fn new(token: Option<AccessToken>, sessions: Arc<LocalSessionManager>) -> Self {
        Self { token, sessions, failures: Arc::new(Mutex::new(Failures { since: Instant::now(), count: 0 })) }
    }

    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let token = self.token.as_ref()?;
        if bearer(headers).is_some_and(|presented| token.matches(presented)) {
            return None;
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.since.elapsed() > WINDOW {
            *failures = Failures { since: Instant::now(), count: 0 };
        }
        if failures.count >= MOST_FAILURES {
            return Some((StatusCode::TOO_MANY_REQUESTS, "Too many wrong tokens: try again in ten seconds.\n").into_response());
        }
        failures.count += 1;
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        Some(
            (StatusCode::UNAUTHORIZED, challenge, "Send the token that `haft mcp` printed: 'Authorization: Bearer TOKEN'.\n")
                .into_response(),
        )
    }
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
    if let Some(refusal) = guard.refusal(request.headers()) {
        return refusal;
    }
    let begins = !request.headers().contains_key(SESSION);
    if begins && guard.sessions.sessions.read().await.len() >= MOST_SESSIONS {
        let text = format!("{MOST_SESSIONS} sessions are open: end one of them, or wait until one is idle for long enough.\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn status(guard: &HttpGuard, values: &[&str]) -> u16 {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        guard.refusal(&headers).map_or(200, |response| response.status().as_u16())
    }

    #[test]
    fn only_the_whole_token_passes() {
        let token = AccessToken::parse("0123456789abcdef0123456789abcdef").unwrap();
        let guard = || HttpGuard::new(Some(token.clone()), Arc::default());
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
    fn guesses_are_limited_and_lock_nobody_out() {
        let token = AccessToken::random().unwrap();
        let guard = HttpGuard::new(Some(token.clone()), Arc::default());
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
