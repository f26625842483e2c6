//! Any server that answers with JSON: the address is a template, and the fields of a result have names in the configuration.

use haft_contract::{HttpRequest, SearchEndpoint, SearchFields, ToolError};
use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use super::super::hits::SearchHit;
use super::super::query::{Freshness, SearchQuery};
use super::{address, get, list, text};

pub(super) fn request(endpoint: &SearchEndpoint, query: &SearchQuery) -> Result<HttpRequest, ToolError> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let values = [
        ("{query}", encoded(&query.with_sites())),
        ("{count}", query.request_count().to_string()),
        ("{country}", encoded(query.country.as_deref().unwrap_or_default())),
        ("{language}", encoded(query.language.as_deref().unwrap_or_default())),
        ("{freshness}", query.freshness.and_then(Freshness::word).unwrap_or_default().to_owned()),
    ];
    // The address is parsed before anything of the model's is put in: the host is the user's.
    let template = address(endpoint, "", &[])?;
    let template = template.replace("%7B", "{").replace("%7D", "}");
    let filled = values.iter().fold(template, |url, (name, value)| url.replace(name, value));
    let filled = filled.trim_end_matches('?').to_owned();
    let header = endpoint.fields.key_header.clone();
    let value = |key: &str| if header.eq_ignore_ascii_case("authorization") { format!("Bearer {key}") } else { key.to_owned() };
    let key = endpoint.key.iter().map(|key| (header.clone(), value(&key.0))).collect();
    Ok(get(filled, key))
}

pub(super) fn parse(answer: &Value, fields: &SearchFields) -> Result<Vec<SearchHit>, String> {
    let results = if fields.results.is_empty() {
        answer.as_array().map(Vec::as_slice).ok_or("it is not a list")?
    } else {
        list(answer, &fields.results)?
    };
    let hit = |result: &Value| SearchHit::new(text(result, &fields.title), text(result, &fields.url), text(result, &fields.snippet), None);
    Ok(results.iter().map(hit).collect())
}
