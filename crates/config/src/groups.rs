//! The user's groups, and entries that name a group.

use std::collections::HashMap;

use haft_text::suggest::closest;

use crate::decode::{EntryCheck, EntryFault};
use crate::document::LayerContents;
use crate::entry_syntax::GROUP;
use crate::key_path::format_path;
use crate::problem::{Problem, Problems, quoted};
use crate::provenance::{Provenance, Setting};
use crate::variables::with_name;
use crate::{ConfigValue, ListKind, SettingSource, Sourced, ValueKind};

/// An entry of a list that names a group.
struct GroupUse {
    key: String,
    of: ListKind,
    entry: Sourced<String>,
}

/// The entries of all layers that name a group. Collected before the layers are merged, so that none is missed.
pub(crate) struct GroupUses(Vec<GroupUse>);

impl GroupUses {
    pub(crate) fn new(contents: &LayerContents) -> Self {
        let in_lists = contents.settings.iter().flat_map(in_list);
        let matches = contents.hooks.iter().flat_map(|hook| &hook.matches);
        let in_hooks = matches.map(|entry| GroupUse { key: "hooks[].match".into(), of: ListKind::Matchers, entry: entry.clone() });
        Self(in_lists.chain(in_hooks).filter(|used| used.entry.value.starts_with(GROUP)).collect())
    }

    /// Reports every entry that names an unknown group.
    pub(crate) fn check(self, settings: &Provenance, check: Option<EntryCheck<'_>>, problems: &mut Problems) {
        let Some(check) = check else { return };
        let own: Vec<&str> = settings.groups().map(|(name, _)| name).collect();
        for GroupUse { key, of, entry } in self.0 {
            let name = &entry.value[GROUP.len()..];
            if own.contains(&name) {
                continue;
            }
            if let Err(complaint) = check(of, &entry.value) {
                problems.add(|| unknown(&key, &entry, complaint, closest(name, own.iter().copied())));
            }
        }
    }
}

fn in_list(setting: &Setting) -> Vec<GroupUse> {
    let (ValueKind::List(of @ ListKind::Tools), ConfigValue::List(entries)) = (setting.key.kind, &setting.value) else { return Vec::new() };
    entries.iter().map(|entry| GroupUse { key: format_path(&setting.path), of, entry: entry.clone() }).collect()
}

fn unknown(key: &str, entry: &Sourced<String>, complaint: EntryFault, near: Option<&str>) -> Problem {
    let message = format!("'{key}' holds {}: {}", quoted(&entry.value), complaint.message);
    let help = match near {
        Some(near) => format!("did you mean '{GROUP}{near}'?"),
        None => complaint.help.unwrap_or_else(|| "correct it, or make such a group in your own file, in [groups]".into()),
    };
    with_source(&entry.source, Problem::error(entry.source.clone(), message).key(key).help(help))
}

/// Names the variable or the flag in the message.
fn with_source(source: &SettingSource, problem: Problem) -> Problem {
    match &source.name {
        Some(name) => with_name(name, problem),
        None => problem,
    }
}

/// The deepest nesting of groups; less deep than the lookup of tools follows.
const MAX_NESTED: usize = 10;

/// Checks the groups: none has a built-in name, contains itself, or is nested too deep.
pub(crate) fn check(settings: &Provenance, check: Option<EntryCheck<'_>>, problems: &mut Problems) {
    for setting in settings.settings().iter().filter(|setting| setting.path[0] == "groups") {
        let name = &setting.path[1];
        if check.is_some_and(|check| check(ListKind::Tools, &format!("{GROUP}{name}")).is_ok()) {
            let message = format!("the group {} is built in and cannot be made anew", quoted(name));
            let help = "choose another name for it";
            problems.add(|| Problem::error(setting.source.clone(), message).key(format_path(&setting.path)).help(help));
        }
    }
    let mut search = GroupSearch { groups: settings.groups().collect(), chain: Vec::new(), depths: HashMap::new(), problems };
    for (name, _) in settings.groups() {
        search.visit(name);
    }
}

/// A search for cycles and for groups that are nested too deep.
struct GroupSearch<'s, 'p> {
    groups: HashMap<&'s str, &'s [Sourced<String>]>,
    /// The groups from the start of the search to here.
    chain: Vec<&'s str>,
    /// The depth of each group that was searched.
    depths: HashMap<&'s str, usize>,
    problems: &'p mut Problems,
}

impl<'s> GroupSearch<'s, '_> {
    /// The depth of nesting below a group.
    fn visit(&mut self, name: &'s str) -> usize {
        if let Some(depth) = self.depths.get(name) {
            return *depth;
        }
        self.chain.push(name);
        let entries = self.groups.get(name).copied().unwrap_or_default();
        let depth = 1 + entries.iter().map(|entry| self.follow(entry)).max().unwrap_or_default();
        self.chain.pop();
        self.depths.insert(name, depth);
        depth
    }

    fn follow(&mut self, entry: &'s Sourced<String>) -> usize {
        let Some(name) = entry.value.strip_prefix(GROUP).filter(|name| self.groups.contains_key(name)) else { return 0 };
        if let Some(start) = self.chain.iter().position(|known| *known == name) {
            let chain = format!("{} → {name}", self.chain[start..].join(" → "));
            self.problems.add(|| cycle(entry, &chain));
            return 0;
        }
        let depth = self.visit(name);
        if depth == MAX_NESTED {
            self.problems.add(|| too_deep(entry));
        }
        depth
    }
}

fn too_deep(entry: &Sourced<String>) -> Problem {
    let message = format!("more than {MAX_NESTED} groups are inside each other");
    Problem::error(entry.source.clone(), message).key("groups").help("name the tools themselves, or fewer groups")
}

fn cycle(entry: &Sourced<String>, chain: &str) -> Problem {
    let message = format!("the group is part of itself: {chain}");
    Problem::error(entry.source.clone(), message).key("groups").help(format!("remove {} here", quoted(&entry.value)))
}
