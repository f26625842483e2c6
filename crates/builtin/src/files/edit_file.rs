use std::path::{Path, PathBuf};

use haft_contract::{Dialect, ErrorKind, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_patch::{Edit, Edited, Rule, edit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::shared::aside::Aside;
use crate::shared::changed::{Changed, Original};

/// Large edits run beside the runtime, this many at once.
static EDITING: Aside = Aside::new("edit", 2);
/// What is smaller is edited where it is: that takes less than starting a thread.
const LARGE: usize = 256 * 1024;

/// Replace text in a file. `old_string` must be in the file exactly once, or `replace_all` be true; blanks, line endings,
/// indentation and typographic quotes may differ if the place is still the only one. `edits` makes several replacements at
/// once: all are looked for in the file as it is, and all are made or none. An empty `old_string` makes a new file.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "edit_file",
    label = "Edit file",
    section = Files,
    category = Io,
    access = WorkspaceWrite,
    timeout_secs = 30,
    aliases = ["edit"],
    forms = FORMS,
    profiles = ["coding"],
    destructive
)]
pub(crate) struct EditFile;

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "edit")];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The file to edit: relative to the workspace, or absolute.
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "filename", "file"]))]
    path: PathBuf,
    /// The text to replace, as it is in the file; with enough around it to be there once.
    #[schemars(extend("x-aliases" = ["old_text", "oldText", "oldString", "old"], "x-verbatim" = true))]
    #[serde(default)]
    old_string: Option<String>,
    /// What is to be there instead; may be empty.
    #[schemars(extend("x-aliases" = ["new_text", "newText", "newString", "new"], "x-verbatim" = true))]
    #[serde(default)]
    new_string: Option<String>,
    /// Replace every place, not one alone.
    #[schemars(extend("x-aliases" = ["replaceAll"]))]
    #[serde(default)]
    replace_all: bool,
    /// Several replacements instead of one.
    #[schemars(extend("x-verbatim" = true))]
    #[serde(default)]
    edits: Vec<Replacement>,
}

/// One of several replacements.
#[derive(Debug, Deserialize, JsonSchema)]
struct Replacement {
    /// The text to replace.
    #[serde(alias = "old_text", alias = "oldText", alias = "oldString", alias = "old")]
    old_string: String,
    /// What is to be there instead.
    #[serde(alias = "new_text", alias = "newText", alias = "newString", alias = "new")]
    new_string: String,
    /// Replace every place, not one alone.
    #[serde(default, alias = "replaceAll")]
    replace_all: bool,
}

impl Params {
    /// What is to be replaced, in one form.
    fn into_edits(self) -> Result<Vec<Edit>, ToolError> {
        let several = self.edits.into_iter().map(|edit| Edit { old: edit.old_string, new: edit.new_string, replace_all: edit.replace_all });
        match (self.old_string, self.new_string, several.len()) {
            (Some(old), Some(new), 0) => Ok(vec![Edit { old, new, replace_all: self.replace_all }]),
            (None, None, 1..) => Ok(several.collect()),
            (None, None | Some(_), 0) => Err(missing("old_string")),
            (Some(_), None, 0) => Err(missing("new_string")),
            _ => Err(ToolError::validation(
                "Give old_string and new_string, or edits, but not both: put all replacements into edits. Nothing was changed.",
            )),
        }
    }
}

fn missing(parameter: &str) -> ToolError {
    ToolError::validation(format!("Missing required parameter: '{parameter}'"))
}

impl Tool for EditFile {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let at = cx.locate(&params.path)?;
        Ok(Plan::nothing().read(at.clone()).write(at))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = params.path.clone();
        let edits = params.into_edits()?;
        match Original::read(&path, cx).await {
            Err(error) if error.kind() == ErrorKind::FileNotFound => create(&path, edits, error, cx).await,
            original => change(&path, edits, original?, cx).await,
        }
    }
}

/// A file that is not there is made by replacing nothing.
async fn create(path: &Path, edits: Vec<Edit>, not_found: ToolError, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let [Edit { old, new, .. }] = edits.as_slice() else { return Err(not_found) };
    if !old.is_empty() {
        return Err(not_found);
    }
    let changed = Changed::create(path, new.clone().into_bytes(), cx).await?;
    Ok(changed.told(&format!("Created {}", path.display()), json!({"replacements": 0})))
}

async fn change(path: &Path, edits: Vec<Edit>, original: Original, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let Edited { bytes, spans, rules, .. } = edited(&original, edits).await?;
    let lines: Vec<[usize; 2]> = spans.iter().map(|span| [span.lines.0, span.lines.1]).collect();
    let what = format!("Edited {}: {}{}", path.display(), replacements(&lines), forgiven(&rules));
    let changed = original.replace(path, bytes, cx).await?;
    let rules: Vec<&str> = rules.iter().map(|rule| rule.as_str()).collect();
    Ok(changed.told(&what, json!({"replacements": lines.len(), "lines": lines, "rules": rules})))
}

async fn edited(original: &Original, edits: Vec<Edit>) -> Result<Edited, ToolError> {
    let refused = |error: haft_patch::EditError| ToolError::validation(format!("{error}"));
    if original.bytes().len() < LARGE {
        return edit(original.bytes(), &edits).map_err(refused);
    }
    let content = original.shared();
    EDITING.run(move || edit(content.as_ref(), &edits)).await?.map_err(refused)
}

/// `1 replacement (line 3)`.
fn replacements(lines: &[[usize; 2]]) -> String {
    const NAMED: usize = 10;
    let named: Vec<String> =
        lines.iter().take(NAMED).map(|[first, last]| if first == last { first.to_string() } else { format!("{first}-{last}") }).collect();
    let (plural, more) = (if lines.len() == 1 { "" } else { "s" }, if lines.len() > NAMED { ", …" } else { "" });
    let one_line = matches!(lines, [[first, last]] if first == last);
    format!("{} replacement{plural} (line{} {}{more})", lines.len(), if one_line { "" } else { "s" }, named.join(", "))
}

/// What the text was found by, where it was not the text itself: whoever sent it should know.
fn forgiven(rules: &[Rule]) -> String {
    let mut names: Vec<&str> = rules.iter().filter(|rule| **rule != Rule::Exact).map(|rule| rule.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { String::new() } else { format!("; found although not exact: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::Erased;
    use haft_testkit::{FakeHost, FileOperation, expect_error, run_tool};
    use serde_json::Value;

    use super::*;

    async fn run(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
        run_tool(&Erased::new(EditFile), arguments, Arc::clone(host)).await
    }

    async fn edited(content: &str, arguments: Value) -> (String, String) {
        let host = FakeHost::new();
        host.files.put("f", content);
        let mut arguments = arguments;
        arguments["path"] = "f".into();
        let output = run(&host, arguments).await.unwrap();
        (host.files.text("f").unwrap(), output.texts().next().unwrap().to_owned())
    }

    #[tokio::test]
    async fn one_place_or_all_of_them() {
        for (content, arguments, expected, told) in [
            (
                "one two\n",
                json!({"old_string": "two", "new_string": "2"}),
                "one 2\n",
                "Edited f: 1 replacement (line 1)\n(1 added, 1 removed)\n",
            ),
            ("x\ny\nx\n", json!({"old_string": "x", "new_string": "z", "replace_all": true}), "z\ny\nz\n", "2 replacements (lines 1, 3)"),
            (
                "a\nb\n",
                json!({"edits": [{"old": "a", "new": "b"}, {"oldText": "b", "newText": "c"}]}),
                "b\nc\n",
                "2 replacements (lines 1, 2)",
            ),
            ("a\r\nb\r\n", json!({"old_string": "a\nb", "new_string": "1\n2"}), "1\r\n2\r\n", "found although not exact: "),
            ("gone\nstays\n", json!({"old_string": "gone\n", "new_string": ""}), "stays\n", "-gone\n"),
        ] {
            let (content, text) = edited(content, arguments.clone()).await;
            assert_eq!(content, expected, "{arguments}");
            assert!(text.contains(told), "{arguments}: {text}");
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_changes_nothing() {
        let host = FakeHost::new();
        host.files.put("f", "x\ny\nx\n");
        host.files.put("full", "x\n");
        host.files.fail(FileOperation::Write, "full", ErrorKind::ExecutionError, "No space left");
        for (arguments, kind, words) in [
            (json!({"path": "f", "old_string": "x", "new_string": "z"}), ErrorKind::ValidationError, "1, 3"),
            (json!({"path": "f", "old_string": "q", "new_string": "z"}), ErrorKind::ValidationError, "not"),
            (json!({"path": "f", "old_string": "y", "new_string": "y"}), ErrorKind::ValidationError, "same"),
            (json!({"path": "f", "edits": [{"old": "y", "new": "1"}, {"old": "q", "new": "2"}]}), ErrorKind::ValidationError, "2"),
            (json!({"path": "f", "old_string": "y"}), ErrorKind::ValidationError, "Missing required parameter: 'new_string'"),
            (json!({"path": "f", "new_string": "y"}), ErrorKind::ValidationError, "Missing required parameter: 'old_string'"),
            (json!({"path": "f", "edits": []}), ErrorKind::ValidationError, "Missing required parameter: 'old_string'"),
            (
                json!({"path": "f", "old_string": "y", "new_string": "z", "edits": [{"old": "y", "new": "1"}]}),
                ErrorKind::ValidationError,
                "not both",
            ),
            (json!({"path": "none", "old_string": "y", "new_string": "z"}), ErrorKind::FileNotFound, "File not found: none"),
            (json!({"path": "full", "old_string": "x", "new_string": "z"}), ErrorKind::ExecutionError, "No space left"),
        ] {
            let (found, message) = expect_error(run(&host, arguments.clone()).await);
            assert!(found == kind && message.contains(words), "{arguments}: {found:?} {message}");
        }
        assert_eq!((host.files.text("f").unwrap(), host.files.text("full").unwrap()), ("x\ny\nx\n".into(), "x\n".into()));
    }

    #[tokio::test]
    async fn nothing_replaced_makes_a_file_where_none_is() {
        let host = FakeHost::new();
        let arguments = json!({"path": "new/f", "old_string": "", "new_string": "hello\n"});
        let output = run(&host, arguments.clone()).await.unwrap();
        assert_eq!(output.texts().next(), Some("Created new/f"));
        assert_eq!(host.files.text("new/f").unwrap(), "hello\n");
        assert_eq!(expect_error(run(&host, arguments).await).0, ErrorKind::ValidationError, "a file that is there is not replaced so");
    }

    #[tokio::test]
    async fn a_large_file_is_edited_in_place() {
        let content = "0123456789abcdef\n".repeat(40_000) + "here\n";
        let (after, text) = edited(&content, json!({"old_string": "here", "new_string": "there"})).await;
        assert!(after == content.replace("here", "there") && text.contains("(line 40001)"), "{text}");
    }
}
