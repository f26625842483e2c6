//! Requests of Google's generateContent.

use std::collections::HashSet;

use serde_json::Value;

use super::{list, text};

/// Image types in prompts, and inside of results.
const IN_PROMPTS: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const IN_RESULTS: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

pub(super) fn faults(model: &str, body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    for tool in list(&body["tools"]) {
        declarations(list(&tool["functionDeclarations"]), &mut faults);
    }
    conversation(list(&body["contents"]), &mut faults);
    if model.contains("gemini-3") || model == "gemini-flash-latest" {
        signatures(list(&body["contents"]), &mut faults);
    }
    faults
}

fn declarations(declarations: &[Value], faults: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for declaration in declarations {
        let name = text(&declaration["name"]);
        faults.extend(name_fault(name));
        if !seen.insert(name) {
            faults.push(format!("the tool '{name}' is there twice"));
        }
        let (old, new) = (declaration.get("parameters"), declaration.get("parametersJsonSchema"));
        if old.is_some() && new.is_some() {
            faults.push(format!("'{name}' has both parameters and parametersJsonSchema"));
        }
        let kind = old.or(new).map(|schema| text(&schema["type"]));
        if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("object")) {
            faults.push(format!("the parameters of '{name}' are not of type object"));
        }
    }
}

fn conversation(contents: &[Value], faults: &mut Vec<String>) {
    if contents.first().is_none_or(|first| first["role"] != "user") {
        faults.push("the conversation does not begin with the user".into());
    }
    // The calls of the content before.
    let mut open: Vec<&Value> = Vec::new();
    let mut before = "";
    for (at, content) in contents.iter().enumerate() {
        let (role, parts) = (text(&content["role"]), list(&content["parts"]));
        if parts.is_empty() {
            faults.push(format!("content {at} has no parts"));
        }
        for part in parts {
            faults.extend(part_fault(part, role).map(|fault| format!("content {at}: {fault}")));
        }
        let calls = all(parts, "functionCall");
        if !calls.is_empty() && before == "model" {
            faults.push(format!("content {at}: calls do not follow the user or a result"));
        }
        faults.extend(pairing(&open, &all(parts, "functionResponse")).map(|fault| format!("content {at}: {fault}")));
        (open, before) = (calls, role);
    }
    if !open.is_empty() {
        faults.push(format!("{} calls at the end have no results", open.len()));
    }
}

/// As many responses as calls, in their order, each with the id of its call if that has one.
fn pairing(calls: &[&Value], responses: &[&Value]) -> Option<String> {
    if calls.len() != responses.len() {
        return Some(format!("there are {} responses to {} calls", responses.len(), calls.len()));
    }
    let differ = calls.iter().zip(responses).find(|(call, response)| call["name"] != response["name"] || call["id"] != response["id"]);
    differ.map(|(call, response)| {
        format!("the response {} {} answers the call {} {}", response["name"], response["id"], call["name"], call["id"])
    })
}

fn part_fault(part: &Value, role: &str) -> Option<String> {
    const KINDS: [&str; 4] = ["text", "inlineData", "functionCall", "functionResponse"];
    let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| part.get(kind).is_some()).collect();
    match (kinds.as_slice(), role) {
        (["functionCall"], "model") => name_fault(text(&part["functionCall"]["name"]))
            .or_else(|| (!part["functionCall"]["args"].is_object()).then(|| "the args of a call are not an object".to_owned())),
        (["functionResponse"], "user" | "function") => name_fault(text(&part["functionResponse"]["name"]))
            .or_else(|| (!part["functionResponse"]["response"].is_object()).then(|| "a response is not an object".to_owned()))
            .or_else(|| list(&part["functionResponse"]["parts"]).iter().find_map(|part| picture_fault(part, &IN_RESULTS))),
        (["text"], "user") if text(&part["text"]).is_empty() => Some("a text is empty".into()),
        (["text"], "model") if text(&part["text"]).is_empty() && part.get("thoughtSignature").is_none() => Some("a text is empty".into()),
        (["text"], "user" | "model") => None,
        (["inlineData"], "user") => picture_fault(part, &IN_PROMPTS),
        (kinds, role) => Some(format!("a part with {kinds:?} is not allowed in a content of the role '{role}'")),
    }
}

fn picture_fault(part: &Value, taken: &[&str]) -> Option<String> {
    let mime = text(&part["inlineData"]["mimeType"]);
    (!taken.contains(&mime)).then(|| format!("a picture of the type '{mime}' is not taken here"))
}

/// Since the user last spoke, the first call of every step has a signature.
fn signatures(contents: &[Value], faults: &mut Vec<String>) {
    let spoken = |content: &Value| content["role"] == "user" && all(list(&content["parts"]), "functionResponse").is_empty();
    let current = contents.iter().rposition(spoken).unwrap_or(0);
    for (at, content) in contents.iter().enumerate().skip(current) {
        let first = list(&content["parts"]).iter().find(|part| part.get("functionCall").is_some());
        if first.is_some_and(|part| text(&part["thoughtSignature"]).is_empty()) {
            faults.push(format!("content {at}: the first call has no thoughtSignature"));
        }
    }
}

fn name_fault(name: &str) -> Option<String> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-".contains(c));
    let fits = begins && fits && name.len() <= 128;
    (!fits).then(|| format!("the name '{name}' does not fit ^[A-Za-z_][A-Za-z0-9_.:-]{{0,127}}$"))
}

fn all<'a>(parts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    parts.iter().filter_map(|part| part.get(kind)).collect()
}
