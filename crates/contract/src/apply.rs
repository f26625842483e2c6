//! Applies staged changes: each path is checked, and put in place by the writer of file tools.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use haft_text::display;
use tokio_util::sync::CancellationToken;

use crate::capability::{ended, unplanned};
use crate::commit::no_change_sets;
use crate::ports::{FileSystem, Gate, Host, Journal, PreImage, StagedEntry};
use crate::{
    AppliedChanges, BoxFuture, CallInfo, ChangeApplier, ChangeKind, ChangeSet, ChangeSets, ClaimedChanges, Effect, EntryKind, Extent,
    FileChange, Location, PathEffect, ToolContext, ToolError,
};

/// How many conflicting files a message names.
const NAMED_CONFLICTS: usize = 10;
/// The permissions that the owner of a directory needs to work in it.
const OWNER: u32 = 0o700;

/// Checks and writes the changes of a set, for a call or for a job after it.
pub(crate) struct ChangeWriter<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) gate: &'a dyn Gate,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) call: &'a CallInfo,
    /// Stops it between two files; absent after the call.
    pub(crate) cancel: Option<&'a CancellationToken>,
}

/// Applies the changes of a job after its call. It keeps neither the host nor the session alive: a job must not keep alive what
/// ends it.
pub(crate) struct LateApplier {
    host: Weak<dyn Host>,
    gate: Arc<dyn Gate>,
    journal: Arc<dyn Journal>,
    call: CallInfo,
    tree: PathBuf,
}

impl LateApplier {
    pub(crate) fn new(cx: &ToolContext, tree: PathBuf) -> Self {
        let (gate, journal) = (cx.gate().after_call(), Arc::clone(cx.journal()));
        Self { host: cx.weak_host(), gate, journal, call: cx.call().clone(), tree }
    }
}

impl ChangeApplier for LateApplier {
    fn apply<'a>(&'a self, set: &'a ChangeSet) -> BoxFuture<'a, Result<AppliedChanges, ToolError>> {
        Box::pin(async move {
            let host = self.host.upgrade().ok_or_else(|| ToolError::execution("Its session has ended, so nothing was applied."))?;
            let Self { gate, journal, call, tree, .. } = self;
            let writer = ChangeWriter { host: &*host, gate: &**gate, journal: &**journal, call, cancel: None };
            writer.apply(set, tree).await
        })
    }
}

impl ChangeWriter<'_> {
    /// Applies a set of changes in this folder. What the rules do not let through stays staged.
    pub(crate) async fn apply(&self, set: &ChangeSet, tree: &Path) -> Result<AppliedChanges, ToolError> {
        let claim = self.change_sets()?.claim(&self.call.session, &set.id)?;
        if claim.set.workspace != tree {
            return Err(unplanned("change", &claim.set.workspace.to_string_lossy()));
        }
        let files = self.files();
        let locations = claim.set.changes.iter().filter(|change| change.applies()).map(|change| files.locate_entry(&change.path));
        let mut locations = match_locations(&claim.set, locations)?;
        let refused = self.refused_by_rules(&claim.set, &locations);
        for (index, _) in &refused {
            locations[*index] = None;
        }
        let set = self.restore_all(claim, &locations, &refused).await?;
        let misplaced = self.place_repositories(&set, &refused).await?;
        // The command may have failed; what it changed stays, as it would without staging.
        self.journal.finalize();
        let sets = self.change_sets()?;
        if refused.is_empty() {
            sets.remove(&set).await;
        } else {
            sets.retain(&set, &refused.iter().map(|(index, _)| *index).collect::<Vec<_>>()).await;
        }
        Ok(AppliedChanges { set, refused, misplaced })
    }

    /// Puts the checked repositories in their places that no rule refuses.
    async fn place_repositories(&self, set: &ChangeSet, refused: &[(usize, String)]) -> Result<Vec<(PathBuf, String)>, ToolError> {
        let git_folders = set.changes.iter().enumerate().filter(|(_, change)| change.checked_repository() == Some(&*change.path));
        let allowed = git_folders.filter(|(index, _)| refused.iter().all(|(other, _)| other != index));
        let allowed: Vec<PathBuf> = allowed.map(|(_, change)| change.path.clone()).collect();
        if allowed.is_empty() { Ok(Vec::new()) } else { Ok(self.change_sets()?.place(set, &allowed).await) }
    }

    /// The changes that no rule lets through, and the folders that cannot be deleted because of them.
    fn refused_by_rules(&self, set: &ChangeSet, locations: &[Option<Location>]) -> Vec<(usize, String)> {
        let mut refused: Vec<(usize, String)> = Vec::new();
        // Deepest first: a folder that keeps an entry stays.
        for (index, change) in set.changes.iter().enumerate().rev() {
            let Some(location) = locations[index].clone() else { continue };
            let is_deleted = change.kind == ChangeKind::Deleted;
            let kept = is_deleted.then(|| refused.iter().find(|(other, _)| set.changes[*other].path.starts_with(&change.path))).flatten();
            if let Some((_, why)) = kept {
                let why = why.clone();
                refused.push((index, why));
                continue;
            }
            if let Err(error) = self.allows(change, location) {
                refused.push((index, error.message().to_owned()));
            }
        }
        refused.reverse();
        refused
    }

    /// Whether the rules let a change through. A repository is protected by its name, so for a checked one they are asked about
    /// another name in the same folder.
    fn allows(&self, change: &FileChange, location: Location) -> Result<(), ToolError> {
        let sibling = change.checked_repository().map(|git| self.files().locate_entry(&git.with_file_name("git")));
        let effect = PathEffect { location: sibling.unwrap_or(Ok(location))?, extent: Extent::File };
        let effect = if change.kind == ChangeKind::Deleted { Effect::Delete(effect) } else { Effect::Write(effect) };
        self.gate.allows(self.call, &effect)
    }

    /// Makes all changes of a claimed set.
    pub(crate) async fn put(&self, claim: ClaimedChanges, locations: &[Option<Location>]) -> Result<Arc<ChangeSet>, ToolError> {
        let set = self.restore_all(claim, locations, &[]).await?;
        let misplaced = self.place_repositories(&set, &[]).await?;
        if let Some((path, why)) = misplaced.first() {
            return Err(ToolError::execution(format!("'{}' cannot be put in its place: {why}.", path.display())));
        }
        self.change_sets()?.remove(&set).await;
        Ok(Arc::new(set))
    }

    /// Makes the changes of a claimed set, except those that were refused.
    async fn restore_all(
        &self,
        claim: ClaimedChanges,
        locations: &[Option<Location>],
        refused: &[(usize, String)],
    ) -> Result<ChangeSet, ToolError> {
        let ClaimedChanges { set, steps, staged, lock: _lock } = claim;
        let moves = movable(&set, locations);
        self.check(&set, locations, &moves).await?;
        let mut move_of = vec![None; set.changes.len()];
        moves.iter().enumerate().for_each(|(number, entry)| move_of[entry.clone()].fill(Some(number)));
        let refused: HashSet<usize> = refused.iter().map(|(index, _)| *index).collect();
        // Repositories are put in place as a whole, and new entries are moved once their folders are there.
        let steps = steps.into_iter().filter(|(change, _)| !refused.contains(change) && !set.changes[*change].is_checked);
        let (later, now): (Vec<_>, Vec<_>) = steps.partition(|(change, _)| move_of[*change].is_some());
        self.restore_steps(now, locations).await?;
        let entries = moves.iter().filter_map(|entry| staged_entry(&set, entry, locations, &staged)).collect();
        let adopted: HashSet<PathBuf> = self.files().adopt(entries, self.journal).await?.into_iter().collect();
        let is_left = |change: usize| move_of[change].is_some_and(|number| !adopted.contains(&set.changes[moves[number].start].path));
        self.restore_steps(later.into_iter().filter(|(change, _)| is_left(*change)).collect(), locations).await?;
        Ok(set)
    }

    /// Writes the entries of a set one by one.
    async fn restore_steps(&self, steps: Vec<(usize, PreImage)>, locations: &[Option<Location>]) -> Result<(), ToolError> {
        for (change, image) in steps {
            self.check_alive()?;
            let location = locations.get(change).and_then(Option::as_ref);
            let location = location.ok_or_else(|| unplanned("change", &image.path.to_string_lossy()))?;
            self.files().restore(location, image, self.journal).await?;
        }
        Ok(())
    }

    /// Checks every file before the first is changed. Where a new folder is not there yet, nothing in it is.
    async fn check(&self, set: &ChangeSet, locations: &[Option<Location>], moves: &[Range<usize>]) -> Result<(), ToolError> {
        let mut conflicts = Vec::new();
        let inside: HashSet<usize> = moves.iter().flat_map(|entry| entry.clone().skip(1)).collect();
        for (index, (change, location)) in set.changes.iter().zip(locations).enumerate() {
            let Some(location) = location.as_ref().filter(|_| !inside.contains(&index)) else { continue };
            if self.files().state(location).await? != change.before {
                conflicts.push(display::escape_line(&set.display(change)).into_owned());
            }
        }
        if conflicts.is_empty() { Ok(()) } else { Err(conflict(&conflicts)) }
    }

    fn files(&self) -> &dyn FileSystem {
        self.host.files()
    }
    fn change_sets(&self) -> Result<&dyn ChangeSets, ToolError> {
        self.host.processes().change_sets().ok_or_else(no_change_sets)
    }
    fn check_alive(&self) -> Result<(), ToolError> {
        if self.cancel.is_some_and(CancellationToken::is_cancelled) { Err(ended()) } else { Ok(()) }
    }
}

/// The new entries of a set that can be moved with everything in them, each as the range of its changes: they are in the order of their
/// paths. One in a folder that ends up inaccessible is not among them.
fn movable(set: &ChangeSet, locations: &[Option<Location>]) -> Vec<Range<usize>> {
    let is_free = |index: usize| {
        let change = &set.changes[index];
        change.kind == ChangeKind::Created && change.applies() && !change.is_checked && locations[index].is_some()
    };
    let is_shut = |change: &FileChange| change.entry == EntryKind::Directory && change.mode.is_some_and(|mode| mode & OWNER != OWNER);
    let shut: Vec<&Path> = set.changes.iter().filter(|change| is_shut(change)).map(|change| &*change.path).collect();
    let (mut found, mut start) = (Vec::new(), 0);
    while start < set.changes.len() {
        let path = &set.changes[start].path;
        let length = set.changes[start..].iter().take_while(|change| change.path.starts_with(path)).count();
        let end = start + length;
        let is_reachable = !shut.iter().any(|folder| path.starts_with(folder) || folder.starts_with(path));
        if is_reachable && (start..end).all(is_free) {
            found.push(start..end);
            start = end;
        } else {
            start += 1;
        }
    }
    found
}

fn staged_entry(set: &ChangeSet, entry: &Range<usize>, locations: &[Option<Location>], staged: &[PathBuf]) -> Option<StagedEntry> {
    let top = &set.changes[entry.start].path;
    let inside = set.changes[entry.clone()].iter().skip(1).filter_map(|change| change.path.strip_prefix(top).ok().map(Path::to_owned));
    Some(StagedEntry { location: locations[entry.start].clone()?, source: staged.get(entry.start)?.clone(), inside: inside.collect() })
}

/// The location of every change that applies; a change without its planned location is an error.
pub(crate) fn match_locations(
    set: &ChangeSet,
    mut locations: impl Iterator<Item = Result<Location, ToolError>>,
) -> Result<Vec<Option<Location>>, ToolError> {
    let locate = |change: &FileChange| {
        if !change.applies() {
            return Ok(None);
        }
        match locations.next().transpose()? {
            Some(location) if location.path() == change.path => Ok(Some(location)),
            _ => Err(unplanned("change", &change.path.to_string_lossy())),
        }
    };
    set.changes.iter().map(locate).collect()
}

fn conflict(conflicts: &[String]) -> ToolError {
    let more = conflicts.len().checked_sub(NAMED_CONFLICTS + 1).map(|more| format!(" and {} more", more + 1)).unwrap_or_default();
    let named = conflicts[..conflicts.len().min(NAMED_CONFLICTS)].join("', '");
    ToolError::execution(format!(
        "Nothing was applied: since the command ran, another program changed '{named}'{more}. Look at what is there now, then run the \
         command again to get a new change set."
    ))
    .with_details(serde_json::json!({"conflicts": conflicts}))
}
