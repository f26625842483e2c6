//! Paths of keys: looked up in the key table, written as in a file, and suggested for an unknown one.

use haft_text::suggest::closest;

use crate::key::{ANY, EACH};
use crate::{ConfigKey, KEYS, foreign_keys};

/// The part of the key table that a path leads to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathMatch {
    Key(&'static ConfigKey),
    /// A table of keys.
    Section,
    Nothing,
}

/// Looks up a path of a file; chosen names and array tables match their patterns.
pub(crate) fn lookup(path: &[String]) -> PathMatch {
    let mut found = PathMatch::Nothing;
    for key in KEYS {
        let Some(mut rest) = rest(key, path) else { continue };
        if rest.next().is_none() {
            return PathMatch::Key(key);
        }
        found = PathMatch::Section;
    }
    found
}

/// Whether the user chooses the names in the table at a path.
pub(crate) fn has_chosen_names(path: &[String]) -> bool {
    names_in(path).any(|name| name == ANY)
}

/// The next part of every key in the table at a path.
fn names_in(table: &[String]) -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(move |key| rest(key, table)?.next())
}

/// The rest of a key's pattern after a path; `None` if it does not cover the path.
fn rest(key: &ConfigKey, path: &[String]) -> Option<impl Iterator<Item = &'static str> + use<>> {
    let mut pattern = key.segments();
    let covered = path.iter().all(|part| pattern.next().is_some_and(|wanted| wanted == ANY && part != EACH || wanted == part));
    covered.then_some(pattern)
}

/// The positions of chosen names in the paths of a key.
pub(crate) fn name_positions(key: &ConfigKey) -> impl Iterator<Item = usize> {
    key.segments().enumerate().filter(|(_, segment)| *segment == ANY).map(|(at, _)| at)
}

/// The path as TOML writes it: a chosen name that is no plain word is quoted.
pub(crate) fn format_path(path: &[String]) -> String {
    let mut text = String::new();
    for part in path {
        if !text.is_empty() && part != EACH {
            text.push('.');
        }
        text.push_str(&segment(part));
    }
    text
}

fn segment(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if part == EACH || (!part.is_empty() && part.bytes().all(plain)) {
        return part.to_owned();
    }
    format!("\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Advice for an unknown key: what a key of another tool is here, the nearest name in its table, one that begins with it, the same name in another table, or
/// all names of its table.
pub(crate) fn suggestion(path: &[String]) -> String {
    let Some((name, table)) = path.split_last() else { return String::new() };
    if let Some((_, help)) = foreign_keys::HELP.iter().find(|(theirs, _)| *theirs == name.replace(['-', '_'], "").to_lowercase()) {
        return (*help).to_owned();
    }
    let mut siblings: Vec<&str> = Vec::new();
    for sibling in names_in(table).filter(|name| *name != ANY && *name != EACH) {
        if !siblings.contains(&sibling) {
            siblings.push(sibling);
        }
    }
    let begins_with_it = || siblings.iter().copied().find(|sibling| name.len() > 2 && sibling.starts_with(name.as_str()));
    if let Some(near) = closest(name, siblings.iter().copied()).or_else(begins_with_it) {
        return format!("did you mean '{}'?", format_path(&[table, &[near.to_owned()]].concat()));
    }
    let elsewhere = KEYS.iter().find(|key| key.segments().last() == Some(name)).map(|key| key.path);
    match elsewhere.or_else(|| closest(&format_path(path), KEYS.iter().map(|key| key.path))) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known here: {}", siblings.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_plain_words_are_quoted() {
        for (path, expected) in [
            (&["tools", "deny"][..], "tools.deny"),
            (&["agents", "a.b", "tools", "deny"], "agents.\"a.b\".tools.deny"),
            (&["tools", "by_provider", "openai/gpt-4.1", "allow"], "tools.by_provider.\"openai/gpt-4.1\".allow"),
            (&["agents", "say \"\\\"", "access"], "agents.\"say \\\"\\\\\\\"\".access"),
            (&["agents", "", "access"], "agents.\"\".access"),
            (&["hooks", "[]", "event"], "hooks[].event"),
        ] {
            let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
            assert_eq!(format_path(&path), expected);
        }
    }
}
