//! Patterns on connections: `domain:…`, `method:…`.

use std::net::{IpAddr, Ipv4Addr};

use haft_contract::Connect;

use super::RuleKind;
use super::command::words;
use super::fault::Fault;
use super::glob::lower;
use super::text::{Letter, behind, plain};
use crate::name::nearest;

pub(super) const METHODS: [&str; 9] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT"];
const FORM: &str = "write 'domain:example.org', 'domain:*.example.org', or 'method:POST'";

/// A pattern on a connection, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectionPattern {
    kind: RuleKind,
    host: Host,
    port: Option<u16>,
    method: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Any,
    Exact(String),
    /// Every host whose name ends with a dot and this.
    Beneath(String),
    /// In its shortest form: an IPv4 address within an IPv6 one is the IPv4 address.
    Address(IpAddr),
}

impl ConnectionPattern {
    /// Reads a pattern.
    pub(super) fn parse(kind: RuleKind, letters: &[Letter]) -> Result<Self, Fault> {
        let (mut domain, mut method) = (None, None);
        for word in words(letters)? {
            let slot = if let Some(name) = behind(&word.letters, "domain:") {
                domain.replace(plain(name))
            } else if let Some(name) = behind(&word.letters, "method:") {
                method.replace(plain(name))
            } else {
                return Err(misread(&plain(&word.letters)));
            };
            if slot.is_some() {
                return Err(Fault::new("a connection has one host and one method", "write one rule for each"));
            }
        }
        let (host, port) = domain.map_or(Ok((Host::Any, None)), |domain| domain_and_port(&domain))?;
        Ok(Self { kind, host, port, method: method.map(|method| known_method(&method)).transpose()? })
    }

    /// Whether the rule speaks of a connection. `allow` means looking only, unless it names the method.
    pub(super) fn matches(&self, connect: &Connect) -> bool {
        let method = match self.method {
            Some(method) => connect.method.eq_ignore_ascii_case(method),
            None => self.kind.restricts() || connect.only_reads(),
        };
        method && self.is_port(connect) && self.is_host(&connect.host)
    }

    /// `allow` without a port means the usual one, and the usual port the protocol that belongs to it.
    fn is_port(&self, connect: &Connect) -> bool {
        let is_usual = matches!((connect.scheme.as_str(), connect.port), ("https", 443) | ("http", 80));
        match self.port {
            None => self.kind.restricts() || is_usual,
            Some(port) => port == connect.port && (self.kind.restricts() || is_usual || !matches!(port, 80 | 443)),
        }
    }

    /// Whether it names a host, or the hosts beneath one.
    pub(super) fn is_anchored(&self) -> bool {
        self.host != Host::Any
    }

    fn is_host(&self, host: &str) -> bool {
        let host = lower(host.trim_end_matches('.'));
        match &self.host {
            Host::Any => true,
            Host::Exact(wanted) => *wanted == host,
            Host::Beneath(wanted) => match host.strip_suffix(wanted.as_str()) {
                Some("") => self.kind.restricts(),
                Some(before) => before.len() > 1 && before.ends_with('.'),
                None => false,
            },
            Host::Address(wanted) => address(&host).as_ref() == Some(wanted),
        }
    }
}

fn misread(word: &str) -> Fault {
    let behind_scheme = word.split_once("://").map(|(_, rest)| rest);
    let host = behind_scheme.unwrap_or(word).split(['/', '?', '#']).next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
    let looks_like_one = !host.is_empty() && host.contains('.') && !host.contains('*') && domain_and_port(host).is_ok();
    let help = if looks_like_one { format!("write 'domain:{host}'") } else { FORM.to_owned() };
    Fault::new(format!("'{word}' can never match a connection, which has a host and a method"), help)
}

fn known_method(method: &str) -> Result<&'static str, Fault> {
    let wanted = method.to_ascii_uppercase();
    let known = METHODS.into_iter().find(|known| *known == wanted);
    known.ok_or_else(|| {
        let help = match nearest(&wanted, METHODS.into_iter()).first() {
            Some(near) => format!("did you mean 'method:{near}'?"),
            None => format!("write one of {}", METHODS.join(", ")),
        };
        Fault::new(format!("no request has the method '{method}'"), help)
    })
}

fn domain_and_port(domain: &str) -> Result<(Host, Option<u16>), Fault> {
    if domain.contains('/') {
        return Err(misread(domain));
    }
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains([':', '[']) => (host, Some(known_port(port)?)),
        _ => (domain, None),
    };
    Ok((known_host(&host.trim_end_matches('.').to_ascii_lowercase())?, port))
}

fn known_port(port: &str) -> Result<u16, Fault> {
    let known = port.parse().ok().filter(|known| *known > 0 && port.bytes().all(|byte| byte.is_ascii_digit()));
    known.ok_or_else(|| Fault::new(format!("'{port}' is no port"), "write a number from 1 to 65535, such as 'domain:example.org:8080'"))
}

fn known_host(host: &str) -> Result<Host, Fault> {
    if host == "*" {
        return Ok(Host::Any);
    }
    if let Some(address) = address(host) {
        return Ok(Host::Address(address));
    }
    let (beneath, name) = host.strip_prefix("*.").map_or((false, host), |name| (true, name));
    check_name(name)?;
    Ok(if beneath { Host::Beneath(name.to_owned()) } else { Host::Exact(name.to_owned()) })
}

/// An address, with or without brackets.
fn address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok().map(|address: IpAddr| address.to_canonical())
}

fn check_name(name: &str) -> Result<(), Fault> {
    if !name.is_ascii() {
        return Err(Fault::new(format!("'{name}' is compared in its ASCII form"), "write the name as it begins with 'xn--'"));
    }
    if name.contains('*') {
        return Err(Fault::new(
            "'*' stands for whole names at the front of a host",
            "write 'domain:*.example.org', or one rule for each host",
        ));
    }
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err(Fault::new(format!("'{name}' is no host"), FORM));
    }
    // Every other way to write an address becomes this one before it is compared.
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    if numeric && name.parse::<Ipv4Addr>().is_err() {
        return Err(Fault::new(format!("'{name}' is no address in its usual form"), "write four numbers, such as 'domain:127.0.0.1'"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::text::read;
    use super::*;

    fn parse(kind: RuleKind, content: &str) -> Result<ConnectionPattern, Fault> {
        ConnectionPattern::parse(kind, &read(&format!("x({content})")).unwrap().content.unwrap())
    }

    #[test]
    fn hosts_ports_and_methods_are_compared() {
        let connect = |host: &str, port, method: &str| Connect::new("https", host, port, method);
        let plain = |host: &str, port, method: &str| Connect::new("http", host, port, method);
        for (content, target, denied, allowed) in [
            ("domain:example.org", connect("example.org", 443, "GET"), true, true),
            ("domain:example.org", plain("example.org", 80, "GET"), true, true),
            ("domain:example.org", plain("example.org", 443, "GET"), true, false),
            ("domain:example.org", connect("example.org", 80, "GET"), true, false),
            ("domain:example.org", connect("example.org", 22, "GET"), true, false),
            ("domain:Example.ORG.", connect("example.org.", 443, "HEAD"), true, true),
            ("domain:Example.ORG.", connect("example.org.", 8443, "HEAD"), true, false),
            ("domain:example.org", connect("example.org", 443, "POST"), true, false),
            ("domain:example.org", connect("www.example.org", 443, "GET"), false, false),
            ("domain:example.org", connect("evilexample.org", 443, "GET"), false, false),
            ("domain:*.example.org", connect("a.b.example.org", 443, "GET"), true, true),
            ("domain:*.example.org", connect("example.org", 443, "GET"), true, false),
            ("domain:*.example.org", connect("evilexample.org", 443, "GET"), false, false),
            ("domain:*.example.org", connect("example.org.evil.net", 443, "GET"), false, false),
            ("domain:example.org:8080", connect("example.org", 8080, "GET"), true, true),
            ("domain:example.org:8080", plain("example.org", 8080, "GET"), true, true),
            ("domain:example.org:8080", connect("example.org", 443, "GET"), false, false),
            ("domain:example.org:443", connect("example.org", 443, "GET"), true, true),
            ("domain:example.org:443", plain("example.org", 443, "GET"), true, false),
            ("domain:example.org:80", connect("example.org", 80, "GET"), true, false),
            ("method:post", connect("example.org", 443, "POST"), true, true),
            ("method:POST", connect("example.org", 443, "PUT"), false, false),
            ("domain:x.org method:PUT", connect("x.org", 443, "PUT"), true, true),
            ("domain:x.org method:PUT", connect("y.org", 443, "PUT"), false, false),
            ("domain:127.0.0.1", plain("127.0.0.1", 80, "GET"), true, true),
            ("domain:127.0.0.1", plain("[::ffff:7f00:1]", 80, "GET"), true, true),
            ("domain:127.0.0.1", plain("::ffff:127.0.0.1", 80, "GET"), true, true),
            ("domain:127.0.0.1", plain("[::ffff:7f00:2]", 80, "GET"), false, false),
            ("domain:[::1]:80", plain("[::1]", 80, "GET"), true, true),
            ("domain:::ffff:127.0.0.1", plain("[::ffff:7f00:1]", 80, "GET"), true, true),
            ("domain:[::ffff:7f00:1]", plain("127.0.0.1", 80, "GET"), true, true),
            ("domain:*", plain("any.example", 80, "GET"), true, true),
            ("domain:*", plain("any.example", 81, "GET"), true, false),
        ] {
            let matches = |kind| parse(kind, content).unwrap().matches(&target);
            assert_eq!((matches(RuleKind::Deny), matches(RuleKind::Allow)), (denied, allowed), "{content} on {target:?}");
        }
    }

    #[test]
    fn what_could_never_match_is_refused_with_what_to_write() {
        for (content, message, help) in [
            (
                "https://example.org/a?b",
                "'https://example.org/a?b' can never match a connection, which has a host and a method",
                "write 'domain:example.org'",
            ),
            ("example.org", "'example.org' can never match a connection, which has a host and a method", "write 'domain:example.org'"),
            ("docs/**", "'docs/**' can never match a connection, which has a host and a method", FORM),
            (
                "domain:https://a.org/",
                "'https://a.org/' can never match a connection, which has a host and a method",
                "write 'domain:a.org'",
            ),
            ("domain:", "'' is no host", FORM),
            ("domain:a..b", "'a..b' is no host", FORM),
            (
                "domain:exam*.org",
                "'*' stands for whole names at the front of a host",
                "write 'domain:*.example.org', or one rule for each host",
            ),
            ("domain:bücher.example", "'bücher.example' is compared in its ASCII form", "write the name as it begins with 'xn--'"),
            ("domain:127.1", "'127.1' is no address in its usual form", "write four numbers, such as 'domain:127.0.0.1'"),
            ("domain:0x7f000001", "'0x7f000001' is no address in its usual form", "write four numbers, such as 'domain:127.0.0.1'"),
            ("domain:a.org:99999", "'99999' is no port", "write a number from 1 to 65535, such as 'domain:example.org:8080'"),
            ("domain:a.org:+80", "'+80' is no port", "write a number from 1 to 65535, such as 'domain:example.org:8080'"),
            ("domain:a.org domain:b.org", "a connection has one host and one method", "write one rule for each"),
            ("method:PSOT", "no request has the method 'PSOT'", "did you mean 'method:POST'?"),
        ] {
            assert_eq!(parse(RuleKind::Deny, content), Err(Fault::new(message, help)), "{content}");
        }
    }
}
