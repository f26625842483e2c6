//! The whole configuration, value by value, with its sources.

use haft_text::display;
use serde_json::{Value as Json, json};

use crate::hooks::HookSettings;
use crate::key_path::format_path;
use crate::provenance::{Provenance, Setting};
use crate::{ConfigKey, ConfigValue, KEYS, SettingSource};

/// One key, ready for a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigRow {
    /// The key as the key table has it: `agents.*.tools.deny`.
    pub key: &'static str,
    /// Its path, as TOML writes it: `agents."a.b".tools.deny`, `hooks[0].command`. Safe to print.
    pub path: String,
    /// Its value, as it is written in a file. Safe to print.
    pub value: String,
    /// Its source; a merged list names each file once. Safe to print.
    pub source: String,
    /// The key's documentation.
    pub doc: &'static str,
}

impl Provenance {
    /// Every key as a row, chosen names and hooks included.
    pub fn rows(&self) -> Vec<ConfigRow> {
        self.all_settings().iter().map(|(path, setting)| row(path, setting)).collect()
    }
    /// Every key as `{"key","value","source","entries"}`; entries are there for lists alone.
    pub fn to_json(&self) -> Json {
        self.all_settings().iter().map(|(path, setting)| setting_json(path, setting)).collect()
    }
    /// Every setting with its path.
    fn all_settings(&self) -> Vec<(String, Setting)> {
        let settings = self.settings().iter().map(|setting| (format_path(&setting.path), setting.clone()));
        settings.chain(self.hooks().iter().enumerate().flat_map(|(number, hook)| hook_settings(number, hook))).collect()
    }
}

/// A hook key by key, in the order in which it runs.
fn hook_settings(number: usize, hook: &HookSettings) -> Vec<(String, Setting)> {
    let keys = KEYS.iter().filter_map(|key| Some((key, key.path.strip_prefix("hooks[].")?)));
    keys.filter_map(|(key, field)| {
        let value = hook_value(hook, field)?;
        Some((format!("hooks[{number}].{field}"), hook_setting(key, value, hook)))
    })
    .collect()
}

fn hook_setting(key: &'static ConfigKey, value: ConfigValue, hook: &HookSettings) -> Setting {
    Setting { key, path: key.segments().map(str::to_owned).collect(), value, source: hook.source.clone() }
}

fn hook_value(hook: &HookSettings, field: &str) -> Option<ConfigValue> {
    match field {
        "name" => hook.name.clone().map(ConfigValue::Text),
        "event" => Some(ConfigValue::Choice(hook.event.as_str())),
        "match" => Some(&hook.matches).filter(|matches| !matches.is_empty()).cloned().map(ConfigValue::List),
        "command" => Some(ConfigValue::Text(hook.command.clone())),
        "timeout_seconds" => Some(ConfigValue::Count(hook.timeout.as_secs())),
        "on_failure" => Some(ConfigValue::Choice(hook.on_failure.as_str())),
        "priority" => Some(ConfigValue::Signed(hook.priority)),
        _ => None,
    }
}

fn row(path: &str, setting: &Setting) -> ConfigRow {
    let sources =
        sources(setting).iter().map(|source| display::escape_line(&source.to_string()).into_owned()).collect::<Vec<_>>().join(", ");
    let escaped = |text: &str| display::escape_line(text).into_owned();
    ConfigRow {
        key: setting.key.path,
        path: escaped(path),
        value: escaped(&setting.value.to_string()),
        source: sources,
        doc: setting.key.doc,
    }
}

/// The sources of a setting, each file, variable or flag once.
fn sources(setting: &Setting) -> Vec<&SettingSource> {
    let mut distinct: Vec<&SettingSource> = Vec::new();
    for source in setting.value.entry_sources().into_iter().chain([&setting.source]) {
        let same = |known: &&SettingSource| (known.layer, &known.name, known.preset) == (source.layer, &source.name, source.preset);
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

fn entries(value: &ConfigValue) -> Option<Json> {
    match value {
        ConfigValue::List(entries) | ConfigValue::Texts(entries) => Some(entries.iter().map(|entry| json!(entry)).collect()),
        ConfigValue::Lists(lists) => Some(lists.iter().flat_map(|list| &list.value).map(|entry| json!(entry)).collect()),
        ConfigValue::Roots(roots) => {
            Some(roots.iter().map(|root| json!({ "value": root.value.path.to_string_lossy(), "source": root.source })).collect())
        }
        _ => None,
    }
}
