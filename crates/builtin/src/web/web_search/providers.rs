//! The providers: how each is asked, and how its answer is read.

mod brave;
mod duckduckgo;
mod json;
mod searxng;
mod tavily;

use haft_contract::{HttpRequest, SearchEndpoint, SearchProvider, ToolError};
use serde_json::Value;
use url::Url;

use super::hits::SearchHit;
use super::query::SearchQuery;
use crate::shared::brief;

/// The request of a search.
pub(super) fn request(endpoint: &SearchEndpoint, query: &SearchQuery) -> Result<HttpRequest, ToolError> {
    match endpoint.provider {
        SearchProvider::Brave => brave::request(endpoint, query),
        SearchProvider::Tavily => tavily::request(endpoint, query),
        SearchProvider::SearXng => searxng::request(endpoint, query),
        SearchProvider::DuckDuckGo => duckduckgo::request(endpoint, query),
        SearchProvider::Json => json::request(endpoint, query),
    }
}

/// The results in an answer, or why there are none.
pub(super) fn parse(endpoint: &SearchEndpoint, body: &[u8]) -> Result<Vec<SearchHit>, String> {
    let text = String::from_utf8_lossy(body);
    let value = || serde_json::from_str::<Value>(&text).map_err(|error| format!("it is not JSON ({error})"));
    match endpoint.provider {
        SearchProvider::Brave => brave::parse(&value()?),
        SearchProvider::Tavily => tavily::parse(&value()?),
        SearchProvider::SearXng => searxng::parse(&value()?),
        SearchProvider::DuckDuckGo => duckduckgo::parse(&text, &endpoint.url),
        SearchProvider::Json => json::parse(&value()?, &endpoint.fields),
    }
}

/// The provider's address with parameters.
fn address(endpoint: &SearchEndpoint, path: &str, parameters: &[(&str, Option<&str>)]) -> Result<String, ToolError> {
    let mut url = Url::parse(&endpoint.url).map_err(|error| {
        ToolError::execution(format!("The address of the search provider is wrong: '{}' ({error}).", brief(&endpoint.url)))
    })?;
    if !path.is_empty() {
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    }
    let pairs = parameters.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
    url.query_pairs_mut().extend_pairs(pairs);
    Ok(url.into())
}

fn get(url: String, headers: Vec<(String, String)>) -> HttpRequest {
    let mut headers = headers;
    headers.insert(0, ("Accept".into(), "application/json".into()));
    HttpRequest { method: "GET".into(), url, headers, body: None, redirects: 0 }
}

fn list<'a>(value: &'a Value, path: &str) -> Result<&'a [Value], String> {
    let found = path.split('.').try_fold(value, |value, name| value.get(name));
    found.and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| format!("it has no list '{path}'"))
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    let found = path.split('.').try_fold(value, |value, name| value.get(name));
    found.and_then(Value::as_str).unwrap_or_default()
}
