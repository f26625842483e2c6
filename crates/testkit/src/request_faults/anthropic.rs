//! Requests of Anthropic's Messages.

use std::collections::HashSet;

use serde_json::Value;

use super::{is_plain_name, list, text};

pub(super) fn faults(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    tools(body, &mut faults);
    if body.to_string().matches("\"cache_control\":").count() > 4 {
        faults.push("there are more than four cache_control breakpoints".into());
    }
    if body["max_tokens"].as_u64().is_none_or(|most| most == 0) {
        faults.push("max_tokens is not a positive number".into());
    }
    conversation(list(&body["messages"]), &mut faults);
    faults
}

fn tools(body: &Value, faults: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for tool in list(&body["tools"]) {
        let name = text(&tool["name"]);
        if !is_plain_name(name) {
            faults.push(format!("the tool name '{name}' does not fit ^[a-zA-Z0-9_-]{{1,64}}$"));
        }
        if !seen.insert(name) {
            faults.push(format!("the tool '{name}' is there twice"));
        }
        if tool["input_schema"]["type"] != "object" {
            faults.push(format!("the input_schema of '{name}' is not of type object"));
        }
    }
}

fn conversation(messages: &[Value], faults: &mut Vec<String>) {
    if messages.is_empty() {
        faults.push("there are no messages".into());
    }
    let mut ids = HashSet::new();
    // Ids of the calls in the message before.
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let due = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != due {
            faults.push(format!("message {at} should be of the {due}"));
        }
        let content = list(&message["content"]);
        if content.is_empty() {
            faults.push(format!("message {at} is empty"));
        }
        for block in content {
            faults.extend(block_faults(block, text(&message["role"])).map(|fault| format!("message {at}: {fault}")));
        }
        faults.extend(pairing(&open, content).map(|fault| format!("message {at}: {fault}")));
        open = of_type(content, "tool_use").map(|call| text(&call["id"])).collect();
        faults.extend(open.iter().filter(|id| !ids.insert(**id)).map(|id| format!("message {at}: the id '{id}' is there twice")));
    }
    if !open.is_empty() {
        faults.push(format!("the calls {open:?} have no results"));
    }
}

/// Results come first, and answer the calls of the message before, each once.
fn pairing(calls: &[&str], content: &[Value]) -> Option<String> {
    let first = content.iter().take_while(|block| block["type"] == "tool_result").count();
    let answered: Vec<&str> = of_type(content, "tool_result").map(|result| text(&result["tool_use_id"])).collect();
    if answered.len() != first {
        return Some("a tool_result follows something else".into());
    }
    let (mut want, mut have) = (calls.to_vec(), answered);
    want.sort_unstable();
    have.sort_unstable();
    (want != have).then(|| format!("there are results for {have:?}, and calls {want:?}"))
}

fn block_faults(block: &Value, role: &str) -> Option<String> {
    match (text(&block["type"]), role) {
        ("text", _) => text(&block["text"]).trim().is_empty().then(|| "a text is blank".to_owned()),
        ("thinking", "assistant") => text(&block["signature"]).is_empty().then(|| "a thinking block has no signature".to_owned()),
        ("tool_result", "user") => result_fault(block),
        ("tool_use", "assistant") => call_fault(block),
        ("image", "user") | ("redacted_thinking", "assistant") => None,
        (kind, role) => Some(format!("a block of type '{kind}' is not allowed in a message of the {role}")),
    }
}

fn call_fault(call: &Value) -> Option<String> {
    let (id, name) = (text(&call["id"]), text(&call["name"]));
    if !is_plain_name(id) {
        Some(format!("the id '{id}' does not fit ^[a-zA-Z0-9_-]{{1,64}}$"))
    } else if !is_plain_name(name) {
        Some(format!("the tool name '{name}' does not fit ^[a-zA-Z0-9_-]{{1,64}}$"))
    } else {
        (!call["input"].is_object()).then(|| format!("the input of '{id}' is not an object"))
    }
}

fn result_fault(result: &Value) -> Option<String> {
    let id = text(&result["tool_use_id"]);
    let content = list(&result["content"]);
    if content.iter().any(|block| block["type"] == "text" && text(&block["text"]).trim().is_empty()) {
        Some(format!("the result '{id}' holds a blank text"))
    } else if result["is_error"] == true && (content.is_empty() || content.iter().any(|block| block["type"] != "text")) {
        Some(format!("the failed result '{id}' must hold text, and text alone"))
    } else {
        None
    }
}

fn of_type<'a>(content: &'a [Value], kind: &'static str) -> impl Iterator<Item = &'a Value> {
    content.iter().filter(move |block| block["type"] == kind)
}
