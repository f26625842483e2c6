//! Which addresses a sign-in may use.

use std::net::IpAddr;

use reqwest::Url;

/// A longer address is none.
const MAX_ADDRESS: usize = 2_048;

/// Where an address leads.
enum Destination {
    Local,
    Elsewhere,
}

/// Which addresses the metadata of one server may name.
#[derive(Debug, Clone, Copy)]
pub(super) struct AddressRule {
    may_be_local: bool,
}

impl AddressRule {
    /// A server of this machine may name others of this machine. One elsewhere may not: it would let Haft send requests to services that
    /// trust this machine.
    pub(super) fn for_server(server: &Url) -> Self {
        Self { may_be_local: matches!(destination(server), Destination::Local) }
    }

    /// The address, if it may be used; `what` names it in the error.
    pub(super) fn check(self, what: &str, text: &str) -> Result<Url, String> {
        let refused = |why: &str| format!("{what} '{}' is not used: {why}", haft_text::display::shorten(text, 200));
        if text.len() > MAX_ADDRESS {
            return Err(refused("it is too long"));
        }
        let url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(refused("it holds a user name, a password or a fragment"));
        }
        match destination(&url) {
            Destination::Local if !self.may_be_local => Err(refused("it is an address of this machine, and the server is not")),
            Destination::Local if matches!(url.scheme(), "http" | "https") => Ok(url),
            Destination::Elsewhere if url.scheme() == "https" => Ok(url),
            _ => Err(refused("it does not begin with https://")),
        }
    }
}

/// Whether tokens may be sent to this address: encrypted, or on this machine.
pub(crate) fn may_carry_tokens(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && matches!(destination(url), Destination::Local))
}

fn destination(url: &Url) -> Destination {
    let name = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
    let is_local = |address: IpAddr| match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_unspecified(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unspecified(),
    };
    if name == "localhost" || name.ends_with(".localhost") || name.parse().is_ok_and(is_local) {
        Destination::Local
    } else {
        Destination::Elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_names_encrypted_addresses_and_local_ones_only_for_local_servers() {
        let remote = AddressRule::for_server(&Url::parse("https://mcp.example.org/v1").unwrap());
        let local = AddressRule::for_server(&Url::parse("http://localhost:7000/mcp").unwrap());
        for (address, for_remote, for_local) in [
            ("https://auth.example.org/a", true, true),
            ("http://auth.example.org/a", false, false),
            ("http://127.0.0.1:80/a", false, true),
            ("http://127.9.9.9/a", false, true),
            ("https://localhost./a", false, true),
            ("http://[::1]/a", false, true),
            ("http://[::ffff:127.0.0.1]/a", false, true),
            ("http://2130706433/a", false, true),
            ("http://0.0.0.0/a", false, true),
            ("http://x.localhost/a", false, true),
            ("https://user:pass@auth.example.org/", false, false),
            ("https://auth.example.org/#a", false, false),
            ("file:///etc/passwd", false, false),
            ("javascript:alert(1)", false, false),
            ("ftp://localhost/a", false, false),
            ("nonsense", false, false),
        ] {
            assert_eq!(remote.check("it", address).is_ok(), for_remote, "{address} for a remote server");
            assert_eq!(local.check("it", address).is_ok(), for_local, "{address} for a local server");
        }
        assert!(remote.check("it", &format!("https://example.org/{}", "x".repeat(MAX_ADDRESS))).is_err());
    }

    #[test]
    fn tokens_are_not_sent_in_the_clear() {
        for (address, expected) in [
            ("https://example.org", true),
            ("http://example.org", false),
            ("http://localhost:1", true),
            ("http://127.0.0.1.example.org", false),
        ] {
            assert_eq!(may_carry_tokens(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
