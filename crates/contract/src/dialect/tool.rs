//! A tool as a model of some dialect is shown it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Dialect, Form, FormParameter, Unit};
use crate::{Meta, ParameterHints, ToolDefinition};

/// What a model is shown of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DialectTool<'a> {
    /// The name it calls it by.
    pub name: &'a str,
    /// What it reads.
    pub description: &'a str,
    /// The parameters: a flat JSON Schema object.
    pub parameters: Cow<'a, Value>,
}

impl ToolDefinition {
    /// The form of a dialect, if the dialect has another name or other parameters for this tool.
    pub fn form(&self, dialect: Dialect) -> Option<&Form> {
        self.forms.iter().find(|form| form.dialect == dialect && dialect != Dialect::Haft)
    }

    /// What a dialect calls it.
    pub fn name_in(&self, dialect: Dialect) -> &str {
        self.form(dialect).map_or(&self.name, |form| form.name)
    }

    /// What a model of a dialect reads.
    pub fn description_in(&self, dialect: Dialect) -> &str {
        self.form(dialect).and_then(|form| form.description).unwrap_or(&self.description)
    }

    /// The tool as a model of this dialect is shown it.
    pub fn in_dialect(&self, dialect: Dialect) -> DialectTool<'_> {
        match self.form(dialect) {
            Some(form) => self.in_form(form),
            None => DialectTool { name: &self.name, description: &self.description, parameters: self.shown_parameters(None) },
        }
    }

    /// The tool as every request offers it to a model of this dialect: [`Self::in_dialect`] without what costs tokens and is seldom
    /// used. A call may use all of it, and `tool_search` describes all of it.
    pub fn offered_in(&self, dialect: Dialect) -> DialectTool<'_> {
        let parameters = Cow::Owned(Value::clone(&self.offered_parameters(dialect)));
        DialectTool { parameters, name: self.name_in(dialect), description: self.description_in(dialect) }
    }

    /// The parameters of [`Self::offered_in`]. All sessions of a process share those of a typed tool.
    pub fn offered_parameters(&self, dialect: Dialect) -> Arc<Value> {
        let form = self.form(dialect);
        self.parameters.offer(form, || {
            let is_named = |name: &str| form.is_some_and(|form| form.shown.is_some() || form.find_canonical(name).is_some());
            let mut parameters = self.shown_parameters(form).into_owned();
            leave_out_rare(&mut parameters, self.parameters.hints(), &is_named);
            shorten(&mut parameters);
            parameters
        })
    }

    /// The tool in one of its forms.
    pub fn in_form(&self, form: &Form) -> DialectTool<'_> {
        DialectTool {
            name: form.name,
            description: form.description.unwrap_or(&self.description),
            parameters: self.shown_parameters(Some(form)),
        }
    }

    /// Every parameter that a call in this form may use, also those that models are not shown.
    pub fn accepted_in(&self, form: &Form) -> Value {
        translated(&self.parameters, form)
    }

    /// The parameters that models are shown: those of the dialect, with its required ones required.
    fn shown_parameters(&self, form: Option<&Form>) -> Cow<'_, Value> {
        let hints = self.parameters.hints();
        let is_translated = form.is_some_and(|form| !form.parameters.is_empty() || form.shown.is_some() || !form.required.is_empty());
        if !is_translated && hints.foreign.is_empty() && hints.shown_required.is_empty() {
            return Cow::Borrowed(&self.parameters);
        }
        let is_shown = |name: &str| match form.and_then(|form| form.shown) {
            Some(shown) => shown.contains(&name),
            None => !hints.foreign.iter().any(|foreign| foreign == name),
        };
        let is_required = |name: &str| {
            hints.shown_required.iter().any(|required| required == name) || form.is_some_and(|form| form.required.contains(&name))
        };
        let mut schema = Value::clone(&self.parameters);
        let always: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
        let mut required = Vec::new();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| is_shown(name));
            required.extend(properties.keys().filter(|name| always.contains(&Value::from(name.as_str())) || is_required(name)).cloned());
        }
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        Cow::Owned(form.map_or_else(|| schema.clone(), |form| translated(&schema, form)))
    }

    /// Every name it answers to, the canonical one first, each once.
    pub fn names(&self) -> Vec<&str> {
        distinct(&self.name, self.aliases.iter().map(|alias| &**alias), &self.forms)
    }
}

impl Meta {
    /// Every name that the tool answers to, the canonical one first, each once.
    pub fn names(&self) -> Vec<&'static str> {
        distinct(self.name, self.aliases.iter().copied(), self.forms)
    }
}

fn distinct<'a>(name: &'a str, aliases: impl Iterator<Item = &'a str>, forms: &'a [Form]) -> Vec<&'a str> {
    let mut names = vec![name];
    for name in aliases.chain(forms.iter().map(|form| form.name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Leaves out the parameters that calls seldom have, but for those that a dialect names.
fn leave_out_rare(schema: &mut Value, hints: &ParameterHints, is_named: &dyn Fn(&str) -> bool) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    properties.retain(|name, _| is_named(name) || !hints.rare.contains(name));
    for (name, of_items) in &hints.items {
        if let Some(items) = properties.get_mut(name).and_then(|property| property.get_mut("items")) {
            leave_out_rare(items, of_items, &|_| false);
        }
    }
}

/// Leaves out what goes without saying: that nothing is the default, or what the description says, and that a count is not negative.
fn shorten(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    let says_default = map.get("description").and_then(Value::as_str).is_some_and(|text| text.contains("Defaults to"));
    let is_nothing = |value: &Value| *value == false || *value == "" || value.as_array().is_some_and(Vec::is_empty);
    map.retain(|key, value| match key.as_str() {
        "default" => !says_default && !is_nothing(value),
        "minimum" => *value != 0,
        _ => true,
    });
    for (key, child) in map.iter_mut() {
        match (key.as_str(), child) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(shorten),
            ("items", child) => shorten(child),
            _ => {}
        }
    }
}

/// A schema with the names and units of a form.
fn translated(schema: &Value, form: &Form) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        *properties = std::mem::take(properties).into_iter().map(|(name, property)| renamed(form, name, property)).collect();
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for name in required.iter_mut() {
            if let Some(parameter) = name.as_str().and_then(|name| form.find_canonical(name)) {
                *name = parameter.name.into();
            }
        }
    }
    schema
}

fn renamed(form: &Form, name: String, mut property: Value) -> (String, Value) {
    let Some(parameter) = form.find_canonical(&name) else { return (name, property) };
    if let Value::Object(property) = &mut property {
        recounted(property, parameter.unit);
        describe(property, parameter);
    }
    (parameter.name.to_owned(), property)
}

/// Bounds and default in the unit of the dialect.
fn recounted(property: &mut Map<String, Value>, unit: Unit) {
    if unit == Unit::Same {
        return;
    }
    let whole = property.get("type").is_some_and(|kind| kind == "integer");
    for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        if let Some(limit) = property.get_mut(keyword)
            && let Some(number) = limit.as_number()
        {
            *limit = unit.bound(keyword, number, whole).into();
        }
    }
    if let Some(default) = property.get_mut("default") {
        *default = unit.shown_value(default);
    }
    // What is a multiple of something in one unit is rarely one in another; the canonical schema still checks it.
    property.shift_remove("multipleOf");
}

fn describe(property: &mut Map<String, Value>, parameter: &FormParameter) {
    let text = match (parameter.description, parameter.unit.note()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(note)) => {
            let lead = property.get("description").and_then(Value::as_str).map(|text| format!("{text} ")).unwrap_or_default();
            format!("{lead}{note}")
        }
        (None, None) => return,
    };
    property.insert("description".into(), text.into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FORMS: &[Form] = &[
        Form::new(Dialect::Claw, "bash").description("Execute a shell command.").parameters(&[
            FormParameter::new("timeout", "timeout").unit(Unit::Milliseconds).description("Timeout in milliseconds."),
            FormParameter::new("filePath", "path"),
            FormParameter::new("skip", "line").unit(Unit::FromZero),
        ]),
        Form::new(Dialect::OpenClaw, "exec"),
    ];

    fn definition() -> ToolDefinition {
        let mut definition = ToolDefinition::new(
            "exec",
            "Run a command.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where."},
                    "timeout": {"type": "integer", "minimum": 1, "maximum": 600, "default": 120, "description": "Timeout in seconds."},
                    "line": {"type": "integer", "minimum": 1, "multipleOf": 1, "description": "Which line."},
                    "host": {"type": "string"}
                },
                "required": ["path", "host"]
            }),
        );
        definition.aliases = vec!["sh".into(), "bash".into()];
        definition.forms = Cow::Borrowed(FORMS);
        definition
    }

    #[test]
    fn a_dialect_has_its_own_names_units_and_words() {
        let definition = definition();
        assert_eq!(
            definition.in_dialect(Dialect::Claw),
            DialectTool {
                name: "bash",
                description: "Execute a shell command.",
                parameters: Cow::Owned(json!({
                    "type": "object",
                    "properties": {
                        "filePath": {"type": "string", "description": "Where."},
                        "timeout": {
                            "type": "integer", "minimum": 1, "maximum": 600_000, "default": 120_000,
                            "description": "Timeout in milliseconds."
                        },
                        "skip": {"type": "integer", "minimum": 0, "description": "Which line. Counted from 0."},
                        "host": {"type": "string"}
                    },
                    "required": ["filePath", "host"]
                })),
            }
        );
    }

    #[test]
    fn what_a_dialect_does_not_change_is_borrowed() {
        let definition = definition();
        for dialect in [Dialect::Haft, Dialect::OpenClaw] {
            let shown = definition.in_dialect(dialect);
            assert_eq!((shown.name, shown.description), ("exec", "Run a command."));
            assert!(matches!(shown.parameters, Cow::Borrowed(parameters) if std::ptr::eq(parameters, &raw const *definition.parameters)));
        }
    }

    #[test]
    fn dialect_is_shown_its_own_parameters_and_calls_may_use_all() {
        const OWN: &[Form] = &[Form::new(Dialect::Claw, "bash")
            .show_only(&["path", "timeout"])
            .required(&["timeout"])
            .parameters(&[FormParameter::new("timeout_ms", "timeout").unit(Unit::Milliseconds)])];
        let mut definition = definition();
        definition.forms = Cow::Borrowed(OWN);
        definition.parameters.hints_mut().foreign = vec!["line".into()];
        definition.parameters.hints_mut().shown_required = vec!["timeout".into()];
        let names = |schema: &Value| {
            let properties: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            (properties.join(" "), schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        };
        let shown = |dialect| names(&definition.in_dialect(dialect).parameters);
        assert_eq!(shown(Dialect::Haft), ("path timeout host".into(), "path timeout host".into()));
        assert_eq!(shown(Dialect::OpenClaw), shown(Dialect::Haft), "without a form of its own");
        assert_eq!(shown(Dialect::Claw), ("path timeout_ms".into(), "path timeout_ms".into()));
        assert_eq!(names(&definition.accepted_in(&OWN[0])), ("path timeout_ms line host".into(), "path host".into()));
        let faulty = Form::new(Dialect::Claw, "bash").show_only(&["colour"]).required(&["path"]).faults(&definition.parameters);
        assert_eq!(faulty.iter().map(ToString::to_string).collect::<Vec<_>>(), ["forms.bash: the tool has no parameter 'colour'"]);
    }

    #[test]
    fn requests_leave_out_what_is_rare_and_what_goes_without_saying() {
        const RENAMED: &[Form] = &[Form::new(Dialect::Claw, "bash").parameters(&[FormParameter::new("limit_ms", "limit")])];
        let flag = |value| json!({"type": "boolean", "default": value});
        let step = |minimum| json!({"type": "integer", "minimum": minimum});
        let properties = json!({
            "on": flag(true), "off": flag(false), "from": step(1), "count": step(0), "limit": step(0), "other": step(0),
            "steps": {"type": "array", "default": [], "items": {"type": "object", "properties": {"done": flag(false), "id": flag(false)}}},
            "word": {"type": "string", "default": ""}, "mode": {"type": "string", "default": "a", "description": "Defaults to 'a'."}
        });
        let mut definition = ToolDefinition::new("exec", "Run.", json!({"type": "object", "properties": properties}));
        definition.forms = Cow::Borrowed(RENAMED);
        definition.parameters.hints_mut().rare = vec!["limit".into(), "other".into()];
        definition.parameters.hints_mut().items =
            vec![("steps".into(), ParameterHints { rare: vec!["id".into()], ..ParameterHints::default() })];
        let mut expected = json!({
            "on": flag(true), "off": {"type": "boolean"}, "from": step(1), "count": {"type": "integer"},
            "steps": {"type": "array", "items": {"type": "object", "properties": {"done": {"type": "boolean"}}}},
            "word": {"type": "string"}, "mode": {"type": "string", "description": "Defaults to 'a'."}
        });
        assert_eq!(definition.offered_in(Dialect::Haft).parameters["properties"], expected);
        assert_eq!(definition.in_dialect(Dialect::Haft).parameters["properties"], properties, "all of it is described elsewhere");
        expected["limit_ms"] = json!({"type": "integer"});
        assert_eq!(definition.offered_in(Dialect::Claw).parameters["properties"], expected, "what a dialect names it shows");
    }

    #[test]
    fn every_name_is_listed_once() {
        assert_eq!(definition().names(), ["exec", "sh", "bash"]);
    }
}
