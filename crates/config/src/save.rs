//! Changes rules and agents in the user's file; the rest stays as it is written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ListKind;
use crate::decode::{EntryFault, MAX_TEXT_BYTES};
use crate::entry_syntax::check_syntax;
use crate::problem::quoted;

mod agent;
mod array;
mod edit;
mod file;
mod own;
mod rules;
mod server;
mod setting;
mod tables;
mod values;

pub use self::agent::AgentEdit;
pub use self::own::{OwnFile, Replaced};
pub use self::server::ServerEdit;
pub use self::setting::{ModelSetting, model_key};
pub use self::values::SettingEdit;

/// The result of saving.
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
    /// The rule is invalid.
    #[error("the rule {rule} cannot be saved: {why}")]
    Rule {
        /// The rule, quoted and short.
        rule: String,
        /// The fault.
        why: String,
    },
    /// The file exists, and cannot be read or changed.
    #[error("nothing was saved, because '{}' cannot be used: {why}; fix the file, or make the change by hand", .file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// The fault.
        why: String,
    },
    /// The file is not valid TOML.
    #[error("nothing was saved, because '{}' is not valid TOML in line {line}: {why}; `haft config check` shows the place: correct it and try again", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The fault.
        why: String,
    },
    /// A key has another type than the change needs.
    #[error("nothing was saved, because '{key}' in '{}' is not {expected}; `haft config check` shows the place: correct it and try again", .file.display())]
    WrongType {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
        /// The type it must have.
        expected: &'static str,
    },
    /// The file has changed since it was read.
    #[error("nothing was saved, because '{}' was changed meanwhile; look at it, and try again", .file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// Another process holds the lock.
    #[error("nothing was saved, because another process keeps '{}' locked; try again when it has ended", .file.display())]
    Busy {
        /// The lock.
        file: PathBuf,
    },
    /// The file cannot be written.
    #[error("nothing was saved, because '{}' cannot be written: {source}; free disk space or correct the permissions, and try again", .file.display())]
    Write {
        /// The file or folder.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl SaveError {
    fn wrong_type(file: &Path, key: &str, expected: &'static str) -> Self {
        Self::WrongType { file: file.to_owned(), key: key.to_owned(), expected }
    }
}

/// How long to wait for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Appends rules to `rules.allow` of the user's file: all of them at once, or none. Comments, order and formatting stay; a
/// missing file is created, private to the user; a link stays a link. Safe with several processes.
pub fn save_rules<R: AsRef<str>>(file: &Path, rules: &[R]) -> Result<Saved, SaveError> {
    let rules: Vec<&str> = rules.iter().map(AsRef::as_ref).collect();
    save_within(LOCK_TIMEOUT, file, &rules)
}

fn save_within(timeout: Duration, file: &Path, rules: &[&str]) -> Result<Saved, SaveError> {
    rules.iter().try_for_each(|rule| fit(rule))?;
    let file = file::target(file)?;
    file::make_folder(&file)?;
    let lock = file::lock(&file, timeout)?;
    let text = file::read(&file)?.unwrap_or_default();
    let Some(changed) = rules::with_rules(&file, &text, rules)? else { return Ok(Saved::AlreadyThere) };
    file::replace(&file, &changed)?;
    drop(lock);
    Ok(Saved::Added)
}

fn fit(rule: &str) -> Result<(), SaveError> {
    let why = match check_syntax(ListKind::RulesAllow, rule) {
        _ if rule.trim().is_empty() => "it is empty".to_owned(),
        _ if rule.len() > MAX_TEXT_BYTES => format!("it is longer than {MAX_TEXT_BYTES} bytes"),
        Err(EntryFault { message, .. }) => message,
        Ok(()) => return Ok(()),
    };
    let rule = haft_text::display::escape_line(&quoted(rule)).into_owned();
    Err(SaveError::Rule { rule, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_never_released_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let held = file::lock(&file, LOCK_TIMEOUT).unwrap();
        let error = save_within(Duration::from_millis(1), &file, &["exec(ls)"]).unwrap_err().to_string();
        let lock = folder.path().join(".config.toml.lock");
        assert_eq!(
            error,
            format!("nothing was saved, because another process keeps '{}' locked; try again when it has ended", lock.display())
        );
        drop(held);
        assert_eq!(save_within(Duration::from_millis(1), &file, &["exec(ls)"]).unwrap(), Saved::Added);
    }
}
