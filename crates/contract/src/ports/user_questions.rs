//! Port for questions of a tool to the user of a conversation.

use serde_json::{Map, Value};

use crate::{BoxFuture, CallInfo, ToolError};

/// A question of a tool to the user: a form with flat fields.
#[derive(Debug, Clone, PartialEq)]
pub struct UserQuestion {
    /// What the answer is called, unique in the call.
    pub name: String,
    /// What the user is asked.
    pub message: String,
    /// The form: an object schema whose properties are texts, numbers, switches or choices.
    pub schema: Value,
}

/// What the user did with a question.
#[derive(Debug, Clone, PartialEq)]
pub enum UserReply {
    /// They filled in the form.
    Answer(Map<String, Value>),
    /// They do not want to answer.
    Declined,
    /// They closed it without a decision.
    Cancelled,
}

/// Asks the user of a conversation.
pub trait UserQuestions: Send + Sync {
    /// Asks a question of a running call, and waits for the reply. The error says why the user cannot be asked.
    fn ask<'a>(&'a self, call: &'a CallInfo, question: &'a UserQuestion) -> BoxFuture<'a, Result<UserReply, ToolError>>;
}

impl UserQuestion {
    /// The answer with the fields of the form alone; the fault, if it does not fit.
    pub fn check(&self, answer: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let fields = self.schema["properties"].as_object().into_iter().flatten();
        let mut checked = Map::new();
        for (name, field) in fields {
            match answer.get(name).filter(|value| !value.is_null()) {
                Some(value) if fits(field, value) => drop(checked.insert(name.clone(), value.clone())),
                Some(_) => return Err(format!("the value of '{name}' does not fit")),
                None => {}
            }
        }
        let mut required = self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        match required.find(|name| !checked.contains_key(*name)) {
            Some(missing) => Err(format!("'{missing}' is missing")),
            None => Ok(checked),
        }
    }
}

/// Whether a value is one of a field.
fn fits(field: &Value, value: &Value) -> bool {
    let allowed = choices(field);
    let is_chosen = |value: &Value| allowed.as_ref().is_none_or(|allowed| allowed.contains(&value));
    let is_within = |number: f64, least: &str, most: &str| {
        field[least].as_f64().is_none_or(|least| number >= least) && field[most].as_f64().is_none_or(|most| number <= most)
    };
    match (field["type"].as_str(), value) {
        (Some("string") | None, Value::String(text)) => {
            // Exact for every length that a form has.
            #[allow(clippy::cast_precision_loss, reason = "a text is shorter than 2^52")]
            let length = text.chars().count() as f64;
            is_chosen(value) && is_within(length, "minLength", "maxLength")
        }
        (Some("boolean"), Value::Bool(_)) => true,
        (Some("integer"), Value::Number(number)) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            whole.is_some_and(|number| is_within(number, "minimum", "maximum"))
        }
        (Some("number"), Value::Number(number)) => number.as_f64().is_some_and(|number| is_within(number, "minimum", "maximum")),
        (Some("array"), Value::Array(values)) => values.iter().all(|value| fits(&field["items"], value)),
        _ => false,
    }
}

/// The values that a field allows; `None` if it is no choice.
fn choices(field: &Value) -> Option<Vec<&Value>> {
    if let Some(values) = field["enum"].as_array() {
        return Some(values.iter().collect());
    }
    let titled = field["oneOf"].as_array().or_else(|| field["anyOf"].as_array())?;
    Some(titled.iter().filter_map(|choice| choice.get("const")).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_fit_the_form_or_are_refused() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "maxLength": 5},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "score": {"type": "number"},
            "sure": {"type": "boolean"},
            "size": {"type": "string", "enum": ["s", "m"]},
            "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
            "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "titled": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}},
        }});
        let question = UserQuestion { name: "q".into(), message: "?".into(), schema };
        let check = |answer: Value| question.check(answer.as_object().unwrap());
        let whole =
            json!({"name": "Ann", "age": 3, "score": 1.5, "sure": true, "size": "m", "color": "r", "many": ["a", "b"], "titled": ["x"]});
        assert_eq!(check(whole.clone()).map(Value::Object), Ok(whole));
        assert_eq!(check(json!({"name": "Ann", "extra": 1, "age": null})).map(Value::Object), Ok(json!({"name": "Ann"})));
        for answer in [
            json!({}),
            json!({"name": null}),
            json!({"name": 1}),
            json!({"name": "longer"}),
            json!({"name": "Ann", "age": 1.5}),
            json!({"name": "Ann", "age": -1}),
            json!({"name": "Ann", "age": "3"}),
            json!({"name": "Ann", "sure": "yes"}),
            json!({"name": "Ann", "size": "xl"}),
            json!({"name": "Ann", "color": "Red"}),
            json!({"name": "Ann", "many": ["c"]}),
            json!({"name": "Ann", "many": "a"}),
            json!({"name": "Ann", "titled": ["X"]}),
        ] {
            assert!(check(answer.clone()).is_err(), "{answer}");
        }
    }
}
