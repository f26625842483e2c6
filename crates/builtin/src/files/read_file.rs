mod base64;
mod directory;
mod encoding;
mod image;
mod notebook;
mod page;
pub(crate) mod pdf;
mod picture;
mod unchanged;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use encoding_rs::Encoding;
use haft_contract::{Content, Dialect, Form, FormParameter, Plan, PlanContext, Reader, Tool, ToolContext, ToolError, ToolOutput, Unit};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

use self::notebook::NotANotebook;
use self::pdf::Pages;
use self::picture::Format;
use self::unchanged::Memory;
use crate::shared::text_file::CHUNK;

/// Read the contents of a file from local storage. Text comes as it stands in the file, at most 2,000 lines or 100 KB at a
/// time; when there is more, the note at the end names the offset to continue with. Pictures (PNG, JPEG, GIF, WebP) are
/// shown, PDF documents come as text by pages, Jupyter notebooks as cells, and a directory as a short list of its names.
/// Not for archives or other binary files; to search in many files use grep_search.
#[derive(Debug, ToolMeta)]
#[tool(
    section = Files,
    category = Io,
    timeout_secs = 10,
    max_output = 1_048_576,
    aliases = ["read"],
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct ReadFile;

pub(crate) const FORMS: &[Form] = &[
    Form::new(Dialect::Claw, "read_file").parameters(&[FormParameter::new("offset", "offset")
        .unit(Unit::FromZero)
        .description("How many lines to skip before the first one to return. Defaults to 0.")]),
    Form::new(Dialect::OpenClaw, "read"),
];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The file to read: relative to the workspace, or absolute.
    #[schemars(extend("x-aliases" = ["file_path", "filename", "file"]))]
    path: PathBuf,
    /// File encoding, such as 'ISO-8859-1' or 'Shift_JIS'. Defaults to 'UTF-8'; UTF-16 is recognised by its byte order mark.
    encoding: Option<String>,
    /// The first line to return, or the first cell of a notebook, counted from 1. Defaults to 1.
    offset: Option<usize>,
    /// How many lines to return at most, or cells of a notebook. Defaults to 2000 lines.
    limit: Option<NonZeroUsize>,
    /// The first character to return of the first line, counted from 1; only for lines that are longer than a page.
    column: Option<usize>,
    /// Whether each line is shown with its number and a tab before it, which are no part of the file. Defaults to false.
    #[serde(default)]
    line_numbers: bool,
    /// The pages of a PDF document to return, such as '3' or '1-5'; at most 20. Defaults to the first 10.
    pages: Option<String>,
    /// Whether a notebook is shown as the text of its file instead of its cells. Defaults to false.
    #[serde(default)]
    raw: bool,
    /// Whether to show a part again that was shown before and has not changed since. Defaults to false.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["force"]))]
    again: bool,
}

impl Tool for ReadFile {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.encoding()?;
        params.pages()?;
        Ok(Plan::nothing().read(cx.locate(&params.path)?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let reader = match cx.fs().open(&params.path).await {
            Ok(reader) => reader,
            Err(refusal) => return directory::listed(&params, refusal, cx).await,
        };
        let (name, part) = (params.name(), params.part());
        let memory = Memory::of(cx, &params.path, reader.size()).await?;
        if let Some(brief) = memory.shown(&name, &part).filter(|_| !params.again) {
            return Ok(brief);
        }
        let output = shown(&name, &params, &*reader, cx).await?;
        memory.keep(&part);
        Ok(output)
    }
}

/// Shows a file as what it is. Its bytes decide, but for notebooks, which are text like any other.
async fn shown(name: &str, params: &Params, reader: &dyn Reader, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let head = reader.read_at(0, CHUNK).await?;
    if params.wants_text() {
        return page::shown(name, params, reader, head, cx).await;
    }
    if let Some(format) = Format::of(&head) {
        return image::shown(name, format, reader, head).await;
    }
    if pdf::is_pdf(&head) {
        return pdf::shown(name, params.pages()?, reader, head, cx).await;
    }
    if !params.is_notebook() || head.is_empty() {
        return page::shown(name, params, reader, head, cx).await;
    }
    match notebook::shown(name, params, reader, head, cx).await? {
        Ok(output) => Ok(output),
        Err(NotANotebook { head, why }) => page::shown(name, params, reader, head, cx).await.map(|output| with_remark(output, &why)),
    }
}

impl Params {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn encoding(&self) -> Result<Option<&'static Encoding>, ToolError> {
        self.encoding.as_deref().map(encoding::named).transpose()
    }

    fn pages(&self) -> Result<Option<Pages>, ToolError> {
        self.pages.as_deref().map(Pages::parse).transpose()
    }

    /// Whether the bytes are to be shown as text, whatever else they are.
    fn wants_text(&self) -> bool {
        self.raw || self.encoding.is_some() || self.column.is_some()
    }

    fn is_notebook(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
    }

    /// What a call shows, however it was asked for: two that are the same here show the same of a file.
    fn part(&self) -> String {
        let Self { encoding, limit, line_numbers, pages, .. } = self;
        format!("{:?} {limit:?} {encoding:?} {line_numbers} {pages:?} {}", page::window(self), self.wants_text())
    }
}

/// A text, and a note below it.
fn with_note(mut text: String, note: Option<String>) -> String {
    if let Some(note) = note {
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(&note);
    }
    text
}

/// Says why a file is not shown as the notebook that its name promises.
fn with_remark(mut output: ToolOutput, why: &str) -> ToolOutput {
    let remark = format!("(Shown as text instead of cells: {why}.)");
    if let Some(Content::Text(text)) = output.content.first_mut() {
        *text = with_note(std::mem::take(text), Some(remark));
    }
    output
}

#[cfg(test)]
mod tests;
