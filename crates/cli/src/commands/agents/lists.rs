//! A tool is switched on or off with the smallest change of the agent's lists.

use haft_config::{AgentEdit, Layer, Sourced};
use haft_engine::{Change, Refusal, Verdict};

use super::draft::Draft;
use crate::commands::tools::Listed;
use crate::failure::Failure;

const ALLOW: &str = "tools.allow";
const ALSO_ALLOW: &str = "tools.also_allow";
const DENY: &str = "tools.deny";
/// More steps than can remove a tool.
const MOST_STEPS: usize = 20;

impl Draft<'_> {
    /// Offers a tool: takes its name out of the agent's denials, or adds it to what its profile and its list leave.
    pub(super) fn switch_on(&mut self, tool: &str) -> Result<(), Failure> {
        for _ in 0..MOST_STEPS {
            let Some(refusal) = self.refusal(tool)? else { return Ok(()) };
            let edit = self.lifting(tool, &refusal)?;
            self.change([edit])?;
        }
        Err(Failure::config(format!("'{tool}' cannot be switched on for the agent '{}'", self.agent()))
            .help(format!("`haft explain {tool} --agent {}` says what removes it", self.agent())))
    }

    /// Stops offering a tool: takes its name out of what the agent has by name, or else denies it.
    pub(super) fn switch_off(&mut self, tool: &str) -> Result<(), Failure> {
        let named = [ALSO_ALLOW, ALLOW].into_iter().flat_map(|key| self.naming(key, tool));
        let named: Vec<AgentEdit> = named.collect();
        self.change(named)?;
        if self.is_offered(tool)? {
            self.change([AgentEdit::Add { key: DENY, entry: tool.to_owned() }])?;
        }
        Ok(())
    }

    /// Offers these and nothing else.
    pub(super) fn only(&mut self, entries: &[String]) -> Result<(), Failure> {
        let set = AgentEdit::SetList { key: ALLOW, entries: entries.to_vec() };
        self.change([AgentEdit::Unset { key: ALSO_ALLOW }, set])?;
        let registry = &self.wire().registry;
        let named: Vec<String> = entries.iter().filter_map(|entry| Some(registry.get(entry)?.definition().name.to_string())).collect();
        named.iter().try_for_each(|tool| self.switch_on(tool))
    }

    /// Denies a tool that this build does not have.
    pub(super) fn deny(&mut self, tool: &str) -> Result<(), Failure> {
        self.change([AgentEdit::Add { key: DENY, entry: tool.to_owned() }])
    }

    pub(super) fn is_offered(&self, tool: &str) -> Result<bool, Failure> {
        Ok(self.view()?.tools.iter().any(|listed| listed.definition().name == tool && listed.decision.verdict != Verdict::Deny))
    }

    /// Why it could not be switched on, if it could not.
    pub(super) fn obstacle(&self, tool: &str) -> Result<Option<String>, Failure> {
        let mut trial = self.trial()?;
        Ok(trial.switch_on(tool).err().map(|failure| failure.message.clone()))
    }

    /// The first thing that stands against a tool.
    fn refusal(&self, tool: &str) -> Result<Option<(Listed, Refusal)>, Failure> {
        let found = self.view()?.tools.into_iter().find(|listed| listed.definition().name == tool);
        Ok(found.and_then(|listed| {
            let refusal = listed.decision.refusal().filter(|_| !listed.is_offered()).cloned()?;
            Some((listed, refusal))
        }))
    }

    /// The change of the agent's table that takes the obstacle away. What stands elsewhere is not the agent's to change.
    fn lifting(&self, tool: &str, (listed, refusal): &(Listed, Refusal)) -> Result<AgentEdit, Failure> {
        let own = format!("agents.{}.", self.agent());
        let entry = || tool.to_owned();
        match &refusal.to_change {
            // The agent's own entries count for the profile, wherever that is set.
            Some(Change::Add { key, owner, .. }) if !owner.of_project && key.ends_with(".also_allow") => {
                Ok(AgentEdit::Add { key: ALSO_ALLOW, entry: entry() })
            }
            Some(Change::Add { key, owner, .. }) if !owner.of_project && key.strip_prefix(&own) == Some(ALLOW) => {
                Ok(AgentEdit::Add { key: ALLOW, entry: entry() })
            }
            Some(Change::Remove { key, entry, owner })
                if !owner.of_project && key.strip_prefix(&own) == Some(DENY) && self.names(entry, tool) =>
            {
                Ok(AgentEdit::Remove { key: DENY, entry: entry.clone() })
            }
            change => {
                let why = listed.reason().unwrap_or_else(|| refusal.message.clone());
                let failure = Failure::config(format!("'{tool}' cannot be switched on for the agent '{}': it is {why}", self.agent()));
                Err(match change {
                    Some(change) => failure.help(change.to_string()),
                    None => failure,
                })
            }
        }
    }

    /// The changes that take a tool's name out of one of the agent's lists in the person's file.
    fn naming(&self, key: &'static str, tool: &str) -> Vec<AgentEdit> {
        let settings = &self.wire().settings.provenance;
        let path: Vec<&str> = ["agents", self.agent()].into_iter().chain(key.split('.')).collect();
        let lists = settings.lists_at(&path).iter().flat_map(|list| &list.value);
        let own = |entry: &&Sourced<String>| entry.source.layer == Layer::User && entry.source.preset.is_none();
        let named = settings.entries_at(&path).iter().chain(lists).filter(own).filter(|entry| self.names(&entry.value, tool));
        named.map(|entry| AgentEdit::Remove { key, entry: entry.value.clone() }).collect()
    }

    /// Whether an entry of a list is this tool's name, or another that it goes by, and nothing else.
    fn names(&self, entry: &str, tool: &str) -> bool {
        self.wire().policy.vocabulary().canonical(entry.trim()) == Some(tool)
    }
}
