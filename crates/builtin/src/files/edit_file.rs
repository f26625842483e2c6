use std::path::{Path, PathBuf};

use haft_contract::{
    Dialect, ErrorKind, Form, FormParameter, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, retry_conflicts,
};
use haft_macros::ToolMeta;
use haft_patch::{Edit, EditedFile, FuzzyLevel, edit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::shared::file_change::{OriginalFile, WrittenFile, refuse_mixed};
use crate::shared::worker::WorkerPool;

/// Large edits run on worker threads, this many at once.
static EDITING: WorkerPool = WorkerPool::new("edit", 2);
/// Smaller files are edited at once: that is cheaper than a thread.
const LARGE: usize = 256 * 1024;

/// Replace text in a file. `old_string` must be in the file exactly once, or `replace_all` be true; blanks, line endings, indentation and
/// typographic quotes may differ if the match is unique. `edits` makes several replacements in the original file: all or none. An empty
/// `old_string` creates a new file.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "edit_file",
    label = "Edit file",
    section = Files,
    category = Io,
    access = WorkspaceWrite,
    timeout_secs = 30,
    rules = Edit,
    aliases = ["edit"],
    forms = FORMS,
    profiles = ["coding"],
    destructive
)]
pub(crate) struct EditFile;

const FORMS: &[Form] = &[
    Form::new(Dialect::Claw, "edit_file")
        .show_only(&["path", "old_string", "new_string", "replace_all"])
        .required(&["old_string", "new_string"]),
    Form::new(Dialect::OpenClaw, "edit")
        .show_only(&["path", "old_string", "new_string"])
        .required(&["old_string", "new_string"])
        .parameters(&[FormParameter::new("oldText", "old_string"), FormParameter::new("newText", "new_string")]),
];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The file to edit: relative to the workspace, or absolute.
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "filename", "file"]))]
    path: PathBuf,
    /// The text to replace, with enough context to be unique.
    #[schemars(extend("x-aliases" = ["old_text", "oldText", "oldString", "old"], "x-verbatim" = true))]
    #[serde(default)]
    old_string: Option<String>,
    /// The replacement; may be empty.
    #[schemars(extend("x-aliases" = ["new_text", "newText", "newString", "new"], "x-verbatim" = true))]
    #[serde(default)]
    new_string: Option<String>,
    /// Replace every occurrence.
    #[schemars(extend("x-aliases" = ["replaceAll"]))]
    #[serde(default)]
    replace_all: bool,
    /// Several replacements instead of one.
    #[schemars(extend("x-verbatim" = true))]
    #[serde(default)]
    edits: Vec<Replacement>,
}

// One of several replacements: its fields are those of one, so models are not told of them twice.
#[derive(Debug, Deserialize, JsonSchema)]
struct Replacement {
    #[schemars(extend("x-aliases" = ["old_text", "old"]))]
    old_string: String,
    #[schemars(extend("x-aliases" = ["new_text", "new"]))]
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Params {
    /// All replacements, as edits.
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
        retry_conflicts(tokio::time::sleep, || attempt(&path, edits.clone(), cx)).await
    }
}

async fn attempt(path: &Path, edits: Vec<Edit>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    match OriginalFile::read(path, cx).await {
        Err(error) if error.kind() == ErrorKind::FileNotFound => create(path, edits, error, cx).await,
        original => change(path, edits, original?, cx).await,
    }
}

/// An empty old text creates a file.
async fn create(path: &Path, edits: Vec<Edit>, not_found: ToolError, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let [Edit { old, new, .. }] = edits.as_slice() else { return Err(not_found) };
    if !old.is_empty() {
        return Err(not_found);
    }
    let changed = WrittenFile::create(path, new.clone().into_bytes(), cx).await?;
    Ok(changed.output(&format!("Created {}", path.display()), json!({"replacements": 0})))
}

async fn change(path: &Path, edits: Vec<Edit>, original: OriginalFile, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let EditedFile { bytes, spans, levels, .. } = apply_edits(&original, edits).await?;
    refuse_mixed(path, original.bytes(), &bytes)?;
    let lines: Vec<[usize; 2]> = spans.iter().map(|span| [span.lines.0, span.lines.1]).collect();
    let action = format!("Edited {}: {}{}", path.display(), replacements(&lines), fuzzy_note(&levels));
    let changed = original.replace(path, bytes, cx).await?;
    let levels: Vec<&str> = levels.iter().map(|level| level.as_str()).collect();
    Ok(changed.output(&action, json!({"replacements": lines.len(), "lines": lines, "levels": levels})))
}

async fn apply_edits(original: &OriginalFile, edits: Vec<Edit>) -> Result<EditedFile, ToolError> {
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

/// A note on matches that are not exact.
fn fuzzy_note(levels: &[FuzzyLevel]) -> String {
    let mut names: Vec<&str> = levels.iter().filter(|level| **level != FuzzyLevel::Exact).map(|level| level.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { String::new() } else { format!("; matched with differences: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests;
