//! Rules on commands by their first words: `git status *`.

use crate::analysis::{Analysis, Command, Verdict};
use crate::reason::{Concern, Reason, cut};
use crate::word::Word;

/// The most words in a pattern.
const MOST_WORDS: usize = 32;

/// A program and the beginning of its arguments.
///
/// Words are separated by blanks. A `*` by itself stands for any words, also none; inside a word it stands for any letters. A word
/// is a whole word: `git` is not `gitfoo`, and `git status` is not `git status -s`. What a `*` stands for is never a word that may
/// become an option when it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    program: String,
    words: Vec<String>,
}

impl Pattern {
    /// Reads a pattern. The program must be named: a pattern that fits any program allows everything.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty()).map(str::to_owned);
        let fault = |what: &str| Reason::new(Concern::Arguments, format!("the pattern '{}' {what}", cut(text)));
        let program = words.next().ok_or_else(|| fault("is empty; write a program and its first words, such as 'git status *'"))?;
        if program.contains('*') {
            return Err(fault("names no program; begin with its name, such as 'git status *'"));
        }
        let words: Vec<String> = words.collect();
        if words.len() > MOST_WORDS {
            return Err(fault("has more than 32 words; end it with '*'"));
        }
        Ok(Self { program, words })
    }

    /// Whether a command is one that the pattern means.
    pub fn matches(&self, command: &Command) -> bool {
        command.program.as_literal() == Some(&self.program) && covers(&self.words, &command.arguments)
    }
}

/// Whether every command of a line is meant by one of the patterns. A line that is not followed never is.
///
/// Files that the line writes are not part of this: see [`Analysis::writes`].
pub fn allows(patterns: &[Pattern], analysis: &Analysis) -> bool {
    let one = |command: &Command| patterns.iter().any(|pattern| pattern.matches(command));
    analysis.verdict() == Verdict::Followed && !analysis.commands.is_empty() && analysis.commands.iter().all(one)
}

/// Matches from the left; where it fails behind a `*`, the latest `*` takes one word more. That is enough, and never slow.
fn covers(wanted: &[String], given: &[Word]) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while next < given.len() {
        if at < wanted.len() && wanted[at] == "*" {
            star = Some((at, next));
            at += 1;
        } else if at < wanted.len() && fits(&wanted[at], &given[next]) {
            (at, next) = (at + 1, next + 1);
        } else if let Some((place, taken)) = star.filter(|(_, taken)| is_harmless(&given[*taken])) {
            (at, next) = (place + 1, taken + 1);
            star = Some((place, taken + 1));
        } else {
            return false;
        }
    }
    wanted[at..].iter().all(|word| word == "*")
}

fn is_harmless(word: &Word) -> bool {
    word.as_literal().is_some() || !word.may_be_option()
}

fn fits(wanted: &str, given: &Word) -> bool {
    given.as_literal().is_some_and(|given| glob(wanted.as_bytes(), given.as_bytes()))
}

fn glob(wanted: &[u8], given: &[u8]) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while next < given.len() {
        if wanted.get(at) == Some(&b'*') {
            star = Some((at, next));
            at += 1;
        } else if wanted.get(at) == given.get(next) {
            (at, next) = (at + 1, next + 1);
        } else if let Some((place, taken)) = star {
            (at, next) = (place + 1, taken + 1);
            star = Some((place, taken + 1));
        } else {
            return false;
        }
    }
    wanted[at..].iter().all(|byte| *byte == b'*')
}
