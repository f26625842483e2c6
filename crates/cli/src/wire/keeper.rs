//! Saves what a person allowed for good: in their own file, never the project's.

use std::path::{Path, PathBuf};

use haft_contract::{BoxFuture, RuleKeeper};

use super::settings::{Settings, user_file};

/// Saves rules in the person's file, or in the one that stands in for it.
#[derive(Debug)]
pub(super) struct Keeper {
    file: Option<PathBuf>,
}

impl Keeper {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { file: settings.named_file().map(Path::to_owned).or_else(|| user_file().ok()) }
    }
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl RuleKeeper for Keeper {
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let file = self.file.as_deref().ok_or("there is no file to save it in, because HOME is not set")?;
            for rule in rules {
                haft_config::save_rule(file, rule).map_err(|error| error.to_string())?;
            }
            Ok(file.display().to_string())
        })
    }
}
