//! Committing a change set: every change is an effect of its own.

use std::path::Path;

use haft_contract::{ChangeKind, ChangeSet, Effect, Plan, PlanContext, ToolContext, ToolError, ToolOutput};
use haft_text::display;
use haft_text::paths::lexical;

use crate::command::job_text::with_remarks;
use crate::command::run::{ChangeReport, counted};

/// Plans the commit of a set.
pub(super) fn plan(id: &str, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
    let set = cx.change_set(id.trim())?;
    let mut plan = Plan::nothing();
    for change in set.changes.iter().filter(|change| change.applies()) {
        let at = cx.locate_entry(&change.path)?;
        plan = if change.kind == ChangeKind::Deleted { plan.delete(at) } else { plan.write(at) };
    }
    if plan.effects().is_empty() {
        return Err(ToolError::validation(format!("There is nothing to commit in '{}'.", set.id)));
    }
    let plan = escaping_links(&set).into_iter().fold(plan, |plan, why| plan.with(Effect::Unknown { why }));
    Ok(plan.commits(set))
}

/// Links that lead out of the workspace: later writes through one land elsewhere.
fn escaping_links(set: &ChangeSet) -> Vec<String> {
    let leads_out = |change: &haft_contract::FileChange| {
        let target = change.target.as_ref()?;
        let leads = lexical(&change.path.parent()?.join(target));
        let shown = |path: &Path| display::escape_line(&path.to_string_lossy()).into_owned();
        let link = display::escape_line(&set.display(change)).into_owned();
        (!leads.starts_with(&set.workspace)).then(|| format!("the link '{link}' leads out of the workspace, to '{}'", shown(target)))
    };
    set.changes.iter().filter_map(leads_out).collect()
}

/// Applies the planned set.
pub(super) async fn run(cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let planned = cx.plan().committed().cloned();
    // Described before: the commit removes its content.
    let report = match &planned {
        Some(set) => ChangeReport::new(set, cx).await,
        None => return Err(ToolError::validation("There is nothing to commit.")),
    };
    let set = cx.process().commit().await?;
    let skipped = set.changes.iter().filter(|change| !change.applies()).count();
    let remarks = (skipped > 0).then(|| format!("{skipped} pipes, sockets or devices were not created: they never are."));
    let text = format!("Committed '{}': {}.\n\n{}", set.id, counted(&set), report.text());
    Ok(ToolOutput::text(with_remarks(text, remarks.as_slice())).with_details(serde_json::json!({"changes": report.details(true)})))
}
