//! Connections that a call makes.

use crate::RefusalCause;

/// A connection to make.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connect {
    /// `http` or `https`.
    pub scheme: String,
    /// The host in canonical form: lower case, punycode, addresses spelled one way.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The HTTP method.
    pub method: String,
    /// Why the address guard refuses it, if that is known already.
    pub refused: Option<String>,
    /// What refuses it, for advice.
    pub causes: Vec<RefusalCause>,
    /// Whether it is the search provider that the user configured: a request there only reads, whatever its method.
    pub searches: bool,
    /// Whether it is a service of the user's configuration that works on what it is given, as a model does: the user trusts it with the
    /// conversation. It is reached as it is written, and changes nothing.
    pub is_provider: bool,
}

impl Connect {
    /// A connection; for implementors of [`HttpClient`](crate::ports::HttpClient).
    pub fn new(scheme: impl Into<String>, host: impl Into<String>, port: u16, method: impl Into<String>) -> Self {
        Self {
            scheme: scheme.into(),
            host: host.into(),
            port,
            method: method.into(),
            refused: None,
            causes: Vec::new(),
            searches: false,
            is_provider: false,
        }
    }
    /// A service of the user's configuration, to which the call sends what it is to work on.
    pub fn provider(scheme: impl Into<String>, host: impl Into<String>, port: u16) -> Self {
        Self { is_provider: true, ..Self::new(scheme, host, port, "POST") }
    }
    /// A tunnel, as a sandboxed command gets one to a host and port. Its scheme is the usual one of the port.
    pub fn tunnel(host: impl Into<String>, port: u16) -> Self {
        Self::new(if port == 80 { "http" } else { "https" }, host, port, "CONNECT")
    }
    /// The name under which the tools of a session reach servers that its sandboxed commands run.
    pub const SANDBOX_HOST: &'static str = "sandbox.localhost";
    /// Whether it stays in the session's own sandbox: to a server that a command runs there.
    pub fn is_sandbox(&self) -> bool {
        self.host == Self::SANDBOX_HOST && !self.is_tunnel()
    }
    /// Whether the method only asks for something.
    pub const fn only_reads(&self) -> bool {
        self.searches || self.is_provider || matches!(self.method.as_bytes(), b"GET" | b"HEAD" | b"OPTIONS")
    }
    /// Whether it is a tunnel, as a command gets one: anything may be sent through it.
    pub fn is_tunnel(&self) -> bool {
        self.method == "CONNECT"
    }
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port && self.method == other.method && self.scheme == other.scheme
    }
}
