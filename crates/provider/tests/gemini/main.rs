//! The generateContent protocol: golden requests, recorded streams, and what holds for all of them.

#[path = "../conversations/mod.rs"]
mod conversations;
mod errors;
mod properties;
mod requests;
mod streams;

use conversations::opaque;
use conversations::random::HERE;
use haft_provider::{Model, Protocol};
use haft_testkit::request_faults;
use serde_json::{Value, json};

pub(crate) fn model() -> Model {
    Model::new(HERE, Protocol::Gemini, "gemini-3-pro-preview")
}

pub(crate) fn older() -> Model {
    Model::new(HERE, Protocol::Gemini, "gemini-2.5-flash")
}

pub(crate) fn legacy() -> Model {
    let mut model = Model::new(HERE, Protocol::Gemini, "models/house-model");
    model.legacy_schema = true;
    model
}

pub(crate) fn own(value: Value) -> haft_provider::Opaque {
    opaque(Protocol::Gemini, HERE, value)
}

pub(crate) fn faults(model: &Model, body: &Value) -> Vec<String> {
    request_faults("gemini", &model.name, body)
}

pub(crate) fn chunk(parts: &Value) -> (String, String) {
    (String::new(), json!({"candidates": [{"content": {"role": "model", "parts": parts}}]}).to_string())
}

pub(crate) fn stop(reason: &str) -> (String, String) {
    (String::new(), json!({"candidates": [{"finishReason": reason, "finishMessage": "said why"}]}).to_string())
}
