//! Which changes to a Git folder are applied, and in which order.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::content::Content;
use super::report::Reporter;
use super::rules::{Class, Owner, classify};
use super::settle::Area;
use super::upper::{Change, Now};
use super::worktree::{Verdict, evaluate_worktree, is_moved};

const TRUSTED: &str = "Git runs or trusts it, or does not know it";
const SPECIAL: &str = "it is a link, a pipe or a device, and Git's own files are ordinary ones";
const MALFORMED: &str = "its content is not what Git writes there, or names a program";

/// When a file is written: refs before what points to them, the index last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    PackedRefs,
    Deletion,
    Ref,
    State,
    Head,
    Index,
}

/// A file to write or to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) path: PathBuf,
    pub(super) is_deletion: bool,
    pub(super) turn: Turn,
}

/// What is applied of the changes.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Added, whatever becomes of the rest.
    pub(super) objects: Vec<PathBuf>,
    /// Whether the settings differ.
    pub(super) config: bool,
    /// Applied together or not at all.
    pub(super) together: Vec<Step>,
    /// Each applied unless someone else changed it.
    pub(super) single: Vec<Step>,
    /// Folders that are gone, deepest first.
    pub(super) folders: Vec<PathBuf>,
    /// A file without which the others must not be applied, and that is refused.
    pub(super) broken: Option<PathBuf>,
}

/// Evaluates the changes of one repository, without those of its submodules.
pub(super) fn evaluate(area: &Area, changes: &[Change], reporter: &mut Reporter) -> Plan {
    let mut evaluate = Evaluate { area, reporter, plan: Plan::default(), refused_operations: BTreeSet::new() };
    for (name, changes) in group_worktrees(changes) {
        match name {
            None => changes.iter().for_each(|change| evaluate.change(Owner::Repository, Path::new(""), change)),
            Some(folder) => evaluate.worktree(&folder, &changes),
        }
    }
    evaluate.drop_refused_operations();
    evaluate.plan
}

/// The changes of the repository itself, and of each linked worktree.
fn group_worktrees(changes: &[Change]) -> Vec<(Option<PathBuf>, Vec<&Change>)> {
    let mut groups: Vec<(Option<PathBuf>, Vec<&Change>)> = Vec::new();
    for change in changes {
        let mut parts = change.path.components();
        let folder = match (parts.next(), parts.next()) {
            (Some(first), Some(name)) if first.as_os_str() == "worktrees" => Some(Path::new("worktrees").join(name)),
            _ => None,
        };
        match groups.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, changes)) => changes.push(change),
            None => groups.push((folder, vec![change])),
        }
    }
    groups
}

struct Evaluate<'a, 'b, 'c> {
    area: &'a Area<'a>,
    reporter: &'b mut Reporter<'c>,
    plan: Plan,
    /// Folders of operations, one file of which is refused.
    refused_operations: BTreeSet<PathBuf>,
}

impl Evaluate<'_, '_, '_> {
    fn worktree(&mut self, folder: &Path, changes: &[&Change]) {
        match evaluate_worktree(self.area, folder, changes) {
            Verdict::Evaluate => changes.iter().for_each(|change| self.change(Owner::Worktree, folder, change)),
            Verdict::Apply => changes.iter().for_each(|change| self.linked(folder, change)),
            Verdict::Refuse(why) => self.refuse_folder(folder, why),
        }
    }

    /// A change of a worktree that was added or removed whole.
    fn linked(&mut self, folder: &Path, change: &Change) {
        let inside = change.path.strip_prefix(folder).unwrap_or(&change.path);
        match (classify(Owner::Worktree, inside.as_os_str().as_bytes()), change.now) {
            (_, Now::DeletedFolder) => self.plan.folders.push(change.path.clone()),
            // All that is in a removed worktree goes with it.
            (_, Now::Deleted) | (Class::Link, Now::File) => self.together(change, Content::Text, Turn::State),
            _ => self.change(Owner::Worktree, folder, change),
        }
    }

    fn change(&mut self, owner: Owner, folder: &Path, change: &Change) {
        let inside = change.path.strip_prefix(folder).unwrap_or(&change.path);
        let class = classify(owner, inside.as_os_str().as_bytes());
        match (class, change.now) {
            (_, Now::DeletedFolder) => self.deleted_folder(inside, change),
            (Class::Ignored, _) | (Class::Lock, Now::File | Now::Special) | (Class::Object, Now::Deleted) => {}
            (_, Now::Special) => {
                self.refuse(change, SPECIAL);
                if matches!(class, Class::Head | Class::PackedRefs) || inside.starts_with("refs") {
                    self.plan.broken.get_or_insert_with(|| change.path.clone());
                }
            }
            (Class::Lock, Now::Deleted) => self.plan.single.push(step(change, Turn::Deletion)),
            (Class::Object, Now::File) => self.object(change),
            (Class::Config, Now::File) => self.plan.config = true,
            (Class::Head, _) => self.key_file(change, Content::Ref, Turn::Head),
            (Class::PackedRefs, _) => self.key_file(change, Content::PackedRefs, Turn::PackedRefs),
            (Class::Index, _) => self.together(change, Content::Index, Turn::Index),
            (Class::Together(content), _) => {
                let turn = if content == Content::Ref { Turn::Ref } else { Turn::State };
                self.together(change, content, turn);
            }
            (Class::Single(content), _) => self.single(change, content),
            (Class::Operation(content), _) => self.operation(inside, folder, change, content),
            (Class::Refused, Now::File) if self.is_template(inside, change) => {}
            (Class::Link, Now::File) if inside == Path::new("gitdir") && is_moved(self.area, folder) => {
                self.together(change, Content::Text, Turn::State);
            }
            (Class::Config | Class::Link | Class::Refused, _) => self.refuse(change, TRUSTED),
        }
    }

    /// Git removes folders of refs, logs and operations when they are empty.
    fn deleted_folder(&mut self, inside: &Path, change: &Change) {
        let parts: Vec<_> = inside.components().map(|part| part.as_os_str().as_bytes()).collect();
        let is_removed = matches!(parts.as_slice(), [b"refs" | b"logs", _, _, ..] | [b"rebase-merge" | b"rebase-apply" | b"sequencer", ..]);
        if is_removed {
            self.plan.folders.push(change.path.clone());
        }
    }

    fn object(&mut self, change: &Change) {
        match self.area.lower.entry(&change.path) {
            Ok(None) if change.path.starts_with("lfs") && !self.is_named_by_content(change) => self.refuse(change, MALFORMED),
            Ok(None) => self.plan.objects.push(change.path.clone()),
            _ => self.refuse(change, "an object or pack is never replaced"),
        }
    }

    /// Git LFS takes a large file from here by the hash of its content, without a check.
    fn is_named_by_content(&self, change: &Change) -> bool {
        let file = self.area.upper.open_file(&change.path);
        let hash = file.and_then(|file| haft_host::sha256(file, || Ok(())));
        hash.is_ok_and(|hash| change.path.file_name().is_some_and(|name| Some(&*hash) == name.to_str()))
    }

    /// A file that the refs depend on.
    fn key_file(&mut self, change: &Change, content: Content, turn: Turn) {
        if self.is_accepted(change, content) {
            self.plan.together.push(step(change, turn));
        } else {
            self.refuse(change, MALFORMED);
            self.plan.broken.get_or_insert_with(|| change.path.clone());
        }
    }

    fn together(&mut self, change: &Change, content: Content, turn: Turn) {
        if self.is_accepted(change, content) {
            self.plan.together.push(step(change, turn));
        } else {
            self.refuse(change, MALFORMED);
        }
    }

    fn single(&mut self, change: &Change, content: Content) {
        let is_users = content == Content::SparseSettings && !self.is_accepted_below(change, content);
        if is_users {
            self.refuse(change, TRUSTED);
        } else if self.is_accepted(change, content) {
            self.plan.single.push(step(change, Turn::State));
        } else {
            self.refuse(change, MALFORMED);
        }
    }

    fn operation(&mut self, inside: &Path, folder: &Path, change: &Change, content: Content) {
        let operation = folder.join(inside.components().next().map(|part| part.as_os_str().to_owned()).unwrap_or_default());
        if self.is_accepted(change, content) {
            self.plan.together.push(step(change, Turn::State));
        } else if self.refused_operations.insert(operation) {
            self.refuse(
                change,
                "Git would run a program from it when the operation continues, or its content is not what Git writes there",
            );
        }
    }

    /// Nothing of an operation is applied if one of its files is refused.
    fn drop_refused_operations(&mut self) {
        let refused = std::mem::take(&mut self.refused_operations);
        self.plan.together.retain(|step| !refused.iter().any(|folder| step.path.starts_with(folder)));
        self.plan.folders.retain(|path| !refused.iter().any(|folder| path.starts_with(folder)));
    }

    fn is_accepted(&self, change: &Change, content: Content) -> bool {
        let is_plain = change.now == Now::Deleted || content == Content::Text;
        is_plain || self.area.upper.read(&change.path, content.max_bytes()).is_ok_and(|bytes| content.accepts(&bytes))
    }

    /// Whether the file was as a command may leave it: what is more in it was the user's.
    fn is_accepted_below(&self, change: &Change, content: Content) -> bool {
        match self.area.lower.entry(&change.path) {
            Ok(None) => true,
            _ => self.area.lower.read(&change.path, content.max_bytes()).is_ok_and(|bytes| content.accepts(&bytes)),
        }
    }

    /// What `git init` puts into a folder that lacks it, and nobody has changed.
    fn is_template(&self, inside: &Path, change: &Change) -> bool {
        let is_comment = |bytes: Vec<u8>| bytes.split(|byte| *byte == b'\n').all(|line| line.is_empty() || line.starts_with(b"#"));
        inside == Path::new("info/exclude")
            && self.area.lower.entry(&change.path).is_ok_and(|below| below.is_none())
            && self.area.upper.read(&change.path, Content::Text.max_bytes()).is_ok_and(is_comment)
    }

    fn refuse(&mut self, change: &Change, why: &str) {
        let path = self.area.path.join(&change.path);
        match change.now {
            Now::Deleted | Now::DeletedFolder => self.reporter.refuse(&path, format!("its deletion was not applied: {why}")),
            Now::File | Now::Special => self.reporter.quarantine(self.area.upper, &change.path, &path, why),
        }
    }

    fn refuse_folder(&mut self, folder: &Path, why: &str) {
        let path = self.area.path.join(folder);
        match self.area.upper.entry(folder) {
            Ok(Some(metadata)) if metadata.is_dir() => self.reporter.quarantine(self.area.upper, folder, &path, why),
            _ => self.reporter.refuse(&path, why),
        }
    }
}

fn step(change: &Change, turn: Turn) -> Step {
    let is_deletion = change.now == Now::Deleted;
    Step { path: change.path.clone(), is_deletion, turn: if is_deletion { Turn::Deletion } else { turn } }
}
