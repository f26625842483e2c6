//! What a server allows in work that it gives away. A worker takes it together with its own configuration: what either refuses is refused.

use std::collections::BTreeMap;

use haft_contract::{Access, TurnLimit};
use haft_engine::SessionBuilder;
use haft_policy::{AllowList, ListEntry, RuleLists};
use serde::{Deserialize, Serialize};

use super::Wire;
use crate::failure::Failure;

/// The limits of work.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WorkLimits {
    access: Access,
    /// The tools that the agent is offered there.
    tools: Vec<String>,
    deny: Vec<String>,
    ask: Vec<String>,
    only: Vec<Vec<String>>,
    /// The labels that workers need, by the agents that have one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
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

impl Wire {
    /// Refuses to work as an agent here whose work is for other workers: sub-agents run where the turn does that starts them.
    pub(super) fn check_label(&self, agent: &str) -> Result<(), Failure> {
        let label = self.limits.as_ref().and_then(|limits| limits.labels.get(agent));
        match label.filter(|label| self.served.as_ref().is_some_and(|served| !served.labels.contains(*label))) {
            None => Ok(()),
            Some(label) => {
                let message = format!("the agent '{agent}' needs a worker with the label '{label}', and this turn runs on one without it");
                let help = format!(
                    "a turn runs on one worker, which is chosen by the label of its agent: the user can talk to '{agent}' in a session of \
                     its own, or start this worker with --labels {label}"
                );
                Err(Failure::usage(message).help(help))
            }
        }
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
                labels: self.agents().into_iter().filter_map(|agent| Some((agent.clone(), self.label_of(&agent)?.to_owned()))).collect(),
            })
        }

        /// The label that workers need for work of this agent.
        pub(crate) fn worker_label(&self) -> Option<&str> {
            self.label_of(&self.settings.agent)
        }

        fn label_of(&self, agent: &str) -> Option<&str> {
            self.settings.provenance.value_at(&["agents", agent, "worker", "label"]).as_text()
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
