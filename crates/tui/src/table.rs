//! Aligned columns that fit the terminal.

mod text;

use anstyle::Style;
use haft_text::display;
use haft_text::truncate::ellipsize_to_width;
use unicode_width::UnicodeWidthStr;

pub(crate) use self::text::break_line;
pub use self::text::{wrap, wrap_hard};
use crate::output::{DIM, PLAIN};

const GAP: &str = "  ";
/// The least width of a column that shrinks.
const LEAST: usize = 12;

/// One cell.
#[derive(Debug, Clone)]
pub struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    /// Text from anywhere; what could disturb the terminal is escaped.
    pub fn new(text: &str) -> Self {
        Self::styled(text, PLAIN)
    }
    pub fn styled(text: &str, style: Style) -> Self {
        Self { text: display::escape_line(text).into_owned(), style }
    }
}

/// What happens to a column when the table is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnFit {
    Keep,
    /// It is truncated.
    Cut,
    /// It is wrapped; if that is too narrow, it moves below the other columns.
    Wrap,
    /// It is left out; the highest number first.
    Drop(u8),
}

impl ColumnFit {
    fn can_shrink(self) -> bool {
        matches!(self, Self::Cut | Self::Wrap)
    }
}

/// A table. Lines have no blanks at their end.
#[derive(Debug)]
pub struct Table {
    titles: Vec<&'static str>,
    fits: Vec<ColumnFit>,
    rows: Vec<Vec<TableCell>>,
}

impl Table {
    /// A table with these columns; without titles it has no header.
    pub fn new(columns: &[(&'static str, ColumnFit)]) -> Self {
        let (titles, fits) = columns.iter().copied().unzip();
        Self { titles, fits, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<TableCell>) {
        self.rows.push(cells);
    }

    /// Renders the table; `None` truncates nothing.
    pub fn render(&self, width: Option<usize>) -> String {
        let head: Vec<TableCell> = self.titles.iter().map(|title| TableCell::styled(title, DIM)).collect();
        let has_head = self.titles.iter().any(|title| !title.is_empty());
        let lines: Vec<&Vec<TableCell>> = has_head.then_some(&head).into_iter().chain(&self.rows).collect();
        let widths = self.fitted(&lines, width);
        if let Some(width) = width.filter(|width| self.fits.contains(&ColumnFit::Wrap) && overflow(&widths, *width) > 0) {
            return self.rows.iter().map(|cells| self.stacked(cells, width)).collect();
        }
        lines.iter().flat_map(|cells| self.wrapped_row(cells, &widths)).map(|cells| line(&cells, &widths, width)).collect()
    }

    /// The lines of one row: several if a cell is wrapped.
    fn wrapped_row(&self, cells: &[TableCell], widths: &[Option<usize>]) -> Vec<Vec<TableCell>> {
        let column = |(index, cell): (usize, &TableCell)| match (self.fits[index], widths[index]) {
            (ColumnFit::Wrap, Some(width)) if cell.text.width() > width => wrap_hard(&cell.text, width),
            _ => vec![cell.text.clone()],
        };
        let columns: Vec<Vec<String>> = cells.iter().enumerate().map(column).collect();
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |index: usize, line: usize| {
            let text = columns[index].get(line).cloned().unwrap_or_default();
            TableCell { text, style: cells[index].style }
        };
        (0..height).map(|line| (0..cells.len()).map(|index| cell(index, line)).collect()).collect()
    }

    /// One row of a terminal too narrow for columns: short cells on one line, each other cell below.
    fn stacked(&self, cells: &[TableCell], width: usize) -> String {
        let (below, short): (Vec<_>, Vec<_>) = cells.iter().zip(&self.fits).partition(|(_, fit)| **fit == ColumnFit::Wrap);
        let short: Vec<TableCell> = short.into_iter().map(|(cell, _)| cell.clone()).collect();
        let widths: Vec<_> = short.iter().map(|cell| Some(cell.text.width())).collect();
        let mut text = line(&short, &widths, Some(width));
        for (TableCell { text: long, style }, _) in below {
            for part in wrap_hard(long, width.saturating_sub(GAP.len())) {
                text += &[GAP, &style.render().to_string(), &part, &style.render_reset().to_string(), "\n"].concat();
            }
        }
        text
    }

    /// The width of each column; `None` for those that are left out.
    fn fitted(&self, lines: &[&Vec<TableCell>], width: Option<usize>) -> Vec<Option<usize>> {
        let natural = |column: usize| lines.iter().map(|cells| cells.get(column).map_or(0, |cell| cell.text.width())).max().unwrap_or(0);
        let mut widths: Vec<Option<usize>> = (0..self.fits.len()).map(|column| Some(natural(column))).collect();
        let Some(width) = width else { return widths };
        let cut = |widths: &[Option<usize>]| overflow(widths, width).saturating_sub(self.slack(widths));
        while cut(&widths) > 0 {
            let Some(column) = self.next_to_drop(&widths) else { break };
            widths[column] = None;
        }
        self.shrink(&mut widths, width);
        widths
    }

    /// By how much the columns can shrink.
    fn slack(&self, widths: &[Option<usize>]) -> usize {
        let cuttable = widths.iter().zip(&self.fits).filter(|(_, fit)| fit.can_shrink());
        cuttable.map(|(width, _)| width.unwrap_or(0).saturating_sub(LEAST)).sum()
    }

    fn next_to_drop(&self, widths: &[Option<usize>]) -> Option<usize> {
        let rank = |column: &usize| match (self.fits[*column], widths[*column]) {
            (ColumnFit::Drop(rank), Some(_)) => Some(rank),
            _ => None,
        };
        (0..widths.len()).filter(|column| rank(column).is_some()).max_by_key(rank)
    }

    fn shrink(&self, widths: &mut [Option<usize>], width: usize) {
        for column in 0..widths.len() {
            let over = overflow(widths, width);
            if self.fits[column].can_shrink() {
                widths[column] = widths[column].map(|natural| natural.saturating_sub(over).max(LEAST.min(natural)));
            }
        }
    }
}

fn overflow(widths: &[Option<usize>], width: usize) -> usize {
    let shown: Vec<usize> = widths.iter().flatten().copied().collect();
    let total: usize = shown.iter().sum::<usize>() + GAP.len() * shown.len().saturating_sub(1);
    total.saturating_sub(width)
}

fn line(cells: &[TableCell], widths: &[Option<usize>], most: Option<usize>) -> String {
    let mut line = String::new();
    let mut used = 0;
    let mut pending = 0;
    for (cell, width) in cells.iter().zip(widths).filter_map(|(cell, width)| width.map(|width| (cell, width))) {
        let available = most.map_or(width, |most| width.min(most.saturating_sub(used + pending)));
        let text = ellipsize_to_width(&cell.text, available);
        let shown = text.width();
        if shown > 0 {
            line += &" ".repeat(pending);
            used += pending + shown;
            pending = 0;
            line += &[cell.style.render().to_string(), text, cell.style.render_reset().to_string()].concat();
        }
        pending += width.saturating_sub(shown) + GAP.len();
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, width: Option<usize>) -> String {
        anstream::adapter::strip_str(&table.render(width)).to_string()
    }

    fn table() -> Table {
        let mut table = Table::new(&[
            ("ID", ColumnFit::Keep),
            ("WHEN", ColumnFit::Drop(1)),
            ("TOOL", ColumnFit::Keep),
            ("MS", ColumnFit::Drop(2)),
            ("TARGET", ColumnFit::Cut),
        ]);
        table.row(["a1", "10:00", "read", "4", "漢字/src/lib.rs"].map(TableCell::new).to_vec());
        table.row(["b2", "10:01", "write_file", "12", ""].map(TableCell::new).to_vec());
        table
    }

    #[test]
    fn table_columns_align_without_trailing_blanks() {
        let expected = "ID  WHEN   TOOL        MS  TARGET\na1  10:00  read        4   漢字/src/lib.rs\nb2  10:01  write_file  12\n";
        assert_eq!(plain(&table(), None), expected);
        assert_eq!(plain(&table(), Some(42)), expected);
    }

    #[test]
    fn table_truncates_then_drops_columns() {
        let cut = "ID  WHEN   TOOL        MS  TARGET\na1  10:00  read        4   漢字/src/li…\nb2  10:01  write_file  12\n";
        assert_eq!(plain(&table(), Some(39)), cut);
        let dropped = "ID  WHEN   TOOL        TARGET\na1  10:00  read        漢字/src/lib.…\nb2  10:01  write_file\n";
        assert_eq!(plain(&table(), Some(37)), dropped);
        assert_eq!(plain(&table(), Some(30)), "ID  TOOL        TARGET\na1  read        漢字/src/lib.…\nb2  write_file\n");
    }

    #[test]
    fn table_is_never_wider_than_the_terminal() {
        for width in 1..60 {
            for table in [table(), wrapping()] {
                let text = plain(&table, Some(width));
                assert!(text.lines().all(|line| line.width() <= width.max(3)), "{width}:\n{text}");
            }
        }
    }

    fn wrapping() -> Table {
        let mut table = Table::new(&[("KEY", ColumnFit::Keep), ("VALUE", ColumnFit::Wrap), ("SOURCE", ColumnFit::Wrap)]);
        table.row(["access", "\"workspace-write\"", "/home/me/config.toml:1:10"].map(TableCell::new).to_vec());
        table.row(["tools", "[]", ""].map(TableCell::new).to_vec());
        table
    }

    #[test]
    fn table_wraps_then_stacks_columns() {
        let whole = "KEY     VALUE              SOURCE\naccess  \"workspace-write\"  /home/me/config.toml:1:10\ntools   []\n";
        assert_eq!(plain(&wrapping(), Some(60)), whole);
        let wrapped =
            "KEY     VALUE         SOURCE\naccess  \"workspace-w  /home/me/confi\n        rite\"         g.toml:1:10\ntools   []\n";
        assert_eq!(plain(&wrapping(), Some(36)), wrapped);
        let stacked = "access\n  \"workspace-write\"\n  /home/me/config.to\n  ml:1:10\ntools\n  []\n";
        assert_eq!(plain(&wrapping(), Some(20)), stacked);
    }

    #[test]
    fn table_cells_are_escaped() {
        let mut table = Table::new(&[("", ColumnFit::Keep)]);
        table.row(vec![TableCell::new("a\u{1b}[2J\nb\u{202e}")]);
        assert_eq!(plain(&table, None), "a\\u{1b}[2J\\nb\\u{202e}\n");
    }
}
