//! Where a provider is, and how long it is waited for.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use reqwest::Url;

use super::key::Key;
use crate::{ProviderError, Trouble};

#[cfg(test)]
mod tests;

/// How long a request is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For a connection: name lookup, TCP and TLS together.
    pub connect: Duration,
    /// From the request to the first byte of the answer's body.
    pub first_byte: Duration,
    /// From one piece of the answer to the next.
    pub idle: Duration,
    /// For everything: every try, and the waiting between them.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(120), idle: seconds(60), total: seconds(600) }
    }
}

/// A provider's address and what every request to it carries.
#[derive(Clone)]
#[non_exhaustive]
pub struct Endpoint {
    /// What the paths of the protocol are added to: `https://api.example.com/v1`. A query in it is sent with every request.
    pub base_url: String,
    /// The key, if it wants one.
    pub key: Option<Key>,
    /// Further headers. They take the place of the protocol's own, but not of the key's.
    pub headers: Vec<(String, String)>,
    /// How long it is waited for.
    pub timeouts: Timeouts,
    /// Whether requests may go to another machine without encryption.
    pub allow_plain: bool,
}

impl Endpoint {
    /// An endpoint without a key, with the usual timeouts.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), key: None, headers: Vec::new(), timeouts: Timeouts::default(), allow_plain: false }
    }

    /// Whether it is on this machine. An address that is none is not.
    pub fn is_local(&self) -> bool {
        self.base().is_ok_and(|url| is_local(&url))
    }

    /// The address of one path, which may have a query.
    pub(super) fn join(&self, path: &str) -> Result<Url, ProviderError> {
        let base = self.base()?;
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let root = base.path().trim_end_matches('/');
        let mut url = base.clone();
        url.set_path(&format!("{root}/{}", path.trim_start_matches('/')));
        // The parser resolves dots; what then lies elsewhere was never meant by a protocol.
        if !url.path().starts_with(&format!("{root}/")) || path.contains('#') {
            return Err(wrong(&format!("The path '{path}' leads out of the provider's base address. Check the model's name.")));
        }
        let queries = [query, base.query().unwrap_or_default()];
        let queries: Vec<_> = queries.into_iter().filter(|query| !query.is_empty()).collect();
        url.set_query(Some(queries.join("&")).as_deref().filter(|query| !query.is_empty()));
        Ok(url)
    }

    fn base(&self) -> Result<Url, ProviderError> {
        let text = self.base_url.trim();
        let url = Url::parse(text).map_err(|error| {
            wrong(&format!("The base address '{}' is no URL: {error}. Write it as https://api.example.com/v1.", shown(text)))
        })?;
        let faulty = |what: &str| Err(wrong(&format!("The base address '{}' {what}.", shown(text))));
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return faulty("is neither http nor https: write it as https://api.example.com/v1");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return faulty("holds a user name or password: leave them out, and send a header if they are needed");
        }
        if url.fragment().is_some() {
            return faulty("holds a '#': leave it and what follows out");
        }
        if url.scheme() == "http" && !self.allow_plain && !is_local(&url) {
            return faulty("would send the key without encryption: use https, or allow plain http for this provider");
        }
        Ok(url)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Endpoint")
            .field("base_url", &shown(&self.base_url))
            .field("key", &self.key)
            .field("headers", &headers)
            .field("timeouts", &self.timeouts)
            .field("allow_plain", &self.allow_plain)
            .finish()
    }
}

/// Whether an address is on this machine.
pub(super) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let name = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        || name.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback())
}

/// An address without what may be secret in it.
fn shown(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (scheme, rest) = url[..end].split_once("://").map_or(("", &url[..end]), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    haft_contract::visible::shorten(&format!("{scheme}{separator}{host}"), 200).into_owned()
}

fn wrong(message: &str) -> ProviderError {
    ProviderError::new(Trouble::BadRequest, message)
}
