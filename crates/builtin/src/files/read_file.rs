mod directory;
mod notebook;
mod page;
pub(crate) mod pdf;
mod repeated;

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use encoding_rs::Encoding;
use haft_contract::{Content, Dialect, FileReader, Form, FormParameter, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, Unit};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

use self::notebook::NotebookFault;
use self::pdf::PageRange;
use self::repeated::RepeatCheck;
use crate::shared::brief;
use crate::shared::pager::TextWindow;
use crate::shared::picture::{self, PictureFormat};
use crate::shared::text_file::HEAD;

/// Read the contents of a file from local storage. At most 2,000 lines or 100 KB at a time; a note at the end names the offset to
/// continue with. Pictures are shown, PDF documents and Jupyter notebooks become text, and a directory is listed. Not for other binary
/// files; to search many files use grep_search.
#[derive(Debug, ToolMeta)]
#[tool(
    section = Files,
    category = Io,
    timeout_secs = 10,
    rules = Read,
    max_output = 1_048_576,
    aliases = ["read"],
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct ReadFile;

pub(crate) const FORMS: &[Form] = &[
    Form::new(Dialect::Claw, "read_file").show_only(&["path", "offset", "limit"]).parameters(&[FormParameter::new("offset", "offset")
        .unit(Unit::FromZero)
        .description("How many lines to skip before the first one to return. Defaults to 0.")]),
    Form::new(Dialect::OpenClaw, "read").show_only(&["path", "offset", "limit"]),
];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The file to read: relative to the workspace, or absolute.
    #[schemars(extend("x-aliases" = ["file_path", "filename", "file"]))]
    path: PathBuf,
    /// File encoding, such as 'ISO-8859-1' or 'Shift_JIS'. Defaults to 'UTF-8'; UTF-16 is recognised by its byte order mark.
    #[schemars(extend("x-rare" = true))]
    encoding: Option<String>,
    /// The first line, or cell of a notebook, from 1.
    offset: Option<usize>,
    /// How many lines or cells at most.
    limit: Option<NonZeroUsize>,
    /// The first character to return of the first line, counted from 1; only for lines that are longer than a page.
    #[schemars(extend("x-rare" = true))]
    column: Option<usize>,
    /// Whether each line is shown after its number and a tab, which are not part of the file. Defaults to false.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    line_numbers: bool,
    /// The pages of a PDF document to return, such as '3' or '1-5'; at most 20. Defaults to the first 10.
    #[schemars(extend("x-rare" = true))]
    pages: Option<String>,
    /// Whether a notebook is shown as the text of its file instead of its cells. Defaults to false.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    raw: bool,
    /// Whether to show a part again that was shown before and has not changed. Defaults to false.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["force"]))]
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
            Err(refusal) => return directory::list(&params, refusal, cx).await,
        };
        let (name, part) = (params.name(), params.part());
        let repeated = RepeatCheck::new(&params.path, &*reader, cx).await?;
        if let Some(brief) = repeated.answer(&name, &part).filter(|_| !params.again) {
            return Ok(brief);
        }
        let output = show(&name, &params, &*reader, cx).await?;
        repeated.remember(&part);
        Ok(output)
    }
}

/// Shows a file by its format, which its bytes tell, except for notebooks.
async fn show(name: &str, params: &Params, reader: &dyn FileReader, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let head = reader.read_at(0, HEAD).await?;
    if params.wants_text() {
        return page::show(name, params, reader, head, cx).await;
    }
    if let Some(format) = PictureFormat::detect(&head) {
        return picture::show(name, format, reader, head).await;
    }
    if pdf::is_pdf(&head) {
        return pdf::read(name, params.pages()?, reader, head, cx).await;
    }
    if !params.is_notebook() || head.is_empty() {
        return page::show(name, params, reader, head, cx).await;
    }
    match notebook::show(name, params, reader, head, cx).await? {
        Ok(output) => Ok(output),
        Err(NotebookFault { head, why }) => page::show(name, params, reader, head, cx).await.map(|output| with_remark(output, &why)),
    }
}

impl Params {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn encoding(&self) -> Result<Option<&'static Encoding>, ToolError> {
        self.encoding.as_deref().map(encoding_of).transpose()
    }

    fn pages(&self) -> Result<Option<PageRange>, ToolError> {
        self.pages.as_deref().map(PageRange::parse).transpose()
    }

    /// Whether to show the bytes as text, whatever the format.
    fn wants_text(&self) -> bool {
        self.raw || self.encoding.is_some() || self.column.is_some()
    }

    fn is_notebook(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
    }

    /// A key for the part of a file that a call shows: equal keys show the same.
    fn part(&self) -> String {
        let Self { encoding, limit, line_numbers, pages, .. } = self;
        let TextWindow { line, column, lines, bytes } = page::window(self);
        let (limit, text) = (limit.map_or(0, NonZeroUsize::get), self.wants_text());
        let mut part = format!("{line} {column} {lines} {bytes} {limit} {line_numbers} {text}");
        if encoding.is_some() || pages.is_some() {
            let _ = write!(part, " {encoding:?} {pages:?}");
        }
        part
    }
}

/// What a dialect calls this tool, and the argument that reads on from a line.
pub(crate) fn continue_at(dialect: Dialect, line: usize) -> (&'static str, String) {
    let canonical = ("read_file", format!("offset={line}"));
    let form = FORMS.iter().find(|form| form.dialect == dialect);
    form.map_or(canonical, |form| (form.name, form.write_parameter("offset", line as u64)))
}

fn encoding_of(label: &str) -> Result<&'static Encoding, ToolError> {
    Encoding::for_label_no_replacement(label.as_bytes()).ok_or_else(|| {
        ToolError::validation(format!(
            "Unsupported encoding: '{}'. Use a name such as 'UTF-8', 'UTF-16LE', 'ISO-8859-1', 'windows-1252', 'Shift_JIS' or 'GBK'.",
            brief(label)
        ))
    })
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

/// Adds why a file is not shown as a notebook.
fn with_remark(mut output: ToolOutput, why: &str) -> ToolOutput {
    let remark = format!("(Shown as text instead of cells: {why}.)");
    if let Some(Content::Text(text)) = output.content.first_mut() {
        *text = with_note(std::mem::take(text), Some(remark));
    }
    output
}

#[cfg(test)]
pub(crate) mod tests;
