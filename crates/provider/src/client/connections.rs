//! Connections to providers, kept open between requests.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_contract::causes;
use reqwest::{Certificate, Client, ClientBuilder};

use super::failure::Failure;
use super::options::Options;
use super::request::Request;
use crate::Trouble;

/// More kinds than any configuration has; beyond it, idle connections are given up.
const MAX_CLIENTS: usize = 16;
const MAX_IDLE_CONNECTIONS: usize = 4;
const IDLE_TIME: Duration = Duration::from_mins(1);
const MAX_RESPONSE_HEADERS: usize = 200;
/// HTTP/1 heads are bounded by the client library at about 400 KiB; this is the bound for HTTP/2.
const MAX_RESPONSE_HEADER_BYTES: u32 = 256 * 1024;

/// What the settings of a connection depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    secure: bool,
    local: bool,
    timeout: Duration,
}

/// Clients by kind, made at first use.
#[derive(Default)]
pub(super) struct Connections {
    clients: Mutex<HashMap<Kind, Client>>,
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}

impl Connections {
    pub(super) fn to(&self, request: &Request, options: &Options) -> Result<Client, Failure> {
        let kind = Kind { secure: request.url.scheme() == "https", local: request.local, timeout: request.timeouts.connect };
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

fn build(kind: Kind, options: &Options) -> Result<Client, Failure> {
    // The TLS library takes one provider for the whole process; if another part was first, its choice stands.
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = Client::builder()
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        // A redirect would carry the key, and the conversation, to somewhere else.
        .redirect(reqwest::redirect::Policy::none())
        // Tries are counted here and nowhere else.
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
    trusting(builder, kind, options)?.build().map_err(|error| no_client(&error))
}

fn trusting(builder: ClientBuilder, kind: Kind, options: &Options) -> Result<ClientBuilder, Failure> {
    if !kind.secure && (kind.local || options.proxies.is_empty()) {
        // Plain http must work where no certificates are installed, and need not wait for them to be read.
        return Ok(builder.tls_certs_only([]));
    }
    match &options.certificates {
        Some(path) => Ok(builder.tls_certs_merge(read(path)?)),
        None => Ok(builder),
    }
}

fn read(path: &Path) -> Result<Vec<Certificate>, Failure> {
    let unusable = |why: String| {
        let message = format!("The certificates in {} (SSL_CERT_FILE) cannot be used: {why}. Name a file in PEM form.", path.display());
        Failure::lasting(Trouble::Network, message)
    };
    let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| unusable(causes::innermost(&error)))?;
    if certificates.is_empty() { Err(unusable("it holds none".to_owned())) } else { Ok(certificates) }
}

fn no_client(error: &reqwest::Error) -> Failure {
    let why = causes::innermost(error);
    Failure::lasting(Trouble::Network, format!("No connection can be set up: {why}. Check the system's certificates and the proxy."))
}
