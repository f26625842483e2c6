//! Port for the web tools: their settings, and responses that are stored for a while.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use crate::BoxFuture;
use crate::settings::named_enum;

named_enum! {
    /// Who answers a web search.
    SearchProvider {
        /// The API of Brave Search.
        Brave = "brave",
        /// The API of Tavily.
        Tavily = "tavily",
        /// A SearXNG instance.
        SearXng = "searxng",
        /// The HTML page of DuckDuckGo, without a key.
        DuckDuckGo = "duckduckgo",
        /// Any server that answers with JSON, described in the configuration.
        Json = "json",
    }
}

/// A secret that no debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct SearchKey(pub String);

impl fmt::Debug for SearchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SearchKey(…)")
    }
}

/// A search provider, ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEndpoint {
    /// Which.
    pub provider: SearchProvider,
    /// Its address: of the API, of the instance, or the template of a JSON server.
    pub url: String,
    /// Its key, if it needs one.
    pub key: Option<SearchKey>,
    /// How the answer of a JSON server is read.
    pub fields: SearchFields,
}

/// Where the answer of a JSON server has its results: names, or paths of names with dots between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFields {
    /// The list of results.
    pub results: String,
    /// The title of a result.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Its snippet.
    pub snippet: String,
    /// The header that the key is sent in.
    pub key_header: String,
}

impl Default for SearchFields {
    fn default() -> Self {
        let [results, title, url, snippet, key_header] = ["results", "title", "url", "snippet", "Authorization"].map(String::from);
        Self { results, title, url, snippet, key_header }
    }
}

/// Settings of the web tools.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebSettings {
    /// Whether pages are fetched only where `robots.txt` allows it.
    pub respect_robots: bool,
    /// How long a page is used again without a request.
    pub cache_time: Duration,
    /// Who answers searches, or what the user must set so that someone does.
    pub search: Result<SearchEndpoint, String>,
}

/// What to set where nothing is configured.
pub const NO_SEARCH_PROVIDER: &str = "Set the environment variable BRAVE_API_KEY or TAVILY_API_KEY, or SEARXNG_URL for an own instance, \
     or web.search.provider = \"duckduckgo\" in the user's config.toml, which needs no key";

impl Default for WebSettings {
    fn default() -> Self {
        Self { respect_robots: true, cache_time: Duration::from_mins(15), search: Err(NO_SEARCH_PROVIDER.into()) }
    }
}

pub(super) static DEFAULT_WEB_SETTINGS: LazyLock<WebSettings> = LazyLock::new(WebSettings::default);

/// Stores responses for later calls, by any text as the key. It is bounded: anything may be gone at the next call.
pub trait PageCache: Send + Sync {
    /// What is stored under a key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Vec<u8>>>;
    /// Stores a value. If that fails, the next call does without it.
    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>) -> BoxFuture<'a, ()>;
}
