//! Named sets of tools to start from.

use crate::catalog::in_profile;
use crate::list::List;
use crate::steps::{Lists, unavailable};
use crate::{Candidate, ConfigEdit, Decision, ListEntry, ToolLists};

/// The profiles that one table asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Profiles {
    /// The table, as in `agents.coder.tools`.
    key: String,
    asked: Vec<ListEntry>,
}

impl Profiles {
    pub(crate) fn from_lists(key: impl Into<String>, lists: &ToolLists) -> Self {
        Self { key: key.into(), asked: lists.profiles.clone() }
    }
    /// Whether the user asks for one here.
    fn is_chosen(&self) -> bool {
        self.asked.iter().any(|profile| !profile.of_project)
    }
}

/// A tool must be in the agent's profile, or else in the general one; what a project asks for comes on top of both.
pub(crate) fn profile(
    decision: &mut Decision,
    step: &'static str,
    tool: &Candidate<'_>,
    [agent, general]: [&[&Profiles]; 2],
    also_allow: &[&List],
) {
    let replaced = agent.iter().any(|profiles| profiles.is_chosen());
    let all = agent.iter().map(|profiles| (profiles, true)).chain(general.iter().map(|profiles| (profiles, !replaced)));
    for (profiles, counts) in all {
        for profile in profiles.asked.iter().filter(|profile| profile.of_project || counts) {
            profiles.require(profile, decision, step, tool, also_allow);
        }
    }
}

/// A tool that its plugin calls optional is in no profile: the user must name it, its plugin or their group.
pub(crate) fn optional<'a>(decision: &mut Decision, tool: &Candidate<'_>, tables: impl Iterator<Item = &'a Lists>) {
    const STEP: &str = "profile";
    if !tool.definition.optional {
        return;
    }
    let tables: Vec<&Lists> = tables.collect();
    if let Some((key, entry)) = tables.iter().find_map(|lists| Some((lists.key(), lists.also_allow().find(tool)?))) {
        decision.pass(STEP, format!("optional, and {key}.also_allow has {}", entry.pattern));
        return decision.set_span(&entry.span);
    }
    if let Some(lists) = tables.iter().find(|lists| lists.lifts(tool.name())) {
        return decision.pass(STEP, format!("optional, and {}.allow names it", lists.key()));
    }
    let change = ConfigEdit::add("tools.also_allow".to_owned(), tool.name());
    decision.deny(STEP, "optional, and not in tools.also_allow", unavailable(tool, STEP, vec![change]));
}

impl Profiles {
    fn require(&self, profile: &ListEntry, decision: &mut Decision, step: &'static str, tool: &Candidate<'_>, also_allow: &[&List]) {
        let name = &profile.pattern;
        if in_profile(tool.definition, name) {
            decision.pass(step, ["in profile ", name].concat());
            return decision.set_span(&profile.span);
        }
        let added = also_allow.iter().find_map(|list| list.find(tool)).filter(|_| !profile.of_project);
        if let Some(entry) = added {
            decision.pass(step, ["also_allow ", &entry.pattern].concat());
            return decision.set_span(&entry.span);
        }
        let change = if profile.of_project {
            ConfigEdit::remove(format!("{}.profile", self.key), profile)
        } else {
            ConfigEdit::add(format!("{}.also_allow", self.key), tool.name())
        };
        decision.deny(step, format!("not in profile {name}"), unavailable(tool, step, vec![change]));
        decision.set_span(&profile.span);
    }
}
