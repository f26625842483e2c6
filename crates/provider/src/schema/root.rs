//! The root schema as one object.

use serde_json::{Map, Value, json};

use super::merge::add_missing;

/// The root as an object with properties. A union, which no provider accepts there, becomes one object with the properties of all
/// variants; only properties that every variant requires stay required.
pub(super) fn object(mut root: Map<String, Value>) -> Result<Map<String, Value>, String> {
    if !may_be_object(&root) {
        return Err(format!("its parameters are of type {}; they must be an object", root["type"]));
    }
    root.insert("type".into(), json!("object"));
    root.shift_remove("enum");
    root.shift_remove("const");
    let variants = root.shift_remove("anyOf");
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    if let (Value::Object(properties), Some(Value::Array(variants))) = (properties, variants) {
        let required = add_variants(properties, object_variants(variants)?);
        add_required(&mut root, required);
    }
    Ok(root)
}

fn may_be_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        None => true,
        Some(Value::Array(names)) => names.contains(&json!("object")),
        Some(name) => name == "object",
    }
}

/// The variants that are objects: arguments always are.
fn object_variants(variants: Vec<Value>) -> Result<Vec<Map<String, Value>>, String> {
    let maps = variants.into_iter().filter_map(|variant| if let Value::Object(map) = variant { Some(map) } else { None });
    let objects: Result<Vec<_>, _> = maps.filter(may_be_object).map(object).collect();
    match objects {
        Ok(objects) if objects.is_empty() => Err("none of the variants of its parameters is an object".into()),
        objects => objects,
    }
}

/// Adds the properties of the variants and returns what all of them require. A property of the root stays; one that variants
/// describe differently becomes `anyOf`.
fn add_variants(properties: &mut Map<String, Value>, variants: Vec<Map<String, Value>>) -> Vec<Value> {
    let mut required: Option<Vec<Value>> = None;
    let mut added: Map<String, Value> = Map::new();
    for mut variant in variants {
        for (name, schema) in take_object(&mut variant, "properties") {
            if !properties.contains_key(&name)
                && let Value::Array(forms) = added.entry(name).or_insert_with(|| json!([]))
            {
                add_missing(forms, vec![schema]);
            }
        }
        let names = variant.shift_remove("required").and_then(|names| names.as_array().cloned()).unwrap_or_default();
        required = Some(required.map_or(names.clone(), |before| before.into_iter().filter(|name| names.contains(name)).collect()));
    }
    for (name, forms) in added {
        properties.insert(name, any_of(forms));
    }
    required.unwrap_or_default()
}

/// `anyOf` of several schemas; literals of one type, such as the tags of a union, become one `enum`.
fn any_of(forms: Value) -> Value {
    let Value::Array(mut forms) = forms else { return forms };
    if forms.len() == 1 {
        return forms.remove(0);
    }
    literals(&forms).unwrap_or_else(|| json!({"anyOf": forms}))
}

fn literals(forms: &[Value]) -> Option<Value> {
    let mut values = Vec::new();
    for form in forms {
        if form.get("type") != forms.first()?.get("type") {
            return None;
        }
        match (form.get("const"), form.get("enum")) {
            (Some(value), _) => add_missing(&mut values, vec![value.clone()]),
            (None, Some(Value::Array(more))) => add_missing(&mut values, more.clone()),
            _ => return None,
        }
    }
    Some(json!({"type": forms.first()?.get("type")?, "enum": values}))
}

fn add_required(root: &mut Map<String, Value>, names: Vec<Value>) {
    if let Value::Array(required) = root.entry("required").or_insert_with(|| json!([])) {
        add_missing(required, names);
    }
}

fn take_object(schema: &mut Map<String, Value>, keyword: &str) -> Map<String, Value> {
    match schema.shift_remove(keyword) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
