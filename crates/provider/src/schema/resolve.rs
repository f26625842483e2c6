//! Inlines references and `allOf`, and drops booleans and malformed keywords.

use haft_contract::schema::type_name;
use serde_json::{Map, Value, json};

use super::merge::merge;

/// Limit of nesting; a hostile schema could exhaust the stack.
const MAX_DEPTH: usize = 32;
/// Limit of inlined schemas; references can multiply.
const MAX_SCHEMAS: usize = 10_000;
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
/// Keywords that are kept beside a reference of an older draft, which ignores all others.
const NOTES: [&str; 3] = ["description", "title", "default"];

/// Inlines references and `allOf`, and drops keywords that no protocol accepts.
pub(super) fn flatten(root: &Value) -> Result<Map<String, Value>, String> {
    let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let lone_references = ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| draft.contains(old));
    let mut resolver = SchemaResolver { root, lone_references, following: Vec::new(), path: Vec::new(), schemas: 0 };
    resolver.schema(root)?.ok_or_else(|| "its parameters accept nothing".to_owned())
}

struct SchemaResolver<'a> {
    root: &'a Value,
    /// Older drafts ignore keywords beside a reference.
    lone_references: bool,
    following: Vec<&'a str>,
    path: Vec<String>,
    schemas: usize,
}

impl<'a> SchemaResolver<'a> {
    /// The flat schema; none if it accepts nothing.
    fn schema(&mut self, value: &'a Value) -> Result<Option<Map<String, Value>>, String> {
        self.schemas += 1;
        if self.schemas > MAX_SCHEMAS {
            return Err(self.fault(&format!("its schema has more than {MAX_SCHEMAS} parts after inlining references")));
        }
        if self.path.len() > MAX_DEPTH {
            return Err(self.fault(&format!("its schema is nested deeper than {MAX_DEPTH} levels")));
        }
        match value {
            Value::Bool(true) => Ok(Some(Map::new())),
            Value::Bool(false) => Ok(None),
            Value::Object(map) => self.object(map),
            other => Err(self.fault(&format!("a schema must be an object, not {other}"))),
        }
    }

    fn below(&mut self, step: &str, value: &'a Value) -> Result<Option<Map<String, Value>>, String> {
        self.path.push(step.to_owned());
        let schema = self.schema(value);
        self.path.pop();
        schema
    }

    fn object(&mut self, map: &'a Map<String, Value>) -> Result<Option<Map<String, Value>>, String> {
        let mut flat = Map::new();
        let lone = self.lone_references && map.contains_key("$ref");
        for (keyword, value) in map {
            if !lone || NOTES.contains(&keyword.as_str()) {
                self.keyword(keyword, value, &mut flat)?;
            }
        }
        let together = map.get("allOf").and_then(Value::as_array).filter(|_| !lone);
        for part in together.into_iter().flatten() {
            let Some(part) = self.below("allOf", part)? else { return Ok(None) };
            merge(&mut flat, part);
        }
        if let Some(reference) = map.get("$ref") {
            let Some(target) = self.follow(reference)? else { return Ok(None) };
            merge(&mut flat, target);
        }
        add_literal_type(&mut flat);
        Ok(Some(flat))
    }

    fn keyword(&mut self, keyword: &str, value: &'a Value, flat: &mut Map<String, Value>) -> Result<(), String> {
        let flattened = match (keyword, value) {
            ("$dynamicRef" | "$recursiveRef", _) => return Err(self.fault(&format!("'{keyword}' cannot be inlined"))),
            ("type", _) => Some(self.checked_type(value)?),
            ("properties" | "patternProperties", Value::Object(members)) => Some(self.members(members)?),
            ("items", Value::Object(_) | Value::Bool(_)) | ("additionalProperties", _) => {
                Some(self.below(keyword, value)?.map_or(Value::Bool(false), Value::Object))
            }
            ("prefixItems", Value::Array(items)) => Some(self.tuple(items)?),
            ("anyOf" | "oneOf", Value::Array(variants)) => self.variants(variants)?,
            _ => is_well_formed(keyword, value).then(|| value.clone()),
        };
        // Of `anyOf` and `oneOf` together, the first stays.
        let keyword = if keyword == "oneOf" { "anyOf" } else { keyword };
        if let Some(value) = flattened {
            flat.entry(keyword).or_insert(value);
        }
        Ok(())
    }

    fn checked_type(&self, value: &Value) -> Result<Value, String> {
        let names: Vec<&Value> = value.as_array().map_or_else(|| vec![value], |names| names.iter().collect());
        let bad = names.iter().find(|name| !name.as_str().is_some_and(|name| TYPES.contains(&name)));
        match bad {
            Some(name) => Err(self.fault(&format!("{name} is not a type"))),
            None if names.is_empty() => Err(self.fault("its list of types is empty")),
            None => Ok(value.clone()),
        }
    }

    /// Properties, without those that accept nothing.
    fn members(&mut self, members: &'a Map<String, Value>) -> Result<Value, String> {
        let mut flat = Map::new();
        for (name, member) in members {
            if let Some(schema) = self.below(name, member)? {
                flat.insert(name.clone(), Value::Object(schema));
            }
        }
        Ok(Value::Object(flat))
    }

    fn tuple(&mut self, items: &'a [Value]) -> Result<Value, String> {
        let each: Result<Vec<_>, _> =
            items.iter().map(|item| self.below("prefixItems", item).map(|item| Value::Object(item.unwrap_or_default()))).collect();
        each.map(Value::Array)
    }

    /// The variants that accept something; none if the choice has no effect.
    fn variants(&mut self, variants: &'a [Value]) -> Result<Option<Value>, String> {
        let mut flat = Vec::new();
        for variant in variants {
            flat.extend(self.below("anyOf", variant)?.map(Value::Object));
        }
        // A variant that accepts everything makes the choice useless.
        let restricts = !flat.is_empty() && !flat.contains(&json!({}));
        Ok(restricts.then_some(Value::Array(flat)))
    }

    fn follow(&mut self, reference: &'a Value) -> Result<Option<Map<String, Value>>, String> {
        let Some(reference) = reference.as_str() else { return Err(self.fault("'$ref' must be text")) };
        if self.following.contains(&reference) {
            return Err(self.fault(&format!("its schema refers to itself through '{reference}'")));
        }
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(&haft_text::percent::decode(pointer)));
        let Some(target) = target else { return Err(self.fault(&format!("'{reference}' is not found in its schema"))) };
        self.following.push(reference);
        let schema = self.below("$ref", target);
        self.following.pop();
        schema
    }

    fn fault(&self, why: &str) -> String {
        let path: Vec<&str> = self.path.iter().map(String::as_str).filter(|step| *step != "$ref").take(MAX_DEPTH / 2).collect();
        if path.is_empty() { why.to_owned() } else { format!("{why} (at '{}')", path.join(".")) }
    }
}

/// Adds the type of `enum` and `const` if all literals share one; some protocols require it.
pub(super) fn add_literal_type(schema: &mut Map<String, Value>) {
    if schema.contains_key("type") {
        return;
    }
    let literals =
        schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or_else(|| schema.get("const").map(std::slice::from_ref));
    let Some([first, rest @ ..]) = literals else { return };
    let name = type_name(first);
    if rest.iter().all(|literal| type_name(literal) == name) {
        schema.insert("type".into(), json!(name));
    }
}

/// Whether some protocol accepts the keyword, and its value is valid: `exclusiveMinimum: true` and `required: true` of older
/// drafts are not.
fn is_well_formed(keyword: &str, value: &Value) -> bool {
    match keyword {
        "const" | "default" => true,
        "description" | "title" | "format" | "pattern" => value.is_string(),
        "examples" => value.is_array(),
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
        "uniqueItems" => value.is_boolean(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => value.is_u64(),
        _ => false,
    }
}
