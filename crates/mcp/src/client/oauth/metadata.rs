//! What a server and its authorization server publish of themselves.

use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::address::AddressRule;

/// The metadata of a server (RFC 9728).
#[derive(Debug, Default, Deserialize)]
pub(super) struct ResourceMetadata {
    #[serde(default)]
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
}

/// An authorization server whose addresses have been checked.
#[derive(Debug)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// How clients prove who they are at the token endpoint; `None` if it does not say.
    pub(super) token_auth_methods: Option<Vec<String>>,
    pub(super) takes_client_documents: bool,
    /// Whether it names itself when it sends the user back.
    pub(super) names_itself: bool,
}

/// The metadata as it is published (RFC 8414).
#[derive(Debug, Deserialize)]
struct ServerDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AuthorizationServer {
    /// The server of a document that was found under the name of `issuer`.
    pub(super) fn from_document(document: Value, issuer: &str, rule: AddressRule) -> Result<Self, String> {
        let document: ServerDocument = serde_json::from_value(document).map_err(|error| {
            let why = haft_text::display::shorten(&error.to_string(), 200).into_owned();
            format!("the metadata of the authorization server '{}' cannot be read: {why}", haft_text::display::shorten(issuer, 200))
        })?;
        // Otherwise one server could speak for another, and be given what was meant for it.
        if document.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            let shorten = |text: &str| haft_text::display::shorten(text, 200).into_owned();
            return Err(format!("the authorization server '{}' calls itself '{}'", shorten(issuer), shorten(&document.issuer)));
        }
        if !document.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            return Err("its authorization server does not offer PKCE with S256, without which a sign-in can be stolen".to_owned());
        }
        let registration =
            document.registration_endpoint.as_deref().map(|text| rule.check("the registration endpoint", text)).transpose()?;
        Ok(Self {
            authorization_endpoint: rule.check("the authorization endpoint", &document.authorization_endpoint)?,
            token_endpoint: rule.check("the token endpoint", &document.token_endpoint)?,
            registration_endpoint: registration,
            scopes: document.scopes_supported,
            token_auth_methods: document.token_endpoint_auth_methods_supported,
            takes_client_documents: document.client_id_metadata_document_supported,
            names_itself: document.authorization_response_iss_parameter_supported,
            issuer: document.issuer,
        })
    }

    /// The endpoints that servers of 2025-03-26 have, if they publish nothing.
    pub(super) fn conventional(origin: &str, rule: AddressRule) -> Result<Self, String> {
        let endpoint = |path: &str| rule.check("the authorization server", &format!("{origin}{path}"));
        Ok(Self {
            issuer: origin.to_owned(),
            authorization_endpoint: endpoint("/authorize")?,
            token_endpoint: endpoint("/token")?,
            registration_endpoint: Some(endpoint("/register")?),
            scopes: Vec::new(),
            token_auth_methods: None,
            takes_client_documents: false,
            names_itself: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_that_speak_for_another_or_lead_elsewhere_are_refused() {
        let rule = AddressRule::for_server(&Url::parse("https://mcp.example.org").unwrap());
        let good = json!({
            "issuer": "https://auth.example.org", "authorization_endpoint": "https://auth.example.org/a",
            "token_endpoint": "https://auth.example.org/t", "code_challenge_methods_supported": ["plain", "S256"],
        });
        let read = |changes: Value| {
            let mut document = good.clone();
            document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            AuthorizationServer::from_document(document, "https://auth.example.org", rule)
        };
        assert!(read(json!({})).is_ok() && read(json!({"issuer": "https://auth.example.org/"})).is_ok());
        for (changes, fault) in [
            (json!({"issuer": "https://auth.example.org.evil.example"}), "calls itself"),
            (json!({"issuer": null}), "cannot be read"),
            (json!({"code_challenge_methods_supported": ["plain"]}), "PKCE"),
            (json!({"code_challenge_methods_supported": []}), "PKCE"),
            (json!({"token_endpoint": "http://auth.example.org/t"}), "https"),
            (json!({"token_endpoint": "https://127.0.0.1/t"}), "this machine"),
            (json!({"authorization_endpoint": "javascript:alert(1)"}), "not used"),
            (json!({"registration_endpoint": "http://169.254.169.254/"}), "https"),
        ] {
            let refused = read(changes.clone());
            assert!(refused.as_ref().is_err_and(|why| why.contains(fault)), "{changes}: {refused:?}");
        }
    }
}
