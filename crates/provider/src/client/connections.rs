//! HTTP clients for providers; they keep connections open between requests.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_contract::causes;
use reqwest::{Certificate, Client, ClientBuilder};

use super::failure::AttemptFailure;
use super::options::Options;
use super::request::PreparedRequest;
use crate::ProviderErrorKind;

/// Limit for the number of clients; beyond it all are dropped.
const MAX_CLIENTS: usize = 16;
const MAX_IDLE_CONNECTIONS: usize = 4;
const IDLE_TIME: Duration = Duration::from_mins(1);
const MAX_RESPONSE_HEADERS: usize = 200;
/// HTTP/1 heads are bounded by the client library at about 400 KiB; this is the bound for HTTP/2.
const MAX_RESPONSE_HEADER_BYTES: u32 = 256 * 1024;

/// Settings that need a client of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ConnectionKind {
    secure: bool,
    local: bool,
    timeout: Duration,
}

/// HTTP clients by kind, built on first use.
#[derive(Default)]
pub(super) struct HttpClients {
    clients: Mutex<HashMap<ConnectionKind, Client>>,
}

haft_contract::opaque_debug!(HttpClients);

impl HttpClients {
    pub(super) fn get(&self, request: &PreparedRequest, options: &Options) -> Result<Client, AttemptFailure> {
        let kind = ConnectionKind { secure: request.url.scheme() == "https", local: request.local, timeout: request.timeouts.connect };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&kind) {
            return Ok(client.clone());
        }
        let client = build(kind, options)?;
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(kind, client.clone());
        Ok(client)
    }
}

fn build(kind: ConnectionKind, options: &Options) -> Result<Client, AttemptFailure> {
    // The TLS library has one crypto provider per process; if another part installed one, it stays.
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = Client::builder()
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        // A redirect would carry the key and the conversation elsewhere.
        .redirect(reqwest::redirect::Policy::none())
        // Retries are made by `ModelClient` only.
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(kind.timeout)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE_TIME)
        .http1_max_headers(MAX_RESPONSE_HEADERS)
        .http2_max_header_list_size(MAX_RESPONSE_HEADER_BYTES)
        .tcp_nodelay(true);
    let builder = if kind.local { Ok(builder.no_proxy()) } else { options.proxies.apply(builder) };
    let builder = builder.map_err(|error| no_client(&error))?;
    with_certificates(builder, kind, options)?.build().map_err(|error| no_client(&error))
}

fn with_certificates(builder: ClientBuilder, kind: ConnectionKind, options: &Options) -> Result<ClientBuilder, AttemptFailure> {
    if !kind.secure && (kind.local || options.proxies.is_empty()) {
        // Plain HTTP must work without installed certificates, and need not read them.
        return Ok(builder.tls_certs_only([]));
    }
    match &options.certificates {
        Some(path) => Ok(builder.tls_certs_merge(read_certificates(path)?)),
        None => Ok(builder),
    }
}

fn read_certificates(path: &Path) -> Result<Vec<Certificate>, AttemptFailure> {
    let unusable = |why: String| {
        let message = format!("Cannot use the certificates in {} (SSL_CERT_FILE): {why}. Name a PEM file.", path.display());
        AttemptFailure::permanent(ProviderErrorKind::Network, message)
    };
    let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| unusable(causes::innermost(&error)))?;
    if certificates.is_empty() { Err(unusable("it has none".to_owned())) } else { Ok(certificates) }
}

fn no_client(error: &reqwest::Error) -> AttemptFailure {
    let why = causes::innermost(error);
    AttemptFailure::permanent(
        ProviderErrorKind::Network,
        format!("Cannot set up a connection: {why}. Check the system's certificates and the proxy."),
    )
}
