//! Which tools a request shows, where a model cannot take all of them.

use std::collections::HashSet;
use std::sync::Arc;

use haft_contract::Dialect;
use haft_engine::Entry;
use haft_provider::{Model, ToolSpec};

use super::{NAME, Revealed};

/// How many tools a warning names before it only counts.
const NAMED: usize = 5;
/// Older gateways refuse longer descriptions.
const LONGEST_DESCRIPTION: usize = 1_024;

/// What a model is shown of the tools that the policy offers, in this order: those that are always shown, as they were
/// registered, then those that were found by searching. Where there is no room for all, what was found comes first, and
/// `tool_search` stays, which names the others. The second part is what a person should know of tools that are not shown.
pub fn shown(offered: &[Arc<Entry>], dialect: Dialect, model: &Model, revealed: &Revealed) -> (Vec<ToolSpec>, Option<String>) {
    let choice = Choice::make(offered, model.max_tools, &revealed.names());
    revealed.set_shown(choice.shown.iter().map(|entry| entry.name().to_owned()).collect());
    let warning = choice.warning(model);
    let specs =
        choice.shown.iter().map(|entry| if entry.name() == NAME { choice.search_spec(entry, dialect) } else { spec(entry, dialect) });
    (specs.collect(), warning)
}

/// What is shown, and what is not.
struct Choice<'a> {
    shown: Vec<&'a Entry>,
    hidden: Vec<&'a Entry>,
    can_search: bool,
}

impl<'a> Choice<'a> {
    fn make(offered: &'a [Arc<Entry>], most: usize, found: &[String]) -> Self {
        let (search, others): (Vec<&Entry>, Vec<&Entry>) = offered.iter().map(|entry| &**entry).partition(|entry| entry.name() == NAME);
        let chosen = chosen(&others, most, found);
        // What is shown fits, and there is nothing to search for.
        if chosen.len() == others.len() {
            return Self { shown: in_order(&others, &chosen, found), hidden: Vec::new(), can_search: !search.is_empty() };
        }
        let chosen = self::chosen(&others, most.saturating_sub(search.len()), found);
        let with_search: HashSet<&str> = chosen.iter().copied().chain(search.iter().map(|entry| entry.name())).collect();
        let all: Vec<&Entry> = offered.iter().map(|entry| &**entry).collect();
        let mut shown = in_order(&all, &with_search, found);
        shown.truncate(most);
        let hidden = others.into_iter().filter(|entry| !chosen.contains(entry.name())).collect();
        Self { shown, hidden, can_search: !search.is_empty() && most > 0 }
    }

    fn warning(&self, model: &Model) -> Option<String> {
        let no_room: Vec<&str> = self.hidden.iter().filter(|entry| !entry.definition().deferred).map(|entry| entry.name()).collect();
        let (count, deferred) = (no_room.len(), self.hidden.len() - no_room.len());
        let search = if self.can_search { "tool_search finds them" } else { "allow tool_search, and the model can find them" };
        if count > 0 {
            let mut names = no_room[..count.min(NAMED)].to_vec();
            names.extend((count > NAMED).then_some("…"));
            let (model, most) = (&model.name, model.max_tools);
            return Some(format!("{model} takes {most} tools at most: {count} are not shown ({}); {search}", names.join(", ")));
        }
        (deferred > 0 && !self.can_search).then(|| format!("{deferred} tools are not shown before they are searched for; {search}"))
    }

    /// The search itself names what it can find, as far as there is room.
    fn search_spec(&self, entry: &Entry, dialect: Dialect) -> ToolSpec {
        let mut spec = spec(entry, dialect);
        spec.description.push_str(" Not shown: ");
        for (place, hidden) in self.hidden.iter().enumerate() {
            let (name, comma) = (hidden.definition().name_in(dialect), if place == 0 { "" } else { ", " });
            let rest = format!(" and {} more", self.hidden.len() - place);
            if spec.description.len() + comma.len() + name.len() + rest.len() >= LONGEST_DESCRIPTION {
                spec.description.push_str(&rest);
                break;
            }
            spec.description.push_str(comma);
            spec.description.push_str(name);
        }
        spec.description.push('.');
        spec
    }
}

/// The names of those that there is room for: what was found, the newest first, then the others as they were registered.
fn chosen<'a>(tools: &[&'a Entry], most: usize, found: &[String]) -> HashSet<&'a str> {
    let found = found.iter().rev().filter_map(|name| tools.iter().find(|entry| entry.name() == name));
    let others = tools.iter().filter(|entry| !entry.definition().deferred);
    let mut chosen = HashSet::new();
    for entry in found.chain(others) {
        if chosen.len() == most {
            break;
        }
        chosen.insert(entry.name());
    }
    chosen
}

/// As they are sent. A new one stands behind the others, so that what a provider has cached of them stays good.
fn in_order<'a>(tools: &[&'a Entry], chosen: &HashSet<&str>, found: &[String]) -> Vec<&'a Entry> {
    let (deferred, others): (Vec<&Entry>, Vec<&Entry>) =
        tools.iter().filter(|entry| chosen.contains(entry.name())).partition(|entry| entry.definition().deferred);
    let found = found.iter().filter_map(|name| deferred.iter().find(|entry| entry.name() == name));
    others.into_iter().chain(found.copied()).collect()
}

fn spec(entry: &Entry, dialect: Dialect) -> ToolSpec {
    let shown = entry.definition().in_dialect(dialect);
    ToolSpec { name: shown.name.to_owned(), description: shown.description.to_owned(), parameters: shown.parameters.into_owned() }
}
