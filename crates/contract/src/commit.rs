//! Commits of staged changes: as planned, and all or nothing.

use std::sync::Arc;

use crate::apply::{ChangeWriter, LateApplier, match_locations};
use crate::capability::{alive, unplanned};
use crate::{AppliedChanges, ChangeApplier, ChangeMode, ChangeSet, ChangeSets, ChangeSide, Effect, ErrorKind, Processes, ToolError};

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
        self.writer().put(claim, &locations).await
    }

    /// Applies the staged changes of the planned command, each path checked by the rules as a file tool's change is. What they do
    /// not let through stays staged.
    pub async fn apply(&self, set: &ChangeSet) -> Result<AppliedChanges, ToolError> {
        alive(self.cx)?;
        let tree = self.staged_tree().ok_or_else(|| unplanned("apply", "the changes of a command"))?;
        self.writer().apply(set, tree).await
    }

    /// Applies the staged changes of the planned command at its end, if it continues after this call.
    pub(crate) fn late_applier(self) -> Option<Arc<dyn ChangeApplier>> {
        Some(Arc::new(LateApplier::new(self.cx, self.staged_tree()?.to_owned())))
    }

    /// The folder of the planned command, if its changes are applied when it has ended.
    fn staged_tree(&self) -> Option<&std::path::Path> {
        let command = self.cx.plan().planned_command().filter(|command| command.change_mode() == ChangeMode::Staged);
        command.and_then(|command| command.writable_tree())
    }

    fn writer(&self) -> ChangeWriter<'_> {
        ChangeWriter {
            host: self.cx.host(),
            gate: self.cx.gate(),
            journal: &**self.cx.journal(),
            call: self.cx.call(),
            cancel: Some(self.cx.cancellation()),
        }
    }
    fn change_sets(&self) -> Result<&dyn ChangeSets, ToolError> {
        self.cx.host().processes().change_sets().ok_or_else(no_change_sets)
    }
}
