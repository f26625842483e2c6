//! The schema of a foreign tool in the form that every provider takes.
//!
//! Our registry takes flat objects without references and unions. What it does not take is loosened here, never tightened: every
//! argument that the original accepts, the result accepts, and the server itself checks the rest. A parameter that must be there and may
//! be null is one that a model may leave out: the call then has the null.

use haft_contract::schema::{RESERVED_NAME, normalise};
use serde_json::{Map, Value, json};

use super::parameter_names::{self, RenamedParameter};

/// Schemas nested deeper accept anything from there on.
const MAX_DEPTH: usize = 16;
/// References followed in one schema; a hostile schema could grow without end.
const MAX_REFERENCES: usize = 256;
/// A larger schema is not worth its tokens.
const MAX_BYTES: usize = 64 * 1024;
/// The types that a schema may name, but for `null`.
const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];

/// The parameters of a foreign tool.
#[derive(Debug)]
pub(crate) struct ForeignParameters {
    /// The loosened schema.
    pub(crate) schema: Value,
    /// Parameters that the server wants, null where a model left them out, by its names of them.
    pub(crate) null_if_absent: Vec<String>,
    /// Parameters that models know by another name.
    pub(crate) renamed: Vec<RenamedParameter>,
}

/// The loosened parameters; `None` if they are too large.
pub(crate) fn loosened(original: &Map<String, Value>) -> Option<ForeignParameters> {
    let root = Value::Object(original.clone());
    let mut loosening = Loosening { root: &root, references: 0 };
    let mut schema = loosening.schema(&root, 0);
    let object = schema.as_object_mut()?;
    object.insert("type".into(), json!("object"));
    if !object.get("properties").is_some_and(Value::is_object) {
        object.insert("properties".into(), json!({}));
    }
    // Unknown arguments are passed on, unless the server forbids them.
    if !is_closed(original) {
        object.insert("additionalProperties".into(), json!(true));
    }
    let null_if_absent = loosening.nullable_required(original, object);
    if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !null_if_absent.iter().any(|nullable| name == nullable));
    }
    let renamed = parameter_names::rename(object);
    let schema = normalise(schema).schema;
    (schema.to_string().len() <= MAX_BYTES).then_some(ForeignParameters { schema, null_if_absent, renamed })
}

impl ForeignParameters {
    /// The arguments as the server wants them.
    pub(crate) fn restore(&self, arguments: &mut Map<String, Value>) {
        for RenamedParameter { shown, own } in &self.renamed {
            if let Some(value) = arguments.shift_remove(shown) {
                arguments.insert(own.clone(), value);
            }
        }
        for name in &self.null_if_absent {
            arguments.entry(name).or_insert(Value::Null);
        }
    }
}

/// Whether an object has no other properties than those that are named.
fn is_closed(schema: &Map<String, Value>) -> bool {
    schema.get("additionalProperties") == Some(&Value::Bool(false)) && !schema.contains_key("patternProperties")
}

struct Loosening<'s> {
    root: &'s Value,
    references: usize,
}

impl Loosening<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Value {
        let Value::Object(map) = schema else { return json!({}) };
        if depth > MAX_DEPTH {
            return json!({});
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            return self.reference(target, map, depth);
        }
        let mut loose = Map::new();
        for (key, value) in map {
            if let Some(value) = self.keyword(key, value, depth) {
                loose.insert(key.clone(), value);
            }
        }
        self.merge_unions(map, &mut loose, depth);
        let is_hidden = |name: &str| depth > 0 && !parameter_names::is_taken(name);
        let hides = map.get("properties").and_then(Value::as_object).is_some_and(|all| all.keys().any(|name| is_hidden(name)));
        if hides || map.contains_key("patternProperties") {
            loose.insert("additionalProperties".into(), json!(true));
        }
        if let (true, Some(Value::Array(required))) = (hides, loose.get_mut("required")) {
            required.retain(|name| name.as_str().is_some_and(|name| !is_hidden(name)));
        }
        if depth > 0 {
            // An optional null is left out before the call; this one must reach the server, whatever else the value may be.
            for name in self.nullable_required(map, &loose) {
                if let Some(property) = loose.get_mut("properties").and_then(|all| all.get_mut(&name)).and_then(Value::as_object_mut) {
                    property.retain(|key, _| !matches!(key.as_str(), "type" | "enum" | "const"));
                }
            }
        }
        Value::Object(loose)
    }

    /// The required properties that may be null.
    fn nullable_required(&mut self, original: &Map<String, Value>, loose: &Map<String, Value>) -> Vec<String> {
        let required = loose.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let property = |name: &str| original.get("properties").and_then(|all| all.get(name)).cloned();
        let named: Vec<(&str, Value)> = required.filter_map(|name| Some((name, property(name)?))).collect();
        named.into_iter().filter(|(_, property)| self.takes_null(property, 0)).map(|(name, _)| name.to_owned()).collect()
    }

    fn takes_null(&mut self, schema: &Value, depth: usize) -> bool {
        let Value::Object(map) = schema else { return false };
        if depth > MAX_DEPTH {
            return false;
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            return self.target(target).cloned().is_some_and(|found| self.takes_null(&found, depth + 1));
        }
        let names = |key: &str, null: &Value| match map.get(key) {
            Some(Value::Array(values)) => values.contains(null),
            Some(value) => value == null,
            None => false,
        };
        let is_named = names("type", &json!("null")) || names("enum", &Value::Null) || names("const", &Value::Null);
        let variants = || ["anyOf", "oneOf"].iter().filter_map(|key| map.get(*key)?.as_array()).flatten();
        is_named || variants().any(|variant| self.takes_null(variant, depth + 1))
    }

    /// The value of a keyword; `None` leaves it out.
    fn keyword(&mut self, key: &str, value: &Value, depth: usize) -> Option<Value> {
        Some(match key {
            "properties" => Value::Object(self.properties(value.as_object()?, depth)),
            "items" => self.schema(value, depth + 1),
            "additionalProperties" => match value {
                Value::Object(_) => self.schema(value, depth + 1),
                Value::Bool(_) => value.clone(),
                _ => return None,
            },
            "type" => only_type(value)?.into(),
            "required" => json!(value.as_array()?.iter().filter(|name| name.is_string()).collect::<Vec<_>>()),
            "enum" => json!(value.as_array().filter(|values| values.iter().any(|value| !value.is_null()))?),
            "default" | "const" => value.clone(),
            "description" | "format" | "pattern" | "title" if value.is_string() => value.clone(),
            "examples" if value.is_array() => value.clone(),
            "multipleOf" if value.as_f64().is_some_and(|step| step > 0.0) => value.clone(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" if value.is_number() => value.clone(),
            "minLength" | "maxLength" | "minItems" | "maxItems" if value.is_u64() => value.clone(),
            "uniqueItems" if value.is_boolean() => value.clone(),
            _ => return None,
        })
    }

    fn properties(&mut self, properties: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut loose = Map::new();
        // Within an object, names that not every provider takes are left out: whatever they hold passes.
        for (name, property) in properties.iter().filter(|(name, _)| depth == 0 || parameter_names::is_taken(name)) {
            let mut property = self.schema(property, depth + 1);
            if let (true, Some(object)) = (name == "format", property.as_object_mut()) {
                object.insert(RESERVED_NAME.into(), json!(true));
            }
            loose.insert(name.clone(), property);
        }
        loose
    }

    /// Follows a reference within the schema; any other accepts anything.
    fn reference(&mut self, target: &str, map: &Map<String, Value>, depth: usize) -> Value {
        let found = self.target(target).cloned();
        let mut schema = found.map_or_else(|| json!({}), |found| self.schema(&found, depth + 1));
        if let (Some(description), Some(object)) = (map.get("description"), schema.as_object_mut()) {
            object.insert("description".into(), description.clone());
        }
        schema
    }

    /// What a reference within the schema leads to, if not too many were followed.
    fn target(&mut self, target: &str) -> Option<&Value> {
        self.references += 1;
        let root = self.root;
        target.strip_prefix('#').filter(|_| self.references <= MAX_REFERENCES).and_then(|pointer| root.pointer(pointer))
    }

    /// Objects of unions become one object with the properties of all, each optional but for `allOf`; other unions accept anything,
    /// but for one that normalisation can resolve.
    fn merge_unions(&mut self, map: &Map<String, Value>, loose: &mut Map<String, Value>, depth: usize) {
        for key in ["allOf", "anyOf", "oneOf"] {
            let Some(Value::Array(variants)) = map.get(key) else { continue };
            let variants: Vec<Value> = variants.iter().map(|variant| self.schema(variant, depth + 1)).collect();
            let is_null = |variant: &Value, original: &Value| {
                original.get("type") == Some(&json!("null")) || variant.get("const") == Some(&Value::Null)
            };
            let originals = map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let others: Vec<&Value> = variants
                .iter()
                .zip(originals)
                .filter(|(variant, original)| !is_null(variant, original))
                .map(|(variant, _)| variant)
                .collect();
            match others.as_slice() {
                // No value but null, which is left out.
                [] => {}
                [Value::Object(only)] => {
                    merge_objects("allOf", &others, loose);
                    for (name, value) in only {
                        loose.entry(name.clone()).or_insert_with(|| value.clone());
                    }
                }
                others if others.iter().all(|variant| variant.get("const").or_else(|| variant.get("enum")).is_some()) => {
                    let values = others.iter().flat_map(|variant| match (variant.get("const"), variant.get("enum")) {
                        (Some(value), _) => vec![value.clone()],
                        (None, Some(Value::Array(values))) => values.clone(),
                        _ => Vec::new(),
                    });
                    loose.insert("enum".into(), Value::Array(values.collect()));
                }
                others => merge_objects(key, others, loose),
            }
        }
    }
}

/// The one type, besides null, that a schema names.
fn only_type(value: &Value) -> Option<&str> {
    let names = value.as_array().map_or_else(|| vec![value], |names| names.iter().collect());
    let mut others = names.into_iter().filter(|name| *name != "null");
    let only = others.next()?.as_str().filter(|name| TYPES.contains(name))?;
    others.next().is_none().then_some(only)
}

fn merge_objects(key: &str, variants: &[&Value], loose: &mut Map<String, Value>) {
    for variant in variants {
        let Some(Value::Object(properties)) = variant.get("properties") else { continue };
        let all = loose.entry("properties").or_insert_with(|| json!({}));
        let Some(all) = all.as_object_mut() else { continue };
        for (name, property) in properties {
            match all.get_mut(name) {
                None => {
                    all.insert(name.clone(), property.clone());
                }
                // The variants differ: either is fine, so anything is.
                Some(known) if known != property && key != "allOf" => *known = json!({}),
                Some(_) => {}
            }
        }
    }
    if key == "allOf" {
        let required: Vec<Value> = variants.iter().filter_map(|variant| variant.get("required")?.as_array().cloned()).flatten().collect();
        if required.is_empty() {
            return;
        }
        if let Some(all) = loose.entry("required").or_insert_with(|| json!([])).as_array_mut() {
            all.extend(required);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::schema::lint;

    use super::*;

    fn loosen(schema: Value) -> Value {
        let Value::Object(map) = schema else { panic!("a schema is an object") };
        let mut schema = loosened(&map).unwrap().schema;
        assert_eq!(lint(&mut schema), Ok(()), "{schema}");
        schema
    }

    #[test]
    fn foreign_schemas_become_what_every_provider_takes() {
        for (original, name, expected) in [
            (json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}), "a", json!({"type": "string"})),
            (json!({"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}), "a", json!({})),
            (json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}), "a", json!({"type": "string"})),
            (json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}), "a", json!({})),
            (json!({"properties": {"a": {"oneOf": [{"const": "x"}, {"const": "y"}]}}}), "a", json!({"enum": ["x", "y"]})),
            (json!({"properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "integer"}}}), "a", json!({"type": "integer"})),
            (json!({"properties": {"a": {"$ref": "https://example.org/x"}}}), "a", json!({})),
            (json!({"properties": {"format": {"type": "string"}}}), "format", json!({"type": "string"})),
            (json!({"properties": {"a": {"not": {"type": "string"}, "type": "number"}}}), "a", json!({"type": "number"})),
            (json!({"properties": {"a": true}}), "a", json!({})),
            (json!({"properties": {"a": {"enum": []}}}), "a", json!({})),
            (json!({"properties": {"a": {"enum": [null]}}}), "a", json!({})),
            (json!({"properties": {"a": {"anyOf": []}}}), "a", json!({})),
            (json!({"properties": {"a": {"oneOf": [{"type": "null"}]}}}), "a", json!({})),
            (json!({"properties": {"a": {"type": "strange", "description": 5, "multipleOf": 0}}}), "a", json!({})),
            (json!({"properties": {"a": {"type": ["strange", "null"]}}}), "a", json!({})),
            (
                json!({"properties": {"a": {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": false}}}),
                "a",
                json!({"type": "object", "additionalProperties": true}),
            ),
            (
                json!({"properties": {"a": {"properties": {"b": {}}, "allOf": [{"properties": {"c": {}}, "required": ["c"]}]}}}),
                "a",
                json!({"properties": {"b": {}, "c": {}}, "required": ["c"]}),
            ),
        ] {
            assert_eq!(loosen(original.clone())["properties"][name], expected, "{original}");
        }
    }

    #[test]
    fn unions_at_the_root_keep_the_properties_of_all_variants() {
        let schema = loosen(json!({
            "allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}],
            "oneOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}, {"properties": {"c": {"type": "string"}}}]
        }));
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(schema["required"], json!(["a"]));
    }

    #[test]
    fn unknown_arguments_pass_unless_the_server_forbids_them() {
        assert_eq!(loosen(json!({"type": "object"}))["additionalProperties"], json!(true));
        assert_eq!(loosen(json!({"type": "object", "additionalProperties": false})).get("additionalProperties"), None);
    }

    #[test]
    fn required_parameters_that_may_be_null_may_be_left_out() {
        let original = json!({
            "properties": {
                "a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "b": {"type": ["integer", "null"]}, "c": {"$ref": "#/$defs/n"},
                "d": {"enum": ["x", null]}, "e": {"type": "string"},
                "f": {"type": "object", "properties": {"g": {"type": ["string", "null"], "description": "d"}}, "required": ["g"]},
            },
            "required": ["a", "b", "c", "d", "e", "f"], "$defs": {"n": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/n"}]}},
        });
        let ForeignParameters { schema, null_if_absent, .. } = loosened(original.as_object().unwrap()).unwrap();
        assert_eq!((&schema["required"], null_if_absent), (&json!(["e", "f"]), ["a", "b", "c", "d"].map(str::to_owned).to_vec()));
        let nested = json!({"type": "object", "properties": {"g": {"description": "d"}}, "required": ["g"]});
        assert_eq!(schema["properties"]["f"], nested, "a null within an object must pass");
    }

    #[test]
    fn names_that_not_every_provider_takes_are_the_servers_again_in_a_call() {
        let nested = json!({"type": "object", "properties": {"$a": {}, "b": {}}, "required": ["$a", "b"], "additionalProperties": false});
        let optional = json!({"type": ["string", "null"]});
        let original = json!({"properties": {"$top": {"type": "integer"}, "$skip": optional, "n": nested}, "required": ["$skip"]});
        let parameters = loosened(original.as_object().unwrap()).unwrap();
        let properties = json!({
            "top": {"type": "integer"}, "skip": {"type": "string"},
            "n": {"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": true},
        });
        assert_eq!(parameters.schema["properties"], properties);
        let mut arguments = json!({"top": 1, "n": {"$a": 1}, "more": 2}).as_object().unwrap().clone();
        parameters.restore(&mut arguments);
        assert_eq!(Value::Object(arguments), json!({"n": {"$a": 1}, "more": 2, "$top": 1, "$skip": null}));
    }

    #[test]
    fn endless_and_huge_schemas_are_bounded() {
        let endless = json!({"properties": {"a": {"$ref": "#"}}});
        loosen(endless);
        let mut wide = json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"properties": {}}}});
        for name in 0..40 {
            wide["$defs"]["x"]["properties"][format!("p{name}")] = json!({"$ref": "#/$defs/x"});
        }
        let bounded = loosened(wide.as_object().unwrap());
        assert!(bounded.is_none_or(|parameters| parameters.schema.to_string().len() <= MAX_BYTES));
        let long = json!({"properties": {"a": {"description": "x".repeat(MAX_BYTES)}}});
        assert!(loosened(long.as_object().unwrap()).is_none());
    }
}
