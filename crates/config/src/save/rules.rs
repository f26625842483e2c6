//! The text of the file with more rules.

use std::path::Path;

use super::edit::edited;
use super::tables::table_at;
use super::{SaveError, array};
use crate::decode::MAX_ENTRIES;

const KEY: &str = "rules.allow";

/// The text of the file with the rules in `rules.allow`; `None` if all are there already.
pub(super) fn with_rules(file: &Path, text: &str, rules: &[&str]) -> Result<Option<String>, SaveError> {
    let mut added = false;
    let changed = edited(file, text, |document| {
        let table = table_at(file, document, &["rules".to_owned()])?;
        let list = array::list(table, "allow").map_err(|expected| SaveError::wrong_type(file, KEY, expected))?;
        let before = list.len();
        for rule in rules {
            array::add(list, rule);
        }
        if list.len() > MAX_ENTRIES {
            let why = format!("'{KEY}' would have {} entries, and may have {MAX_ENTRIES}", list.len());
            return Err(SaveError::Unusable { file: file.to_owned(), why });
        }
        added = list.len() > before;
        Ok(())
    })?;
    Ok(added.then_some(changed))
}
