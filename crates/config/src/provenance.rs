//! The resolved settings, each with its source.

use std::collections::BTreeMap;

use crate::{ConfigKey, ConfigLayer, ConfigValue, HookSettings, SettingSource, Sourced};

/// A key, its value, and the source of the value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Setting {
    /// The key.
    pub key: &'static ConfigKey,
    /// Its path: the parts of the key's path, with the chosen names.
    pub path: Vec<String>,
    /// The value; entries of lists carry their own sources.
    pub value: ConfigValue,
    /// The source of the value; for merged lists, the last layer that added to it.
    pub source: SettingSource,
}

impl Setting {
    /// The setting of a key with a fixed path.
    pub(crate) fn fixed(key: &'static ConfigKey, value: ConfigValue, source: SettingSource) -> Self {
        Self { key, path: key.segments().map(str::to_owned).collect(), value, source }
    }
}

static UNSET: ConfigValue = ConfigValue::Unset;

/// Every key with its value and source. Keys with chosen names are there for the names that are used.
#[derive(Debug, Clone)]
pub struct Provenance {
    settings: Vec<Setting>,
    /// The index of each path in the list.
    indices: BTreeMap<Vec<String>, usize>,
    /// The tables with chosen names, in order of appearance.
    names: Vec<Vec<String>>,
    hooks: Vec<HookSettings>,
    /// What each layer has, before it was merged, the weakest first.
    layers: Vec<Setting>,
}

impl Provenance {
    pub(crate) fn new(settings: Vec<Setting>, names: Vec<Vec<String>>, hooks: Vec<HookSettings>, layers: Vec<Setting>) -> Self {
        let indices = settings.iter().enumerate().map(|(index, setting)| (setting.path.clone(), index)).collect();
        Self { settings, indices, names, hooks, layers }
    }
    /// The values of a path that have a say: of a flag or else of a variable alone, otherwise of the user's file and of the project's,
    /// also where the other one is stricter.
    pub fn deciding(&self, path: &[&str]) -> Vec<&Setting> {
        let of = |layer: ConfigLayer| self.layers.iter().rfind(|setting| setting.source.layer == layer && setting.path == path);
        match of(ConfigLayer::Flag).or_else(|| of(ConfigLayer::Environment)) {
            Some(setting) => vec![setting],
            None => [of(ConfigLayer::User), of(ConfigLayer::Project)].into_iter().flatten().collect(),
        }
    }
    /// All settings in the order of the key table; those of one chosen name are adjacent.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }
    /// The hooks in the order in which they run: higher priority first, the user's before the project's, then in the order
    /// of their file.
    pub fn hooks(&self) -> &[HookSettings] {
        &self.hooks
    }
    /// The setting of a key with a fixed path.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.get_at(&key.split('.').collect::<Vec<_>>())
    }
    /// The setting at a path of which parts may be chosen names; `None` if no layer set it.
    pub fn get_at(&self, path: &[&str]) -> Option<&Setting> {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        self.settings.get(*self.indices.get(&path)?)
    }
    /// Whether any layer set the path: an absent list is not an empty one.
    pub fn was_set(&self, path: &[&str]) -> bool {
        self.get_at(path).is_some_and(|setting| setting.source.layer != ConfigLayer::BuiltIn)
    }
    /// The names that any layer has in the table at a path, in order of appearance: `["agents"]` gives the agents.
    pub fn names_beneath(&self, path: &[&str]) -> Vec<String> {
        let beneath = self.names.iter().filter(|name| name.len() == path.len() + 1 && name.iter().zip(path).all(|(a, b)| a == b));
        beneath.filter_map(|name| name.last().cloned()).collect()
    }
    /// The user's groups and their entries.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &[Sourced<String>])> {
        self.settings.iter().filter_map(|setting| match (setting.path.as_slice(), &setting.value) {
            ([table, name], ConfigValue::List(entries)) if table == "groups" => Some((name.as_str(), entries.as_slice())),
            _ => None,
        })
    }
    /// The lists with chosen names in a table: `["node", "commands"]` gives the commands of a node.
    pub fn lists_in(&self, table: &[&str]) -> impl Iterator<Item = (&str, &[Sourced<String>])> {
        self.settings.iter().filter_map(move |setting| match (setting.path.split_last()?, &setting.value) {
            ((name, before), ConfigValue::List(entries)) if before == table => Some((name.as_str(), entries.as_slice())),
            _ => None,
        })
    }
    /// The value of a key with a fixed path.
    pub fn value(&self, key: &str) -> &ConfigValue {
        self.get(key).map_or(&UNSET, |setting| &setting.value)
    }
    /// The value at a path of which parts may be chosen names; `Unset` if no layer set it.
    pub fn value_at(&self, path: &[&str]) -> &ConfigValue {
        self.get_at(path).map_or(&UNSET, |setting| &setting.value)
    }
}
