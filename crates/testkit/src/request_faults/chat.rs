//! Requests of OpenAI's Chat Completions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::openai::{call_fault, is_list_of, tool_faults};

const LONGEST_ID: usize = 40;

pub(super) fn faults(body: &Value) -> Vec<String> {
    let mut faults = tool_faults(body, |tool| &tool["function"]);
    let Some(messages) = body["messages"].as_array().filter(|messages| !messages.is_empty()) else {
        faults.push("messages: a list of at least one is expected".into());
        return faults;
    };
    let mut waiting = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let here = if message["role"] == "tool" { tool(message, &mut waiting) } else { other(message, &mut waiting) };
        faults.extend(here.into_iter().map(|fault| format!("messages[{at}]: {fault}")));
    }
    faults.extend(unanswered(&mut waiting));
    faults
}

/// A result: it must answer a call of the message before the results.
fn tool(message: &Value, waiting: &mut BTreeSet<String>) -> Vec<String> {
    let id = message["tool_call_id"].as_str().unwrap_or_default();
    let mut faults = Vec::new();
    if !waiting.remove(id) {
        faults.push(format!("no call '{id}' right before it waits for this result"));
    }
    if !message["content"].is_string() && !is_list_of(&message["content"], &["text"]) {
        faults.push("content: a text is expected".into());
    }
    faults
}

/// Anything else: no call may wait any more.
fn other(message: &Value, waiting: &mut BTreeSet<String>) -> Vec<String> {
    let mut faults: Vec<_> = unanswered(waiting).into_iter().collect();
    let content = &message["content"];
    match message["role"].as_str() {
        Some("system" | "user") if content.is_string() || is_list_of(content, &["text", "image_url"]) => {}
        Some("assistant") if content.is_string() || (content.is_null() && !message["tool_calls"].is_null()) => {}
        Some("system" | "user" | "assistant") => faults.push("content: a text or a list of parts is expected".into()),
        role => faults.push(format!("the role '{}' is unknown", role.unwrap_or_default())),
    }
    if let Some(calls) = message.get("tool_calls") {
        faults.extend(call_faults(message, calls, waiting));
    }
    faults
}

fn call_faults(message: &Value, calls: &Value, waiting: &mut BTreeSet<String>) -> Vec<String> {
    let Some(calls) = calls.as_array().filter(|calls| !calls.is_empty() && message["role"] == "assistant") else {
        return vec!["tool_calls: a list of at least one is expected, and of the assistant alone".into()];
    };
    let mut faults = Vec::new();
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if !(1..=LONGEST_ID).contains(&id.len()) || call["type"] != "function" || !waiting.insert(id.to_owned()) {
            faults.push(format!("tool_calls: the id '{id}' is used twice or does not fit"));
        }
        faults.extend(call_fault(&call["function"]).map(|fault| format!("tool_calls: {fault}")));
    }
    faults
}

fn unanswered(waiting: &mut BTreeSet<String>) -> Option<String> {
    let ids: Vec<_> = std::mem::take(waiting).into_iter().collect();
    (!ids.is_empty()).then(|| format!("these calls have no result right behind them: {}", ids.join(", ")))
}
