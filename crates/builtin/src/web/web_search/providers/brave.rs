//! Brave Search: `GET /res/v1/web/search`, with the key in a header.

use haft_contract::{HttpRequest, SearchEndpoint, ToolError};
use serde_json::Value;

use super::super::hits::SearchHit;
use super::super::query::{Freshness, SearchQuery};
use super::{address, get, list, text};

pub(super) fn request(endpoint: &SearchEndpoint, query: &SearchQuery) -> Result<HttpRequest, ToolError> {
    let (words, count) = (query.with_sites(), query.request_count().to_string());
    let country = query.country.as_ref().map(|country| country.to_ascii_uppercase());
    let freshness = query.freshness.map(freshness);
    let url = address(
        endpoint,
        "",
        &[
            ("q", Some(&words)),
            ("count", Some(&count)),
            ("country", country.as_deref()),
            ("search_lang", query.language.as_deref()),
            ("ui_lang", query.interface.as_deref()),
            ("freshness", freshness.as_deref()),
        ],
    )?;
    let key = endpoint.key.iter().map(|key| ("X-Subscription-Token".to_owned(), key.0.clone())).collect();
    Ok(get(url, key))
}

fn freshness(freshness: Freshness) -> String {
    match freshness {
        Freshness::Day => "pd".into(),
        Freshness::Week => "pw".into(),
        Freshness::Month => "pm".into(),
        Freshness::Year => "py".into(),
        Freshness::Between(from, to) => format!("{from}to{to}"),
    }
}

pub(super) fn parse(answer: &Value) -> Result<Vec<SearchHit>, String> {
    // Without results there is no list.
    if answer.get("web").is_none() && answer.get("query").is_some() {
        return Ok(Vec::new());
    }
    let hit = |result: &Value| {
        let published = [text(result, "page_age"), text(result, "age")].into_iter().find(|text| !text.is_empty());
        SearchHit::new(text(result, "title"), text(result, "url"), text(result, "description"), published)
    };
    Ok(list(answer, "web.results")?.iter().map(hit).collect())
}
