//! The tables of lists that a policy has: one for everyone, for each provider and each agent, and how they are compiled.

use crate::catalog::Vocabulary;
use crate::list::Groups;
use crate::rule::RuleSet;
use crate::steps::{ByProvider, Lists, Overrides, Profiles};
use crate::{AgentSpec, ToolLists};

/// One table of lists with its profiles.
#[derive(Debug, Clone)]
pub(super) struct ToolTable {
    pub(super) profiles: Profiles,
    pub(super) lists: Lists,
}

impl Overrides for ToolTable {
    fn overrides(&self) -> bool {
        self.lists.overrides()
    }
}

#[derive(Debug, Clone)]
pub(super) struct AgentPolicy {
    pub(super) table: ToolTable,
    pub(super) by_provider: ByProvider<ToolTable>,
    /// Those for everyone, and its own.
    pub(super) rules: RuleSet,
    /// Its own alone: an agent that it starts has those that restrict, too.
    pub(super) own_rules: RuleSet,
}

/// Compiles the tables of a configuration.
pub(super) struct Compiler<'a> {
    pub(super) groups: &'a Groups,
    pub(super) vocabulary: &'a Vocabulary,
}

impl Compiler<'_> {
    fn table(&self, key: String, lists: &ToolLists) -> ToolTable {
        ToolTable { profiles: Profiles::from_lists(key.clone(), lists), lists: Lists::compile(key, lists, self.groups, self.vocabulary) }
    }

    pub(super) fn provided(&self, key: &str, tables: &[(String, ToolLists)]) -> ByProvider<ToolTable> {
        let table =
            |(provider, lists): &(String, ToolLists)| (provider.clone(), self.table(format!("{key}.by_provider.\"{provider}\""), lists));
        ByProvider::new(tables.iter().map(table))
    }

    pub(super) fn agent(&self, name: &str, spec: &AgentSpec, rules: RuleSet, own_rules: RuleSet) -> AgentPolicy {
        let key = format!("agents.{name}.tools");
        AgentPolicy { by_provider: self.provided(&key, &spec.by_provider), table: self.table(key, &spec.tools), rules, own_rules }
    }
}
