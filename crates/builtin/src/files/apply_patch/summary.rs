//! The summary of a patch.

use std::path::PathBuf;

use haft_contract::ToolOutput;
use haft_patch::PlannedChange;
use serde_json::json;

use crate::shared::file_change::{FileDiff, shorten_diff};

/// The changes of a patch, for the output and the details.
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
    pub(super) fn from_changes(changes: &[PlannedChange]) -> Self {
        let mut summary = Self::default();
        for change in changes {
            match change {
                PlannedChange::Add { path, bytes } => {
                    summary.add('A', path, b"", bytes);
                    summary.added.push(path.clone());
                }
                PlannedChange::Delete { path, before } => {
                    summary.add('D', path, before, b"");
                    summary.deleted.push(path.clone());
                }
                PlannedChange::Update { path, before, bytes, .. } => {
                    summary.add('M', path, before, bytes);
                    summary.modified.push(path.clone());
                }
                PlannedChange::Move { from, to, before, bytes, .. } => {
                    summary.add('M', &format!("{from} -> {to}"), before, bytes);
                    summary.modified.push(to.clone());
                }
            }
        }
        summary
    }

    fn add(&mut self, letter: char, name: &str, old: &[u8], new: &[u8]) {
        let diff = FileDiff::compute(old, new, &PathBuf::from(name));
        self.counts = (self.counts.0 + diff.added, self.counts.1 + diff.removed);
        self.diff += &diff.text;
        self.lines.push(format!("{letter} {name}"));
    }

    pub(super) fn output(self, notes: &[String], dry_run: bool) -> ToolOutput {
        let (added, removed) = self.counts;
        let head = if dry_run { "The patch fits. It would change:" } else { "Success. Changed:" };
        let mut lines = vec![head.to_owned(), self.lines.join("\n"), format!("({added} lines added, {removed} removed)")];
        lines.extend(notes.iter().map(|note| format!("Note: {note}")));
        lines.extend(dry_run.then(|| shorten_diff(&self.diff)));
        ToolOutput::text(lines.join("\n")).with_details(json!({
            "summary": {"added": self.added, "modified": self.modified, "deleted": self.deleted},
            "added": added, "removed": removed, "diff": self.diff, "dry_run": dry_run,
        }))
    }
}
