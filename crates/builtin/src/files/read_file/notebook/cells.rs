//! Cells, as they are shown.

use haft_contract::ToolContext;

use crate::shared::brief;
use crate::shared::notebook::{CellOutput, Notebook};

/// Most bytes and lines of an output: running the cell gives it again.
const OUTPUT_BYTES: usize = 2000;
const OUTPUT_LINES: usize = 40;
/// All outputs of one cell together.
const OUTPUTS_BYTES: usize = 10_000;
pub(super) const PICTURES: usize = 4;

/// A page of cells.
#[derive(Debug)]
pub(super) struct CellPage {
    pub(super) text: String,
    pub(super) first: usize,
    pub(super) shown: usize,
    pub(super) total: usize,
    /// Pictures in base64, and how many more there are.
    pub(super) pictures: Vec<String>,
    left_out: usize,
    pub(super) language: String,
    /// The cell whose source was cut, by its name.
    cut: Option<String>,
}

impl CellPage {
    /// Notes on what is left out, and how to get it.
    pub(super) fn note(&self, next: Option<usize>, cx: &ToolContext) -> Vec<String> {
        let Self { first, shown, total, .. } = self;
        let mut notes = Vec::new();
        if self.left_out > 0 {
            notes.push(format!("({} more pictures are in the outputs; show fewer cells at a time to see them.)", self.left_out));
        }
        if let Some(cell) = &self.cut {
            notes.push(format!("(The source of cell '{cell}' is too long for one page; raw=true shows the file's text by lines.)"));
        }
        match (total, next) {
            (0, _) => notes.push("(The notebook has no cells.)".into()),
            (_, Some(next)) => {
                let next = cx.write_parameter("offset", next as u64);
                notes.push(format!("(Showing cells {first}-{} of {total}. Continue with {next}.)", first + shown - 1));
            }
            _ if *shown == 0 => notes.push(format!("(Cell {first} is past the end: the notebook has {total}.)")),
            _ if *first > 1 => notes.push(format!("(Showing cells {first}-{total}, up to the end of the notebook.)")),
            _ => {}
        }
        notes
    }
}

/// The cells from the first on, as many as fit.
pub(super) fn cells_of(notebook: &Notebook<'_>, first: usize, most: usize, bytes: usize) -> CellPage {
    let (total, language) = (notebook.cells.len(), notebook.language.clone());
    let mut cells = CellPage { text: String::new(), first, shown: 0, total, pictures: Vec::new(), left_out: 0, language, cut: None };
    for (index, cell) in notebook.cells.iter().enumerate().skip(first - 1).take(most) {
        let (outputs, mut source) = (cell.outputs(), cell.source().0);
        let head = cell_head(&notebook.name_of(index), &cell.kind, cell.execution_count());
        let output = outputs_text(&outputs);
        let space = bytes.saturating_sub(cells.text.len() + head.len() + output.len() + 16);
        if source.len() >= space && cells.shown > 0 {
            break;
        }
        if source.len() > space {
            source.truncate(source.floor_char_boundary(space));
            cells.cut = Some(notebook.name_of(index).into_owned());
        }
        cells.text.extend([head, with_line_feed(&source), output, "</cell>\n".into()]);
        cells.shown += 1;
        cells.add_pictures(outputs);
    }
    cells
}

impl CellPage {
    fn add_pictures(&mut self, outputs: Vec<CellOutput>) {
        for picture in outputs.into_iter().flat_map(|output| output.pictures) {
            if self.pictures.len() < PICTURES { self.pictures.push(picture) } else { self.left_out += 1 }
        }
    }
}

fn cell_head(name: &str, kind: &str, count: Option<u64>) -> String {
    let count = count.map(|count| format!(" execution_count=\"{count}\"")).unwrap_or_default();
    format!("<cell id=\"{}\" type=\"{}\"{count}>\n", brief(name), brief(kind))
}

fn outputs_text(outputs: &[CellOutput]) -> String {
    let mut text = String::new();
    for (index, output) in outputs.iter().enumerate() {
        if text.len() >= OUTPUTS_BYTES {
            return format!("{text}({} more outputs)\n", outputs.len() - index);
        }
        text.push_str(&output_text(output));
    }
    text
}

/// A shortened output; for a picture, a placeholder.
fn output_text(output: &CellOutput) -> String {
    let others = output.pictures.iter().map(|_| "picture").chain(output.others.iter().map(String::as_str));
    let others: String = others.take(OUTPUT_LINES).map(|other| format!("({})\n", brief(other))).collect::<Vec<_>>().concat();
    let text = short(&output.text);
    if text.is_empty() && others.is_empty() {
        return text;
    }
    format!("<output type=\"{}\">\n{text}{others}</output>\n", brief(&output.kind))
}

/// The beginning of a text, in whole lines if possible, and how much is missing.
fn short(text: &str) -> String {
    let by_lines = text.split_inclusive('\n').take(OUTPUT_LINES).map(str::len).sum::<usize>();
    let end = text.floor_char_boundary(by_lines.min(OUTPUT_BYTES));
    let (shown, missing) = (with_line_feed(&text[..end]), text[end..].chars().count());
    if missing > 0 { format!("{shown}({missing} more characters)\n") } else { shown }
}

/// The text with a line feed at its end.
fn with_line_feed(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
