//! Who Haft is for an authorization server: the client that the user names, or one that the server registers.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fetch;
use super::metadata::AuthorizationServer;
use crate::client::settings::{BearerToken, OAuthClient};

/// A longer name of a client is none.
const MAX_ID: usize = 2_048;

/// How a client proves who it is at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuth {
    None,
    Basic,
    Post,
}

/// A client of an authorization server. Holds a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredClient {
    /// The authorization server that knows it; no other is told of it.
    pub(super) issuer: String,
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) auth: ClientAuth,
    /// Where it was registered to send the user back to; `None` if the user registered it.
    pub(super) redirect: Option<String>,
}

haft_contract::opaque_debug!(StoredClient: issuer = issuer, id = id);

impl StoredClient {
    /// What is stored of it: the secret of a client that the user registered stays in their variable.
    pub(super) fn to_store(&self) -> Self {
        let secret = self.redirect.as_ref().and(self.secret.clone());
        Self { secret, ..self.clone() }
    }
}

/// The client that the user has configured, if this authorization server takes it.
pub(super) fn configured(settings: &OAuthClient, server: &AuthorizationServer) -> Option<StoredClient> {
    let id = settings.id.clone()?;
    let is_document = id.starts_with("https://");
    if is_document && !server.takes_client_documents {
        return None;
    }
    let secret = settings.secret.as_ref().filter(|_| !is_document).map(|BearerToken(secret)| secret.clone());
    let auth = auth_method(None, secret.as_deref(), server);
    Some(StoredClient { issuer: server.issuer.clone(), id, secret, auth, redirect: None })
}

/// Registers a client (RFC 7591).
pub(super) async fn register(server: &AuthorizationServer, redirect: &str) -> Result<StoredClient, String> {
    let endpoint = server.registration_endpoint.as_ref().ok_or_else(|| {
        let issuer = haft_text::display::shorten(&server.issuer, 200);
        format!(
            "its authorization server '{issuer}' registers no clients by itself: register Haft there, and set \
             client_id in the server's table"
        )
    })?;
    let methods = server.token_auth_methods.as_deref().unwrap_or_default();
    let is_offered = |method: &&str| methods.iter().any(|offered| offered == method);
    // A program on the user's machine keeps no secret from them, so it is a public client wherever that is possible.
    let method = ["none", "client_secret_post", "client_secret_basic"].into_iter().find(is_offered).unwrap_or("none");
    let request = json!({
        "client_name": "Haft", "redirect_uris": [redirect], "application_type": "native", "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": method,
    });
    let answer = fetch::post_json(endpoint, &request).await?;
    let body = answer.body.unwrap_or_default();
    let text = |key: &str| body[key].as_str().filter(|text| !text.is_empty() && text.len() <= MAX_ID).map(str::to_owned);
    if !answer.status.is_success() {
        return Err(super::token::refusal(
            body["error"].as_str().unwrap_or(answer.status.as_str()),
            body["error_description"].as_str(),
            &[],
        ));
    }
    let id = text("client_id").ok_or("its authorization server registered a client without a name")?;
    let secret = text("client_secret");
    let auth = auth_method(body.get("token_endpoint_auth_method").and_then(Value::as_str), secret.as_deref(), server);
    Ok(StoredClient { issuer: server.issuer.clone(), id, secret, auth, redirect: Some(redirect.to_owned()) })
}

/// How a client with this secret proves itself: as it was registered, else as the server offers.
fn auth_method(registered: Option<&str>, secret: Option<&str>, server: &AuthorizationServer) -> ClientAuth {
    let known = |method: &str| match method {
        "client_secret_basic" => Some(ClientAuth::Basic),
        "client_secret_post" => Some(ClientAuth::Post),
        "none" => Some(ClientAuth::None),
        _ => None,
    };
    if secret.is_none() {
        return ClientAuth::None;
    }
    let offered = || {
        let methods = server.token_auth_methods.as_deref()?;
        let is_offered = |method: &&str| methods.iter().any(|offered| offered == method);
        ["client_secret_basic", "client_secret_post", "none"].into_iter().find(is_offered).and_then(known)
    };
    // A server that does not say takes the header.
    registered.and_then(known).or_else(offered).unwrap_or(ClientAuth::Basic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::oauth::address::AddressRule;

    fn server(methods: Option<&[&str]>) -> AuthorizationServer {
        let rule = AddressRule::for_server(&reqwest::Url::parse("https://a.example").unwrap());
        let mut server = AuthorizationServer::conventional("https://a.example", rule).unwrap();
        server.token_auth_methods = methods.map(|methods| methods.iter().map(|&method| method.to_owned()).collect());
        server
    }

    #[test]
    fn client_proves_itself_as_the_server_offers() {
        let (basic, post) = ("client_secret_basic", "client_secret_post");
        for (registered, secret, offered, expected) in [
            (None, None, None, ClientAuth::None),
            (None, None, Some(&[basic][..]), ClientAuth::None),
            (None, Some("s"), None, ClientAuth::Basic),
            (None, Some("s"), Some(&[post, basic]), ClientAuth::Basic),
            (None, Some("s"), Some(&[post]), ClientAuth::Post),
            (None, Some("s"), Some(&["none"]), ClientAuth::None),
            (None, Some("s"), Some(&["private_key_jwt"]), ClientAuth::Basic),
            (Some(post), Some("s"), Some(&[basic]), ClientAuth::Post),
        ] {
            assert_eq!(auth_method(registered, secret, &server(offered)), expected, "{registered:?} {secret:?} {offered:?}");
        }
    }

    #[test]
    fn configured_document_is_used_only_where_it_is_taken() {
        let settings = |id: &str| OAuthClient { id: Some(id.into()), secret: Some(BearerToken("s".into())), issuer: None };
        let mut server = server(None);
        assert_eq!(configured(&OAuthClient::default(), &server), None);
        assert_eq!(configured(&settings("https://b.example/c.json"), &server), None);
        let client = configured(&settings("id"), &server).unwrap();
        assert!(client.auth == ClientAuth::Basic && client.secret.is_some());
        assert_eq!(client.to_store().secret, None, "the user's secret is not stored");
        let registered = StoredClient { redirect: Some("http://127.0.0.1:1/callback".into()), ..client };
        assert!(registered.to_store().secret.is_some());
        server.takes_client_documents = true;
        let client = configured(&settings("https://b.example/c.json"), &server).unwrap();
        assert!(client.secret.is_none() && client.auth == ClientAuth::None);
    }
}
