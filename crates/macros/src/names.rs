//! Names: from one case to another, checked, and the ones nearest to a slip.

use proc_macro2::Span;
use syn::{Error, Result};

/// Providers refuse longer names.
const LONGEST: usize = 64;

/// `ReadFile` → `read_file`, `HTTPGet` → `http_get`.
pub(crate) fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (place, letter) in letters.iter().enumerate() {
        let after_word = place > 0 && !letters[place - 1].is_uppercase() && letters[place - 1] != '_';
        let before_word = place > 0 && letters[place - 1].is_uppercase() && letters.get(place + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (after_word || before_word) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// `read_file` → `ReadFile`.
pub(crate) fn upper_camel_case(name: &str) -> String {
    name.split('_').map(capitalised).collect()
}

/// `read_file` → `Read file`.
pub(crate) fn label(name: &str) -> String {
    capitalised(&name.replace('_', " "))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Refuses what is no tool name, at the place where it was written.
pub(crate) fn check(name: &str, span: Span) -> Result<()> {
    let starts_well = name.starts_with(|letter: char| letter.is_ascii_lowercase());
    if !starts_well || !name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_') {
        return Err(Error::new(
            span,
            format!(
                "`{name}` is not a tool name: use lower-case letters, digits and `_`, starting with a letter\n\nhelp: such as `name = \"{}\"`",
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
    let plain: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let snake = snake_case(plain.trim_matches(|letter: char| letter == '_' || letter.is_ascii_digit()));
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
    fn cases_are_turned_into_each_other() {
        for (camel, snake) in [
            ("ReadFile", "read_file"),
            ("Add", "add"),
            ("GetCurrentTime", "get_current_time"),
            ("Http2Get", "http2_get"),
            ("HTTPGet", "http_get"),
            ("REPL", "repl"),
            ("Snake_Already", "snake_already"),
        ] {
            assert_eq!(snake_case(camel), snake);
        }
        for (snake, camel) in [("read_file", "ReadFile"), ("add", "Add"), ("http2_get", "Http2Get"), ("_odd__name_", "OddName")] {
            assert_eq!(upper_camel_case(snake), camel);
        }
        assert_eq!(label("get_current_time"), "Get current time");
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_a_better_one() {
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
