//! What a server allows in work that it gives away. A worker takes it together with its own configuration: what either refuses is refused.

use haft_contract::{Access, TurnLimit};
use haft_engine::SessionBuilder;
use haft_policy::{AllowList, ListEntry, RuleLists};
use serde::{Deserialize, Serialize};

/// The limits of work.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WorkLimits {
    access: Access,
    /// The tools that the agent is offered there.
    tools: Vec<String>,
    deny: Vec<String>,
    ask: Vec<String>,
    only: Vec<Vec<String>>,
}

impl WorkLimits {
    pub(super) fn restrict(&self, session: SessionBuilder) -> SessionBuilder {
        let tools = TurnLimit::new(self.tools.clone(), "the server that gave the work");
        session.access_at_most(self.access).limited(tools)
    }

    /// Its rules; none of them allows anything.
    pub(super) fn rules(&self) -> RuleLists {
        let entries = |list: &[String]| list.iter().cloned().map(ListEntry::new).collect();
        let only = self.only.iter().map(|list| AllowList { entries: entries(list), ..AllowList::default() }).collect();
        RuleLists { deny: entries(&self.deny), ask: entries(&self.ask), only, ..RuleLists::default() }
    }
}

#[cfg(feature = "postgres")]
mod given {
    use std::sync::Arc;

    use haft_config::Sourced;
    use haft_policy::{Policy, Verdict};

    use super::WorkLimits;
    use crate::arguments::CallerArgs;
    use crate::failure::Failure;
    use crate::wire::{Prompts, Wire, policy};

    impl Wire {
        /// The limits of work of this agent.
        pub(crate) fn work_limits(&self) -> Result<WorkLimits, Failure> {
            let agent = &self.settings.agent;
            let session = self.listing(agent, &CallerArgs::default())?;
            let is_offered = |verdict: Verdict| verdict != Verdict::Deny;
            let entries = self.registry.entries();
            let offered = entries.iter().filter(|entry| is_offered(self.policy.offer(&entry.candidate(), session.caller()).verdict));
            let settings = &self.settings.provenance;
            let tables: [&[&str]; 2] = [&["rules"], &["agents", agent, "rules"]];
            let texts = |entries: &[Sourced<String>]| entries.iter().map(|entry| entry.value.clone()).collect::<Vec<_>>();
            let listed = |name: &str| {
                tables.iter().flat_map(|table| texts(settings.value_at(&[*table, &[name]].concat()).entries())).collect::<Vec<_>>()
            };
            let only = tables.iter().flat_map(|table| {
                let lists = settings.value_at(&[*table, &["only"]].concat()).lists();
                lists.iter().map(|list| texts(&list.value)).collect::<Vec<_>>()
            });
            Ok(WorkLimits {
                access: session.access(),
                tools: offered.map(|entry| entry.name().to_owned()).collect(),
                deny: listed("deny"),
                ask: listed("ask"),
                only: only.collect(),
            })
        }

        /// The label that workers need for work of this agent.
        pub(crate) fn worker_label(&self) -> Option<&str> {
            self.settings.provenance.value_at(&["agents", &self.settings.agent, "worker", "label"]).as_text()
        }

        /// The same, for work with these limits.
        pub(crate) fn limited_by(mut self, limits: WorkLimits) -> Result<Self, Failure> {
            self.policy = policy::policy(&self.settings.config, &self.settings.provenance, &self.registry, limits.rules())?;
            self.prompts = Arc::new(Prompts::new(&self.settings, &self.policy, &self.registry));
            self.limits = Some(Arc::new(limits));
            Ok(self)
        }
    }
}
