//! Text, by pages of lines.

use haft_contract::{FileReader, ToolContext, ToolError, ToolOutput};
use haft_text::numbers;
use serde_json::json;

use super::{Params, with_note};
use crate::shared::pager::{TextPage, TextPosition, TextWindow};
use crate::shared::text_file::TextFile;

const LINES: usize = 2000;
const BYTES: usize = 100 * 1024;
/// A caller that names a limit gets more.
const BYTES_WITH_LIMIT: usize = 1024 * 1024;
/// Line numbers count as well: a page with them is no larger.
const NUMBERED_LINES: usize = 20_000;
const NUMBERED_BYTES: usize = 768 * 1024;

/// The requested part of a text. Line 0 means the first, for callers that count from 0.
pub(super) fn window(params: &Params) -> TextWindow {
    let (lines, bytes) = params.limit.map_or((LINES, BYTES), |limit| (limit.get(), BYTES_WITH_LIMIT));
    let (lines, bytes) = if params.line_numbers { (lines.min(NUMBERED_LINES), bytes.min(NUMBERED_BYTES)) } else { (lines, bytes) };
    TextWindow { line: params.offset.unwrap_or(1).max(1), column: params.column.unwrap_or(1).max(1), lines, bytes }
}

/// Shows one page of a file that begins with `head`.
pub(super) async fn show(
    name: &str,
    params: &Params,
    reader: &dyn FileReader,
    head: Vec<u8>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let window = window(params);
    let mut file = TextFile::begin(name, reader, head, params.encoding()?)?;
    let page = file.page(window).await?;
    let shown = !page.text.is_empty();
    let mut details = json!({
        "path": name,
        "kind": "text",
        "size": file.size(),
        "first_line": shown.then_some(window.line),
        "last_line": shown.then_some(page.last_line),
        "next_offset": page.next.map(|next| next.line),
        "next_column": page.next.map(|next| next.column).filter(|column| *column > 1),
        "total_lines": page.total_lines,
        "encoding": file.encoding().name(),
        "bom": file.has_bom(),
    });
    let has_invalid = file.invalid().count > 0 && page.text.contains(char::REPLACEMENT_CHARACTER);
    let invalid = has_invalid.then(|| invalid_note(&file)).flatten();
    if invalid.is_some() {
        details["invalid"] = file.invalid().count.into();
    }
    let notes: Vec<String> = invalid.into_iter().chain(note(&page, window, file.size(), cx)).collect();
    let note = (!notes.is_empty()).then(|| notes.join("\n"));
    let text = if params.line_numbers { numbered(&page.text, window.line) } else { page.text };
    Ok(ToolOutput::text(with_note(text, note)).with_details(details))
}

/// What is shown otherwise than it is in the file.
fn invalid_note(file: &TextFile<'_>) -> Option<String> {
    let invalid = file.invalid();
    let (are, encoding) = (if invalid.count == 1 { "byte sequence is" } else { "byte sequences are" }, file.encoding().name());
    let other = if encoding == "UTF-8" { "ISO-8859-1" } else { "UTF-8" };
    (invalid.count > 0).then(|| {
        format!(
            "({} {are} not {encoding}, the first at byte {}: shown as \u{fffd}. If the text has another encoding, name it, e.g. \
             encoding='{other}'.)",
            invalid.count, invalid.first
        )
    })
}

/// Each line with its number before it, as `cat -n` shows them.
fn numbered(text: &str, first: usize) -> String {
    let lines = text.split_inclusive('\n').enumerate().map(|(place, line)| format!("{:6}\t{line}", first + place));
    lines.collect::<Vec<_>>().concat()
}

/// A note on what the page leaves out and how to get it; `None` for the whole file.
fn note(page: &TextPage, window: TextWindow, size: u64, cx: &ToolContext) -> Option<String> {
    let TextWindow { line, column, .. } = window;
    let (last, size) = (page.last_line, || numbers::size(size));
    let offset = |next: usize| cx.write_parameter("offset", next as u64);
    match page.next {
        Some(TextPosition { line: next, column: 1 }) => {
            Some(format!("(Showing lines {line}-{last} of a file of {}. Continue with {}.)", size(), offset(next)))
        }
        Some(TextPosition { line: next, column: next_column }) => Some(format!(
            "(Showing characters {column}-{} of line {line}, which is too long for one page of this {} file. \
             Continue with {} and column={next_column}.)",
            next_column - 1,
            size(),
            offset(next)
        )),
        None if page.text.is_empty() => Some(nothing_there(page, window)),
        None if line == 1 && column == 1 => None,
        None => Some(format!("(Showing lines {line}-{last}, up to the end of the file.)")),
    }
}

fn nothing_there(page: &TextPage, window: TextWindow) -> String {
    let TextWindow { line, column, .. } = window;
    match page.total_lines {
        None | Some(0) => "(The file is empty.)".into(),
        Some(1) if line > 1 => format!("(Line {line} is past the end: the file has 1 line.)"),
        Some(lines) if line > lines => format!("(Line {line} is past the end: the file has {lines} lines.)"),
        Some(_) => format!("(Column {column} is past the end of line {line}.)"),
    }
}
