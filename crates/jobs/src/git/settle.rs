//! Applying the changes of a run to a Git folder.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::apply::{Applied, Applier};
use super::config::{self, MAX_BYTES, Scope, merge};
use super::evaluate::{Plan, Step, evaluate};
use super::index::same_entries;
use super::layer::GitLayer;
use super::report::Reporter;
use super::tree::Tree;
use super::upper::{Change, Now, read_changes};
use crate::changes::change_time;

/// A Git folder with its changes: of a repository or of a submodule.
pub(super) struct Area<'a> {
    pub(super) upper: &'a Tree,
    pub(super) lower: &'a Tree,
    /// Where the folder is.
    pub(super) path: &'a Path,
    pub(super) writable: &'a [PathBuf],
    /// Haft's data: commands write parts of it, and no address of a remote may lead there.
    pub(super) private: &'a Path,
    pub(super) started: SystemTime,
    /// The state at the start; `None` for a submodule.
    pub(super) layer: Option<&'a GitLayer>,
    /// The working tree around a submodule.
    pub(super) outer: Option<&'a Path>,
    pub(super) is_new: bool,
}

/// Applies what a run left in the upper layer of a Git folder.
pub(super) fn settle(layer: &GitLayer, path: &Path, upper: &Tree, started: SystemTime, writable: &[PathBuf], reporter: &mut Reporter) {
    match read_changes(upper, &layer.lower) {
        Ok(changes) => {
            let (lower, private) = (&layer.lower, reporter.quarantine.data_folder());
            Area { upper, lower, path, writable, private, started, layer: Some(layer), outer: None, is_new: false }
                .settle(changes, reporter);
        }
        Err(error) => reporter.refuse(path, format!("its changes cannot be read: {error}")),
    }
}

impl Area<'_> {
    fn settle(&self, changes: Vec<Change>, reporter: &mut Reporter) {
        let mut modules: BTreeMap<PathBuf, Vec<Change>> = BTreeMap::new();
        let mut own = Vec::new();
        for change in changes {
            match self.module_of(&change.path) {
                Some(module) => modules.entry(module).or_default().push(change),
                None => own.push(change),
            }
        }
        let is_removed = own.iter().any(|change| change.path == Path::new("HEAD") && change.now == Now::Deleted);
        if is_removed {
            reporter.refuse(self.path, "the repository was removed, and a repository is only removed by the user");
        } else {
            self.settle_own(&own, reporter);
        }
        for (module, changes) in modules {
            if let Err(error) = self.settle_module(&module, changes, reporter) {
                reporter.refuse(&self.path.join(&module), format!("the submodule cannot be written: {error}"));
            }
        }
    }

    fn settle_own(&self, changes: &[Change], reporter: &mut Reporter) {
        let plan = evaluate(self, changes, reporter);
        let mut applier = Applier::new(self.upper, self.lower);
        for object in &plan.objects {
            match applier.add_object(object) {
                Ok(()) => reporter.count_applied(1),
                Err(error) => {
                    reporter.refuse(&self.path.join(object), format!("it cannot be written: {error}"));
                    // What points to objects must not be there without them.
                    return;
                }
            }
        }
        if plan.config {
            self.settle_config(&mut applier, reporter);
        }
        self.settle_refs(&plan, &mut applier, reporter);
    }

    fn settle_refs(&self, plan: &Plan, applier: &mut Applier, reporter: &mut Reporter) {
        if let Some(broken) = &plan.broken {
            let why = format!("it belongs to '{}', which was refused", broken.display());
            plan.together.iter().for_each(|step| reporter.refuse(&self.path.join(&step.path), why.as_str()));
            return;
        }
        let is_raced = |step: &Step| self.is_raced(step);
        match applier.apply_together(&plan.together, is_raced) {
            Ok(Applied::All(count)) => {
                reporter.count_applied(count);
                // The index changes whenever Git looks at it.
                if plan.together.iter().any(|step| step.path != Path::new("index")) {
                    reporter.note_moved(self.path);
                }
            }
            Ok(Applied::None(conflicts)) => return self.report_conflicts(&plan.together, &conflicts, reporter),
            Err((path, error)) => return reporter.refuse(&self.path.join(path), format!("it cannot be written: {error}")),
        }
        for step in &plan.single {
            match applier.apply_together(std::slice::from_ref(step), is_raced) {
                Ok(Applied::All(count)) => reporter.count_applied(count),
                Ok(Applied::None(_)) => reporter.conflict(self.path.join(&step.path)),
                Err((path, error)) => reporter.refuse(&self.path.join(path), format!("it cannot be written: {error}")),
            }
        }
        // Not empty any more: then they stay.
        plan.folders.iter().for_each(|folder| drop(self.lower.remove_folder(folder)));
    }

    /// Says where the refs would have pointed: the commits are there.
    fn report_conflicts(&self, steps: &[Step], conflicts: &[PathBuf], reporter: &mut Reporter) {
        for path in conflicts {
            reporter.conflict(self.path.join(path));
        }
        for step in steps.iter().filter(|step| step.path.starts_with("refs")) {
            let id = if step.is_deletion { None } else { self.upper.read(&step.path, 4096).ok() };
            let wanted = id.map_or("gone".to_owned(), |id| String::from_utf8_lossy(id.trim_ascii()).into_owned());
            let why = format!("another program changed the repository meanwhile; it would be {wanted}");
            reporter.refuse(&self.path.join(&step.path), why);
        }
    }

    /// Whether another program changed a file since the start.
    fn is_raced(&self, step: &Step) -> bool {
        if let Some(is_changed) = self.layer.and_then(|layer| layer.is_changed(&step.path)) {
            return is_changed;
        }
        let is_later = match self.lower.entry(&step.path) {
            Ok(Some(below)) => !below.is_dir() && change_time(&below) > self.started,
            Ok(None) => false,
            Err(_) => true,
        };
        let is_index = step.path == Path::new("index");
        if is_index && let Some(kept) = self.layer.and_then(|layer| layer.index.as_deref()) {
            return !same_entries(kept, self.lower);
        }
        is_later
    }

    fn settle_config(&self, applier: &mut Applier, reporter: &mut Reporter) {
        let path = self.path.join("config");
        match self.merge_config(applier) {
            Ok((count, redirected, refused)) => {
                reporter.count_applied(count);
                reporter.redirect(&path, redirected);
                if refused.is_empty() {
                    return;
                }
                let why = format!("Git would run or trust what these settings say: {}", refused.join(", "));
                reporter.quarantine(self.upper, Path::new("config"), &path, &why);
            }
            Err(error) => reporter.quarantine(self.upper, Path::new("config"), &path, &error.to_string()),
        }
    }

    /// Merges harmless settings; those that redirect, and the names of those that are not harmless.
    fn merge_config(&self, applier: &mut Applier) -> io::Result<(usize, Vec<String>, Vec<String>)> {
        let (name, exists) = (Path::new("config"), self.lower.entry(Path::new("config"))?.is_some());
        let old = if exists { self.lower.read(name, MAX_BYTES)? } else { Vec::new() };
        let new = self.upper.read(name, MAX_BYTES)?;
        let scope = Scope { is_new: self.is_new, work_tree: self.outer, git_dir: self.path, private: self.private };
        let config::MergedConfig { text, refused, redirected } = merge(&old, &new, &scope).map_err(io::Error::other)?;
        if text == old {
            return Ok((0, Vec::new(), refused));
        }
        applier.write(name, &text)?;
        Ok((1, redirected, refused))
    }

    fn settle_module(&self, module: &Path, changes: Vec<Change>, reporter: &mut Reporter) -> io::Result<()> {
        let is_new = !self.lower.has_file(&module.join("HEAD"));
        for folder in ["", "objects", "refs"] {
            self.lower.make_folder(&module.join(folder))?;
        }
        // A module of which nothing is there is no folder of the upper layer.
        let (upper, lower) = (self.upper.folder(module)?, self.lower.folder(module)?);
        let inside = |change: Change| Change { path: change.path.strip_prefix(module).map(Path::to_owned).unwrap_or_default(), ..change };
        let changes = changes.into_iter().map(inside).collect();
        let outer = self.outer.or_else(|| self.path.parent());
        let path = self.path.join(module);
        let Self { writable, private, started, .. } = *self;
        Area { upper: &upper, lower: &lower, path: &path, writable, private, started, layer: None, outer, is_new }
            .settle(changes, reporter);
        Ok(())
    }

    /// The folder of the submodule that a path belongs to: the first with a HEAD.
    fn module_of(&self, path: &Path) -> Option<PathBuf> {
        let mut parts = path.components();
        let mut folder = PathBuf::from(parts.next().filter(|first| first.as_os_str() == "modules")?.as_os_str());
        for part in parts {
            folder.push(part);
            let head = folder.join("HEAD");
            if folder != path && (self.upper.has_file(&head) || self.lower.has_file(&head)) {
                return Some(folder);
            }
        }
        None
    }
}
