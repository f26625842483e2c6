//! The pattern of a search, and where the search begins.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use haft_contract::ToolError;

use crate::shared::words;

/// Longer patterns are refused: no honest one is.
const LONGEST: usize = 4096;

/// A pattern, ready to be matched against paths beneath where it starts.
#[derive(Debug)]
pub(super) struct Pattern {
    start: PathBuf,
    /// The plain names that lead from the base to the start.
    led: PathBuf,
    matched: GlobSet,
    is_negated: bool,
    names_hidden: bool,
    excluded: Option<GlobSet>,
}

impl Pattern {
    /// Reads a pattern that counts from `base`. The plain names that it begins with are where the search begins.
    pub(super) fn parse(text: &str, base: Option<&Path>, exclude: &[String]) -> Result<Self, ToolError> {
        check("pattern", text)?;
        let (is_negated, plain) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let (led, rest) = if is_negated { (PathBuf::new(), plain.to_owned()) } else { split(plain) };
        if rest.split('/').any(|name| name == "..") {
            return Err(ToolError::validation(format!(
                "Parameter 'pattern' holds '..' behind a wildcard: '{}'. Give the directory to look in as 'path'.",
                words::shown(text)
            )));
        }
        let excluded = if exclude.is_empty() { None } else { Some(excluded(exclude)?) };
        Ok(Self {
            start: start(base, &led),
            matched: compiled("pattern", std::slice::from_ref(&rest))?,
            is_negated,
            names_hidden: !is_negated && rest.split('/').any(|name| name.starts_with('.') && name != "."),
            excluded,
            led,
        })
    }

    /// The directory that the search begins in.
    pub(super) fn start(&self) -> &Path {
        &self.start
    }
    /// Whether that is a directory which the pattern names.
    pub(super) fn is_led_on(&self) -> bool {
        !self.led.as_os_str().is_empty()
    }
    /// Whether it asks for hidden files by their names.
    pub(super) fn names_hidden(&self) -> bool {
        self.names_hidden
    }
    /// Whether it means a path beneath the start.
    pub(super) fn matches(&self, beneath: &Path) -> bool {
        self.matched.is_match(beneath) != self.is_negated && !self.excludes(beneath)
    }

    fn excludes(&self, beneath: &Path) -> bool {
        let Some(excluded) = &self.excluded else { return false };
        let whole = self.led.join(beneath);
        whole.ancestors().filter(|path| !path.as_os_str().is_empty()).any(|path| excluded.is_match(path))
    }
}

fn start(base: Option<&Path>, led: &Path) -> PathBuf {
    match base {
        base if led.as_os_str().is_empty() => base.unwrap_or(Path::new(".")).to_owned(),
        Some(base) if base != Path::new(".") => base.join(led),
        _ => led.to_owned(),
    }
}

fn check(parameter: &str, text: &str) -> Result<(), ToolError> {
    if let Some(letter) = text.chars().find(|letter| letter.is_control()) {
        return Err(ToolError::validation(format!(
            "Parameter '{parameter}' holds the control character U+{:04X}: {:?}. Write a plain pattern, such as '**/*.rs'.",
            u32::from(letter),
            words::shown(text)
        )));
    }
    if text.len() > LONGEST {
        return Err(ToolError::validation(format!(
            "Parameter '{parameter}' is {} bytes long, and {LONGEST} is the most: '{}'. Give a shorter one.",
            text.len(),
            words::shown(text)
        )));
    }
    Ok(())
}

/// Splits off the plain names that a pattern begins with; its last name always stays. A directory stands for all in it.
fn split(text: &str) -> (PathBuf, String) {
    let whole = if text.ends_with('/') { format!("{text}**") } else { text.to_owned() };
    let mut led = PathBuf::new();
    let mut rest = whole.as_str();
    while let Some((name, behind)) = rest.split_once('/') {
        if name.contains(['*', '?', '[', ']', '{', '}', '\\']) {
            break;
        }
        match name {
            "" if led.as_os_str().is_empty() && rest.len() == whole.len() => led.push("/"),
            "" | "." => {}
            name => led.push(name),
        }
        rest = behind;
    }
    (led, rest.to_owned())
}

/// Patterns of what to leave out: those without a folder hold in every folder, as in `.gitignore`.
fn excluded(patterns: &[String]) -> Result<GlobSet, ToolError> {
    let anywhere = |text: &String| match text.trim_end_matches('/') {
        text if text.contains('/') => text.trim_start_matches("./").to_owned(),
        text => format!("**/{text}"),
    };
    patterns.iter().try_for_each(|text| check("exclude", text))?;
    compiled("exclude", &patterns.iter().map(anywhere).collect::<Vec<_>>())
}

fn compiled(parameter: &str, patterns: &[String]) -> Result<GlobSet, ToolError> {
    let mut set = GlobSetBuilder::new();
    for text in patterns {
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).empty_alternates(true).build();
        set.add(glob.map_err(|error| bad(parameter, text, &error))?);
    }
    set.build().map_err(|error| bad(parameter, &patterns.join(" "), &error))
}

fn bad(parameter: &str, text: &str, error: &globset::Error) -> ToolError {
    ToolError::validation(format!(
        "Parameter '{parameter}' is no pattern: '{}': {}. '\\' before a mark takes it as it is.",
        words::shown(text),
        error.kind()
    ))
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
            let pattern = Pattern::parse(text, base.map(Path::new), &[]).unwrap();
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
        let pattern = |text| Pattern::parse(text, None, &exclude).unwrap();
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
            assert_eq!(Pattern::parse(text, None, &[]).unwrap().names_hidden(), expected, "{text}");
        }
    }

    #[test]
    fn bad_patterns_are_explained() {
        let error = |text: &str| Pattern::parse(text, None, &[]).unwrap_err().message().to_owned();
        let escape = "'\\' before a mark takes it as it is.";
        assert_eq!(error("[a"), format!("Parameter 'pattern' is no pattern: '[a': unclosed character class; missing ']'. {escape}"));
        assert_eq!(
            error("{a,b"),
            format!(
                "Parameter 'pattern' is no pattern: '{{a,b': unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?). {escape}"
            )
        );
        assert_eq!(
            error("a\0b"),
            "Parameter 'pattern' holds the control character U+0000: \"a\\0b\". Write a plain pattern, such as '**/*.rs'."
        );
        assert_eq!(error("*/../x"), "Parameter 'pattern' holds '..' behind a wildcard: '*/../x'. Give the directory to look in as 'path'.");
        assert!(error(&"a".repeat(5000)).starts_with("Parameter 'pattern' is 5000 bytes long, and 4096 is the most: 'aaa"));
        let exclude = Pattern::parse("*", None, &["[".to_owned()]).unwrap_err();
        assert!(exclude.message().starts_with("Parameter 'exclude' is no pattern: '**/[': "), "{exclude}");
    }
}
