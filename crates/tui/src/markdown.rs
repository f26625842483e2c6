//! Markdown of a model on a terminal: headings, lists, tables and code, wrapped at words. It is printed line by line while it arrives,
//! and a line that was printed is never printed again.

mod code;
mod inline;
mod render;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use self::render::render_block;

/// The width of text without a terminal, and the widest on one: longer lines are hard to read.
const WIDEST: usize = 120;
/// The least width.
const LEAST: usize = 8;
/// The largest block that is rendered; the rest of it is another block.
const MOST_BYTES: usize = 32 * 1024;

/// The whole text, rendered.
pub(crate) fn render(text: &str, columns: Option<usize>) -> String {
    let mut stream = MarkdownStream::default();
    stream.push(text, columns) + &stream.finish(columns)
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
}

/// What kind a block is, as far as it matters for when its lines are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownBlock {
    /// Its lines are final when another one follows.
    Text,
    /// Its last row may change every column.
    Table,
    Code,
}

/// What of a block is not printed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Nothing,
    LastLine,
}

/// Text that arrives in pieces. It must be escaped.
#[derive(Debug, Default)]
pub(crate) struct MarkdownStream {
    /// What is not in a finished block yet.
    open: String,
    /// How many lines of the open block are printed.
    printed: usize,
    /// The width that they are printed for.
    width: Option<usize>,
    /// Whether a block was printed before the open one.
    has_before: bool,
}

impl MarkdownStream {
    /// Adds text; returns the lines that are final now.
    pub(crate) fn push(&mut self, text: &str, columns: Option<usize>) -> String {
        self.open.push_str(text);
        let mut page = String::new();
        // A line that is not whole may become a row, an item or a heading.
        let blocks_of_lines = blocks(&self.open[..whole_lines(&self.open)]);
        if let Some((_, last)) = blocks_of_lines.last() {
            let finished: String = self.open.drain(..last.start).collect();
            for (_, range) in &blocks_of_lines[..blocks_of_lines.len() - 1] {
                self.print(&finished[range.clone()], columns, Held::Nothing, &mut page);
                self.end_block();
            }
        }
        self.print_open(blocks_of_lines.last().map(|(kind, _)| *kind), columns, &mut page);
        page
    }

    /// The lines that are left.
    pub(crate) fn finish(&mut self, columns: Option<usize>) -> String {
        let mut page = String::new();
        let text = std::mem::take(&mut self.open);
        if !text.trim().is_empty() {
            self.print(&text, columns, Held::Nothing, &mut page);
        }
        *self = Self::default();
        page
    }

    /// The line that is not final yet.
    pub(crate) fn tail(&self) -> String {
        let line = self.open.trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
        line.trim().to_owned()
    }

    /// Prints the lines of the open block that cannot change any more.
    fn print_open(&mut self, kind: Option<MarkdownBlock>, columns: Option<usize>, page: &mut String) {
        let is_text = |kind: MarkdownBlock| kind == MarkdownBlock::Text;
        let with_part = matches!(blocks(&self.open).as_slice(), [(MarkdownBlock::Text, _)]) && kind.is_none_or(is_text);
        let text = if with_part { self.open.clone() } else { self.open[..whole_lines(&self.open)].to_owned() };
        let held = if kind == Some(MarkdownBlock::Code) || text.ends_with("\n\n") { Held::Nothing } else { Held::LastLine };
        if self.open.len() >= MOST_BYTES {
            self.open.clear();
            self.print(&text, columns, Held::Nothing, page);
            self.end_block();
        } else if kind != Some(MarkdownBlock::Table) && (kind == Some(MarkdownBlock::Code) || is_balanced(&text)) {
            self.print(&text, columns, held, page);
        }
    }

    /// Prints the lines of a block that are not printed.
    fn print(&mut self, block: &str, columns: Option<usize>, held: Held, page: &mut String) {
        if self.printed == 0 {
            self.width = columns;
        }
        let lines = render_block(block, self.width.unwrap_or(WIDEST).clamp(LEAST, WIDEST));
        let last = if held == Held::Nothing { lines.len() } else { lines.len().saturating_sub(1) };
        if last <= self.printed {
            return;
        }
        if self.printed == 0 && self.has_before {
            page.push('\n');
        }
        for line in &lines[self.printed..last] {
            page.push_str(line);
            page.push('\n');
        }
        self.printed = last;
    }

    fn end_block(&mut self) {
        self.has_before |= self.printed > 0;
        self.printed = 0;
    }
}

/// The top-level blocks, with where they are.
fn blocks(text: &str) -> Vec<(MarkdownBlock, Range<usize>)> {
    let (mut blocks, mut depth) = (Vec::new(), 0_usize);
    for (event, range) in parser(text).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let kind = match tag {
                        Tag::CodeBlock(_) => MarkdownBlock::Code,
                        Tag::Table(_) => MarkdownBlock::Table,
                        _ => MarkdownBlock::Text,
                    };
                    blocks.push((kind, range));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => blocks.push((MarkdownBlock::Text, range)),
            _ => {}
        }
    }
    // What the parser gives no event for, such as a definition of a link, belongs to the block before.
    let starts: Vec<usize> = blocks.iter().map(|(_, range)| range.start).collect();
    for (index, (_, range)) in blocks.iter_mut().enumerate() {
        range.start = if index == 0 { 0 } else { line_start(text, range.start) };
        range.end = starts.get(index + 1).map_or(text.len(), |next| line_start(text, *next));
    }
    blocks
}

/// Where the last line begins.
fn whole_lines(text: &str) -> usize {
    text.rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line begins: the indentation of a block is part of it.
fn line_start(text: &str, at: usize) -> usize {
    whole_lines(&text[..at])
}

/// Whether no emphasis, code or link of the last paragraph is open, so that no later text changes what is before it.
fn is_balanced(text: &str) -> bool {
    let last = text.rsplit("\n\n").next().unwrap_or(text);
    let count = |mark: char| last.matches(mark).count();
    let is_table = last.lines().next().is_some_and(|line| line.contains('|'));
    !is_table && count('*').is_multiple_of(2) && count('`').is_multiple_of(2) && count('[') == count(']') && count('_').is_multiple_of(2)
}

#[cfg(test)]
mod tests;
