//! Projects tool schemas to the keywords that a protocol accepts.
//!
//! Every protocol has an allow-list of keywords; all others are left out. Leaving a keyword out may only widen a schema: the
//! projection accepts everything that the original accepts. Exceptions and special cases:
//! - undeclared properties do not count: strict schemas forbid them, and the variants of a root union become one object;
//! - `oneOf` becomes `anyOf`, because widened variants may overlap;
//! - `not`, `if`, `contains` and the like are left out: widening their parts would narrow the whole.
//!
//! Calls are still validated against the original schema.

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

/// A schema for one protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedSchema {
    /// The schema to send.
    pub value: Value,
    /// OpenAI: whether the provider can enforce it.
    pub strict: bool,
}

/// Projects the parameters of a tool for a model. The error says why the tool cannot be offered.
pub fn project(model: &Model, parameters: &Value) -> Result<ProjectedSchema, String> {
    let root = root::object(resolve::flatten(parameters)?)?;
    check_names(model, &root)?;
    if model.protocol == Protocol::Gemini && model.legacy_schema {
        return Ok(ProjectedSchema { value: legacy::project(&root, &model.dropped_keywords)?, strict: false });
    }
    let keywords = Keywords::for_model(model);
    let plain = plain::project(&root, keywords)?;
    // A strict schema needs the keyword in every object.
    let may_be_strict = is_openai(model.protocol) && keywords.has("additionalProperties");
    let strict = if may_be_strict { strict::tighten(&plain) } else { None };
    let is_strict = strict.is_some();
    Ok(ProjectedSchema { value: Value::Object(strict.unwrap_or(plain)), strict: is_strict })
}

fn is_openai(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::OpenAi | Protocol::OpenAiResponses)
}

/// Checks the names of parameters: a refused name fails the whole request, not only this tool. Providers check the first level
/// only.
fn check_names(model: &Model, root: &Map<String, Value>) -> Result<(), String> {
    let (fits, rule): (fn(&str) -> bool, _) = match (model.protocol, model.legacy_schema) {
        (Protocol::Anthropic, _) => (is_anthropic_name, "at most 64 ASCII alphanumerics, '_', '.' and '-'"),
        (Protocol::Gemini, true) => (is_legacy_gemini_name, "at most 64 ASCII alphanumerics and '_', no digit first"),
        _ => return Ok(()),
    };
    let bad = root.get("properties").and_then(Value::as_object).and_then(|properties| properties.keys().find(|name| !fits(name)));
    bad.map_or(Ok(()), |name| Err(format!("its parameter '{name}' has a name that {} refuses; it accepts {rule}", model.protocol)))
}

fn is_anthropic_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

fn is_legacy_gemini_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
