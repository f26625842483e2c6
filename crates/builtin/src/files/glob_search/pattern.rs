//! The pattern of a search, and its start directory.

use std::path::{Path, PathBuf};

use haft_contract::ToolError;
use haft_pattern::Glob;

use crate::shared::brief;

/// Most bytes of a pattern.
const LONGEST: usize = 4096;

/// A pattern on paths beneath its start directory.
#[derive(Debug)]
pub(super) struct SearchPattern {
    start: PathBuf,
    /// The literal names from the base to the start.
    prefix: PathBuf,
    glob: Glob,
    is_negated: bool,
    names_hidden: bool,
    excluded: Vec<Glob>,
}

impl SearchPattern {
    /// Parses a pattern relative to `base`. Its literal names at the beginning are the start of the search.
    pub(super) fn parse(text: &str, base: Option<&Path>, exclude: &[String]) -> Result<Self, ToolError> {
        check("pattern", text)?;
        let (is_negated, plain) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let (prefix, rest) = if is_negated { (PathBuf::new(), plain.to_owned()) } else { split(plain) };
        if rest.split('/').any(|name| name == "..") {
            return Err(ToolError::validation(format!(
                "Parameter 'pattern' has '..' after a wildcard: '{}'. Give the directory to search as 'path'.",
                brief(text)
            )));
        }
        Ok(Self {
            start: start(base, &prefix),
            glob: compile("pattern", &rest)?,
            is_negated,
            names_hidden: !is_negated && rest.split('/').any(|name| name.starts_with('.') && name != "."),
            excluded: exclude.iter().map(|text| excluded(text)).collect::<Result<_, _>>()?,
            prefix,
        })
    }

    /// The start directory.
    pub(super) fn start(&self) -> &Path {
        &self.start
    }
    /// Whether the pattern names the start directory.
    pub(super) fn names_start(&self) -> bool {
        !self.prefix.as_os_str().is_empty()
    }
    /// Whether it names hidden files.
    pub(super) fn names_hidden(&self) -> bool {
        self.names_hidden
    }
    /// Whether it matches a path beneath the start.
    pub(super) fn matches(&self, beneath: &Path) -> bool {
        self.glob.matches(beneath) != self.is_negated && !self.excludes(beneath)
    }

    fn excludes(&self, beneath: &Path) -> bool {
        if self.excluded.is_empty() {
            return false;
        }
        let whole = self.prefix.join(beneath);
        let mut folders = whole.ancestors().filter(|path| !path.as_os_str().is_empty());
        folders.any(|path| self.excluded.iter().any(|glob| glob.matches(path)))
    }
}

fn start(base: Option<&Path>, prefix: &Path) -> PathBuf {
    match base {
        base if prefix.as_os_str().is_empty() => base.unwrap_or(Path::new(".")).to_owned(),
        Some(base) if base != Path::new(".") => base.join(prefix),
        _ => prefix.to_owned(),
    }
}

fn check(parameter: &str, text: &str) -> Result<(), ToolError> {
    if let Some(ch) = text.chars().find(|ch| ch.is_control()) {
        return Err(ToolError::validation(format!(
            "Parameter '{parameter}' has the control character U+{:04X}: {:?}. Write a plain pattern, such as '**/*.rs'.",
            u32::from(ch),
            brief(text)
        )));
    }
    if text.len() > LONGEST {
        return Err(ToolError::validation(format!(
            "Parameter '{parameter}' is {} bytes long, and {LONGEST} is the most: '{}'. Give a shorter one.",
            text.len(),
            brief(text)
        )));
    }
    Ok(())
}

/// Splits off the literal names at the beginning; the last name always stays. A directory means all files in it.
fn split(text: &str) -> (PathBuf, String) {
    let whole = if text.ends_with('/') { format!("{text}**") } else { text.to_owned() };
    let mut prefix = PathBuf::new();
    let mut rest = whole.as_str();
    while let Some((name, behind)) = rest.split_once('/') {
        if name.contains(['*', '?', '[', ']', '{', '}', '\\']) {
            break;
        }
        match name {
            "" if prefix.as_os_str().is_empty() && rest.len() == whole.len() => prefix.push("/"),
            "" | "." => {}
            name => prefix.push(name),
        }
        rest = behind;
    }
    (prefix, rest.to_owned())
}

/// A pattern to exclude: one without a slash applies in every directory, as in `.gitignore`.
fn excluded(text: &str) -> Result<Glob, ToolError> {
    check("exclude", text)?;
    let anywhere = match text.trim_end_matches('/') {
        text if text.contains('/') => text.trim_start_matches("./").to_owned(),
        text => format!("**/{text}"),
    };
    compile("exclude", &anywhere)
}

fn compile(parameter: &str, text: &str) -> Result<Glob, ToolError> {
    Glob::parse(text).map_err(|error| {
        ToolError::validation(format!(
            "Parameter '{parameter}' is not a pattern: '{}': {error}. Put '\\' before a literal special character.",
            brief(text)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_beginning_says_where_to_look() {
        for (text, base, start, matches, others) in [
            ("**/*.rs", None, ".", &["a.rs", "a/b.rs"][..], &["a.ts"][..]),
            ("*.rs", None, ".", &["a.rs"], &["a/b.rs"]),
            ("src/**/*.rs", None, "src", &["a.rs", "a/b.rs"], &["a.ts"]),
            ("./src/./a/*.rs", None, "src/a", &["x.rs"], &["b/x.rs"]),
            ("src/main.rs", None, "src", &["main.rs"], &["a/main.rs"]),
            ("main.rs", Some("src"), "src", &["main.rs"], &[]),
            ("a/*", Some("src"), "src/a", &["x"], &["x/y"]),
            ("/abs/x/*.c", Some("src"), "/abs/x", &["y.c"], &[]),
            ("/*.c", None, "/", &["y.c"], &[]),
            ("src/", None, "src", &["a", "a/b"], &[]),
            ("{src,tests}/*.rs", None, ".", &["src/a.rs", "tests/a.rs"], &["a.rs"]),
            ("a/{b/c,d}/*.x", None, "a", &["b/c/1.x", "d/1.x"], &["b/1.x"]),
            ("*.{rs,{ts,tsx}}", None, ".", &["a.rs", "a.ts", "a.tsx"], &["a.md"]),
            ("[!a]*", None, ".", &["b"], &["a"]),
            ("!**/*.rs", None, ".", &["a.md", "b/c.md"], &["a.rs", "b/c.rs"]),
            ("\\*.rs", None, ".", &["*.rs"], &["a.rs"]),
            ("../x/*", None, "../x", &["a"], &[]),
        ] {
            let pattern = SearchPattern::parse(text, base.map(Path::new), &[]).unwrap();
            assert_eq!(pattern.start(), Path::new(start), "{text}");
            for (paths, expected) in [(matches, true), (others, false)] {
                for path in paths {
                    assert_eq!(pattern.matches(Path::new(path)), expected, "{text} on {path}");
                }
            }
        }
    }

    #[test]
    fn what_is_left_out_is_left_out_with_all_that_is_in_it() {
        let exclude = ["tests".to_owned(), "*.gen.rs".into(), "src/old/**".into(), "build/".into()];
        let pattern = |text| SearchPattern::parse(text, None, &exclude).unwrap();
        for (text, path, expected) in [
            ("**/*", "a.rs", true),
            ("**/*", "a/tests/b.rs", false),
            ("**/*", "tests", false),
            ("**/*", "x/y.gen.rs", false),
            ("**/*", "src/old/a/b", false),
            ("**/*", "src/older", true),
            ("**/*", "x/build/y", false),
            ("src/**", "old/a", false),
            ("src/**", "new/a", true),
        ] {
            assert_eq!(pattern(text).matches(Path::new(path)), expected, "{text} on {path}");
        }
    }

    #[test]
    fn a_pattern_that_names_a_hidden_file_asks_for_it() {
        for (text, expected) in [("**/.env*", true), ("*/.github/**", true), ("**/*.rs", false), ("./*", false), ("!.x", false)] {
            assert_eq!(SearchPattern::parse(text, None, &[]).unwrap().names_hidden(), expected, "{text}");
        }
    }

    #[test]
    fn bad_patterns_are_explained() {
        let error = |text: &str| SearchPattern::parse(text, None, &[]).unwrap_err().message().to_owned();
        let escape = "Put '\\' before a literal special character.";
        assert_eq!(error("[a"), format!("Parameter 'pattern' is not a pattern: '[a': unclosed set of characters; missing ']'. {escape}"));
        let unclosed = "unclosed alternatives; missing '}' (write '\\{' for the character)";
        assert_eq!(error("{a,b"), format!("Parameter 'pattern' is not a pattern: '{{a,b': {unclosed}. {escape}"));
        assert_eq!(
            error("a\0b"),
            "Parameter 'pattern' has the control character U+0000: \"a\\0b\". Write a plain pattern, such as '**/*.rs'."
        );
        assert_eq!(error("*/../x"), "Parameter 'pattern' has '..' after a wildcard: '*/../x'. Give the directory to search as 'path'.");
        assert!(error(&"a".repeat(5000)).starts_with("Parameter 'pattern' is 5000 bytes long, and 4096 is the most: 'aaa"));
        let exclude = SearchPattern::parse("*", None, &["[".to_owned()]).unwrap_err();
        assert!(exclude.message().starts_with("Parameter 'exclude' is not a pattern: '**/[': "), "{exclude}");
    }
}
