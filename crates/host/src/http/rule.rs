//! The entries of `[network] allow` and `deny`, as people write them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

use super::address::Network;

/// What the person allows beyond the public internet, and what they deny. Deny wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkRules {
    /// Hosts and addresses that may be reached although they are not public.
    pub allow: Vec<NetworkRule>,
    /// Hosts and addresses that may not be reached.
    pub deny: Vec<NetworkRule>,
}

impl NetworkRules {
    /// Reads both lists; the error names the entry that is wrong.
    pub fn parse<S: AsRef<str>>(allow: &[S], deny: &[S]) -> Result<Self, NetworkRuleError> {
        let read = |list: &[S]| list.iter().map(|entry| entry.as_ref().parse()).collect::<Result<Vec<NetworkRule>, _>>();
        Ok(Self { allow: read(allow)?, deny: read(deny)? })
    }
}

/// One entry: `example.org`, `*.example.org`, `10.1.0.0/16` or `[::1]`, with or without `:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkRule {
    written: String,
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Addresses(Network),
    Name(String),
    /// Everything beneath this name, but not the name itself. Starts with the dot.
    Beneath(String),
}

/// An entry that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkRuleError {
    /// The entry as written.
    pub entry: String,
    /// What is wrong with it, and what to write instead.
    pub problem: String,
}

impl fmt::Display for NetworkRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" in [network]: {}. Accepted: a host (example.org), everything beneath one (*.example.org), an address (10.1.2.3, ::1), \
             a range (10.1.0.0/16), each with or without a port (localhost:3000, [::1]:80)",
            self.entry.escape_debug(),
            self.problem
        )
    }
}

impl std::error::Error for NetworkRuleError {}

impl fmt::Display for NetworkRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl NetworkRule {
    /// Whether it names this host at this port. The host is in canonical form.
    pub(crate) fn covers_name(&self, host: &str, port: u16) -> bool {
        let named = match &self.pattern {
            Pattern::Name(name) => host == name,
            Pattern::Beneath(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            Pattern::Addresses(_) => false,
        };
        named && self.covers_port(port)
    }
    /// Whether it names this address at this port.
    pub(crate) fn covers_address(&self, address: IpAddr, port: u16) -> bool {
        matches!(self.pattern, Pattern::Addresses(network) if network.contains(address)) && self.covers_port(port)
    }
    /// Whether it speaks of one port alone.
    pub(crate) const fn has_port(&self) -> bool {
        self.port.is_some()
    }
    fn covers_port(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }
}

impl FromStr for NetworkRule {
    type Err = NetworkRuleError;

    fn from_str(entry: &str) -> Result<Self, NetworkRuleError> {
        read(entry).map_err(|problem| NetworkRuleError { entry: entry.into(), problem })
    }
}

fn read(entry: &str) -> Result<NetworkRule, String> {
    if entry.contains("://") {
        return Err("write the host alone, without http:// and without a path".into());
    }
    if entry.is_empty() || entry.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("it is empty or holds spaces".into());
    }
    let (host, port) = split_port(entry)?;
    let port = port.map(read_port).transpose()?;
    Ok(NetworkRule { written: entry.into(), pattern: read_pattern(host)?, port })
}

fn split_port(entry: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(bracketed) = entry.strip_prefix('[') {
        let (inside, rest) = bracketed.split_once(']').ok_or("the bracket is not closed")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((inside, Some(port))),
            None if rest.is_empty() => Ok((inside, None)),
            None => Err("only a port may follow the bracket".into()),
        };
    }
    match entry.split_once(':') {
        // More than one colon without brackets is an IPv6 address.
        Some((_, rest)) if rest.contains(':') => Ok((entry, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((entry, None)),
    }
}

fn read_port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(format!("'{text}' is not a port (1 to 65535)")),
    }
}

fn read_pattern(host: &str) -> Result<Pattern, String> {
    if let Some((address, prefix)) = host.split_once('/') {
        return read_range(address, prefix).map(Pattern::Addresses);
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(Pattern::Addresses(Network::single(address.to_canonical())));
    }
    if let Some(parent) = host.strip_prefix("*.") {
        return match read_host(parent)? {
            Pattern::Name(name) => Ok(Pattern::Beneath(format!(".{name}"))),
            _ => Err("'*.' goes before a host name, not an address".into()),
        };
    }
    if host == "*" {
        return Err("a bare '*' would open every address; name the hosts".into());
    }
    read_host(host)
}

fn read_range(address: &str, prefix: &str) -> Result<Network, String> {
    let base: IpAddr = address.parse().map_err(|_| format!("'{address}' is not an address"))?;
    if base.to_canonical() != base {
        return Err("such addresses are judged as IPv4; write the IPv4 range".into());
    }
    let network = prefix
        .parse()
        .ok()
        .and_then(|prefix| Network::new(base, prefix))
        .ok_or_else(|| format!("'/{prefix}' is not a prefix length for {base}"))?;
    if network.first() != base {
        return Err(format!("{base} lies inside the range; write {}/{prefix}, or {base} for that address alone", network.first()));
    }
    Ok(network)
}

fn read_host(host: &str) -> Result<Pattern, String> {
    if host.contains('*') {
        return Err("'*' is only understood as a whole first label, as in *.example.org".into());
    }
    match Host::parse(host).map_err(|error| format!("'{host}' is not a host: {error}"))? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            if name.is_empty() || name.split('.').any(str::is_empty) {
                return Err(format!("'{host}' has an empty label"));
            }
            Ok(Pattern::Name(name.into()))
        }
        Host::Ipv4(address) => Ok(Pattern::Addresses(Network::single(address.into()))),
        Host::Ipv6(address) => Ok(Pattern::Addresses(Network::single(address.into()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(entry: &str) -> NetworkRule {
        entry.parse().unwrap()
    }

    #[test]
    fn names_match_on_label_borders_only() {
        let beneath = rule("*.example.org");
        for (host, covered) in [
            ("api.example.org", true),
            ("a.b.example.org", true),
            ("example.org", false),
            ("evilexample.org", false),
            ("example.org.evil", false),
            (".example.org", false),
        ] {
            assert_eq!(beneath.covers_name(host, 443), covered, "{host}");
        }
        let exact = rule("GitHub.com.");
        for (host, covered) in [("github.com", true), ("evilgithub.com", false), ("github.com.evil", false), ("api.github.com", false)] {
            assert_eq!(exact.covers_name(host, 443), covered, "{host}");
        }
    }

    #[test]
    fn a_port_limits_an_entry_and_none_means_all() {
        for (entry, host, port, covered) in [
            ("localhost:3000", "localhost", 3000, true),
            ("localhost:3000", "localhost", 3001, false),
            ("localhost", "localhost", 3001, true),
            ("*.example.org:8443", "a.example.org", 8443, true),
            ("*.example.org:8443", "a.example.org", 443, false),
        ] {
            assert_eq!(rule(entry).covers_name(host, port), covered, "{entry} {port}");
        }
        for (entry, address, port, covered) in [
            ("127.0.0.1:8080", "127.0.0.1", 8080, true),
            ("127.0.0.1:8080", "127.0.0.1", 80, false),
            ("127.0.0.1:8080", "127.0.0.2", 8080, false),
            ("0x7f.1", "127.0.0.1", 80, true),
            ("10.1.0.0/16", "10.1.200.3", 1, true),
            ("10.1.0.0/16", "10.2.0.0", 1, false),
            ("10.1.0.0/16:443", "10.1.0.9", 80, false),
            ("[::1]:80", "::1", 80, true),
            ("[::1]:80", "::1", 81, false),
            ("::1", "::1", 81, true),
            ("[fd00::/8]:80", "fd12::1", 80, true),
            ("fd00::/8", "fd12::1", 9, true),
            ("::ffff:10.0.0.1", "10.0.0.1", 9, true),
        ] {
            assert_eq!(rule(entry).covers_address(address.parse().unwrap(), port), covered, "{entry} {address} {port}");
        }
    }

    #[test]
    fn wrong_entries_are_named_with_what_is_accepted() {
        for (entry, problem) in [
            ("", "it is empty or holds spaces"),
            ("a b", "it is empty or holds spaces"),
            ("*", "a bare '*' would open every address; name the hosts"),
            ("*:80", "a bare '*' would open every address; name the hosts"),
            ("http://example.org/", "write the host alone, without http:// and without a path"),
            ("a.*.org", "'*' is only understood as a whole first label, as in *.example.org"),
            ("*example.org", "'*' is only understood as a whole first label, as in *.example.org"),
            ("*.127.0.0.1", "'*.' goes before a host name, not an address"),
            ("*.", "'' is not a host: empty host"),
            ("a..b", "'a..b' has an empty label"),
            ("localhost:0", "'0' is not a port (1 to 65535)"),
            ("localhost:+80", "'+80' is not a port (1 to 65535)"),
            ("localhost:99999", "'99999' is not a port (1 to 65535)"),
            ("10.1.2.3/16", "10.1.2.3 lies inside the range; write 10.1.0.0/16, or 10.1.2.3 for that address alone"),
            ("10.0.0.0/33", "'/33' is not a prefix length for 10.0.0.0"),
            ("example.org/x", "'example.org' is not an address"),
            ("::ffff:10.0.0.0/104", "such addresses are judged as IPv4; write the IPv4 range"),
            ("[::1", "the bracket is not closed"),
            ("[::1]x", "only a port may follow the bracket"),
        ] {
            let error = entry.parse::<NetworkRule>().unwrap_err();
            assert_eq!(error, NetworkRuleError { entry: entry.into(), problem: problem.into() });
        }
        assert_eq!(
            NetworkRules::parse(&["localhost"], &["*"]).unwrap_err().to_string(),
            "\"*\" in [network]: a bare '*' would open every address; name the hosts. Accepted: a host (example.org), everything beneath \
             one (*.example.org), an address (10.1.2.3, ::1), a range (10.1.0.0/16), each with or without a port (localhost:3000, [::1]:80)"
        );
    }
}
