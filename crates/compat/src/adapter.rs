//! Parts that both adapters share: the definition of an adapted tool, its plan, and its errors.

use std::time::Duration;

use haft_contract::schema::RESERVED_NAME;
use haft_contract::{Access, Effect, Hints, Plan, ToolDefinition, ToolError};
use haft_text::case::snake_case;
use serde_json::{Value, json};

/// Names that are one word, although their capitals say two.
const ONE_WORD: &[(&str, &str)] = &[("PowerShell", "powershell")];

/// The traits have no timeout, and some of their tools run commands.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Keywords that not every provider takes. Without them a schema accepts more, and the tool itself refuses the rest.
const NOT_FLAT: &[&str] = &["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "$defs", "definitions"];

/// Effects of the calls of an adapted tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdaptedEffects {
    /// Not known before the call.
    Unknown,
    /// None: the embedding program vouches for it.
    None,
}

impl AdaptedEffects {
    /// The plan of a call. `adapter` and `original` tell the user who approves it where the tool comes from.
    pub(crate) fn plan(self, adapter: &str, original: &str) -> Plan {
        match self {
            Self::None => Plan::nothing(),
            Self::Unknown => {
                let why = format!("'{original}' was adapted from the {adapter} trait, which cannot say beforehand what a call will do");
                Plan::nothing().with(Effect::Unknown { why })
            }
        }
    }

    /// The access and the hints of the definition: a tool is offered only where a call of it can be allowed.
    fn access_and_hints(self) -> (Access, Hints) {
        match self {
            Self::None => (Access::ReadOnly, Hints { read_only: true, ..Hints::default() }),
            Self::Unknown => (Access::FullAccess, Hints { destructive: true, open_world: true, ..Hints::default() }),
        }
    }
}

/// The error of a tool that failed, with its own message if it has one.
pub(crate) fn failed(original: &str, message: &str) -> ToolError {
    if message.trim().is_empty() {
        return ToolError::execution(format!("The tool '{original}' failed and gave no reason."));
    }
    ToolError::execution(message)
}

/// The canonical form of a name: `WebFetch` → `web_fetch`, `REPL` → `repl`, `my-tool` → `my_tool`.
fn canonical(name: &str) -> String {
    let one_word = ONE_WORD.iter().find(|(original, _)| *original == name).map(|(_, word)| (*word).to_owned());
    one_word.unwrap_or_else(|| snake_case(&name.replace(|ch: char| !ch.is_ascii_alphanumeric(), "_")))
}

/// The definition of a tool by its original name, which becomes an alias of the canonical one.
pub(crate) fn define(original: &str, description: &str, schema: Value, effects: AdaptedEffects) -> ToolDefinition {
    let name = canonical(original);
    let mut definition = ToolDefinition::new(name.clone(), description.to_owned(), schema);
    definition.label = original.to_owned().into();
    // A name that no model could write is left out.
    let can_be_alias = original.starts_with(|ch: char| ch.is_ascii_alphabetic()) && original.len() <= 64;
    let can_be_alias = can_be_alias && original.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if name != original && can_be_alias {
        definition.aliases.push(original.to_owned().into());
    }
    definition.timeout = TIMEOUT;
    (definition.access, definition.hints) = effects.access_and_hints();
    flatten(&mut definition.parameters);
    if let Value::Object(root) = &mut *definition.parameters {
        // Unknown parameters are ignored here, never refused.
        if root.get("additionalProperties") == Some(&Value::Bool(false)) {
            root.shift_remove("additionalProperties");
        }
    }
    definition.parameters.hints_mut().verbatim = parameter_names(&definition.parameters);
    definition
}

/// All parameters: the other systems do not trim text.
fn parameter_names(schema: &Value) -> Vec<String> {
    schema.get("properties").and_then(Value::as_object).map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
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
        let mut definition = define("Odd", "Odd.", schema, AdaptedEffects::Unknown);
        assert_eq!(definition.parameters.hints().verbatim, ["value", "choice", "list", "map", "format"]);
        assert_eq!(definition.parameters.lint(), Ok(()));
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

    #[test]
    fn every_name_of_the_claw_table_has_its_canonical_form() {
        for (original, name) in [
            ("bash", "bash"),
            ("read_file", "read_file"),
            ("write_file", "write_file"),
            ("edit_file", "edit_file"),
            ("glob_search", "glob_search"),
            ("grep_search", "grep_search"),
            ("WebFetch", "web_fetch"),
            ("WebSearch", "web_search"),
            ("TodoWrite", "todo_write"),
            ("Skill", "skill"),
            ("Agent", "agent"),
            ("ToolSearch", "tool_search"),
            ("NotebookEdit", "notebook_edit"),
            ("Sleep", "sleep"),
            ("SendUserMessage", "send_user_message"),
            ("Config", "config"),
            ("StructuredOutput", "structured_output"),
            ("REPL", "repl"),
            ("PowerShell", "powershell"),
        ] {
            assert_eq!(canonical(original), name);
        }
    }

    #[test]
    fn other_spellings_are_understood() {
        for (original, name) in
            [("my-tool", "my_tool"), ("my.tool", "my_tool"), ("HTTPGet", "http_get"), ("ReadMcp2Resource", "read_mcp2_resource")]
        {
            assert_eq!(canonical(original), name);
        }
    }
}
