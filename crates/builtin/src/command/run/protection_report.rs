//! The report on changes that were not applied: what Git runs or trusts, and protected names.

use haft_contract::{GitReport, RefusedChange, RunEffects};
use haft_text::display;
use serde_json::{Value, json};

/// How many are named in the text.
const LISTED: usize = 20;

/// Remarks for the model.
pub(super) fn remarks(effects: &RunEffects) -> Vec<String> {
    let all: Vec<&RefusedChange> = refused(effects).collect();
    let left = all.len().saturating_sub(LISTED);
    let more = (left > 0).then(|| format!("{left} more changes were not applied."));
    let conflicts = effects.git.iter().flat_map(|git| &git.conflicts).take(LISTED).map(|path| {
        let path = display::escape_line(&path.to_string_lossy()).into_owned();
        format!("Another program changed '{path}' while the command ran, so the command's changes to that repository were not applied. Run it again.")
    });
    let redirected = effects.git.iter().flat_map(|git| &git.redirected).take(LISTED).map(|(path, setting)| {
        let path = display::escape_line(&path.to_string_lossy()).into_owned();
        format!("'{path}' now has '{setting}': a later push or fetch of this repository goes there. Tell the user.")
    });
    let named = all.into_iter().take(LISTED).map(remark);
    named.chain(more).chain(redirected).chain(conflicts).chain(effects.notes.iter().cloned()).collect()
}

/// The same for programs; `None` if everything was applied.
pub(super) fn details(effects: &RunEffects) -> Option<Value> {
    let list: Vec<&RefusedChange> = refused(effects).collect();
    let conflicts: Vec<_> = effects.git.iter().flat_map(|git| &git.conflicts).map(|path| path.to_string_lossy()).collect();
    (!list.is_empty() || !conflicts.is_empty()).then(|| json!({"changes": list, "conflicts": conflicts}))
}

fn refused(effects: &RunEffects) -> impl Iterator<Item = &RefusedChange> {
    let of_git = effects.git.iter().flat_map(|GitReport { refused, .. }| refused);
    of_git.chain(&effects.refused)
}

fn remark(change: &RefusedChange) -> String {
    let (path, why) = (display::escape_line(&change.path.to_string_lossy()).into_owned(), &change.why);
    match &change.quarantined {
        Some(id) => format!(
            "'{path}' was taken away: {why}. The user can look at it with 'haft quarantine show {id}' and put it back with 'haft quarantine restore {id}'."
        ),
        None => format!("'{path}' was not changed: {why}. Ask the user to make this change."),
    }
}
