//! The JSON Schema of the file, for editors; made from the key table.

use haft_contract::Access;
use serde_json::{Value as Json, json};

use crate::exec::aliases;
use crate::hooks::MAX_HOOKS;
use crate::key::{ANY, EACH};
use crate::table_names::{MAX_NAME_CHARS, MAX_NAMES};
use crate::{ConfigKey, ConfigValue, KEYS, ValueKind, money};

/// JSON Schema (draft 2020-12) of a configuration file.
pub fn schema() -> Json {
    let mut root = table();
    for key in KEYS {
        insert(&mut root, &key.segments().collect::<Vec<_>>(), key);
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Haft configuration");
    root
}

fn table() -> Json {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

/// Puts a key at its path beneath a table, making the tables on the way.
fn insert(at: &mut Json, path: &[&str], key: &ConfigKey) {
    let Some((first, rest)) = path.split_first() else { return };
    let property = if *first == ANY { entry_schema(at) } else { &mut at["properties"][*first] };
    match rest {
        [] => *property = leaf(key),
        [EACH, beneath @ ..] => {
            property.is_null().then(|| *property = hooks());
            insert(&mut property["items"], beneath, key);
        }
        _ => {
            property.is_null().then(|| *property = table());
            insert(property, rest, key);
        }
    }
}

/// What stands under each chosen name of a table.
fn entry_schema(at: &mut Json) -> &mut Json {
    at["propertyNames"] = json!({ "minLength": 1, "maxLength": MAX_NAME_CHARS });
    at["maxProperties"] = json!(MAX_NAMES);
    if at["additionalProperties"].is_boolean() {
        at["additionalProperties"] = Json::Null;
    }
    &mut at["additionalProperties"]
}

/// Hooks are the only array of tables.
fn hooks() -> Json {
    let mut items = table();
    items["required"] = json!(["event", "command"]);
    json!({ "type": "array", "maxItems": MAX_HOOKS, "items": items })
}

fn leaf(key: &ConfigKey) -> Json {
    let mut schema = of_kind(key);
    schema["description"] = json!(key.doc);
    if !matches!(key.default, ConfigValue::Unset | ConfigValue::Lists(_) | ConfigValue::Texts(_)) {
        schema["default"] = json!(key.default);
    }
    schema
}

fn of_kind(key: &ConfigKey) -> Json {
    match key.kind {
        ValueKind::Access => json!({ "enum": [Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess] }),
        ValueKind::Choice(words) => {
            json!({ "enum": words.iter().copied().chain(aliases(key.path).iter().map(|(theirs, _)| *theirs)).collect::<Vec<_>>() })
        }
        ValueKind::Flag => json!({ "type": "boolean" }),
        ValueKind::Count(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Signed(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Size(least, most) => size(least, most),
        ValueKind::Money => json!({ "type": "number", "minimum": 0, "maximum": money::MOST }),
        ValueKind::Text | ValueKind::Profile => json!({ "type": "string", "minLength": 1 }),
        ValueKind::List(_) => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        ValueKind::Roots => json!({ "type": "array", "items": root() }),
    }
}

/// Bytes, or a text with a unit, of which a schema cannot tell how much it is.
fn size(least: u64, most: u64) -> Json {
    let number = json!({ "type": "integer", "minimum": least, "maximum": most });
    json!({ "anyOf": [number, { "type": "string", "pattern": "^\\s*[0-9]+\\s*(([KMGTkmgt][Ii]?)?[Bb])?\\s*$" }] })
}

fn root() -> Json {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
            "path": { "type": "string", "minLength": 1, "description": "The folder: absolute, or beneath ~." },
            "access": { "enum": [Access::ReadOnly, Access::WorkspaceWrite], "default": Access::ReadOnly, "description": "What may be done there." },
        },
    })
}
