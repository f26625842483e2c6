//! Requests of OpenAI's Responses.

use std::collections::BTreeMap;

use serde_json::Value;

use super::list;
use super::openai::{call_fault, is_list_of, tool_faults};

const LONGEST_ID: usize = 64;

pub(super) fn faults(body: &Value) -> Vec<String> {
    let mut faults = tool_faults(body, |tool| tool);
    if list(&body["tools"]).iter().any(|tool| !tool["strict"].is_boolean()) {
        faults.push("tools: 'strict' must be said".into());
    }
    let Some(items) = body["input"].as_array().filter(|items| !items.is_empty()) else {
        faults.push("input: a list of at least one item is expected".into());
        return faults;
    };
    // Whether each call has its result.
    let mut calls = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let fault = item_fault(item, items.get(at + 1), &mut calls);
        faults.extend(fault.map(|fault| format!("input[{at}]: {fault}")));
    }
    faults.extend(calls.iter().filter(|(_, answered)| !**answered).map(|(id, _)| format!("the call '{id}' has no result")));
    faults
}

fn item_fault(item: &Value, next: Option<&Value>, calls: &mut BTreeMap<String, bool>) -> Option<String> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => message_fault(item),
        "reasoning" => reasoning_fault(item, next),
        "function_call" => {
            let id = item["call_id"].as_str().unwrap_or_default();
            let fits = (1..=LONGEST_ID).contains(&id.len());
            let is_new = calls.insert(id.to_owned(), false).is_none();
            if fits && is_new { call_fault(item) } else { Some(format!("the id '{id}' is used twice or does not fit")) }
        }
        "function_call_output" => {
            let id = item["call_id"].as_str().unwrap_or_default();
            match calls.insert(id.to_owned(), true) {
                Some(false) if item["output"].is_string() || is_list_of(&item["output"], &["input_text", "input_image"]) => None,
                Some(false) => Some("output: a text or a list of parts is expected".into()),
                _ => Some(format!("no call '{id}' before it waits for this result")),
            }
        }
        other => Some(format!("the type '{other}' is unknown")),
    }
}

fn message_fault(item: &Value) -> Option<String> {
    let content = &item["content"];
    let fits = match item["role"].as_str() {
        Some("user") => content.is_string() || is_list_of(content, &["input_text", "input_image"]),
        Some("assistant") => content.is_string() || is_list_of(content, &["output_text"]),
        _ => return Some("the role is unknown".into()),
    };
    (!fits).then(|| "content: a text or a list of parts is expected".into())
}

fn reasoning_fault(item: &Value, next: Option<&Value>) -> Option<String> {
    let is_text = |name: &str| item[name].as_str().is_some_and(|text| !text.is_empty());
    if !is_text("id") || !is_text("encrypted_content") || !item["summary"].is_array() {
        return Some("a thought needs its id, its summary and its encrypted content: nothing is stored".into());
    }
    let follows = |next: &Value| next["type"] == "reasoning" || next["type"] == "function_call" || next["role"] == "assistant";
    (!next.is_some_and(follows)).then(|| "a thought needs the item that it led to right behind it".into())
}
