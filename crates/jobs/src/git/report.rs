//! What is said of changes that were not applied, and where their contents go.

use std::path::{Path, PathBuf};

use haft_contract::{GitReport, RefusedChange};

use super::tree::Tree;
use crate::quarantine::{Origin, Quarantine};

/// More refusals of one repository are only counted.
const MAX_REFUSED: usize = 50;
/// More redirections of one repository are not named.
const MAX_REDIRECTED: usize = 10;

/// Collects the report on one repository.
pub(super) struct Reporter<'a> {
    pub(super) quarantine: &'a Quarantine,
    pub(super) origin: &'a Origin,
    /// Where entries are, and where they belong.
    moved: Option<(&'a Path, &'a Path)>,
    report: GitReport,
    more: usize,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(quarantine: &'a Quarantine, origin: &'a Origin) -> Self {
        Self { quarantine, origin, moved: None, report: GitReport::default(), more: 0 }
    }

    /// Reports entries of one folder under the name of another.
    pub(super) fn with_moved(self, moved: Option<(&'a Path, &'a Path)>) -> Self {
        Self { moved, ..self }
    }

    fn translate_path(&self, path: &Path) -> PathBuf {
        let moved = self.moved.and_then(|(from, to)| path.strip_prefix(from).ok().map(|inside| to.join(inside)));
        moved.unwrap_or_else(|| path.to_owned())
    }

    pub(super) fn count_applied(&mut self, count: usize) {
        self.report.applied += count;
    }

    /// Notes that branches, tags or HEAD of a Git folder changed.
    pub(super) fn note_moved(&mut self, path: &Path) {
        self.report.moved.push(path.to_owned());
    }

    /// Notes that settings send what the user pushes or fetches elsewhere.
    pub(super) fn redirect(&mut self, path: &Path, settings: Vec<String>) {
        let path = self.translate_path(path);
        self.report.redirected.extend(settings.into_iter().take(MAX_REDIRECTED).map(|setting| (path.clone(), setting)));
    }

    pub(super) fn conflict(&mut self, path: PathBuf) {
        self.report.conflicts.push(path);
    }

    /// Reports a change without content.
    pub(super) fn refuse(&mut self, path: &Path, why: impl Into<String>) {
        self.push(RefusedChange { path: self.translate_path(path), why: why.into(), quarantined: None });
    }

    /// Reports an entry of a tree, and moves it to quarantine. What cannot be moved is said to be there still.
    pub(super) fn quarantine(&mut self, tree: &Tree, entry: &Path, path: &Path, why: &str) {
        let path = &self.translate_path(path);
        if self.report.refused.len() >= MAX_REFUSED {
            // It stays in a layer that goes; in a new repository it must go too, so it is moved all the same.
            drop(self.quarantine.put_from(tree, entry, path, why, self.origin));
            self.more += 1;
            return;
        }
        match self.quarantine.put_from(tree, entry, path, why, self.origin) {
            Ok(id) => self.push(RefusedChange { path: path.to_owned(), why: why.to_owned(), quarantined: Some(id) }),
            Err(error) => self.refuse(path, format!("{why}; it cannot be moved to quarantine: {error}")),
        }
    }

    fn push(&mut self, refused: RefusedChange) {
        if self.report.refused.len() < MAX_REFUSED {
            self.report.refused.push(refused);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn finish(mut self) -> GitReport {
        if let (Some(last), true) = (self.report.refused.last().cloned(), self.more > 0) {
            let why = format!("and {} more changes of this repository", self.more);
            self.report.refused.push(RefusedChange { path: last.path, why, quarantined: None });
        }
        self.report
    }
}
