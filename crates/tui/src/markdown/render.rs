//! Renders one block as lines.

use anstyle::Style;
use haft_text::display;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use super::code::highlight;
use super::inline::{InlineText, styled};
use super::parser;
use crate::output::{CYAN, DIM, PLAIN, STRONG};
use crate::table::{break_line, wrap_hard};

/// The least width of text in a nested block.
const LEAST: usize = 8;
const GAP: usize = 2;

/// The lines of a block.
pub(super) fn render_block(text: &str, width: usize) -> Vec<String> {
    let mut renderer = Renderer { width, ..Renderer::default() };
    for event in parser(text) {
        renderer.event(event);
    }
    renderer.end_text();
    renderer.lines
}

#[derive(Debug, Default)]
struct Renderer {
    width: usize,
    lines: Vec<String>,
    text: InlineText,
    styles: Vec<Style>,
    /// What lines begin with: the marks of quotes and the indentation of lists.
    indents: Vec<String>,
    /// Numbers of ordered lists; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The mark of a list item whose first line is not written yet.
    mark: Option<String>,
    /// The language of the code that is open.
    code: Option<String>,
    /// Where links lead, and where their text begins.
    links: Vec<(String, String)>,
    table: Option<Vec<Vec<InlineText>>>,
    alignments: Vec<Alignment>,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code.is_some() => self.code_lines(&text),
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => self.add(&text, PLAIN),
            Event::Code(text) => self.add(&text, CYAN),
            // A model that breaks a line means it.
            Event::SoftBreak | Event::HardBreak => self.add("\n", PLAIN),
            Event::Rule => {
                let rule = "─".repeat(self.room().min(40));
                self.line(&styled(DIM, &rule));
            }
            Event::TaskListMarker(is_done) => self.add(if is_done { "[x] " } else { "[ ] " }, PLAIN),
            _ => {}
        }
    }

    /// Adds text with the styles that are open.
    fn add(&mut self, text: &str, own: Style) {
        let open = self.styles.last().copied().unwrap_or(PLAIN);
        // A character reference may stand for a control character.
        let text = &*display::escape_lines(text);
        self.text.add(if own == PLAIN { open } else { own }, text);
        if let Some((_, shown)) = self.links.last_mut() {
            shown.push_str(text);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let style = self.styles.last().copied().unwrap_or(PLAIN);
        match tag {
            Tag::Heading { level: HeadingLevel::H1, .. } => self.styles.push(STRONG.underline()),
            Tag::Heading { .. } => self.styles.push(STRONG),
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(|rows| rows.push(Vec::new())),
            Tag::Emphasis => self.styles.push(style.italic()),
            Tag::Strong => self.styles.push(style.bold()),
            Tag::Strikethrough => self.styles.push(style.strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.links.push((dest_url.to_string(), String::new())),
            Tag::BlockQuote(_) => self.open_indent(&styled(DIM, "│ ")),
            Tag::List(first) => {
                self.end_text();
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::CodeBlock(kind) => {
                self.end_text();
                self.code = Some(match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase(),
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::Table(alignments) => (self.table, self.alignments) = (Some(Vec::new()), alignments),
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.end_text();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        self.indents.push(" ".repeat(mark.width()));
        self.mark = Some(mark);
    }

    fn open_indent(&mut self, indent: &str) {
        self.end_text();
        self.indents.push(indent.to_owned());
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_text(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.end_text();
                self.mark = None;
                self.indents.pop();
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::CodeBlock => self.code = None,
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(row) = self.table.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
        if matches!(tag, TagEnd::Heading(_)) {
            self.styles.pop();
        }
    }

    /// Shows where a link leads, unless its text says so.
    fn end_link(&mut self) {
        let Some((address, shown)) = self.links.pop() else { return };
        if !address.is_empty() && shown != address {
            self.text.add(DIM, &format!(" ({})", display::escape_line(&address)));
        }
    }

    /// Columns for text.
    fn room(&self) -> usize {
        let used: usize = self.indents.iter().map(|indent| anstream::adapter::strip_str(indent).to_string().width()).sum();
        self.width.saturating_sub(used).max(LEAST)
    }

    /// Ends a paragraph.
    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        for line in text.wrap(self.room()) {
            self.line(&line);
        }
    }

    /// Writes a line behind the marks of the blocks that it is in.
    fn line(&mut self, text: &str) {
        let mut indents = self.indents.clone();
        if let (Some(mark), Some(last)) = (self.mark.take(), indents.last_mut()) {
            *last = mark;
        }
        self.lines.push(format!("{}{text}", indents.concat()).trim_end().to_owned());
    }

    fn code_lines(&mut self, text: &str) {
        let language = self.code.clone().unwrap_or_default();
        let width = self.room().saturating_sub(GAP).max(LEAST);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            for part in break_line(&line.replace('\t', "    "), width) {
                self.line(&format!("{:GAP$}{}", "", highlight(&part, &language)));
            }
        }
    }

    /// A table whose columns fit; one that is too narrow for them is written row by row.
    fn end_table(&mut self) {
        let rows: Vec<Vec<String>> = self
            .table
            .take()
            .unwrap_or_default()
            .iter()
            .map(|row| row.iter().map(|cell| cell.plain().trim().to_owned()).collect())
            .collect();
        let Some(head) = rows.first() else { return };
        let room = self.room();
        let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0);
        let Some(widths) = fitted((0..head.len()).map(widest).collect(), room) else {
            return self.stacked_table(&rows, room);
        };
        for (number, row) in rows.iter().enumerate() {
            for line in table_row(row, &widths, &self.alignments) {
                self.line(&if number == 0 { styled(STRONG, line.trim_end()) } else { line });
            }
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                self.line(&styled(DIM, &rule.join("  ")));
            }
        }
    }

    fn stacked_table(&mut self, rows: &[Vec<String>], room: usize) {
        let Some((head, rows)) = rows.split_first() else { return };
        for row in rows {
            for (title, cell) in head.iter().zip(row) {
                for line in wrap_hard(&format!("{title}: {cell}"), room) {
                    self.line(&line);
                }
            }
            self.line("");
        }
        self.lines.pop();
    }
}

/// The widths of columns that fit together: the widest shrink. `None` if they would be too narrow to read.
fn fitted(mut widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    let gaps = GAP * widths.len().saturating_sub(1);
    loop {
        let total = widths.iter().sum::<usize>() + gaps;
        if total <= room {
            return Some(widths);
        }
        let widest = widths.iter_mut().max()?;
        if *widest <= LEAST {
            return None;
        }
        *widest = widest.saturating_sub((total - room).min(4)).max(LEAST);
    }
}

fn table_row(row: &[String], widths: &[usize], alignments: &[Alignment]) -> Vec<String> {
    let cells: Vec<Vec<String>> =
        widths.iter().enumerate().map(|(index, width)| wrap_hard(row.get(index).map_or("", |cell| cell), *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let line = |number: usize| {
        let column = |(index, cell): (usize, &Vec<String>)| {
            let text = cell.get(number).map_or("", |line| line);
            let blanks = widths[index].saturating_sub(text.width());
            let left = match alignments.get(index) {
                Some(Alignment::Right) => blanks,
                Some(Alignment::Center) => blanks / 2,
                _ => 0,
            };
            format!("{}{text}{}", " ".repeat(left), " ".repeat(blanks - left))
        };
        cells.iter().enumerate().map(column).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    (0..height).map(line).collect()
}
