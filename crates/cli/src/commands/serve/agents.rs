//! Agents for the page: shown, and changed by ticking tools.

use haft_contract::Access;
use haft_gateway::{AgentChange, Saving};
use haft_policy::catalog::PROFILES;
use haft_text::display;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::arguments::Common;
use crate::commands::agents::draft::AgentDraft;
use crate::commands::agents::{AgentView, flags, show, summary_json};
use crate::failure::Failure;
use crate::wire::{Wire, models};

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
    value["keys"] = keys(&wire, &value);
    value["prompt_tokens"] = json!(prompt_tokens(&wire, name));
    Ok(value)
}

/// The keys that a page can edit: what the agent's own table says, and what holds where it says nothing.
fn keys(wire: &Wire, agent: &Value) -> Value {
    let name = agent["name"].as_str().unwrap_or_default();
    let own = |key: &str| text_at(wire, &[&["agents", name], key.split('.').collect::<Vec<_>>().as_slice()].concat());
    let profile = text_at(wire, &["tools", "profile"]);
    let suggestions = models::names_without_asking(&wire.settings);
    let levels = [Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess];
    json!([
        { "key": "model", "value": own("model"), "otherwise": agent["model"]["value"], "suggestions": suggestions },
        { "key": "profile", "value": own("tools.profile"), "otherwise": profile, "choices": PROFILES },
        { "key": "access", "value": own("access"), "otherwise": wire.settings.config.access, "choices": levels },
        { "key": "prompt", "value": own("prompt"), "otherwise": null },
    ])
}

/// A text, or a word such as an access level.
fn text_at(wire: &Wire, path: &[&str]) -> Option<String> {
    json!(wire.settings.provenance.get_at(path)?.value).as_str().map(str::to_owned)
}

fn prompt_tokens(wire: &Wire, agent: &str) -> usize {
    text_at(wire, &["agents", agent, "prompt"]).map_or(0, |prompt| haft_agent::text_tokens(&prompt))
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

/// The change of the user's file that sets keys of an agent, and ticks and unticks tools.
/// An empty text takes a key out of the file.
pub(super) fn edit(backend: &ServeBackend, name: &str, change: &AgentChange, saving: Saving) -> Result<Value, Failure> {
    // These flags hold for this process, not for the file.
    let common = Common { access: None, profile: None, agent: None, ..backend.common.clone() };
    let mut draft = AgentDraft::begin(&common, &backend.output, name)?;
    // As in the sessions of this server, so that the result counts the same tools.
    draft.wire().offer_canvas();
    draft.wire().known_agent(name).map_err(|failure| Failure::failed("not_found", failure.message.clone()))?;
    let prompt = change.prompt.as_deref().map(str::trim_end);
    flags::set_keys(&mut draft, [("model", change.model.as_deref()), ("prompt", prompt), ("access", change.access.as_deref())])?;
    flags::set_keys(&mut draft, [("tools.profile", change.profile.as_deref())])?;
    for tool in &change.on {
        draft.switch_on(&canonical(&draft, tool)?)?;
    }
    for tool in &change.off {
        let tool = canonical(&draft, tool)?;
        draft.switch_off(&tool)?;
    }
    let tokens = prompt_tokens(draft.wire(), name);
    let (changed, tools) = (draft.before() != draft.after(), tools(&draft.view()?));
    let diff = draft.wire().text_difference(&common, draft.file(), [draft.before(), draft.after()]);
    let file = draft.file().to_string_lossy().into_owned();
    let is_written = changed && saving == Saving::Write;
    let undo = if is_written { Some(backend.saves.keep(draft.write()?)) } else { None };
    if is_written {
        backend.reload();
    }
    Ok(json!({
        "file": file, "changed": changed, "written": is_written, "undo": undo, "diff": display::escape_lines(&diff), "tools": tools,
        "prompt_tokens": tokens,
    }))
}

fn canonical(draft: &AgentDraft<'_>, tool: &str) -> Result<String, Failure> {
    Ok(crate::commands::tools::find(draft.wire(), tool)?.name().to_owned())
}
