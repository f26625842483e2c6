//! Shortened ids.

use crate::StoreError;

/// A shorter piece of an id is no id: it would fit by accident.
const MIN_LENGTH: usize = 4;
/// How many ids an ambiguous one names at most.
pub(crate) const MAX_CANDIDATES: usize = 5;

/// Whether this is long enough for a shortened id.
pub(crate) fn is_long_enough(short: &str) -> bool {
    short.chars().count() >= MIN_LENGTH
}

/// Whether this is a shortened form of that id.
pub(crate) fn fits(short: &str, id: &str) -> bool {
    is_long_enough(short) && (id.starts_with(short) || id.ends_with(short))
}

/// The only one of the ids that a short one fits, newest first.
pub(crate) fn only(what: &'static str, short: &str, mut candidates: Vec<String>) -> Result<String, StoreError> {
    match (candidates.pop(), candidates.is_empty()) {
        (None, _) => Err(StoreError::Missing { what, id: short.to_owned() }),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            candidates.push(last);
            Err(StoreError::Ambiguous { what, id: short.to_owned(), matches: candidates })
        }
    }
}
