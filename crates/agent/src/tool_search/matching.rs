//! Matches tools with a query.

use std::sync::Arc;

use haft_contract::ToolError;
use haft_engine::ToolEntry;
use haft_text::bm25::{Index, words};

/// How many tools one search gives at most.
pub(super) const MAX_RESULTS: usize = 20;
/// How long a query may be.
const MAX_CHARS: usize = 500;
/// Shorter parts of words are in too many words.
const MIN_PART: usize = 3;
const SELECT: &str = "select:";
/// More than any sum of words, so that a name finds its tool first.
const NAME_SCORE: f32 = 1_000.0;
/// A word in a name says more about a tool than one in its description.
const NAME_WEIGHT: f32 = 4.0;
const LABEL_WEIGHT: f32 = 2.0;

/// The query of a model.
pub(super) struct ToolQuery {
    text: String,
    terms: Terms,
}

enum Terms {
    /// Tools by name.
    Names(Vec<String>),
    /// Words, and whether each must occur.
    Words(Vec<(String, bool)>),
}

/// The result of a search.
#[derive(Default)]
pub(super) struct SearchMatches {
    /// The best first.
    pub(super) tools: Vec<Arc<ToolEntry>>,
    /// Names that no tool has.
    pub(super) missing: Vec<String>,
}

impl ToolQuery {
    pub(super) fn read(text: &str) -> Result<Self, ToolError> {
        let text = text.trim();
        if text.chars().count() > MAX_CHARS {
            return Err(ToolError::validation(format!("The argument 'query' is longer than {MAX_CHARS} characters: use a few words.")));
        }
        let terms = match text.get(..SELECT.len()).filter(|start| start.eq_ignore_ascii_case(SELECT)) {
            Some(_) => Terms::Names(parts(&text[SELECT.len()..]).map(str::to_owned).collect()),
            None => Terms::Words(parts(text).filter_map(word).collect()),
        };
        let is_empty = match &terms {
            Terms::Names(names) => names.is_empty(),
            Terms::Words(words) => words.is_empty(),
        };
        if is_empty {
            return Err(ToolError::validation("The argument 'query' names nothing: write words, or 'select:' and names of tools."));
        }
        Ok(Self { text: text.to_owned(), terms })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The query as it is compared.
    pub(super) fn normalised(&self) -> String {
        let terms: Vec<String> = match &self.terms {
            Terms::Names(names) => names.iter().map(|name| plain(name)).collect(),
            Terms::Words(words) => words.iter().map(|(word, _)| plain(word)).collect(),
        };
        terms.join(" ")
    }

    /// The tools that match and that `is_offered` lets the session use; it is asked only about those that match.
    pub(super) fn search(&self, tools: &SearchIndex, most: usize, is_offered: impl Fn(&ToolEntry) -> bool) -> SearchMatches {
        match &self.terms {
            Terms::Names(names) => tools.select(names, is_offered),
            Terms::Words(words) => {
                let ranked = tools.rank(words).into_iter().filter(|entry| is_offered(entry));
                SearchMatches { tools: ranked.take(most).cloned().collect(), missing: Vec::new() }
            }
        }
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty())
}

fn word(text: &str) -> Option<(String, bool)> {
    let bare = text.trim_start_matches('+');
    (!bare.is_empty()).then(|| (bare.to_owned(), text.starts_with('+')))
}

/// Alphanumeric characters in lower case, without a trailing "tool": the form in which names are compared.
fn plain(name: &str) -> String {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    match plain.strip_suffix("tool") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => plain,
    }
}

/// All tools of a registry, indexed by the words of their names, labels, descriptions and parameters.
pub(super) struct SearchIndex {
    /// The version of the registry.
    pub(super) version: u64,
    index: Index,
    tools: Vec<IndexedTool>,
}

struct IndexedTool {
    entry: Arc<ToolEntry>,
    /// Its names, as they are compared.
    names: Vec<String>,
    /// All of its text, for words that must occur: in lower case, and as names are compared.
    text: String,
    plain_text: String,
}

impl SearchIndex {
    pub(super) fn new(version: u64, entries: Vec<Arc<ToolEntry>>) -> Self {
        let mut index = Index::default();
        let tools = entries.into_iter().map(|entry| {
            index.add(weighted_words(&entry));
            let definition = entry.definition();
            let names = definition.names();
            let text = format!("{} {} {}", names.join(" "), definition.label, definition.description).to_lowercase();
            let (names, plain_text) = (names.iter().map(|name| plain(name)).collect(), plain(&text));
            IndexedTool { entry, names, text, plain_text }
        });
        let tools = tools.collect();
        Self { version, index, tools }
    }

    fn select(&self, names: &[String], is_offered: impl Fn(&ToolEntry) -> bool) -> SearchMatches {
        let mut found = SearchMatches::default();
        for name in names.iter().take(MAX_RESULTS) {
            let wanted = plain(name);
            let tool = self.tools.iter().find(|tool| tool.names.contains(&wanted) && is_offered(&tool.entry));
            match tool.map(|tool| &tool.entry) {
                Some(entry) if found.tools.iter().all(|known| known.name() != entry.name()) => found.tools.push(Arc::clone(entry)),
                Some(_) => {}
                None => found.missing.push(name.clone()),
            }
        }
        found
    }

    /// The tools that have a word of these and all that must occur, the best first.
    fn rank(&self, asked: &[(String, bool)]) -> Vec<&Arc<ToolEntry>> {
        let terms: Vec<String> = asked.iter().flat_map(|(word, _)| self.terms(word)).collect();
        let mut scores = self.index.scores(terms.iter().map(String::as_str));
        let plain_words: Vec<String> = asked.iter().map(|(word, _)| plain(word)).collect();
        for (tool, score) in self.tools.iter().zip(&mut scores) {
            if plain_words.iter().any(|word| tool.names.contains(word)) {
                *score += NAME_SCORE;
            }
        }
        let required: Vec<(String, String)> =
            asked.iter().filter(|(_, must)| *must).map(|(word, _)| (word.to_lowercase(), plain(word))).collect();
        let mut ranked: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0 && self.tools[*at].has_all(&required)).collect();
        let name = |at: usize| self.tools[at].entry.name();
        ranked.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then_with(|| name(*one).cmp(name(*other))));
        ranked.into_iter().map(|at| &self.tools[at].entry).collect()
    }

    /// The indexed words for one of a query: itself, or those that contain it.
    fn terms(&self, word: &str) -> Vec<String> {
        let split = split_case(word);
        let all = words(&split).flat_map(|word| {
            if self.index.knows(&word) {
                return vec![word];
            }
            let parts = if word.len() < MIN_PART { Vec::new() } else { self.index.containing(&word) };
            parts.into_iter().map(str::to_owned).collect()
        });
        all.collect()
    }
}

impl IndexedTool {
    /// Whether all of these words occur, each in lower case and as names are compared.
    fn has_all(&self, words: &[(String, String)]) -> bool {
        words.iter().all(|(word, plain)| self.text.contains(word) || self.plain_text.contains(plain))
    }
}

/// The words of a tool, each with its weight.
fn weighted_words(entry: &ToolEntry) -> Vec<(String, f32)> {
    let definition = entry.definition();
    let mut weighted = Vec::new();
    let mut add = |text: &str, weight: f32| weighted.extend(words(text).map(|word| (word, weight)));
    for name in definition.names() {
        add(&split_case(name), NAME_WEIGHT);
        // "readfile" finds read_file.
        add(&plain(name), 1.0);
    }
    add(&definition.label, LABEL_WEIGHT);
    add(&definition.description, 1.0);
    for parameter in definition.parameters["properties"].as_object().into_iter().flat_map(serde_json::Map::keys) {
        add(&split_case(parameter), 1.0);
    }
    weighted
}

/// `WebFetch` as "Web Fetch".
fn split_case(name: &str) -> String {
    let mut split = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for ch in name.chars() {
        if was_lower && ch.is_uppercase() {
            split.push(' ');
        }
        was_lower = ch.is_lowercase() || ch.is_numeric();
        split.push(ch);
    }
    split
}

#[cfg(test)]
mod tests {
    use haft_contract::ToolSource;
    use haft_engine::Registry;
    use haft_testkit::ScriptedTool;

    use super::*;

    fn tools() -> SearchIndex {
        let registry = Registry::new();
        for (name, description, alias) in [
            ("read_file", "Read a text file from the workspace.", Some("read")),
            ("write_file", "Write text to a file.", None),
            ("web_fetch", "Get a page from the web as text.", Some("WebFetchTool")),
            ("calendar_events", "List what is planned for a day.", None),
        ] {
            let tool = ScriptedTool::new(name).define(|definition| {
                definition.description = description.into();
                definition.aliases = alias.into_iter().map(Into::into).collect();
            });
            registry.register(tool.shared(), ToolSource::BuiltIn).unwrap();
        }
        SearchIndex::new(registry.version(), registry.entries())
    }

    fn found(query: &str, most: usize) -> (Vec<String>, Vec<String>) {
        let found = ToolQuery::read(query).unwrap().search(&tools(), most, |entry| entry.name() != "gone");
        (found.tools.iter().map(|entry| entry.name().to_owned()).collect(), found.missing)
    }

    #[test]
    fn words_find_the_best_first_and_names_find_themselves() {
        for (query, most, names, missing) in [
            ("file", 5, vec!["write_file", "read_file"], vec![]),
            ("file", 1, vec!["write_file"], vec![]),
            ("read a file", 5, vec!["read_file", "write_file", "calendar_events", "web_fetch"], vec![]),
            ("write_file", 5, vec!["write_file", "read_file"], vec![]),
            ("WEB page", 5, vec!["web_fetch"], vec![]),
            ("WebFetch", 1, vec!["web_fetch"], vec![]),
            ("file +workspace", 5, vec!["read_file"], vec![]),
            ("file +workspa", 5, vec!["read_file"], vec![]),
            ("+file +page", 5, vec![], vec![]),
            ("+nothing file", 5, vec![], vec![]),
            ("planning days", 5, vec!["calendar_events"], vec![]),
            ("calend", 5, vec!["calendar_events"], vec![]),
            ("readfile", 5, vec!["read_file"], vec![]),
            ("xylophone", 5, vec![], vec![]),
            ("select:web_fetch,read", 1, vec!["web_fetch", "read_file"], vec![]),
            ("Select: WebFetch, web-fetch-tool, gone", 5, vec!["web_fetch"], vec!["gone"]),
        ] {
            let expected = (names.iter().map(ToString::to_string).collect(), missing.iter().map(ToString::to_string).collect());
            assert_eq!(found(query, most), expected, "{query}");
        }
    }

    #[test]
    fn a_tool_that_is_not_offered_leaves_its_place_to_the_next() {
        let index = tools();
        for (query, expected) in [("file", vec!["read_file"]), ("select:write_file", vec![])] {
            let found = ToolQuery::read(query).unwrap().search(&index, 1, |entry| entry.name() != "write_file");
            assert_eq!(found.tools.iter().map(|entry| entry.name()).collect::<Vec<_>>(), expected, "{query}");
        }
    }

    #[test]
    fn a_query_that_means_nothing_says_what_to_write() {
        let nothing = "The argument 'query' names nothing: write words, or 'select:' and names of tools.";
        let long = "The argument 'query' is longer than 500 characters: use a few words.";
        for (query, message) in [("", nothing), (" , + ", nothing), ("select: ,", nothing), (&"x".repeat(501), long)] {
            assert_eq!(ToolQuery::read(query).err().unwrap().message(), message);
        }
        assert_eq!(ToolQuery::read(" Web-Fetch  tool ").unwrap().normalised(), "webfetch tool");
    }
}
