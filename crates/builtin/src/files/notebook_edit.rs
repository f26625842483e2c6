mod cell_text;
mod change;
mod outcome;
mod style;
mod target;

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, retry_conflicts};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::outcome::{NotebookChange, apply};
use crate::shared::brief;
use crate::shared::file_change::SharedContent;
use crate::shared::notebook::LARGEST;
use crate::shared::read_all::read_all;
use crate::shared::seen::{remember, seen_fingerprint};
use crate::shared::worker::WorkerPool;

/// Change a cell of a Jupyter notebook (.ipynb): replace its source, insert a new cell, or delete one. The rest of the file stays;
/// outputs of a code cell are cleared when its source changes. Read the notebook first: it shows the ids of the cells. It runs nothing.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "notebook_edit",
    label = "Edit notebook",
    section = Files,
    category = Io,
    access = WorkspaceWrite,
    timeout_secs = 10,
    rules = Edit,
    aliases = ["NotebookEdit"],
    forms = FORMS,
    profiles = ["coding"],
    destructive
)]
pub(crate) struct NotebookEdit;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "NotebookEdit")];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The notebook: relative to the workspace, or absolute.
    #[schemars(extend("x-aliases" = ["path", "file_path", "filename", "file"]))]
    notebook_path: PathBuf,
    /// The cell, by id or number from 0. 'insert' puts the new cell behind it; without it, at the start.
    #[schemars(extend("x-aliases" = ["cell_number", "cell_index", "cell"]))]
    cell_id: Option<String>,
    /// The new source; required unless it is deleted.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["source", "content"]))]
    new_source: Option<String>,
    /// The type of the cell. Defaults to its own; for a new one to 'code'.
    cell_type: Option<CellType>,
    /// What to do. Defaults to 'replace'.
    #[serde(default)]
    edit_mode: EditMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CellType {
    Code,
    Markdown,
    Raw,
}

impl CellType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl EditMode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }
}

/// A cell that is to be.
#[derive(Debug)]
struct NewCell<'a> {
    kind: CellType,
    id: Option<String>,
    source: &'a str,
}

static EDITING: WorkerPool = WorkerPool::new("change of a notebook", 2);

impl Tool for NotebookEdit {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        let at = cx.locate(&params.notebook_path)?;
        Ok(Plan::nothing().read(at.clone()).write(at))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let params = Arc::new(params);
        retry_conflicts(tokio::time::sleep, || attempt(Arc::clone(&params), cx)).await
    }
}

async fn attempt(params: Arc<Params>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (path, name, mode) = (params.notebook_path.clone(), params.name(), params.edit_mode);
    let reader = cx.fs().open(&path).await?;
    let before = SharedContent::from(read_all(&name, "a notebook", Vec::new(), &*reader, LARGEST).await?);
    let fingerprint = cx.fs().fingerprint_of(before.clone()).await?;
    if seen_fingerprint(&path, cx).is_some_and(|seen| seen != fingerprint) {
        return Err(changed_since(&name));
    }
    let seed = cx.fs().fingerprint_of(format!("{:?} {:?}", cx.call(), cx.clock().now())).await?;
    let change = EDITING.run(move || apply(&before, &params, &seed)).await??;
    let NotebookChange { content, changed, message, cell, index, kind, language } = change;
    let details = json!({
        "path": name, "edit_mode": mode.as_str(), "cell_id": cell, "index": index, "cell_type": kind, "language": language,
        "changed": changed,
    });
    if changed {
        let written = cx.fs().replace(&path, content, Some(&fingerprint)).await?;
        remember(&path, &written, cx);
    }
    Ok(ToolOutput::text(message).with_details(details))
}

impl Params {
    fn name(&self) -> String {
        self.notebook_path.display().to_string()
    }

    /// Checks beyond the schema.
    fn check(&self) -> Result<(), ToolError> {
        let name = self.name();
        if !self.notebook_path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
            let name = brief(&name);
            return Err(ToolError::validation(format!("Not a notebook: '{name}' does not end in .ipynb. Use edit_file for other files.")));
        }
        if self.edit_mode != EditMode::Delete && self.new_source.is_none() {
            let mode = self.edit_mode.as_str();
            return Err(ToolError::validation(format!(
                "Missing required parameter: 'new_source'. With edit_mode='{mode}' it is the source of the cell."
            )));
        }
        Ok(())
    }
}

fn changed_since(name: &str) -> ToolError {
    ToolError::execution(format!(
        "{name} was changed since this session saw it last, so nothing was written. Read it again, then repeat the change."
    ))
}

#[cfg(test)]
mod tests;
