//! Requests and answers over HTTP. What a channel asks for is reached as the user's configuration names it.

use std::sync::OnceLock;
use std::time::Duration;

use haft_text::display::escape_bytes;
use reqwest::header::{HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Url};
use serde_json::Value;

use crate::limits::{MOST_ANSWER_BYTES, MOST_RECORDING_BYTES};
use crate::{ChannelSecret, SendFailure};

const CONNECT: Duration = Duration::from_secs(10);
/// How long one request may take.
pub(crate) const REQUEST: Duration = Duration::from_secs(20);
/// How long a request may take that waits for messages.
pub(crate) const LONG_POLL: Duration = Duration::from_secs(40);

/// A request of a channel. Pure: the wire formats are tested on it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WireRequest {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Duration,
    /// The longest answer that is read.
    pub(crate) most: usize,
}

impl WireRequest {
    pub(crate) fn new(method: &'static str, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: Vec::new(), body: Vec::new(), timeout: REQUEST, most: MOST_ANSWER_BYTES }
    }
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
    pub(crate) fn json(self, body: &Value) -> Self {
        Self { body: body.to_string().into_bytes(), ..self.header("content-type", "application/json; charset=utf-8") }
    }
    pub(crate) fn bytes(self, media_type: &str, body: Vec<u8>) -> Self {
        Self { body, ..self.header("content-type", media_type) }
    }
    /// For a recording.
    pub(crate) fn recording(self) -> Self {
        Self { timeout: LONG_POLL, most: MOST_RECORDING_BYTES, ..self }
    }
    pub(crate) fn patient(self) -> Self {
        Self { timeout: LONG_POLL, ..self }
    }
}

/// An answer of a service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WireAnswer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

impl WireAnswer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
    /// The body as a JSON object; HTML, a list, or anything else is none.
    pub(crate) fn object(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok().filter(Value::is_object)
    }
    /// The beginning of the body, for messages.
    pub(crate) fn excerpt(&self) -> String {
        if self.body.is_empty() { "(an empty body)".to_owned() } else { escape_bytes(&self.body[..self.body.len().min(200)], 120) }
    }
    /// The failure of an answer that has no words of its own.
    pub(crate) fn failure(&self, words: Option<&str>) -> SendFailure {
        let status = self.status;
        let said = words.map_or_else(|| format!("HTTP {status}: {}", self.excerpt()), |words| format!("{words} (HTTP {status})"));
        match status {
            429 => SendFailure::later(format!("the service is asked too often: {said}"), self.retry_after),
            // With a time it says that it did nothing yet.
            503 if self.retry_after.is_some() => SendFailure::later(said, self.retry_after),
            300..=399 => SendFailure::refused(format!("the service redirects, which is not followed: {said}")),
            400..=499 => SendFailure::refused(said),
            200..=299 => SendFailure::unknown(format!("the answer makes no sense: {said}")),
            _ => SendFailure::unknown(said),
        }
    }
}

/// The HTTP client of the channels.
#[derive(Debug)]
pub(crate) struct ChannelWire {
    /// Whether it reaches this machine alone.
    is_local: bool,
    /// What no answer may show.
    secrets: Vec<ChannelSecret>,
    /// Made at the first request: that reads certificates, and most starts of the program send nothing.
    client: OnceLock<Client>,
}

impl ChannelWire {
    pub(crate) fn new(is_local: bool, secrets: Vec<ChannelSecret>) -> Self {
        Self { is_local, secrets, client: OnceLock::new() }
    }

    fn client(&self) -> Result<&Client, SendFailure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = self.build_client()?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Without redirects: one would carry the token elsewhere.
    fn build_client(&self) -> Result<Client, SendFailure> {
        // The TLS library has one crypto provider per process; if another part installed one, it stays.
        drop(rustls::crypto::ring::default_provider().install_default());
        let builder = Client::builder()
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT)
            .tcp_nodelay(true);
        // Plain HTTP to this machine must work without installed certificates.
        let builder = if self.is_local { builder.no_proxy().tls_certs_only([]) } else { builder };
        builder.build().map_err(|error| SendFailure::not_sent(format!("no connection can be set up: {}", error.without_url())))
    }

    /// Sends a request. A failure says whether anything can have reached the service.
    pub(crate) async fn send(&self, request: WireRequest) -> Result<WireAnswer, SendFailure> {
        let most = request.most;
        let built = self.build(request)?;
        let mut response = self.client()?.execute(built).await.map_err(failure)?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| Some(seconds(value.to_str().ok()?)));
        let mut body = Vec::new();
        while let Some(piece) =
            response.chunk().await.map_err(|error| SendFailure::unknown(format!("the answer broke off: {}", words(error))))?
        {
            if body.len() + piece.len() > most {
                return Err(SendFailure::unknown("the answer is too large"));
            }
            body.extend_from_slice(&piece);
        }
        // Before anything is cut or quoted from it: half a secret would not be recognised.
        self.secrets.iter().for_each(|secret| secret.redact(&mut body));
        Ok(WireAnswer { status, retry_after, body })
    }

    fn build(&self, request: WireRequest) -> Result<reqwest::Request, SendFailure> {
        let wrong = |what: &str| SendFailure::refused(format!("the request cannot be made: {what}"));
        let url = Url::parse(&request.url).map_err(|_| wrong("its address is not one"))?;
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| wrong("its method is not one"))?;
        let mut built = self.client()?.request(method, url).timeout(request.timeout).body(request.body);
        for (name, value) in request.headers {
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong("the token has characters that a header cannot have"))?;
            value.set_sensitive(name == "authorization");
            built = built.header(HeaderName::from_static(name), value);
        }
        built.build().map_err(|error| wrong(&words(error)))
    }
}

/// Before the connection stands nothing was sent; after that nobody knows.
fn failure(error: reqwest::Error) -> SendFailure {
    let (is_connect, is_timeout) = (error.is_connect() || error.is_builder(), error.is_timeout());
    let words = words(error);
    match (is_connect, is_timeout) {
        (true, _) => SendFailure::not_sent(format!("the service cannot be reached: {words}")),
        (false, true) => SendFailure::unknown("the service did not answer in time"),
        (false, false) => SendFailure::unknown(format!("the connection broke: {words}")),
    }
}

/// The innermost cause, without the address: it may hold a token.
fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// `Retry-After` in seconds; a date means a minute.
fn seconds(value: &str) -> Duration {
    match value.trim().parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)),
        _ => Duration::from_mins(1),
    }
}

/// Text as one part of a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    haft_text::percent::encode(text).replace('/', "%2F")
}

/// A part of a form with files.
pub(crate) struct FormPart<'a> {
    pub(crate) name: &'a str,
    /// Name and media type of a file.
    pub(crate) file: Option<(&'a str, &'a str)>,
    pub(crate) content: &'a [u8],
}

/// `multipart/form-data`: the media type and the body. The boundary comes from the key, which no content can know.
pub(crate) fn multipart(parts: &[FormPart<'_>], key: &str) -> (String, Vec<u8>) {
    let boundary = format!("haft-{}", crate::signature::sha256(key.as_bytes()));
    let mut body = Vec::new();
    for part in parts {
        let file = part.file.map(|(name, media_type)| format!("; filename=\"{}\"\r\nContent-Type: {media_type}", header_text(name)));
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"{}\r\n\r\n", part.name, file.unwrap_or_default());
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// A name within a quoted header: as browsers escape it.
fn header_text(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart_by_what_is_certain() {
        use crate::Certainty::{Later, Refused, Unknown};
        for (status, retry_after, certainty) in [
            (429, None, Later),
            (429, Some(7), Later),
            (503, Some(3), Later),
            (503, None, Unknown),
            (500, None, Unknown),
            (502, None, Unknown),
            (400, None, Refused),
            (404, None, Refused),
            (302, None, Refused),
            (200, None, Unknown),
            (700, None, Unknown),
        ] {
            let retry_after = retry_after.map(Duration::from_secs);
            let answer = WireAnswer { status, retry_after, body: b"<html>".to_vec() };
            let failure = answer.failure(None);
            assert_eq!((failure.certainty, failure.retry_after), (certainty, retry_after.filter(|_| certainty == Later)), "{status}");
        }
    }

    #[test]
    fn retry_after_is_bounded() {
        for (value, expected) in
            [("5", 5.0), ("0.65", 0.65), ("-3", 0.0), ("1e300", 86_400.0), ("inf", 60.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 60.0)]
        {
            assert_eq!(seconds(value), Duration::from_secs_f64(expected), "{value}");
        }
    }

    #[test]
    fn names_of_files_cannot_end_their_header() {
        let part = FormPart { name: "f", file: Some(("a\"\r\nX: y", "text/plain")), content: b"z" };
        let (_, body) = multipart(&[part], "k");
        let text = String::from_utf8(body).unwrap();
        assert!(text.contains("filename=\"a%22%0D%0AX: y\"\r\nContent-Type: text/plain\r\n\r\nz\r\n--"), "{text}");
    }

    #[test]
    fn parts_of_paths_are_encoded() {
        assert_eq!(encoded("!a:b.c/ü 👍"), "%21a%3Ab.c%2F%C3%BC%20%F0%9F%91%8D");
    }
}
