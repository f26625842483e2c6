//! A change set that is committed: every change in it an effect of its own, and then exactly those.

use std::path::Path;

use haft_contract::{ChangeDeed, ChangeSet, Effect, Plan, PlanContext, ToolContext, ToolError, ToolOutput, lexical, visible};

use super::super::running::{Told, counted};
use super::super::words::remarked;

/// What committing this set does.
pub(super) fn plan(id: &str, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
    let set = cx.change_set(id.trim())?;
    let mut plan = Plan::nothing();
    for change in set.changes.iter().filter(|change| change.applies()) {
        let at = cx.locate_entry(&change.path)?;
        plan = if change.deed == ChangeDeed::Deleted { plan.delete(at) } else { plan.write(at) };
    }
    if plan.effects().is_empty() {
        return Err(ToolError::validation(format!("There is nothing to commit in '{}'.", set.id)));
    }
    let plan = escapes(&set).into_iter().fold(plan, |plan, why| plan.with(Effect::Unknown { why }));
    Ok(plan.commits(set))
}

/// Links that lead out of the workspace: what is later written through one lands elsewhere.
fn escapes(set: &ChangeSet) -> Vec<String> {
    let leads_out = |change: &haft_contract::FileChange| {
        let target = change.target.as_ref()?;
        let leads = lexical(&change.path.parent()?.join(target));
        let shown = |path: &Path| visible::line(&path.to_string_lossy()).into_owned();
        let link = visible::line(&set.display(change)).into_owned();
        (!leads.starts_with(&set.workspace)).then(|| format!("the link '{link}' leads out of the workspace, to '{}'", shown(target)))
    };
    set.changes.iter().filter_map(leads_out).collect()
}

/// Puts the planned set in place.
pub(super) async fn run(cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let planned = cx.plan().committed().cloned();
    // Looked at before: its content goes with the commit.
    let told = match &planned {
        Some(set) => Told::of(set, cx).await,
        None => return Err(ToolError::validation("There is nothing to commit.")),
    };
    let set = cx.process().commit().await?;
    let skipped = set.changes.iter().filter(|change| !change.applies()).count();
    let remarks = (skipped > 0).then(|| format!("{skipped} pipes, sockets or devices were not made: they never are."));
    let text = format!("Committed '{}': {}.\n\n{}", set.id, counted(&set), told.text());
    Ok(ToolOutput::text(remarked(text, remarks.as_slice())).with_details(serde_json::json!({"changes": told.details(true)})))
}
