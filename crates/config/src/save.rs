//! Changing the person's own file: rules and agents, so that everything else in it stays as it was written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ListOf;
use crate::decode::{Complaint, MAX_TEXT_BYTES};
use crate::shape::shape;
use crate::text::quoted;

mod agent;
mod array;
mod edit;
mod file;
mod own;
mod rules;
mod tables;

pub use self::agent::AgentEdit;
pub use self::own::{OwnFile, Replaced};

/// What saving did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// The rules are in the file now.
    Added,
    /// All of them were in the file before.
    AlreadyThere,
}

/// Why nothing was saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The rule itself cannot be one.
    #[error("the rule {rule} cannot be saved: {why}")]
    Rule {
        /// The rule, quoted and short.
        rule: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file is there, and cannot be read or is not for changing.
    #[error("nothing was saved, because '{}' cannot be used: {why}; put the file right, or make the change by hand", .file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file is no TOML.
    #[error("nothing was saved, because '{}' is not valid TOML in line {line}: {why}; `haft config check` shows the place: correct it and try again", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// What should hold the change is something else.
    #[error("nothing was saved, because '{key}' in '{}' is not {expected}; `haft config check` shows the place: correct it and try again", .file.display())]
    WrongType {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// Somebody changed the file after it was read.
    #[error("nothing was saved, because '{}' was changed meanwhile; look at it, and try again", .file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// Another process is saving, and does not finish.
    #[error("nothing was saved, because another process keeps '{}' locked; try again when it has ended", .file.display())]
    Busy {
        /// The lock.
        file: PathBuf,
    },
    /// The file cannot be written.
    #[error("nothing was saved, because '{}' cannot be written: {source}; make room or correct the permissions, and try again", .file.display())]
    Write {
        /// The file or folder.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Longer than any other process takes that saves something.
const PATIENCE: Duration = Duration::from_secs(10);

/// Appends rules to `rules.allow` of the person's file: all of them at once, or none. Comments, order and formatting stay; a
/// file that is missing is made, private to the person; a link stays a link. Several processes may do so at once.
pub fn save_rules<R: AsRef<str>>(file: &Path, rules: &[R]) -> Result<Saved, SaveError> {
    let rules: Vec<&str> = rules.iter().map(AsRef::as_ref).collect();
    save_within(PATIENCE, file, &rules)
}

fn save_within(patience: Duration, file: &Path, rules: &[&str]) -> Result<Saved, SaveError> {
    rules.iter().try_for_each(|rule| fit(rule))?;
    let file = file::target(file)?;
    file::make_folder(&file)?;
    let lock = file::lock(&file, patience)?;
    let text = file::read(&file)?.unwrap_or_default();
    let Some(changed) = rules::with_rules(&file, &text, rules)? else { return Ok(Saved::AlreadyThere) };
    file::replace(&file, &changed)?;
    drop(lock);
    Ok(Saved::Added)
}

fn fit(rule: &str) -> Result<(), SaveError> {
    let why = match shape(ListOf::RulesAllow, rule) {
        _ if rule.trim().is_empty() => "it is empty".to_owned(),
        _ if rule.len() > MAX_TEXT_BYTES => format!("it is longer than {MAX_TEXT_BYTES} bytes"),
        Err(Complaint { message, .. }) => message,
        Ok(()) => return Ok(()),
    };
    let rule = haft_contract::visible::line(&quoted(rule)).into_owned();
    Err(SaveError::Rule { rule, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_never_released_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let held = file::lock(&file, PATIENCE).unwrap();
        let told = save_within(Duration::from_millis(1), &file, &["exec(ls)"]).unwrap_err().to_string();
        let lock = folder.path().join(".config.toml.lock");
        assert_eq!(
            told,
            format!("nothing was saved, because another process keeps '{}' locked; try again when it has ended", lock.display())
        );
        drop(held);
        assert_eq!(save_within(Duration::from_millis(1), &file, &["exec(ls)"]).unwrap(), Saved::Added);
    }
}
