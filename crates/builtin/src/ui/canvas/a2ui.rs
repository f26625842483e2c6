//! A2UI 0.8: messages that describe an interface, checked before they reach a page. The components are those of the table in
//! docs/MEDIA.md; the frame of the page draws them with text nodes and fixed elements, so no message can bring markup or a script.

use std::collections::BTreeSet;

use haft_contract::ToolError;
use haft_contract::json::parse_strict;
use serde_json::{Map, Value};

use crate::shared::brief;

/// All messages of a call.
pub(super) const MOST_BYTES: usize = 256 * 1024;
const MOST_MESSAGES: usize = 500;
const MOST_COMPONENTS: usize = 1_000;
const DEEPEST: usize = 16;
const MESSAGES: [&str; 4] = ["surfaceUpdate", "dataModelUpdate", "beginRendering", "deleteSurface"];
/// The components that the page draws.
pub(super) const COMPONENTS: [&str; 13] = [
    "Text",
    "Image",
    "Row",
    "Column",
    "List",
    "Card",
    "Divider",
    "Button",
    "TextField",
    "CheckBox",
    "Slider",
    "DateTimeInput",
    "MultipleChoice",
];

/// The messages of JSON lines, each one checked.
pub(super) fn messages(lines: &str) -> Result<Vec<Value>, ToolError> {
    if lines.len() > MOST_BYTES {
        return Err(refused("jsonl", &format!("has more than {} KB", MOST_BYTES / 1024)));
    }
    let lines = lines.lines().enumerate().map(|(number, line)| (number + 1, line.trim())).filter(|(_, line)| !line.is_empty());
    let messages = lines.map(|(number, line)| message(number, line)).collect::<Result<Vec<_>, _>>()?;
    match messages.len() {
        0 => Err(refused("jsonl", "has no message")),
        count if count > MOST_MESSAGES => Err(refused("jsonl", &format!("has {count} messages, and {MOST_MESSAGES} are the most"))),
        _ => Ok(messages),
    }
}

fn refused(place: &str, what: &str) -> ToolError {
    ToolError::validation(format!("A2UI: {place} {what}."))
}

fn message(number: usize, line: &str) -> Result<Value, ToolError> {
    let place = format!("line {number}");
    let value = parse_strict(line).map_err(|error| refused(&place, &format!("is not JSON: {error}")))?;
    if depth(&value) > DEEPEST {
        return Err(refused(&place, &format!("is nested deeper than {DEEPEST} levels")));
    }
    let one = value.as_object().filter(|message| message.len() == 1).and_then(|message| message.iter().next());
    let Some((kind, content)) = one.filter(|(kind, _)| MESSAGES.contains(&kind.as_str())) else {
        return Err(refused(&place, &format!("must be an object with one of {}", MESSAGES.join(", "))));
    };
    let content = content.as_object().ok_or_else(|| refused(&place, &format!("'{kind}' must be an object")))?;
    name(content, "surfaceId", &place)?;
    match kind.as_str() {
        "surfaceUpdate" => components(content, &place)?,
        "beginRendering" => name(content, "root", &place)?,
        "dataModelUpdate" if !content.get("contents").is_some_and(Value::is_array) => {
            return Err(refused(&place, "'dataModelUpdate' needs 'contents', a list of {\"key\", \"valueString\" …}"));
        }
        _ => {}
    }
    Ok(value)
}

/// A name of at most 200 characters.
fn name(content: &Map<String, Value>, key: &str, place: &str) -> Result<(), ToolError> {
    let found = content.get(key).and_then(Value::as_str).filter(|name| !name.is_empty() && name.len() <= 200);
    found.map(drop).ok_or_else(|| refused(place, &format!("needs '{key}', a text of 1 to 200 characters")))
}

fn components(content: &Map<String, Value>, place: &str) -> Result<(), ToolError> {
    let list = content.get("components").and_then(Value::as_array).ok_or_else(|| refused(place, "needs 'components', a list"))?;
    if list.len() > MOST_COMPONENTS {
        return Err(refused(place, &format!("has {} components, and {MOST_COMPONENTS} are the most", list.len())));
    }
    let mut ids = BTreeSet::new();
    for component in list {
        let object = component.as_object().ok_or_else(|| refused(place, "has a component that is not an object"))?;
        name(object, "id", place)?;
        let id = object["id"].as_str().unwrap_or_default();
        if !ids.insert(id) {
            return Err(refused(place, &format!("has two components with the id '{}'", brief(id))));
        }
        let kinds = object.get("component").and_then(Value::as_object).filter(|kinds| kinds.len() == 1);
        let Some((kind, properties)) = kinds.and_then(|kinds| kinds.iter().next()) else {
            return Err(refused(place, &format!("the component '{}' needs 'component', an object with one kind", brief(id))));
        };
        if !COMPONENTS.contains(&kind.as_str()) {
            let known = COMPONENTS.join(", ");
            return Err(refused(
                place,
                &format!("the component '{}' is of the unknown kind '{}'. There are: {known}", brief(id), brief(kind)),
            ));
        }
        if kind == "Image" {
            picture(properties, id, place)?;
        }
    }
    Ok(())
}

/// The frame has no network: a picture is in the message itself.
fn picture(properties: &Value, id: &str, place: &str) -> Result<(), ToolError> {
    match properties["url"]["literalString"].as_str() {
        Some(url) if !url.starts_with("data:image/") => {
            Err(refused(place, &format!("the picture '{}' must be a data:image/… URL, because the canvas has no network", brief(id))))
        }
        _ => Ok(()),
    }
}

/// Without recursion: hostile input cannot overflow the stack.
fn depth(value: &Value) -> usize {
    let (mut deepest, mut open) = (0, vec![(value, 1)]);
    while let Some((value, level)) = open.pop() {
        deepest = deepest.max(level);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, level + 1))),
            _ => {}
        }
    }
    deepest
}
