//! Groups that the person makes, and entries that name a group.

use std::collections::HashMap;

use crate::decode::{Check, Complaint};
use crate::document::Contents;
use crate::problem::{Problem, Problems};
use crate::provenance::{Provenance, Setting};
use crate::shape::GROUP;
use crate::suggest::nearest;
use crate::text::quoted;
use crate::variables::named;
use crate::{Kind, ListOf, Source, Sourced, Value, path};

/// An entry of a list that names a group.
struct Use {
    key: String,
    of: ListOf,
    entry: Sourced<String>,
}

/// The entries of all layers that name a group. Read before the layers are put together, so that none is missed.
pub(crate) struct Uses(Vec<Use>);

impl Uses {
    pub(crate) fn of(found: &Contents) -> Self {
        let in_lists = found.settings.iter().flat_map(in_list);
        let matches = found.hooks.iter().flat_map(|hook| &hook.matches);
        let in_hooks = matches.map(|entry| Use { key: "hooks[].match".into(), of: ListOf::Matchers, entry: entry.clone() });
        Self(in_lists.chain(in_hooks).filter(|used| used.entry.value.starts_with(GROUP)).collect())
    }

    /// Notes every entry that names a group which neither the person made nor the program knows.
    pub(crate) fn judge(self, settings: &Provenance, check: Option<Check<'_>>, problems: &mut Problems) {
        let Some(check) = check else { return };
        let own: Vec<&str> = settings.groups().map(|(name, _)| name).collect();
        for Use { key, of, entry } in self.0 {
            let name = &entry.value[GROUP.len()..];
            if own.contains(&name) {
                continue;
            }
            if let Err(complaint) = check(of, &entry.value) {
                problems.add(|| unknown(&key, &entry, complaint, nearest(name, own.iter().copied())));
            }
        }
    }
}

fn in_list(setting: &Setting) -> Vec<Use> {
    let (Kind::List(of @ ListOf::Tools), Value::List(entries)) = (setting.key.kind, &setting.value) else { return Vec::new() };
    entries.iter().map(|entry| Use { key: path::written(&setting.path), of, entry: entry.clone() }).collect()
}

fn unknown(key: &str, entry: &Sourced<String>, complaint: Complaint, near: Option<&str>) -> Problem {
    let message = format!("'{key}' holds {}: {}", quoted(&entry.value), complaint.message);
    let help = match near {
        Some(near) => format!("did you mean '{GROUP}{near}'?"),
        None => complaint.help.unwrap_or_else(|| "correct it, or make such a group in your own file, in [groups]".into()),
    };
    placed(&entry.source, Problem::error(entry.source.clone(), message).key(key).help(help))
}

/// There is no line to point at in a variable or a flag, so the message names it.
fn placed(source: &Source, problem: Problem) -> Problem {
    match &source.name {
        Some(name) => named(name, problem),
        None => problem,
    }
}

/// Deeper than anyone nests groups, and not as deep as they are followed when tools are looked up.
const MAX_NESTED: usize = 10;

/// Judges the groups themselves: none has a name that the program uses, none is part of itself, and none is too deep.
pub(crate) fn judge(settings: &Provenance, check: Option<Check<'_>>, problems: &mut Problems) {
    for setting in settings.settings().iter().filter(|setting| setting.path[0] == "groups") {
        let name = &setting.path[1];
        if check.is_some_and(|check| check(ListOf::Tools, &format!("{GROUP}{name}")).is_ok()) {
            let message = format!("the group {} is built in and cannot be made anew", quoted(name));
            let help = "choose another name for it";
            problems.add(|| Problem::error(setting.source.clone(), message).key(path::written(&setting.path)).help(help));
        }
    }
    let mut search = Search { groups: settings.groups().collect(), chain: Vec::new(), depths: HashMap::new(), problems };
    for (name, _) in settings.groups() {
        search.visit(name);
    }
}

/// A search for groups that are part of themselves or too deep. No deeper than there are groups, of which there are few.
struct Search<'s, 'p> {
    groups: HashMap<&'s str, &'s [Sourced<String>]>,
    /// The groups from where the search began to where it is.
    chain: Vec<&'s str>,
    /// How many groups are inside each other in those that were searched.
    depths: HashMap<&'s str, usize>,
    problems: &'p mut Problems,
}

impl<'s> Search<'s, '_> {
    /// How many groups are inside each other here.
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
