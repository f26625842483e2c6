//! The whole configuration, value by value, with its sources.

use haft_contract::visible;
use serde_json::{Value as Json, json};

use crate::merge::{Provenance, Setting};
use crate::{Source, Value};

/// One key, ready for a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The key.
    pub key: &'static str,
    /// Its value, as a person would write it. Safe to print.
    pub value: String,
    /// Where it came from; a merged list names each file once. Safe to print.
    pub source: String,
    /// What the key is.
    pub doc: &'static str,
}

impl Provenance {
    /// Every key as a row.
    pub fn rows(&self) -> Vec<Row> {
        self.settings().iter().map(row).collect()
    }
    /// Every key as `{"key","value","source","entries"}`; entries are there for lists alone.
    pub fn to_json(&self) -> Json {
        self.settings().iter().map(setting_json).collect()
    }
}

fn row(setting: &Setting) -> Row {
    let sources = sources(setting).iter().map(|source| visible::line(&source.to_string()).into_owned()).collect::<Vec<_>>().join(", ");
    Row { key: setting.key.path, value: visible::line(&setting.value.to_string()).into_owned(), source: sources, doc: setting.key.doc }
}

/// The sources of a setting, each file, variable or flag once.
fn sources(setting: &Setting) -> Vec<&Source> {
    let mut distinct: Vec<&Source> = Vec::new();
    for source in setting.value.entry_sources().into_iter().chain([&setting.source]) {
        if !distinct.iter().any(|known| known.layer == source.layer && known.name == source.name) {
            distinct.push(source);
        }
    }
    distinct
}

fn setting_json(setting: &Setting) -> Json {
    let mut object = json!({ "key": setting.key.path, "value": setting.value, "source": setting.source });
    if let Some(entries) = entries(&setting.value) {
        object["entries"] = entries;
    }
    object
}

fn entries(value: &Value) -> Option<Json> {
    match value {
        Value::List(entries) => Some(entries.iter().map(|entry| json!(entry)).collect()),
        Value::Lists(lists) => Some(lists.iter().flat_map(|list| &list.value).map(|entry| json!(entry)).collect()),
        Value::Roots(roots) => {
            Some(roots.iter().map(|root| json!({ "value": root.value.path.to_string_lossy(), "source": root.source })).collect())
        }
        _ => None,
    }
}
