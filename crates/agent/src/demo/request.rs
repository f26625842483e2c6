//! Parses the plain requests that the demo model understands.

use serde_json::{Value, json};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DemoRequest {
    Time { zone: Option<String> },
    Read { path: String },
    Write { path: String, content: String },
    Fetch { url: String },
    Search { pattern: String },
    Run { command: String },
    Machine,
    Notify { message: String },
    Delegate { task: String },
}

impl DemoRequest {
    /// The tools that can serve it, by every name of a dialect; the canonical one first.
    pub(super) fn tools(&self) -> &'static [&'static str] {
        match self {
            Self::Time { .. } => &["get_current_time"],
            Self::Read { .. } => &["read_file", "read"],
            Self::Write { .. } => &["write_file", "write"],
            Self::Fetch { .. } => &["web_fetch", "WebFetch", "http_request"],
            Self::Search { .. } => &["grep_search"],
            Self::Run { .. } => &["exec", "bash"],
            Self::Machine => &["system_info"],
            Self::Notify { .. } => &["notify"],
            Self::Delegate { .. } => &["agent", "Agent"],
        }
    }

    pub(super) fn arguments(&self) -> Value {
        match self {
            Self::Time { zone: Some(zone) } => json!({ "timezone": zone }),
            Self::Time { zone: None } | Self::Machine => json!({}),
            Self::Read { path } => json!({ "path": path }),
            Self::Write { path, content } => json!({ "path": path, "content": content }),
            Self::Fetch { url } => json!({ "url": url }),
            Self::Search { pattern } => json!({ "pattern": pattern }),
            Self::Run { command } => json!({ "command": command }),
            Self::Notify { message } => json!({ "message": message }),
            Self::Delegate { task } => json!({ "prompt": task, "description": task, "subagent_type": "explore" }),
        }
    }
}

/// How many requests of one text are served.
const MAX_REQUESTS: usize = 16;

/// All requests of a text, in order.
pub(super) fn requests(text: &str) -> Vec<DemoRequest> {
    clauses(text).iter().flat_map(|clause| request(clause)).take(MAX_REQUESTS).collect()
}

/// A text cut at "and", commas and ends of sentences, but not inside quotes.
fn clauses(text: &str) -> Vec<Vec<RequestWord>> {
    let mut clauses = vec![Vec::new()];
    for word in words(text) {
        let ends = !word.quoted && word.text.ends_with(['?', '!', ';', ',']);
        let is_joint = !word.quoted && matches!(word.text.to_lowercase().as_str(), "and" | "then" | "also");
        if !is_joint && let Some(clause) = clauses.last_mut() {
            clause.push(word);
        }
        if ends || is_joint {
            clauses.push(Vec::new());
        }
    }
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RequestWord {
    text: String,
    quoted: bool,
}

impl RequestWord {
    /// The word without punctuation.
    fn bare(&self) -> &str {
        if self.quoted { &self.text } else { self.text.trim_end_matches(['?', '!', ';', ',', '.', ':']) }
    }
    fn is(&self, wanted: &[&str]) -> bool {
        !self.quoted && wanted.contains(&self.bare().to_lowercase().as_str())
    }
    fn is_url(&self) -> bool {
        self.text.starts_with("http://") || self.text.starts_with("https://")
    }
    /// A name with an ending, or with folders.
    fn is_path(&self) -> bool {
        let bare = self.bare();
        let has_ending = bare.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty());
        !self.is_url() && !bare.is_empty() && (has_ending || bare.contains('/') || bare.starts_with('.'))
    }
}

fn words(text: &str) -> Vec<RequestWord> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let closing = match first {
            '"' | '\'' | '`' => Some(first),
            '“' => Some('”'),
            _ => None,
        };
        let inner = &rest[first.len_utf8()..];
        let (text, behind, quoted) = match closing.and_then(|closing| inner.split_once(closing)) {
            Some((quote, behind)) => (quote, behind, true),
            None => match rest.split_once(char::is_whitespace) {
                Some((word, behind)) => (word, behind, false),
                None => (rest, "", false),
            },
        };
        words.push(RequestWord { text: text.to_owned(), quoted });
        rest = behind.trim_start();
    }
    words
}

fn request(clause: &[RequestWord]) -> Vec<DemoRequest> {
    let has = |wanted: &[&str]| clause.iter().any(|word| word.is(wanted));
    let quoted = || clause.iter().find(|word| word.quoted).map(|word| word.text.clone());
    let path = || clause.iter().rev().find(|word| word.is_path()).map(|word| word.bare().to_owned());
    if has(&["explorer", "sub-agent", "subagent"])
        && let Some(task) = quoted()
    {
        return vec![DemoRequest::Delegate { task }];
    }
    if let Some(url) = clause.iter().find(|word| word.is_url()) {
        return vec![DemoRequest::Fetch { url: url.bare().to_owned() }];
    }
    if has(&["write", "save", "put", "create", "append"])
        && let (Some(content), Some(path)) = (quoted().or_else(|| unquoted_content(clause)), path())
    {
        return vec![DemoRequest::Write { path, content }];
    }
    if has(&["search", "find", "grep", "look"])
        && let Some(pattern) = quoted().or_else(|| after(clause, "for"))
    {
        return vec![DemoRequest::Search { pattern }];
    }
    if has(&["run", "execute"])
        && let Some(command) = quoted()
    {
        return vec![DemoRequest::Run { command }];
    }
    if has(&["notify", "remind", "tell"])
        && let Some(message) = quoted()
    {
        return vec![DemoRequest::Notify { message }];
    }
    if has(&["time", "date", "day", "clock"]) {
        return vec![DemoRequest::Time { zone: after(clause, "in").and_then(|place| zone(&place)) }];
    }
    if has(&["memory", "uptime", "machine", "system", "computer"]) {
        return vec![DemoRequest::Machine];
    }
    clause.iter().filter(|word| word.is_path()).map(|word| DemoRequest::Read { path: word.bare().to_owned() }).collect()
}

/// The content in `create FILE with CONTENT` or `write CONTENT to FILE`.
fn unquoted_content(clause: &[RequestWord]) -> Option<String> {
    ["with", "containing", "saying"].iter().find_map(|word| after(clause, word)).or_else(|| {
        let to = clause.iter().position(|word| word.is(&["to", "into", "in"]))?;
        let verb = clause.iter().position(|word| word.is(&["write", "save", "put", "append"]))?;
        let content: Vec<&str> = clause.get(verb + 1..to)?.iter().map(|word| word.text.as_str()).collect();
        Some(content.join(" ")).filter(|content| !content.is_empty())
    })
}

/// The words behind a word, to the end of the clause.
fn after(clause: &[RequestWord], word: &str) -> Option<String> {
    let at = clause.iter().position(|known| known.is(&[word]))?;
    let rest: Vec<&str> = clause[at + 1..].iter().map(RequestWord::bare).collect();
    Some(rest.join(" ")).filter(|rest| !rest.is_empty())
}

/// The time zone of a place that people often ask for.
fn zone(place: &str) -> Option<String> {
    const PLACES: &[(&str, &str)] = &[
        ("tokyo", "Asia/Tokyo"),
        ("london", "Europe/London"),
        ("paris", "Europe/Paris"),
        ("berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("los angeles", "America/Los_Angeles"),
        ("san francisco", "America/Los_Angeles"),
        ("chicago", "America/Chicago"),
        ("sydney", "Australia/Sydney"),
        ("delhi", "Asia/Kolkata"),
        ("beijing", "Asia/Shanghai"),
        ("shanghai", "Asia/Shanghai"),
        ("singapore", "Asia/Singapore"),
        ("dubai", "Asia/Dubai"),
        ("moscow", "Europe/Moscow"),
        ("utc", "UTC"),
    ];
    let known = PLACES.iter().find(|(name, _)| place.to_lowercase() == *name).map(|(_, zone)| (*zone).to_owned());
    known.or_else(|| place.contains('/').then(|| place.to_owned()))
}
