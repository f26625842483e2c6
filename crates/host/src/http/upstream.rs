//! The proxy of the user's network, through which connections leave it.
//!
//! Such a proxy resolves names itself: the guard checks the name, and cannot know the address behind it. Addresses, names of this
//! machine and the hosts that the user excepts are connected to directly, under the whole guard.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use haft_pattern::HostPattern;
use haft_text::{base64, display, percent};
use reqwest::dns::{Addrs, Name, Resolving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

use super::guard::is_loopback_name;
use super::resolver::{Resolve, addresses_of};

/// The longest head of an answer to `CONNECT`.
const MAX_HEAD: usize = 16 * 1024;

/// A proxy as configured.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamProxy {
    url: Url,
    direct: Vec<HostPattern>,
}

/// Without its password.
impl fmt::Display for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.url.host_str().unwrap_or_default(), self.port())
    }
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UpstreamProxy({self})")
    }
}

impl UpstreamProxy {
    /// A proxy at `http://[user:password@]host:port`, and the hosts that are connected to without it.
    pub fn parse(url: &str, direct: &[String]) -> Result<Self, String> {
        let wrong = |why: &str| format!("network.proxy is no address of a proxy: {why}. Write it as http://proxy.example:3128");
        let url = Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
        if url.scheme() != "http" || url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("only http:// with a host is spoken to proxies"));
        }
        let parsed = |entry: &String| entry.parse().map_err(|error| format!("network.no_proxy: {error}"));
        Ok(Self { url, direct: direct.iter().map(parsed).collect::<Result<_, _>>()? })
    }

    /// Whether a connection goes through it.
    pub(crate) fn leads_to(&self, host: &Host<String>, port: u16) -> bool {
        let Host::Domain(name) = host else { return false };
        !is_loopback_name(name) && !self.direct.iter().any(|pattern| pattern.matches_name(name) && pattern.matches_port(port))
    }

    /// What to tell about a connection that went through it and failed.
    pub(crate) fn note(&self) -> String {
        format!("The connection went through the proxy {self} (network.proxy).")
    }

    /// For the HTTP client.
    pub(crate) fn for_client(&self) -> reqwest::Result<reqwest::Proxy> {
        reqwest::Proxy::all(self.url.clone())
    }

    /// A tunnel to a host whose name the proxy resolves.
    pub(crate) async fn tunnel(&self, resolver: &dyn Resolve, host: &str, port: u16) -> io::Result<TcpStream> {
        let addresses = addresses_of(resolver, self.url.host_str().unwrap_or_default()).await?;
        let addresses: Vec<SocketAddr> = addresses.into_iter().map(|address| SocketAddr::new(address, self.port())).collect();
        let mut stream = TcpStream::connect(&*addresses).await.map_err(|error| self.failed(&error.to_string()))?;
        let request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{}\r\n", self.authorization());
        stream.write_all(request.as_bytes()).await?;
        let head = read_head(&mut stream).await?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        if status == "200" { Ok(stream) } else { Err(self.failed(&format!("it answers {}", display::shorten(status, 20)))) }
    }

    fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    fn authorization(&self) -> String {
        let Some(password) = self.url.password() else { return String::new() };
        let pair = format!("{}:{}", percent::decode(self.url.username()), percent::decode(password));
        format!("Proxy-Authorization: Basic {}\r\n", base64::encode(pair.as_bytes()))
    }

    fn failed(&self, why: &str) -> io::Error {
        io::Error::other(format!("the proxy {self} (network.proxy) did not connect: {why}"))
    }
}

/// Reads byte by byte up to the empty line: what follows belongs to the tunnel.
async fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_HEAD {
            return Err(io::Error::other("the proxy answers with an endless head"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Finds the proxy itself, whose address the user chose.
pub(crate) struct ProxyResolver(pub(crate) Arc<dyn Resolve>);

impl reqwest::dns::Resolve for ProxyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = Arc::clone(&self.0);
        Box::pin(async move {
            let found = addresses_of(&*resolver, name.as_str()).await?;
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_through_the_proxy_and_addresses_do_not() {
        let proxy = UpstreamProxy::parse("http://ann:secret@proxy.test:3128", &["*.corp.test".into(), "git.test:22".into()]).unwrap();
        for (host, port, expected) in [
            ("example.org", 443, true),
            ("wiki.corp.test", 443, false),
            ("git.test", 22, false),
            ("git.test", 443, true),
            ("localhost", 80, false),
            ("a.localhost", 80, false),
            ("127.0.0.1", 80, false),
            ("[::1]", 80, false),
            ("93.184.216.34", 80, false),
        ] {
            assert_eq!(proxy.leads_to(&Host::parse(host).unwrap(), port), expected, "{host}:{port}");
        }
        assert_eq!(format!("{proxy} {proxy:?}"), "http://proxy.test:3128 UpstreamProxy(http://proxy.test:3128)");
        assert_eq!(proxy.authorization(), "Proxy-Authorization: Basic YW5uOnNlY3JldA==\r\n");
    }

    #[test]
    fn wrong_addresses_of_a_proxy_are_refused_with_an_example() {
        for url in ["proxy.test:3128", "https://proxy.test", "socks5://proxy.test", "http://", "nonsense"] {
            let error = UpstreamProxy::parse(url, &[]).unwrap_err();
            assert!(
                error.starts_with("network.proxy is no address of a proxy: ") && error.ends_with("http://proxy.example:3128"),
                "{error}"
            );
        }
        assert!(UpstreamProxy::parse("http://proxy.test", &["a b".into()]).unwrap_err().starts_with("network.no_proxy: "));
    }
}
