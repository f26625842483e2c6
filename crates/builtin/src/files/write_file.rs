use std::path::{Path, PathBuf};

use haft_contract::{
    Dialect, ErrorKind, FileReader, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, WriteMode, WriteOutcome,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::shared::file_change::{OriginalFile, WrittenFile};
use crate::shared::seen::{remember, seen_fingerprint};
use crate::shared::utf16::Utf16;

const LONGEST_BOM: usize = 3;

/// Write contents to a file on local storage. Creates the file and its folders if they are missing; 'overwrite' replaces
/// everything that is there, so read a file first unless it is new. The content is written as UTF-8, exactly as given; text
/// appended to a UTF-16 file takes its encoding.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "write_file",
    label = "Write file",
    section = Files,
    category = Io,
    access = WorkspaceWrite,
    timeout_secs = 10,
    rules = Write,
    aliases = ["write", "file_write"],
    forms = FORMS,
    profiles = ["coding"],
    destructive
)]
pub(crate) struct WriteFile;

const FORMS: &[Form] = &[
    Form::new(Dialect::Claw, "write_file").show_only(&["path", "content"]),
    Form::new(Dialect::OpenClaw, "write").show_only(&["path", "content"]),
];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The file to write: relative to the workspace, or absolute.
    #[schemars(extend("x-aliases" = ["file_path", "filename", "file"]))]
    path: PathBuf,
    /// The content to write to the file; may be empty.
    #[schemars(extend("x-verbatim" = true))]
    content: String,
    /// Write mode: 'overwrite' (replace file) or 'append' (add to end). Defaults to 'overwrite'.
    #[serde(default)]
    mode: WriteFileMode,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WriteFileMode {
    #[default]
    Overwrite,
    Append,
}

impl WriteFileMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::Append => "append",
        }
    }
}

impl Tool for WriteFile {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let at = cx.locate(&params.path)?;
        Ok(match params.mode {
            WriteFileMode::Overwrite => Plan::nothing().write(at),
            // The addition must have the encoding of the file.
            WriteFileMode::Append => Plan::nothing().read(at.clone()).write(at),
        })
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Params { path, content, mode } = params;
        match mode {
            WriteFileMode::Overwrite => overwrite(&path, content.into_bytes(), cx).await,
            WriteFileMode::Append => append(&path, content, cx).await,
        }
    }
}

async fn overwrite(path: &Path, content: Vec<u8>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let action = describe(path, content.len() as u64, WriteFileMode::Overwrite);
    let more = json!({"path": path.display().to_string(), "mode": WriteFileMode::Overwrite.as_str()});
    match OriginalFile::replaced(path, cx).await {
        Ok(original) if original.changed_since_seen() => Err(stale(path)),
        Ok(original) => Ok(original.replace(path, content, cx).await?.output_without_diff(&action, more)),
        Err(error) if error.kind() == ErrorKind::FileNotFound => {
            Ok(WrittenFile::create(path, content, cx).await?.output_without_diff(&action, more))
        }
        // Too large to compare, or not readable: the write itself decides.
        Err(_) => {
            let written = cx.fs().write(path, content, WriteMode::Overwrite).await?;
            remember(path, &written, cx);
            Ok(report(path, &written, WriteFileMode::Overwrite))
        }
    }
}

/// Adds to the end of a file, in the encoding that its byte order mark names.
async fn append(path: &Path, content: String, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let before = match cx.fs().open(path).await {
        Err(error) if error.kind() == ErrorKind::FileNotFound => None,
        opened => Some(opened?),
    };
    let (utf16, is_stale) = match &before {
        Some(reader) => (Utf16::from_bom(&reader.read_at(0, LONGEST_BOM).await?), is_stale(path, &**reader, cx).await?),
        None => (None, false),
    };
    let bytes = match utf16 {
        Some(utf16) => utf16.encode(&content),
        None => content.into_bytes(),
    };
    let written = cx.fs().write(path, bytes, WriteMode::Append).await?;
    // The session has not seen what another program wrote before: a later overwrite must be refused.
    if !is_stale {
        remember(path, &written, cx);
    }
    Ok(report(path, &written, WriteFileMode::Append))
}

/// Whether the file is another than the session saw last.
async fn is_stale(path: &Path, reader: &dyn FileReader, cx: &ToolContext) -> Result<bool, ToolError> {
    match seen_fingerprint(path, cx) {
        Some(seen) => Ok(reader.fingerprint().await? != seen),
        None => Ok(false),
    }
}

fn report(path: &Path, written: &WriteOutcome, mode: WriteFileMode) -> ToolOutput {
    let details = json!({"path": path.display().to_string(), "bytes": written.bytes, "created": written.created, "mode": mode.as_str()});
    ToolOutput::text(describe(path, written.bytes, mode)).with_details(details)
}

fn describe(path: &Path, bytes: u64, mode: WriteFileMode) -> String {
    format!("Successfully wrote {bytes} bytes to {} (mode: {})", path.display(), mode.as_str())
}

fn stale(path: &Path) -> ToolError {
    ToolError::execution(format!(
        "{} was changed by another program since you read it, so nothing was written. Read it again.",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{DynTool, Erased};
    use haft_testkit::{FakeHost, FileOperation, expect_error, run_tool};
    use serde_json::Value;

    use super::*;

    async fn write(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
        run_tool(&Erased::new(WriteFile), arguments, Arc::clone(host)).await
    }

    #[tokio::test]
    async fn a_file_is_made_replaced_and_added_to() {
        let host = FakeHost::new();
        for (content, mode, expected, text, created) in [
            ("héllo\n", Some("overwrite"), "héllo\n", "Successfully wrote 7 bytes to a/ü.txt (mode: overwrite)", true),
            ("new", None, "new", "Successfully wrote 3 bytes to a/ü.txt (mode: overwrite)", false),
            (" and\r\n", Some("append"), "new and\r\n", "Successfully wrote 6 bytes to a/ü.txt (mode: append)", false),
            ("", Some("append"), "new and\r\n", "Successfully wrote 0 bytes to a/ü.txt (mode: append)", false),
            ("", None, "", "Successfully wrote 0 bytes to a/ü.txt (mode: overwrite)", false),
        ] {
            let mut arguments = json!({"path": "a/ü.txt", "content": content});
            if let Some(mode) = mode {
                arguments["mode"] = mode.into();
            }
            let output = write(&host, arguments).await.unwrap();
            let details = output.details.clone().unwrap();
            let expected_details =
                json!({"path": "a/ü.txt", "bytes": content.len(), "created": created, "mode": mode.unwrap_or("overwrite")});
            for (name, value) in expected_details.as_object().unwrap() {
                assert_eq!(&details[name], value, "{name}");
            }
            assert_eq!(output.texts().next().unwrap().lines().next(), Some(text));
            assert_eq!(host.files.text("a/ü.txt").unwrap(), expected);
        }
        let before: Vec<_> = host.journal.kept().into_iter().map(|image| image.content).collect();
        let expected = [None, Some("héllo\n"), Some("new"), Some("new and\r\n"), Some("new and\r\n")];
        assert_eq!(before, expected.map(|content| content.map(|text| text.as_bytes().to_vec())));
    }

    #[tokio::test]
    async fn what_is_added_is_in_the_encoding_of_what_is_there() {
        let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        for (before, after, bytes) in [
            (little("\u{feff}a"), little("\u{feff}aé𝄞\n"), 8),
            (big("\u{feff}a"), big("\u{feff}aé𝄞\n"), 8),
            ("\u{feff}a".into(), "\u{feff}aé𝄞\n".into(), 7),
            (vec![0xff], [&[0xff][..], "é𝄞\n".as_bytes()].concat(), 7),
            (Vec::new(), "é𝄞\n".into(), 7),
        ] {
            let host = FakeHost::new();
            host.files.put("f", before.clone());
            let output = write(&host, json!({"path": "f", "content": "é𝄞\n", "mode": "append"})).await.unwrap();
            assert_eq!(output.texts().next(), Some(&*format!("Successfully wrote {bytes} bytes to f (mode: append)")), "{before:?}");
            assert_eq!(host.files.get("f").unwrap(), after, "{before:?}");
        }
    }

    #[tokio::test]
    async fn a_huge_content_arrives_whole() {
        let (host, content) = (FakeHost::new(), "0123456789".repeat(1_000_000));
        let output = write(&host, json!({"path": "big", "content": content})).await.unwrap();
        assert_eq!(output.texts().next(), Some("Successfully wrote 10000000 bytes to big (mode: overwrite)"));
        assert!(host.files.text("big").unwrap() == content);
    }

    #[tokio::test]
    async fn refusals_change_nothing() {
        let host = FakeHost::new();
        host.files.put("d/a", "old");
        host.files.put("full", "old");
        host.files.fail(FileOperation::Write, "full", ErrorKind::ExecutionError, "No space left");
        host.files.fail(FileOperation::Open, "unread", ErrorKind::PermissionDenied, "not yours");
        for (arguments, kind, message) in [
            (json!({"path": "d", "content": "x"}), ErrorKind::ValidationError, "Path is a directory, not a file: d"),
            (json!({"path": "d", "content": "x", "mode": "append"}), ErrorKind::ValidationError, "Path is a directory, not a file: d"),
            (json!({"path": "full", "content": "x"}), ErrorKind::ExecutionError, "No space left"),
            (json!({"path": "unread", "content": "x", "mode": "append"}), ErrorKind::PermissionDenied, "not yours"),
            (json!({"path": "", "content": "x"}), ErrorKind::ValidationError, "Invalid path: ''. Name a file."),
        ] {
            assert_eq!(expect_error(write(&host, arguments).await), (kind, message.to_owned()));
        }
        let (kind, message) = expect_error(write(&host, json!({"path": "d/a", "content": "x", "mode": "prepend"})).await);
        assert!(kind == ErrorKind::ValidationError && message.contains("overwrite") && message.contains("append"), "{message}");
        assert_eq!((host.files.text("d/a").unwrap(), host.files.text("full").unwrap()), ("old".into(), "old".into()));
        assert_eq!(host.files.paths().len(), 2);
    }

    #[tokio::test]
    async fn what_changed_is_told_and_a_new_file_is_not_repeated() {
        let host = FakeHost::new();
        let text = async |content: &str| {
            let output = write(&host, json!({"path": "f", "content": content})).await.unwrap();
            output.texts().next().unwrap().to_owned()
        };
        assert_eq!(text("a\nb\nc\n").await, "Successfully wrote 6 bytes to f (mode: overwrite)");
        assert_eq!(text("a\nB\nc\n").await, "Successfully wrote 6 bytes to f (mode: overwrite)\n(1 added, 1 removed)");
        let output = write(&host, json!({"path": "f", "content": "a\n"})).await.unwrap();
        let diff = output.details.unwrap()["diff"].as_str().unwrap().to_owned();
        assert!(diff.contains("-B\n-c\n"), "people are shown what went: {diff}");
        host.files.forbid_read("f", "a secret");
        let output = write(&host, json!({"path": "f", "content": "b\n"})).await.unwrap();
        assert_eq!(output.details.unwrap()["diff"], Value::Null, "what may not be read is replaced unseen");
    }

    #[test]
    fn the_plan_names_the_file_that_is_written_and_for_appending_read() {
        let host = FakeHost::new();
        let (read, written) =
            (json!({"effect": "read", "path": "/x", "outside": true}), json!({"effect": "write", "path": "/x", "outside": true}));
        for (mode, expected) in [("overwrite", json!([written])), ("append", json!([read, written]))] {
            let arguments = json!({"path": "../x", "content": "", "mode": mode});
            let prepared = Erased::new(WriteFile).prepare(arguments, &PlanContext::new(&*host)).unwrap();
            assert_eq!(serde_json::to_value(prepared.plan().effects()).unwrap(), expected, "{mode}");
        }
    }
}
