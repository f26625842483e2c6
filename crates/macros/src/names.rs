//! Names: conversion between cases, checks, and suggestions.

use haft_text::case::snake_case;
use proc_macro2::Span;
use syn::{Error, Result};

/// Providers refuse longer names.
const LONGEST: usize = 64;

/// `read_file` → `ReadFile`.
pub(crate) fn upper_camel_case(name: &str) -> String {
    name.split('_').map(capitalised).collect()
}

/// `read_file` → `Read file`.
pub(crate) fn label(name: &str) -> String {
    capitalised(&name.replace('_', " "))
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Checks the name of a tool.
pub(crate) fn check(name: &str, span: Span) -> Result<()> {
    let starts_well = name.starts_with(|ch: char| ch.is_ascii_lowercase());
    if !starts_well || !name.chars().all(|ch| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_') {
        return Err(Error::new(
            span,
            format!(
                "`{name}` is not a tool name: use lower-case ASCII letters, digits and `_`, starting with a letter\n\nhelp: such as `name = \"{}\"`",
                suggested(name)
            ),
        ));
    }
    if name.len() > LONGEST {
        return Err(Error::new(
            span,
            format!(
                "this tool name has {} characters: providers take at most {LONGEST}\n\nhelp: give a shorter one with `name = \"…\"`",
                name.len()
            ),
        ));
    }
    Ok(())
}

fn suggested(name: &str) -> String {
    let plain: String = name.chars().map(|ch| if ch.is_ascii_alphanumeric() { ch } else { '_' }).collect();
    let snake = snake_case(plain.trim_matches(|ch: char| ch == '_' || ch.is_ascii_digit()));
    if snake.is_empty() || !name.is_ascii() { "read_file".into() } else { snake }
}

/// The names, the one nearest to `wrong` first, ready for a message.
pub(crate) fn nearest_first(wrong: &str, names: &[&str]) -> String {
    let mut names: Vec<&str> = names.to_vec();
    let wrong = wrong.to_lowercase();
    names.sort_by_key(|name| {
        let name = name.to_lowercase();
        let partly_right = name.contains(&wrong) || wrong.contains(&name);
        (!partly_right, strsim::damerau_levenshtein(&wrong, &name))
    });
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_becomes_camel_case_and_labels() {
        for (snake, camel) in [("read_file", "ReadFile"), ("add", "Add"), ("http2_get", "Http2Get"), ("_odd__name_", "OddName")] {
            assert_eq!(upper_camel_case(snake), camel);
        }
        assert_eq!(label("get_current_time"), "Get current time");
    }

    #[test]
    fn invalid_names_are_refused_with_a_better_one() {
        for (name, better) in [
            ("Read-File", "read_file"),
            ("readFile", "read_file"),
            ("9lives", "lives"),
            ("_x", "x"),
            ("größe", "read_file"),
            ("", "read_file"),
        ] {
            let message = check(name, Span::call_site()).unwrap_err().to_string();
            assert!(message.contains(&format!("`{name}` is not a tool name")), "{message}");
            assert!(message.ends_with(&format!("such as `name = \"{better}\"`")), "{message}");
        }
        assert!(check("read_file2", Span::call_site()).is_ok());
        assert!(check(&"a".repeat(64), Span::call_site()).is_ok());
        assert!(check(&"a".repeat(65), Span::call_site()).unwrap_err().to_string().contains("65 characters"));
    }

    #[test]
    fn the_nearest_name_comes_first_and_ties_keep_their_order() {
        assert_eq!(nearest_first("File", &["System", "Web", "Files"]), "`Files`, `Web`, `System`");
        assert_eq!(nearest_first("timeout", &["name", "timeout_secs"]), "`timeout_secs`, `name`");
        assert_eq!(nearest_first("", &["b", "a"]), "`b`, `a`");
    }
}
