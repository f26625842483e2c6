//! Settings of the web tools.

use haft_contract::{SearchFields, SearchProvider};

use crate::config::{number, parsed, word};
use crate::provenance::Provenance;

/// How the web tools behave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebConfig {
    /// Whether `robots.txt` is respected; `None` means where no user is at the terminal.
    pub respect_robots: Option<bool>,
    /// How long a page or search is used again.
    pub cache_minutes: u64,
    /// Requests to one host at the same time.
    pub parallel_per_host: usize,
    /// Who answers searches; `None` means the first that can be used.
    pub search_provider: Option<SearchProvider>,
    /// Where it is.
    pub search_url: Option<String>,
    /// The variable with its key.
    pub search_key_variable: Option<String>,
    /// How the answer of a JSON server is read.
    pub search_fields: SearchFields,
}

impl From<&Provenance> for WebConfig {
    fn from(settings: &Provenance) -> Self {
        let text = |key: &str| word(settings, key).map(str::to_owned);
        let standard = SearchFields::default();
        Self {
            respect_robots: match word(settings, "web.respect_robots") {
                Some("on") => Some(true),
                Some("off") => Some(false),
                _ => None,
            },
            cache_minutes: number(settings, "web.cache_minutes"),
            parallel_per_host: number(settings, "web.parallel_per_host"),
            search_provider: parsed(settings, "web.search.provider"),
            search_url: text("web.search.url"),
            search_key_variable: text("web.search.api_key_env"),
            search_fields: SearchFields {
                results: text("web.search.json.results").unwrap_or(standard.results),
                title: text("web.search.json.title").unwrap_or(standard.title),
                url: text("web.search.json.url").unwrap_or(standard.url),
                snippet: text("web.search.json.snippet").unwrap_or(standard.snippet),
                key_header: text("web.search.json.key_header").unwrap_or(standard.key_header),
            },
        }
    }
}
