//! What Google would refuse about a request.

use std::collections::HashSet;

use serde_json::Value;

use super::generation::wants_signatures;
use super::picture::{IN_PROMPTS, IN_RESULTS};

pub(super) fn of(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    for tool in list(&body["tools"]) {
        declarations(list(&tool["functionDeclarations"]), &mut faults);
    }
    conversation(list(&body["contents"]), &mut faults);
    faults
}

pub(super) fn for_model(model: &str, body: &Value) -> Vec<String> {
    let mut faults = of(body);
    if wants_signatures(model) {
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
    let mut asked: Vec<&Value> = Vec::new();
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
            faults.push(format!("content {at}: calls do not stand right behind the user or a result"));
        }
        faults.extend(pairing(&asked, &all(parts, "functionResponse")).map(|fault| format!("content {at}: {fault}")));
        (asked, before) = (calls, role);
    }
    if !asked.is_empty() {
        faults.push(format!("{} calls at the end have no results", asked.len()));
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
        (kinds, role) => Some(format!("a part with {kinds:?} cannot stand in a content of the role '{role}'")),
    }
}

fn picture_fault(part: &Value, taken: &[&str]) -> Option<String> {
    let mime = text(&part["inlineData"]["mimeType"]);
    (!taken.contains(&mime)).then(|| format!("a picture of the type '{mime}' is not taken here"))
}

/// The first call of every step since the person last spoke has one.
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
    let goes_on = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-".contains(c));
    let fits = begins && goes_on && name.len() <= 128;
    (!fits).then(|| format!("the name '{name}' does not fit ^[A-Za-z_][A-Za-z0-9_.:-]{{0,127}}$"))
}

fn all<'a>(parts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    parts.iter().filter_map(|part| part.get(kind)).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
