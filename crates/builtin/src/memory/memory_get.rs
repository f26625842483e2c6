use haft_contract::ports::MemoryLines;
use haft_contract::{Dialect, ErrorKind, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_text::numbers;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::shared::memory;
use crate::shared::untrusted::wrap;

/// So much of a file is read.
const MAX_BYTES: usize = 8 << 20;
const TAINTED: &str = "from memory, and parts of it were written after untrusted content was read";

/// Read a memory file, or some of its lines, as memory_search cites them. Not for other files: use read_file. A file that is not there is
/// an empty text.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Read memory",
    section = Memory,
    category = Io,
    access = ReadOnly,
    timeout_secs = 10,
    rules = Read,
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct MemoryGet;

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "memory_get")];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The file, relative to the workspace, such as 'memory/2026-03-12.md'.
    #[schemars(extend("x-aliases" = ["file", "file_path"]))]
    path: String,
    /// The first line, from 1.
    from: Option<usize>,
    /// How many lines. Defaults to all.
    lines: Option<usize>,
}

impl Tool for MemoryGet {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        Ok(Plan::nothing().read(cx.memory_file(params.path.trim())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = params.path.trim();
        let content = match cx.fs().open(path).await {
            Ok(file) => file.read_at(0, MAX_BYTES).await?,
            Err(error) if error.kind() == ErrorKind::FileNotFound => return Ok(empty(path)),
            Err(error) => return Err(error),
        };
        if content.contains(&0) {
            return Err(ToolError::new(ErrorKind::NotText, format!("'{path}' is not text. Memory is Markdown.")));
        }
        let whole = String::from_utf8_lossy(&content);
        let all = whole.lines().count();
        let first = params.from.unwrap_or(1).max(1);
        let last = first.saturating_add(params.lines.unwrap_or(usize::MAX).max(1) - 1).min(all);
        let text: Vec<&str> = whole.lines().skip(first - 1).take((last + 1).saturating_sub(first)).collect();
        let writers = if text.is_empty() { Vec::new() } else { cx.memory().writers(path, &content, first..=last).await? };
        Ok(output(path, &text.join("\n"), (first, last), all, &writers))
    }
}

fn empty(path: &str) -> ToolOutput {
    ToolOutput::text("").with_details(json!({"path": path, "text": "", "lines": 0}))
}

fn output(path: &str, text: &str, (first, last): (usize, usize), all: usize, writers: &[MemoryLines]) -> ToolOutput {
    let is_tainted = writers.iter().any(|part| part.writer.is_tainted);
    let mut shown = if is_tainted { wrap(TAINTED, text) } else { text.to_owned() };
    if !text.is_empty() && (first > 1 || last < all) {
        shown = format!("{shown}\n[{} of {all}]", numbers::line_range((first, last)));
    }
    if text.is_empty() && all > 0 {
        shown = format!("[{path} has {}; 'from' is {first}.]", numbers::count(all, "line"));
    }
    let parts: Vec<Value> = writers
        .iter()
        .map(|part| json!({"lines": [part.first, part.last], "written_by": memory::writer_json(&part.writer), "tainted": part.writer.is_tainted}))
        .collect();
    let details = json!({"path": path, "text": text, "from": first, "lines": text.lines().count(), "of": all, "writers": parts, "tainted": is_tainted});
    ToolOutput::text(shown).with_details(details)
}

#[cfg(test)]
mod tests;
