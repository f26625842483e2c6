//! The grammar of searches: sets, alternatives and escapes.

use std::iter::Peekable;
use std::str::Chars;

use super::GlobError;
use crate::name::{CharClass, Token};

/// The most tokens of all alternatives together.
const MOST_TOKENS: usize = 1 << 16;
const DEEPEST: usize = 16;

type Alternatives = Vec<Vec<Token>>;

/// Every pattern that the text stands for, without alternatives.
pub(super) fn alternatives(text: &str) -> Result<Alternatives, GlobError> {
    GlobParser { chars: text.chars().peekable() }.sequence(0)
}

struct GlobParser<'a> {
    chars: Peekable<Chars<'a>>,
}

impl GlobParser<'_> {
    /// Reads to the end, or within alternatives to the next `,` or `}`.
    fn sequence(&mut self, depth: usize) -> Result<Alternatives, GlobError> {
        let mut all: Alternatives = vec![Vec::new()];
        while let Some(ch) = self.chars.next_if(|ch| depth == 0 || !matches!(ch, ',' | '}')) {
            let token = match ch {
                '{' => {
                    all = product(&all, &self.group(depth + 1)?)?;
                    continue;
                }
                '}' => return Err(error("'}' without '{' (write '\\}' for the character)")),
                '*' => Token::AnyRun,
                '?' => Token::AnyChar,
                '[' => Token::Class(self.class()?),
                '\\' => Token::Char(self.chars.next().ok_or_else(|| error("nothing follows the last '\\'"))?),
                ch => Token::Char(ch),
            };
            for tokens in &mut all {
                tokens.push(token.clone());
            }
            check_size(all.iter().map(Vec::len).sum())?;
        }
        Ok(all)
    }

    fn group(&mut self, depth: usize) -> Result<Alternatives, GlobError> {
        if depth > DEEPEST {
            return Err(error("the alternatives are nested too deeply"));
        }
        let mut all = Vec::new();
        loop {
            all.extend(self.sequence(depth)?);
            match self.chars.next() {
                Some(',') => {}
                Some(_) => return Ok(all),
                None => return Err(error("unclosed alternatives; missing '}' (write '\\{' for the character)")),
            }
        }
    }

    /// A `]` that comes first stands for itself, and so does a `-` at either end.
    fn class(&mut self) -> Result<CharClass, GlobError> {
        let unclosed = || error("unclosed set of characters; missing ']'");
        let negated = self.chars.next_if(|ch| matches!(ch, '!' | '^')).is_some();
        let mut ranges = Vec::new();
        loop {
            let first = self.chars.next().ok_or_else(unclosed)?;
            if first == ']' && !ranges.is_empty() {
                return Ok(CharClass { negated, ranges });
            }
            let mut ahead = self.chars.clone();
            let last = match (ahead.next(), ahead.next()) {
                (Some('-'), Some(last)) if last != ']' => {
                    self.chars = ahead;
                    last
                }
                _ => first,
            };
            if first > last {
                return Err(error(format!("the range '{first}-{last}' is empty; write '{last}-{first}'")));
            }
            ranges.push((first, last));
        }
    }
}

fn product(starts: &Alternatives, ends: &Alternatives) -> Result<Alternatives, GlobError> {
    let tokens = |all: &Alternatives| all.iter().map(Vec::len).sum::<usize>();
    check_size(tokens(starts) * ends.len() + tokens(ends) * starts.len() + starts.len() * ends.len())?;
    Ok(starts.iter().flat_map(|start| ends.iter().map(move |end| [start.as_slice(), end].concat())).collect())
}

fn check_size(tokens: usize) -> Result<(), GlobError> {
    if tokens > MOST_TOKENS { Err(error("the alternatives stand for too many patterns")) } else { Ok(()) }
}

fn error(message: impl Into<String>) -> GlobError {
    GlobError(message.into())
}
