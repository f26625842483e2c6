//! Matches tools with a query.

use std::cmp::Reverse;
use std::sync::Arc;

use haft_contract::ToolError;
use haft_engine::ToolEntry;

/// How many tools one search gives at most.
pub(super) const MAX_RESULTS: usize = 20;
/// How long a query may be.
const MAX_CHARS: usize = 500;
const SELECT: &str = "select:";

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
            Some(_) => Terms::Names(words(&text[SELECT.len()..]).map(str::to_owned).collect()),
            None => Terms::Words(words(text).filter_map(word).collect()),
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

    pub(super) fn search(&self, tools: &[Arc<ToolEntry>], most: usize) -> SearchMatches {
        match &self.terms {
            Terms::Names(names) => select(names, tools),
            Terms::Words(words) => SearchMatches { tools: rank(words, tools, most), missing: Vec::new() },
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty())
}

fn word(text: &str) -> Option<(String, bool)> {
    let bare = text.trim_start_matches('+').to_lowercase();
    (!bare.is_empty()).then(|| (bare, text.starts_with('+')))
}

/// Alphanumeric characters in lower case, without a trailing "tool": the form in which names are compared.
fn plain(name: &str) -> String {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    match plain.strip_suffix("tool") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => plain,
    }
}

fn select(names: &[String], tools: &[Arc<ToolEntry>]) -> SearchMatches {
    let mut found = SearchMatches { tools: Vec::new(), missing: Vec::new() };
    for name in names.iter().take(MAX_RESULTS) {
        let wanted = plain(name);
        let matches = |entry: &&Arc<ToolEntry>| entry.definition().names().iter().any(|known| plain(known) == wanted);
        match tools.iter().find(matches) {
            Some(entry) if found.tools.iter().all(|known| known.name() != entry.name()) => found.tools.push(Arc::clone(entry)),
            Some(_) => {}
            None => found.missing.push(name.clone()),
        }
    }
    found
}

fn rank(words: &[(String, bool)], tools: &[Arc<ToolEntry>], most: usize) -> Vec<Arc<ToolEntry>> {
    let scored = tools.iter().map(|entry| (SearchText::new(entry).score(words), entry));
    let mut scored: Vec<_> = scored.filter(|(score, _)| *score > 0).collect();
    scored.sort_by_key(|(score, entry)| (Reverse(*score), entry.name().to_owned()));
    scored.into_iter().take(most).map(|(_, entry)| Arc::clone(entry)).collect()
}

/// The names and the text of a tool, as they are compared.
struct SearchText {
    names: Vec<String>,
    text: String,
}

impl SearchText {
    fn new(entry: &ToolEntry) -> Self {
        let definition = entry.definition();
        let names: Vec<String> = definition.names().iter().map(|name| name.to_lowercase()).collect();
        let text = format!("{} {} {}", names.join(" "), definition.label, definition.description).to_lowercase();
        Self { names, text }
    }

    /// How well it matches; 0 if it does not, or if a required word is missing.
    fn score(&self, words: &[(String, bool)]) -> u32 {
        let plain_text = plain(&self.text);
        if words.iter().any(|(word, must)| *must && !self.text.contains(word) && !plain_text.contains(&plain(word))) {
            return 0;
        }
        words.iter().map(|(word, _)| self.word_score(word, &plain_text)).sum()
    }

    fn word_score(&self, word: &str, plain_text: &str) -> u32 {
        let bare = plain(word);
        let points = |fits: bool, points: u32| if fits { points } else { 0 };
        points(self.text.contains(word), 2)
            + points(self.names.iter().any(|name| name == word), 8)
            + points(self.names.iter().any(|name| name.contains(word)), 4)
            + points(self.names.iter().any(|name| !bare.is_empty() && plain(name) == bare), 12)
            + points(!bare.is_empty() && plain_text.contains(&bare), 3)
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::ToolSource;
    use haft_engine::Registry;
    use haft_testkit::ScriptedTool;

    use super::*;

    fn tools() -> Vec<Arc<ToolEntry>> {
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
        registry.entries()
    }

    fn found(query: &str, most: usize) -> (Vec<String>, Vec<String>) {
        let found = ToolQuery::read(query).unwrap().search(&tools(), most);
        (found.tools.iter().map(|entry| entry.name().to_owned()).collect(), found.missing)
    }

    #[test]
    fn words_find_the_best_first_and_names_find_themselves() {
        for (query, most, names, missing) in [
            ("file", 5, vec!["read_file", "write_file"], vec![]),
            ("text file", 1, vec!["read_file"], vec![]),
            ("write_file", 5, vec!["write_file"], vec![]),
            ("WEB page", 5, vec!["web_fetch"], vec![]),
            ("file +workspace", 5, vec!["read_file"], vec![]),
            ("+file +page", 5, vec![], vec![]),
            ("+nothing file", 5, vec![], vec![]),
            ("planned day", 5, vec!["calendar_events"], vec![]),
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
    fn a_query_that_means_nothing_says_what_to_write() {
        let nothing = "The argument 'query' names nothing: write words, or 'select:' and names of tools.";
        let long = "The argument 'query' is longer than 500 characters: use a few words.";
        for (query, message) in [("", nothing), (" , + ", nothing), ("select: ,", nothing), (&"x".repeat(501), long)] {
            assert_eq!(ToolQuery::read(query).err().unwrap().message(), message);
        }
        assert_eq!(ToolQuery::read(" Web-Fetch  tool ").unwrap().normalised(), "webfetch tool");
    }
}
