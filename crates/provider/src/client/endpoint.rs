//! Address and timeouts of a provider.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use reqwest::Url;

use super::key::ApiKey;
use crate::{Protocol, ProviderError, ProviderErrorKind};

#[cfg(test)]
mod tests;

/// Timeouts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Connecting: name lookup, TCP and TLS together.
    pub connect: Duration,
    /// From the request to the first byte of the body.
    pub first_byte: Duration,
    /// Between two chunks of the body.
    pub idle: Duration,
    /// All attempts and the delays between them.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(120), idle: seconds(60), total: seconds(600) }
    }
}

/// Address of a provider, and what every request to it carries.
#[derive(Clone)]
#[non_exhaustive]
pub struct Endpoint {
    /// Base URL for the paths of the protocol: `https://api.example.com/v1`. Its query is sent with every request.
    pub base_url: String,
    /// The API key, if there is one.
    pub key: Option<ApiKey>,
    /// Further headers. They override those of the protocol, except the header of the key.
    pub headers: Vec<(String, String)>,
    /// Timeouts of requests.
    pub timeouts: Timeouts,
    /// Whether plain HTTP to another machine is allowed.
    pub allow_plain: bool,
}

impl Endpoint {
    /// An endpoint without a key, with default timeouts.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), key: None, headers: Vec::new(), timeouts: Timeouts::default(), allow_plain: false }
    }

    /// Whether it is on this machine; `false` for an invalid URL.
    pub fn is_local(&self) -> bool {
        self.base().is_ok_and(|url| is_local(&url))
    }

    /// Scheme, host and port; `None` for an invalid URL.
    pub fn address(&self) -> Option<(String, String, u16)> {
        let url = self.base().ok()?;
        Some((url.scheme().to_owned(), url.host_str()?.to_owned(), url.port_or_known_default()?))
    }

    /// The URLs of a path, the likelier first: a base URL may have the version of the protocol or not, as the documents of providers
    /// differ.
    pub(super) fn urls(&self, path: &str, protocol: Protocol) -> Result<(Url, Option<Url>), ProviderError> {
        let as_given = self.join(path, "")?;
        let base = self.base()?;
        let mut names = base.path().split('/').filter(|name| !name.is_empty()).peekable();
        let is_root = names.peek().is_none();
        if names.any(is_version) {
            return Ok((as_given, None));
        }
        let with_version = self.join(path, if protocol == Protocol::Gemini { "/v1beta" } else { "/v1" })?;
        Ok(if is_root { (with_version, Some(as_given)) } else { (as_given, Some(with_version)) })
    }

    /// The URL of a path, which may have a query, behind a version.
    fn join(&self, path: &str, version: &str) -> Result<Url, ProviderError> {
        let base = self.base()?;
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let root = format!("{}{version}", base.path().trim_end_matches('/'));
        let mut url = base.clone();
        url.set_path(&format!("{root}/{}", path.trim_start_matches('/')));
        // The parser resolves dots, which may lead outside the base.
        if !url.path().starts_with(&format!("{root}/")) || path.contains('#') {
            return Err(bad_request(&format!("The path '{path}' is outside of base_url. Check the model's name.")));
        }
        let queries = [query, base.query().unwrap_or_default()];
        let queries: Vec<_> = queries.into_iter().filter(|query| !query.is_empty()).collect();
        url.set_query(Some(queries.join("&")).as_deref().filter(|query| !query.is_empty()));
        Ok(url)
    }

    fn base(&self) -> Result<Url, ProviderError> {
        let text = self.base_url.trim();
        let url = Url::parse(text).map_err(|error| {
            bad_request(&format!("base_url '{}' is not a URL: {error}. Write it as https://api.example.com/v1.", display(text)))
        })?;
        let invalid = |what: &str| Err(bad_request(&format!("base_url '{}' {what}.", display(text))));
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return invalid("is neither http nor https: write it as https://api.example.com/v1");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return invalid("contains a user name or password: remove them, and use a header if they are needed");
        }
        if url.fragment().is_some() {
            return invalid("contains a '#': remove it and the rest");
        }
        if url.scheme() == "http" && !self.allow_plain && !is_local(&url) {
            return invalid("would send the key without encryption: use https, or set allow_plain_http = true for this provider");
        }
        Ok(url)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Endpoint")
            .field("base_url", &display(&self.base_url))
            .field("key", &self.key)
            .field("headers", &headers)
            .field("timeouts", &self.timeouts)
            .field("allow_plain", &self.allow_plain)
            .finish()
    }
}

/// `v1`, `v1beta`.
fn is_version(name: &str) -> bool {
    name.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Whether the host is this machine.
pub(super) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let name = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        || name.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback())
}

/// The URL without parts that may be secret.
fn display(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (scheme, rest) = url[..end].split_once("://").map_or(("", &url[..end]), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    haft_text::display::shorten(&format!("{scheme}{separator}{host}"), 200).into_owned()
}

fn bad_request(message: &str) -> ProviderError {
    ProviderError::new(ProviderErrorKind::BadRequest, message)
}
