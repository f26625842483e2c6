//! The part of a host name that one owner registers: `example.org` of `api.example.org`.
//!
//! Without the list of public suffixes, which changes every week: a country's second level is recognised by its shape, and the
//! services that lend names to everyone by theirs. Where that is wrong, the domain is narrower than it could be.

/// Services under whose domain anyone gets a name.
const SHARED: &[&str] = &[
    "amazonaws.com",
    "appspot.com",
    "azureedge.net",
    "azurewebsites.net",
    "b-cdn.net",
    "blogspot.com",
    "cloudapp.net",
    "cloudfront.net",
    "fastly.net",
    "firebaseapp.com",
    "fly.dev",
    "github.io",
    "gitlab.io",
    "googleapis.com",
    "googleusercontent.com",
    "herokuapp.com",
    "netlify.app",
    "ngrok-free.app",
    "ngrok.app",
    "ngrok.io",
    "onrender.com",
    "pages.dev",
    "r2.dev",
    "readthedocs.io",
    "repl.co",
    "surge.sh",
    "trycloudflare.com",
    "vercel.app",
    "web.app",
    "windows.net",
    "workers.dev",
];

/// The registered domain of a host name; `None` for an address, for a name without one, and below services that lend names.
pub fn registered_domain(host: &str) -> Option<&str> {
    let host = host.trim_end_matches('.');
    let starts: Vec<usize> = std::iter::once(0).chain(host.match_indices('.').map(|(at, _)| at + 1)).collect();
    let label =
        |from_end: usize| starts.len().checked_sub(from_end).map(|index| host[starts[index]..].split('.').next().unwrap_or_default());
    let (top, second) = (label(1)?, label(2)?);
    if top.is_empty() || top.bytes().any(|byte| byte.is_ascii_digit()) && !top.starts_with("xn--") || host.contains(':') {
        return None;
    }
    // `example.co.uk`, not `co.uk`.
    let labels = if top.len() == 2 && second.len() <= 3 { 3 } else { 2 };
    let domain = &host[*starts.get(starts.len().checked_sub(labels)?)?..];
    (!SHARED.contains(&domain)).then_some(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_domain_belongs_to_one_owner() {
        for (host, domain) in [
            ("api.example.org", Some("example.org")),
            ("example.org", Some("example.org")),
            ("a.b.c.example.org.", Some("example.org")),
            ("static.crates.io", Some("crates.io")),
            ("www.example.co.uk", Some("example.co.uk")),
            ("co.uk", None),
            ("a.b.de", Some("a.b.de")),
            ("x.ai", None),
            ("x.a.b.de", Some("a.b.de")),
            ("ann.github.io", None),
            ("github.io", None),
            ("bucket.s3.amazonaws.com", None),
            ("localhost", None),
            ("org", None),
            ("", None),
            ("127.0.0.1", None),
            ("[::1]", None),
            ("::1", None),
            ("a.xn--p1ai", Some("a.xn--p1ai")),
        ] {
            assert_eq!(registered_domain(host), domain, "{host}");
        }
    }
}
