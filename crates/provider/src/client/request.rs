//! A request, ready to be sent as often as it takes.

use bytes::Bytes;
use haft_text::secrets::may_name_secret;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::endpoint::{self, Endpoint, Timeouts};
use super::key::{self, ApiKey};
use crate::{Adapter, EncodedRequest, ModelTurn, ProviderError, ProviderErrorKind, sight};

/// Headers that the connection itself needs.
const RESERVED: [&str; 5] = ["host", "content-length", "transfer-encoding", "connection", "upgrade"];

/// A request ready to be sent.
pub(super) struct PreparedRequest {
    pub(super) url: Url,
    /// Where else it may be, if nothing is at the first.
    pub(super) other_url: Option<Url>,
    /// Host, and port if it is not the default, for messages.
    pub(super) host: String,
    /// Whether the host is this machine.
    pub(super) local: bool,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) timeouts: Timeouts,
    pub(super) key_hint: String,
    pub(super) warnings: Vec<String>,
    secrets: Vec<String>,
}

impl PreparedRequest {
    pub(super) fn new(endpoint: &Endpoint, adapter: &dyn Adapter, turn: &ModelTurn<'_>) -> Result<Self, ProviderError> {
        let blind = sight::without_pictures(turn.model, turn.messages);
        let turn = &ModelTurn { messages: blind.as_deref().unwrap_or(turn.messages), ..*turn };
        let EncodedRequest { path, headers, body, mut warnings } = adapter.encode(turn);
        warnings.extend(blind.as_ref().map(|_| sight::warning(turn.model)));
        let (url, other_url) = endpoint.urls(&path, turn.model.protocol)?;
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
            other_url,
        })
    }

    /// Text of the provider without the secrets of the request.
    pub(super) fn scrub(&self, text: &str) -> String {
        key::scrub_secrets(text, &self.secrets)
    }

    /// A body without the secrets; must run before truncation, which could cut a key in two.
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
    let invalid =
        |why: &str| ProviderError::new(ProviderErrorKind::BadRequest, format!("Cannot send the header '{}': {why}.", name.escape_debug()));
    let parsed = name.parse::<HeaderName>().map_err(|_| invalid("the name is not valid"))?;
    if RESERVED.contains(&parsed.as_str()) {
        return Err(invalid("the connection sets it; remove it from the provider's headers"));
    }
    let ascii = Some(value).filter(|value| value.is_ascii()).and_then(|value| HeaderValue::from_str(value).ok());
    let mut value = ascii.ok_or_else(|| invalid("the value has a line break or a non-ASCII character"))?;
    value.set_sensitive(may_name_secret(parsed.as_str()));
    Ok((parsed, value))
}

fn key_value(before: &str, key: &ApiKey) -> Result<HeaderValue, ProviderError> {
    let from = key.variable().map_or_else(String::new, |variable| format!(" in {variable}"));
    let message = || format!("The key{from} has a space, a line break or a non-ASCII character. Set it again.");
    let secret = Some(key.secret()).filter(|secret| secret.bytes().all(|byte| byte.is_ascii_graphic()));
    let value = secret.and_then(|secret| HeaderValue::from_str(&format!("{before}{secret}")).ok());
    let mut value = value.ok_or_else(|| ProviderError::new(ProviderErrorKind::Key, message()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn key_hint(key: Option<&ApiKey>) -> String {
    match key.map(ApiKey::variable) {
        Some(Some(variable)) => format!("The key was read from {variable}."),
        Some(None) => String::new(),
        None => "No key was sent. Set api_key_env of the provider to the variable that has it.".to_owned(),
    }
}

fn secrets(endpoint: &Endpoint) -> Vec<String> {
    let headers = endpoint.headers.iter().filter(|(name, _)| may_name_secret(name)).map(|(_, value)| value.as_str());
    endpoint.key.as_ref().map(ApiKey::secret).into_iter().chain(headers).map(str::to_owned).collect()
}
