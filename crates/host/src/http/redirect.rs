//! One hop of a request, and where a redirect leads from it.

use bytes::Bytes;
use haft_contract::{ErrorKind, ToolError};
use reqwest::header::HeaderMap;

use super::headers::{without_body, without_credentials};
use super::target::{RequestTarget, shorten};

/// A request to one place.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    pub(crate) target: RequestTarget,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

/// Whether a status asks to go elsewhere.
pub(crate) const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

impl Hop {
    /// The hop that this answer asks for. Whether it may be taken is checked after.
    pub(crate) fn follow(self, status: u16, location: &str) -> Result<Self, ToolError> {
        let from = self.target.display_url();
        let keeps_method = keeps_method(status, &self.target.connect.method);
        let method = if keeps_method { self.target.connect.method.as_str() } else { "GET" };
        let url = self.target.url.join(location).map_err(|error| refused(&from, location, &error.to_string()))?;
        let target = RequestTarget::parse(method, url.as_str()).map_err(|error| refused(&from, location, error.message()))?;
        if self.target.connect.scheme == "https" && target.connect.scheme == "http" {
            return Err(refused(&from, location, "It would drop encryption. Request that address itself if this is meant"));
        }
        let headers = if target.same_origin(&self.target) { self.headers } else { without_credentials(&self.headers) };
        Ok(if keeps_method {
            Self { target, headers, body: self.body }
        } else {
            Self { target, headers: without_body(&headers), body: None }
        })
    }
}

/// Browsers turn a redirected POST into a GET, and servers count on it; 307 and 308 exist to say otherwise.
fn keeps_method(status: u16, method: &str) -> bool {
    match status {
        303 => matches!(method, "GET" | "HEAD"),
        301 | 302 => method != "POST",
        _ => true,
    }
}

fn refused(from: &str, location: &str, why: &str) -> ToolError {
    let why = why.strip_suffix('.').unwrap_or(why);
    ToolError::new(ErrorKind::NetworkError, format!("Redirect refused: {from} leads to {}. {why}.", shorten(location)))
}

/// Behind a redirect, an error names it: the address is none that was asked for.
pub(crate) fn led_there(error: ToolError, trail: &[String], to: &RequestTarget) -> ToolError {
    let Some(from) = trail.last() else { return error };
    let message = error.message().trim_end_matches('.');
    let message = format!("{message}. A redirect led there: from {} to {}.", shorten(from), to.display_url());
    error.with_message(message)
}

/// The error for more redirects than the request allows.
pub(crate) fn too_many(limit: u8, last: &RequestTarget) -> ToolError {
    let last = last.display_url();
    ToolError::new(
        ErrorKind::NetworkError,
        format!("Too many redirects: stopped after {limit}, at {last}. The site may lead in circles; request the final address itself."),
    )
}

#[cfg(test)]
mod tests {
    use super::super::headers::{checked, to_text};
    use super::*;

    fn hop(method: &str, url: &str) -> Hop {
        let headers = [("authorization", "s"), ("content-type", "t"), ("accept", "a")].map(|(name, value)| (name.into(), value.into()));
        Hop {
            target: RequestTarget::parse(method, url).unwrap(),
            headers: checked(&headers).unwrap(),
            body: Some(Bytes::from_static(b"body")),
        }
    }

    fn names(hop: &Hop) -> Vec<String> {
        to_text(&hop.headers).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn method_and_body_follow_the_status() {
        for (status, method, next, keeps_body) in [
            (301, "POST", "GET", false),
            (302, "POST", "GET", false),
            (303, "POST", "GET", false),
            (303, "PUT", "GET", false),
            (303, "HEAD", "HEAD", true),
            (301, "PUT", "PUT", true),
            (302, "DELETE", "DELETE", true),
            (307, "POST", "POST", true),
            (308, "PATCH", "PATCH", true),
            (302, "GET", "GET", true),
        ] {
            let next_hop = hop(method, "http://a.example/x").follow(status, "/y").unwrap();
            assert_eq!(next_hop.target.connect.method, next, "{status} {method}");
            assert_eq!(next_hop.body.is_some(), keeps_body, "{status} {method}");
            let expected: &[&str] = if keeps_body { &["authorization", "content-type", "accept"] } else { &["authorization", "accept"] };
            assert_eq!(names(&next_hop), expected, "{status} {method}");
        }
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        for (location, keeps) in [
            ("/other", true),
            ("https://a.example/other", true),
            ("https://A.EXAMPLE.:443/other", true),
            ("//a.example/other", true),
            ("https://a.example:8443/", false),
            ("https://b.example/", false),
            ("https://sub.a.example/", false),
        ] {
            let next = hop("GET", "https://a.example/x").follow(302, location).unwrap();
            assert_eq!(names(&next).contains(&"authorization".to_owned()), keeps, "{location}");
        }
        let upgraded = hop("GET", "http://a.example/").follow(301, "https://a.example/").unwrap();
        assert!(!names(&upgraded).contains(&"authorization".to_owned()));
    }

    #[test]
    fn redirects_that_cannot_be_followed_say_why() {
        for (location, why) in [
            ("http://a.example/", "It would drop encryption. Request that address itself if this is meant."),
            ("file:///etc/passwd", "Invalid URL: file:///etc/passwd. 'file' is not supported, only http and https are."),
            ("gopher://b.example/", "Invalid URL: gopher://b.example/. 'gopher' is not supported, only http and https are."),
            ("data:text/plain,x", "Invalid URL: data:text/plain,x. 'data' is not supported, only http and https are."),
            (
                "https://u:p@b.example/",
                "Invalid URL: https://u:p@b.example/. It holds a user name or password; leave them out, and send an Authorization header \
                 if one is needed.",
            ),
            ("https://", "empty host."),
        ] {
            let error = hop("GET", "https://a.example/x").follow(302, location).unwrap_err();
            let expected = format!("Redirect refused: https://a.example/x leads to {location}. {why}");
            assert_eq!((error.kind(), error.message()), (ErrorKind::NetworkError, &*expected));
        }
    }
}
