//! A search, checked: what a schema cannot say.

use haft_contract::ToolError;
use jiff::civil::Date;
use url::Url;

use super::Params;
use super::hits::SearchHit;
use crate::shared::brief;

const DEFAULT_COUNT: u8 = 5;
/// Asked for where results may be filtered out afterwards.
const MOST: u8 = 20;

/// What is searched for, and what results must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchQuery {
    pub(super) text: String,
    pub(super) count: u8,
    pub(super) country: Option<String>,
    pub(super) language: Option<String>,
    pub(super) interface: Option<String>,
    pub(super) freshness: Option<Freshness>,
    pub(super) allowed: Vec<String>,
    pub(super) blocked: Vec<String>,
}

/// How new results must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    Day,
    Week,
    Month,
    Year,
    Between(Date, Date),
}

impl SearchQuery {
    pub(super) fn parse(params: &Params) -> Result<Self, ToolError> {
        let text = params.query.trim();
        if text.chars().count() < 2 {
            return Err(ToolError::validation("Parameter 'query' must have at least 2 characters."));
        }
        let (allowed, blocked) = (domains(params.allowed_domains.as_deref())?, domains(params.blocked_domains.as_deref())?);
        if !allowed.is_empty() && !blocked.is_empty() {
            return Err(ToolError::validation("Give allowed_domains or blocked_domains, not both."));
        }
        Ok(Self {
            text: text.to_owned(),
            count: params.count.unwrap_or(DEFAULT_COUNT).clamp(1, 10),
            country: code(params.country.as_deref(), "country", &["US", "ALL"], |code| {
                code.eq_ignore_ascii_case("all") || is_letters(code)
            })?,
            language: code(params.search_lang.as_deref(), "search_lang", &["en", "de"], is_letters)?,
            interface: code(params.ui_lang.as_deref(), "ui_lang", &["en-US", "de-DE"], is_locale)?,
            freshness: params.freshness.as_deref().map(Freshness::parse).transpose()?,
            allowed,
            blocked,
        })
    }

    /// How many results to ask for.
    pub(super) fn request_count(&self) -> u8 {
        if self.allowed.is_empty() && self.blocked.is_empty() { self.count } else { MOST }
    }

    /// The words, with the domains in the form that most engines know.
    pub(super) fn with_sites(&self) -> String {
        let mut text = self.text.clone();
        let allowed: Vec<_> = self.allowed.iter().map(|domain| format!("site:{domain}")).collect();
        match allowed.len() {
            0 => {}
            1 => text.extend([" ", &allowed[0]]),
            _ => text.extend([" (", &allowed.join(" OR "), ")"]),
        }
        self.blocked.iter().for_each(|domain| text.extend([" -site:", domain]));
        text
    }

    /// Results of the right domains, each once.
    pub(super) fn select(&self, hits: Vec<SearchHit>) -> Vec<SearchHit> {
        let mut seen = Vec::new();
        let mut selected = Vec::new();
        for hit in hits {
            let Ok(url) = Url::parse(&hit.url) else { continue };
            let same = url.as_str().split('#').next().unwrap_or_default().trim_end_matches('/').to_owned();
            if matches!(url.scheme(), "http" | "https") && self.admits(&url) && !seen.contains(&same) {
                seen.push(same);
                selected.push(hit);
            }
        }
        selected.truncate(usize::from(self.count));
        selected
    }

    fn admits(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        let beneath = |domain: &String| host == domain || host.strip_suffix(domain.as_str()).is_some_and(|left| left.ends_with('.'));
        (self.allowed.is_empty() || self.allowed.iter().any(beneath)) && !self.blocked.iter().any(beneath)
    }

    /// What else could give results.
    pub(super) fn advice(&self) -> &'static str {
        if self.allowed.is_empty() && self.freshness.is_none() { "" } else { ", or leave out the limits on domains and time" }
    }
}

impl Freshness {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let range = || {
            let (from, to) = text.split_once("to")?;
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some(Self::Between(from, to))
        };
        let parsed = match text.to_ascii_lowercase().as_str() {
            "pd" | "day" => Some(Self::Day),
            "pw" | "week" => Some(Self::Week),
            "pm" | "month" => Some(Self::Month),
            "py" | "year" => Some(Self::Year),
            _ => range(),
        };
        parsed.ok_or_else(|| invalid("freshness", text, "'pd', 'pw', 'pm', 'py' or a range such as '2026-01-01to2026-01-31'"))
    }

    /// A span in words, as most providers have it; a range is as long as it goes back.
    pub(super) fn word(self) -> Option<&'static str> {
        match self {
            Self::Day => Some("day"),
            Self::Week => Some("week"),
            Self::Month => Some("month"),
            Self::Year => Some("year"),
            Self::Between(..) => None,
        }
    }
}

/// Hosts, from domains or addresses.
fn domains(entries: Option<&[String]>) -> Result<Vec<String>, ToolError> {
    entries.unwrap_or_default().iter().filter(|entry| !entry.trim().is_empty()).map(|entry| domain(entry.trim())).collect()
}

fn domain(entry: &str) -> Result<String, ToolError> {
    let plain = entry.trim_start_matches("*.");
    let address = if plain.contains("://") { plain.to_owned() } else { format!("http://{plain}") };
    let host = Url::parse(&address).ok().and_then(|url| Some(url.host_str()?.trim_end_matches('.').to_owned()));
    let host = host.filter(|host| host.contains('.') && !host.contains(['*', '@']));
    host.ok_or_else(|| ToolError::validation(format!("'{}' is not a domain. Write it as 'example.org'.", brief(entry))))
}

fn code(value: Option<&str>, name: &str, samples: &[&str], is_valid: impl Fn(&str) -> bool) -> Result<Option<String>, ToolError> {
    match value.map(str::trim) {
        Some(code) if !is_valid(code) => Err(invalid(name, code, &format!("a code such as '{}'", samples.join("' or '")))),
        code => Ok(code.map(str::to_owned)),
    }
}

fn invalid(name: &str, value: &str, expected: &str) -> ToolError {
    ToolError::validation(format!("Parameter '{name}' must be {expected}, not '{}'.", brief(value)))
}

fn is_letters(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_locale(code: &str) -> bool {
    code.split_once('-').is_some_and(|(language, country)| is_letters(language) && is_letters(country))
}
