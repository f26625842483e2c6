//! The layers, put together: a later layer wins for plain values, and a project file can never widen.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::displace::Person;
use crate::document::Contents;
use crate::lookup::chosen;
use crate::path::written;
use crate::problem::{Problem, Problems};
use crate::provenance::{Provenance, Setting};
use crate::text::cut;
use crate::{KEYS, Key, Kind, Layer, Merge, Source, Sourced, Status, Value};

/// Puts what the layers say together; they come weakest first.
pub(crate) fn merge(found: Contents, problems: &mut Problems) -> Provenance {
    let person = Person::of(&found);
    let names = person.names(&found.names);
    let mut merging = Merging::new();
    for setting in &found.settings {
        match person.displaced_by(setting) {
            Some(displaced) => problems.add(|| displacing(setting, &displaced)),
            None => merging.apply(setting, problems),
        }
    }
    let Contents { mut hooks, .. } = found;
    hooks.sort_by_key(|hook| (Reverse(hook.priority), hook.source.layer));
    Provenance::new(merging.finish(), names, hooks)
}

struct Merging {
    settings: Vec<Setting>,
    places: HashMap<Vec<String>, usize>,
}

impl Merging {
    /// What holds without any file.
    fn new() -> Self {
        let enforced = KEYS.iter().filter(|key| key.status == Status::Now && key.is_fixed());
        let settings: Vec<_> = enforced.map(|key| Setting::fixed(key, key.default.clone(), Source::BUILT_IN)).collect();
        let places = settings.iter().enumerate().map(|(at, setting)| (setting.path.clone(), at)).collect();
        Self { settings, places }
    }

    /// Where the setting of the same path stands; a chosen name that was not seen before begins with the key's default.
    fn place(&mut self, found: &Setting) -> usize {
        let next = self.settings.len();
        let at = *self.places.entry(found.path.clone()).or_insert(next);
        if at == next {
            let Setting { key, path, .. } = found;
            self.settings.push(Setting { key, path: path.clone(), value: key.default.clone(), source: Source::BUILT_IN });
        }
        at
    }

    fn apply(&mut self, found: &Setting, problems: &mut Problems) {
        let at = self.place(found);
        let inherited = self.inherited(at).cloned();
        let current = &mut self.settings[at];
        match (found.key.merge, found.source.layer) {
            (Merge::Intersect, layer) => require(current, found, layer),
            (Merge::Strictest | Merge::PersonOnly | Merge::PersonUnion, Layer::Project) => {
                let holds = inherited.as_ref().unwrap_or(current);
                if tightens(holds, found) {
                    current.clone_from(found);
                } else if !found.value.says_the_same(&holds.value) {
                    problems.add(|| widening(holds, found));
                }
            }
            (Merge::Union | Merge::PersonUnion, _) => unite(current, found),
            (Merge::Replace | Merge::Strictest | Merge::PersonOnly, _) => current.clone_from(found),
        }
    }

    /// What holds for an agent whose own access nobody set: the session's.
    fn inherited(&self, at: usize) -> Option<&Setting> {
        let unset = self.settings[at].value == Value::Unset && self.settings[at].key.kind == Kind::Access;
        if unset { self.access() } else { None }
    }

    fn access(&self) -> Option<&Setting> {
        self.settings.get(*self.places.get(["access".to_owned()].as_slice())?)
    }

    fn finish(mut self) -> Vec<Setting> {
        self.lower_to_session();
        // A chosen name of which everything was ignored is not there at all.
        self.settings.retain(|setting| setting.key.is_fixed() || setting.source.layer != Layer::BuiltIn);
        grouped(self.settings)
    }

    /// A variable or a flag may have lowered the session after a project's file lowered an agent, and less.
    fn lower_to_session(&mut self) {
        let Some(session) = self.access().cloned() else { return };
        for agent in self.settings.iter_mut().filter(|setting| setting.source.layer == Layer::Project && !setting.key.is_fixed()) {
            if agent.key.kind == Kind::Access && session.value.is_stricter(&agent.value, &[]) {
                (agent.value, agent.source) = (session.value.clone(), session.source.clone());
            }
        }
    }
}

/// In the order of the key table, and what belongs to one chosen name together.
fn grouped(mut settings: Vec<Setting>) -> Vec<Setting> {
    let order = |key: &'static Key| KEYS.iter().position(|known| std::ptr::eq(known, key));
    let family = |key: &'static Key| KEYS.iter().position(|known| before_names(known) == before_names(key));
    let mut appeared: HashMap<Vec<String>, usize> = HashMap::new();
    for setting in &settings {
        let next = appeared.len();
        appeared.entry(table(setting).to_vec()).or_insert(next);
    }
    settings.sort_by_cached_key(|setting| (family(setting.key), appeared.get(table(setting)).copied(), order(setting.key)));
    settings
}

/// The part of a key's path up to the first chosen name; all of it for a fixed key.
fn before_names(key: &Key) -> &'static str {
    key.path.split_once('*').map_or(key.path, |(before, _)| before)
}

/// The part of a setting's path up to and with the first chosen name.
fn table(setting: &Setting) -> &[String] {
    &setting.path[..chosen(setting.key).next().map_or(setting.path.len(), |at| at + 1)]
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
    // An empty list of the person's own is a word as well: the table it stands in is theirs.
    let first_word = current.source.layer == Layer::BuiltIn && found.source.layer != Layer::Project;
    if entries.len() > before || first_word {
        current.source = found.source.clone();
    }
}

/// Makes it one of those that must hold; a project's comes on top, the person's own replaces what was there.
fn require(current: &mut Setting, found: &Setting, layer: Layer) {
    let source = found.source.clone();
    let joined = match (&mut current.value, &found.value) {
        (Value::Lists(lists), Value::List(entries)) => join(lists, Sourced { value: entries.clone(), source }, layer),
        (Value::Texts(texts), Value::Text(text)) => join(texts, Sourced { value: text.clone(), source }, layer),
        _ => false,
    };
    if joined {
        current.source = found.source.clone();
    }
}

/// Whether it was not there yet.
fn join<T: PartialEq>(all: &mut Vec<Sourced<T>>, one: Sourced<T>, layer: Layer) -> bool {
    if layer != Layer::Project {
        all.clear();
    }
    let new = all.iter().all(|known| known.value != one.value);
    if new {
        all.push(one);
    }
    new
}

fn widening(current: &Setting, found: &Setting) -> Problem {
    let path = written(&found.path);
    let (wanted, stays) = (found.value.to_string(), current.value.to_string());
    let (wanted, stays) = (cut(&wanted, 80), cut(&stays, 80));
    let stays = match current.source.layer {
        Layer::BuiltIn if !current.key.is_fixed() => "it stays unset".to_owned(),
        _ => format!("{stays} stays ({})", current.source),
    };
    let message = format!("a project file cannot widen: '{path} = {wanted}' is ignored, {stays}");
    let or_variable = found.key.variable().map(|variable| format!(", or {variable}")).unwrap_or_default();
    let help = format!("if you want it, set '{path}' in your own file{or_variable}");
    Problem::widening(found.source.clone(), message).key(path).help(help)
}

fn displacing(found: &Setting, displaced: &[String]) -> Problem {
    let (path, displaced) = (written(&found.path), written(displaced));
    let message = format!("a project file cannot widen: '{path}' is ignored, because it would stand in place of your '{displaced}'");
    Problem::widening(found.source.clone(), message).key(&path).help(format!("if you want it, set '{path}' in your own file"))
}
