//! Agents for the page: shown, and changed by ticking tools.

use haft_gateway::{AgentChange, Saving};
use haft_text::display;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::arguments::Common;
use crate::commands::agents::draft::AgentDraft;
use crate::commands::agents::{AgentView, show, summary_json};
use crate::failure::Failure;

pub(super) fn list(backend: &ServeBackend) -> Result<Value, Failure> {
    let wire = backend.wire_of(None)?;
    let names = wire.agents();
    let views = names.iter().map(|name| AgentView::new(&wire, name)).collect::<Result<Vec<_>, _>>()?;
    let summary = |view: &AgentView<'_>| {
        let mut value = summary_json(view);
        value["active"] = json!(view.name == wire.settings.agent);
        value
    };
    Ok(views.iter().map(summary).collect())
}

pub(super) fn one(backend: &ServeBackend, name: &str) -> Result<Value, Failure> {
    let wire = backend.wire_of(None)?;
    wire.known_agent(name).map_err(|failure| Failure::failed("not_found", failure.message.clone()))?;
    let view = AgentView::new(&wire, name)?;
    let mut value = show::to_json(&wire, &view);
    value["tools"] = tools(&view);
    value["file"] = json!(wire.own_file().ok().map(|file| file.to_string_lossy().into_owned()));
    Ok(value)
}

fn tools(view: &AgentView<'_>) -> Value {
    let tool = |tool: &crate::commands::tools::ListedTool| {
        let definition = tool.definition();
        json!({
            "name": definition.name, "label": definition.label, "description": definition.description, "section": definition.section,
            "access": definition.access, "offered": tool.is_offered(), "reason": tool.reason(),
        })
    };
    view.tools.iter().map(tool).collect()
}

/// The change of the user's file that ticks and unticks tools.
pub(super) fn edit(backend: &ServeBackend, name: &str, change: &AgentChange, saving: Saving) -> Result<Value, Failure> {
    // These flags hold for this process, not for the file.
    let common = Common { access: None, profile: None, agent: None, ..backend.common.clone() };
    let mut draft = AgentDraft::begin(&common, &backend.output, name)?;
    draft.wire().known_agent(name).map_err(|failure| Failure::failed("not_found", failure.message.clone()))?;
    for tool in &change.on {
        draft.switch_on(&canonical(&draft, tool)?)?;
    }
    for tool in &change.off {
        let tool = canonical(&draft, tool)?;
        draft.switch_off(&tool)?;
    }
    let (changed, tools) = (draft.before() != draft.after(), tools(&draft.view()?));
    let diff = haft_patch::diff::unified(draft.before().as_bytes(), draft.after().as_bytes(), "config.toml", 2);
    let file = draft.file().to_string_lossy().into_owned();
    let is_written = changed && saving == Saving::Write;
    if is_written {
        draft.write()?;
        backend.reload();
    }
    Ok(json!({ "file": file, "changed": changed, "written": is_written, "diff": display::escape_lines(&diff), "tools": tools }))
}

fn canonical(draft: &AgentDraft<'_>, tool: &str) -> Result<String, Failure> {
    Ok(crate::commands::tools::find(draft.wire(), tool)?.name().to_owned())
}
