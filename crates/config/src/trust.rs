//! What of a project's file starts something, and so waits until the person trusts the folder.

use std::path::Path;

use serde::Serialize;

use crate::hooks::Hook;
use crate::problem::Problem;
use crate::text::{quoted, sentence};
use crate::{Source, read};

/// Something that only trust would start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pending {
    /// What it is. Safe to print: control and hidden characters are escaped.
    pub what: String,
    /// Where it stands.
    pub source: Source,
}

impl Pending {
    pub(crate) fn new(what: impl AsRef<str>, source: Source) -> Self {
        Self { what: sentence(what.as_ref()), source }
    }
    pub(crate) fn hook(hook: &Hook) -> Self {
        Self::new(format!("hook on {}: {}", hook.event.as_str(), hook.command), hook.source.clone())
    }
}

/// A hook of a project that the person does not trust.
pub(crate) fn not_run(hook: &Hook) -> Problem {
    let message = format!("the project's hook on {} does not run, because this folder is not trusted", hook.event.as_str());
    let help = format!("it would start {}: run `haft trust` if you want that, or remove the hook", quoted(&hook.command));
    Problem::warning(hook.source.clone(), message).key("hooks").help(help)
}

/// The SHA-256 of the project's file, in hexadecimal digits; `None` if there is no such file. Trust is given to exactly
/// this content.
pub fn project_fingerprint(workspace: &Path) -> Result<Option<String>, String> {
    Ok(read::read_project(workspace)?.map(|text| fingerprint(&text)))
}

/// The fingerprint of a file with this text.
pub(crate) fn fingerprint(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    digest.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
