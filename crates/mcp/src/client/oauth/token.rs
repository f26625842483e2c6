//! Requests to the token endpoint, and what it answers.

use reqwest::Url;
use serde_json::Value;

use super::fetch::{self, Answer, BasicSecret};
use super::registration::{ClientAuth, StoredClient};
use super::store::now;

/// A longer token does not fit into a header.
const MAX_TOKEN: usize = 16 * 1024;

/// What the endpoint gave.
pub(super) struct IssuedTokens {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// The rights that were granted, if it says so.
    pub(super) scopes: Option<Vec<String>>,
}

haft_contract::opaque_debug!(IssuedTokens: scopes = scopes);

/// Why there are no tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenFault {
    /// The grant is not valid any more.
    Ended(String),
    /// Anything else.
    Failed(String),
}

impl TokenFault {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Ended(why) | Self::Failed(why) => why,
        }
    }
}

/// Asks for tokens with this grant.
pub(super) async fn request(endpoint: &Url, client: &StoredClient, grant: &[(&str, &str)]) -> Result<IssuedTokens, TokenFault> {
    let mut fields = grant.to_vec();
    let mut basic = None;
    match (client.auth, client.secret.as_deref()) {
        (ClientAuth::Basic, Some(secret)) => basic = Some(BasicSecret { id: &client.id, secret }),
        (ClientAuth::Post, Some(secret)) => fields.extend([("client_id", client.id.as_str()), ("client_secret", secret)]),
        _ => fields.push(("client_id", &client.id)),
    }
    let answer = fetch::post_form(endpoint, &fields, basic).await.map_err(TokenFault::Failed)?;
    let secrets: Vec<&str> = fields.iter().filter(|(name, _)| !PUBLIC.contains(name)).map(|(_, value)| *value).collect();
    issued(&answer, &secrets)
}

/// Fields that may be shown.
const PUBLIC: &[&str] = &["grant_type", "client_id", "redirect_uri", "resource", "scope"];

fn issued(answer: &Answer, secrets: &[&str]) -> Result<IssuedTokens, TokenFault> {
    let empty = Value::Null;
    let body = answer.body.as_ref().unwrap_or(&empty);
    let text = |key: &str| body[key].as_str();
    if !answer.status.is_success() {
        let why = refusal(text("error").unwrap_or(answer.status.as_str()), text("error_description"), secrets);
        return Err(if text("error") == Some("invalid_grant") { TokenFault::Ended(why) } else { TokenFault::Failed(why) });
    }
    let failed = |why: &str| TokenFault::Failed(format!("the answer of the token endpoint cannot be used: {why}"));
    if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(failed("it is not a bearer token"));
    }
    let is_token = |token: &&str| !token.is_empty() && token.len() <= MAX_TOKEN && token.bytes().all(|byte| byte.is_ascii_graphic());
    let lifetime = match &body["expires_in"] {
        Value::String(seconds) => seconds.parse().ok(),
        other => other.as_u64(),
    };
    Ok(IssuedTokens {
        access_token: text("access_token").filter(is_token).ok_or_else(|| failed("it holds no token"))?.to_owned(),
        refresh_token: text("refresh_token").filter(is_token).map(str::to_owned),
        expires_at: lifetime.map(|seconds| now().saturating_add(seconds)),
        scopes: text("scope").map(super::challenge::scopes),
    })
}

/// What an authorization server says when it refuses, without the secrets that it may repeat.
pub(super) fn refusal(code: &str, description: Option<&str>, secrets: &[&str]) -> String {
    let clean = |text: &str| {
        let text = secrets.iter().filter(|secret| !secret.is_empty()).fold(text.to_owned(), |text, secret| text.replace(secret, "…"));
        haft_text::display::shorten(&text, 200).into_owned()
    };
    let description = description.map(|text| format!(" ({})", clean(text))).unwrap_or_default();
    format!("the authorization server refused: {}{description}", clean(code))
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use serde_json::json;

    use super::*;

    fn read(status: StatusCode, body: Value) -> Result<IssuedTokens, TokenFault> {
        issued(&Answer { status, body: Some(body) }, &["s3cret"])
    }

    #[test]
    fn answers_are_read_or_refused_without_secrets() {
        let good = read(StatusCode::OK, json!({"access_token": "a", "token_type": "bearer", "expires_in": "60", "scope": "x y"})).unwrap();
        assert!(good.expires_at.is_some_and(|end| end >= now() + 50) && good.scopes.unwrap().len() == 2 && good.refresh_token.is_none());
        for (body, fault) in [
            (json!({"access_token": "a", "token_type": "DPoP"}), "bearer"),
            (json!({"access_token": "a\r\nx: y", "token_type": "Bearer"}), "no token"),
            (json!({"access_token": "", "token_type": "Bearer"}), "no token"),
            (json!({"access_token": "a".repeat(MAX_TOKEN + 1), "token_type": "Bearer"}), "no token"),
            (json!("text"), "bearer"),
        ] {
            let refused = read(StatusCode::OK, body.clone());
            assert!(matches!(&refused, Err(TokenFault::Failed(why)) if why.contains(fault)), "{body}: {refused:?}");
        }
        let body = json!({"error": "invalid_grant", "error_description": "the code s3cret\u{1b}[0m is used"});
        let Err(TokenFault::Ended(why)) = read(StatusCode::BAD_REQUEST, body) else { panic!("it must end the grant") };
        assert!(why.contains("invalid_grant") && !why.contains("s3cret") && !why.contains('\u{1b}'), "{why}");
    }
}
