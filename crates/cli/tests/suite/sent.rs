//! What a model was sent: the calls and results of a request, whatever its protocol calls them.

use serde_json::Value;

/// The results that a request carries, in whichever protocol and in order: the name of the call's tool, and the envelope.
pub(crate) fn results(body: &Value) -> Vec<(String, Value)> {
    let parts: Vec<&Value> = ["messages", "input", "contents"].iter().flat_map(|name| list(&body[*name])).flat_map(with_parts).collect();
    let calls: Vec<(&str, &str)> = parts.iter().filter_map(|part| call(part)).collect();
    let answers: Vec<(&str, String)> = parts.iter().filter_map(|part| answer(part)).collect();
    assert_eq!(calls.len(), answers.len(), "one result for each call: {body}");
    let paired = calls.into_iter().zip(answers).map(|((id, name), (answered, text))| {
        assert_eq!(id, answered, "results are in the order of their calls: {body}");
        (name.to_owned(), serde_json::from_str(&text).unwrap_or(Value::from(text)))
    });
    paired.collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A message or item itself, and what it holds.
fn with_parts(message: &Value) -> impl Iterator<Item = &Value> {
    std::iter::once(message).chain(["tool_calls", "content", "parts"].into_iter().flat_map(|name| list(&message[name])))
}

/// The id and the name of a call, in each protocol's words.
fn call(part: &Value) -> Option<(&str, &str)> {
    let (id, name) = match part["type"].as_str() {
        Some("function") => (&part["id"], &part["function"]["name"]),
        Some("function_call") => (&part["call_id"], &part["name"]),
        Some("tool_use") => (&part["id"], &part["name"]),
        _ => (&part["functionCall"]["id"], &part["functionCall"]["name"]),
    };
    Some((id.as_str()?, name.as_str()?))
}

/// The id and the text of a result, in each protocol's words.
fn answer(part: &Value) -> Option<(&str, String)> {
    let response = &part["functionResponse"];
    let (id, text) = match part["type"].as_str() {
        Some("function_call_output") => (&part["call_id"], &part["output"]),
        Some("tool_result") => (&part["tool_use_id"], &part["content"][0]["text"]),
        _ if part["role"] == "tool" => (&part["tool_call_id"], &part["content"]),
        _ => return Some((response["id"].as_str()?, response["response"].as_object().map(|_| response["response"].to_string())?)),
    };
    Some((id.as_str()?, text.as_str()?.to_owned()))
}
