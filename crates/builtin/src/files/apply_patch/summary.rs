//! What a patch came to, in words.

use std::path::PathBuf;

use haft_contract::ToolOutput;
use haft_patch::Change;
use serde_json::json;

use crate::shared::changed::{Diff, shown};

/// What a patch changes, for the model and for people.
#[derive(Debug, Default)]
pub(super) struct Summary {
    lines: Vec<String>,
    added: Vec<String>,
    modified: Vec<String>,
    deleted: Vec<String>,
    diff: String,
    counts: (usize, usize),
}

impl Summary {
    pub(super) fn of(changes: &[Change]) -> Self {
        let mut summary = Self::default();
        for change in changes {
            match change {
                Change::Add { path, bytes } => {
                    summary.take('A', path, b"", bytes);
                    summary.added.push(path.clone());
                }
                Change::Delete { path, before } => {
                    summary.take('D', path, before, b"");
                    summary.deleted.push(path.clone());
                }
                Change::Update { path, before, bytes, .. } => {
                    summary.take('M', path, before, bytes);
                    summary.modified.push(path.clone());
                }
                Change::Move { from, to, before, bytes, .. } => {
                    summary.take('M', &format!("{from} -> {to}"), before, bytes);
                    summary.modified.push(to.clone());
                }
            }
        }
        summary
    }

    fn take(&mut self, mark: char, name: &str, old: &[u8], new: &[u8]) {
        let diff = Diff::of(old, new, &PathBuf::from(name));
        self.counts = (self.counts.0 + diff.added, self.counts.1 + diff.removed);
        self.diff += &diff.text;
        self.lines.push(format!("{mark} {name}"));
    }

    pub(super) fn told(self, notes: &[String], dry_run: bool) -> ToolOutput {
        let (added, removed) = self.counts;
        let head = if dry_run { "The patch fits. It would change:" } else { "Success. Changed:" };
        let mut lines = vec![head.to_owned(), self.lines.join("\n"), format!("({added} lines added, {removed} removed)")];
        lines.extend(notes.iter().map(|note| format!("Note: {note}")));
        lines.extend(dry_run.then(|| shown(&self.diff)));
        ToolOutput::text(lines.join("\n")).with_details(json!({
            "summary": {"added": self.added, "modified": self.modified, "deleted": self.deleted},
            "added": added, "removed": removed, "diff": self.diff, "dry_run": dry_run,
        }))
    }
}
