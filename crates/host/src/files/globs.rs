//! Patterns on paths: `*` and `?` within a name, `**` for any number of names.

use super::names::{self, Name, Names};

/// Marks with a meaning elsewhere. Taken literally they would protect nothing, and nobody would notice.
const UNSUPPORTED: [char; 6] = ['{', '}', '[', ']', '\\', '!'];

/// A pattern, ready to be matched. It covers what it names and everything beneath.
#[derive(Debug)]
pub(super) struct Pattern {
    text: String,
    absolute: bool,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    AnyNames,
    Name(String),
    Wild(Vec<char>),
}

/// The last name of a pattern: what it covers, or something above that, is called so.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending<'a> {
    Anything,
    Name(&'a str),
    /// With `*` and `?`.
    Wild(&'a [char]),
}

impl Pattern {
    /// Reads a pattern. One that starts with `/` counts from the top of the machine, any other matches at any depth.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        check(text)?;
        let absolute = text.starts_with('/');
        let mut pieces: Vec<_> = text.split('/').filter(|name| !matches!(*name, "" | ".")).map(Piece::parse).collect();
        if !absolute {
            pieces.insert(0, Piece::AnyNames);
        }
        pieces.push(Piece::AnyNames);
        Ok(Self { text: text.to_owned(), absolute, pieces })
    }

    /// The pattern as it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The last name in it.
    pub(super) fn ending(&self) -> Ending<'_> {
        let last = self.pieces.iter().rev().find_map(|piece| match piece {
            Piece::AnyNames => None,
            Piece::Name(name) => Some(Ending::Name(name)),
            Piece::Wild(letters) => Some(Ending::Wild(letters)),
        });
        last.unwrap_or(Ending::Anything)
    }

    /// Whether it names the path or a folder above it.
    pub(super) fn covers(&self, names: &Names) -> bool {
        let names = if self.absolute { names.whole() } else { names.beneath() };
        wildcard(&self.pieces, names, |piece| matches!(piece, Piece::AnyNames), Piece::fits)
    }
}

fn check(text: &str) -> Result<(), String> {
    if text.trim_matches(['/', '.']).trim().is_empty() {
        return Err(format!("the pattern '{text}' names nothing; write something like '**/*.key'"));
    }
    if text.starts_with('~') {
        return Err(format!("'~' is not expanded in the pattern '{text}'; write the full path"));
    }
    if text.split('/').any(|name| name == "..") {
        return Err(format!("the pattern '{text}' holds '..'; write the path without it"));
    }
    match text.chars().find(|letter| UNSUPPORTED.contains(letter) || letter.is_control()) {
        Some(letter) => {
            Err(format!("the pattern '{text}' holds {letter:?}; only '*', '?' and '**' are special, so write one pattern for each case"))
        }
        None => Ok(()),
    }
}

impl Piece {
    fn parse(name: &str) -> Self {
        match name {
            "**" => Self::AnyNames,
            _ if name.contains(['*', '?']) => Self::Wild(names::fold(name.as_ref()).chars().collect()),
            _ => Self::Name(names::fold(name.as_ref())),
        }
    }
    fn fits(&self, name: &Name) -> bool {
        match self {
            Self::AnyNames => true,
            Self::Name(wanted) => name.is(wanted),
            Self::Wild(wanted) => {
                let letters: Vec<char> = name.as_str().chars().collect();
                wildcard(wanted, &letters, |mark| *mark == '*', |mark, letter| *mark == '?' || mark == letter)
            }
        }
    }
}

/// Matches with one point to return to: at most `pattern × text` steps, whatever the pattern.
fn wildcard<P, T>(pattern: &[P], text: &[T], is_star: impl Fn(&P) -> bool, fits: impl Fn(&P, &T) -> bool) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut resume = None;
    while let Some(item) = text.get(position) {
        match (pattern.get(at), resume) {
            (Some(piece), _) if is_star(piece) => {
                resume = Some((at + 1, position));
                at += 1;
            }
            (Some(piece), _) if fits(piece, item) => {
                at += 1;
                position += 1;
            }
            (_, Some((after_star, start))) => {
                resume = Some((after_star, start + 1));
                at = after_star;
                position = start + 1;
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;

    fn covers(pattern: &str, beneath: &str) -> bool {
        Pattern::parse(pattern).unwrap().covers(&Names::of(Path::new("/home/me/ws"), Path::new(beneath)))
    }

    #[test]
    fn patterns_cover_what_they_name_and_all_beneath() {
        for (pattern, path, expected) in [
            ("**/*.key", "a.key", true),
            ("**/*.key", "a/b/c.KEY", true),
            ("*.key", "a/b.key", true),
            ("*.key", "a.key/inside", true),
            ("*.key", "a.keys", false),
            ("*.key", ".key", true),
            ("secrets", "a/secrets/deep/x", true),
            ("secrets", "a/secretsx", false),
            ("secrets/**", "secrets", true),
            ("a/*/c", "x/a/b/c", true),
            ("a/*/c", "x/a/b/d/c", false),
            ("a/**/c", "x/a/b/d/c/e", true),
            ("a/**/c", "a/c", true),
            (".env.?", ".env.1", true),
            (".env.?", ".env.", false),
            ("/home/me/ws/x", "x", true),
            ("/home/*/ws/**", "x", true),
            ("/x", "x", false),
            ("/home/me/w", "x", false),
            ("ws/x", "x", false),
        ] {
            assert_eq!(covers(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_pattern_that_would_silently_protect_nothing_is_refused() {
        for (pattern, word) in [
            ("", "names nothing"),
            (" ", "names nothing"),
            ("/", "names nothing"),
            ("./", "names nothing"),
            ("~/x", "'~'"),
            ("a/../b", "'..'"),
            ("*.{pem,key}", "'{'"),
            ("[ab]", "'['"),
            ("!x", "'!'"),
            ("a\\b", "'\\\\'"),
            ("a\nb", "'\\n'"),
        ] {
            let error = Pattern::parse(pattern).unwrap_err();
            assert!(error.contains(word), "{pattern:?}: {error}");
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_few() {
        let pattern = format!("{}b", "*a".repeat(100));
        let started = Instant::now();
        assert!(!covers(&pattern, &"a".repeat(255)));
        assert!(!covers(&"**/a/".repeat(100), &"a/".repeat(90)));
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}
