//! DuckDuckGo without scripts: its HTML page, read by the classes of its elements.

use haft_contract::{HttpRequest, SearchEndpoint, ToolError};
use haft_extract::find_elements;
use url::Url;

use super::super::hits::SearchHit;
use super::super::query::{Freshness, SearchQuery};
use super::{address, get};

pub(super) fn request(endpoint: &SearchEndpoint, query: &SearchQuery) -> Result<HttpRequest, ToolError> {
    let words = query.with_sites();
    let region = match (&query.country, &query.language) {
        (Some(country), language) if country.len() == 2 => {
            Some(format!("{}-{}", country.to_ascii_lowercase(), language.as_deref().unwrap_or("en").to_ascii_lowercase()))
        }
        _ => None,
    };
    let range = query.freshness.and_then(Freshness::word).map(|word| &word[..1]);
    let mut request = get(address(endpoint, "", &[("q", Some(&words)), ("kl", region.as_deref()), ("df", range)])?, Vec::new());
    request.headers[0].1 = "text/html".into();
    Ok(request)
}

pub(super) fn parse(html: &str, base: &str) -> Result<Vec<SearchHit>, String> {
    let elements = find_elements(html, base, &["result__a", "result__snippet", "no-results"]);
    if elements.is_empty() {
        return Err("it is no page of results; DuckDuckGo may want to check that a human asks".into());
    }
    let mut hits: Vec<SearchHit> = Vec::new();
    for element in elements {
        match element.class.as_str() {
            "result__a" => hits.extend(element.link.as_deref().and_then(target).map(|url| SearchHit::new(&element.text, &url, "", None))),
            "result__snippet" => hits.iter_mut().rev().take(1).for_each(|hit| hit.snippet.clone_from(&element.text)),
            _ => {}
        }
    }
    Ok(hits)
}

/// Where a result leads: links go through a page that counts them. Advertisements are left out.
fn target(link: &str) -> Option<String> {
    let url = Url::parse(link).ok()?;
    let own = url.host_str().is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"));
    let led = url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, value)| value.into_owned());
    match led {
        Some(led) if !led.contains("duckduckgo.com/y.js") => Some(led),
        Some(_) => None,
        None => (!own).then(|| link.to_owned()),
    }
}
