//! Which models there are, as each provider lists them.

use serde_json::{Value, json};

use super::request::Asked;

/// The list in the form of the provider whose headers were sent.
pub(super) fn list(asked: &Asked, models: &[String]) -> Value {
    let each = |entry: fn(&String) -> Value| models.iter().map(entry).collect::<Vec<Value>>();
    if asked.header("anthropic-version").is_some() || asked.header("x-api-key").is_some() {
        json!({"data": each(|name| json!({"type": "model", "id": name, "display_name": name})), "has_more": false})
    } else if asked.header("x-goog-api-key").is_some() {
        json!({"models": each(|name| json!({"name": format!("models/{name}"), "displayName": name}))})
    } else {
        json!({"object": "list", "data": each(|name| json!({"object": "model", "id": name}))})
    }
}
