//! The schema of a foreign tool in the form that every provider takes.
//!
//! Our registry takes flat objects without references and unions. What it does not take is loosened here, never tightened: every
//! argument that the original accepts, the result accepts, and the server itself checks the rest.

use haft_contract::schema::{RESERVED_NAME, normalise};
use serde_json::{Map, Value, json};

/// Schemas nested deeper accept anything from there on.
const MAX_DEPTH: usize = 16;
/// References followed in one schema; a hostile schema could grow without end.
const MAX_REFERENCES: usize = 256;
/// A larger schema is not worth its tokens.
const MAX_BYTES: usize = 64 * 1024;

/// The loosened schema; `None` if it is too large.
pub(crate) fn loosened(original: &Map<String, Value>) -> Option<Value> {
    let root = Value::Object(original.clone());
    let mut loosening = Loosening { root: &root, references: 0 };
    let mut schema = loosening.schema(&root, 0);
    let object = schema.as_object_mut()?;
    object.insert("type".into(), json!("object"));
    if !object.get("properties").is_some_and(Value::is_object) {
        object.insert("properties".into(), json!({}));
    }
    // Unknown arguments are passed on, unless the server forbids them.
    if original.get("additionalProperties") != Some(&Value::Bool(false)) {
        object.insert("additionalProperties".into(), json!(true));
    }
    let schema = normalise(schema).schema;
    (schema.to_string().len() <= MAX_BYTES).then_some(schema)
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
        Value::Object(loose)
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
            "type" => match value {
                Value::String(name) if name != "null" => value.clone(),
                Value::Array(names) => {
                    let mut others = names.iter().filter(|name| **name != json!("null"));
                    let only = others.next()?;
                    if others.next().is_some() {
                        return None;
                    }
                    only.clone()
                }
                _ => return None,
            },
            "required" => json!(value.as_array()?.iter().filter(|name| name.is_string()).collect::<Vec<_>>()),
            "enum" => json!(value.as_array()?),
            "description" | "format" | "pattern" | "default" | "const" | "title" | "examples" => value.clone(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" if value.is_number() => value.clone(),
            "minLength" | "maxLength" | "minItems" | "maxItems" if value.is_u64() => value.clone(),
            "uniqueItems" if value.is_boolean() => value.clone(),
            _ => return None,
        })
    }

    fn properties(&mut self, properties: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut loose = Map::new();
        for (name, property) in properties {
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
        self.references += 1;
        let found = target.strip_prefix('#').filter(|_| self.references <= MAX_REFERENCES).and_then(|pointer| self.root.pointer(pointer));
        let mut schema = found.cloned().map_or_else(|| json!({}), |found| self.schema(&found, depth + 1));
        if let (Some(description), Some(object)) = (map.get("description"), schema.as_object_mut()) {
            object.insert("description".into(), description.clone());
        }
        schema
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
                [Value::Object(only)] => {
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
        if let (false, Some(all)) = (required.is_empty(), loose.entry("required").or_insert_with(|| json!([])).as_array_mut()) {
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
        let mut schema = loosened(&map).unwrap();
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
    fn endless_and_huge_schemas_are_bounded() {
        let endless = json!({"properties": {"a": {"$ref": "#"}}});
        loosen(endless);
        let mut wide = json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"properties": {}}}});
        for name in 0..40 {
            wide["$defs"]["x"]["properties"][format!("p{name}")] = json!({"$ref": "#/$defs/x"});
        }
        let bounded = loosened(wide.as_object().unwrap());
        assert!(bounded.is_none_or(|schema| schema.to_string().len() <= MAX_BYTES));
        let long = json!({"properties": {"a": {"description": "x".repeat(MAX_BYTES)}}});
        assert_eq!(loosened(long.as_object().unwrap()), None);
    }
}
