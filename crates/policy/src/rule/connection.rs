//! Patterns on connections: `domain:…`, `method:…`.

use haft_contract::Connect;
use haft_pattern::{HostName, HostPattern, PatternChar, registered_domain};
use haft_text::suggest::nearest;

use super::RuleKind;
use super::command::words;
use super::problem::RuleProblem;
use super::text::{behind, plain};

pub(super) const METHODS: [&str; 9] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT"];
const FORM: &str = "write 'domain:example.org', 'domain:*.example.org', or 'method:POST'";

/// A pattern on a connection, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectionPattern {
    kind: RuleKind,
    host: Option<HostPattern>,
    method: Option<&'static str>,
}

/// A connection as rules compare it.
#[derive(Debug)]
pub(super) struct Connection<'a> {
    connect: &'a Connect,
    host: HostName,
}

impl<'a> Connection<'a> {
    pub(super) fn new(connect: &'a Connect) -> Self {
        Self { connect, host: HostName::new(&connect.host) }
    }
    /// The name of its host; none if it is an address.
    pub(super) fn name(&self) -> Option<&str> {
        if let HostName::Name(name) = &self.host { Some(name) } else { None }
    }
}

impl ConnectionPattern {
    /// Reads a pattern.
    pub(super) fn parse(kind: RuleKind, chars: &[PatternChar]) -> Result<Self, RuleProblem> {
        let (mut domain, mut method) = (None, None);
        for word in words(chars)? {
            let slot = if let Some(name) = behind(&word.chars, "domain:") {
                domain.replace(plain(name))
            } else if let Some(name) = behind(&word.chars, "method:") {
                method.replace(plain(name))
            } else {
                return Err(misread(&plain(&word.chars)));
            };
            if slot.is_some() {
                return Err(RuleProblem::new("a connection has one host and one method", "write one rule for each"));
            }
        }
        let host = domain.map(|domain| known_host(&domain)).transpose()?;
        Ok(Self { kind, host, method: method.map(|method| known_method(&method)).transpose()? })
    }

    /// The domain that it needs: the host, or what is above all its hosts.
    pub(super) fn domain(&self) -> Option<&str> {
        self.host.as_ref().and_then(HostPattern::domain)
    }

    /// Whether the rule speaks of a connection. `only` and exceptions name hosts, whatever is done there. `allow` means looking only, unless it names the method, and the tunnel of a sandboxed
    /// command: what goes through it cannot be seen, and the user named the host.
    pub(super) fn matches(&self, connection: &Connection<'_>) -> bool {
        let connect = connection.connect;
        let method = match self.method {
            Some(method) => connect.method.eq_ignore_ascii_case(method),
            None => self.kind != RuleKind::Allow || connect.only_reads() || connect.is_tunnel(),
        };
        method && self.is_port(connect) && self.is_host(&connection.host)
    }

    /// `allow` without a port means the usual one, and the usual port the protocol that belongs to it.
    fn is_port(&self, connect: &Connect) -> bool {
        let is_usual = matches!((connect.scheme.as_str(), connect.port), ("https", 443) | ("http", 80))
            || (connect.is_tunnel() && matches!(connect.port, 80 | 443));
        match self.host.as_ref().and_then(HostPattern::port) {
            None => self.kind != RuleKind::Allow || is_usual,
            Some(port) => port == connect.port && (self.kind != RuleKind::Allow || is_usual || !matches!(port, 80 | 443)),
        }
    }

    /// Whether it names a host, or the hosts beneath one.
    pub(super) fn is_anchored(&self) -> bool {
        self.host.as_ref().is_some_and(|host| !host.is_any())
    }

    /// Whether it names one host, or the hosts of one owner.
    pub(super) fn names_owner(&self) -> bool {
        let is_owned = |host: &HostPattern| host.is_one() || host.parent().is_some_and(|parent| registered_domain(parent).is_some());
        self.host.as_ref().is_some_and(is_owned)
    }

    /// What restricts everything beneath a host restricts the host too.
    fn is_host(&self, host: &HostName) -> bool {
        self.host.as_ref().is_none_or(|own| own.matches(host) || (self.kind.restricts() && own.is_beneath(host)))
    }
}

fn known_host(domain: &str) -> Result<HostPattern, RuleProblem> {
    if domain.contains("://") {
        return Err(misread(domain));
    }
    domain.parse::<HostPattern>().map_err(|error| RuleProblem::new(error.to_string(), FORM))
}

fn misread(word: &str) -> RuleProblem {
    let behind_scheme = word.split_once("://").map(|(_, rest)| rest);
    let host = behind_scheme.unwrap_or(word).split(['/', '?', '#']).next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
    let looks_like_one = !host.is_empty() && host.contains('.') && !host.contains('*') && host.parse::<HostPattern>().is_ok();
    let help = if looks_like_one { format!("write 'domain:{host}'") } else { FORM.to_owned() };
    RuleProblem::new(format!("'{word}' can never match a connection, which has a host and a method"), help)
}

fn known_method(method: &str) -> Result<&'static str, RuleProblem> {
    let wanted = method.to_ascii_uppercase();
    let known = METHODS.into_iter().find(|known| *known == wanted);
    known.ok_or_else(|| {
        let help = match nearest(&wanted, METHODS).first() {
            Some(near) => format!("did you mean 'method:{near}'?"),
            None => format!("write one of {}", METHODS.join(", ")),
        };
        RuleProblem::new(format!("no request has the method '{method}'"), help)
    })
}

#[cfg(test)]
mod tests {
    use super::super::text::read;
    use super::*;

    fn parse(kind: RuleKind, content: &str) -> Result<ConnectionPattern, RuleProblem> {
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
            ("domain:127.1", plain("127.0.0.1", 80, "GET"), true, true),
            ("domain:0x7f000001", plain("127.0.0.1", 80, "GET"), true, true),
            ("domain:10.1.0.0/16", plain("10.1.2.3", 80, "GET"), true, true),
            ("domain:10.1.0.0/16", plain("10.2.2.3", 80, "GET"), false, false),
            ("domain:[fd00::/8]:8080", plain("[fd12::1]", 8080, "GET"), true, true),
            ("domain:bücher.example", connect("xn--bcher-kva.example", 443, "GET"), true, true),
            ("domain:*", plain("any.example", 80, "GET"), true, true),
            ("domain:*", plain("any.example", 81, "GET"), true, false),
        ] {
            let matches = |kind| parse(kind, content).unwrap().matches(&Connection::new(&target));
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
            ("domain:", "it is empty or contains spaces", FORM),
            ("domain:a..b", "'a..b' has an empty label", FORM),
            ("domain:exam*.org", "'*' is only understood as a whole first label, as in *.example.org", FORM),
            ("domain:a.org/x", "'a.org' is not an address", FORM),
            ("domain:a.org:99999", "'99999' is not a port (1 to 65535)", FORM),
            ("domain:a.org:+80", "'+80' is not a port (1 to 65535)", FORM),
            ("domain:a.org domain:b.org", "a connection has one host and one method", "write one rule for each"),
            ("method:PSOT", "no request has the method 'PSOT'", "did you mean 'method:POST'?"),
        ] {
            assert_eq!(parse(RuleKind::Deny, content), Err(RuleProblem::new(message, help)), "{content}");
        }
    }
}
