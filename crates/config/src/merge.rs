//! Merges the layers: a later layer wins for plain values, and a project file can never widen.

use std::cmp::Reverse;
use std::collections::HashMap;

use haft_text::truncate::ellipsize;

use crate::document::LayerContents;
use crate::key_path::format_path;
use crate::key_path::name_positions;
use crate::overrides::UserTables;
use crate::problem::{Problem, Problems};
use crate::provenance::{Provenance, Setting};
use crate::{ConfigKey, ConfigLayer, ConfigValue, KEYS, MergeRule, SettingSource, Sourced, ValueKind};

/// Merges the contents of all layers, the weakest first.
pub(crate) fn merge(contents: LayerContents, problems: &mut Problems) -> Provenance {
    let user = UserTables::new(&contents);
    let tables = user.without_overriding(&contents.tables);
    let mut merging = LayerMerge::new();
    for setting in &contents.settings {
        match user.overridden_by(setting) {
            Some(overridden) => problems.add(|| overriding(setting, &overridden)),
            None => merging.apply(setting, problems),
        }
    }
    let LayerContents { mut hooks, settings: layers, .. } = contents;
    hooks.sort_by_key(|hook| (Reverse(hook.priority), hook.source.layer));
    Provenance::new(merging.finish(), tables, hooks, layers)
}

struct LayerMerge {
    settings: Vec<Setting>,
    indices: HashMap<Vec<String>, usize>,
}

impl LayerMerge {
    /// The settings without any file.
    fn new() -> Self {
        let fixed = KEYS.iter().filter(|key| key.is_fixed());
        let settings: Vec<_> = fixed.map(|key| Setting::fixed(key, key.default.clone(), SettingSource::BUILT_IN)).collect();
        let indices = settings.iter().enumerate().map(|(at, setting)| (setting.path.clone(), at)).collect();
        Self { settings, indices }
    }

    /// The index of the setting of the same path; a new one begins with the key's default.
    fn index(&mut self, found: &Setting) -> usize {
        let next = self.settings.len();
        let at = *self.indices.entry(found.path.clone()).or_insert(next);
        if at == next {
            let Setting { key, path, .. } = found;
            self.settings.push(Setting { key, path: path.clone(), value: key.default.clone(), source: SettingSource::BUILT_IN });
        }
        at
    }

    fn apply(&mut self, found: &Setting, problems: &mut Problems) {
        let at = self.index(found);
        let inherited = self.inherited(at).cloned();
        let current = &mut self.settings[at];
        match (found.key.merge, found.source.layer) {
            (MergeRule::Intersect, layer) => require(current, found, layer),
            (MergeRule::Strictest | MergeRule::UserOnly | MergeRule::UserUnion, ConfigLayer::Project) => {
                let holds = inherited.as_ref().unwrap_or(current);
                if tightens(holds, found) {
                    current.clone_from(found);
                } else if !found.value.is_same(&holds.value) {
                    problems.add(|| widening(holds, found));
                }
            }
            (MergeRule::Union | MergeRule::UserUnion, _) => unite(current, found),
            (MergeRule::Replace | MergeRule::Strictest | MergeRule::UserOnly | MergeRule::Trusted, _) => current.clone_from(found),
        }
    }

    /// The session's access, for an agent without its own.
    fn inherited(&self, at: usize) -> Option<&Setting> {
        let unset = self.settings[at].value == ConfigValue::Unset && self.settings[at].key.kind == ValueKind::Access;
        if unset { self.access() } else { None }
    }

    fn access(&self) -> Option<&Setting> {
        self.settings.get(*self.indices.get(["access".to_owned()].as_slice())?)
    }

    fn finish(mut self) -> Vec<Setting> {
        self.lower_to_session();
        // A chosen name of which everything was ignored is left out.
        self.settings.retain(|setting| setting.key.is_fixed() || setting.source.layer != ConfigLayer::BuiltIn);
        grouped(self.settings)
    }

    /// Lowers agents to the session: a variable or a flag may have lowered it further than a project's file lowered the agent.
    fn lower_to_session(&mut self) {
        let Some(session) = self.access().cloned() else { return };
        for agent in self.settings.iter_mut().filter(|setting| setting.source.layer == ConfigLayer::Project && !setting.key.is_fixed()) {
            if agent.key.kind == ValueKind::Access && session.value.is_stricter(&agent.value, &[]) {
                (agent.value, agent.source) = (session.value.clone(), session.source.clone());
            }
        }
    }
}

/// Sorts in the order of the key table; settings of one chosen name are adjacent.
fn grouped(mut settings: Vec<Setting>) -> Vec<Setting> {
    // Those of fixed keys are in this order already, and most users have no others.
    if settings.iter().all(|setting| setting.key.is_fixed()) {
        return settings;
    }
    let order = |key: &'static ConfigKey| KEYS.iter().position(|known| std::ptr::eq(known, key));
    let families: Vec<&str> = KEYS.iter().map(before_names).collect();
    let family = |key: &'static ConfigKey| {
        let name = before_names(key);
        families.iter().position(|family| *family == name)
    };
    let mut appeared: HashMap<Vec<String>, usize> = HashMap::new();
    for setting in &settings {
        let next = appeared.len();
        appeared.entry(table(setting).to_vec()).or_insert(next);
    }
    settings.sort_by_cached_key(|setting| (family(setting.key), appeared.get(table(setting)).copied(), order(setting.key)));
    settings
}

/// The part of a key's path up to the first chosen name; all of it for a fixed key.
fn before_names(key: &ConfigKey) -> &'static str {
    key.path.split_once('*').map_or(key.path, |(before, _)| before)
}

/// The part of a setting's path up to and with the first chosen name.
fn table(setting: &Setting) -> &[String] {
    &setting.path[..name_positions(setting.key).next().map_or(setting.path.len(), |at| at + 1)]
}

fn tightens(current: &Setting, found: &Setting) -> bool {
    let words = if let ValueKind::Choice(words) = found.key.kind { words } else { &[] };
    found.key.merge == MergeRule::Strictest && found.value.is_stricter(&current.value, words)
}

/// Adds the entries that are not there yet; the first source of an entry stays. A denial that another file, line or variable has as well
/// is there twice: it goes when both go.
fn unite(current: &mut Setting, found: &Setting) {
    let (ConfigValue::List(entries), ConfigValue::List(more)) = (&mut current.value, &found.value) else { return };
    let (mut is_new, denies) = (false, found.key.merge == MergeRule::Union);
    for entry in more {
        let mut same = entries.iter().filter(|known| known.value == entry.value).peekable();
        let is_first = same.peek().is_none();
        is_new |= is_first;
        if is_first || denies && !same.any(|known| known.source.is_same_place(&entry.source)) {
            entries.push(entry.clone());
        }
    }
    // An empty list of the user counts as well: its table is theirs.
    let first_of_user = current.source.layer == ConfigLayer::BuiltIn && found.source.layer != ConfigLayer::Project;
    if is_new || first_of_user {
        current.source = found.source.clone();
    }
}

/// Adds a requirement; a project's is added, the user's reindices the others.
fn require(current: &mut Setting, found: &Setting, layer: ConfigLayer) {
    let source = found.source.clone();
    let joined = match (&mut current.value, &found.value) {
        (ConfigValue::Lists(lists), ConfigValue::List(entries)) => join(lists, Sourced { value: entries.clone(), source }, layer),
        (ConfigValue::Texts(texts), ConfigValue::Text(text)) => join(texts, Sourced { value: text.clone(), source }, layer),
        _ => false,
    };
    if joined {
        current.source = found.source.clone();
    }
}

/// Whether it is new.
fn join<T: PartialEq>(all: &mut Vec<Sourced<T>>, one: Sourced<T>, layer: ConfigLayer) -> bool {
    if layer != ConfigLayer::Project {
        all.clear();
    }
    let new = all.iter().all(|known| known.value != one.value);
    if new {
        all.push(one);
    }
    new
}

fn widening(current: &Setting, found: &Setting) -> Problem {
    let path = format_path(&found.path);
    let (wanted, stays) = (found.value.to_string(), current.value.to_string());
    let (wanted, stays) = (ellipsize(&wanted, 80), ellipsize(&stays, 80));
    let stays = match current.source.layer {
        ConfigLayer::BuiltIn if !current.key.is_fixed() => "it stays unset".to_owned(),
        _ => format!("{stays} stays ({})", current.source),
    };
    let message = format!("a project file cannot widen: '{path} = {wanted}' is ignored, {stays}");
    let or_variable = found.key.variable().map(|variable| format!(", or {variable}")).unwrap_or_default();
    let help = format!("if you want it, set '{path}' in your own file{or_variable}");
    Problem::widening(found.source.clone(), message).key(path).help(help)
}

fn overriding(found: &Setting, overridden: &[String]) -> Problem {
    let (path, overridden) = (format_path(&found.path), format_path(overridden));
    let message = format!("a project file cannot widen: '{path}' is ignored, because it would override your '{overridden}'");
    Problem::widening(found.source.clone(), message).key(&path).help(format!("if you want it, set '{path}' in your own file"))
}
