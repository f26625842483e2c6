//! The schema of a parameter type, in the one form that every provider takes.
//!
//! Schema libraries emit `$schema`, titles, null unions and number formats that some providers refuse. This module
//! normalises once, for all of them; [`lint`] refuses what cannot be normalised, naming the path.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::ParameterHints;

/// Marks a property's other spellings, an array of names: `#[schemars(extend("x-aliases" = ["file_path"]))]`.
pub const ALIASES: &str = "x-aliases";
/// Marks text that reaches the tool as it is, empty or not: `#[schemars(extend("x-verbatim" = true))]`.
pub const VERBATIM: &str = "x-verbatim";
/// Marks other spellings of choices, an object from spelling to choice: `#[schemars(extend("x-choices" = {"unsend": "delete"}))]`.
pub const CHOICES: &str = "x-choices";
/// Marks a parameter that another dialect brought: only models of that dialect are shown it, and every call may use it.
pub const FOREIGN: &str = "x-foreign";
/// Marks a parameter that calls seldom have: a request leaves it out, and `tool_search` describes it.
pub const RARE: &str = "x-rare";
/// Marks a parameter that models are shown as required, although a call may have another in its place.
pub const SHOWN_REQUIRED: &str = "x-shown-required";
/// Marks a property that must be called `format` although some validators reserve the word.
pub const RESERVED_NAME: &str = "x-reserved-name";

/// Nesting deeper than this is refused: no honest tool needs it, and a hostile one could exhaust the stack.
const MAX_DEPTH: usize = 32;

/// A normalised schema and what its markers said.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalised {
    /// The schema.
    pub schema: Value,
    /// What the markers said.
    pub hints: ParameterHints,
}

/// Why a schema cannot be shown to models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// Where, such as `parameters.properties.path`.
    pub path: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

impl std::fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)
    }
}

/// The normalised schema of a type.
pub fn for_type<T: JsonSchema>() -> Normalised {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    normalise(settings.into_generator().into_root_schema_for::<T>().to_value())
}

/// Normalises a schema. What it cannot express otherwise it leaves, for [`lint`] to name.
pub fn normalise(mut schema: Value) -> Normalised {
    clean(&mut schema, 0);
    let mut hints = ParameterHints::default();
    if let Value::Object(root) = &mut schema {
        root.entry("type").or_insert_with(|| json!("object"));
        root.entry("properties").or_insert_with(|| json!({}));
        root.shift_remove("description");
        // Unknown parameters are ignored and reported, never refused.
        if root.get("additionalProperties") == Some(&Value::Bool(false)) {
            root.shift_remove("additionalProperties");
        }
        hints = take_hints(root, 0);
    }
    Normalised { schema, hints }
}

fn take_hints(object: &mut Map<String, Value>, depth: usize) -> ParameterHints {
    let mut hints = ParameterHints::default();
    let Some(Value::Object(properties)) = object.get_mut("properties").filter(|_| depth <= MAX_DEPTH) else { return hints };
    for (name, property) in properties.iter_mut() {
        let Value::Object(property) = property else { continue };
        if !has_any(property, &[ALIASES, CHOICES, VERBATIM, FOREIGN, RARE, SHOWN_REQUIRED, "items"]) {
            continue;
        }
        if let Some(Value::Array(aliases)) = property.shift_remove(ALIASES) {
            hints.aliases.extend(aliases.iter().filter_map(Value::as_str).map(|alias| (alias.to_owned(), name.clone())));
        }
        if let Some(Value::Object(choices)) = property.shift_remove(CHOICES) {
            let spelled = choices.into_iter().filter_map(|(spelling, choice)| Some((spelling, choice.as_str()?.to_owned())));
            hints.choices.push((name.clone(), spelled.collect()));
        }
        if property.shift_remove(VERBATIM) == Some(Value::Bool(true)) {
            hints.verbatim.push(name.clone());
        }
        if property.shift_remove(FOREIGN) == Some(Value::Bool(true)) {
            hints.foreign.push(name.clone());
        }
        if property.shift_remove(RARE) == Some(Value::Bool(true)) {
            hints.rare.push(name.clone());
        }
        if property.shift_remove(SHOWN_REQUIRED) == Some(Value::Bool(true)) {
            hints.shown_required.push(name.clone());
        }
        if let Some(Value::Object(items)) = property.get_mut("items") {
            let of_items = take_hints(items, depth + 1);
            if of_items != ParameterHints::default() {
                hints.items.push((name.clone(), of_items));
            }
        }
    }
    hints
}

fn clean(schema: &mut Value, depth: usize) {
    let Value::Object(map) = schema else { return };
    if depth > MAX_DEPTH {
        return;
    }
    map.retain(|key, _| !["$schema", "$id", "$comment", "title"].contains(&key.as_str()));
    if has_any(map, &["anyOf", "oneOf", "allOf"]) {
        unwrap_single_variant(map);
    }
    if has_any(map, &["oneOf", "anyOf", "const"]) {
        flatten_constants(map);
    }
    drop_null(map);
    drop_number_format(map);
    for (key, child) in map.iter_mut() {
        match (key.as_str(), child) {
            ("items" | "additionalProperties", child) => clean(child, depth + 1),
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(|property| clean(property, depth + 1)),
            _ => {}
        }
    }
}

/// Whether any of these keys is there. A schema has few keys: to compare them is faster than to hash each name, and every start
/// of the program does this for every tool.
fn has_any(map: &Map<String, Value>, names: &[&str]) -> bool {
    map.keys().any(|key| names.contains(&key.as_str()))
}

/// `anyOf: [X, null]` and `allOf: [X]` say no more than X.
fn unwrap_single_variant(map: &mut Map<String, Value>) {
    for key in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(variants)) = map.get(key) else { continue };
        let rest: Vec<&Value> = variants.iter().filter(|variant| variant.get("type").is_none_or(|name| name != "null")).collect();
        let [Value::Object(only)] = rest.as_slice() else { continue };
        let only = only.clone();
        map.shift_remove(key);
        for (name, value) in only {
            map.entry(name).or_insert(value);
        }
    }
}

/// `oneOf` or `anyOf` of string constants is an enum; the variants' descriptions move into the property's.
fn flatten_constants(map: &mut Map<String, Value>) {
    for key in ["oneOf", "anyOf"] {
        let Some(Value::Array(variants)) = map.get(key) else { continue };
        let mut names = Vec::new();
        let mut notes = Vec::new();
        for variant in variants {
            let values: Vec<&Value> = match (variant.get("const"), variant.get("enum")) {
                (Some(value), _) => vec![value],
                (None, Some(Value::Array(values))) => values.iter().collect(),
                _ => break,
            };
            if let (Some(text), [Value::String(name)]) = (variant.get("description").and_then(Value::as_str), values.as_slice()) {
                notes.push(format!("{name}: {text}"));
            }
            names.push(values.into_iter().cloned().collect::<Vec<_>>());
        }
        if names.len() != variants.len() || !names.iter().flatten().all(Value::is_string) {
            continue;
        }
        map.shift_remove(key);
        map.insert("type".into(), json!("string"));
        map.insert("enum".into(), Value::Array(names.into_iter().flatten().collect()));
        if !notes.is_empty() {
            let lead = map.get("description").and_then(Value::as_str).map(|text| format!("{text} ")).unwrap_or_default();
            map.insert("description".into(), json!(format!("{lead}({})", notes.join("; "))));
        }
        return;
    }
    if let Some(value @ Value::String(_)) = map.shift_remove("const") {
        map.insert("enum".into(), json!([value]));
    }
}

/// Optional means "may be absent", never "may be null".
fn drop_null(map: &mut Map<String, Value>) {
    if !map.iter().any(|(key, value)| key == "enum" || key == "default" || (key == "type" && value.is_array())) {
        return;
    }
    if let Some(Value::Array(types)) = map.get("type") {
        let mut rest = types.iter().filter(|name| *name != "null");
        if let (Some(only), None) = (rest.next().cloned(), rest.next()) {
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if map.get("default") == Some(&Value::Null) {
        map.shift_remove("default");
    }
}

/// `format: uint32` and its like are the schema library's own; `minimum` says what matters.
fn drop_number_format(map: &mut Map<String, Value>) {
    if !has_any(map, &["format"]) {
        return;
    }
    let numeric = matches!(map.get("type").and_then(Value::as_str), Some("integer" | "number"));
    if numeric && map.get("format").is_some_and(Value::is_string) {
        map.shift_remove("format");
    }
}

/// Refuses what providers refuse: unions, null variants, references, a root that is no flat object, a property
/// called `format` that is not marked [`RESERVED_NAME`]. The marker is removed on the way.
pub fn lint(schema: &mut Value) -> Result<(), Vec<SchemaFault>> {
    let mut faults = Vec::new();
    let root_is_object = schema.get("type") == Some(&json!("object")) && schema.get("properties").is_some_and(Value::is_object);
    if !root_is_object {
        faults.push(SchemaFault { path: "parameters".into(), problem: "the root must be an object with properties".into() });
    }
    check(schema, "parameters", 0, &mut faults);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn check(schema: &mut Value, path: &str, depth: usize, faults: &mut Vec<SchemaFault>) {
    let mut fault = |problem: String| faults.push(SchemaFault { path: path.to_owned(), problem });
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(true) => return,
        other => return fault(format!("a schema must be an object, not {other}")),
    };
    if depth > MAX_DEPTH {
        return fault(format!("nested deeper than {MAX_DEPTH} levels"));
    }
    for key in ["anyOf", "oneOf", "allOf", "not", "if"] {
        if has_any(map, &[key]) {
            fault(format!("'{key}' is not understood by every provider; use one type, a string enum, or an optional parameter"));
        }
    }
    for key in ["$ref", "$dynamicRef", "$defs", "definitions"] {
        if has_any(map, &[key]) {
            fault(format!("'{key}' must be resolved: write the schema out in place"));
        }
    }
    match map.get("type") {
        Some(Value::String(name)) if name != "null" => {}
        None if depth > 0 => {}
        Some(Value::Array(_)) => fault("several types at once; choose one".into()),
        Some(Value::String(_)) => fault("'null' is not a value; make the parameter optional".into()),
        other => fault(format!("'type' must be the name of a type, not {}", other.unwrap_or(&Value::Null))),
    }
    descend(map, path, depth, faults);
}

fn descend(map: &mut Map<String, Value>, path: &str, depth: usize, faults: &mut Vec<SchemaFault>) {
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            let below = format!("{path}.properties.{name}");
            let marked = property.as_object_mut().and_then(|property| property.shift_remove(RESERVED_NAME)).is_some();
            if name == "format" && !marked {
                faults
                    .push(SchemaFault { path: below.clone(), problem: "some validators reserve the name 'format'; choose another".into() });
            }
            check(property, &below, depth + 1, faults);
        }
    }
    if let Some(items) = map.get_mut("items") {
        check(items, &format!("{path}.items"), depth + 1, faults);
    }
    if let Some(extra @ Value::Object(_)) = map.get_mut("additionalProperties") {
        check(extra, &format!("{path}.additionalProperties"), depth + 1, faults);
    }
}

/// The JSON name of a value's type.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    /// How to write.
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Documented {
        /// Replace the file.
        Overwrite,
        /// Add to the end.
        Append,
    }

    #[derive(Deserialize, JsonSchema)]
    enum Plain {
        A,
        B,
    }

    /// Parameters of a tool.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Params {
        /// A path.
        #[schemars(extend("x-aliases" = ["file_path"]))]
        path: String,
        #[schemars(extend("x-verbatim" = true))]
        content: Option<String>,
        offset: Option<usize>,
        ratio: Option<f64>,
        mode: Option<Documented>,
        plain: Option<Plain>,
        tags: Option<Vec<String>>,
        headers: Option<BTreeMap<String, String>>,
        steps: Option<Vec<Step>>,
        #[serde(default)]
        flag: bool,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Step {
        #[schemars(extend("x-aliases" = ["task"], "x-verbatim" = true))]
        text: String,
    }

    #[test]
    fn a_type_becomes_a_flat_object() {
        let Normalised { mut schema, hints } = for_type::<Params>();
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "A path.", "type": "string"},
                    "content": {"type": "string"},
                    "offset": {"type": "integer", "minimum": 0},
                    "ratio": {"type": "number"},
                    "mode": {
                        "description": "How to write. (overwrite: Replace the file.; append: Add to the end.)",
                        "type": "string", "enum": ["overwrite", "append"]
                    },
                    "plain": {"type": "string", "enum": ["A", "B"]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "headers": {"type": "object", "additionalProperties": {"type": "string"}},
                    "steps": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
                    },
                    "flag": {"type": "boolean", "default": false}
                },
                "required": ["path"]
            })
        );
        let alias = |other: &str, name: &str| vec![(other.to_owned(), name.to_owned())];
        let of_steps = ParameterHints { aliases: alias("task", "text"), verbatim: vec!["text".into()], ..ParameterHints::default() };
        let expected = ParameterHints {
            aliases: alias("file_path", "path"),
            verbatim: vec!["content".into()],
            items: vec![("steps".into(), of_steps)],
            ..ParameterHints::default()
        };
        assert_eq!(hints, expected);
        assert_eq!(lint(&mut schema), Ok(()));
    }

    #[test]
    fn lint_names_the_path_of_each_fault() {
        let faults = |mut schema: Value| lint(&mut schema).unwrap_err().into_iter().map(|fault| fault.path).collect::<Vec<_>>();
        let object = |properties: Value| json!({"type": "object", "properties": properties});
        assert_eq!(faults(json!({"type": "string"})), ["parameters"]);
        assert_eq!(faults(json!([])), ["parameters", "parameters"]);
        assert_eq!(faults(object(json!({"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}))), ["parameters.properties.a"]);
        assert_eq!(faults(object(json!({"a": {"type": ["string", "integer"]}}))), ["parameters.properties.a"]);
        assert_eq!(faults(object(json!({"a": {"type": "null"}}))), ["parameters.properties.a"]);
        assert_eq!(faults(object(json!({"a": {"$ref": "#/x"}}))), ["parameters.properties.a"]);
        assert_eq!(faults(object(json!({"format": {"type": "string"}}))), ["parameters.properties.format"]);
        assert_eq!(faults(object(json!({"a": {"type": "array", "items": {"oneOf": []}}}))), ["parameters.properties.a.items"]);
    }

    #[test]
    fn a_marked_format_property_is_accepted_and_unmarked() {
        let mut schema = json!({"type": "object", "properties": {"format": {"type": "string", "x-reserved-name": true}}});
        assert_eq!(lint(&mut schema), Ok(()));
        assert_eq!(schema["properties"]["format"], json!({"type": "string"}));
    }

    #[test]
    fn a_closed_root_is_opened() {
        let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(normalise(closed).schema, json!({"type": "object", "properties": {}}));
    }

    #[test]
    fn a_bottomless_schema_is_refused_not_followed() {
        let mut schema = json!({"type": "string"});
        for _ in 0..100 {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        let Normalised { mut schema, .. } = normalise(schema);
        assert!(lint(&mut schema).unwrap_err()[0].problem.contains("nested deeper"));
    }
}
