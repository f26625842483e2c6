//! Finds out where to sign in for a server, in the order of the specification.

use reqwest::Url;
use serde_json::Value;

use super::address::AddressRule;
use super::challenge::{AuthChallenge, clean_scopes};
use super::fetch;
use super::metadata::{AuthorizationServer, ResourceMetadata};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// Where to sign in, and for what.
#[derive(Debug)]
pub(super) struct SignInPlan {
    /// The name of the server for which tokens are asked.
    pub(super) resource: String,
    /// All rights that the server knows of.
    pub(super) scopes: Vec<String>,
    pub(super) server: AuthorizationServer,
}

/// Finds the authorization server of the server at this address. `issuer` is the only one that the user wants, if they named one.
pub(super) async fn discover(address: &Url, challenge: &AuthChallenge, issuer: Option<&str>) -> Result<SignInPlan, String> {
    let rule = AddressRule::for_server(address);
    let Some(metadata) = resource_metadata(address, challenge, rule).await? else { return without_metadata(address, issuer, rule).await };
    if !is_resource_of(&metadata.resource, address) {
        let named = haft_text::display::shorten(&metadata.resource, 200);
        return Err(format!("its metadata is that of another server, '{named}': tokens for it would be tokens for that one"));
    }
    let mut servers = metadata.authorization_servers.iter();
    let chosen = servers.find(|server| issuer.is_none_or(|issuer| is_same_issuer(server, issuer))).ok_or_else(|| match issuer {
        Some(issuer) => format!("it does not take tokens of '{issuer}', which its table in the configuration names as `issuer`"),
        None => "its metadata names no authorization server".to_owned(),
    })?;
    let base = rule.check("the authorization server", chosen)?;
    let server = server_metadata(&base, chosen, rule)
        .await?
        .ok_or_else(|| format!("its authorization server '{}' publishes no metadata", haft_text::display::shorten(chosen, 200)))?;
    Ok(SignInPlan { scopes: clean_scopes(metadata.scopes_supported.iter().map(String::as_str)), resource: metadata.resource, server })
}

/// The metadata of the server: where its refusal says, else at the usual places.
async fn resource_metadata(address: &Url, challenge: &AuthChallenge, rule: AddressRule) -> Result<Option<ResourceMetadata>, String> {
    let read = |document: Value| {
        let why =
            |error: serde_json::Error| format!("its metadata cannot be read: {}", haft_text::display::shorten(&error.to_string(), 200));
        serde_json::from_value::<ResourceMetadata>(document).map(Some).map_err(why)
    };
    if let Some(named) = &challenge.resource_metadata {
        let url = rule.check("the address of its metadata", named)?;
        let document = document(&url).await?.ok_or_else(|| format!("there is no metadata at {url}"))?;
        return read(document);
    }
    for path in well_known(RESOURCE, address) {
        if let Some(document) = document(&at(address, &path)).await? {
            return read(document);
        }
    }
    Ok(None)
}

/// Servers of 2025-03-26 are their own authorization servers.
async fn without_metadata(address: &Url, issuer: Option<&str>, rule: AddressRule) -> Result<SignInPlan, String> {
    let origin = address.origin().ascii_serialization();
    if let Some(issuer) = issuer.filter(|issuer| !is_same_issuer(issuer, &origin)) {
        return Err(format!("it does not say that it takes tokens of '{issuer}', which its table in the configuration names as `issuer`"));
    }
    let base = rule.check("the authorization server", &origin)?;
    let server = match server_metadata(&base, &origin, rule).await? {
        Some(server) => server,
        None => AuthorizationServer::conventional(&origin, rule)?,
    };
    let mut resource = address.clone();
    resource.set_query(None);
    Ok(SignInPlan { resource: resource.to_string(), scopes: Vec::new(), server })
}

async fn server_metadata(base: &Url, issuer: &str, rule: AddressRule) -> Result<Option<AuthorizationServer>, String> {
    let path = base.path().trim_end_matches('/');
    let places = match path {
        "" => vec![OAUTH.to_owned(), OPENID.to_owned()],
        path => vec![format!("{OAUTH}{path}"), format!("{OPENID}{path}"), format!("{path}{OPENID}")],
    };
    for place in places {
        if let Some(document) = document(&at(base, &place)).await? {
            return AuthorizationServer::from_document(document, issuer, rule).map(Some);
        }
    }
    Ok(None)
}

/// The document at an address; `None` if there is none.
async fn document(url: &Url) -> Result<Option<Value>, String> {
    let answer = fetch::get(url).await?;
    Ok(answer.body.filter(|body| answer.status.is_success() && body.is_object()))
}

/// A well-known place for this address: with its path, then without.
fn well_known(place: &str, address: &Url) -> Vec<String> {
    match address.path().trim_end_matches('/') {
        "" => vec![place.to_owned()],
        path => vec![format!("{place}{path}"), place.to_owned()],
    }
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Whether a name that metadata gives is that of the server at this address, or of all servers beneath a path of it.
fn is_resource_of(resource: &str, address: &Url) -> bool {
    let Ok(named) = Url::parse(resource) else { return false };
    let (prefix, path) = (named.path().trim_end_matches('/'), address.path());
    let is_beneath = path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    named.origin() == address.origin() && named.origin().is_tuple() && is_beneath && named.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_is_the_server_or_a_folder_above_it() {
        let address = Url::parse("https://mcp.example.org/v1/mcp").unwrap();
        for (resource, expected) in [
            ("https://mcp.example.org/v1/mcp", true),
            ("https://mcp.example.org/v1/mcp/", true),
            ("https://MCP.example.org:443/v1", true),
            ("https://mcp.example.org", true),
            ("https://mcp.example.org/v", false),
            ("https://mcp.example.org/v1/mcp/other", false),
            ("http://mcp.example.org/v1/mcp", false),
            ("https://mcp.example.org:444/v1/mcp", false),
            ("https://evil.example.org/v1/mcp", false),
            ("https://mcp.example.org/v1/mcp#a", false),
            ("", false),
            ("urn:a", false),
        ] {
            assert_eq!(is_resource_of(resource, &address), expected, "{resource}");
        }
    }

    #[test]
    fn places_are_those_of_the_specification() {
        let address = Url::parse("https://a/b/mcp/?x=1").unwrap();
        let expected = ["/.well-known/oauth-protected-resource/b/mcp", "/.well-known/oauth-protected-resource"];
        assert_eq!(well_known(RESOURCE, &address), expected);
        assert_eq!(at(&address, expected[0]).as_str(), "https://a/.well-known/oauth-protected-resource/b/mcp");
        assert_eq!(well_known(RESOURCE, &Url::parse("https://a/").unwrap()).len(), 1);
    }
}
