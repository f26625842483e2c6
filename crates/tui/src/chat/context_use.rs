//! `/context`: what fills the context window, part by part.

use haft_agent::ContextPart;
use serde_json::{Value, json};

use crate::table::{ColumnFit, Table, TableCell};
use crate::terminal::short;

/// The parts of a window.
pub(super) struct ContextSummary {
    pub(super) parts: Vec<ContextPart>,
    /// Tokens of the window.
    pub(super) window: u64,
}

impl ContextSummary {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(&[("PART", ColumnFit::Keep), ("TOKENS", ColumnFit::Keep), ("SHARE", ColumnFit::Keep)]);
        for part in &self.parts {
            table.row(vec![
                TableCell::new(part.name),
                TableCell::new(&short(part.tokens as u64)),
                TableCell::new(&self.share(part.tokens as u64)),
            ]);
        }
        table.row(vec![TableCell::new("window"), TableCell::new(&short(self.window)), TableCell::new("100%")]);
        table
    }

    /// Percentage of the window; what is there is never shown as nothing.
    fn share(&self, tokens: u64) -> String {
        match tokens.saturating_mul(100) / self.window.max(1) {
            0 if tokens > 0 => "<1%".to_owned(),
            percent => format!("{percent}%"),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let parts: Value = self.parts.iter().map(|part| (part.name.to_owned(), json!(part.tokens))).collect();
        json!({ "tokens": parts, "window": self.window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_table_fits_forty_columns() {
        let part = |name, tokens| ContextPart { name, tokens };
        let parts = vec![
            part("system", 412),
            part("instructions", 8_100),
            part("skills", 0),
            part("tools", 5_230),
            part("messages", 61_000),
            part("free", 125_258),
        ];
        let summary = ContextSummary { parts, window: 200_000 };
        let table = anstream::adapter::strip_str(&summary.table().render(Some(40))).to_string();
        insta::assert_snapshot!(table);
        assert!(table.lines().all(|line| line.chars().count() <= 40), "{table}");
    }
}
