//! Trust in a project's file: its hooks start only after the user has trusted their content.

use std::path::{Path, PathBuf};

use haft_text::display;
use haft_text::hex;
use ring::digest::{Context, Digest, SHA256, digest};
use serde::Serialize;

use crate::hooks::HookSettings;
use crate::problem::{Problem, quoted};
use crate::{SettingSource, read};

/// The field of a [`PendingTrust`] that names a file; there is one for each.
pub const FILES: &str = "runs or reads";

/// A hook that waits for trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PendingTrust {
    /// A description. Safe to print: control and hidden characters are escaped. Not truncated.
    pub what: String,
    /// All of its fields and the files it names: the user must see exactly what they trust. Safe to print, too.
    pub fields: Vec<(&'static str, String)>,
    /// Its place.
    pub source: SettingSource,
}

impl PendingTrust {
    pub(crate) fn new(what: impl AsRef<str>, source: SettingSource) -> Self {
        Self { what: display::escape_line(what.as_ref()).into_owned(), fields: Vec::new(), source }
    }

    pub(crate) fn hook(hook: &HookSettings, workspace: &Path) -> Self {
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
            *value = display::escape_line(value).into_owned();
        }
        Self { fields, ..Self::new(format!("hook on {}", hook.event.as_str()), hook.source.clone()) }
    }
}

/// Reports a hook of an untrusted project.
pub(crate) fn not_run(hook: &HookSettings) -> Problem {
    let message = format!("the project's hook on {} does not run, because this folder is not trusted", hook.event.as_str());
    let help = format!(
        "it would start {}: see `haft trust --show`, and run `haft trust` if you want that, or remove the hook",
        quoted(&hook.command)
    );
    Problem::warning(hook.source.clone(), message).key("hooks").help(help)
}

/// Reports folders and missing files that a hook's command names: an agent could change what the hook does.
pub(crate) fn report_unprotected(hook: &HookSettings, workspace: &Path) -> Vec<Problem> {
    let inside = |path: &PathBuf| quoted(&path.strip_prefix(workspace).unwrap_or(path).to_string_lossy());
    let folders = hook.folders.iter().map(|folder| {
        let message = format!("the hook's command names the folder {} of the workspace: an agent can change what is in it", inside(folder));
        (message, "name the files themselves, which are then protected, or keep them outside the workspace")
    });
    let missing = hook.missing.iter().map(|file| {
        let message = format!("the hook's command names {} of the workspace, which is not there", inside(file));
        (message, "no tool may create it; create it yourself, or correct the command")
    });
    let problem = |(message, help): (String, &str)| Problem::warning(hook.source.clone(), message).key("hooks[].command").help(help);
    folders.chain(missing).map(problem).collect()
}

/// A larger file is not trusted.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// More files are not trusted.
const MAX_FILES: usize = 64;

/// The SHA-256, in hexadecimal digits, of a project's file and of the files that its hooks and servers name, or why there is none.
pub(crate) fn fingerprint<'f>(text: &str, files: impl Iterator<Item = &'f PathBuf>) -> Result<String, String> {
    let own = digest(&SHA256, text.as_bytes());
    let mut files: Vec<&PathBuf> = files.collect();
    files.sort_unstable();
    files.dedup();
    if files.is_empty() {
        return Ok(hex::encode(own));
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
    Ok(hex::encode(all.finish()))
}

/// The digest of a file's content, or of a constant for a missing file.
fn content(file: &Path) -> Result<Digest, String> {
    let bytes = read::bytes(file, MAX_FILE_BYTES)?;
    Ok(bytes.map_or_else(|| digest(&SHA256, b"no such file"), |bytes| digest(&SHA256, &bytes)))
}
