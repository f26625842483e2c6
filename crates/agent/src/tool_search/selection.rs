//! Selects the tools that a request shows, where a model cannot take all of them.

use std::collections::HashSet;
use std::sync::Arc;

use haft_contract::{Dialect, ToolSource};
use haft_engine::ToolEntry;
use haft_provider::{Model, OfferedTool};
use haft_text::truncate::ellipsize;

use super::{DisclosedTools, NAME};
use crate::context_budget::{BYTES_PER_TOKEN, shown_bytes};

/// How many tools a warning names before it only counts.
const LISTED_NAMES: usize = 5;
/// Characters of the line on a tool that is not shown.
const LINE_CHARS: usize = 60;
/// How much of the window the tools that come with Haft may take.
const BUILT_IN_PERCENT: usize = 40;
/// Older gateways refuse longer descriptions.
const MAX_DESCRIPTION: usize = 1_024;

/// The tools that a model is shown of those that the policy offers: first those that are not deferred, in the order of
/// registration, then the disclosed ones. Where the model does not take all, disclosed ones take precedence, and `tool_search`
/// stays, which names the others. The second part is a warning to the user about tools that are not shown.
pub fn visible_tools(
    offered: &[Arc<ToolEntry>],
    dialect: Dialect,
    model: &Model,
    disclosed: &DisclosedTools,
) -> (Vec<OfferedTool>, Option<String>) {
    let window = usize::try_from(model.context_window).unwrap_or(usize::MAX);
    let budget = window / 100 * usize::try_from(disclosed.budget_percent()).unwrap_or(100);
    let beyond = beyond_budget(offered, dialect, budget, window / 100 * BUILT_IN_PERCENT);
    let selection = ToolSelection::make(offered, model.max_tools, &disclosed.names(), &beyond);
    disclosed.set_shown(selection.shown.iter().map(|entry| entry.name().to_owned()).collect(), selection.hidden.len());
    let warning = selection.warning(model);
    let specs =
        selection.shown.iter().map(|entry| if entry.name() == NAME { selection.search_spec(entry, dialect) } else { spec(entry, dialect) });
    (specs.collect(), warning)
}

/// About how many tokens the description of a tool takes in every request.
pub fn tool_tokens(entry: &ToolEntry, dialect: Dialect) -> usize {
    shown_bytes(&spec(entry, dialect)).div_ceil(BYTES_PER_TOKEN)
}

/// The tokens of a text, estimated as everywhere.
pub fn text_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// The tools for which there is no space: those that come with Haft are counted first, and have a budget of their own, so that a model
/// with a small window keeps space for the conversation.
fn beyond_budget(offered: &[Arc<ToolEntry>], dialect: Dialect, budget: usize, built_in: usize) -> HashSet<&str> {
    let is_built_in = |entry: &&ToolEntry| *entry.source() == ToolSource::BuiltIn;
    let (core, others): (Vec<&ToolEntry>, Vec<&ToolEntry>) = offered.iter().map(|entry| &**entry).partition(is_built_in);
    let (search, core): (Vec<&ToolEntry>, Vec<&ToolEntry>) = core.into_iter().partition(|entry| entry.name() == NAME);
    let mut used: usize = search.iter().map(|entry| tool_tokens(entry, dialect)).sum();
    let mut beyond = HashSet::new();
    for entry in core.into_iter().filter(|entry| !entry.definition().deferred) {
        let tokens = tool_tokens(entry, dialect);
        if used.saturating_add(tokens) > built_in {
            beyond.insert(entry.name());
        } else {
            used += tokens;
        }
    }
    let mut fits = |entry: &&ToolEntry| {
        used = used.saturating_add(tool_tokens(entry, dialect));
        used <= budget
    };
    beyond.extend(others.into_iter().filter(|entry| !fits(entry)).map(ToolEntry::name));
    beyond
}

/// The tools that are shown, and those that are not.
struct ToolSelection<'a> {
    shown: Vec<&'a ToolEntry>,
    hidden: Vec<&'a ToolEntry>,
    can_search: bool,
    /// Tools for which the budget has no space.
    beyond: &'a HashSet<&'a str>,
}

impl<'a> ToolSelection<'a> {
    fn make(offered: &'a [Arc<ToolEntry>], most: usize, found: &[String], beyond: &'a HashSet<&'a str>) -> Self {
        let (search, others): (Vec<&ToolEntry>, Vec<&ToolEntry>) =
            offered.iter().map(|entry| &**entry).partition(|entry| entry.name() == NAME);
        let chosen = choose_names(&others, most, found, beyond);
        // All fit, so there is nothing to search for.
        if chosen.len() == others.len() {
            return Self { shown: in_order(&others, &chosen, found, beyond), hidden: Vec::new(), can_search: !search.is_empty(), beyond };
        }
        let chosen = choose_names(&others, most.saturating_sub(search.len()), found, beyond);
        let with_search: HashSet<&str> = chosen.iter().copied().chain(search.iter().map(|entry| entry.name())).collect();
        let all: Vec<&ToolEntry> = offered.iter().map(|entry| &**entry).collect();
        let mut shown = in_order(&all, &with_search, found, beyond);
        shown.truncate(most);
        let hidden = others.into_iter().filter(|entry| !chosen.contains(entry.name())).collect();
        Self { shown, hidden, can_search: !search.is_empty() && most > 0, beyond }
    }

    fn warning(&self, model: &Model) -> Option<String> {
        let omitted: Vec<&str> = self.hidden.iter().filter(|entry| !is_deferred(entry, self.beyond)).map(|entry| entry.name()).collect();
        let (count, deferred) = (omitted.len(), self.hidden.len() - omitted.len());
        let search = if self.can_search { "tool_search finds them" } else { "allow tool_search, and the model can find them" };
        if count > 0 {
            let mut names = omitted[..count.min(LISTED_NAMES)].to_vec();
            names.extend((count > LISTED_NAMES).then_some("…"));
            let (model, most) = (&model.name, model.max_tools);
            return Some(format!("{model} takes {most} tools at most: {count} are not shown ({}); {search}", names.join(", ")));
        }
        (deferred > 0 && !self.can_search).then(|| format!("{deferred} tools are not shown before they are searched for; {search}"))
    }

    /// `tool_search` names the hidden tools, as far as its description has space.
    fn search_spec(&self, entry: &ToolEntry, dialect: Dialect) -> OfferedTool {
        let mut spec = spec(entry, dialect);
        if self.hidden.iter().any(|hidden| self.beyond.contains(hidden.name())) {
            let lines = self.hidden.iter().map(|hidden| {
                let about = hidden.definition().description.lines().next().unwrap_or_default();
                format!("\n{}: {}", hidden.definition().name_in(dialect), ellipsize(about, LINE_CHARS))
            });
            let lines: String = lines.collect();
            if spec.description.len() + lines.len() + 16 < MAX_DESCRIPTION {
                spec.description.push_str(" Not shown:");
                spec.description.push_str(&lines);
                return spec;
            }
        }
        spec.description.push_str(" Not shown: ");
        for (index, hidden) in self.hidden.iter().enumerate() {
            let (name, comma) = (hidden.definition().name_in(dialect), if index == 0 { "" } else { ", " });
            let rest = format!(" and {} more", self.hidden.len() - index);
            if spec.description.len() + comma.len() + name.len() + rest.len() >= MAX_DESCRIPTION {
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

/// The names of the tools that fit: disclosed ones, the newest first, then the others in the order of registration.
fn choose_names<'a>(tools: &[&'a ToolEntry], most: usize, found: &[String], beyond: &HashSet<&str>) -> HashSet<&'a str> {
    let found = found.iter().rev().filter_map(|name| tools.iter().find(|entry| entry.name() == name));
    let others = tools.iter().filter(|entry| !is_deferred(entry, beyond));
    let mut chosen = HashSet::new();
    for entry in found.chain(others) {
        if chosen.len() == most {
            break;
        }
        chosen.insert(entry.name());
    }
    chosen
}

/// The tools in the order of the request. A new one comes last, so that a provider's cache of the others stays valid.
fn in_order<'a>(tools: &[&'a ToolEntry], chosen: &HashSet<&str>, found: &[String], beyond: &HashSet<&str>) -> Vec<&'a ToolEntry> {
    let (deferred, others): (Vec<&ToolEntry>, Vec<&ToolEntry>) =
        tools.iter().filter(|entry| chosen.contains(entry.name())).partition(|entry| is_deferred(entry, beyond));
    let found = found.iter().filter_map(|name| deferred.iter().find(|entry| entry.name() == name));
    others.into_iter().chain(found.copied()).collect()
}

/// Whether a tool is shown only when it was searched for.
fn is_deferred(entry: &ToolEntry, beyond: &HashSet<&str>) -> bool {
    entry.definition().deferred || beyond.contains(entry.name())
}

fn spec(entry: &ToolEntry, dialect: Dialect) -> OfferedTool {
    let definition = entry.definition();
    OfferedTool {
        name: definition.name_in(dialect).to_owned(),
        description: definition.description_in(dialect).to_owned(),
        parameters: definition.offered_parameters(dialect),
    }
}
