//! Tavily: `POST /search` with a JSON body and a bearer key.

use haft_contract::{HttpRequest, SearchEndpoint, ToolError};
use serde_json::{Value, json};

use super::super::hits::SearchHit;
use super::super::query::{Freshness, SearchQuery};
use super::{address, list, text};

pub(super) fn request(endpoint: &SearchEndpoint, query: &SearchQuery) -> Result<HttpRequest, ToolError> {
    let mut body = json!({"query": query.text, "max_results": query.request_count()});
    for (name, domains) in [("include_domains", &query.allowed), ("exclude_domains", &query.blocked)] {
        if !domains.is_empty() {
            body[name] = json!(domains);
        }
    }
    match query.freshness {
        Some(Freshness::Between(from, to)) => {
            body["start_date"] = json!(from.to_string());
            body["end_date"] = json!(to.to_string());
        }
        Some(freshness) => body["time_range"] = json!(freshness.word()),
        None => {}
    }
    let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    headers.extend(endpoint.key.iter().map(|key| ("Authorization".to_owned(), format!("Bearer {}", key.0))));
    let url = address(endpoint, "", &[])?.trim_end_matches('?').to_owned();
    Ok(HttpRequest { method: "POST".into(), url, headers, body: Some(body.to_string().into_bytes()), redirects: 0 })
}

pub(super) fn parse(answer: &Value) -> Result<Vec<SearchHit>, String> {
    let hit = |result: &Value| {
        let published = Some(text(result, "published_date")).filter(|text| !text.is_empty());
        SearchHit::new(text(result, "title"), text(result, "url"), text(result, "content"), published)
    };
    Ok(list(answer, "results")?.iter().map(hit).collect())
}
