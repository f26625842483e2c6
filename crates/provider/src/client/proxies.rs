//! Proxies from the environment variables of curl.

use std::fmt;

use reqwest::{ClientBuilder, NoProxy, Proxy, Url};

use crate::{ProviderError, ProviderErrorKind};

/// Proxies for requests. Requests to this machine use none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    exceptions: String,
}

impl Proxies {
    /// From `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, each also in capitals.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ProviderError> {
        let all = proxy(&lookup, "all_proxy")?;
        Ok(Self {
            http: proxy(&lookup, "http_proxy")?.or_else(|| all.clone()),
            https: proxy(&lookup, "https_proxy")?.or(all),
            exceptions: value(&lookup, "no_proxy").map_or_else(String::new, |(_, exceptions)| exceptions),
        })
    }

    /// Whether there is no proxy.
    pub fn is_empty(&self) -> bool {
        self.http.is_none() && self.https.is_none()
    }

    pub(super) fn apply(&self, builder: ClientBuilder) -> reqwest::Result<ClientBuilder> {
        let exceptions = || NoProxy::from_string(&self.exceptions);
        // Otherwise the library reads the environment itself.
        let mut builder = builder.no_proxy();
        if let Some(url) = &self.http {
            builder = builder.proxy(Proxy::http(url.clone())?.no_proxy(exceptions()));
        }
        if let Some(url) = &self.https {
            builder = builder.proxy(Proxy::https(url.clone())?.no_proxy(exceptions()));
        }
        Ok(builder)
    }
}

impl fmt::Debug for Proxies {
    /// Omits user names and passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = |url: &Option<Url>| url.as_ref().and_then(Url::host_str).unwrap_or("none").to_owned();
        write!(f, "Proxies {{ http: {}, https: {}, exceptions: {:?} }}", host(&self.http), host(&self.https), self.exceptions)
    }
}

fn proxy(lookup: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<Url>, ProviderError> {
    let Some((name, value)) = value(lookup, name) else { return Ok(None) };
    let text = if value.contains("://") { value } else { format!("http://{value}") };
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    // The value may contain a password, so it is not displayed.
    let message = || format!("{name} is not a usable proxy. Write it as http://proxy.example.com:3128 (SOCKS is not supported).");
    url.map(Some).ok_or_else(|| ProviderError::new(ProviderErrorKind::Network, message()))
}

/// The variable and its value; lower case first, like curl.
fn value(lookup: &impl Fn(&str) -> Option<String>, name: &str) -> Option<(String, String)> {
    [name.to_owned(), name.to_ascii_uppercase()].into_iter().find_map(|name| {
        let value = lookup(&name)?.trim().to_owned();
        (!value.is_empty()).then_some((name, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(environment: &[(&str, &str)]) -> Result<String, String> {
        let lookup = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let proxies = Proxies::from_env(lookup).map_err(|error| error.message)?;
        let display = |url: Option<Url>| url.map_or_else(|| "-".to_owned(), String::from);
        Ok(format!("{} {} {}", display(proxies.http), display(proxies.https), proxies.exceptions))
    }

    #[test]
    fn proxy_variables_are_read() {
        for (environment, expected) in [
            (&[][..], "- - "),
            (&[("http_proxy", "http://a:1")], "http://a:1/ - "),
            (&[("HTTPS_PROXY", "b:2")], "- http://b:2/ "),
            (&[("https_proxy", "https://b")], "- https://b/ "),
            (&[("ALL_PROXY", "http://c"), ("HTTP_PROXY", "http://a"), ("NO_PROXY", "x, y")], "http://a/ http://c/ x, y"),
            (&[("HTTPS_PROXY", "http://upper"), ("https_proxy", "http://lower")], "- http://lower/ "),
            (&[("HTTPS_PROXY", "http://upper"), ("https_proxy", " ")], "- http://upper/ "),
        ] {
            assert_eq!(read(environment).as_deref(), Ok(expected), "{environment:?}");
        }
    }

    #[test]
    fn invalid_proxy_error_hides_the_password() {
        for (name, value) in [("HTTPS_PROXY", "socks5://me:s3cret@p"), ("http_proxy", "http://me:s3cret@"), ("all_proxy", "://")] {
            let expected = "is not a usable proxy. Write it as http://proxy.example.com:3128 (SOCKS is not supported).";
            assert_eq!(read(&[(name, value)]), Err(format!("{name} {expected}")));
        }
        let proxies = Proxies::from_env(|name| (name == "all_proxy").then(|| "http://me:s3cret@p:1".to_owned())).unwrap();
        assert_eq!(format!("{proxies:?}"), "Proxies { http: p, https: p, exceptions: \"\" }");
    }
}
