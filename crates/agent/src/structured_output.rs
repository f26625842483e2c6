//! The structured output of a turn: the caller gives a schema, the model calls `structured_output`, and the turn ends with the value.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::ToolError;
use haft_contract::ports::OutputSink;
use haft_engine::SchemaCheck;
use haft_provider::{Model, OfferedTool, schema};
use serde_json::{Map, Value, json};

/// The canonical name of the tool.
pub(crate) const NAME: &str = "structured_output";
/// Calls that do not fit the schema before the turn ends.
pub(crate) const MAX_INVALID: u32 = 5;
/// Answers without a call before the turn ends.
pub(crate) const MAX_REMINDERS: u32 = 2;
/// What a model is told that answers in text.
pub(crate) const REMINDER: &str = "[The program that asked reads no text. Give it the result by calling structured_output now.]";
const DESCRIPTION: &str = "Give the result of the whole task to the program that asked for it, in the form of this tool's parameters. Call \
    it once, when you have the result: it ends the turn, and text of yours reaches nobody.";
/// The parameter of a value that is no object.
const WRAPPER: &str = "output";
/// Keywords beside which a schema is not just an object with properties.
const COMPOSED: &[&str] = &["$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if", "enum", "const"];

/// The schema of a caller, and the value that was given for it.
pub struct OutputSchema {
    check: SchemaCheck,
    /// What the model is shown.
    parameters: Arc<Value>,
    /// Whether the value is one parameter, because the schema is not one of an object.
    is_wrapped: bool,
    state: Mutex<OutputState>,
    invalid: AtomicU32,
}

#[derive(Default)]
struct OutputState {
    accepted: Option<Value>,
    /// Why the last value did not fit.
    fault: Option<String>,
}

haft_contract::opaque_debug!(OutputSchema: parameters = parameters);

impl OutputSchema {
    /// Compiles a schema. The error says what is wrong with it.
    pub fn new(schema: Value) -> Result<Self, String> {
        if schema == Value::Bool(false) {
            return Err("nothing satisfies the schema 'false'".into());
        }
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            return Err("a schema is an object, or true".into());
        }
        let check = SchemaCheck::compile(&schema)?;
        let is_wrapped = !is_plain_object(&schema);
        let parameters = Arc::new(if is_wrapped { wrap(schema) } else { schema });
        Ok(Self { check, parameters, is_wrapped, state: Mutex::default(), invalid: AtomicU32::new(0) })
    }

    /// Whether a model can be offered the schema; the error says why not.
    pub fn check_for(&self, model: &Model) -> Result<(), String> {
        schema::project(model, &self.parameters).map(drop)
    }

    /// The value that was given, if one was.
    pub fn accepted(&self) -> Option<Value> {
        self.state().accepted.clone()
    }

    pub(crate) fn is_accepted(&self) -> bool {
        self.state().accepted.is_some()
    }

    /// How many calls did not fit, and why the last one did not.
    pub(crate) fn faults(&self) -> (u32, Option<String>) {
        (self.invalid.load(Ordering::Relaxed), self.state().fault.clone())
    }

    /// The tool, as the model is shown it.
    pub(crate) fn offer(&self, name: &str) -> OfferedTool {
        OfferedTool { name: name.to_owned(), description: DESCRIPTION.to_owned(), parameters: Arc::clone(&self.parameters) }
    }

    /// The value in the arguments of a call.
    fn unwrap(&self, arguments: &Value) -> Option<Value> {
        if self.is_wrapped { arguments.get(WRAPPER).cloned() } else { Some(arguments.clone()) }
    }

    // Changed in one step: after a panic elsewhere it is still consistent.
    fn state(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputSink for OutputSchema {
    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let checked = match self.unwrap(arguments) {
            Some(value) => self.check.check(&value),
            None => Err(format!("Missing required parameter: '{WRAPPER}'.")),
        };
        checked.map_err(|fault| {
            self.invalid.fetch_add(1, Ordering::Relaxed);
            self.state().fault = Some(fault.clone());
            ToolError::validation(format!("The output does not fit the schema. {fault} Correct it, and call the tool again."))
        })
    }

    fn accept(&self, arguments: Value) {
        let value = self.unwrap(&arguments);
        // Of several in one answer the first counts: what was accepted stays.
        let mut state = self.state();
        state.accepted = state.accepted.take().or(value);
    }
}

/// Whether the values of a schema are objects that a call can have as its arguments.
fn is_plain_object(schema: &Value) -> bool {
    schema["type"] == json!("object") && COMPOSED.iter().all(|keyword| schema.get(keyword).is_none())
}

/// The schema of an object with a value of this schema in it.
fn wrap(mut schema: Value) -> Value {
    let draft = schema.as_object_mut().and_then(|map| map.shift_remove("$schema"));
    move_references(&mut schema);
    let mut object = Map::new();
    object.extend(draft.map(|draft| ("$schema".to_owned(), draft)));
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), json!({WRAPPER: schema}));
    object.insert("required".into(), json!([WRAPPER]));
    Value::Object(object)
}

/// References into the schema itself get its new place.
fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                match value {
                    Value::String(target) if keyword == "$ref" && target.starts_with('#') => {
                        target.insert_str(1, &format!("/properties/{WRAPPER}"));
                    }
                    other => move_references(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(move_references),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use haft_provider::Protocol;

    use super::*;

    const PROTOCOLS: [Protocol; 4] = [Protocol::OpenAi, Protocol::OpenAiResponses, Protocol::Anthropic, Protocol::Gemini];

    #[test]
    fn values_of_every_kind_of_schema_can_be_given() {
        let author = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
        let people = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array", "items": {"$ref": "#/$defs/p"},
            "$defs": {"p": author}});
        let either = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
        for (schema, arguments, value) in [
            (author, json!({"name": "Ada"}), json!({"name": "Ada"})),
            (people, json!({"output": [{"name": "Ada"}]}), json!([{"name": "Ada"}])),
            (either, json!({"output": null}), Value::Null),
            (json!(true), json!({"output": 3}), json!(3)),
            (json!({"enum": ["a"]}), json!({"output": "a"}), json!("a")),
        ] {
            let output = OutputSchema::new(schema.clone()).unwrap();
            for protocol in PROTOCOLS {
                assert_eq!(output.check_for(&Model::new("p", protocol, "m")), Ok(()), "{schema}");
            }
            assert!(output.check(&arguments).is_ok(), "{schema}");
            output.accept(arguments);
            output.accept(json!({"output": "second", "name": "second"}));
            assert_eq!(output.accepted(), Some(value), "{schema}: the first counts");
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused_with_its_path() {
        let schema =
            json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}, "required": ["list"]});
        let output = OutputSchema::new(schema).unwrap();
        let message = |value: Value| output.check(&value).unwrap_err().message().to_owned();
        assert_eq!(
            message(json!({"list": [1, "two"]})),
            "The output does not fit the schema. Parameter 'list.1' expected type 'integer' but got string: \"two\". Correct it, and call \
             the tool again."
        );
        assert!(message(json!({})).contains("Missing required parameter: 'list'."));
        let wrapped = OutputSchema::new(json!({"type": "string"})).unwrap();
        assert!(wrapped.check(&json!({"text": "x"})).unwrap_err().message().contains("Missing required parameter: 'output'."));
        assert_eq!((output.faults().0, output.accepted()), (2, None));
    }

    #[test]
    fn schemas_that_cannot_be_used_say_why() {
        for (schema, words) in [
            (json!(false), "nothing satisfies"),
            (json!(3), "a schema is an object"),
            (json!({"type": "strin"}), "strin"),
            (json!({"$ref": "#/$defs/gone"}), "gone"),
        ] {
            let error = OutputSchema::new(schema.clone()).unwrap_err();
            assert!(error.contains(words), "{schema}: {error}");
        }
        let recursive = OutputSchema::new(json!({"type": "object", "properties": {"next": {"$ref": "#"}}})).unwrap();
        assert!(recursive.check_for(&Model::new("p", Protocol::OpenAi, "m")).is_err());
    }
}
