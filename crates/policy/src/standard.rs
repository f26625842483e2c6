//! The one decision function: what is offered, what may run, what `explain` prints and what history keeps.

use std::collections::HashMap;
use std::path::PathBuf;

use haft_contract::{ErrorKind, Plan};

use crate::catalog::Vocabulary;
use crate::list::{Groups, List};
use crate::name::folded;
use crate::steps::{Channels, Lists, Profiles, Provided, SubAgents, owner_only, profile, sandbox, selection, unavailable};
use crate::{
    AgentSpec, AskMode, Caller, Candidate, Change, Decision, PolicySpec, Refusal, RuleFault, RuleKind, RuleSet, ToolLists, Verdict,
    canonical, effects,
};

/// Decides. Steps run in order, and each can only tighten.
pub trait Policy: Send + Sync {
    /// Whether the tool is offered to this caller at all.
    fn offer(&self, tool: &Candidate<'_>, caller: &Caller) -> Decision;
    /// Goes on from [`Policy::offer`]: whether a call with these effects may run.
    fn permit(&self, offered: Decision, tool: &Candidate<'_>, plan: &Plan, caller: &Caller) -> Decision;
    /// Both at once.
    fn decide(&self, tool: &Candidate<'_>, plan: Option<&Plan>, caller: &Caller) -> Decision {
        let offered = self.offer(tool, caller);
        match plan {
            Some(plan) if offered.verdict != Verdict::Deny => self.permit(offered, tool, plan, caller),
            _ => offered,
        }
    }
    /// The last word on a decision that others have added to: where nobody is ever asked, a question is a denial.
    fn seal(&self, decision: Decision) -> Decision {
        decision
    }
    /// The rules that would answer a decision's questions for good, or why there are none.
    fn lasting(&self, tool: &Candidate<'_>, plan: &Plan, decision: &Decision) -> Result<Vec<String>, String> {
        let _ = (tool, plan, decision);
        Err("this policy has no rules".into())
    }
    /// Lets such rules hold for the rest of a caller's session.
    fn grant(&self, caller: &Caller, rules: &[String]) -> Result<(), String> {
        let _ = (caller, rules);
        Err("this policy has no rules".into())
    }
}

/// The policy that a [`PolicySpec`] describes, compiled. The default has no lists and no rules.
#[derive(Debug, Clone)]
pub struct StandardPolicy {
    vocabulary: Vocabulary,
    home: Option<PathBuf>,
    disabled: List,
    profiles: Profiles,
    tools: Lists,
    by_provider: Provided<Table>,
    agents: HashMap<String, Agent>,
    channels: Channels,
    sandbox: Lists,
    subagents: SubAgents,
    rules: RuleSet,
    ask: AskMode,
}

/// One table of lists with its profiles.
#[derive(Debug, Clone)]
struct Table {
    profiles: Profiles,
    lists: Lists,
}

#[derive(Debug, Clone)]
struct Agent {
    table: Table,
    by_provider: Provided<Table>,
}

impl Default for StandardPolicy {
    fn default() -> Self {
        // Without lists and rules nothing can be wrong with them.
        Self::build(&PolicySpec::default(), Vocabulary::core(), RuleSet::default())
    }
}

impl StandardPolicy {
    /// Compiles a policy. Entries of lists that name nothing match nothing; rules that cannot be read are refused.
    pub fn compile(spec: &PolicySpec, vocabulary: Vocabulary) -> Result<Self, Vec<RuleFault>> {
        let rules = RuleSet::compile(&spec.rules, &vocabulary, spec.home.as_deref())?;
        Ok(Self::build(spec, vocabulary, rules))
    }

    fn build(spec: &PolicySpec, vocabulary: Vocabulary, rules: RuleSet) -> Self {
        let groups: Groups = spec.groups.iter().map(|(name, members)| (folded(name), members.clone())).collect();
        let compiler = Compiler { groups: &groups, vocabulary: &vocabulary };
        Self {
            home: spec.home.clone(),
            disabled: List::compile(&spec.disabled, &groups, &vocabulary),
            profiles: Profiles::of("tools", &spec.tools),
            tools: Lists::compile("tools", &spec.tools, &groups, &vocabulary),
            by_provider: compiler.provided("tools", &spec.by_provider),
            agents: spec.agents.iter().map(|(name, agent)| (name.clone(), compiler.agent(name, agent))).collect(),
            channels: Channels::compile(&spec.channels, &groups, &vocabulary),
            sandbox: sandbox(&spec.sandbox, &groups, &vocabulary),
            subagents: SubAgents::compile(&spec.subagents, spec.max_depth, &groups, &vocabulary),
            rules,
            ask: spec.ask,
            vocabulary,
        }
    }

    /// Path patterns that no tool may read, also in the middle of a search: for the file system.
    pub fn denied_reads(&self) -> Vec<String> {
        self.rules.denied_reads()
    }
    /// Every name that it knows.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }
}

struct Compiler<'a> {
    groups: &'a Groups,
    vocabulary: &'a Vocabulary,
}

impl Compiler<'_> {
    fn table(&self, key: String, lists: &ToolLists) -> Table {
        Table { profiles: Profiles::of(key.clone(), lists), lists: Lists::compile(key, lists, self.groups, self.vocabulary) }
    }
    fn provided(&self, key: &str, tables: &[(String, ToolLists)]) -> Provided<Table> {
        let table =
            |(provider, lists): &(String, ToolLists)| (provider.clone(), self.table(format!("{key}.by_provider.\"{provider}\""), lists));
        Provided::new(tables.iter().map(table))
    }
    fn agent(&self, name: &str, spec: &AgentSpec) -> Agent {
        let key = format!("agents.{name}.tools");
        Agent { by_provider: self.provided(&key, &spec.by_provider), table: self.table(key, &spec.tools) }
    }
}

impl Policy for StandardPolicy {
    fn offer(&self, tool: &Candidate<'_>, caller: &Caller) -> Decision {
        let mut decision = Decision::allow();
        let agent = self.agents.get(&*caller.agent);
        let provided = self.by_provider.find(caller);
        let agent_provided = agent.and_then(|agent| agent.by_provider.find(caller));
        self.switched_off(&mut decision, tool);
        self.profiles(&mut decision, tool, agent, provided, agent_provided);
        self.tools.apply(&mut decision, "global", tool);
        provided.inspect(|table| table.lists.apply(&mut decision, "global per provider", tool));
        selection(&mut decision, tool, caller);
        agent.inspect(|agent| agent.table.lists.apply(&mut decision, "agent", tool));
        agent_provided.inspect(|table| table.lists.apply(&mut decision, "agent per provider", tool));
        self.channels.apply(&mut decision, tool, caller);
        if caller.sandboxed {
            self.sandbox.apply(&mut decision, "sandbox", tool);
        }
        self.parent(&mut decision, tool, caller);
        self.subagents.apply(&mut decision, tool, caller);
        owner_only(&mut decision, tool, caller);
        self.rules_on_tool(&mut decision, tool);
        self.seal(decision)
    }

    fn permit(&self, mut decision: Decision, tool: &Candidate<'_>, plan: &Plan, caller: &Caller) -> Decision {
        effects::judge(&mut decision, effects::Case { tool, plan, caller, rules: &self.rules, ask: self.ask });
        self.seal(decision)
    }

    fn seal(&self, mut decision: Decision) -> Decision {
        if self.ask == AskMode::Never && decision.verdict == Verdict::Ask {
            let message = format!("This call would need a person's approval ({}), and nobody is asked here.", decision.question());
            let change = Change::Set { key: "ask".into(), value: AskMode::Rules.as_str().into() };
            let refusal = Refusal { kind: ErrorKind::PermissionDenied, message, to_change: Some(change) };
            decision.deny("asking", "nobody is asked (ask = \"never\")", refusal);
        }
        decision
    }

    fn lasting(&self, tool: &Candidate<'_>, plan: &Plan, decision: &Decision) -> Result<Vec<String>, String> {
        let rules = canonical(tool, plan, &decision.asks)?;
        match rules.iter().find_map(|rule| RuleSet::check(RuleKind::Allow, rule, &self.vocabulary, self.home.as_deref()).err()) {
            Some(fault) => Err(fault.message),
            None => Ok(rules),
        }
    }

    fn grant(&self, caller: &Caller, rules: &[String]) -> Result<(), String> {
        caller.standing.add(rules, &self.vocabulary, self.home.as_deref()).map_err(|fault| fault.to_string())
    }
}

impl StandardPolicy {
    fn switched_off(&self, decision: &mut Decision, tool: &Candidate<'_>) {
        let listed = self.disabled.find(tool);
        if listed.is_none() && !tool.switched_off {
            return;
        }
        let entry = listed.map_or_else(|| tool.name().to_owned(), |entry| entry.pattern.clone());
        let refusal = Refusal {
            kind: ErrorKind::ToolGloballyDisabled,
            message: format!("Tool '{}' is switched off for everyone. Use another tool, or ask the person to switch it on.", tool.name()),
            to_change: Some(Change::Remove { key: "tools.disabled".into(), entry: entry.clone() }),
        };
        decision.deny("switched off", entry, refusal);
        listed.inspect(|entry| decision.source(&entry.place));
    }

    /// The agent's `also_allow` is added to the global one, because both are the person's.
    fn profiles(
        &self,
        decision: &mut Decision,
        tool: &Candidate<'_>,
        agent: Option<&Agent>,
        provided: Option<&Table>,
        agent_provided: Option<&Table>,
    ) {
        let also = [agent.map(|agent| agent.table.lists.also_allow()), Some(self.tools.also_allow())];
        let also: Vec<&List> = also.into_iter().flatten().filter(|list| !list.is_empty()).collect();
        profile(decision, "profile", tool, [agent.map(|agent| &agent.table.profiles), Some(&self.profiles)], &also);
        if provided.is_none() && agent_provided.is_none() {
            return;
        }
        let also = [agent_provided, provided].into_iter().flatten().map(|table| table.lists.also_allow()).chain(also).collect::<Vec<_>>();
        let profiles = [agent_provided.map(|table| &table.profiles), provided.map(|table| &table.profiles)];
        profile(decision, "provider profile", tool, profiles, &also);
    }

    /// A sub-agent has nothing that the agent which started it has not.
    fn parent(&self, decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
        let Some(parent) = &caller.parent else { return };
        let theirs = self.offer(tool, parent);
        if theirs.verdict != Verdict::Deny {
            return decision.pass("sub-agent", "the agent that started it has the tool");
        }
        let change = theirs.refusal().and_then(|refusal| refusal.to_change.clone());
        let entry = format!("the agent '{}' that started it has not got the tool", parent.agent);
        decision.deny("sub-agent", entry, unavailable(tool, "sub-agent", change));
    }

    fn rules_on_tool(&self, decision: &mut Decision, tool: &Candidate<'_>) {
        let Some(hit) = self.rules.on_tool(tool) else { return };
        let rule = hit.rule;
        match rule.kind() {
            RuleKind::Deny => {
                let change = Change::Remove { key: "rules.deny".into(), entry: rule.text().to_owned() };
                decision.deny("rules", format!("deny {}", rule.text()), unavailable(tool, "rules", Some(change)));
            }
            RuleKind::Ask => return decision.ask_by_rule(rule.text(), rule.place()),
            RuleKind::Allow => return,
        }
        decision.source(rule.place());
    }
}
