//! A request, ready to be sent as often as it takes.

use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::endpoint::{self, Endpoint, Timeouts};
use super::key::{self, Key};
use crate::{Adapter, Encoded, ProviderError, Trouble, Turn};

/// Headers that the connection itself needs.
const RESERVED: [&str; 5] = ["host", "content-length", "transfer-encoding", "connection", "upgrade"];
/// Parts of the names of headers whose values are secret.
const SECRET: [&str; 6] = ["auth", "key", "token", "secret", "cookie", "password"];

/// What is sent, where, and what must not be repeated of it.
pub(super) struct Request {
    pub(super) url: Url,
    /// The host, and its port where it is not the usual one, for messages.
    pub(super) host: String,
    /// Whether it is on this machine.
    pub(super) local: bool,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) timeouts: Timeouts,
    pub(super) key_hint: String,
    pub(super) warnings: Vec<String>,
    secrets: Vec<String>,
}

impl Request {
    pub(super) fn new(endpoint: &Endpoint, adapter: &dyn Adapter, turn: &Turn<'_>) -> Result<Self, ProviderError> {
        let Encoded { path, headers, body, warnings } = adapter.encode(turn);
        let url = endpoint.join(&path)?;
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        Ok(Self {
            host: format!("{}{port}", url.host_str().unwrap_or_default()),
            local: endpoint::is_local(&url),
            headers: all_headers(endpoint, adapter, &headers)?,
            body: body.to_string().into(),
            timeouts: endpoint.timeouts,
            key_hint: key_hint(endpoint.key.as_ref()),
            secrets: secrets(endpoint),
            warnings,
            url,
        })
    }

    /// Text from the provider without the secrets that it was sent: some servers repeat the key that they refuse.
    pub(super) fn scrub(&self, text: &str) -> String {
        key::without(text, &self.secrets)
    }

    /// The same, of a body. It happens before anybody shortens it, and could cut a key in two.
    pub(super) fn scrub_body(&self, body: Vec<u8>) -> Vec<u8> {
        match String::from_utf8(body) {
            Ok(text) => self.scrub(&text).into_bytes(),
            Err(error) => self.scrub(&String::from_utf8_lossy(error.as_bytes())).into_bytes(),
        }
    }
}

fn all_headers(endpoint: &Endpoint, adapter: &dyn Adapter, protocol: &[(&'static str, String)]) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let protocol = protocol.iter().map(|(name, value)| (*name, value));
    let configured = endpoint.headers.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in protocol.chain(configured) {
        let (name, value) = header(name, value)?;
        headers.insert(name, value);
    }
    if let Some(key) = &endpoint.key {
        let (name, before) = adapter.key_header();
        headers.insert(header(name, "")?.0, key_value(before, key)?);
    }
    Ok(headers)
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ProviderError> {
    let wrong = |why: &str| ProviderError::new(Trouble::BadRequest, format!("The header '{}' cannot be sent: {why}.", name.escape_debug()));
    let parsed = name.parse::<HeaderName>().map_err(|_| wrong("this is no name of a header"))?;
    if RESERVED.contains(&parsed.as_str()) {
        return Err(wrong("the connection sets it itself; leave it out of the provider's headers"));
    }
    let ascii = Some(value).filter(|value| value.is_ascii()).and_then(|value| HeaderValue::from_str(value).ok());
    let mut value = ascii.ok_or_else(|| wrong("its value holds a line break or a character beyond ASCII"))?;
    value.set_sensitive(is_secret(parsed.as_str()));
    Ok((parsed, value))
}

fn key_value(before: &str, key: &Key) -> Result<HeaderValue, ProviderError> {
    let from = key.variable().map_or_else(String::new, |variable| format!(" in {variable}"));
    let message = || format!("The key{from} holds a space, a line break or a character beyond ASCII, as no key does. Set it again.");
    let secret = Some(key.secret()).filter(|secret| secret.bytes().all(|byte| byte.is_ascii_graphic()));
    let value = secret.and_then(|secret| HeaderValue::from_str(&format!("{before}{secret}")).ok());
    let mut value = value.ok_or_else(|| ProviderError::new(Trouble::Key, message()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn key_hint(key: Option<&Key>) -> String {
    match key.map(Key::variable) {
        Some(Some(variable)) => format!("The key was read from {variable}."),
        Some(None) => String::new(),
        None => "No key was sent: name the variable that holds it in the provider's api_key_env.".to_owned(),
    }
}

fn secrets(endpoint: &Endpoint) -> Vec<String> {
    let headers = endpoint.headers.iter().filter(|(name, _)| is_secret(&name.to_ascii_lowercase())).map(|(_, value)| value.as_str());
    endpoint.key.as_ref().map(Key::secret).into_iter().chain(headers).map(str::to_owned).collect()
}

fn is_secret(header: &str) -> bool {
    SECRET.iter().any(|part| header.contains(part))
}
