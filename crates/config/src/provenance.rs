//! The resolved settings, each with its source.

use std::collections::BTreeMap;

use crate::{Hook, Key, Root, Source, Sourced, Value};

/// A key, its value, and where the value came from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// Where it stands: the parts of the key's path, with the names that people chose.
    pub path: Vec<String>,
    /// The value; entries of lists carry their own sources.
    pub value: Value,
    /// Where the value came from; for merged lists, the last layer that had a say.
    pub source: Source,
}

impl Setting {
    /// The setting of a key that stands in one place alone.
    pub(crate) fn fixed(key: &'static Key, value: Value, source: Source) -> Self {
        Self { key, path: key.segments().map(str::to_owned).collect(), value, source }
    }
}

/// Every key that this version acts on, with its value and where that came from. Keys with chosen names are there for
/// the names that are used.
#[derive(Debug, Clone)]
pub struct Provenance {
    settings: Vec<Setting>,
    /// Where each path stands in the list.
    places: BTreeMap<Vec<String>, usize>,
    /// The tables with chosen names, in order of appearance.
    names: Vec<Vec<String>>,
    hooks: Vec<Hook>,
}

impl Provenance {
    pub(crate) fn new(settings: Vec<Setting>, names: Vec<Vec<String>>, hooks: Vec<Hook>) -> Self {
        let places = settings.iter().enumerate().map(|(at, setting)| (setting.path.clone(), at)).collect();
        Self { settings, places, names, hooks }
    }
    /// All of them, in the order of the key table; what belongs to one chosen name stands together.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }
    /// The hooks in the order in which they run: higher priority first, the person's before the project's, then as
    /// they stand in their file.
    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }
    /// The setting of a key that stands in one place alone.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.get_at(&key.split('.').collect::<Vec<_>>())
    }
    /// The setting at a path of which parts may be chosen names; `None` if nobody set it.
    pub fn get_at(&self, path: &[&str]) -> Option<&Setting> {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        self.settings.get(*self.places.get(&path)?)
    }
    /// Whether any layer has a say at a path: an absent list is not an empty one.
    pub fn was_set(&self, path: &[&str]) -> bool {
        self.get_at(path).is_some_and(|setting| setting.source.layer != crate::Layer::BuiltIn)
    }
    /// The names that any layer has in the table at a path, in order of appearance: `["agents"]` gives the agents.
    pub fn names_beneath(&self, path: &[&str]) -> Vec<String> {
        let beneath = self.names.iter().filter(|name| name.len() == path.len() + 1 && name.iter().zip(path).all(|(a, b)| a == b));
        beneath.filter_map(|name| name.last().cloned()).collect()
    }
    /// The groups that the person made, and what is in them.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &[Sourced<String>])> {
        self.settings.iter().filter_map(|setting| match (setting.path.as_slice(), &setting.value) {
            ([table, name], Value::List(entries)) if table == "groups" => Some((name.as_str(), entries.as_slice())),
            _ => None,
        })
    }
    /// The entries of a list, each with its source.
    pub fn entries(&self, key: &str) -> &[Sourced<String>] {
        entries(self.get(key))
    }
    /// The entries of the list at a path.
    pub fn entries_at(&self, path: &[&str]) -> &[Sourced<String>] {
        entries(self.get_at(path))
    }
    /// The lists of `tools.allow`: a tool must match each of them; no list at all means every tool matches.
    pub fn lists(&self, key: &str) -> &[Sourced<Vec<Sourced<String>>>] {
        lists(self.get(key))
    }
    /// The lists at a path, of which each must match.
    pub fn lists_at(&self, path: &[&str]) -> &[Sourced<Vec<Sourced<String>>>] {
        lists(self.get_at(path))
    }
    /// The names of `tools.profile`: each of them must hold; none at all means no profile.
    pub fn texts(&self, key: &str) -> &[Sourced<String>] {
        texts(self.get(key))
    }
    /// The texts at a path, of which each must hold.
    pub fn texts_at(&self, path: &[&str]) -> &[Sourced<String>] {
        texts(self.get_at(path))
    }
    /// The folders of `workspace.roots`, each with its source.
    pub fn roots(&self, key: &str) -> &[Sourced<Root>] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Value::Roots(roots)) => roots,
            _ => &[],
        }
    }
}

fn entries(setting: Option<&Setting>) -> &[Sourced<String>] {
    match setting.map(|setting| &setting.value) {
        Some(Value::List(entries)) => entries,
        _ => &[],
    }
}

fn lists(setting: Option<&Setting>) -> &[Sourced<Vec<Sourced<String>>>] {
    match setting.map(|setting| &setting.value) {
        Some(Value::Lists(lists)) => lists,
        _ => &[],
    }
}

fn texts(setting: Option<&Setting>) -> &[Sourced<String>] {
    match setting.map(|setting| &setting.value) {
        Some(Value::Texts(texts)) => texts,
        _ => &[],
    }
}
