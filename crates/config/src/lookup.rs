//! What stands at a path of a file, by the key table.

use crate::key::{ANY, EACH};
use crate::{KEYS, Key};

/// What stands at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    /// A key.
    Key(&'static Key),
    /// A table that holds keys.
    Section,
    /// Nothing.
    Nothing,
}

/// Looks up a path as it stands in a file; chosen names and array tables match their patterns.
pub(crate) fn lookup(path: &[String]) -> Found {
    let mut found = Found::Nothing;
    for key in KEYS {
        let Some(mut rest) = rest(key, path) else { continue };
        if rest.next().is_none() {
            return Found::Key(key);
        }
        found = Found::Section;
    }
    found
}

/// Whether people choose the names in the table at a path.
pub(crate) fn holds_names(path: &[String]) -> bool {
    KEYS.iter().any(|key| rest(key, path).and_then(|mut rest| rest.next()) == Some(ANY))
}

/// What is left of a key's pattern after a path; `None` if it does not cover the path.
fn rest(key: &Key, path: &[String]) -> Option<impl Iterator<Item = &'static str>> {
    let mut pattern = key.segments();
    let covered = path.iter().all(|part| pattern.next().is_some_and(|wanted| wanted == ANY && part != EACH || wanted == part));
    covered.then_some(pattern)
}

/// Where the chosen names stand in the paths of a key.
pub(crate) fn chosen(key: &Key) -> impl Iterator<Item = usize> {
    key.segments().enumerate().filter(|(_, segment)| *segment == ANY).map(|(at, _)| at)
}
