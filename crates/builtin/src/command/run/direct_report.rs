//! The direct changes of a command: a bounded list for programs, and remarks on what undo does not cover.

use std::path::Path;

use haft_contract::{ChangeKind, DirectChanges, FileChange};
use haft_text::display;
use serde_json::{Value, json};

/// How many paths are listed.
const LISTED: usize = 200;
/// How many gaps of undo a remark names.
const NAMED: usize = 5;

/// The changes, for programs.
pub(crate) fn direct_details(direct: &DirectChanges) -> Value {
    let count = |kind| direct.changes.iter().filter(|change| change.kind == kind).count();
    json!({
        "id": null,
        "applied": true,
        "created": count(ChangeKind::Created),
        "changed": count(ChangeKind::Changed),
        "deleted": count(ChangeKind::Deleted),
        "files": direct.changes.iter().take(LISTED).map(|change| facts(direct, change)).collect::<Vec<_>>(),
        "not_listed": direct.changes.len().saturating_sub(LISTED),
        "undo": direct.undo.is_ok(),
        "uncovered": direct.uncovered,
    })
}

fn facts(direct: &DirectChanges, change: &FileChange) -> Value {
    json!({"path": relative_path(direct, &change.path), "change": change.kind, "kind": change.entry})
}

fn relative_path(direct: &DirectChanges, path: &Path) -> String {
    path.strip_prefix(&direct.workspace).unwrap_or(path).to_string_lossy().into_owned()
}

/// What undo does not cover. Nothing where it covers everything: the model need not know of undo then.
pub(crate) fn undo_remarks(direct: &DirectChanges) -> Vec<String> {
    if let Err(why) = &direct.undo {
        let count = direct.changes.len();
        let paths = if count == 1 { "path".to_owned() } else { format!("{count} paths") };
        let remark = || format!("Undo does not cover the changed {paths}: {}.", why.trim_end_matches('.'));
        return (count > 0).then(remark).into_iter().collect();
    }
    if direct.uncovered.is_empty() {
        return Vec::new();
    }
    let more = direct.uncovered.len().checked_sub(NAMED + 1).map(|more| format!("; and {} more", more + 1)).unwrap_or_default();
    let named = direct.uncovered[..direct.uncovered.len().min(NAMED)].join("; ");
    vec![format!("Undo does not cover: {}{more}.", display::escape_line(&named))]
}
