//! Whom `curl` and `wget` talk to.

use super::wrote;
use crate::analysis::{Command, Nature};
use crate::builder::AnalysisBuilder;
use crate::options::OptionScan;
use crate::reason::{Concern, cut};
use crate::word::Word;

pub(super) fn evaluate(name: &str, scan: &OptionScan, command: &mut Command, found: &mut AnalysisBuilder) {
    let named = scan.given.iter().filter(|given| given.name == "--url").filter_map(|given| given.value.as_ref());
    for address in scan.operands.iter().chain(named) {
        if let Some(host) = address.as_literal().and_then(host) {
            found.host(host);
        } else {
            let message = format!("whom '{}' leads to is not known; write the whole address, as https://host/path", cut(address.text()));
            found.unknown(Concern::Network, message);
        }
    }
    if command.nature == Nature::Ordinary {
        found.unknown(Concern::Network, format!("'{name}' has options that are not known here, so whom it talks to is not, either"));
    }
    // It names the file after the address.
    if name == "wget" && !scan.has(&["-O", "--output-document", "--spider"]) {
        wrote(&Word::literal("."), command, found);
    }
}

/// The file that is sent, if the value of such an option names one.
pub(super) fn body(option: &str, value: &str) -> Option<Word> {
    let path = match option {
        "-F" | "--form" => value.split_once(['@', '<']).map(|(_, path)| path.split(';').next().unwrap_or(path)),
        "--data-urlencode" => value.split_once('@').map(|(_, path)| path),
        "-b" | "--cookie" => (!value.contains('=')).then_some(value),
        _ => value.strip_prefix('@'),
    };
    path.filter(|path| !path.is_empty() && *path != "-").map(Word::literal)
}

/// The host of an address, in lower case. Nothing where programs could read it in different ways.
fn host(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https" | "ftp" | "ftps") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // curl makes several addresses of braces and brackets.
    if address.contains(['{', '}', '[', ']', '\\', ' ']) || authority.contains(['@', '%']) {
        return None;
    }
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let plain = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
    (plain && port.bytes().all(|byte| byte.is_ascii_digit())).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn a_host_is_read_in_one_way_or_not_at_all() {
        let table = [
            ("https://Example.org/a?b#c", Some("example.org")),
            ("example.org", Some("example.org")),
            ("http://example.org:8080/x", Some("example.org")),
            ("http://good@evil/", None),
            ("http://a\\@b/", None),
            ("http://{a,b}/", None),
            ("http://%61/", None),
            ("http://a:x/", None),
            ("file:///etc/passwd", None),
            ("gopher://a/", None),
            ("", None),
        ];
        for (address, wanted) in table {
            assert_eq!(host(address).as_deref(), wanted, "{address}");
        }
    }
}
