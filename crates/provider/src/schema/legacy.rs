//! Gemini's older schema form: types in capitals, few keywords, one type per schema, null as a flag.

use serde_json::{Map, Value, json};

use super::merge::{add_missing, merge};
use super::widen::{drop_undeclared_required, open_tuple, replace_const, types};

/// Types of a schema without keywords, except array.
const ANYTHING: [&str; 5] = ["string", "number", "boolean", "object", "null"];
/// Keywords beside `anyOf` that apply to each variant.
const SHARED: [&str; 7] = ["type", "enum", "const", "properties", "required", "items", "prefixItems"];

/// Projects the root schema.
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
    drop_undeclared_required(&mut source);
    let description = source.shift_remove("description");
    let forms = forms(&source);
    described(one_of(forms), description)
}

/// A schema of one type.
#[derive(Debug, Clone, PartialEq)]
enum SchemaForm {
    Null,
    Typed(Map<String, Value>),
}

/// The forms of a schema, one for each type.
fn forms(source: &Map<String, Value>) -> Vec<SchemaForm> {
    if let Some(Value::Array(variants)) = source.get("anyOf") {
        let shared: Map<String, Value> =
            source.iter().filter(|(keyword, _)| SHARED.contains(&keyword.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect();
        return variants.iter().filter_map(Value::as_object).flat_map(|variant| variant_forms(variant, &shared)).collect();
    }
    let declared = types(source);
    let names = if declared.is_empty() { inferred(source) } else { declared };
    names.into_iter().map(|name| SchemaForm::from_type(name, source)).collect()
}

fn variant_forms(variant: &Map<String, Value>, shared: &Map<String, Value>) -> Vec<SchemaForm> {
    let mut whole = variant.clone();
    merge(&mut whole, shared.clone());
    replace_const(&mut whole);
    open_tuple(&mut whole);
    drop_undeclared_required(&mut whole);
    let description = whole.shift_remove("description").map(|text| note(&whole, text));
    let forms = forms(&whole);
    forms.into_iter().map(|form| form.described(description.as_ref())).collect()
}

/// The description of a variant that is one literal, prefixed with the literal.
fn note(variant: &Map<String, Value>, text: Value) -> Value {
    match (variant.get("enum").and_then(Value::as_array).map(Vec::as_slice), text.as_str()) {
        (Some([Value::String(literal)]), Some(words)) => json!(format!("{literal}: {words}")),
        _ => text,
    }
}

impl SchemaForm {
    fn from_type(name: &str, source: &Map<String, Value>) -> Self {
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

/// The types that the keywords imply; all types if there are none.
fn inferred(source: &Map<String, Value>) -> Vec<&'static str> {
    if let Some(Value::Array(literals)) = source.get("enum") {
        let mut names: Vec<&'static str> = literals.iter().map(haft_contract::schema::type_name).collect();
        names.sort_unstable();
        names.dedup();
        return names;
    }
    let has_any = |keywords: &[&str]| keywords.iter().any(|keyword| source.contains_key(*keyword));
    if has_any(&["properties", "required", "additionalProperties", "patternProperties"]) {
        return vec!["object"];
    }
    if has_any(&["items", "minItems", "maxItems", "uniqueItems"]) {
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

/// The schema of array elements, which the older form requires. Unknown elements are any type; nesting of unknown arrays ends
/// after one level.
fn items(source: &Map<String, Value>) -> Value {
    match source.get("items") {
        Some(Value::Object(items)) => schema(items),
        _ if source.contains_key("type") => schema(&Map::new()),
        _ => schema(&Map::from_iter([("type".to_owned(), json!(ANYTHING))])),
    }
}

/// `enum` accepts non-empty strings only; other literals go into the description.
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

/// One schema for all forms: enums of strings are merged, null becomes a flag.
fn one_of(forms: Vec<SchemaForm>) -> Value {
    let nullable = forms.contains(&SchemaForm::Null);
    let mut typed: Vec<Map<String, Value>> = Vec::new();
    for form in forms {
        if let SchemaForm::Typed(form) = form {
            add_form(&mut typed, form);
        }
    }
    if typed.is_empty() {
        // There is no null type.
        typed.push(Map::from_iter([("type".to_owned(), json!("STRING"))]));
    }
    if nullable {
        for form in &mut typed {
            form.insert("nullable".into(), Value::Bool(true));
        }
    }
    if typed.len() == 1 { Value::Object(typed.remove(0)) } else { json!({"anyOf": typed}) }
}

fn add_form(forms: &mut Vec<Map<String, Value>>, form: Map<String, Value>) {
    if forms.contains(&form) {
        return;
    }
    let list = forms.iter_mut().find(|other| other.contains_key("enum") && form.contains_key("enum"));
    match list {
        Some(list) => add_listed(list, form),
        None => forms.push(form),
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

/// `anyOf` accepts no keywords beside it, so the description goes into its variants.
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

/// Prepends a text to the description.
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
