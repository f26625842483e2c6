//! What of a project's file starts something, and so waits until the person trusts the folder.

use std::path::{Path, PathBuf};

use haft_contract::visible;
use ring::digest::{Context, Digest, SHA256, digest};
use serde::Serialize;

use crate::hooks::Hook;
use crate::problem::Problem;
use crate::text::quoted;
use crate::{Source, read};

/// The field of a [`Pending`] that names a file; there is one for each.
pub const FILES: &str = "runs or reads";

/// Something that only trust would start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pending {
    /// What it is. Safe to print: control and hidden characters are escaped. Nothing is cut.
    pub what: String,
    /// Everything that it says, and the files it names: a person must see exactly what they trust. Safe to print, too.
    pub fields: Vec<(&'static str, String)>,
    /// Where it stands.
    pub source: Source,
}

impl Pending {
    pub(crate) fn new(what: impl AsRef<str>, source: Source) -> Self {
        Self { what: visible::line(what.as_ref()).into_owned(), fields: Vec::new(), source }
    }

    pub(crate) fn hook(hook: &Hook, workspace: &Path) -> Self {
        let matches: Vec<&str> = hook.matches.iter().map(|entry| entry.value.as_str()).collect();
        let mut fields = vec![
            ("command", hook.command.clone()),
            ("match", if matches.is_empty() { "every tool".to_owned() } else { matches.join(", ") }),
            ("timeout_seconds", hook.timeout.as_secs().to_string()),
            ("on_failure", hook.on_failure.as_str().to_owned()),
            ("priority", hook.priority.to_string()),
        ];
        fields.extend(hook.name.iter().map(|name| ("name", name.clone())));
        let inside = |path: &PathBuf| path.strip_prefix(workspace).unwrap_or(path).display().to_string();
        fields.extend(hook.files.iter().map(|file| (FILES, inside(file))));
        for (_, value) in &mut fields {
            *value = visible::line(value).into_owned();
        }
        Self { fields, ..Self::new(format!("hook on {}", hook.event.as_str()), hook.source.clone()) }
    }
}

/// A hook of a project that the person does not trust.
pub(crate) fn not_run(hook: &Hook) -> Problem {
    let message = format!("the project's hook on {} does not run, because this folder is not trusted", hook.event.as_str());
    let help = format!(
        "it would start {}: see `haft trust --show`, and run `haft trust` if you want that, or remove the hook",
        quoted(&hook.command)
    );
    Problem::warning(hook.source.clone(), message).key("hooks").help(help)
}

/// What an agent could change to have a hook do something else, and nothing keeps it from: whole folders, of which nobody
/// knows what is read.
pub(crate) fn doubtful(hook: &Hook, workspace: &Path) -> Vec<Problem> {
    let inside = |path: &PathBuf| quoted(&path.strip_prefix(workspace).unwrap_or(path).to_string_lossy());
    let folders = hook.folders.iter().map(|folder| {
        let message = format!("the hook's command names the folder {} of the workspace: an agent can change what is in it", inside(folder));
        (message, "name the files themselves, which are then protected, or keep them outside the workspace")
    });
    let missing = hook.missing.iter().map(|file| {
        let message = format!("the hook's command names {} of the workspace, which is not there", inside(file));
        (message, "no tool may create it; create it yourself, or correct the command")
    });
    let told = |(message, help): (String, &str)| Problem::warning(hook.source.clone(), message).key("hooks[].command").help(help);
    folders.chain(missing).map(told).collect()
}

/// Larger than any script; a file that is not read whole is not trusted.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// More files than any project's hooks name.
const MAX_FILES: usize = 64;

/// The SHA-256, in hexadecimal digits, of a project's file and of the files that its hooks name, or why there is none.
/// Trust is given to exactly this content.
pub(crate) fn fingerprint<'h>(text: &str, hooks: impl Iterator<Item = &'h Hook>) -> Result<String, String> {
    let own = digest(&SHA256, text.as_bytes());
    let mut files: Vec<&PathBuf> = hooks.flat_map(|hook| hook.files.iter().chain(&hook.missing)).collect();
    files.sort_unstable();
    files.dedup();
    if files.is_empty() {
        return Ok(hexadecimal(&own));
    }
    if files.len() > MAX_FILES {
        return Err(format!("its hooks name {} files of the workspace, and {MAX_FILES} are the most", files.len()));
    }
    let mut all = Context::new(&SHA256);
    all.update(own.as_ref());
    for file in files {
        let path = file.as_os_str().as_encoded_bytes();
        let content =
            content(file).map_err(|why| format!("its hook names {}, which cannot be read: {why}", quoted(&file.to_string_lossy())))?;
        all.update(digest(&SHA256, path).as_ref());
        all.update(content.as_ref());
    }
    Ok(hexadecimal(&all.finish()))
}

/// The digest of a file's content, or of nothing where there is no file.
fn content(file: &Path) -> Result<Digest, String> {
    let bytes = read::bytes(file, MAX_FILE_BYTES)?;
    Ok(bytes.map_or_else(|| digest(&SHA256, b"no such file"), |bytes| digest(&SHA256, &bytes)))
}

fn hexadecimal(digest: &Digest) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    digest.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
