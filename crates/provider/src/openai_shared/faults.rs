//! What OpenAI refuses about tools and calls in either protocol.

use serde_json::Value;

use super::is_object;

/// `^[a-zA-Z0-9_-]{1,64}$`
fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-')
}

/// The list of tools; `definition` finds the part with the name.
pub(crate) fn tool_faults(body: &Value, definition: impl Fn(&Value) -> &Value) -> Vec<String> {
    let Some(tools) = body.get("tools") else { return Vec::new() };
    let Some(tools) = tools.as_array().filter(|tools| (1..=128).contains(&tools.len())) else {
        return vec!["tools: a list of 1 to 128 is expected".into()];
    };
    let mut faults = Vec::new();
    let mut names = Vec::new();
    for (place, tool) in tools.iter().enumerate() {
        let part = definition(tool);
        let name = part["name"].as_str().unwrap_or_default();
        if tool["type"] != "function" || !is_tool_name(name) || names.contains(&name) {
            faults.push(format!("tools[{place}]: the name '{name}' is used twice or does not fit"));
        }
        if part["parameters"]["type"] != "object" {
            faults.push(format!("tools[{place}]: the parameters are not an object's"));
        }
        names.push(name);
    }
    faults
}

/// A call that is sent back: its name and arguments.
pub(crate) fn call_fault(call: &Value) -> Option<String> {
    let name = call["name"].as_str().unwrap_or_default();
    if !is_tool_name(name) {
        return Some(format!("the name '{name}' does not fit"));
    }
    match call["arguments"].as_str() {
        None => Some("arguments: a text is expected".into()),
        Some(arguments) if !is_object(arguments) => Some(format!("arguments: '{arguments}' is not an object")),
        Some(_) => None,
    }
}
