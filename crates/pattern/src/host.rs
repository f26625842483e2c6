//! Patterns on hosts and ports: the entries of `[network]` and the `domain:` of rules on connections.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::AddressBlock;
use crate::host_syntax::{ParsedHost, parse_name};

/// What a [`HostPattern`] can be, for messages.
pub const HOST_FORMS: &str = "a host (example.org), everything beneath one (*.example.org), an address (10.1.2.3, ::1), \
                              a range (10.1.0.0/16), each with or without a port (localhost:3000, [::1]:80)";

/// A pattern on hosts, with or without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    text: String,
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    Any,
    Name(String),
    /// Everything beneath this name, but not the name itself. Starts with the dot.
    Beneath(String),
    Addresses(AddressBlock),
}

/// Why a text is not a host pattern, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPatternError(String);

impl fmt::Display for HostPatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HostPatternError {}

/// A host in the one form in which patterns compare it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostName {
    /// In lower case and ASCII, without a dot at the end.
    Name(String),
    /// An IPv4 address within an IPv6 one is the IPv4 address.
    Address(IpAddr),
}

impl HostName {
    /// Reads a host in any spelling: any case, with brackets, `127.1`, a name that is not ASCII.
    pub fn new(host: &str) -> Self {
        let host = host.trim_end_matches('.');
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match bare.parse::<IpAddr>().map_or_else(|_| parse_name(bare), |address| Ok(ParsedHost::Address(address))) {
            Ok(ParsedHost::Name(name)) => Self::Name(name),
            Ok(ParsedHost::Address(address)) => Self::Address(address.to_canonical()),
            Err(_) => Self::Name(host.to_lowercase()),
        }
    }
}

impl HostPattern {
    /// Whether it matches every host.
    pub fn is_any(&self) -> bool {
        self.hosts == Hosts::Any
    }
    /// Whether it matches one name or one address.
    pub fn is_one(&self) -> bool {
        match &self.hosts {
            Hosts::Name(_) => true,
            Hosts::Addresses(block) => block.is_one(),
            Hosts::Any | Hosts::Beneath(_) => false,
        }
    }
    /// The `example.org` of `*.example.org`.
    pub fn parent(&self) -> Option<&str> {
        match &self.hosts {
            Hosts::Beneath(suffix) => Some(&suffix[1..]),
            Hosts::Any | Hosts::Name(_) | Hosts::Addresses(_) => None,
        }
    }
    /// The `example.org` of `example.org` and of `*.example.org`.
    pub fn domain(&self) -> Option<&str> {
        if let Hosts::Name(name) = &self.hosts { Some(name) } else { self.parent() }
    }
    /// The only port that it matches; `None` means every port.
    pub const fn port(&self) -> Option<u16> {
        self.port
    }
    /// Whether it matches this port.
    pub fn matches_port(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }
    /// Whether it matches a name in canonical form.
    pub fn matches_name(&self, name: &str) -> bool {
        match &self.hosts {
            Hosts::Any => true,
            Hosts::Name(own) => name == own,
            Hosts::Beneath(suffix) => name.len() > suffix.len() && name.ends_with(suffix),
            Hosts::Addresses(_) => false,
        }
    }
    /// Whether it matches an address in canonical form.
    pub fn matches_address(&self, address: IpAddr) -> bool {
        match self.hosts {
            Hosts::Any => true,
            Hosts::Addresses(block) => block.contains(address),
            Hosts::Name(_) | Hosts::Beneath(_) => false,
        }
    }
    /// Whether it matches a host.
    pub fn matches(&self, host: &HostName) -> bool {
        match host {
            HostName::Name(name) => self.matches_name(name),
            HostName::Address(address) => self.matches_address(*address),
        }
    }
    /// Whether it is `*.example.org` and the host `example.org`, which it does not match.
    pub fn is_beneath(&self, host: &HostName) -> bool {
        matches!((&self.hosts, host), (Hosts::Beneath(suffix), HostName::Name(name)) if suffix[1..] == *name)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        parse(text).map_err(HostPatternError)
    }
}

fn parse(text: &str) -> Result<HostPattern, String> {
    if text.contains("://") {
        return Err("write the host alone, without http:// and without a path".into());
    }
    if text.is_empty() || text.contains(|ch: char| ch.is_whitespace() || ch.is_control()) {
        return Err("it is empty or contains spaces".into());
    }
    let (host, port) = split_port(text)?;
    let port = port.map(parse_port).transpose()?;
    Ok(HostPattern { text: text.into(), hosts: parse_hosts(host)?, port })
}

fn split_port(text: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let (inside, rest) = bracketed.split_once(']').ok_or("the bracket is not closed")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((inside, Some(port))),
            None if rest.trim_end_matches('.').is_empty() => Ok((inside, None)),
            None => Err("only a port may follow the bracket".into()),
        };
    }
    match text.split_once(':') {
        // More than one colon without brackets is an IPv6 address.
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(format!("'{text}' is not a port (1 to 65535)")),
    }
}

fn parse_hosts(host: &str) -> Result<Hosts, String> {
    if host == "*" {
        return Ok(Hosts::Any);
    }
    if let Some((address, prefix)) = host.split_once('/') {
        return parse_range(address, prefix).map(Hosts::Addresses);
    }
    match host.strip_prefix("*.") {
        Some(parent) => match parse_host(parent)? {
            Hosts::Name(name) => Ok(Hosts::Beneath(format!(".{name}"))),
            _ => Err("'*.' goes before a host name, not an address".into()),
        },
        None => parse_host(host),
    }
}

fn parse_range(address: &str, prefix: &str) -> Result<AddressBlock, String> {
    let base: IpAddr = address.parse().map_err(|_| format!("'{address}' is not an address"))?;
    if base.to_canonical() != base {
        return Err("such addresses are compared as IPv4; write the IPv4 range".into());
    }
    let block = prefix
        .parse()
        .ok()
        .and_then(|prefix| AddressBlock::new(base, prefix))
        .ok_or_else(|| format!("'/{prefix}' is not a prefix length for {base}"))?;
    if block.first() != base {
        return Err(format!("{base} is inside the range; write {}/{prefix}, or {base} for that address alone", block.first()));
    }
    Ok(block)
}

fn parse_host(host: &str) -> Result<Hosts, String> {
    if host.contains('*') {
        return Err("'*' is only understood as a whole first label, as in *.example.org".into());
    }
    let bare = host.trim_end_matches('.');
    if bare.split('.').any(str::is_empty) {
        return Err(if bare.is_empty() { format!("'{host}' is not a host") } else { format!("'{host}' has an empty label") });
    }
    let is_plain = bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    match HostName::new(bare) {
        HostName::Address(address) => Ok(Hosts::Addresses(AddressBlock::single(address))),
        HostName::Name(name) => match parse_name(bare) {
            Err(error) if !is_plain || ends_in_number(&name) => Err(format!("'{host}' is not a host: {error}")),
            _ => Ok(Hosts::Name(name)),
        },
    }
}

/// Whether a name that is not an address looks like one.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn names_match_on_label_borders_only() {
        let beneath = pattern("*.example.org");
        for (host, matches) in [
            ("api.example.org", true),
            ("a.b.example.org", true),
            ("example.org", false),
            ("evilexample.org", false),
            ("example.org.evil", false),
            (".example.org", false),
        ] {
            assert_eq!(beneath.matches_name(host), matches, "{host}");
        }
        assert!(beneath.is_beneath(&HostName::new("Example.org.")) && !beneath.is_beneath(&HostName::new("a.example.org")));
        let exact = pattern("GitHub.com.");
        for (host, matches) in [("github.com", true), ("evilgithub.com", false), ("github.com.evil", false), ("api.github.com", false)] {
            assert_eq!(exact.matches_name(host), matches, "{host}");
        }
    }

    #[test]
    #[cfg(feature = "idna")]
    fn hosts_that_are_not_ascii_match_in_every_spelling() {
        for (text, host) in [
            ("bücher.example", "xn--bcher-kva.example"),
            ("xn--bcher-kva.example", "BÜCHER.example"),
            ("*.bücher.example", "a.xn--bcher-kva.example"),
        ] {
            assert!(pattern(text).matches(&HostName::new(host)), "{text} on {host}");
        }
    }

    #[test]
    fn hosts_match_in_every_spelling() {
        for (text, host, matches) in [
            ("127.1", "127.0.0.1", true),
            ("0x7f000001", "127.0.0.1", true),
            ("127.0.0.1", "0x7f.1", true),
            ("127.0.0.1", "[::ffff:7f00:1]", true),
            ("::ffff:127.0.0.1", "127.0.0.1", true),
            ("[::1]", "::1", true),
            ("[::1].", "[::1]", true),
            ("10.1.0.0/16", "10.1.2.3", true),
            ("10.1.0.0/16", "10.2.2.3", false),
            ("my_host", "MY_HOST", true),
            ("example.org..", "example.org", true),
            ("xn--zz--zz", "xn--zz--zz", true),
            ("*", "anything", true),
            ("*", "::1", true),
        ] {
            assert_eq!(pattern(text).matches(&HostName::new(host)), matches, "{text} on {host}");
        }
    }

    #[test]
    fn port_limits_a_pattern_and_none_means_all() {
        for (text, host, port, matches) in [
            ("localhost:3000", "localhost", 3000, true),
            ("localhost:3000", "localhost", 3001, false),
            ("localhost", "localhost", 3001, true),
            ("*.example.org:8443", "a.example.org", 8443, true),
            ("*.example.org:8443", "a.example.org", 443, false),
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
            let pattern = pattern(text);
            assert_eq!(pattern.matches(&HostName::new(host)) && pattern.matches_port(port), matches, "{text} {host} {port}");
        }
    }

    #[test]
    fn wrong_patterns_are_explained() {
        for (text, problem) in [
            ("", "it is empty or contains spaces"),
            ("a b", "it is empty or contains spaces"),
            ("http://example.org/", "write the host alone, without http:// and without a path"),
            ("a.*.org", "'*' is only understood as a whole first label, as in *.example.org"),
            ("*example.org", "'*' is only understood as a whole first label, as in *.example.org"),
            ("*.127.0.0.1", "'*.' goes before a host name, not an address"),
            ("*.", "'' is not a host"),
            ("a..b", "'a..b' has an empty label"),
            ("a.1", "'a.1' is not a host: invalid IPv4 address"),
            ("localhost:0", "'0' is not a port (1 to 65535)"),
            ("localhost:+80", "'+80' is not a port (1 to 65535)"),
            ("localhost:99999", "'99999' is not a port (1 to 65535)"),
            ("10.1.2.3/16", "10.1.2.3 is inside the range; write 10.1.0.0/16, or 10.1.2.3 for that address alone"),
            ("10.0.0.0/33", "'/33' is not a prefix length for 10.0.0.0"),
            ("example.org/x", "'example.org' is not an address"),
            ("::ffff:10.0.0.0/104", "such addresses are compared as IPv4; write the IPv4 range"),
            ("[::1", "the bracket is not closed"),
            ("[::1]x", "only a port may follow the bracket"),
        ] {
            assert_eq!(text.parse::<HostPattern>().unwrap_err().to_string(), problem, "{text}");
        }
    }
}
