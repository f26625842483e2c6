//! Commits of staged changes: as planned, and all or nothing.

use std::path::PathBuf;
use std::sync::Arc;

use haft_text::display;

use crate::capability::{alive, unplanned};
use crate::{
    AppliedChanges, ChangeKind, ChangeMode, ChangeSet, ChangeSets, ChangeSide, ClaimedChanges, Effect, ErrorKind, Extent, FileChange,
    Location, PathEffect, Processes, ToolError, ports::FileSystem,
};

/// How many conflicting files a message names.
const NAMED_CONFLICTS: usize = 10;

pub(crate) fn no_change_sets() -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, "This host stages no changes, so there is nothing to commit.")
}

impl Processes<'_> {
    /// The first bytes of a file in a set that a command of this call made.
    pub async fn changed_content(&self, set: &ChangeSet, change: usize, side: ChangeSide, most: usize) -> Result<Vec<u8>, ToolError> {
        alive(self.cx)?;
        self.change_sets()?.content(set, change, side, most).await
    }

    /// Commits the planned change set. A commit that fails halfway is rolled back with the call.
    pub async fn commit(&self) -> Result<Arc<ChangeSet>, ToolError> {
        alive(self.cx)?;
        let plan = self.cx.plan();
        let planned = plan.committed().ok_or_else(|| unplanned("commit", "a change set"))?;
        let claim = self.change_sets()?.claim(self.session(), &planned.id)?;
        let locations = plan.effects().iter().filter_map(|effect| match effect {
            Effect::Write(effect) | Effect::Delete(effect) => Some(&effect.location),
            _ => None,
        });
        let locations = match_locations(&claim.set, locations.cloned().map(Ok))?;
        self.put(claim, &locations).await
    }

    /// Applies the staged changes of the planned command, each path checked by the rules as a file tool's change is. What they do
    /// not let through stays staged.
    pub async fn apply(&self, set: &ChangeSet) -> Result<AppliedChanges, ToolError> {
        alive(self.cx)?;
        let command = self.cx.plan().planned_command().filter(|command| command.change_mode() == ChangeMode::Staged);
        let tree = command.and_then(|command| command.writable_tree()).ok_or_else(|| unplanned("apply", "the changes of a command"))?;
        let claim = self.change_sets()?.claim(self.session(), &set.id)?;
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
        self.cx.journal().finalize();
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
    fn refused_by_rules(self, set: &ChangeSet, locations: &[Option<Location>]) -> Vec<(usize, String)> {
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
    fn allows(self, change: &FileChange, location: Location) -> Result<(), ToolError> {
        let sibling = change.checked_repository().map(|git| self.files().locate_entry(&git.with_file_name("git")));
        let effect = PathEffect { location: sibling.unwrap_or(Ok(location))?, extent: Extent::File };
        let effect = if change.kind == ChangeKind::Deleted { Effect::Delete(effect) } else { Effect::Write(effect) };
        self.cx.gate().allows(self.cx.call(), &effect)
    }

    async fn put(&self, claim: ClaimedChanges, locations: &[Option<Location>]) -> Result<Arc<ChangeSet>, ToolError> {
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
        let ClaimedChanges { set, steps, lock: _lock } = claim;
        self.check(&set, locations).await?;
        // Repositories are put in place as a whole.
        let is_step = |change: usize| refused.iter().all(|(index, _)| *index != change) && !set.changes[change].is_checked;
        for (change, image) in steps.into_iter().filter(|(change, _)| is_step(*change)) {
            alive(self.cx)?;
            let location = locations.get(change).and_then(Option::as_ref);
            let location = location.ok_or_else(|| unplanned("change", &image.path.to_string_lossy()))?;
            self.files().restore(location, image, &**self.cx.journal()).await?;
        }
        Ok(set)
    }

    /// Checks every file before the first is changed.
    async fn check(&self, set: &ChangeSet, locations: &[Option<Location>]) -> Result<(), ToolError> {
        let mut conflicts = Vec::new();
        for (change, location) in set.changes.iter().zip(locations) {
            let Some(location) = location else { continue };
            if self.files().state(location).await? != change.before {
                conflicts.push(display::escape_line(&set.display(change)).into_owned());
            }
        }
        if conflicts.is_empty() { Ok(()) } else { Err(conflict(&conflicts)) }
    }

    fn files(&self) -> &dyn FileSystem {
        self.cx.host().files()
    }
    fn change_sets(&self) -> Result<&dyn ChangeSets, ToolError> {
        self.cx.host().processes().change_sets().ok_or_else(no_change_sets)
    }
}

/// The location of every change that applies; a change without its planned location is an error.
fn match_locations(
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
