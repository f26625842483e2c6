//! The address guard: what tools may connect to. Public addresses, and what the user allows; never a metadata service.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use haft_contract::RefusalCause;
use haft_pattern::HostPattern;
use url::Host;

use super::address::{is_metadata_address, is_metadata_name, meanings, special};
use super::rule::NetworkRules;

/// Checks hosts and addresses by the user's rules.
#[derive(Debug)]
pub(crate) struct AddressGuard {
    rules: NetworkRules,
}

/// Why a connection is refused, and what the user can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl AddressGuard {
    pub(crate) fn new(rules: NetworkRules) -> Self {
        Self { rules }
    }

    /// What can be said before a name is looked up.
    pub(crate) fn screen(&self, host: &Host<String>, port: u16) -> Result<(), Refusal> {
        match host {
            Host::Ipv4(address) => self.check(&host.to_string(), SocketAddr::new((*address).into(), port)),
            Host::Ipv6(address) => self.check(&host.to_string(), SocketAddr::new((*address).into(), port)),
            Host::Domain(name) if is_loopback_name(name) => self.loopback(name, port).map(drop),
            Host::Domain(name) => self.check_name(name, port),
        }
    }

    /// Everything that refuses a host before its name is looked up, for advice.
    pub(crate) fn causes(&self, host: &Host<String>, port: u16) -> Vec<RefusalCause> {
        let addresses: Vec<IpAddr> = match host {
            Host::Ipv4(address) => meanings((*address).into()),
            Host::Ipv6(address) => meanings((*address).into()),
            Host::Domain(name) if is_loopback_name(name) => vec![Ipv4Addr::LOCALHOST.into()],
            Host::Domain(_) => Vec::new(),
        };
        let name = host.to_string();
        if is_metadata_name(&name) || addresses.iter().any(|address| is_metadata_address(*address)) {
            return vec![RefusalCause::Fixed];
        }
        let matches = |rule: &&HostPattern| {
            rule.matches_port(port) && (rule.matches_name(&name) || addresses.iter().any(|address| rule.matches_address(*address)))
        };
        let denied = |rule: &HostPattern| RefusalCause::Listed { key: "network.deny", entry: rule.to_string() };
        let mut causes: Vec<RefusalCause> = self.rules.deny.iter().filter(matches).map(denied).collect();
        let is_allowed = self.rules.allow.iter().any(|rule| matches(&rule));
        if let Some(address) = addresses.into_iter().find(|address| special(*address).is_some()).filter(|_| !is_allowed) {
            causes.push(RefusalCause::Missing { key: "network.allow", entry: entry_for(&name, address, port) });
        }
        causes
    }

    /// The addresses behind a name of this machine itself. Such names are never looked up (RFC 6761), so that nothing
    /// can answer them with another address.
    pub(crate) fn loopback(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Refusal> {
        let [v4, v6] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()].map(|address: IpAddr| SocketAddr::new(address, port));
        let refused = match self.check(name, v4) {
            Ok(()) if self.check(name, v6).is_ok() => return Ok(vec![v4, v6]),
            Ok(()) => return Ok(vec![v4]),
            Err(refused) => refused,
        };
        self.check(name, v6).map(|()| vec![v6]).map_err(|_| refused)
    }

    /// Checks every address of a name: one that is refused makes the whole name refused.
    pub(crate) fn check_all(&self, host: &str, addresses: &[SocketAddr]) -> Result<(), Refusal> {
        addresses.iter().try_for_each(|address| self.check(host, *address))
    }

    /// Checks one address of a host.
    pub(crate) fn check(&self, host: &str, address: SocketAddr) -> Result<(), Refusal> {
        self.check_name(host, address.port())?;
        meanings(address.ip()).into_iter().try_for_each(|meaning| self.check_meaning(host, meaning, address.port()))
    }

    fn check_name(&self, host: &str, port: u16) -> Result<(), Refusal> {
        if is_metadata_name(host) {
            return Err(metadata(host));
        }
        match self.rules.deny.iter().find(|rule| rule.matches_port(port) && rule.matches_name(host)) {
            Some(rule) => Err(denied(host, rule)),
            None => Ok(()),
        }
    }

    fn check_meaning(&self, host: &str, address: IpAddr, port: u16) -> Result<(), Refusal> {
        let subject = subject(host, address);
        if is_metadata_address(address) {
            return Err(metadata(&subject));
        }
        if let Some(rule) = self.rules.deny.iter().find(|rule| rule.matches_port(port) && rule.matches_address(address)) {
            return Err(denied(&subject, rule));
        }
        let allows = |rule: &HostPattern| rule.matches_port(port) && (rule.matches_name(host) || rule.matches_address(address));
        let allowed = self.rules.allow.iter().any(allows);
        match special(address) {
            Some(kind) if !allowed => Err(not_public(&subject, kind, &entry_for(host, address, port))),
            _ => Ok(()),
        }
    }
}

/// Whether a name means this machine, whatever a resolver says.
pub(crate) fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn subject(host: &str, address: IpAddr) -> String {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    if plain == address.to_string() { plain.to_owned() } else { format!("{host} ({address})") }
}

/// What to write in the config: the name if there is one, else the address.
fn entry_for(host: &str, address: IpAddr, port: u16) -> String {
    let literal = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if literal { SocketAddr::new(address, port).to_string() } else { format!("{host}:{port}") }
}

fn metadata(subject: &str) -> Refusal {
    Refusal(format!(
        "Address not allowed: {subject} is a cloud metadata service, which gives away this machine's credentials. No setting opens it to tools: do without it."
    ))
}

fn denied(subject: &str, rule: &HostPattern) -> Refusal {
    Refusal(format!(
        "Address not allowed: {subject} is denied by \"{rule}\" in `deny` under [network] of the user's config.toml. Use another address, or ask the user."
    ))
}

fn not_public(subject: &str, kind: &str, entry: &str) -> Refusal {
    Refusal(format!(
        "Address not allowed: {subject} is {kind}, and tools reach public addresses only. \
         To open it, add \"{entry}\" to `allow` under [network] in the user's config.toml."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allow: &[&str], deny: &[&str]) -> AddressGuard {
        AddressGuard::new(NetworkRules::parse(allow, deny).unwrap())
    }

    fn screened(guard: &AddressGuard, host: &str, port: u16) -> Result<(), String> {
        guard.screen(&Host::parse(host).unwrap(), port).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn nothing_but_public_addresses_passes_by_default() {
        let guard = guard(&[], &[]);
        for host in ["1.1.1.1", "[2606:4700::1111]", "example.org", "localhost.example.org", "[64:ff9b::101:101]"] {
            assert_eq!(screened(&guard, host, 80), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1",
            "0.0.0.0",
            "10.0.0.1",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::a00:1]",
            "[64:ff9b:1::101:101]",
            "[2002:7f00:1::]",
            "[2002:101:101::]",
            "[2001:0:101:101::f5ff:fffe]",
            "[fe80::1]",
            "[fc00::1]",
            "localhost",
            "a.localhost",
        ] {
            let refused = screened(&guard, host, 80).unwrap_err();
            assert!(refused.contains("[network]"), "{host}: {refused}");
        }
    }

    #[test]
    fn a_refusal_names_the_address_and_the_entry_that_would_open_it() {
        let guard = guard(&[], &["ads.example.org", "8.8.0.0/16"]);
        let open = |subject: &str, kind: &str, entry: &str| {
            Err(format!(
                "Address not allowed: {subject} is {kind}, and tools reach public addresses only. \
                 To open it, add \"{entry}\" to `allow` under [network] in the user's config.toml."
            ))
        };
        let deny = |subject: &str, rule: &str| {
            Err(format!(
                "Address not allowed: {subject} is denied by \"{rule}\" in `deny` under [network] of the user's config.toml. Use another address, or ask the user."
            ))
        };
        for (host, expected) in [
            ("127.0.0.1", open("127.0.0.1", "a loopback address", "127.0.0.1:8080")),
            ("[::1]", open("::1", "a loopback address", "[::1]:8080")),
            ("[::ffff:10.0.0.1]", open("[::ffff:a00:1] (10.0.0.1)", "a private address", "10.0.0.1:8080")),
            ("localhost", open("localhost (127.0.0.1)", "a loopback address", "localhost:8080")),
            ("ads.example.org", deny("ads.example.org", "ads.example.org")),
            ("8.8.8.8", deny("8.8.8.8", "8.8.0.0/16")),
            ("[64:ff9b::808:808]", deny("[64:ff9b::808:808] (8.8.8.8)", "8.8.0.0/16")),
        ] {
            assert_eq!(screened(&guard, host, 8080), expected, "{host}");
        }
    }

    #[test]
    fn metadata_services_stay_closed_whatever_is_allowed() {
        let guard = guard(&["0.0.0.0/0", "::/0", "169.254.169.254", "*.google.internal", "metadata", "fd00:ec2::254", "a.example"], &[]);
        for host in [
            "169.254.169.254",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[2002:a9fe:a9fe::1]",
            "169.254.170.2",
            "[fd00:ec2::254]",
            "100.100.100.200",
            "168.63.129.16",
            "metadata.google.internal",
            "metadata",
        ] {
            let refused = screened(&guard, host, 80).unwrap_err();
            assert!(refused.ends_with("No setting opens it to tools: do without it."), "{host}: {refused}");
        }
        let named = guard.check("a.example", "169.254.169.254:80".parse().unwrap()).unwrap_err();
        assert!(named.to_string().starts_with("Address not allowed: a.example (169.254.169.254) is a cloud metadata service"));
        assert_eq!(screened(&guard, "10.0.0.1", 80), Ok(()), "the ranges do open the rest");
    }

    #[test]
    fn allowing_opens_exactly_what_is_written_and_deny_wins() {
        let guard = guard(&["127.0.0.1:8080", "10.1.0.0/16", "*.corp.example", "localhost:3000"], &["10.1.9.0/24", "secret.corp.example"]);
        for (host, address, allowed) in [
            ("127.0.0.1", "127.0.0.1:8080", true),
            ("127.0.0.1", "127.0.0.1:8081", false),
            ("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]:8080", true),
            ("anything.example", "10.1.2.3:443", true),
            ("anything.example", "10.1.9.3:443", false),
            ("a.corp.example", "192.168.7.7:443", true),
            ("a.corp.example", "10.1.9.3:443", false),
            ("secret.corp.example", "1.1.1.1:443", false),
            ("corp.example", "192.168.7.7:443", false),
            ("[2002:a01:203::]", "[2002:a01:203::]:80", false),
        ] {
            assert_eq!(guard.check(host, address.parse().unwrap()).is_ok(), allowed, "{host} {address}");
        }
    }

    #[test]
    fn everything_that_refuses_a_host_is_named_with_what_would_lift_it() {
        let listed = |entry: &str| RefusalCause::Listed { key: "network.deny", entry: entry.into() };
        let missing = |entry: &str| RefusalCause::Missing { key: "network.allow", entry: entry.into() };
        for (allow, deny, host, expected) in [
            (&[][..], &[][..], "127.0.0.1", vec![missing("127.0.0.1:80")]),
            (&[], &["10.0.0.0/8", "10.1.2.3"], "10.1.2.3", vec![listed("10.0.0.0/8"), listed("10.1.2.3"), missing("10.1.2.3:80")]),
            (&["10.1.2.3"], &["10.0.0.0/8"], "10.1.2.3", vec![listed("10.0.0.0/8")]),
            (&[], &["*.example.org"], "a.example.org", vec![listed("*.example.org")]),
            (&[], &["localhost"], "localhost", vec![listed("localhost"), missing("localhost:80")]),
            (&["169.254.169.254"], &[], "169.254.169.254", vec![RefusalCause::Fixed]),
        ] {
            let refuses = guard(allow, deny);
            let host = Host::parse(host).unwrap();
            assert_eq!(refuses.causes(&host, 80), expected, "{host}");
            // What would lift it does.
            let removed: Vec<&str> = deny.iter().copied().filter(|entry| !expected.contains(&listed(entry))).collect();
            let added = expected
                .iter()
                .filter_map(|cause| if let RefusalCause::Missing { entry, .. } = cause { Some(entry.as_str()) } else { None });
            let opened = guard(&allow.iter().copied().chain(added).collect::<Vec<_>>(), &removed);
            assert_eq!(opened.screen(&host, 80).is_ok(), expected != [RefusalCause::Fixed], "{host}");
        }
    }

    #[test]
    fn one_refused_address_refuses_the_name() {
        let guard = guard(&[], &[]);
        let mixed: Vec<SocketAddr> = ["1.1.1.1:80", "10.0.0.1:80"].map(|address| address.parse().unwrap()).into();
        assert!(guard.check_all("mixed.example", &mixed).is_err());
        assert_eq!(guard.check_all("mixed.example", &mixed[..1]), Ok(()));
    }

    #[test]
    fn names_of_this_machine_mean_its_allowed_loopback_addresses() {
        for (allow, expected) in [
            (&["localhost:3000"][..], Some(vec!["127.0.0.1:3000", "[::1]:3000"])),
            (&["127.0.0.1:3000"], Some(vec!["127.0.0.1:3000"])),
            (&["[::1]:3000"], Some(vec!["[::1]:3000"])),
            (&["localhost:3001"], None),
            (&[], None),
        ] {
            let found = guard(allow, &[]).loopback("localhost", 3000).ok();
            let found = found.map(|addresses| addresses.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(found, expected.map(|addresses| addresses.into_iter().map(String::from).collect()), "{allow:?}");
        }
    }
}
