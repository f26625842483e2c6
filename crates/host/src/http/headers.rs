//! The caller's headers: what may be sent, and what must not follow to another host.

use haft_contract::ToolError;
use haft_text::secrets::may_name_secret;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::target::shorten;

const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Written by the client itself, or believed by servers about where a request came from.
const RESERVED: &[&str] =
    &["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "forwarded"];
const RESERVED_PREFIXES: &[&str] = &["proxy-", "x-forwarded-"];

/// Describe a body; they go when the body goes.
const BODY_HEADERS: &[&str] = &["content-type", "content-encoding", "content-language", "content-location"];

/// Checks the caller's headers. Line breaks cannot get through: they would start another header or another request.
pub(crate) fn checked(headers: &[(String, String)]) -> Result<HeaderMap, ToolError> {
    let size: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if headers.len() > MAX_HEADERS || size > MAX_HEADER_BYTES {
        return Err(ToolError::validation(format!(
            "Too many headers: {} with {size} bytes. Send at most {MAX_HEADERS} with {MAX_HEADER_BYTES} bytes together.",
            headers.len()
        )));
    }
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        map.append(checked_name(name)?, checked_value(name, value)?);
    }
    Ok(map)
}

fn checked_name(name: &str) -> Result<HeaderName, ToolError> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        ToolError::validation(format!("Invalid header name: '{}'. Use letters, digits and hyphens, as in Content-Type.", shorten(name)))
    })?;
    let plain = parsed.as_str();
    if RESERVED.contains(&plain) || RESERVED_PREFIXES.iter().any(|prefix| plain.starts_with(prefix)) {
        return Err(ToolError::validation(format!(
            "Header '{}' may not be set: the client writes it itself. Leave it out.",
            shorten(name)
        )));
    }
    Ok(parsed)
}

fn checked_value(name: &str, value: &str) -> Result<HeaderValue, ToolError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        ToolError::validation(format!(
            "Invalid value of header '{}': '{}' holds a line break or another control character. Write it on one line.",
            shorten(name),
            shorten(value)
        ))
    })
}

/// Drops what only the first host may see.
pub(crate) fn without_credentials(headers: &HeaderMap) -> HeaderMap {
    filter_headers(headers, |name| !may_name_secret(name))
}

/// Drops what describes a body that is no longer sent.
pub(crate) fn without_body(headers: &HeaderMap) -> HeaderMap {
    filter_headers(headers, |name| !BODY_HEADERS.contains(&name))
}

/// Built anew, because removing from a map changes its order.
fn filter_headers(headers: &HeaderMap, wanted: impl Fn(&str) -> bool) -> HeaderMap {
    let mut rest = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers.iter().filter(|(name, _)| wanted(name.as_str())) {
        rest.append(name, value.clone());
    }
    rest
}

/// Every header as text, in order.
pub(crate) fn to_text(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use haft_contract::ErrorKind;

    use super::*;

    fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
        headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    fn refused(name: &str, value: &str) -> String {
        let error = checked(&pairs(&[(name, value)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ValidationError);
        error.message().into()
    }

    #[test]
    fn headers_keep_order_repeats_and_other_alphabets() {
        let sent = pairs(&[("accept", "a"), ("x-note", "grüße\t!"), ("accept", "b")]);
        let kept = to_text(&checked(&sent).unwrap());
        assert_eq!(kept, pairs(&[("accept", "a"), ("accept", "b"), ("x-note", "grüße\t!")]));
    }

    #[test]
    fn headers_of_the_client_itself_are_refused_by_name() {
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "Connection",
            "Upgrade",
            "TE",
            "Proxy-Authorization",
            "Proxy-Connection",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "Forwarded",
        ] {
            assert_eq!(refused(name, "x"), format!("Header '{name}' may not be set: the client writes it itself. Leave it out."));
        }
    }

    #[test]
    fn line_breaks_cannot_be_smuggled_in() {
        for name in ["A\r\nB", "A B", "A:", "", "A\0", "ü"] {
            assert_eq!(
                refused(name, "x"),
                format!("Invalid header name: '{}'. Use letters, digits and hyphens, as in Content-Type.", shorten(name))
            );
        }
        for (value, seen) in [("a\r\nHost: b", "a\\r\\nHost: b"), ("a\nb", "a\\nb"), ("a\0b", "a\\u{0}b"), ("\u{7f}", "\\u{7f}")] {
            assert_eq!(
                refused("X-A", value),
                format!("Invalid value of header 'X-A': '{seen}' holds a line break or another control character. Write it on one line.")
            );
        }
    }

    #[test]
    fn the_amount_is_bounded() {
        let many: Vec<_> = (0..101).map(|number| (format!("x-{number}"), String::new())).collect();
        assert_eq!(
            checked(&many).unwrap_err().message(),
            "Too many headers: 101 with 395 bytes. Send at most 100 with 65536 bytes together."
        );
        assert!(checked(&[("x".into(), "a".repeat(65_536))]).is_err());
    }

    #[test]
    fn credentials_and_body_headers_can_be_dropped() {
        let all = [
            ("authorization", "1"),
            ("cookie", "1"),
            ("x-api-key", "1"),
            ("private-token", "1"),
            ("x-amz-security-token", "1"),
            ("x-session-id", "1"),
            ("content-type", "1"),
            ("content-encoding", "1"),
            ("accept", "1"),
        ];
        let map = checked(&pairs(&all)).unwrap();
        assert_eq!(to_text(&without_credentials(&map)), pairs(&all[6..]));
        assert_eq!(to_text(&without_body(&without_credentials(&map))), pairs(&all[8..]));
    }
}
