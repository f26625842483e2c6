//! Tables: rows of cells where a table holds data, blocks where it is a layout.

use super::writer::TextWriter;
use super::{PageRenderer, Style};
use crate::html::names::is_block;
use crate::html::tree::NodeId;

const MAX_COLUMNS: usize = 40;

impl PageRenderer<'_, '_, '_> {
    pub(super) fn table(&mut self, id: NodeId) {
        let rows = self.rows(id);
        if self.is_layout(id, &rows) {
            return self.block(id);
        }
        self.writer.block();
        if let Some(caption) = self.part(id, "caption") {
            self.block(caption);
        }
        let columns = rows.iter().map(|row| row.iter().map(|cell| self.span(*cell)).sum::<usize>()).max().unwrap_or(0).min(MAX_COLUMNS);
        for (at, row) in rows.iter().enumerate() {
            let cells = self.cells(row, columns);
            self.writer.verbatim_line(&self.row_line(&cells));
            if at == 0 && self.style == Style::Markdown {
                self.writer.verbatim_line(&format!("|{}", " --- |".repeat(columns)));
            }
        }
        self.writer.block();
    }

    fn row_line(&self, cells: &[String]) -> String {
        match self.style {
            Style::Markdown => format!("| {} |", cells.join(" | ")),
            Style::Text => cells.iter().filter(|cell| !cell.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" | "),
        }
    }

    /// The cells of each row that has any.
    fn rows(&self, table: NodeId) -> Vec<Vec<NodeId>> {
        let (tree, end) = (self.content.tree, self.content.tree.end_of(table));
        let own = |id: &NodeId| !self.content.is_dropped(*id) && self.nearest_table(*id) == Some(table);
        let rows = (table + 1..end).filter(|id| tree.name(*id) == "tr").filter(own);
        let cells = rows.map(|row| {
            let cells = tree.children(row).filter(|cell| matches!(tree.name(*cell), "td" | "th") && !self.content.is_dropped(*cell));
            cells.collect::<Vec<_>>()
        });
        cells.filter(|cells| cells.iter().any(|cell| self.content.text_length(*cell) > 0)).collect()
    }

    fn nearest_table(&self, id: NodeId) -> Option<NodeId> {
        let tree = self.content.tree;
        let mut at = id;
        while at != 0 {
            at = tree.parent(at);
            if tree.name(at) == "table" {
                return Some(at);
            }
        }
        None
    }

    fn part(&self, table: NodeId, name: &str) -> Option<NodeId> {
        let tree = self.content.tree;
        tree.children(table).find(|child| tree.name(*child) == name && !self.content.is_dropped(*child))
    }

    /// One column or one row, a table in a cell, or cells with several blocks: made for display.
    fn is_layout(&self, table: NodeId, rows: &[Vec<NodeId>]) -> bool {
        let tree = self.content.tree;
        let role = tree.attributes(table).get("role");
        if role.is_some_and(|role| matches!(role.trim(), "presentation" | "none")) || rows.len() < 2 || rows.iter().all(|row| row.len() < 2)
        {
            return true;
        }
        let complex = |cell: &NodeId| {
            let inner = *cell + 1..tree.end_of(*cell);
            let blocks = inner.clone().filter(|id| is_block(tree.name(*id)) && !matches!(tree.name(*id), "li" | "ul" | "ol" | "p" | "div"));
            blocks.count() > 0 || inner.filter(|id| tree.name(*id) == "p").count() > 2
        };
        rows.iter().flatten().any(complex)
    }

    fn span(&self, cell: NodeId) -> usize {
        self.number(cell, "colspan").unwrap_or(1).clamp(1, MAX_COLUMNS)
    }

    fn cells(&mut self, row: &[NodeId], columns: usize) -> Vec<String> {
        let mut cells = Vec::with_capacity(columns);
        for cell in row {
            cells.push(self.cell(*cell));
            cells.extend(std::iter::repeat_n(String::new(), self.span(*cell) - 1));
        }
        cells.resize(columns, String::new());
        cells
    }

    /// A cell on one line.
    fn cell(&mut self, id: NodeId) -> String {
        let outer = std::mem::replace(&mut self.writer, TextWriter::new(self.style));
        let lists = std::mem::take(&mut self.lists);
        self.children(id);
        let text = std::mem::replace(&mut self.writer, outer).finish();
        self.lists = lists;
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let line = lines.join(" ");
        if self.style == Style::Markdown { line.replace('|', "\\|") } else { line }
    }
}
