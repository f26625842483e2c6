//! Switches tools on and off with the smallest change of the agent's lists.

use haft_config::{AgentEdit, ConfigLayer, Sourced};
use haft_policy::{ConfigEdit, Denial, Verdict};

use super::draft::AgentDraft;
use crate::commands::tools::ListedTool;
use crate::failure::Failure;

const ALLOW: &str = "tools.allow";
const ALSO_ALLOW: &str = "tools.also_allow";
const DENY: &str = "tools.deny";
/// More steps than a policy has.
const MOST_STEPS: usize = 20;

impl AgentDraft<'_> {
    /// Offers a tool: removes its name from the agent's `deny`, or adds it to `allow` or `also_allow`.
    pub(crate) fn switch_on(&mut self, tool: &str) -> Result<(), Failure> {
        for _ in 0..MOST_STEPS {
            let Some(refusal) = self.refusal(tool)? else { return Ok(()) };
            let edit = self.lift(tool, &refusal)?;
            self.change([edit])?;
        }
        Err(Failure::config(format!("'{tool}' cannot be switched on for the agent '{}'", self.agent()))
            .help(format!("`haft explain {tool} --agent {}` shows what removes it", self.agent())))
    }

    /// Stops offering a tool: removes its name from the agent's lists, or else denies it.
    pub(crate) fn switch_off(&mut self, tool: &str) -> Result<(), Failure> {
        let named = [ALSO_ALLOW, ALLOW].into_iter().flat_map(|key| self.removals(key, tool));
        let named: Vec<AgentEdit> = named.collect();
        self.change(named)?;
        if self.is_offered(tool)? {
            self.change([AgentEdit::Add { key: DENY, entry: tool.to_owned() }])?;
        }
        Ok(())
    }

    /// Offers only these.
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

    /// Why a tool cannot be switched on.
    pub(super) fn obstacle(&self, tool: &str) -> Result<Option<String>, Failure> {
        let mut trial = self.trial()?;
        Ok(trial.switch_on(tool).err().map(|failure| failure.message.clone()))
    }

    /// The first refusal of a tool.
    fn refusal(&self, tool: &str) -> Result<Option<(ListedTool, Denial)>, Failure> {
        let listed = self.view()?.tools.into_iter().find(|listed| listed.definition().name == tool);
        Ok(listed.and_then(|listed| {
            let refusal = listed.decision.denial().filter(|_| !listed.is_offered()).cloned()?;
            Some((listed, refusal))
        }))
    }

    /// The change of the agent's table that lifts a refusal; an error if another table causes it.
    fn lift(&self, tool: &str, (listed, refusal): &(ListedTool, Denial)) -> Result<AgentEdit, Failure> {
        let own = format!("agents.{}.", self.agent());
        let entry = || tool.to_owned();
        match refusal.ways.first().and_then(|way| way.first()) {
            // The agent's own entries count for the profile, wherever that is set.
            Some(ConfigEdit::Add { key, owner, .. }) if !owner.of_project && key.ends_with(".also_allow") => {
                Ok(AgentEdit::Add { key: ALSO_ALLOW, entry: entry() })
            }
            Some(ConfigEdit::Add { key, owner, .. }) if !owner.of_project && key.strip_prefix(&own) == Some(ALLOW) => {
                Ok(AgentEdit::Add { key: ALLOW, entry: entry() })
            }
            Some(ConfigEdit::Remove { key, entry, owner })
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

    /// Changes that remove a tool's name from one of the agent's lists in the user's file.
    fn removals(&self, key: &'static str, tool: &str) -> Vec<AgentEdit> {
        let settings = &self.wire().settings.provenance;
        let path: Vec<&str> = ["agents", self.agent()].into_iter().chain(key.split('.')).collect();
        let lists = settings.value_at(&path).lists().iter().flat_map(|list| &list.value);
        let own = |entry: &&Sourced<String>| entry.source.layer == ConfigLayer::User && entry.source.preset.is_none();
        let named = settings.value_at(&path).entries().iter().chain(lists).filter(own).filter(|entry| self.names(&entry.value, tool));
        named.map(|entry| AgentEdit::Remove { key, entry: entry.value.clone() }).collect()
    }

    /// Whether an entry of a list is a name of this tool.
    fn names(&self, entry: &str, tool: &str) -> bool {
        self.wire().policy.vocabulary().canonical(entry.trim()) == Some(tool)
    }
}
