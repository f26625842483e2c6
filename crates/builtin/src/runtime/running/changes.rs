//! What a line would change, or has changed, in words: a list, diffs, and how to go on.

use std::fmt::Write as _;

use haft_contract::{ChangeDeed, ChangeSet, EntryKind, FileChange, Side, SpillFile, ToolContext, ToolError, Trigger, visible};
use haft_patch::diff::{counts, unified};
use serde_json::{Value, json};

use crate::shared::binary::has_nul;
use crate::shared::changed::shown;
use crate::shared::words;

/// How many paths are listed, and how many are told to programs; the rest is in a file.
const LISTED: usize = 40;
const TOLD: usize = 1_000;
/// How many files are compared, and how large each may be.
const COMPARED: usize = 200;
const LARGEST: usize = 256 * 1024;
/// How much of all diffs together is kept.
const KEPT: usize = 2 * 1024 * 1024;
/// Lines around a change.
const CONTEXT: usize = 3;

/// A change set, looked at.
pub(crate) struct Told<'a> {
    set: &'a ChangeSet,
    /// What is said of each change, in the order of the set.
    lines: Vec<String>,
    diffs: String,
    spill: Option<SpillFile>,
}

impl<'a> Told<'a> {
    /// Looks at a set. What is too long to be shown is kept in a file.
    pub(crate) async fn of(set: &'a ChangeSet, cx: &ToolContext) -> Self {
        let mut told = Self { set, lines: Vec::new(), diffs: String::new(), spill: None };
        for (index, change) in set.changes.iter().enumerate() {
            let compared = if index < COMPARED { compared(set, index, change, cx).await } else { None };
            let lines = compared.as_ref().filter(|(added, removed, _)| added + removed > 0);
            let more = lines.map(|(added, removed, _)| format!(", +{added} -{removed}")).unwrap_or_default();
            told.lines.push(format!("{} {}{more}", letter(change.deed), described(set, change)));
            if let Some((.., diff)) = compared.filter(|_| told.diffs.len() < KEPT) {
                told.diffs.push_str(&diff);
            }
        }
        if told.lines.len() > LISTED || shown(&told.diffs).len() < told.diffs.len() {
            // Without a disk to keep it on, what is shown has to do.
            told.spill = told.kept(cx).await.ok();
        }
        told
    }

    async fn kept(&self, cx: &ToolContext) -> Result<SpillFile, ToolError> {
        let mut spill = cx.spills().create("txt").await?;
        spill.write(format!("{}\n\n{}", self.lines.join("\n"), self.diffs).as_bytes()).await?;
        spill.finish().await
    }

    /// How many paths, of which kind.
    pub(super) fn counted(&self) -> String {
        counted(self.set)
    }

    /// The list, and the diffs behind it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.lines[..self.lines.len().min(LISTED)].join("\n");
        let left = self.lines.len().saturating_sub(LISTED);
        if left > 0 {
            write!(text, "\n({left} more are not shown)").ok();
        }
        if !self.diffs.is_empty() {
            write!(text, "\n\n{}", shown(self.diffs.trim_end())).ok();
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
            "files": self.set.changes.iter().take(TOLD).map(|change| facts(self.set, change)).collect::<Vec<_>>(),
            "not_committable": self.set.refused,
            "diff": shown(&self.diffs),
            "spill": self.spill.as_ref().map(|spill| spill.path.to_string_lossy()),
        })
    }
}

/// What is said of changes that could not be kept.
pub(crate) fn lost(why: &str) -> String {
    format!("The command ran, but what it changed is lost, and nothing was changed: {why}. See to that, then run it again.")
}

/// How many paths, of which kind: `3 paths (1 created, 2 changed)`.
pub(crate) fn counted(set: &ChangeSet) -> String {
    let (created, changed, deleted) = set.counts();
    let parts = [(created, "created"), (changed, "changed"), (deleted, "deleted")];
    let parts: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let paths = if set.changes.len() == 1 { "path" } else { "paths" };
    format!("{} {paths} ({})", set.changes.len(), parts.join(", "))
}

/// What is said of files that others run.
pub(super) fn warned(triggers: &[Trigger]) -> Vec<String> {
    let left = triggers.len().saturating_sub(LISTED);
    let warned = |trigger: &Trigger| format!("Look at '{}' before you go on: {}.", trigger.path, trigger.why);
    let more = (left > 0).then(|| format!("{left} more files that other programs run by themselves were changed."));
    triggers.iter().take(LISTED).map(warned).chain(more).collect()
}

fn letter(deed: ChangeDeed) -> char {
    match deed {
        ChangeDeed::Created => 'A',
        ChangeDeed::Changed => 'M',
        ChangeDeed::Deleted => 'D',
    }
}

fn described(set: &ChangeSet, change: &FileChange) -> String {
    let path = set.display(change);
    let path = visible::line(&path);
    let mode = match (change.mode_before, change.mode) {
        (Some(before), Some(now)) => format!(", mode {before:o} to {now:o}"),
        _ => String::new(),
    };
    match (change.entry, &change.target) {
        (EntryKind::Link, Some(target)) => format!("{path} -> {}", visible::line(&target.to_string_lossy())),
        (EntryKind::Link, None) => format!("{path} (a link)"),
        (EntryKind::Directory, _) => format!("{path}/{mode}"),
        (EntryKind::Special, _) => format!("{path} (a pipe, socket or device; never applied)"),
        (EntryKind::File, _) => format!("{path} ({}{mode})", words::size(change.size)),
    }
}

fn facts(set: &ChangeSet, change: &FileChange) -> Value {
    json!({
        "path": set.display(change),
        "change": change.deed,
        "kind": change.entry,
        "bytes": change.size,
        "mode": change.mode.map(|mode| format!("{mode:o}")),
        "target": change.target.as_ref().map(|target| target.to_string_lossy()),
    })
}

/// Lines that came and went, and the diff; nothing of what is no text, too large, or not to be read.
async fn compared(set: &ChangeSet, index: usize, change: &FileChange, cx: &ToolContext) -> Option<(usize, usize, String)> {
    if change.entry != EntryKind::File || change.hidden || change.size > LARGEST as u64 {
        return None;
    }
    let was_file = change.before.as_deref().is_some_and(|before| haft_contract::PreImage::kind_of(before) == EntryKind::File);
    let old = if was_file { cx.process().changed_content(set, index, Side::Before, LARGEST + 1).await.ok()? } else { Vec::new() };
    let new = match change.deed {
        ChangeDeed::Deleted => Vec::new(),
        _ => cx.process().changed_content(set, index, Side::After, LARGEST + 1).await.ok()?,
    };
    if old.len() > LARGEST || has_nul(&old) || has_nul(&new) {
        return None;
    }
    let (added, removed) = counts(&old, &new);
    Some((added, removed, unified(&old, &new, &visible::line(&set.display(change)), CONTEXT)))
}
