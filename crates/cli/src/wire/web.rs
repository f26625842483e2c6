//! The web tools as configured: who answers searches, and with which key.

use std::time::Duration;

use haft_config::WebConfig;
use haft_contract::{
    SearchEndpoint, SearchProvider, WebSettings,
    ports::{NO_SEARCH_PROVIDER, SearchKey},
};

use crate::terminal::Terminal;

const BRAVE_URL: &str = "https://api.search.brave.com/res/v1/web/search";
const TAVILY_URL: &str = "https://api.tavily.com/search";
const DUCKDUCKGO_URL: &str = "https://html.duckduckgo.com/html/";
const SEARXNG_VARIABLE: &str = "SEARXNG_URL";

/// The settings, with keys from the environment.
pub(super) fn settings(config: &WebConfig, variable: &dyn Fn(&str) -> Option<String>) -> WebSettings {
    let mut settings = WebSettings::default();
    settings.respect_robots = config.respect_robots.unwrap_or_else(|| !Terminal::is_there());
    settings.cache_time = Duration::from_mins(config.cache_minutes);
    settings.search = match config.search_provider {
        Some(provider) => endpoint(provider, config, variable),
        None => first_usable(config, variable),
    };
    settings
}

/// The first provider whose key or address is there.
fn first_usable(config: &WebConfig, variable: &dyn Fn(&str) -> Option<String>) -> Result<SearchEndpoint, String> {
    let template = config.search_url.as_ref().is_some_and(|url| url.contains("{query}"));
    let by_address = if template { SearchProvider::Json } else { SearchProvider::SearXng };
    let candidates = [SearchProvider::Brave, SearchProvider::Tavily, by_address];
    candidates.into_iter().find_map(|provider| endpoint(provider, config, variable).ok()).ok_or_else(|| NO_SEARCH_PROVIDER.to_owned())
}

fn endpoint(provider: SearchProvider, config: &WebConfig, variable: &dyn Fn(&str) -> Option<String>) -> Result<SearchEndpoint, String> {
    let (url, key_variable) = match provider {
        SearchProvider::Brave => (Some(BRAVE_URL.to_owned()), Some("BRAVE_API_KEY")),
        SearchProvider::Tavily => (Some(TAVILY_URL.to_owned()), Some("TAVILY_API_KEY")),
        SearchProvider::SearXng => (variable(SEARXNG_VARIABLE), None),
        SearchProvider::DuckDuckGo => (Some(DUCKDUCKGO_URL.to_owned()), None),
        SearchProvider::Json => (None, None),
    };
    // An address that the user wrote is for the provider that they named, or for one that has no other.
    let is_named = config.search_provider == Some(provider) || url.is_none();
    let own = config.search_url.clone().filter(|_| is_named);
    let url = own.or(url).ok_or_else(|| format!("Set web.search.url in the user's config.toml to the address of the {provider} server"))?;
    let named = config.search_key_variable.as_deref().filter(|_| config.search_provider == Some(provider));
    let key = match (named, key_variable) {
        (Some(name), _) | (None, Some(name)) => {
            let missing = || format!("Set the environment variable {name} to the key of the search provider {provider}");
            Some(SearchKey(variable(name).ok_or_else(missing)?))
        }
        (None, None) => None,
    };
    Ok(SearchEndpoint { provider, url, key, fields: config.search_fields.clone() })
}

#[cfg(test)]
mod tests {
    use haft_config::Config;

    use super::*;

    fn chosen(change: impl FnOnce(&mut WebConfig), variables: &[(&str, &str)]) -> Result<(SearchProvider, String, Option<String>), String> {
        let mut config = Config::default().web;
        change(&mut config);
        let variable = |name: &str| variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned());
        settings(&config, &variable).search.map(|endpoint| (endpoint.provider, endpoint.url, endpoint.key.map(|key| key.0)))
    }

    #[test]
    fn the_first_provider_with_a_key_or_an_address_is_used() {
        use SearchProvider::{Brave, DuckDuckGo, Json, SearXng, Tavily};
        let both = [("BRAVE_API_KEY", "b"), ("TAVILY_API_KEY", "t"), ("SEARXNG_URL", "http://s.test")];
        let key = |key: &str| Some(key.to_owned());
        assert_eq!(chosen(|_| (), &both), Ok((Brave, BRAVE_URL.into(), key("b"))));
        assert_eq!(chosen(|_| (), &both[1..]), Ok((Tavily, TAVILY_URL.into(), key("t"))));
        assert_eq!(chosen(|_| (), &both[2..]), Ok((SearXng, "http://s.test".into(), None)));
        assert_eq!(chosen(|_| (), &[]), Err(NO_SEARCH_PROVIDER.to_owned()));
        let url = |url: &'static str| move |config: &mut WebConfig| config.search_url = Some(url.into());
        assert_eq!(chosen(url("http://s.test"), &[]), Ok((SearXng, "http://s.test".into(), None)));
        assert_eq!(chosen(url("http://s.test?q={query}"), &[]), Ok((Json, "http://s.test?q={query}".into(), None)));
        let named = |provider| move |config: &mut WebConfig| config.search_provider = Some(provider);
        assert_eq!(chosen(named(DuckDuckGo), &both), Ok((DuckDuckGo, DUCKDUCKGO_URL.into(), None)));
        assert_eq!(
            chosen(named(Json), &both),
            Err("Set web.search.url in the user's config.toml to the address of the json server".into())
        );
        assert_eq!(
            chosen(named(Brave), &[]),
            Err("Set the environment variable BRAVE_API_KEY to the key of the search provider brave".into())
        );
        let own_key = |config: &mut WebConfig| {
            (config.search_provider, config.search_key_variable) = (Some(Tavily), Some("MINE".into()));
        };
        assert_eq!(chosen(own_key, &[("MINE", "m")]), Ok((Tavily, TAVILY_URL.into(), key("m"))));
    }
}
