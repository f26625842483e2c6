//! Gemini's older form: types in capitals, hardly any keywords, one type to a schema, null as a flag.

use serde_json::{Map, Value, json};

use super::merge::{add_missing, merge};
use super::widen::{keep_described, open_tuple, replace_const, types};

/// What a value without any keyword may be, but for an array.
const ANYTHING: [&str; 5] = ["string", "number", "boolean", "object", "null"];
/// What stands beside the variants of a choice and belongs to each of them.
const SHARED: [&str; 7] = ["type", "enum", "const", "properties", "required", "items", "prefixItems"];

/// The root in the older form.
pub(super) fn project(root: &Map<String, Value>, dropped: &[String]) -> Result<Value, String> {
    let names_nothing = root.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    let takes_any_name = root.contains_key("patternProperties") || root.get("additionalProperties").is_some_and(Value::is_object);
    if names_nothing && takes_any_name {
        return Err("its parameters have no fixed names, which this model cannot be told".into());
    }
    let mut schema = schema(root);
    drop_keywords(&mut schema, dropped);
    Ok(schema)
}

fn schema(original: &Map<String, Value>) -> Value {
    let mut source = original.clone();
    replace_const(&mut source);
    open_tuple(&mut source);
    keep_described(&mut source);
    let description = source.shift_remove("description");
    let forms = forms(&source);
    described(one_of(forms), description)
}

/// A schema that is one type and can be written as it is.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    Null,
    Typed(Map<String, Value>),
}

/// Everything that a schema may be, one type at a time.
fn forms(source: &Map<String, Value>) -> Vec<Form> {
    if let Some(Value::Array(variants)) = source.get("anyOf") {
        let shared: Map<String, Value> =
            source.iter().filter(|(keyword, _)| SHARED.contains(&keyword.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect();
        return variants.iter().filter_map(Value::as_object).flat_map(|variant| variant_forms(variant, &shared)).collect();
    }
    let said = types(source);
    let names = if said.is_empty() { inferred(source) } else { said };
    names.into_iter().map(|name| Form::of(name, source)).collect()
}

fn variant_forms(variant: &Map<String, Value>, shared: &Map<String, Value>) -> Vec<Form> {
    let mut whole = variant.clone();
    merge(&mut whole, shared.clone());
    replace_const(&mut whole);
    open_tuple(&mut whole);
    keep_described(&mut whole);
    let description = whole.shift_remove("description").map(|text| note(&whole, text));
    let forms = forms(&whole);
    forms.into_iter().map(|form| form.described(description.as_ref())).collect()
}

/// What is said of one literal, told apart from what is said of the others.
fn note(variant: &Map<String, Value>, text: Value) -> Value {
    match (variant.get("enum").and_then(Value::as_array).map(Vec::as_slice), text.as_str()) {
        (Some([Value::String(literal)]), Some(words)) => json!(format!("{literal}: {words}")),
        _ => text,
    }
}

impl Form {
    fn of(name: &str, source: &Map<String, Value>) -> Self {
        if name == "null" { Self::Null } else { Self::Typed(typed(name, source)) }
    }

    fn described(self, description: Option<&Value>) -> Self {
        match (self, description) {
            (Self::Typed(mut map), Some(text)) => {
                add_description(&mut map, text);
                Self::Typed(map)
            }
            (form, _) => form,
        }
    }
}

/// The type that keywords speak of where none is named; without any, all of them.
fn inferred(source: &Map<String, Value>) -> Vec<&'static str> {
    if let Some(Value::Array(literals)) = source.get("enum") {
        let mut names: Vec<&'static str> = literals.iter().map(haft_contract::schema::type_name).collect();
        names.sort_unstable();
        names.dedup();
        return names;
    }
    let speaks = |keywords: &[&str]| keywords.iter().any(|keyword| source.contains_key(*keyword));
    if speaks(&["properties", "required", "additionalProperties", "patternProperties"]) {
        return vec!["object"];
    }
    if speaks(&["items", "minItems", "maxItems", "uniqueItems"]) {
        return vec!["array"];
    }
    ANYTHING.into_iter().chain(["array"]).collect()
}

fn typed(name: &str, source: &Map<String, Value>) -> Map<String, Value> {
    let mut form = Map::new();
    form.insert("type".into(), json!(name.to_uppercase()));
    match name {
        "object" => add_properties(&mut form, source),
        "array" => drop(form.insert("items".into(), items(source))),
        "string" | "number" | "integer" => add_literals(&mut form, name, source),
        _ => {}
    }
    form
}

fn add_properties(form: &mut Map<String, Value>, source: &Map<String, Value>) {
    if let Some(Value::Object(members)) = source.get("properties") {
        let members = members.iter().filter_map(|(name, member)| Some((name.clone(), schema(member.as_object()?))));
        form.insert("properties".into(), members.collect());
    }
    if let Some(required) = source.get("required") {
        form.insert("required".into(), required.clone());
    }
}

/// The older form cannot leave open what an array holds, so it is spelled out; somewhere that has to end, and it ends where an
/// array would be in an array of which nothing is known.
fn items(source: &Map<String, Value>) -> Value {
    match source.get("items") {
        Some(Value::Object(items)) => schema(items),
        _ if source.contains_key("type") => schema(&Map::new()),
        _ => schema(&Map::from_iter([("type".to_owned(), json!(ANYTHING))])),
    }
}

/// Only text that is not empty may be listed; other values are told in words.
fn add_literals(form: &mut Map<String, Value>, name: &str, source: &Map<String, Value>) {
    let Some(Value::Array(literals)) = source.get("enum") else { return };
    let of_type = |literal: &&Value| if name == "string" { literal.is_string() } else { literal.is_number() };
    let literals: Vec<Value> = literals.iter().filter(of_type).cloned().collect();
    if name == "string" && !literals.is_empty() && !literals.contains(&json!("")) {
        form.insert("enum".into(), Value::Array(literals));
    } else if !literals.is_empty() {
        let list: Vec<String> = literals.iter().map(Value::to_string).collect();
        form.insert("description".into(), json!(format!("One of {}.", list.join(", "))));
    }
}

/// One schema for all forms: texts that are listed become one list, null becomes a flag.
fn one_of(forms: Vec<Form>) -> Value {
    let nullable = forms.contains(&Form::Null);
    let mut kept: Vec<Map<String, Value>> = Vec::new();
    for form in forms {
        if let Form::Typed(form) = form {
            add_form(&mut kept, form);
        }
    }
    if kept.is_empty() {
        // Null alone has no type of its own here.
        kept.push(Map::from_iter([("type".to_owned(), json!("STRING"))]));
    }
    if nullable {
        for form in &mut kept {
            form.insert("nullable".into(), Value::Bool(true));
        }
    }
    if kept.len() == 1 { Value::Object(kept.remove(0)) } else { json!({"anyOf": kept}) }
}

fn add_form(kept: &mut Vec<Map<String, Value>>, form: Map<String, Value>) {
    if kept.contains(&form) {
        return;
    }
    let list = kept.iter_mut().find(|other| other.contains_key("enum") && form.contains_key("enum"));
    match list {
        Some(list) => add_listed(list, form),
        None => kept.push(form),
    }
}

fn add_listed(list: &mut Map<String, Value>, mut form: Map<String, Value>) {
    if let (Some(Value::Array(ours)), Some(Value::Array(theirs))) = (list.get_mut("enum"), form.shift_remove("enum")) {
        add_missing(ours, theirs);
    }
    if let Some(theirs) = form.shift_remove("description") {
        let ours = list.shift_remove("description").unwrap_or_default();
        list.insert("description".into(), theirs);
        add_description(list, &ours);
    }
}

/// Beside a choice nothing may stand, so its description goes into its variants.
fn described(mut schema: Value, description: Option<Value>) -> Value {
    let Some(text) = description else { return schema };
    match schema.get_mut("anyOf") {
        Some(Value::Array(variants)) => variants.iter_mut().filter_map(Value::as_object_mut).for_each(|map| add_description(map, &text)),
        _ => {
            if let Value::Object(map) = &mut schema {
                add_description(map, &text);
            }
        }
    }
    schema
}

/// Puts a text before what the description says already.
fn add_description(map: &mut Map<String, Value>, text: &Value) {
    let joined = match (text.as_str(), map.get("description").and_then(Value::as_str)) {
        (Some(text), Some(more)) if text != more => format!("{text} {more}"),
        (Some(text), _) => text.to_owned(),
        (None, _) => return,
    };
    map.insert("description".into(), json!(joined));
}

fn drop_keywords(schema: &mut Value, dropped: &[String]) {
    let Value::Object(map) = schema else { return };
    map.retain(|keyword, _| !dropped.contains(keyword));
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for property in properties.values_mut() {
            drop_keywords(property, dropped);
        }
    }
    if let Some(items) = map.get_mut("items") {
        drop_keywords(items, dropped);
    }
    if let Some(Value::Array(variants)) = map.get_mut("anyOf") {
        for variant in variants {
            drop_keywords(variant, dropped);
        }
    }
}
