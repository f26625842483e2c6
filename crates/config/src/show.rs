//! The whole configuration, value by value, with its sources.

use haft_contract::visible;
use serde_json::{Value as Json, json};

use crate::hooks::Hook;
use crate::path::written;
use crate::provenance::{Provenance, Setting};
use crate::{KEYS, Key, Source, Value};

/// One key, ready for a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The key as the key table has it: `agents.*.tools.deny`.
    pub key: &'static str,
    /// Where it stands, as TOML would write it: `agents."a.b".tools.deny`, `hooks[0].command`. Safe to print.
    pub path: String,
    /// Its value, as a person would write it. Safe to print.
    pub value: String,
    /// Where it came from; a merged list names each file once. Safe to print.
    pub source: String,
    /// What the key is.
    pub doc: &'static str,
}

impl Provenance {
    /// Every key as a row, chosen names and hooks included.
    pub fn rows(&self) -> Vec<Row> {
        self.shown().iter().map(|(path, setting)| row(path, setting)).collect()
    }
    /// Every key as `{"key","value","source","entries"}`; entries are there for lists alone.
    pub fn to_json(&self) -> Json {
        self.shown().iter().map(|(path, setting)| setting_json(path, setting)).collect()
    }
    /// Every setting with its path.
    fn shown(&self) -> Vec<(String, Setting)> {
        let settings = self.settings().iter().map(|setting| (written(&setting.path), setting.clone()));
        settings.chain(self.hooks().iter().enumerate().flat_map(|(number, hook)| hook_settings(number, hook))).collect()
    }
}

/// A hook key by key, in the order in which it runs.
fn hook_settings(number: usize, hook: &Hook) -> Vec<(String, Setting)> {
    let keys = KEYS.iter().filter_map(|key| Some((key, key.path.strip_prefix("hooks[].")?)));
    keys.filter_map(|(key, field)| {
        let value = hook_value(hook, field)?;
        Some((format!("hooks[{number}].{field}"), hook_setting(key, value, hook)))
    })
    .collect()
}

fn hook_setting(key: &'static Key, value: Value, hook: &Hook) -> Setting {
    Setting { key, path: key.segments().map(str::to_owned).collect(), value, source: hook.source.clone() }
}

fn hook_value(hook: &Hook, field: &str) -> Option<Value> {
    match field {
        "name" => hook.name.clone().map(Value::Text),
        "event" => Some(Value::Choice(hook.event.as_str())),
        "match" => Some(&hook.matches).filter(|matches| !matches.is_empty()).cloned().map(Value::List),
        "command" => Some(Value::Text(hook.command.clone())),
        "timeout_seconds" => Some(Value::Count(hook.timeout.as_secs())),
        "on_failure" => Some(Value::Choice(hook.on_failure.as_str())),
        "priority" => Some(Value::Signed(hook.priority)),
        _ => None,
    }
}

fn row(path: &str, setting: &Setting) -> Row {
    let sources = sources(setting).iter().map(|source| visible::line(&source.to_string()).into_owned()).collect::<Vec<_>>().join(", ");
    let shown = |text: &str| visible::line(text).into_owned();
    Row { key: setting.key.path, path: shown(path), value: shown(&setting.value.to_string()), source: sources, doc: setting.key.doc }
}

/// The sources of a setting, each file, variable or flag once.
fn sources(setting: &Setting) -> Vec<&Source> {
    let mut distinct: Vec<&Source> = Vec::new();
    for source in setting.value.entry_sources().into_iter().chain([&setting.source]) {
        let same = |known: &&Source| (known.layer, &known.name, known.preset) == (source.layer, &source.name, source.preset);
        if !distinct.iter().any(same) {
            distinct.push(source);
        }
    }
    distinct
}

fn setting_json(path: &str, setting: &Setting) -> Json {
    let mut object = json!({ "key": path, "value": setting.value, "source": setting.source });
    if let Some(entries) = entries(&setting.value) {
        object["entries"] = entries;
    }
    object
}

fn entries(value: &Value) -> Option<Json> {
    match value {
        Value::List(entries) | Value::Texts(entries) => Some(entries.iter().map(|entry| json!(entry)).collect()),
        Value::Lists(lists) => Some(lists.iter().flat_map(|list| &list.value).map(|entry| json!(entry)).collect()),
        Value::Roots(roots) => {
            Some(roots.iter().map(|root| json!({ "value": root.value.path.to_string_lossy(), "source": root.source })).collect())
        }
        _ => None,
    }
}
