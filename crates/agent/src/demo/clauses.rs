//! Splits a plain request into clauses, and each clause into words. Quotes keep text together.

/// A word, with its position in the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestWord {
    /// The word, or what is between the quotes.
    pub(super) text: String,
    pub(super) quoted: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl RequestWord {
    /// The word without punctuation.
    pub(super) fn bare(&self) -> &str {
        if self.quoted { &self.text } else { trim_punctuation(&self.text) }
    }

    pub(super) fn is(&self, wanted: &[&str]) -> bool {
        !self.quoted && wanted.contains(&self.bare().to_lowercase().as_str())
    }

    pub(super) fn is_url(&self) -> bool {
        self.text.starts_with("http://") || self.text.starts_with("https://")
    }

    /// A name with an ending, or with folders.
    pub(super) fn is_path(&self) -> bool {
        let bare = self.bare();
        let has_ending = bare.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty());
        !self.is_url() && !bare.is_empty() && (has_ending || bare.contains('/') || bare.starts_with('.'))
    }

    /// The path of a word: people write `@` before files.
    pub(super) fn path(&self) -> String {
        let bare = self.bare();
        if self.quoted { bare.to_owned() } else { bare.strip_prefix('@').unwrap_or(bare).to_owned() }
    }
}

/// A word of dots is a folder.
fn trim_punctuation(text: &str) -> &str {
    let trimmed = text.trim_end_matches(['?', '!', ';', ',', '.', ':']);
    if trimmed.is_empty() && text.starts_with('.') { text.trim_end_matches(['?', '!', ';', ',', ':']) } else { trimmed }
}

/// How a clause follows the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Then,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) joint: Joint,
    pub(super) words: Vec<RequestWord>,
}

impl Clause {
    /// Removes what only says that requests follow.
    fn drop_preface(&mut self) {
        let preface = self.words.iter().take_while(|word| word.is(PREFACE)).count();
        if let Some(end) = self.words[..preface].iter().rposition(|word| word.text.ends_with(':')) {
            self.words.drain(..=end);
        }
        if self.words.first().is_some_and(is_number) {
            self.words.remove(0);
        }
    }

    /// Whether it asks to be told the result of the request before, as every answer does.
    pub(super) fn asks_for_result(&self) -> bool {
        let begins = |word: &RequestWord| word.is(&["tell", "show", "give", "print"]);
        self.words.first().is_some_and(begins) && self.words.len() > 1 && self.words.iter().all(|word| word.is(RESULT))
    }

    /// Whether it only names a file for what follows: "in notes.txt, replace …".
    fn is_location(&self) -> bool {
        let [first, .., last] = self.words.as_slice() else { return false };
        self.words.len() <= 4 && first.is(&["in", "inside"]) && (last.is_path() || last.quoted)
    }

    /// The clause as it was written.
    pub(super) fn source<'t>(&self, text: &'t str) -> &'t str {
        source_of(text, &self.words)
    }
}

/// Words as they were written.
pub(super) fn source_of<'t>(text: &'t str, words: &[RequestWord]) -> &'t str {
    let (Some(first), Some(end)) = (words.first(), words.last()) else { return "" };
    text.get(first.start..end.end).unwrap_or_default()
}

/// A text cut at "and", "then", commas and ends of sentences, but not inside quotes.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let words = words(text);
    let mut clauses = vec![Clause { joint: Joint::And, words: Vec::new() }];
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let joint = joint(word, before, words.get(index + 1));
        let ends = ends_clause(word, words.get(index + 1));
        let Some(clause) = clauses.last_mut() else { break };
        match joint {
            // "and then" is one joint.
            Some(joint) if clause.words.is_empty() => clause.joint = if clause.joint == Joint::Then { Joint::Then } else { joint },
            Some(joint) => clauses.push(Clause { joint, words: Vec::new() }),
            None => {
                clause.words.push(word.clone());
                if ends && !clause.is_location() {
                    clauses.push(Clause { joint: Joint::And, words: Vec::new() });
                }
            }
        }
    }
    clauses.iter_mut().for_each(Clause::drop_preface);
    clauses.retain(|clause| !clause.words.is_empty());
    clauses
}

/// Words of a preface: "do two things at once:".
const PREFACE: &[&str] = &[
    "do",
    "make",
    "please",
    "these",
    "the",
    "following",
    "two",
    "three",
    "four",
    "some",
    "several",
    "things",
    "steps",
    "at",
    "once",
    "in",
    "parallel",
    "together",
    "a",
    "an",
    "http",
    "get",
    "request",
];

/// Words that ask for the result: "tell me what it says".
const RESULT: &[&str] = &[
    "tell", "show", "give", "print", "me", "us", "what", "it", "its", "they", "says", "say", "said", "contains", "contain", "is", "in",
    "the", "result", "results", "response", "answer", "output", "content", "contents", "back", "please", "if", "whether", "pass", "passed",
    "work", "worked",
];

/// `(1)`, `2.` and their like.
fn is_number(word: &RequestWord) -> bool {
    let digits = word.text.trim_start_matches('(').trim_end_matches([')', '.', ':']);
    !word.quoted && digits != word.text && !digits.is_empty() && digits.chars().all(|ch| ch.is_ascii_digit())
}

fn joint(word: &RequestWord, before: Option<&RequestWord>, next: Option<&RequestWord>) -> Option<Joint> {
    let is = |word: Option<&RequestWord>, wanted: &[&str]| word.is_some_and(|word| word.is(wanted));
    let after_that = (word.is(&["after"]) && is(next, &["that"])) || (word.is(&["that"]) && is(before, &["after"]));
    if after_that || word.is(&["then", "afterwards", "afterward"]) {
        return Some(Joint::Then);
    }
    word.is(&["and", "also", "&"]).then_some(Joint::And)
}

/// Whether a clause ends after this word: by punctuation, or by a full stop before another sentence.
fn ends_clause(word: &RequestWord, next: Option<&RequestWord>) -> bool {
    let begins = |next: &RequestWord| next.quoted || next.text.starts_with(char::is_uppercase);
    let is_sentence = word.text.ends_with('.') && !word.bare().is_empty() && word.bare() != word.text && next.is_some_and(begins);
    !word.quoted && (word.text.ends_with(['?', '!', ';', ',']) || is_sentence)
}

fn words(text: &str) -> Vec<RequestWord> {
    let mut words = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let closing = match first {
            '"' | '\'' | '`' => Some(first),
            '“' => Some('”'),
            '‘' => Some('’'),
            _ => None,
        };
        let inner = start + first.len_utf8();
        let quote = closing.and_then(|closing| Some((text[inner..].find(closing)? + inner, closing.len_utf8())));
        let (word, end) = if let Some((close, width)) = quote {
            (&text[inner..close], close + width)
        } else {
            let end = text[start..].find(char::is_whitespace).map_or(text.len(), |length| start + length);
            (&text[start..end], end)
        };
        words.push(RequestWord { text: word.to_owned(), quoted: quote.is_some(), start, end });
        start = end;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_cut_at_joints_but_not_inside_quotes() {
        use Joint::{And, Then};
        for (text, expected) in [
            ("read a.txt", &[(And, "read a.txt")][..]),
            ("read a.txt and b.txt", &[(And, "read a.txt"), (And, "b.txt")]),
            ("read a.txt, then list src.", &[(And, "read a.txt,"), (Then, "list src.")]),
            ("read a.txt and then list src", &[(And, "read a.txt"), (Then, "list src")]),
            ("read a.txt, after that list src", &[(And, "read a.txt,"), (Then, "list src")]),
            ("in the file a.txt, change x to y, then list src", &[(And, "in the file a.txt, change x to y,"), (Then, "list src")]),
            ("Read a.txt. Then delete b.txt.", &[(And, "Read a.txt."), (Then, "delete b.txt.")]),
            ("write 'this and then that' to a.txt", &[(And, "write 'this and then that' to a.txt")]),
            ("ls .", &[(And, "ls .")]),
            ("and what time is it?", &[(And, "what time is it?")]),
            ("  ", &[]),
            ("Do two things at once: (1) ls, and (2) read a", &[(And, "ls,"), (And, "read a")]),
            ("append Note: milk to a.txt", &[(And, "append Note: milk to a.txt")]),
            ("\"unclosed and more", &[(And, "\"unclosed"), (And, "more")]),
        ] {
            let clauses = clauses(text);
            let found: Vec<(Joint, &str)> = clauses.iter().map(|clause| (clause.joint, clause.source(text))).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
