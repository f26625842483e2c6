//! Rules of one agent, beside those for everyone.

use std::sync::Arc;

use haft_contract::{Access, Connect, Effect, Location, Plan, ToolDefinition, ToolSource, Zone};
use haft_policy::catalog::Vocabulary;
use haft_policy::{AgentSpec, AllowList, Caller, Candidate, ListEntry, Policy, PolicySpec, RuleLists, StandardPolicy, Verdict};
use serde_json::json;

use crate::setting::at;

fn listed(rules: &[&str]) -> Vec<ListEntry> {
    rules.iter().map(|rule| at(rule)).collect()
}

fn only(rules: &[&str]) -> Vec<AllowList> {
    vec![AllowList { entries: listed(rules), ..AllowList::default() }]
}

fn caller(agent: &str, parent: Option<Caller>) -> Caller {
    let mut caller = Caller::default();
    caller.agent = agent.into();
    caller.access = Access::WorkspaceWrite;
    caller.parent = parent.map(Arc::new);
    caller
}

/// The verdict, what decided it in the rules, and the advice.
fn decide(spec: &PolicySpec, caller: &Caller, effect: Effect) -> (Verdict, Vec<String>, Vec<String>) {
    let policy = StandardPolicy::compile(spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
    let definition = ToolDefinition::new("write_file", "Writes.", json!({"type": "object"}));
    let tool = Candidate::new(&definition, &ToolSource::BuiltIn);
    let decision = policy.decide(&tool, Some(&Plan::nothing().with(effect)), caller);
    let rules = decision.trace.iter().filter(|entry| entry.step == "rules").map(|entry| entry.entry.to_string()).collect();
    (decision.verdict, rules, crate::setting::advice(&decision))
}

fn write(path: &str) -> Effect {
    let location = Location::new(path.into(), format!("/ws/{path}").into(), path.into(), Zone::Workspace, Arc::new(()));
    Plan::nothing().write(location).effects()[0].clone()
}

fn spec() -> PolicySpec {
    let docs = RuleLists { only: only(&["write(docs/**)"]), allow: listed(&["write(docs/**)"]), ..RuleLists::default() };
    let mut spec = PolicySpec::default();
    spec.agents = vec![("docs".into(), AgentSpec { rules: docs, ..AgentSpec::default() })];
    spec.rules.ask = listed(&["write(docs/legal/**)"]);
    spec
}

#[test]
fn rules_of_an_agent_join_those_for_everyone_and_the_strictest_wins() {
    let (ask, only) = ("the rule 'ask write(docs/legal/**)'".to_owned(), "only write(docs/**)".to_owned());
    let allow = "allow write(docs/**)".to_owned();
    let advice = "add 'write_file(/ws/src/a.rs)' to agents.docs.rules.only (config.toml:7)".to_owned();
    for (agent, path, expected) in [
        ("docs", "docs/a.md", (Verdict::Allow, vec![allow], vec![])),
        ("Docs", "docs/legal/a.md", (Verdict::Ask, vec![ask.clone()], vec![])),
        ("docs", "src/a.rs", (Verdict::Deny, vec![only], vec![advice])),
        ("main", "docs/legal/a.md", (Verdict::Ask, vec![ask], vec![])),
        ("main", "src/a.rs", (Verdict::Allow, vec![], vec![])),
    ] {
        assert_eq!(decide(&spec(), &caller(agent, None), write(path)), expected, "{agent} {path}");
    }
}

#[test]
fn what_restricts_an_agent_restricts_those_it_starts_and_what_allows_it_does_not() {
    let helper = caller("helper", Some(caller("docs", None)));
    assert_eq!(decide(&spec(), &helper, write("src/a.rs")).0, Verdict::Deny);
    assert_eq!(decide(&spec(), &helper, write("docs/a.md")), (Verdict::Allow, vec![], vec![]), "no rule of the parent allows it");
    let grandchild = caller("other", Some(helper));
    assert_eq!(decide(&spec(), &grandchild, write("src/a.rs")).0, Verdict::Deny);
    assert_eq!(decide(&spec(), &caller("docs", Some(caller("main", None))), write("src/a.rs")).0, Verdict::Deny);
}

#[test]
fn advice_on_an_only_list_lets_the_call_pass() {
    let mut changed = spec();
    changed.agents[0].1.rules.only[0].entries.push(at("write_file(/ws/src/a.rs)"));
    assert_eq!(decide(&changed, &caller("docs", None), write("src/a.rs")).0, Verdict::Allow);
}

#[test]
fn an_ask_rule_written_for_it_asks_below_the_access_level() {
    let connect = |method: &str| Effect::Connect(Connect::new("https", "a.org", 443, method));
    let outside = || {
        let location = Location::new("/srv/a".into(), "/srv/a".into(), "/srv/a".into(), Zone::Outside, Arc::new(()));
        Plan::nothing().write(location).effects()[0].clone()
    };
    for (rule, effect, access, of_project, expected) in [
        ("connect(method:POST)", connect("POST"), Access::WorkspaceWrite, false, Verdict::Ask),
        ("connect(method:POST)", connect("POST"), Access::ReadOnly, false, Verdict::Deny),
        ("write(/srv/**)", outside(), Access::WorkspaceWrite, false, Verdict::Ask),
        ("write(/srv/**)", outside(), Access::WorkspaceWrite, true, Verdict::Deny),
        ("write(/srv/**)", outside(), Access::ReadOnly, false, Verdict::Deny),
        ("write", outside(), Access::WorkspaceWrite, false, Verdict::Deny),
        ("write(**/a)", outside(), Access::WorkspaceWrite, false, Verdict::Deny),
    ] {
        let mut spec = PolicySpec::default();
        spec.rules.ask = vec![ListEntry { of_project, ..at(rule) }];
        let mut caller = caller("main", None);
        caller.access = access;
        assert_eq!(decide(&spec, &caller, effect).0, expected, "{rule} at {access}, of the project: {of_project}");
    }
}
