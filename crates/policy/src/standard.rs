//! The one decision function: what is offered, what may run, what `explain` prints and what history stores.
//!
//! Two halves: `offer` (without a plan) and `permit` (with one). Steps run in order, each can only tighten, and each leaves a trace
//! entry: step, outcome, entry, and its source span. A denial has a message for the model and, separately, the change that the user
//! can make. The configuration is compiled once; a decision parses nothing. Everything that depends on the caller (agent, model,
//! channel, sender, depth, owner, access) is the `Caller`.

mod tables;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{AskMode, Effect, ErrorKind, Plan, ports::GrantWidth};

use self::tables::{AgentPolicy, Compiler, ToolTable};
use crate::apply::{self, LiftedRefusals};
use crate::catalog::Vocabulary;
use crate::effects::PlanCase;
use crate::list::{Groups, List};
use crate::name::{folded, lowered};
use crate::name_map::NameMap;
use crate::rule::{MOST_RULES, widths};
use crate::steps::{
    ByProvider, Channels, Lists, Profiles, SubAgentStep, absent, optional, owner_only, profile, sandbox, selection, unavailable,
};
use crate::{
    AgentSpec, AskSubject, Caller, Candidate, ChangeRules, ConfigEdit, Decision, Denial, ExecSpec, GuardedChanges, Policy, PolicySpec,
    RuleFault, RuleKind, RuleSet, SessionGrants, StepOutcome, Verdict, canonical, effects, turn_limits,
};

/// The policy that a [`PolicySpec`] describes, compiled. The default has no lists and no rules.
#[derive(Debug, Clone)]
pub struct StandardPolicy {
    vocabulary: Vocabulary,
    home: Option<PathBuf>,
    disabled: List,
    profiles: Profiles,
    tools: Lists,
    by_provider: ByProvider<ToolTable>,
    agents: NameMap<AgentPolicy>,
    channels: Channels,
    sandbox: Lists,
    subagents: SubAgentStep,
    rules: RuleSet,
    exec: ExecSpec,
    ask: AskMode,
    /// As it was written, for advice.
    spec: Arc<PolicySpec>,
    /// What was edited outside the policy, while advice is tried.
    lifted: Option<LiftedRefusals>,
}

impl Default for StandardPolicy {
    fn default() -> Self {
        // Without lists and rules nothing can be wrong with them.
        Self::build(&PolicySpec::default(), Vocabulary::default(), RuleSet::default(), Vec::new())
    }
}

impl StandardPolicy {
    /// Compiles a policy. Entries of lists that name nothing match nothing; rules that cannot be read are refused.
    pub fn compile(spec: &PolicySpec, vocabulary: Vocabulary) -> Result<Self, Vec<RuleFault>> {
        let home = spec.home.as_deref();
        let rules = RuleSet::compile(&spec.rules, &vocabulary, home)?;
        let own =
            |(name, agent): &(String, AgentSpec)| RuleSet::compile_table(&format!("agents.{name}.rules"), &agent.rules, &vocabulary, home);
        let of_agents = spec.agents.iter().map(own).collect::<Result<_, _>>()?;
        Ok(Self::build(spec, vocabulary, rules, of_agents))
    }

    fn build(spec: &PolicySpec, vocabulary: Vocabulary, rules: RuleSet, of_agents: Vec<RuleSet>) -> Self {
        let groups: Groups = spec.groups.iter().map(|(name, members)| (folded(name), members.clone())).collect();
        let compiler = Compiler { groups: &groups, vocabulary: &vocabulary };
        Self {
            home: spec.home.clone(),
            disabled: List::compile(&spec.disabled, &groups, &vocabulary),
            profiles: Profiles::from_lists("tools", &spec.tools),
            tools: Lists::compile("tools", &spec.tools, &groups, &vocabulary),
            by_provider: compiler.provided("tools", &spec.by_provider),
            agents: spec
                .agents
                .iter()
                .zip(of_agents)
                .map(|((name, agent), own)| (lowered(name).into_owned(), compiler.agent(name, agent, rules.joined(&own, false), own)))
                .collect(),
            channels: Channels::compile(&spec.channels, &groups, &vocabulary),
            sandbox: sandbox(&spec.sandbox, &groups, &vocabulary),
            subagents: SubAgentStep::compile(&spec.subagents, spec.max_depth, &groups, &vocabulary),
            rules,
            exec: spec.exec.clone(),
            ask: spec.ask,
            spec: Arc::new(spec.clone()),
            lifted: None,
            vocabulary,
        }
    }

    /// Path patterns that no tool of the agent may read, also in the middle of a search: for the file system of this workspace. An agent
    /// is named with those that started it, here and below: what restricts them restricts it as well.
    pub fn denied_reads(&self, agents: &[&str], root: &Path) -> Vec<String> {
        self.rules_of(agents).denied_reads(&root.to_string_lossy())
    }
    /// Programs that may not run with any arguments, which a sandbox need not show: names in lower case, or whole paths. The
    /// shells that run commands are never among them.
    pub fn denied_programs(&self, agents: &[&str]) -> Vec<String> {
        self.rules_of(agents).denied_programs()
    }
    /// Path patterns that commands in the sandbox of this workspace must not see.
    pub fn hidden_reads(&self, agents: &[&str], root: &Path) -> Vec<String> {
        self.rules_of(agents).hidden_reads(&root.to_string_lossy())
    }
    /// Globs of what commands in the sandbox of this workspace may see alone, one list for each rule that denies reading everything else.
    pub fn readable_paths(&self, agents: &[&str], root: &Path) -> Vec<Vec<String>> {
        self.rules_of(agents).readable_paths(&root.to_string_lossy())
    }
    /// What all rules deny changes of, or ask about.
    pub fn guarded_changes(&self, agents: &[&str], root: &Path) -> Vec<GuardedChanges> {
        self.rules_of(agents).guarded_changes(&root.to_string_lossy())
    }
    /// What rules say about changes of files, for a sandbox that makes folders read-only, or stages changes.
    pub fn change_rules(&self, agents: &[&str]) -> ChangeRules {
        self.rules_of(agents).change_rules(self.home.as_deref())
    }
    /// Every name that it knows.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }
}

impl Policy for StandardPolicy {
    fn offer(&self, tool: &Candidate<'_>, caller: &Caller) -> Decision {
        let mut decision = Decision::allow();
        let agent = self.agent(caller);
        let provided = self.by_provider.find(caller);
        let agent_provided = agent.map(|agent| agent.by_provider.find(caller)).unwrap_or_default();
        self.switched_off(&mut decision, tool);
        absent(&mut decision, tool);
        self.profiles(&mut decision, tool, agent, &provided, &agent_provided);
        let tables = agent.iter().map(|agent| &agent.table).chain(provided.iter().chain(&agent_provided).copied());
        optional(&mut decision, tool, tables.map(|table| &table.lists).chain([&self.tools]));
        self.tools.apply(&mut decision, "global", tool);
        for table in &provided {
            table.lists.apply(&mut decision, "global per provider", tool);
        }
        selection(&mut decision, tool, caller);
        agent.inspect(|agent| agent.table.lists.apply(&mut decision, "agent", tool));
        for table in &agent_provided {
            table.lists.apply(&mut decision, "agent per provider", tool);
        }
        self.channels.apply(&mut decision, tool, caller);
        if caller.sandboxed {
            self.sandbox.apply(&mut decision, "sandbox", tool);
        }
        self.parent(&mut decision, tool, caller);
        self.subagents.apply(&mut decision, tool, caller);
        owner_only(&mut decision, tool, caller);
        Self::rules_on_tool(&mut decision, tool, &self.rules_for(caller));
        self.finalize(decision)
    }

    fn permit(&self, mut decision: Decision, tool: &Candidate<'_>, plan: &Plan, caller: &Caller) -> Decision {
        turn_limits::apply(&mut decision, tool, plan, caller, &self.vocabulary, self.home.as_deref());
        effects::evaluate(&mut decision, self.case(tool, plan, caller, &self.rules_for(caller)));
        self.finalize(decision)
    }

    fn decide_without_arguments(&self, mut decision: Decision, tool: &Candidate<'_>, caller: &Caller) -> Decision {
        let plan = Plan::nothing();
        effects::decide_without_arguments(&mut decision, self.case(tool, &plan, caller, &self.rules_for(caller)));
        self.finalize(decision)
    }

    fn finalize(&self, mut decision: Decision) -> Decision {
        const NOBODY: &str = "nobody is asked (ask = \"never\")";
        let is_denied_already = || decision.trace.iter().any(|entry| entry.entry == NOBODY);
        // Also what is denied anyway: else lifting that would only lead to this.
        if self.ask == AskMode::Never && !decision.asks.is_empty() && !is_denied_already() {
            let message = format!(
                "This call would need approval ({}), and nobody is asked here. Do without it, or tell the user what you need.",
                decision.question()
            );
            let ways = vec![self.spec.setting("ask", AskMode::Rules.as_str())];
            decision.deny("asking", NOBODY, Denial { kind: ErrorKind::PermissionDenied, message, ways });
        }
        decision
    }

    fn persistent_rules(&self, tool: &Candidate<'_>, plan: &Plan, decision: &Decision) -> Result<Vec<String>, String> {
        let vocabulary = self.vocabulary.including(tool);
        let rules = canonical(tool, plan, &decision.asks, &vocabulary)?;
        if rules.iter().any(|rule| !rule.contains('(')) && asks_beyond(decision) {
            let name = tool.name();
            return Err(format!("a rule on '{name}' as a whole does not answer beyond the access level, so only this once"));
        }
        match rules.iter().find_map(|rule| RuleSet::check(RuleKind::Allow, rule, &vocabulary, self.home.as_deref()).err()) {
            Some(fault) => Err(fault.message),
            None => Ok(rules),
        }
    }

    fn grant_widths(&self, tool: &Candidate<'_>, plan: &Plan, decision: &Decision) -> Vec<GrantWidth> {
        if self.persistent_rules(tool, plan, decision).is_err() {
            return Vec::new();
        }
        widths(tool, plan, &decision.asks, &self.vocabulary.including(tool), self.home.as_deref())
    }

    fn check_answer(
        &self,
        rules: &[String],
        tool: &Candidate<'_>,
        plan: &Plan,
        caller: &Caller,
        decision: &Decision,
    ) -> Result<(), String> {
        self.persistent_rules(tool, plan, decision)?;
        if rules.is_empty() || rules.len() > MOST_RULES {
            return Err(format!("an answer has 1 to {MOST_RULES} rules, one on each line; these are {}", rules.len()));
        }
        let trial = Caller { grants: SessionGrants::default(), ..caller.clone() };
        self.grant(&trial, tool, rules)?;
        // The decision itself says what they answer.
        let open = self.decide(tool, Some(plan), &trial).asks;
        match decision.asks.iter().find(|about| open.contains(about)) {
            None => Ok(()),
            Some(about) => Err(format!("the call would still be asked about: no rule here covers '{}'", subject(*about, tool, plan))),
        }
    }

    fn similar_rules(&self, tool: &Candidate<'_>, plan: &Plan) -> Vec<String> {
        // What a call only reads says less of it than what it does.
        let acts = |effect: &Effect| !matches!(effect, Effect::Read(_));
        let index = plan.effects().iter().position(acts).or_else(|| (!plan.effects().is_empty()).then_some(0));
        let about: Vec<AskSubject> = index.map(AskSubject::Effect).into_iter().collect();
        let widths = widths(tool, plan, &about, &self.vocabulary.including(tool), self.home.as_deref());
        widths.into_iter().next().map(|width| width.rules).unwrap_or_default()
    }

    fn covers(&self, rules: &[String], tool: &Candidate<'_>, effects: &[Effect]) -> bool {
        let probe = SessionGrants::default();
        let is_known = probe.add(rules, &self.vocabulary.including(tool), self.home.as_deref()).is_ok();
        is_known && effects.iter().any(|effect| probe.allows_effect(tool, effect).is_some())
    }

    fn names_destination(&self, tool: &Candidate<'_>, effect: &Effect, caller: &Caller) -> bool {
        self.rules_for(caller).names_destination(tool, effect) || caller.grants.names_destination(tool, effect)
    }

    fn edited(&self, edits: &[ConfigEdit]) -> Option<Arc<dyn Policy>> {
        let (mut spec, mut lifted) = ((*self.spec).clone(), LiftedRefusals::default());
        for edit in edits {
            apply::to_spec(edit, &mut spec, &mut lifted)?;
        }
        let mut policy = Self::compile(&spec, self.vocabulary.clone()).ok()?;
        policy.lifted = Some(lifted);
        Some(Arc::new(policy))
    }

    fn grant(&self, caller: &Caller, tool: &Candidate<'_>, rules: &[String]) -> Result<(), String> {
        caller.grants.add(rules, &self.vocabulary.including(tool), self.home.as_deref()).map_err(|fault| fault.to_string())
    }
}

impl StandardPolicy {
    fn case<'a>(&'a self, tool: &'a Candidate<'a>, plan: &'a Plan, caller: &'a Caller, rules: &'a RuleSet) -> PlanCase<'a> {
        let (vocabulary, exec, spec, lifted) = (&self.vocabulary, &self.exec, &*self.spec, self.lifted.as_ref());
        PlanCase { tool, plan, caller, rules, vocabulary, exec, ask: self.ask, spec, lifted }
    }

    fn agent(&self, caller: &Caller) -> Option<&AgentPolicy> {
        // Most have none, and need no spelling.
        if self.agents.is_empty() { None } else { self.agents.get(&*lowered(&caller.agent)) }
    }

    /// The rules for everyone, those of an agent, and what restricts the agents that started it: else one could let another do what it
    /// may not do itself.
    fn rules_of(&self, agents: &[&str]) -> Cow<'_, RuleSet> {
        let Some((agent, above)) = agents.split_first() else { return Cow::Borrowed(&self.rules) };
        self.restricted_rules(agent, above.iter().copied())
    }

    /// The rules of the caller, as [`Self::rules_of`].
    fn rules_for(&self, caller: &Caller) -> Cow<'_, RuleSet> {
        let above = std::iter::successors(caller.parent.as_deref(), |parent| parent.parent.as_deref());
        self.restricted_rules(&caller.agent, above.map(|parent| &*parent.agent))
    }

    fn restricted_rules<'c>(&self, agent: &str, above: impl Iterator<Item = &'c str>) -> Cow<'_, RuleSet> {
        // Most have none, and need no spelling.
        if self.agents.is_empty() {
            return Cow::Borrowed(&self.rules);
        }
        // `Main` is the agent `main`.
        let key = lowered(agent);
        let mut rules = Cow::Borrowed(self.agents.get(&*key).map_or(&self.rules, |agent| &agent.rules));
        for parent in above.map(lowered).filter(|parent| *parent != key) {
            if let Some(parent) = self.agents.get(&*parent).filter(|parent| !parent.own_rules.is_empty()) {
                rules = Cow::Owned(rules.joined(&parent.own_rules, true));
            }
        }
        rules
    }

    fn switched_off(&self, decision: &mut Decision, tool: &Candidate<'_>) {
        const KEY: &str = "tools.disabled";
        let listed = if self.disabled.find(tool).is_some() { self.disabled.find_all(tool) } else { Vec::new() };
        let denial = |change| Denial {
            kind: ErrorKind::ToolGloballyDisabled,
            message: format!("Tool '{}' is switched off for everyone. Use another tool, or ask the user to switch it on.", tool.name()),
            ways: vec![vec![change]],
        };
        for entry in &listed {
            decision.deny("switched off", entry.pattern.clone(), denial(ConfigEdit::remove(KEY.into(), entry)));
            decision.set_span(&entry.span);
        }
        if listed.is_empty() && tool.switched_off {
            let change = ConfigEdit::Do(format!("only the program that switched '{}' off can switch it on", tool.name()));
            decision.deny("switched off", tool.name().to_owned(), denial(change));
        }
    }

    /// The agent's `also_allow` is added to the global one, because both are the user's.
    fn profiles(
        &self,
        decision: &mut Decision,
        tool: &Candidate<'_>,
        agent: Option<&AgentPolicy>,
        provided: &[&ToolTable],
        agent_provided: &[&ToolTable],
    ) {
        let also = [agent.map(|agent| agent.table.lists.also_allow()), Some(self.tools.also_allow())];
        let also: Vec<&List> = also.into_iter().flatten().filter(|list| !list.is_empty()).collect();
        let own = agent.map(|agent| &agent.table.profiles);
        profile(decision, "profile", tool, [own.as_slice(), &[&self.profiles]], &also);
        if provided.is_empty() && agent_provided.is_empty() {
            return;
        }
        let also: Vec<&List> = agent_provided.iter().chain(provided).map(|table| table.lists.also_allow()).chain(also).collect();
        profile(decision, "provider profile", tool, [&profiles_of(agent_provided), &profiles_of(provided)], &also);
    }

    /// A sub-agent has nothing that the agent which started it has not.
    fn parent(&self, decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
        let Some(parent) = &caller.parent else { return };
        let theirs = self.offer(tool, parent);
        if theirs.verdict != Verdict::Deny {
            return decision.pass("sub-agent", "the agent that started it has the tool");
        }
        for denial in theirs.denials {
            let entry = format!("the agent '{}' that started it has not got the tool", parent.agent);
            let denial = Denial { ways: denial.ways, ..unavailable(tool, "sub-agent", Vec::new()) };
            decision.deny("sub-agent", entry, denial);
        }
    }

    fn rules_on_tool(decision: &mut Decision, tool: &Candidate<'_>, rules: &RuleSet) {
        let Some(strictest) = rules.on_tool(tool) else { return };
        if strictest.kind() == RuleKind::Allow {
            return;
        }
        for rule in rules.all_on_tool(RuleKind::Deny, tool) {
            decision.deny("rules", rule.label(), unavailable(tool, "rules", vec![ConfigEdit::remove_rule(rule)]));
            decision.set_span(rule.span());
        }
        // A question that a denial hides is one as soon as the denial goes.
        if let Some(rule) = rules.all_on_tool(RuleKind::Ask, tool).first() {
            decision.ask_by_rule(rule);
        }
    }
}

fn profiles_of<'a>(tables: &[&'a ToolTable]) -> Vec<&'a Profiles> {
    tables.iter().map(|table| &table.profiles).collect()
}

/// What a question is about, as the user is shown it.
fn subject(about: AskSubject, tool: &Candidate<'_>, plan: &Plan) -> String {
    let effect = match about {
        AskSubject::Effect(index) => plan.effects().get(index),
        AskSubject::Tool | AskSubject::EveryTime => None,
    };
    haft_text::display::escape_line(
        &effect.map_or_else(|| tool.name().to_owned(), |effect| format!("{} {}", effect.kind(), effect.target())),
    )
    .into_owned()
}

/// Whether the user is asked because something goes beyond the access level.
fn asks_beyond(decision: &Decision) -> bool {
    decision.trace.iter().any(|entry| entry.step == "access level" && entry.outcome == StepOutcome::Ask)
}
