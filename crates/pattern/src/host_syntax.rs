//! The syntax of hosts, as browsers read it: `127.1` and `0x7f000001` are addresses, names are in lower case.

use std::net::IpAddr;
#[cfg(any(test, not(feature = "idna")))]
use std::net::Ipv4Addr;

/// A host in its canonical form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedHost {
    Name(String),
    Address(IpAddr),
}

/// Reads a host that is not written as an ordinary address. The error says what is wrong with it.
#[cfg(feature = "idna")]
pub(crate) fn parse_name(host: &str) -> Result<ParsedHost, String> {
    match url::Host::parse(host) {
        Ok(url::Host::Domain(name)) => Ok(ParsedHost::Name(name)),
        Ok(url::Host::Ipv4(address)) => Ok(ParsedHost::Address(address.into())),
        Ok(url::Host::Ipv6(address)) => Ok(ParsedHost::Address(address.into())),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads a host that is not written as an ordinary address. The error says what is wrong with it.
#[cfg(not(feature = "idna"))]
pub(crate) fn parse_name(host: &str) -> Result<ParsedHost, String> {
    parse_ascii(host)
}

/// As [`parse_name`], for hosts that are ASCII.
#[cfg(any(test, not(feature = "idna")))]
fn parse_ascii(host: &str) -> Result<ParsedHost, String> {
    if !host.is_ascii() {
        return Err("it is not ASCII: write it as xn--…".into());
    }
    if host.is_empty() || host.bytes().any(|byte| byte.is_ascii_control() || b" #%/:<>?@[\\]^|".contains(&byte)) {
        return Err("it has characters that no host has".into());
    }
    let name = host.to_ascii_lowercase();
    if !is_numeric(name.rsplit('.').next().unwrap_or_default()) {
        return Ok(ParsedHost::Name(name));
    }
    ipv4(&name).map(|address| ParsedHost::Address(address.into())).ok_or_else(|| "invalid IPv4 address".into())
}

/// Whether a last label makes its host an address.
#[cfg(any(test, not(feature = "idna")))]
fn is_numeric(label: &str) -> bool {
    let is_digits = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    is_digits || label.starts_with("0x") && number(label).is_some()
}

/// One to four numbers; the last one fills what is left of the address.
#[cfg(any(test, not(feature = "idna")))]
fn ipv4(host: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if numbers.len() > 4 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let rest = 8 * (4 - first.len());
    if *last >> rest != 0 {
        return None;
    }
    let high = first.iter().enumerate().fold(0_u64, |sum, (index, part)| sum | part << (24 - 8 * index));
    u32::try_from(high | last).ok().map(Ipv4Addr::from)
}

/// A decimal, octal (`017`) or hexadecimal (`0xf`) number.
#[cfg(any(test, not(feature = "idna")))]
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some("") => return Some(0),
        Some(hex) => (hex, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_hosts_are_read_as_browsers_read_them() {
        let address = |text: &str| Ok(ParsedHost::Address(text.parse().unwrap()));
        let name = |text: &str| Ok(ParsedHost::Name(text.to_owned()));
        let no_address = || Err("invalid IPv4 address".to_owned());
        let bad = || Err("it has characters that no host has".to_owned());
        for (text, expected) in [
            ("Example.ORG", name("example.org")),
            ("my_host", name("my_host")),
            ("xn--bcher-kva.example", name("xn--bcher-kva.example")),
            ("127.1", address("127.0.0.1")),
            ("0x7f.1", address("127.0.0.1")),
            ("0x7F000001", address("127.0.0.1")),
            ("2130706433", address("127.0.0.1")),
            ("0177.0.0.1", address("127.0.0.1")),
            ("1.2.3.4", address("1.2.3.4")),
            ("a.1", no_address()),
            ("1.2.3.256", no_address()),
            ("1.2.3.4.5", no_address()),
            ("4294967296", no_address()),
            ("08.1", no_address()),
            ("a%b", bad()),
            ("a b", bad()),
            ("", bad()),
            ("a/b", bad()),
            ("bücher.example", Err("it is not ASCII: write it as xn--…".to_owned())),
        ] {
            assert_eq!(parse_ascii(text), expected, "{text}");
            // The two readers agree on what is ASCII, but for the words of a refusal.
            #[cfg(feature = "idna")]
            assert_eq!(parse_name(text).ok(), if text.is_ascii() { expected.ok() } else { parse_name(text).ok() }, "{text}");
        }
    }
}
