//! Everything a decision depends on, ready to be changed.

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{Exec, ExecHost, Location, Plan, ToolDefinition, ToolSource, Zone};
use haft_policy::catalog::Vocabulary;
use haft_policy::{
    AgentSpec, Caller, Candidate, Decision, ListEntry, Policy, PolicySpec, SourceSpan, StandardPolicy, StepOutcome, ToolLists,
};
use serde_json::json;

/// One tool that every step can remove: for the owner, in one profile, not for sub-agents, not for sandboxes.
pub(crate) fn tool() -> ToolDefinition {
    let mut definition = ToolDefinition::new("cron", "Schedules.", json!({"type": "object"}));
    definition.section = haft_contract::Section::Automation;
    definition.profiles = vec!["coding".into()];
    definition
}

pub(crate) fn plan() -> Plan {
    let location = Location::new("docs/a".into(), "/ws/docs/a".into(), "docs/a".into(), Zone::Workspace, Arc::new(()));
    Plan::nothing().write(location)
}

/// Everything a decision depends on.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) spec: PolicySpec,
    pub(crate) caller: Caller,
    pub(crate) definition: ToolDefinition,
    pub(crate) switched_off: bool,
    /// What the tool runs before it writes.
    pub(crate) program: Option<Exec>,
}

impl Setting {
    pub(crate) fn new() -> Self {
        let mut caller = Caller::default();
        caller.owner = true;
        Self { spec: PolicySpec::default(), caller, definition: tool(), switched_off: false, program: None }
    }
    pub(crate) fn decide(&self) -> Decision {
        let policy = StandardPolicy::compile(&self.spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        let mut candidate = Candidate::new(&self.definition, &ToolSource::BuiltIn);
        candidate.switched_off = self.switched_off;
        let plan = self.program.iter().fold(Plan::nothing(), |plan, exec| plan.exec(exec.clone()));
        let plan = plan.with(super::setting::plan().effects()[0].clone());
        let (offered, decided) = (policy.offer(&candidate, &self.caller), policy.decide(&candidate, Some(&plan), &self.caller));
        assert!(decided.verdict >= offered.verdict, "a call is never freer than the offer");
        decided
    }
}

/// A program by its name and words, found in /usr/bin.
pub(crate) fn program(line: &str, host: ExecHost) -> Exec {
    let mut words = line.split(' ').map(str::to_owned);
    let named = words.next().unwrap_or_default();
    let mut exec = Exec::new(PathBuf::from("/usr/bin").join(&named), words.collect(), "/ws");
    (exec.named, exec.host) = (named, host);
    exec
}

pub(crate) fn deny(entries: &[&str]) -> ToolLists {
    ToolLists { deny: entries.iter().map(|entry| at(entry)).collect(), ..ToolLists::default() }
}

pub(crate) fn allow(entries: &[&str]) -> ToolLists {
    let mut lists = ToolLists::default();
    lists.allow =
        vec![haft_policy::AllowList { entries: entries.iter().map(|entry| at(entry)).collect(), span: line(9), of_project: false }];
    lists
}

pub(crate) fn profile(name: &str) -> ToolLists {
    ToolLists { profiles: vec![at(name)], ..ToolLists::default() }
}

pub(crate) fn line(line: u32) -> SourceSpan {
    SourceSpan { file: Some(Arc::new(PathBuf::from("config.toml"))), line: Some(line) }
}

pub(crate) fn at(entry: &str) -> ListEntry {
    ListEntry { span: line(7), ..entry.into() }
}

pub(crate) fn provider(setting: &mut Setting) {
    (setting.caller.provider, setting.caller.model) = (Some("Work".into()), Some("big".into()));
}

pub(crate) fn main_agent(setting: &mut Setting) -> &mut AgentSpec {
    if setting.spec.agents.is_empty() {
        setting.spec.agents.push(("main".into(), AgentSpec::default()));
    }
    &mut setting.spec.agents[0].1
}

pub(crate) fn said(decision: &Decision, step: &str) -> Vec<(StepOutcome, String)> {
    decision.trace.iter().filter(|entry| entry.step == step).map(|entry| (entry.outcome, entry.entry.to_string())).collect()
}

pub(crate) fn advice(decision: &Decision) -> Vec<String> {
    decision.denials.iter().filter_map(|denial| denial.ways.first()).flatten().map(ToString::to_string).collect()
}
