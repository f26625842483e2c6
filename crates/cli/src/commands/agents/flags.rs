//! The flags of `haft agents edit` as changes of the agent's table.

use std::io::Read;

use haft_config::AgentEdit;

use super::draft::AgentDraft;
use crate::arguments::{AGENT_KEYS, EditAgentArgs};
use crate::failure::Failure;
use crate::wire::models;

/// The longest prompt.
const MOST_PROMPT_BYTES: u64 = 64 * 1024;

/// Applies keys first, then tools.
pub(super) fn apply(draft: &mut AgentDraft<'_>, request: &EditAgentArgs) -> Result<(), Failure> {
    draft.change(request.unset.iter().filter_map(|key| Some(AgentEdit::Unset { key: full_key(key)? })))?;
    if let Some(model) = &request.model {
        models::check_name(&draft.wire().settings, model)?;
    }
    let (prompt, access) = (prompt(request)?, request.access.map(|level| level.to_string()));
    let values = [
        ("model", request.model.as_deref()),
        ("prompt", prompt.as_deref()),
        ("access", access.as_deref()),
        ("tools.profile", request.profile.as_deref()),
    ];
    set_keys(draft, values)?;
    tools(draft, request)
}

/// Sets each key that has a value; an empty one takes the key out.
pub(crate) fn set_keys<const N: usize>(draft: &mut AgentDraft<'_>, values: [(&'static str, Option<&str>); N]) -> Result<(), Failure> {
    let given = values.iter().filter_map(|&(key, value)| Some((key, value?)));
    for (key, value) in given.clone() {
        match key {
            "model" if !value.is_empty() => models::check_name(&draft.wire().settings, value)?,
            "prompt" if value.len() as u64 > MOST_PROMPT_BYTES => {
                return Err(Failure::usage(format!("the prompt is longer than {MOST_PROMPT_BYTES} bytes")));
            }
            _ => {}
        }
    }
    draft.change(given.map(|(key, value)| match value {
        "" => AgentEdit::Unset { key },
        value => AgentEdit::Set { key, value: value.to_owned() },
    }))
}

/// The key as in the file.
fn full_key(key: &str) -> Option<&'static str> {
    // The long names come first.
    AGENT_KEYS.iter().copied().find(|known| *known == key || known.strip_prefix("tools.") == Some(key))
}

fn prompt(request: &EditAgentArgs) -> Result<Option<String>, Failure> {
    let Some(file) = &request.prompt_file else { return Ok(request.prompt.clone()) };
    let refused = |why: String| Failure::usage(format!("the prompt cannot be read from '{}': {why}", file.display()));
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| refused(error.to_string()))?;
    opened.take(MOST_PROMPT_BYTES + 1).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > MOST_PROMPT_BYTES {
        return Err(refused(format!("it is longer than {MOST_PROMPT_BYTES} bytes")));
    }
    Ok(Some(text.trim_end().to_owned()))
}

fn tools(draft: &mut AgentDraft<'_>, request: &EditAgentArgs) -> Result<(), Failure> {
    if let Some(only) = &request.only {
        let entries: Vec<String> = only.iter().map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect();
        draft.only(&entries)?;
    }
    let (on, off) = (find_tools(draft, &request.tool)?, find_tools(draft, &request.no_tool)?);
    if let Some(both) = on.iter().find(|tool| off.contains(tool)) {
        return Err(Failure::usage(format!("--tool and --no-tool both name '{}'", both.name)).help("leave one of the two out"));
    }
    for tool in &on {
        if !tool.is_built {
            return Err(Failure::usage(format!("the tool '{}' is not in this build", tool.name)).help("`haft tools` lists the tools"));
        }
        draft.switch_on(&tool.name)?;
    }
    for tool in &off {
        if tool.is_built { draft.switch_off(&tool.name)? } else { draft.deny(&tool.name)? }
    }
    Ok(())
}

/// A tool that a flag names.
#[derive(PartialEq, Eq)]
struct NamedTool {
    name: String,
    is_built: bool,
}

fn find_tools(draft: &AgentDraft<'_>, names: &[String]) -> Result<Vec<NamedTool>, Failure> {
    let vocabulary = draft.wire().policy.vocabulary();
    let one = |name: &String| {
        let canonical = vocabulary.canonical(name.trim()).ok_or_else(|| {
            let failure = Failure::usage(format!("there is no tool '{name}'"));
            match vocabulary.nearest(name).as_slice() {
                [] => failure.help("`haft tools` lists the tools"),
                near => failure.help(format!("did you mean {}?", near.join(" or "))),
            }
        })?;
        Ok(NamedTool { is_built: draft.wire().registry.get(canonical).is_some(), name: canonical.to_owned() })
    };
    names.iter().map(one).collect()
}
