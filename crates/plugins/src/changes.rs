//! The changes of a plugin's command: staged ones are applied by the rules, and what was not applied is told.

use haft_contract::{ChangeMode, Job, JobEnd, RunEffects, ToolContext, ToolError};
use haft_text::display;

/// How many paths are named.
const NAMED: usize = 10;

/// Applies the changes of a command that has ended; returns remarks for the model.
pub(crate) async fn settle(job: &dyn Job, end: &JobEnd, cx: &ToolContext) -> Result<Vec<String>, ToolError> {
    let Some(effects) = job.run_effects() else { return Ok(Vec::new()) };
    let mut remarks = refused(&effects);
    let set = match &effects.changes {
        None => return Ok(remarks),
        Some(Err(why)) => {
            return Err(ToolError::execution(format!(
                "The plugin ran, but its changes are lost and nothing was changed: {why}. Call it again."
            )));
        }
        Some(Ok(set)) if set.changes.is_empty() => return Ok(remarks),
        Some(Ok(set)) => set,
    };
    let is_staged = cx.plan().planned_command().is_some_and(|command| command.change_mode() == ChangeMode::Staged);
    if is_staged && end.code == Some(0) && end.not_run.is_none() {
        let applied = cx.process().apply(set).await?;
        for (index, why) in applied.refused.iter().take(NAMED) {
            let path = set.changes.get(*index).map(|change| set.display(change)).unwrap_or_default();
            remarks.push(format!("Not changed: '{}'. {why}", display::escape_line(&path)));
        }
        let more = applied.refused.len().saturating_sub(NAMED);
        remarks.extend((more > 0).then(|| format!("{more} more paths were not changed.")));
    } else {
        remarks
            .push(format!("Nothing was changed yet: its changes are staged. exec with commit={} and nothing else applies them.", set.id));
    }
    Ok(remarks)
}

/// What was taken back: protected names, and what Git runs or trusts.
fn refused(effects: &RunEffects) -> Vec<String> {
    let all = effects.git.iter().flat_map(|git| &git.refused).chain(&effects.refused);
    let remark = |change: &haft_contract::RefusedChange| {
        format!("'{}' was not changed: {}.", display::escape_line(&change.path.to_string_lossy()), change.why)
    };
    all.take(NAMED).map(remark).chain(effects.notes.iter().take(NAMED).cloned()).collect()
}
