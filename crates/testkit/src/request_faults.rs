//! Faults that providers report for a request body: pairing, order, names, ids. Independent of the adapters, so that a test compares
//! two implementations of each protocol.

mod anthropic;
mod chat;
mod gemini;
mod openai;
mod responses;

use serde_json::Value;

/// The faults that a provider would report for a request body to `model`; `protocol` is its name in the configuration.
///
/// # Panics
///
/// If there is no such protocol.
pub fn request_faults(protocol: &str, model: &str, body: &Value) -> Vec<String> {
    match protocol {
        "openai" => chat::faults(body),
        "openai-responses" => responses::faults(body),
        "anthropic" => anthropic::faults(body),
        "gemini" => gemini::faults(model, body),
        other => panic!("no protocol is called '{other}'"),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `^[a-zA-Z0-9_-]{1,64}$`
fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-'))
}
