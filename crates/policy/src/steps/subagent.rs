//! What an agent may not use because another agent started it.

use crate::catalog::Vocabulary;
use crate::list::Groups;
use crate::steps::defaults::{LEAF_DENY, SUBAGENT_DENY};
use crate::steps::{Lists, Profiles, profile, unavailable};
use crate::{Caller, Candidate, ConfigEdit, Decision, ToolLists};

const STEP: &str = "sub-agent";

/// The profile and lists of sub-agents, on top of what they never had.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubAgentStep {
    profiles: Profiles,
    lists: Lists,
    max_depth: u32,
}

impl SubAgentStep {
    pub(crate) fn compile(lists: &ToolLists, max_depth: u32, groups: &Groups, vocabulary: &Vocabulary) -> Self {
        const KEY: &str = "subagents.tools";
        Self { profiles: Profiles::from_lists(KEY, lists), lists: Lists::compile(KEY, lists, groups, vocabulary), max_depth }
    }

    pub(crate) fn apply(&self, decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
        self.default(decision, tool, caller);
        if caller.depth > 0 {
            profile(decision, STEP, tool, [&[&self.profiles], &[]], &[self.lists.also_allow()]);
            self.lists.apply(decision, STEP, tool);
        }
    }

    fn default(&self, decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
        let name = tool.name();
        let always = caller.depth > 0 && SUBAGENT_DENY.contains(&name);
        let leaf = LEAF_DENY.contains(&name) && caller.depth >= self.max_depth;
        if !always && !leaf {
            return;
        }
        if self.lists.lifts(name) {
            return decision.pass(STEP, format!("named in {}", self.lists.key()));
        }
        let why = if always { "not for sub-agents by default" } else { "an agent this deep may not start others" };
        let change = ConfigEdit::add(format!("{}.also_allow", self.lists.key()), name);
        decision.deny(STEP, why, unavailable(tool, STEP, vec![change]));
    }
}
