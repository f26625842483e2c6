//! The phrases that the demo model understands. A clause must match a phrase with every word: a word that has no meaning here could
//! change the meaning of the whole.

use super::clauses::{Clause, RequestWord, source_of};
use super::phrase_requests::typed_command;
use super::phrases::PHRASES;
use super::request::DemoRequest;

/// A part of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// One of these words.
    Any(&'static [&'static str]),
    /// One of these words, or nothing.
    Maybe(&'static [&'static str]),
    /// A file or folder.
    Path,
    /// A name that is certainly one of a file: quoted, with an ending or folders, or with a capital.
    File,
    /// A word with a wildcard, or a file name.
    Glob,
    /// A web address.
    Address,
    /// A quoted text, or one word.
    Word,
    /// A number from one on.
    Number,
    /// A quoted text.
    Quoted,
    /// A quoted text, or words without quotes as they were written.
    Text,
    /// What a file is to hold: a quoted text, or words without quotes that do not describe it ("a poem").
    Content,
    /// A word with a wildcard.
    Wildcard,
    /// An ending with its dot.
    Ending,
    /// A quoted text, or words with quotes as they were written.
    Command,
}

impl Part {
    /// Whether its words must be those that are meant.
    fn is_exact(self) -> bool {
        matches!(self, Self::Content | Self::Command)
    }

    fn has_many_words(self) -> bool {
        matches!(self, Self::Text | Self::Content | Self::Command)
    }
}

/// Words without a meaning of their own here.
const FILLERS: &[&str] = &["the", "a", "an", "my", "our", "me", "please", "file", "just", "that", "which"];
/// Words that begin a description: what is meant by it was not said.
const DETERMINERS: &[&str] = &[
    "the", "a", "an", "some", "my", "our", "your", "this", "that", "these", "those", "all", "any", "every", "each", "today's", "current",
    "contents", "content", "output", "result", "results", "what", "whatever",
];
/// Words before a request.
const OPENINGS: &[&str] = &[
    "please", "kindly", "can", "could", "would", "will", "you", "i", "i'd", "want", "need", "like", "to", "hey", "hi", "hello", "ok",
    "okay", "now", "first", "next", "finally", "just", "let's", "lets", "go", "ahead", "so", "well",
];
/// Words after a request.
const ENDINGS: &[&str] = &[
    "please",
    "now",
    "thanks",
    "thank",
    "you",
    "for",
    "me",
    "here",
    "again",
    "in",
    "this",
    "current",
    "the",
    "folder",
    "directory",
    "project",
    "workspace",
    "repo",
    "repository",
];
/// Words that no file is named by.
const NOT_NAMES: &[&str] = &[
    "it",
    "this",
    "that",
    "them",
    "these",
    "those",
    "all",
    "every",
    "everything",
    "anything",
    "something",
    "each",
    "file",
    "files",
    "folder",
    "folders",
    "directory",
    "here",
    "there",
    "code",
    "tests",
    "test",
    "line",
    "lines",
    "word",
    "web",
    "internet",
    "memory",
];
/// Words that turn a request around, or make it one about something that may be.
const REVERSALS: &[&str] = &[
    "not", "don't", "dont", "don’t", "never", "without", "unless", "except", "if", "instead", "should", "why", "didn't", "won't", "cannot",
    "can't", "no", "avoid", "stop", "until", "when", "whenever", "every", "each",
];

/// A request as it was written, and the file that "it" is.
#[derive(Debug, Clone, Copy)]
struct RequestText<'t> {
    text: &'t str,
    it: Option<&'t str>,
}

/// The request of a clause; `None` if it is not understood. A bare file name repeats the request before it.
pub(super) fn request(clause: &Clause, text: &str, before: Option<&DemoRequest>) -> Option<DemoRequest> {
    let is_replace = clause.words.iter().any(|word| word.is(&["replace", "change"]));
    let reverses = |word: &RequestWord| word.is(REVERSALS) && !(is_replace && word.is(&["every", "each"]));
    if clause.words.iter().any(reverses) {
        return None;
    }
    if let ([word], Some(before)) = (clause.words.as_slice(), before) {
        return repeated(before, word);
    }
    if let Some(command) = typed_command(clause, text) {
        return Some(command);
    }
    let opening = clause.words.iter().take_while(|word| word.is(OPENINGS)).count();
    let words = &clause.words[opening..];
    let text = RequestText { text, it: before.and_then(DemoRequest::file) };
    PHRASES.iter().find_map(|phrase| {
        let mut captured = Vec::new();
        matches(phrase.parts, words, text, &mut captured).then(|| (phrase.request)(&captured))?
    })
}

/// `read a.txt and b.txt`.
fn repeated(before: &DemoRequest, word: &RequestWord) -> Option<DemoRequest> {
    let path = (word.is_path() || word.quoted).then(|| word.path());
    match before {
        DemoRequest::Read { lines, .. } => Some(DemoRequest::Read { path: path?, lines: *lines }),
        DemoRequest::Delete { .. } => Some(DemoRequest::Delete { path: path? }),
        _ if word.is_url() => Some(DemoRequest::Fetch { url: word.bare().to_owned() }),
        _ => None,
    }
}

/// Whether the words match the parts, each of them.
fn matches(parts: &[Part], words: &[RequestWord], text: RequestText<'_>, captured: &mut Vec<String>) -> bool {
    let Some((part, rest)) = parts.split_first() else { return words.iter().all(|word| word.is(ENDINGS)) };
    if let Part::Maybe(wanted) = part {
        // "the text foo" is foo: words before the wanted one are no part of what follows.
        let at = words.iter().take_while(|word| word.is(FILLERS) && !word.is(wanted)).count();
        let present = words.get(at).is_some_and(|word| word.is(wanted)) && matches(rest, &words[at + 1..], text, captured);
        // "a poem" is no content, and is not made one by leaving out its article.
        let is_content = rest.iter().find(|part| !matches!(part, Part::Maybe(_))).is_some_and(|part| part.is_exact());
        return present || matches(rest, words, text, captured) || (!is_content && skips_filler(parts, words, text, captured));
    }
    let longest = if part.has_many_words() { words.len() } else { words.len().min(1) };
    for length in (1..=longest).rev() {
        if let Some(capture) = capture(*part, &words[..length], text) {
            let before = captured.len();
            captured.extend(capture);
            if matches(rest, &words[length..], text, captured) {
                return true;
            }
            captured.truncate(before);
        }
    }
    skips_filler(parts, words, text, captured)
}

fn skips_filler(parts: &[Part], words: &[RequestWord], text: RequestText<'_>, captured: &mut Vec<String>) -> bool {
    // Text is taken as it was written.
    let may_skip = !parts.first().is_some_and(|part| part.has_many_words()) && words.first().is_some_and(|word| word.is(FILLERS));
    may_skip && matches(parts, &words[1..], text, captured)
}

/// What a part takes of the words: `None` if it does not match, and nothing for a fixed word.
fn capture(part: Part, words: &[RequestWord], text: RequestText<'_>) -> Option<Vec<String>> {
    let [first, ..] = words else { return None };
    let is_option = first.bare().starts_with('-');
    let is_name = || !first.is(NOT_NAMES) && !first.is(FILLERS) && !first.bare().is_empty() && !first.is_url() && !is_option;
    match part {
        Part::Any(wanted) => first.is(wanted).then(Vec::new),
        Part::Maybe(_) => None,
        Part::Path | Part::File if first.is(&["it"]) => text.it.map(|file| vec![file.to_owned()]),
        Part::Path => (first.quoted || is_name()).then(|| vec![first.path()]),
        Part::File => {
            let has_capital = first.bare().starts_with(char::is_uppercase) && is_name();
            (first.quoted || first.is_path() || has_capital).then(|| vec![first.path()])
        }
        Part::Glob => (first.bare().contains('*') || first.is_path()).then(|| vec![first.path()]),
        Part::Wildcard => first.bare().contains('*').then(|| vec![first.path()]),
        Part::Ending => first.bare().strip_prefix('.').filter(|ending| is_ending(ending)).map(|ending| vec![ending.to_owned()]),
        Part::Address => address(first).map(|address| vec![address]),
        Part::Word => (first.quoted || is_name()).then(|| vec![first.bare().to_owned()]),
        Part::Number => first.bare().parse::<u32>().is_ok_and(|number| number > 0).then(|| vec![first.bare().to_owned()]),
        Part::Quoted => first.quoted.then(|| vec![first.text.clone()]),
        Part::Text | Part::Content | Part::Command if words.len() == 1 && first.quoted => Some(vec![first.text.clone()]),
        Part::Text | Part::Content | Part::Command if words.len() == 1 && first.is(NOT_NAMES) => None,
        part if part.is_exact() && first.is(DETERMINERS) => None,
        // In a command a quote belongs there; elsewhere it is not clear what of it is meant.
        Part::Text | Part::Content if words.iter().any(|word| word.quoted) => None,
        Part::Text | Part::Content | Part::Command => {
            let text = unpunctuated(source_of(text.text, words));
            let text = if part == Part::Command { text.strip_suffix(" please").unwrap_or(text) } else { text };
            (!text.is_empty()).then(|| vec![text.to_owned()])
        }
    }
}

/// An ending of file names.
fn is_ending(text: &str) -> bool {
    !text.is_empty() && text.len() <= 8 && text.chars().all(char::is_alphanumeric)
}

/// A text without the punctuation of the sentence.
fn unpunctuated(text: &str) -> &str {
    let text = text.trim_end_matches(['?', '!', ';', ',']);
    text.strip_suffix('.').filter(|text| text.ends_with(char::is_alphanumeric)).unwrap_or(text)
}

/// A web address, also without its scheme.
fn address(word: &RequestWord) -> Option<String> {
    if word.is_url() {
        return Some(word.bare().to_owned());
    }
    let bare = word.bare();
    let host = bare.split(['/', ':']).next().unwrap_or_default();
    let is_domain = |ending: &&str| host.len() > ending.len() + 1 && host.ends_with(ending);
    [".com", ".org", ".net", ".io", ".dev"].iter().any(is_domain).then(|| format!("https://{bare}"))
}
