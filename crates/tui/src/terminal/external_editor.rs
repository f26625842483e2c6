//! Edits text of several lines in the user's own editor, as `git commit` does.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::process::Command;

use super::key_reader::PausedKeys;

/// What is edited: one text among the arguments, or all of them as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditableText {
    /// The parameter with the text; `None` for JSON.
    parameter: Option<String>,
    text: String,
}

impl EditableText {
    /// The text to edit, if a line is too small for the arguments.
    pub(super) fn from_arguments(arguments: &Value) -> Option<Self> {
        let is_long = |value: &Value| value.as_str().is_some_and(|text| text.contains('\n'));
        let fields: Vec<(&String, &Value)> = arguments.as_object()?.iter().collect();
        let long: Vec<_> = fields.iter().filter(|(_, value)| is_long(value)).collect();
        match long[..] {
            [(name, value)] => Some(Self { parameter: Some((*name).clone()), text: value.as_str()?.to_owned() }),
            [] if !arguments.to_string().contains("\\n") => None,
            _ => Some(Self { parameter: None, text: serde_json::to_string_pretty(arguments).ok()? + "\n" }),
        }
    }

    /// The arguments with the text as it is now; `None` if nothing was changed.
    pub(super) fn applied(&self, edited: &str, arguments: &Value) -> Option<Result<Value, String>> {
        // An editor ends the last line, whether it was ended before or not.
        let edited = if self.text.ends_with('\n') { edited } else { edited.strip_suffix('\n').unwrap_or(edited) };
        if edited == self.text {
            return None;
        }
        Some(match &self.parameter {
            Some(name) => {
                let mut arguments = arguments.clone();
                arguments[name] = Value::String(edited.to_owned());
                Ok(arguments)
            }
            None => serde_json::from_str(edited).map_err(|error| format!("Not accepted: the arguments are not JSON ({error}).")),
        })
    }

    fn extension(&self) -> &'static str {
        match self.parameter.as_deref() {
            None => "json",
            Some("command") => "sh",
            Some(_) => "txt",
        }
    }

    /// The text as the user left it, or why it was not edited.
    pub(super) async fn edit(&self) -> Result<String, String> {
        let Some(editor) = editor() else {
            return Err("No editor for arguments of several lines: set VISUAL or EDITOR, and start Haft again.".into());
        };
        let failed = |error: io::Error| format!("Nothing was changed: the editor '{editor}' could not be used: {error}.");
        let file = DraftFile::create(&self.text, self.extension()).map_err(failed)?;
        let status = run(&editor, &file.0).await.map_err(failed)?;
        if !status.success() {
            return Err(format!("Nothing was changed: the editor '{editor}' ended with {status}."));
        }
        fs::read_to_string(&file.0).map_err(failed)
    }
}

/// The user's editor.
fn editor() -> Option<String> {
    let named = |name| env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// Runs the editor in the terminal. It is a command with words of its own, so a shell starts it.
async fn run(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    let _keys = PausedKeys::pause();
    Command::new("sh").arg("-c").arg(format!("{editor} \"$@\"")).arg("haft-editor").arg(file).kill_on_drop(true).status().await
}

/// A private file, which is removed in the end.
struct DraftFile(PathBuf);

impl DraftFile {
    fn create(text: &str, extension: &str) -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("haft-edit-{}-{number}.{extension}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(mut file) => {
                    let draft = Self(path);
                    file.write_all(text.as_bytes())?;
                    return Ok(draft);
                }
            }
        }
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_long_text_is_edited_as_it_is_and_several_as_json() {
        let long = json!({"command": "a\nb", "timeout": 5});
        let text = EditableText::from_arguments(&long).unwrap();
        assert_eq!((text.text.as_str(), text.extension()), ("a\nb", "sh"));
        assert_eq!(text.applied("a\nb\n", &long), None, "the editor ended the last line");
        assert_eq!(text.applied("a\nc\n", &long), Some(Ok(json!({"command": "a\nc", "timeout": 5}))));

        let edits = json!({"edits": [{"old": "a\nb"}], "path": "x"});
        let text = EditableText::from_arguments(&edits).unwrap();
        assert_eq!((text.parameter.as_deref(), text.extension()), (None, "json"));
        assert_eq!(text.applied(&text.text.replace('x', "y"), &edits), Some(Ok(json!({"edits": [{"old": "a\nb"}], "path": "y"}))));
        assert!(text.applied("{", &edits).unwrap().unwrap_err().starts_with("Not accepted: the arguments are not JSON"));
        assert_eq!(EditableText::from_arguments(&json!({"command": "ls"})), None);
    }
}
