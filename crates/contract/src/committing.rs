//! Change sets, put in place: as planned, all of it or nothing.

use std::sync::Arc;

use crate::capability::{alive, unplanned};
use crate::{
    ChangeSet, ChangeSets, Changes, Claim, Effect, ErrorKind, FileChange, FileSystem, Location, PreImage, Processes, Side, ToolError,
    visible,
};

/// How many files a message names.
const NAMED: usize = 10;

pub(crate) fn no_change_sets() -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, "This host keeps no changes apart, so there is nothing to commit.")
}

impl Processes<'_> {
    /// The first bytes of a file in a set that a line of this call made, to show what it changed.
    pub async fn changed_content(&self, set: &ChangeSet, change: usize, side: Side, most: usize) -> Result<Vec<u8>, ToolError> {
        alive(self.cx)?;
        self.change_sets()?.content(set, change, side, most).await
    }

    /// Puts the planned change set in place. What fails in the middle is taken back with the call.
    pub async fn commit(&self) -> Result<Arc<ChangeSet>, ToolError> {
        alive(self.cx)?;
        let plan = self.cx.plan();
        let planned = plan.committed().ok_or_else(|| unplanned("commit", "a change set"))?;
        let claim = self.change_sets()?.claim(self.session(), &planned.id).await?;
        let places = plan.effects().iter().filter_map(|effect| match effect {
            Effect::Write(effect) | Effect::Delete(effect) => Some(&effect.location),
            _ => None,
        });
        let places = matched(claim.set(), places.cloned().map(Ok))?;
        self.put(claim, &places).await
    }

    /// Puts in place what the planned line has changed, which was permitted to change its whole tree.
    pub async fn apply(&self, set: &ChangeSet) -> Result<Arc<ChangeSet>, ToolError> {
        alive(self.cx)?;
        let line = self.cx.plan().planned_line().filter(|line| line.changes() == Changes::Undo);
        let reach = line.and_then(|line| line.reach()).ok_or_else(|| unplanned("apply", "the changes of a line"))?;
        let claim = self.change_sets()?.claim(self.session(), &set.id).await?;
        if claim.set().workspace != reach {
            return Err(unplanned("change", &claim.set().workspace.to_string_lossy()));
        }
        let files = self.files();
        let places = claim.set().changes.iter().filter(|change| change.applies()).map(|change| files.locate_entry(&change.path));
        let places = matched(claim.set(), places)?;
        self.put(claim, &places).await
    }

    async fn put(&self, claim: Box<dyn Claim>, places: &[Option<Location>]) -> Result<Arc<ChangeSet>, ToolError> {
        self.check(claim.set(), places).await?;
        for (change, image) in claim.steps() {
            alive(self.cx)?;
            self.step(places.get(change).and_then(Option::as_ref), image).await?;
        }
        let set = Arc::new(claim.set().clone());
        claim.done().await;
        Ok(set)
    }

    async fn step(&self, place: Option<&Location>, image: PreImage) -> Result<(), ToolError> {
        let place = place.ok_or_else(|| unplanned("change", &image.path.to_string_lossy()))?;
        self.files().restore(place, image, self.cx.journal()).await
    }

    /// Looks at every file before the first is touched.
    async fn check(&self, set: &ChangeSet, places: &[Option<Location>]) -> Result<(), ToolError> {
        let mut others = Vec::new();
        for (change, place) in set.changes.iter().zip(places) {
            let Some(place) = place else { continue };
            if self.files().state(place).await? != change.before {
                others.push(visible::line(&set.display(change)).into_owned());
            }
        }
        if others.is_empty() { Ok(()) } else { Err(conflict(&others)) }
    }

    fn files(&self) -> &dyn FileSystem {
        self.cx.host().files()
    }
    fn change_sets(&self) -> Result<&dyn ChangeSets, ToolError> {
        self.cx.host().processes().change_sets().ok_or_else(no_change_sets)
    }
}

/// The place of every change that is made; one that is not what was planned ends it all.
fn matched(set: &ChangeSet, mut places: impl Iterator<Item = Result<Location, ToolError>>) -> Result<Vec<Option<Location>>, ToolError> {
    let place = |change: &FileChange| {
        if !change.applies() {
            return Ok(None);
        }
        match places.next().transpose()? {
            Some(place) if place.path() == change.path => Ok(Some(place)),
            _ => Err(unplanned("change", &change.path.to_string_lossy())),
        }
    };
    set.changes.iter().map(place).collect()
}

fn conflict(others: &[String]) -> ToolError {
    let more = others.len().checked_sub(NAMED + 1).map(|more| format!(" and {} more", more + 1)).unwrap_or_default();
    let named = others[..others.len().min(NAMED)].join("', '");
    ToolError::execution(format!(
        "Nothing was applied: since the command ran, something else changed '{named}'{more}. Look at what is there now, then run the \
         command again to get a new change set."
    ))
    .with_details(serde_json::json!({"conflicts": others}))
}
