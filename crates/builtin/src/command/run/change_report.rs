//! The changes of a command: a list and diffs.

use std::fmt::Write as _;

use haft_contract::{AppliedChanges, ChangeKind, ChangeSet, ChangeSide, EntryKind, FileChange, SpillFile, ToolContext, ToolError, Trigger};
use haft_patch::diff::{counts, unified};
use haft_text::display;
use haft_text::numbers;
use serde_json::{Value, json};

use crate::shared::binary::has_nul;
use crate::shared::file_change::shorten_diff;

/// How many paths are listed in the text, and in the details; the rest is in a file.
const LISTED: usize = 40;
const LISTED_DETAILS: usize = 1_000;
/// How many refusals are explained, each in a sentence or two.
const LISTED_REFUSALS: usize = 10;
/// How many files are compared, and how large each may be.
const COMPARED: usize = 200;
const LARGEST: usize = 256 * 1024;
/// Most bytes of all diffs.
const KEPT: usize = 2 * 1024 * 1024;
/// Lines around a change.
const CONTEXT: usize = 3;

/// The report on a change set.
pub(crate) struct ChangeReport<'a> {
    set: &'a ChangeSet,
    /// A line for each change, in the order of the set.
    lines: Vec<String>,
    diffs: String,
    spill: Option<SpillFile>,
}

impl<'a> ChangeReport<'a> {
    /// Describes a set; a long description goes to a file.
    pub(crate) async fn new(set: &'a ChangeSet, cx: &ToolContext) -> Self {
        let mut report = Self { set, lines: Vec::new(), diffs: String::new(), spill: None };
        for (index, change) in set.changes.iter().enumerate() {
            let compared = if index < COMPARED { compare(set, index, change, cx).await } else { None };
            let lines = compared.as_ref().filter(|(added, removed, _)| added + removed > 0);
            let more = lines.map(|(added, removed, _)| format!(", +{added} -{removed}")).unwrap_or_default();
            report.lines.push(format!("{} {}{more}", status_letter(change.kind), described(set, change)));
            if let Some((.., diff)) = compared.filter(|_| report.diffs.len() < KEPT) {
                report.diffs.push_str(&diff);
            }
        }
        if report.lines.len() > LISTED || shorten_diff(&report.diffs).len() < report.diffs.len() {
            // Without space on the disk, the text has to do.
            report.spill = report.write_spill(cx).await.ok();
        }
        report
    }

    async fn write_spill(&self, cx: &ToolContext) -> Result<SpillFile, ToolError> {
        let mut spill = cx.spills().create("txt").await?;
        spill.write(format!("{}\n\n{}", self.lines.join("\n"), self.diffs).as_bytes()).await?;
        spill.finish().await
    }

    /// How many paths, of which kind.
    pub(super) fn counted(&self) -> String {
        counted(self.set)
    }

    /// What of the set was applied. Nothing is said where it was all of it, as of a command that is not staged.
    pub(super) fn applied(&self, refused: &[(usize, String)]) -> Option<String> {
        match self.set.changes.len() - refused.len() {
            _ if refused.is_empty() => None,
            0 => Some("Changed nothing.".to_owned()),
            applied => Some(format!("Changed {applied} of {} paths.", self.set.changes.len())),
        }
    }

    /// The list, and the diffs after it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.lines[..self.lines.len().min(LISTED)].join("\n");
        let left = self.lines.len().saturating_sub(LISTED);
        if left > 0 {
            write!(text, "\n({left} more are not shown)").ok();
        }
        if !self.diffs.is_empty() {
            write!(text, "\n\n{}", shorten_diff(self.diffs.trim_end())).ok();
        }
        if let Some(spill) = &self.spill {
            write!(text, "\n(All of it is in '{}'.)", spill.path.display()).ok();
        }
        text
    }

    /// The same for programs.
    pub(crate) fn details(&self, applied: bool) -> Value {
        let (created, changed, deleted) = self.set.counts();
        json!({
            "id": self.set.id,
            "applied": applied,
            "created": created,
            "changed": changed,
            "deleted": deleted,
            "files": self.set.changes.iter().take(LISTED_DETAILS).map(|change| facts(self.set, change)).collect::<Vec<_>>(),
            "not_committable": self.set.refused,
            "diff": shorten_diff(&self.diffs),
            "spill": self.spill.as_ref().map(|spill| spill.path.to_string_lossy()),
        })
    }
}

/// The message for changes that could not be staged.
pub(crate) fn lost_changes_message(why: &str) -> String {
    format!("The command ran, but its changes are lost and nothing was changed: {why}. Fix that, then run it again.")
}

/// How many paths, of which kind: `3 paths (1 created, 2 changed)`.
pub(crate) fn counted(set: &ChangeSet) -> String {
    let (created, changed, deleted) = set.counts();
    let parts = [(created, "created"), (changed, "changed"), (deleted, "deleted")];
    let parts: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let paths = if set.changes.len() == 1 { "path" } else { "paths" };
    format!("{} {paths} ({})", set.changes.len(), parts.join(", "))
}

/// The changes that no rule let through: which, and why. A folder stands for what is in it.
pub(super) fn refused_changes(set: &ChangeSet, refused: &[(usize, String)]) -> Vec<String> {
    let mut folders: Vec<(&FileChange, &str, usize)> = Vec::new();
    for (index, why) in refused {
        let Some(change) = set.changes.get(*index) else { continue };
        match folders.last_mut() {
            // The changes of a set are in the order of their paths.
            Some((folder, _, inside)) if change.path.starts_with(&folder.path) => *inside += 1,
            _ => folders.push((change, why, 0)),
        }
    }
    let line = |(change, why, inside): &(&FileChange, &str, usize)| {
        let more = if *inside > 0 { format!(" and {inside} paths in it") } else { String::new() };
        format!("Not changed: '{}'{more}. {why}", display::escape_line(&set.display(change)))
    };
    let left = folders.len().saturating_sub(LISTED_REFUSALS);
    let more = (left > 0).then(|| format!("{left} more paths were not changed."));
    let advice = (!refused.is_empty()).then(|| format!("What was not changed is staged: commit={} asks the user for it.", set.id));
    folders.iter().take(LISTED_REFUSALS).map(line).chain(more).chain(advice).collect()
}

/// What undo does not cover of new repositories, and those that could not be put in their places.
pub(super) fn repository_remarks(applied: &AppliedChanges) -> Vec<String> {
    let AppliedChanges { set, refused, misplaced } = applied;
    let is_applied = |(index, change): &(usize, &FileChange)| {
        refused.iter().all(|(other, _)| other != index) && misplaced.iter().all(|(path, _)| *path != change.path)
    };
    let new = set.changes.iter().enumerate().filter(|(_, change)| change.checked_repository() == Some(&*change.path));
    let new: Vec<String> = new.filter(is_applied).map(|(_, change)| format!("'{}'", display::escape_line(&set.display(change)))).collect();
    let uncovered = (!new.is_empty()).then(|| format!("Undo does not cover new repositories: {}.", new.join(", ")));
    let misplaced = misplaced.iter().map(|(path, why)| format!("Not changed: '{}'. {why}.", display::escape_line(&path.to_string_lossy())));
    misplaced.chain(uncovered).collect()
}

/// Warnings about files that other programs run.
pub(super) fn trigger_warnings(triggers: &[Trigger]) -> Vec<String> {
    let left = triggers.len().saturating_sub(LISTED);
    let warning = |trigger: &Trigger| format!("Check '{}' before you continue: {}.", trigger.path, trigger.why);
    let more = (left > 0).then(|| format!("{left} more files that other programs run by themselves were changed."));
    triggers.iter().take(LISTED).map(warning).chain(more).collect()
}

fn status_letter(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Created => 'A',
        ChangeKind::Changed => 'M',
        ChangeKind::Deleted => 'D',
    }
}

fn described(set: &ChangeSet, change: &FileChange) -> String {
    let path = set.display(change);
    let path = display::escape_line(&path);
    let mode = match (change.mode_before, change.mode) {
        (Some(before), Some(now)) => format!(", mode {before:o} to {now:o}"),
        _ => String::new(),
    };
    match (change.entry, &change.target) {
        (EntryKind::Link, Some(target)) => format!("{path} -> {}", display::escape_line(&target.to_string_lossy())),
        (EntryKind::Link, None) => format!("{path} (a link)"),
        (EntryKind::Directory, _) => format!("{path}/{mode}"),
        (EntryKind::Special, _) => format!("{path} (a pipe, socket or device; never applied)"),
        (EntryKind::File, _) => format!("{path} ({}{mode})", numbers::size(change.size)),
    }
}

fn facts(set: &ChangeSet, change: &FileChange) -> Value {
    json!({
        "path": set.display(change),
        "change": change.kind,
        "kind": change.entry,
        "bytes": change.size,
        "mode": change.mode.map(|mode| format!("{mode:o}")),
        "target": change.target.as_ref().map(|target| target.to_string_lossy()),
    })
}

/// Added and removed lines, and the diff; `None` for content that is not text, too large, or hidden.
async fn compare(set: &ChangeSet, index: usize, change: &FileChange, cx: &ToolContext) -> Option<(usize, usize, String)> {
    if change.entry != EntryKind::File || change.hidden || change.size > LARGEST as u64 {
        return None;
    }
    let was_file = change.before.as_deref().is_some_and(|before| haft_contract::ports::PreImage::kind_of(before) == EntryKind::File);
    let old = if was_file { cx.process().changed_content(set, index, ChangeSide::Before, LARGEST + 1).await.ok()? } else { Vec::new() };
    let new = match change.kind {
        ChangeKind::Deleted => Vec::new(),
        _ => cx.process().changed_content(set, index, ChangeSide::After, LARGEST + 1).await.ok()?,
    };
    if old.len() > LARGEST || has_nul(&old) || has_nul(&new) {
        return None;
    }
    let (added, removed) = counts(&old, &new);
    Some((added, removed, unified(&old, &new, &display::escape_line(&set.display(change)), CONTEXT)))
}
