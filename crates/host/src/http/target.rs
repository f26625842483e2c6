//! A URL, parsed once and for all: what is checked here is what is connected to.

use haft_contract::{Connect, ToolError};
use haft_text::display;
use url::{Host, Url};

/// Methods that tools may use. CONNECT and TRACE are not among them: they speak to proxies.
pub(crate) const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const MAX_URL_BYTES: usize = 8 * 1024;
const SHOWN_CHARACTERS: usize = 200;
const HOW_TO_WRITE: &str = "Write an absolute address such as https://example.org/page";

/// Where a request goes, and the URL in the one form that is sent.
#[derive(Debug, Clone)]
pub(crate) struct RequestTarget {
    pub(crate) url: Url,
    pub(crate) host: Host<String>,
    pub(crate) connect: Connect,
}

impl RequestTarget {
    /// Parses a URL. Whether it may be reached is the guard's question.
    pub(crate) fn parse(method: &str, text: &str) -> Result<Self, ToolError> {
        let method = known_method(method)?;
        check_text(text)?;
        let mut url = Url::parse(text).map_err(|error| invalid(text, &format!("{HOW_TO_WRITE} ({error})")))?;
        check_parts(&url, text)?;
        let host = canonical_host(&mut url, text)?;
        let port = url.port_or_known_default().filter(|port| *port > 0).ok_or_else(|| invalid(text, "A port is from 1 to 65535"))?;
        let connect = Connect::new(url.scheme(), host.to_string(), port, method);
        Ok(Self { url, host, connect })
    }
    /// Whether two targets share scheme, host and port.
    pub(crate) fn same_origin(&self, other: &Self) -> bool {
        let origin = |target: &Self| (target.connect.scheme.clone(), target.connect.host.clone(), target.connect.port);
        origin(self) == origin(other)
    }
    /// The URL as people and models see it.
    pub(crate) fn display_url(&self) -> String {
        shorten(self.url.as_str())
    }
}

fn known_method(method: &str) -> Result<&'static str, ToolError> {
    METHODS.iter().copied().find(|known| *known == method).ok_or_else(|| {
        ToolError::validation(format!("Unsupported HTTP method: {}. Use one of {}, in upper case.", shorten(method), METHODS.join(", ")))
    })
}

/// The parser would repair these silently; what another reader makes of them differs, so they are refused instead.
fn check_text(text: &str) -> Result<(), ToolError> {
    if text.len() > MAX_URL_BYTES {
        return Err(invalid(text, &format!("It is {} bytes long; at most {MAX_URL_BYTES} are sent", text.len())));
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(invalid(text, "It holds a space or a control character; write it as %20 or %0A, or leave it out"));
    }
    if text.contains('\\') {
        return Err(invalid(text, "It holds a backslash; write / or %5C"));
    }
    Ok(())
}

fn check_parts(url: &Url, text: &str) -> Result<(), ToolError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid(text, &format!("'{}' is not supported, only http and https are", url.scheme())));
    }
    // The parser drops empty ones; what another reader makes of them differs.
    if !url.username().is_empty() || url.password().is_some() || authority(text).contains('@') {
        return Err(invalid(text, "It holds a user name or password; leave them out, and send an Authorization header if one is needed"));
    }
    Ok(())
}

/// What stands where host and port do, as written.
fn authority(text: &str) -> &str {
    let rest = text.split_once("//").map_or(text, |(_, rest)| rest).trim_start_matches('/');
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The host without its trailing dot, also in the URL itself, so that name, certificate and rules agree.
fn canonical_host(url: &mut Url, text: &str) -> Result<Host<String>, ToolError> {
    url.set_fragment(None);
    let host = url.host().map(|host| host.to_owned()).ok_or_else(|| invalid(text, HOW_TO_WRITE))?;
    let Host::Domain(name) = &host else { return Ok(host) };
    let plain = name.strip_suffix('.').unwrap_or(name);
    if plain.split('.').any(str::is_empty) {
        return Err(invalid(text, "Its host has an empty label: write one dot between labels"));
    }
    url.set_host(Some(plain)).map_err(|error| invalid(text, &error.to_string()))?;
    Ok(Host::Domain(plain.to_owned()))
}

fn invalid(text: &str, hint: &str) -> ToolError {
    ToolError::validation(format!("Invalid URL: {}. {hint}.", shorten(text)))
}

/// Text from outside, as it is shown in messages.
pub(crate) fn shorten(text: &str) -> String {
    display::shorten(text, SHOWN_CHARACTERS).into_owned()
}

#[cfg(test)]
mod tests {
    use haft_contract::ErrorKind;

    use super::*;

    #[test]
    fn every_spelling_of_a_host_becomes_one() {
        for (url, scheme, host, port) in [
            ("http://127.0.0.1/", "http", "127.0.0.1", 80),
            ("http://127.0.0.1./", "http", "127.0.0.1", 80),
            ("http://127.1/", "http", "127.0.0.1", 80),
            ("http://127.0.1/", "http", "127.0.0.1", 80),
            ("http://2130706433/", "http", "127.0.0.1", 80),
            ("http://0x7f000001/", "http", "127.0.0.1", 80),
            ("http://0x7f.1/", "http", "127.0.0.1", 80),
            ("http://0X7F.0x0.0x0.0x1/", "http", "127.0.0.1", 80),
            ("http://0177.0.0.1/", "http", "127.0.0.1", 80),
            ("http://017700000001/", "http", "127.0.0.1", 80),
            ("http://%31%32%37.0.0.1/", "http", "127.0.0.1", 80),
            ("http://127%2e0%2e0%2e1/", "http", "127.0.0.1", 80),
            ("http://127。0。0。1/", "http", "127.0.0.1", 80),
            ("http://①②⑦.⓪.⓪.①/", "http", "127.0.0.1", 80),
            ("http://0/", "http", "0.0.0.0", 80),
            ("http://0.0.0.0:81/", "http", "0.0.0.0", 81),
            ("http://[::1]/", "http", "[::1]", 80),
            ("http://[0:0:0:0:0:0:0:1]/", "http", "[::1]", 80),
            ("http://[::ffff:127.0.0.1]/", "http", "[::ffff:7f00:1]", 80),
            ("http://LOCALHOST/", "http", "localhost", 80),
            ("http://localhost./", "http", "localhost", 80),
            ("http://ⓛocalhost/", "http", "localhost", 80),
            ("HTTPS://Example.ORG./a?b#c", "https", "example.org", 443),
            ("https://bücher.example/", "https", "xn--bcher-kva.example", 443),
            ("https://аpple.example/", "https", "xn--pple-43d.example", 443),
            ("http://evil.example#allowed.example", "http", "evil.example", 80),
            ("http://evil.example?@allowed.example", "http", "evil.example", 80),
            ("http:example.org", "http", "example.org", 80),
            ("https://example.org:443/", "https", "example.org", 443),
            ("https://example.org:8443/", "https", "example.org", 8443),
        ] {
            let target = RequestTarget::parse("GET", url).unwrap();
            assert_eq!(target.connect, Connect::new(scheme, host, port, "GET"), "{url}");
            assert_eq!(target.url.host_str(), Some(host), "{url}: what is sent is what was checked");
            assert_eq!(target.url.fragment(), None, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_advice() {
        let long = format!("http://example.org/{}", "a".repeat(MAX_URL_BYTES));
        let clipped = format!("http://example.org/{}…", "a".repeat(SHOWN_CHARACTERS - 19));
        let credentials = "It holds a user name or password; leave them out, and send an Authorization header if one is needed";
        let space = "It holds a space or a control character; write it as %20 or %0A, or leave it out";
        for (url, shown, advice) in [
            ("", "", "Write an absolute address such as https://example.org/page (relative URL without a base)"),
            ("nonsense", "nonsense", "Write an absolute address such as https://example.org/page (relative URL without a base)"),
            ("http://", "http://", "Write an absolute address such as https://example.org/page (empty host)"),
            ("http://./", "http://./", "Its host has an empty label: write one dot between labels"),
            ("http://a..b/", "http://a..b/", "Its host has an empty label: write one dot between labels"),
            ("file:///etc/passwd", "file:///etc/passwd", "'file' is not supported, only http and https are"),
            ("gopher://a/", "gopher://a/", "'gopher' is not supported, only http and https are"),
            ("javascript:alert(1)", "javascript:alert(1)", "'javascript' is not supported, only http and https are"),
            ("http://user@example.org/", "http://user@example.org/", credentials),
            ("http://:pw@example.org/", "http://:pw@example.org/", credentials),
            ("http://allowed.example@evil.example/", "http://allowed.example@evil.example/", credentials),
            (" http://example.org/", " http://example.org/", space),
            ("http://exa mple.org/", "http://exa mple.org/", space),
            ("http://example.org/\n", "http://example.org/\\n", space),
            ("http://example\t.org/", "http://example\\t.org/", space),
            ("http://example.org\0.evil/", "http://example.org\\u{0}.evil/", space),
            ("http://example.org/\r\nX: y", "http://example.org/\\r\\nX: y", space),
            ("http://example.org\u{a0}/", "http://example.org\\u{a0}/", space),
            ("http://evil.example\\@allowed.example/", "http://evil.example\\@allowed.example/", "It holds a backslash; write / or %5C"),
            ("http:\\\\example.org", "http:\\\\example.org", "It holds a backslash; write / or %5C"),
            ("http://example.org:0/", "http://example.org:0/", "A port is from 1 to 65535"),
            (&long, &clipped, "It is 8211 bytes long; at most 8192 are sent"),
        ] {
            let error = RequestTarget::parse("GET", url).unwrap_err();
            assert_eq!(
                (error.kind(), error.message()),
                (ErrorKind::ValidationError, &*format!("Invalid URL: {shown}. {advice}.")),
                "{url}"
            );
        }
        for url in ["http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://example.org:99999/", "http://256.1.1.1/", "http://a%00b/"]
        {
            let error = RequestTarget::parse("GET", url).unwrap_err();
            assert!(error.message().starts_with(&format!("Invalid URL: {url}. {HOW_TO_WRITE} (")), "{error}");
        }
    }

    #[test]
    fn methods_are_known_and_in_upper_case() {
        for method in METHODS {
            assert_eq!(RequestTarget::parse(method, "http://a.example/").unwrap().connect.method, *method);
        }
        for method in ["get", "CONNECT", "TRACE", "", "GET ", "G\r\nX"] {
            let error = RequestTarget::parse(method, "http://a.example/").unwrap_err();
            let expected = format!(
                "Unsupported HTTP method: {}. Use one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, in upper case.",
                shorten(method)
            );
            assert_eq!((error.kind(), error.message()), (ErrorKind::ValidationError, &*expected));
        }
    }
}
