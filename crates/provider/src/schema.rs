//! Schemas as one protocol takes them.
//!
//! Every protocol has a list of keywords that it is sent; all others are left out. Leaving a keyword out, or saying less with
//! it, may only ever widen a schema: what the original accepts, the projection accepts. Where that is looked at with care:
//! - a property that a schema does not declare does not count: strict schemas forbid it, and the variants of a root union become
//!   one object;
//! - `oneOf` is written as `anyOf`, because variants that were widened may overlap;
//! - `not`, `if`, `contains` and the like are left out everywhere: their parts cannot be widened without narrowing the whole.
//!
//! What is left out here is still checked when the call comes: tools validate their arguments with the original.

mod legacy;
mod merge;
mod plain;
mod resolve;
mod root;
mod strict;
#[cfg(test)]
mod tests;
mod widen;

use serde_json::{Map, Value};

use crate::{Model, Protocol};
use plain::Keywords;

/// A schema as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Projected {
    /// The schema in the protocol's words.
    pub value: Value,
    /// OpenAI: whether the provider may be asked to hold the model to it.
    pub strict: bool,
}

/// The parameters of a tool as the model's protocol takes them. The error says why the tool cannot be shown to it.
pub fn project(model: &Model, parameters: &Value) -> Result<Projected, String> {
    let root = root::object(resolve::flatten(parameters)?)?;
    check_names(model, &root)?;
    if model.protocol == Protocol::Gemini && model.legacy_schema {
        return Ok(Projected { value: legacy::project(&root, &model.dropped_keywords)?, strict: false });
    }
    let keywords = Keywords::of(model);
    let plain = plain::project(&root, keywords)?;
    // A strict schema says of every object that it is closed.
    let may_be_strict = is_openai(model.protocol) && keywords.has("additionalProperties");
    let strict = if may_be_strict { strict::tighten(&plain) } else { None };
    let is_strict = strict.is_some();
    Ok(Projected { value: Value::Object(strict.unwrap_or(plain)), strict: is_strict })
}

fn is_openai(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::OpenAi | Protocol::OpenAiResponses)
}

/// A parameter's name that a provider refuses would cost the whole request, not only this tool. Providers look at the first
/// level alone.
fn check_names(model: &Model, root: &Map<String, Value>) -> Result<(), String> {
    let (fits, rule): (fn(&str) -> bool, _) = match (model.protocol, model.legacy_schema) {
        (Protocol::Anthropic, _) => (is_anthropic_name, "letters, digits, '_', '.' and '-', at most 64 of them"),
        (Protocol::Gemini, true) => (is_legacy_gemini_name, "letters, digits and '_', at most 64 of them, no digit first"),
        _ => return Ok(()),
    };
    let bad = root.get("properties").and_then(Value::as_object).and_then(|properties| properties.keys().find(|name| !fits(name)));
    bad.map_or(Ok(()), |name| Err(format!("its parameter '{name}' has a name that {} refuses; it takes {rule}", model.protocol)))
}

fn is_anthropic_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

fn is_legacy_gemini_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
