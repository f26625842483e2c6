//! Requests of a sign-in: bounded in time and size, and never redirected.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, StatusCode, Url};
use serde_json::Value;

use crate::client::http::{body, client};

const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Metadata and tokens are small.
const MAX_BODY: usize = 256 * 1024;

/// What was answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// The body, if it is JSON.
    pub(super) body: Option<Value>,
}

/// A secret and its owner, for the header of a request.
pub(super) struct BasicSecret<'a> {
    pub(super) id: &'a str,
    pub(super) secret: &'a str,
}

/// Gets metadata. No token goes with it.
pub(super) async fn get(url: &Url) -> Result<Answer, String> {
    send(url, client(url.scheme() == "https")?.get(url.clone())).await
}

/// Sends JSON.
pub(super) async fn post_json(url: &Url, value: &Value) -> Result<Answer, String> {
    let request = client(url.scheme() == "https")?.post(url.clone());
    send(url, request.header(CONTENT_TYPE, "application/json").body(value.to_string())).await
}

/// Sends a form.
pub(super) async fn post_form(url: &Url, fields: &[(&str, &str)], secret: Option<BasicSecret<'_>>) -> Result<Answer, String> {
    let mut request = client(url.scheme() == "https")?.post(url.clone());
    if let Some(BasicSecret { id, secret }) = secret {
        let pair = format!("{}:{}", form_encoded(id), form_encoded(secret));
        let header = HeaderValue::try_from(format!("Basic {}", haft_text::base64::encode(pair.as_bytes())));
        let mut header = header.map_err(|_| "the client's secret cannot be sent".to_owned())?;
        header.set_sensitive(true);
        request = request.header(AUTHORIZATION, header);
    }
    send(url, request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form(fields))).await
}

async fn send(url: &Url, request: RequestBuilder) -> Result<Answer, String> {
    let host = url.host_str().unwrap_or_default();
    let failed = |error: &reqwest::Error| format!("{host} cannot be reached: {}", haft_contract::causes::innermost(error));
    let response = request.header(ACCEPT, "application/json").timeout(REQUEST_TIME).send().await.map_err(|error| failed(&error))?;
    let status = response.status();
    let bytes = body::whole(response, MAX_BODY).await.map_err(|error| format!("the answer of {host} cannot be read: {error}"))?;
    Ok(Answer { status, body: serde_json::from_slice(&bytes).ok() })
}

/// Pairs as a form has them.
fn form(fields: &[(&str, &str)]) -> String {
    // A URL writes its query exactly as a form is written.
    let Ok(mut url) = Url::parse("http://form") else { return String::new() };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

fn form_encoded(text: &str) -> String {
    form(&[("", text)]).trim_start_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded() {
        assert_eq!(form(&[("a", "b c&d=e"), ("ü", "+")]), "a=b+c%26d%3De&%C3%BC=%2B");
        assert_eq!(form_encoded("a:b c"), "a%3Ab+c");
        assert_eq!(form_encoded("=a"), "%3Da");
    }
}
