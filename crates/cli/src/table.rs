//! Aligned columns that fit the terminal.

use anstyle::Style;
use haft_contract::visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::{DIM, PLAIN};

const GAP: &str = "  ";
/// A column that gives way keeps at least this much.
const LEAST: usize = 12;

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text from anywhere; what could disturb the terminal is escaped.
    pub(crate) fn new(text: &str) -> Self {
        Self::styled(text, PLAIN)
    }
    pub(crate) fn styled(text: &str, style: Style) -> Self {
        Self { text: visible::line(text).into_owned(), style }
    }
}

/// What becomes of a column when there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It stays as it is.
    Keep,
    /// It is cut.
    Cut,
    /// It is left out; the highest number goes first.
    Drop(u8),
}

/// A table. Lines have no blanks at their end.
#[derive(Debug)]
pub(crate) struct Table {
    titles: Vec<&'static str>,
    rooms: Vec<Room>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns; without any title it has no head.
    pub(crate) fn new(columns: &[(&'static str, Room)]) -> Self {
        let (titles, rooms) = columns.iter().copied().unzip();
        Self { titles, rooms, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The whole table; `None` cuts nothing.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let head: Vec<Cell> = self.titles.iter().map(|title| Cell::styled(title, DIM)).collect();
        let has_head = self.titles.iter().any(|title| !title.is_empty());
        let lines: Vec<&Vec<Cell>> = has_head.then_some(&head).into_iter().chain(&self.rows).collect();
        let widths = self.fitted(&lines, width);
        lines.iter().map(|cells| line(cells, &widths, width)).collect()
    }

    /// The width of each column; `None` for those that are left out.
    fn fitted(&self, lines: &[&Vec<Cell>], width: Option<usize>) -> Vec<Option<usize>> {
        let natural = |column: usize| lines.iter().map(|cells| cells.get(column).map_or(0, |cell| cell.text.width())).max().unwrap_or(0);
        let mut widths: Vec<Option<usize>> = (0..self.rooms.len()).map(|column| Some(natural(column))).collect();
        let Some(width) = width else { return widths };
        let cut = |widths: &[Option<usize>]| overflow(widths, width).saturating_sub(self.slack(widths));
        while cut(&widths) > 0 {
            let Some(column) = self.next_to_drop(&widths) else { break };
            widths[column] = None;
        }
        self.shrink(&mut widths, width);
        widths
    }

    /// How much the columns that may be cut can give away.
    fn slack(&self, widths: &[Option<usize>]) -> usize {
        let cuttable = widths.iter().zip(&self.rooms).filter(|(_, room)| **room == Room::Cut);
        cuttable.map(|(width, _)| width.unwrap_or(0).saturating_sub(LEAST)).sum()
    }

    fn next_to_drop(&self, widths: &[Option<usize>]) -> Option<usize> {
        let rank = |column: &usize| match (self.rooms[*column], widths[*column]) {
            (Room::Drop(rank), Some(_)) => Some(rank),
            _ => None,
        };
        (0..widths.len()).filter(|column| rank(column).is_some()).max_by_key(rank)
    }

    fn shrink(&self, widths: &mut [Option<usize>], width: usize) {
        for column in 0..widths.len() {
            let over = overflow(widths, width);
            if self.rooms[column] == Room::Cut {
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

fn line(cells: &[Cell], widths: &[Option<usize>], most: Option<usize>) -> String {
    let mut line = String::new();
    let mut used = 0;
    let mut pending = 0;
    for (cell, width) in cells.iter().zip(widths).filter_map(|(cell, width)| width.map(|width| (cell, width))) {
        let room = most.map_or(width, |most| width.min(most.saturating_sub(used + pending)));
        let text = cut(&cell.text, room);
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

/// Text that takes at most so many columns; what was cut ends in `…`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fits = |letter: &char| {
        let width = letter.width().unwrap_or(0);
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    if columns == 0 { kept } else { format!("{}…", kept.trim_end()) }
}

/// Breaks prose into lines of at most so many columns; a longer word stands alone.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.width() + 1 + word.width() > columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, width: Option<usize>) -> String {
        anstream::adapter::strip_str(&table.render(width)).to_string()
    }

    fn table() -> Table {
        let mut table =
            Table::new(&[("ID", Room::Keep), ("WHEN", Room::Drop(1)), ("TOOL", Room::Keep), ("MS", Room::Drop(2)), ("TARGET", Room::Cut)]);
        table.row(["a1", "10:00", "read", "4", "漢字/src/lib.rs"].map(Cell::new).to_vec());
        table.row(["b2", "10:01", "write_file", "12", ""].map(Cell::new).to_vec());
        table
    }

    #[test]
    fn columns_align_and_lines_have_no_blanks_at_the_end() {
        let expected = "ID  WHEN   TOOL        MS  TARGET\na1  10:00  read        4   漢字/src/lib.rs\nb2  10:01  write_file  12\n";
        assert_eq!(plain(&table(), None), expected);
        assert_eq!(plain(&table(), Some(42)), expected);
    }

    #[test]
    fn what_does_not_fit_is_cut_then_left_out() {
        let cut = "ID  WHEN   TOOL        MS  TARGET\na1  10:00  read        4   漢字/src/li…\nb2  10:01  write_file  12\n";
        assert_eq!(plain(&table(), Some(39)), cut);
        let dropped = "ID  WHEN   TOOL        TARGET\na1  10:00  read        漢字/src/lib.…\nb2  10:01  write_file\n";
        assert_eq!(plain(&table(), Some(37)), dropped);
        assert_eq!(plain(&table(), Some(30)), "ID  TOOL        TARGET\na1  read        漢字/src/lib.…\nb2  write_file\n");
    }

    #[test]
    fn no_line_is_ever_wider_than_the_terminal() {
        for width in 1..60 {
            let text = plain(&table(), Some(width));
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
        }
    }

    #[test]
    fn cells_cannot_disturb_the_terminal() {
        let mut table = Table::new(&[("", Room::Keep)]);
        table.row(vec![Cell::new("a\u{1b}[2J\nb\u{202e}")]);
        assert_eq!(plain(&table, None), "a\\u{1b}[2J\\nb\\u{202e}\n");
    }

    #[test]
    fn prose_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three\nfour incomprehensibly", 9), ["one two", "three", "four", "incomprehensibly"]);
        assert_eq!(wrapped("", 9), Vec::<String>::new());
    }
}
