//! SearXNG: `GET /search?format=json` of an own instance.

use haft_contract::{HttpRequest, SearchEndpoint, ToolError};
use serde_json::Value;

use super::super::hits::SearchHit;
use super::super::query::SearchQuery;
use super::{address, get, list, text};

pub(super) fn request(endpoint: &SearchEndpoint, query: &SearchQuery) -> Result<HttpRequest, ToolError> {
    let words = query.with_sites();
    let language = match (&query.language, &query.country) {
        (Some(language), Some(country)) if country.len() == 2 => Some(format!("{language}-{}", country.to_ascii_uppercase())),
        (language, _) => language.clone(),
    };
    let range = query.freshness.and_then(super::super::query::Freshness::word);
    let parameters = [("q", Some(words.as_str())), ("format", Some("json")), ("language", language.as_deref()), ("time_range", range)];
    let path = if endpoint.url.trim_end_matches('/').ends_with("/search") { "" } else { "/search" };
    let key = endpoint.key.iter().map(|key| ("Authorization".to_owned(), format!("Bearer {}", key.0))).collect();
    Ok(get(address(endpoint, path, &parameters)?, key))
}

pub(super) fn parse(answer: &Value) -> Result<Vec<SearchHit>, String> {
    let hit = |result: &Value| {
        let published = Some(text(result, "publishedDate")).filter(|text| !text.is_empty());
        SearchHit::new(text(result, "title"), text(result, "url"), text(result, "content"), published)
    };
    Ok(list(answer, "results")?.iter().map(hit).collect())
}
