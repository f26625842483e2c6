//! Results of a search, and those of a short time ago.

use std::time::UNIX_EPOCH;

use haft_contract::ToolContext;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

const SNIPPET_CHARS: usize = 500;
const TITLE_CHARS: usize = 200;

/// One result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SearchHit {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
    /// When it was published, as the provider writes it.
    pub(super) published: Option<String>,
}

impl SearchHit {
    /// A result in plain text: providers mark words with HTML.
    pub(super) fn new(title: &str, url: &str, snippet: &str, published: Option<&str>) -> Self {
        let plain = |text: &str, most: usize| haft_extract::plain_text(text).chars().take(most).collect::<String>();
        Self {
            title: plain(title, TITLE_CHARS),
            url: url.to_owned(),
            snippet: plain(snippet, SNIPPET_CHARS),
            published: published.map(str::to_owned).filter(|text| !text.is_empty()),
        }
    }

    pub(super) fn render(&self, number: usize) -> String {
        let title = if self.title.is_empty() { "(untitled)" } else { &self.title };
        let date = self.published.as_ref().map(|date| format!(" ({date})")).unwrap_or_default();
        let snippet = if self.snippet.is_empty() { String::new() } else { format!("\n   {}", self.snippet) };
        format!("{number}. {title}{date}\n   {}{snippet}", self.url)
    }

    pub(super) fn to_json(&self) -> Value {
        let site = Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        json!({"title": self.title, "url": self.url, "description": self.snippet, "published": self.published, "site_name": site})
    }
}

#[derive(Serialize, Deserialize)]
struct StoredHits {
    /// Seconds since 1970.
    searched: u64,
    hits: Vec<SearchHit>,
}

fn now(cx: &ToolContext) -> u64 {
    cx.clock().now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The results of the same search a short time ago.
pub(super) async fn look_up(key: &str, cx: &ToolContext) -> Option<Vec<SearchHit>> {
    let stored: StoredHits = serde_json::from_slice(&cx.page_cache()?.get(key).await?).ok()?;
    (now(cx).saturating_sub(stored.searched) < cx.web().cache_time.as_secs()).then_some(stored.hits)
}

pub(super) async fn store(key: &str, hits: &[SearchHit], cx: &ToolContext) {
    let stored = StoredHits { searched: now(cx), hits: hits.to_vec() };
    if let (Some(cache), Ok(bytes)) = (cx.page_cache(), serde_json::to_vec(&stored)) {
        cache.put(key, bytes).await;
    }
}
