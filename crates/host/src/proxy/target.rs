//! What a client wants to reach, read once.

use std::fmt;
use std::net::SocketAddr;

use haft_pattern::HostPattern;
use url::Host;

/// The ports of a host that is named without one.
const USUAL_PORTS: [u16; 2] = [80, 443];
/// The longest name that DNS has.
const LONGEST: usize = 255;

/// A host in canonical form, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyTarget {
    pub(crate) host: Host<String>,
    pub(crate) port: u16,
}

impl fmt::Display for ProxyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl ProxyTarget {
    /// A host as a client writes it. Names with anything but letters, digits, dots and hyphens are refused: what one reader
    /// cuts off at, another reads on.
    pub(crate) fn new(host: &str, port: u16) -> Option<Self> {
        let bare = host.strip_suffix('.').unwrap_or(host);
        let plain = bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']'));
        if bare.is_empty() || bare.len() > LONGEST || !plain || port == 0 || bare.split('.').any(str::is_empty) {
            return None;
        }
        let bracketed = if bare.contains(':') && !bare.starts_with('[') { format!("[{bare}]") } else { bare.to_owned() };
        Some(Self { host: Host::parse(&bracketed).ok()?, port })
    }
    /// `host:port`, as after `CONNECT`.
    pub(crate) fn of_authority(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        Self::new(host, port.parse().ok().filter(|_| digits)?)
    }

    /// Whether a list names it. An entry without a port stands for the ports of the web alone.
    pub(crate) fn is_among(&self, allowed: &[HostPattern]) -> bool {
        let name = self.host.to_string();
        allowed.iter().any(|rule| {
            let matches = rule.matches_name(&name) || self.address().is_some_and(|at| rule.matches_address(at.ip()));
            matches && rule.matches_port(self.port) && (rule.port().is_some() || USUAL_PORTS.contains(&self.port))
        })
    }

    /// Where it is, if it was written as an address.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self.host {
            Host::Ipv4(address) => Some(SocketAddr::new(address.into(), self.port)),
            Host::Ipv6(address) => Some(SocketAddr::new(address.into(), self.port)),
            Host::Domain(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_one_way_or_not_at_all() {
        for (text, expected) in [
            ("Example.ORG:443", Some("example.org:443")),
            ("example.org.:443", Some("example.org:443")),
            ("127.1:80", Some("127.0.0.1:80")),
            ("0x7f.1:80", Some("127.0.0.1:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("xn--nxasmq6b:80", Some("xn--nxasmq6b:80")),
            ("example.org", None),
            ("example.org:", None),
            ("example.org:+80", None),
            ("example.org:0", None),
            ("example.org:65536", None),
            (":80", None),
            ("a..b:80", None),
            ("allowed.example\0.evil.example:80", None),
            ("allowed.example%00:80", None),
            ("user@example.org:80", None),
            ("example.org/:80", None),
            ("example.org :80", None),
            ("exämple.org:80", None),
        ] {
            assert_eq!(ProxyTarget::of_authority(text).map(|target| target.to_string()).as_deref(), expected, "{text:?}");
        }
        assert_eq!(ProxyTarget::new(&"a".repeat(256), 80), None);
        assert_eq!(ProxyTarget::new("::1", 80).unwrap().to_string(), "[::1]:80");
    }

    #[test]
    fn a_list_names_hosts_and_the_ports_of_the_web() {
        let allowed: Vec<HostPattern> =
            ["example.org", "*.example.net", "git.example:22", "10.1.0.0/16"].iter().map(|entry| entry.parse().unwrap()).collect();
        for (target, expected) in [
            ("example.org:443", true),
            ("example.org:80", true),
            ("example.org:22", false),
            ("example.org:25", false),
            ("evilexample.org:443", false),
            ("example.org.evil:443", false),
            ("a.example.net:443", true),
            ("example.net:443", false),
            ("git.example:22", true),
            ("git.example:443", false),
            ("10.1.2.3:443", true),
            ("10.2.2.3:443", false),
        ] {
            assert_eq!(ProxyTarget::of_authority(target).unwrap().is_among(&allowed), expected, "{target}");
        }
    }
}
