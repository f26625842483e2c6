//! Names to addresses: one lookup for a connection, every answer checked, and only those answers connected to.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use haft_contract::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolving};

use super::guard::{AddressGuard, is_loopback_name};

/// Finds the addresses of a name.
pub trait Resolve: Send + Sync {
    /// Every address of this host.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver: it obeys the hosts file, a VPN and a company's own servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// A name without addresses.
#[derive(Debug)]
pub(crate) struct Unresolved(Option<io::Error>);

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(error) => write!(f, "{error}"),
            None => f.write_str("the name has no addresses"),
        }
    }
}

impl std::error::Error for Unresolved {}

/// The resolver that the HTTP client is built with. It serves one port, because what is allowed may depend on the port and
/// the client does not tell it.
pub(crate) struct CheckingResolver {
    pub(crate) guard: Arc<AddressGuard>,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) port: u16,
}

impl reqwest::dns::Resolve for CheckingResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, resolver, port) = (Arc::clone(&self.guard), Arc::clone(&self.resolver), self.port);
        Box::pin(async move {
            let checked = checked_addresses(&guard, &*resolver, name.as_str(), port).await?;
            Ok(Box::new(checked.into_iter()) as Addrs)
        })
    }
}

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The addresses of a host, not checked: its own if it is one, those of this machine for its names.
pub(crate) async fn addresses_of(resolver: &dyn Resolve, host: &str) -> io::Result<Vec<IpAddr>> {
    if let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse() {
        return Ok(vec![address]);
    }
    if is_loopback_name(host) {
        return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    resolver.resolve(host).await
}

/// The addresses of a name, every one of them checked.
pub(crate) async fn checked_addresses(
    guard: &AddressGuard,
    resolver: &dyn Resolve,
    host: &str,
    port: u16,
) -> Result<Vec<SocketAddr>, Failure> {
    if is_loopback_name(host) {
        return Ok(guard.loopback(host, port)?);
    }
    let found = resolver.resolve(host).await.map_err(|error| Unresolved(Some(error)))?;
    if found.is_empty() {
        return Err(Unresolved(None).into());
    }
    let addresses: Vec<_> = found.into_iter().map(|address| SocketAddr::new(address, port)).collect();
    guard.check_all(host, &addresses)?;
    Ok(addresses)
}
