//! Globs on paths.

mod parse;

use std::borrow::Cow;
use std::fmt;
use std::path::{Component, Path};

use crate::name::{NameGlob, Token, unescaped, wildcard};

/// Characters that are special elsewhere. Taken literally they would protect nothing, and nobody would notice.
const UNSUPPORTED: [char; 6] = ['{', '}', '[', ']', '\\', '!'];

/// A part of a [`Glob`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// `**`: any number of names, also none.
    AnyNames,
    /// One name.
    Name(NameGlob),
}

/// Whether segments match all names; `fits` compares one name.
pub fn match_segments<N>(segments: &[Segment], names: &[N], fits: impl Fn(&NameGlob, &N) -> bool) -> bool {
    let is_star = |segment: &Segment| *segment == Segment::AnyNames;
    wildcard(segments, names.iter(), is_star, |segment, name| matches!(segment, Segment::Name(glob) if fits(glob, name)))
}

/// A glob on a path, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    text: String,
    is_absolute: bool,
    alternatives: Vec<Vec<Segment>>,
}

/// Why a text is not a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobError(String);

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GlobError {}

impl Glob {
    /// A glob for a search, with sets, alternatives and escapes. `src/**` is everything in `src`, but not `src` itself.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        let alternatives = parse::alternatives(text)?.into_iter().map(|tokens| {
            let mut segments = search_segments(&tokens);
            if segments.last() == Some(&Segment::AnyNames) {
                segments.push(Segment::Name(NameGlob::Wild(vec![Token::AnyRun])));
            }
            segments
        });
        Ok(Self { text: text.to_owned(), is_absolute: text.starts_with('/'), alternatives: alternatives.collect() })
    }

    /// A glob for paths to protect, for names that went through [`fold_name`](crate::fold_name). It matches the path that it
    /// names and everything beneath; unless it starts with `/`, at any depth.
    pub fn parse_protected(text: &str) -> Result<Self, GlobError> {
        check_protected(text)?;
        let is_absolute = text.starts_with('/');
        let start = (!is_absolute).then_some(Segment::AnyNames);
        let names = text.split('/').filter(|name| !matches!(*name, "" | "."));
        let segments = names.map(|name| match name {
            "**" => Segment::AnyNames,
            name => Segment::Name(NameGlob::with_wildcards(&unescaped(name)).fold_name()),
        });
        let segments = start.into_iter().chain(segments).chain([Segment::AnyNames]).collect();
        Ok(Self { text: text.to_owned(), is_absolute, alternatives: vec![segments] })
    }

    /// The glob as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Whether it counts from the root of the file system.
    pub fn is_absolute(&self) -> bool {
        self.is_absolute
    }
    /// The last name in it; `None` if it is all `**`.
    pub fn last_name(&self) -> Option<&NameGlob> {
        self.alternatives.iter().flatten().rev().find_map(|segment| if let Segment::Name(glob) = segment { Some(glob) } else { None })
    }

    /// Whether it matches the names of a path; `fits` compares one name.
    pub fn matches_by<N>(&self, names: &[N], fits: impl Fn(&NameGlob, &N) -> bool) -> bool {
        self.alternatives.iter().any(|segments| match_segments(segments, names, &fits))
    }
    /// Whether it matches a relative path.
    pub fn matches(&self, path: &Path) -> bool {
        let names = path.components().filter(|part| !matches!(part, Component::RootDir | Component::CurDir));
        let names: Vec<Cow<'_, str>> = names.map(|part| part.as_os_str().to_string_lossy()).collect();
        self.matches_by(&names, |glob, name| glob.matches(name))
    }
}

fn search_segments(tokens: &[Token]) -> Vec<Segment> {
    let names = tokens.split(|token| *token == Token::Char('/')).filter(|name| !matches!(name, [] | [Token::Char('.')]));
    names
        .map(|name| match name {
            [Token::AnyRun, Token::AnyRun] => Segment::AnyNames,
            name => Segment::Name(NameGlob::from_tokens(name.to_vec())),
        })
        .collect()
}

fn check_protected(text: &str) -> Result<(), GlobError> {
    let problem = if text.trim_matches(['/', '.']).trim().is_empty() {
        format!("the pattern '{text}' names nothing; write something like '**/*.key'")
    } else if text.starts_with('~') {
        format!("'~' is not expanded in the pattern '{text}'; write the full path")
    } else if text.split('/').any(|name| name == "..") {
        format!("the pattern '{text}' contains '..'; write the path without it")
    } else if let Some(ch) = text.chars().find(|ch| UNSUPPORTED.contains(ch) || ch.is_control()) {
        format!("the pattern '{text}' contains {ch:?}; only '*', '?' and '**' are special, so write one pattern for each case")
    } else {
        return Ok(());
    };
    Err(GlobError(problem))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::fold_name;

    /// Whether a protected glob matches a path beneath `/home/me/ws`.
    fn protects(pattern: &str, beneath: &str) -> bool {
        let glob = Glob::parse_protected(pattern).unwrap();
        let whole = if glob.is_absolute() { format!("home/me/ws/{beneath}") } else { beneath.to_owned() };
        let names: Vec<String> = whole.split('/').map(fold_name).collect();
        glob.matches_by(&names, |glob, name| glob.matches(name))
    }

    #[test]
    fn protected_globs_cover_what_they_name_and_all_beneath() {
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
            assert_eq!(protects(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn protected_glob_that_would_silently_protect_nothing_is_refused() {
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
            let error = Glob::parse_protected(pattern).unwrap_err().to_string();
            assert!(error.contains(word), "{pattern:?}: {error}");
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_few() {
        let pattern = format!("{}b", "*a".repeat(100));
        let started = Instant::now();
        assert!(!protects(&pattern, &"a".repeat(255)));
        assert!(!protects(&"**/a/".repeat(100), &"a/".repeat(90)));
        assert!(started.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn search_globs_match_paths_name_by_name() {
        for (pattern, path, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "a/b.rs", false),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "a/b/c.rs", true),
            ("src/**", "src", false),
            ("src/**", "src/a/b", true),
            ("src/**/b", "src/b", true),
            ("{a,b/c}/*.x", "b/c/1.x", true),
            ("{a,b/c}/*.x", "b/1.x", false),
            ("a{,b}", "a", true),
            ("*.{rs,{ts,tsx}}", "a.tsx", true),
            ("[a-c]?", "bx", true),
            ("[!a-c]?", "bx", false),
            ("[^a]", "b", true),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("[{]", "{", true),
            ("a,b", "a,b", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("?", "é", true),
            ("a**b", "axxb", true),
            ("a**b", "ax/xb", false),
        ] {
            assert_eq!(Glob::parse(pattern).unwrap().matches(Path::new(path)), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn search_glob_that_cannot_be_read_is_explained() {
        let bombs = ["{a,b}".repeat(60), "{,}".repeat(60), "{".repeat(200)];
        for (pattern, message) in [
            ("[a", "unclosed set of characters; missing ']'"),
            ("[b-a]", "the range 'b-a' is empty; write 'a-b'"),
            ("{a,b", "unclosed alternatives; missing '}' (write '\\{' for the character)"),
            ("a}", "'}' without '{' (write '\\}' for the character)"),
            ("a\\", "nothing follows the last '\\'"),
            (&bombs[0], "the alternatives stand for too many patterns"),
            (&bombs[1], "the alternatives stand for too many patterns"),
            (&bombs[2], "the alternatives are nested too deeply"),
        ] {
            assert_eq!(Glob::parse(pattern).unwrap_err().to_string(), message, "{pattern}");
        }
    }
}
