//! Tools and calls in both protocols of OpenAI.

use serde_json::{Map, Value};

use super::is_plain_name;

/// The list of tools; `definition` finds the part with the name.
pub(super) fn tool_faults(body: &Value, definition: impl Fn(&Value) -> &Value) -> Vec<String> {
    let Some(tools) = body.get("tools") else { return Vec::new() };
    let Some(tools) = tools.as_array().filter(|tools| (1..=128).contains(&tools.len())) else {
        return vec!["tools: a list of 1 to 128 is expected".into()];
    };
    let mut faults = Vec::new();
    let mut names = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let part = definition(tool);
        let name = part["name"].as_str().unwrap_or_default();
        if tool["type"] != "function" || !is_plain_name(name) || names.contains(&name) {
            faults.push(format!("tools[{at}]: the name '{name}' is used twice or does not fit"));
        }
        if part["parameters"]["type"] != "object" {
            faults.push(format!("tools[{at}]: the parameters are not an object's"));
        }
        names.push(name);
    }
    faults
}

/// A call that is sent back: its name and arguments.
pub(super) fn call_fault(call: &Value) -> Option<String> {
    let name = call["name"].as_str().unwrap_or_default();
    if !is_plain_name(name) {
        return Some(format!("the name '{name}' does not fit"));
    }
    match call["arguments"].as_str() {
        None => Some("arguments: a text is expected".into()),
        Some(arguments) if serde_json::from_str::<Map<String, Value>>(arguments).is_err() => {
            Some(format!("arguments: '{arguments}' is not an object"))
        }
        Some(_) => None,
    }
}

/// Whether the content is a list of parts of these types.
pub(super) fn is_list_of(content: &Value, kinds: &[&str]) -> bool {
    let is_part = |part: &Value| part["type"].as_str().is_some_and(|kind| kinds.contains(&kind));
    content.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}
