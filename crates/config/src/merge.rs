//! The layers, put together: a later layer wins for plain values, and a project file can never widen.

use crate::problem::Problem;
use crate::text::cut;
use crate::value::Value;
use crate::{KEYS, Key, Kind, Layer, Merge, Root, Source, Sourced, Status};

/// A key, its value, and where the value came from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// The value; entries of lists carry their own sources.
    pub value: Value,
    /// Where the value came from; for merged lists, the last layer that had a say.
    pub source: Source,
}

/// Every key that this version acts on, with its value and where that came from.
#[derive(Debug, Clone)]
pub struct Provenance {
    settings: Vec<Setting>,
}

impl Provenance {
    /// All of them, in the order of the key table.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }
    /// The setting of a key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.path == key)
    }
    /// The entries of a list, each with its source.
    pub fn entries(&self, key: &str) -> &[Sourced<String>] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Value::List(entries)) => entries,
            _ => &[],
        }
    }
    /// The lists of `tools.allow`: a tool must match each of them; no list at all means every tool matches.
    pub fn lists(&self, key: &str) -> &[Sourced<Vec<Sourced<String>>>] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Value::Lists(lists)) => lists,
            _ => &[],
        }
    }
    /// The folders of `workspace.roots`, each with its source.
    pub fn roots(&self, key: &str) -> &[Sourced<Root>] {
        match self.get(key).map(|setting| &setting.value) {
            Some(Value::Roots(roots)) => roots,
            _ => &[],
        }
    }
}

/// Puts the settings of all layers together; they come weakest first.
pub(crate) fn merge(found: &[Setting], problems: &mut Vec<Problem>) -> Provenance {
    let enforced = KEYS.iter().filter(|key| key.status == Status::Now);
    Provenance { settings: enforced.map(|key| resolve(key, found, problems)).collect() }
}

fn resolve(key: &'static Key, found: &[Setting], problems: &mut Vec<Problem>) -> Setting {
    let mut current = Setting { key, value: key.default.clone(), source: Source::BUILT_IN };
    for setting in found.iter().filter(|setting| std::ptr::eq(setting.key, key)) {
        apply(&mut current, setting, problems);
    }
    current
}

fn apply(current: &mut Setting, found: &Setting, problems: &mut Vec<Problem>) {
    match (found.key.merge, found.source.layer) {
        (Merge::Union, _) => unite(current, found),
        (Merge::Intersect, layer) => require(current, found, layer),
        (Merge::Strictest | Merge::PersonOnly, Layer::Project) => {
            if tightens(current, found) {
                current.clone_from(found);
            } else if !found.value.says_the_same(&current.value) {
                problems.push(widening(current, found));
            }
        }
        (Merge::Replace | Merge::Strictest | Merge::PersonOnly, _) => current.clone_from(found),
    }
}

fn tightens(current: &Setting, found: &Setting) -> bool {
    let words = if let Kind::Choice(words) = found.key.kind { words } else { &[] };
    found.key.merge == Merge::Strictest && found.value.is_stricter(&current.value, words)
}

/// Adds the entries that are not there yet; the first source of an entry stays.
fn unite(current: &mut Setting, found: &Setting) {
    let (Value::List(entries), Value::List(more)) = (&mut current.value, &found.value) else { return };
    let before = entries.len();
    for entry in more {
        if !entries.iter().any(|known| known.value == entry.value) {
            entries.push(entry.clone());
        }
    }
    if entries.len() > before {
        current.source = found.source.clone();
    }
}

/// Makes the list one that must match; a project's comes on top, the person's own replaces what was there.
fn require(current: &mut Setting, found: &Setting, layer: Layer) {
    let (Value::Lists(lists), Value::List(entries)) = (&mut current.value, &found.value) else { return };
    if layer != Layer::Project {
        lists.clear();
    }
    lists.push(Sourced { value: entries.clone(), source: found.source.clone() });
    current.source = found.source.clone();
}

fn widening(current: &Setting, found: &Setting) -> Problem {
    let path = found.key.path;
    let (wanted, stays) = (found.value.to_string(), current.value.to_string());
    let (wanted, stays) = (cut(&wanted, 80), cut(&stays, 80));
    let message = format!("a project file cannot widen: '{path} = {wanted}' is ignored, {stays} stays ({})", current.source);
    let variable = found.key.variable().unwrap_or_default();
    Problem::warning(found.source.clone(), message).key(path).help(format!("if you want it, set '{path}' in your own file, or {variable}"))
}
