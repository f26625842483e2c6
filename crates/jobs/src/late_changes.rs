//! The staged changes of a job that continued after its call: they are applied when it has ended, or wait for a commit.

use std::sync::Arc;

use haft_contract::{ChangeApplier, ChangeSet, JobEnd, RunEffects};
use haft_text::display;

/// Applies the staged changes of a job that has ended, unless it was interrupted.
pub(crate) async fn apply(applier: &dyn ChangeApplier, effects: &RunEffects, end: &JobEnd) -> RunEffects {
    let mut effects = effects.clone();
    if let Some(set) = waiting(&effects).filter(|set| set.refused.is_none() && end.has_completed()) {
        let outcome = applier.apply(&set).await;
        effects.applied = Some(outcome.map(Arc::new).map_err(|error| error.message().to_owned()));
    }
    effects
}

/// A sentence on what became of them, for the end of the output: also other processes read that.
pub(crate) fn note(effects: &RunEffects, end: &JobEnd) -> Option<String> {
    if let Some(Err(why)) = &effects.changes {
        return Some(format!("haft: its staged changes are lost: {}", display::escape_line(why)));
    }
    let set = effects.changes.as_ref()?.as_ref().ok().filter(|set| !set.changes.is_empty())?;
    let (id, count) = (&set.id, set.changes.len());
    let commit = format!("exec with commit={id} and nothing else");
    Some(match &effects.applied {
        Some(Ok(applied)) if applied.refused.is_empty() => format!("haft: its staged changes were applied, {count} paths"),
        Some(Ok(applied)) => {
            let done = count - applied.refused.len();
            format!("haft: {done} of its {count} staged changes were applied; rules hold back the others: {commit} asks the user for them")
        }
        Some(Err(why)) => format!("haft: its {count} staged changes were not applied: {} {commit} tries again", display::escape_line(why)),
        None => match &set.refused {
            Some(why) => format!("haft: its staged changes cannot be applied: {}", display::escape_line(why)),
            None => format!("haft: its {count} staged changes were not applied, because {end}: {commit} applies them"),
        },
    })
}

/// The set that is not applied yet.
fn waiting(effects: &RunEffects) -> Option<Arc<ChangeSet>> {
    let set = effects.changes.as_ref()?.as_ref().ok()?;
    (effects.applied.is_none() && !set.changes.is_empty()).then(|| Arc::clone(set))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use haft_contract::{AppliedChanges, BoxFuture, ChangeKind, EntryKind, FileChange, ToolError};

    use super::*;

    /// Refuses the first change, or everything.
    struct Applier(Result<usize, &'static str>);

    impl ChangeApplier for Applier {
        fn apply<'a>(&'a self, set: &'a ChangeSet) -> BoxFuture<'a, Result<AppliedChanges, ToolError>> {
            let refused = |count| (0..count).map(|index| (index, "a rule".to_owned())).collect();
            let applied = self.0.map(|count| AppliedChanges { set: set.clone(), refused: refused(count), misplaced: Vec::new() });
            Box::pin(std::future::ready(applied.map_err(ToolError::execution)))
        }
    }

    fn effects(count: usize) -> RunEffects {
        let change = |number: usize| FileChange {
            path: format!("/w/{number}").into(),
            kind: ChangeKind::Created,
            entry: EntryKind::File,
            size: 0,
            mode: None,
            mode_before: None,
            target: None,
            before: None,
            hidden: false,
            is_checked: false,
        };
        let set = ChangeSet {
            id: "chg-1".into(),
            session: "s".into(),
            workspace: "/w".into(),
            command: "make".into(),
            made: SystemTime::UNIX_EPOCH,
            changes: (0..count).map(change).collect(),
            refused: None,
        };
        RunEffects { changes: Some(Ok(Arc::new(set))), ..RunEffects::default() }
    }

    #[tokio::test]
    async fn job_that_ended_well_is_applied_and_another_says_what_to_do() {
        let end = |code| JobEnd { code: Some(code), ..JobEnd::unknown(SystemTime::UNIX_EPOCH) };
        let killed = JobEnd { killed: true, ..end(0) };
        for (applier, count, end, words) in [
            (Applier(Ok(0)), 2, end(1), Some("haft: its staged changes were applied, 2 paths")),
            (Applier(Ok(1)), 2, end(0), Some("haft: 1 of its 2 staged changes were applied; rules hold back the others")),
            (Applier(Err("Disk full.")), 2, end(0), Some("not applied: Disk full. exec with commit=chg-1 and nothing else tries again")),
            (Applier(Ok(0)), 2, killed, Some("not applied, because it was killed: exec with commit=chg-1")),
            (Applier(Ok(0)), 0, end(0), None),
            (Applier(Ok(0)), 2, end(127), Some("not applied, because exit code 127")),
        ] {
            let effects = apply(&applier, &effects(count), &end).await;
            let note = note(&effects, &end);
            assert!(note.as_deref().map_or(words.is_none(), |note| words.is_some_and(|words| note.contains(words))), "{words:?}: {note:?}");
        }
    }
}
