//! Aligned columns that fit the terminal.

mod text;

use anstyle::Style;
use haft_contract::visible;
use unicode_width::UnicodeWidthStr;

pub(crate) use self::text::{cut, folded, wrapped};
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
    /// It goes on in the next line; where not even that fits, it stands beneath the others.
    Wrap,
    /// It is left out; the highest number goes first.
    Drop(u8),
}

impl Room {
    fn gives_way(self) -> bool {
        matches!(self, Self::Cut | Self::Wrap)
    }
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
        if let Some(width) = width.filter(|width| self.rooms.contains(&Room::Wrap) && overflow(&widths, *width) > 0) {
            return self.rows.iter().map(|cells| self.stacked(cells, width)).collect();
        }
        lines.iter().flat_map(|cells| self.wrapped_row(cells, &widths)).map(|cells| line(&cells, &widths, width)).collect()
    }

    /// The lines of one row: several if a cell is wrapped.
    fn wrapped_row(&self, cells: &[Cell], widths: &[Option<usize>]) -> Vec<Vec<Cell>> {
        let column = |(place, cell): (usize, &Cell)| match (self.rooms[place], widths[place]) {
            (Room::Wrap, Some(width)) if cell.text.width() > width => folded(&cell.text, width),
            _ => vec![cell.text.clone()],
        };
        let columns: Vec<Vec<String>> = cells.iter().enumerate().map(column).collect();
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        let part = |place: usize, height: usize| columns[place].get(height).cloned().unwrap_or_default();
        let cell = |place: usize, height: usize| Cell { text: part(place, height), style: cells[place].style };
        (0..height).map(|height| (0..cells.len()).map(|place| cell(place, height)).collect()).collect()
    }

    /// One row for a terminal too narrow for columns: what is short on one line, each of the others beneath.
    fn stacked(&self, cells: &[Cell], width: usize) -> String {
        let (beneath, short): (Vec<_>, Vec<_>) = cells.iter().zip(&self.rooms).partition(|(_, room)| **room == Room::Wrap);
        let short: Vec<Cell> = short.into_iter().map(|(cell, _)| cell.clone()).collect();
        let widths: Vec<_> = short.iter().map(|cell| Some(cell.text.width())).collect();
        let mut text = line(&short, &widths, Some(width));
        for (Cell { text: long, style }, _) in beneath {
            for part in folded(long, width.saturating_sub(GAP.len())) {
                text += &[GAP, &style.render().to_string(), &part, &style.render_reset().to_string(), "\n"].concat();
            }
        }
        text
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
        let cuttable = widths.iter().zip(&self.rooms).filter(|(_, room)| room.gives_way());
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
            if self.rooms[column].gives_way() {
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
            for table in [table(), wrapping()] {
                let text = plain(&table, Some(width));
                assert!(text.lines().all(|line| line.width() <= width.max(3)), "{width}:\n{text}");
            }
        }
    }

    fn wrapping() -> Table {
        let mut table = Table::new(&[("KEY", Room::Keep), ("VALUE", Room::Wrap), ("SOURCE", Room::Wrap)]);
        table.row(["access", "\"workspace-write\"", "/home/me/config.toml:1:10"].map(Cell::new).to_vec());
        table.row(["tools", "[]", ""].map(Cell::new).to_vec());
        table
    }

    #[test]
    fn what_may_not_be_cut_goes_on_in_the_next_line_and_then_beneath() {
        let whole = "KEY     VALUE              SOURCE\naccess  \"workspace-write\"  /home/me/config.toml:1:10\ntools   []\n";
        assert_eq!(plain(&wrapping(), Some(60)), whole);
        let wrapped =
            "KEY     VALUE         SOURCE\naccess  \"workspace-w  /home/me/confi\n        rite\"         g.toml:1:10\ntools   []\n";
        assert_eq!(plain(&wrapping(), Some(36)), wrapped);
        let stacked = "access\n  \"workspace-write\"\n  /home/me/config.to\n  ml:1:10\ntools\n  []\n";
        assert_eq!(plain(&wrapping(), Some(20)), stacked);
    }

    #[test]
    fn cells_cannot_disturb_the_terminal() {
        let mut table = Table::new(&[("", Room::Keep)]);
        table.row(vec![Cell::new("a\u{1b}[2J\nb\u{202e}")]);
        assert_eq!(plain(&table, None), "a\\u{1b}[2J\\nb\\u{202e}\n");
    }
}
