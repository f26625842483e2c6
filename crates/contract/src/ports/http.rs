//! Port for the network.

use std::net::IpAddr;

use crate::{BoxFuture, Connect, ToolError};

/// A request to send.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// The URL, as asked for.
    pub url: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// How many redirects may be followed.
    pub redirects: u8,
}

/// A response whose body has not been read yet.
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The status in words.
    pub reason: String,
    /// Every header, in order; values that are not text are shown lossily.
    pub headers: Vec<(String, String)>,
    /// The URL that answered, after redirects.
    pub url: String,
    /// The URLs that redirected, in order.
    pub redirected_from: Vec<String>,
    /// The body, decompressed, piece by piece.
    pub body: Box<dyn Body>,
}

crate::opaque_debug!(HttpResponse: status = status, url = url);

/// A body that arrives in pieces.
pub trait Body: Send {
    /// The next piece, or `None` at the end.
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>>;
}

/// An address of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAddress {
    /// The address.
    pub address: IpAddr,
    /// Why it may not be connected to, if so.
    pub refused: Option<String>,
}

/// Checks the connection of a redirect, for the call that sends the request.
pub trait RedirectCheck: Send + Sync {
    /// Whether the call may follow it.
    fn check(&self, hop: &Connect) -> Result<(), ToolError>;
    /// The session of the call, whose sandbox [`Connect::SANDBOX_HOST`] means.
    fn session(&self) -> Option<&str> {
        None
    }
}

/// The network: one client, one address guard.
pub trait HttpClient: Send + Sync {
    /// Parses a URL once; the result has the verdict of the address guard, as far as it is known.
    fn locate(&self, method: &str, url: &str) -> Result<Connect, ToolError>;
    /// The addresses of a host, for explanations: nothing is connected to.
    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Result<Vec<ResolvedAddress>, ToolError>> {
        let _ = (host, port);
        Box::pin(async { Ok(Vec::new()) })
    }
    /// Sends a request: resolve, check, pin, connect; every redirect is checked again.
    fn send<'a>(&'a self, request: HttpRequest, redirects: &'a dyn RedirectCheck) -> BoxFuture<'a, Result<HttpResponse, ToolError>>;
}
