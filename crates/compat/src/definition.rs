//! Our definition of a tool that was written elsewhere.

use std::time::Duration;

use haft_contract::ToolDefinition;
use haft_contract::schema::RESERVED_NAME;
use serde_json::{Map, Value, json};

use crate::names;
use crate::trust::Trust;

/// None of the traits says how long a call may take, and tools that run commands are among theirs.
const TIMEOUT: Duration = Duration::from_mins(2);

/// What not every provider takes. Without it a schema accepts more, and the tool itself refuses the rest, as it always did.
const NOT_FLAT: &[&str] = &["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "$defs", "definitions"];

/// The definition of a tool by its original name; the canonical name is made from that, and it stays as an alias.
pub(crate) fn of(original: &str, description: &str, schema: Value, trust: Trust) -> ToolDefinition {
    let name = names::canonical(original);
    let mut definition = ToolDefinition::new(name.clone(), description.to_owned(), schema);
    definition.label = original.to_owned().into();
    if name != original {
        definition.aliases.push(original.to_owned().into());
    }
    definition.timeout = TIMEOUT;
    trust.declare(&mut definition);
    flatten(&mut definition.parameters);
    if let Value::Object(root) = &mut definition.parameters {
        // Unknown parameters are ignored here, never refused.
        if root.get("additionalProperties") == Some(&Value::Bool(false)) {
            root.shift_remove("additionalProperties");
        }
        definition.parameter_hints.verbatim = parameter_names(root);
    }
    definition
}

/// Every parameter: the other systems hand text on as it came, so no tool of theirs expects it trimmed.
fn parameter_names(root: &Map<String, Value>) -> Vec<String> {
    root.get("properties").and_then(Value::as_object).map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

fn flatten(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for key in NOT_FLAT {
        map.shift_remove(*key);
    }
    if map.get("type").is_some_and(Value::is_array) {
        map.shift_remove("type");
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            flatten(property);
            if let (Value::Object(property), "format") = (property, name.as_str()) {
                property.insert(RESERVED_NAME.to_owned(), json!(true));
            }
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = map.get_mut(key) {
            flatten(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::schema::lint;

    use super::*;

    #[test]
    fn a_schema_that_providers_refuse_is_widened_until_they_take_it() {
        let schema = json!({
            "$defs": {"x": {"type": "string"}},
            "type": "object",
            "properties": {
                "value": {"type": ["string", "boolean", "number"]},
                "choice": {"description": "One of two.", "oneOf": [{"type": "string"}, {"type": "integer"}]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/x"}},
                "map": {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                "format": {"type": "string"}
            },
            "required": ["value"],
            "additionalProperties": false
        });
        let mut definition = of("Odd", "Odd.", schema, Trust::Unknown);
        assert_eq!(definition.parameter_hints.verbatim, ["value", "choice", "list", "map", "format"]);
        assert_eq!(lint(&mut definition.parameters), Ok(()));
        assert_eq!(
            definition.parameters,
            json!({
                "type": "object",
                "properties": {
                    "value": {},
                    "choice": {"description": "One of two."},
                    "list": {"type": "array", "items": {}},
                    "map": {"type": "object", "additionalProperties": {}},
                    "format": {"type": "string"}
                },
                "required": ["value"]
            })
        );
    }
}
