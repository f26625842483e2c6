//! Every step alone, and every pair of neighbouring steps, with both outcomes.
#![allow(clippy::unwrap_used, clippy::field_reassign_with_default, reason = "a test that cannot go on has failed; specs are made by changing the default")]

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{Access, Location, Plan, Source, ToolDefinition, Zone};
use haft_policy::catalog::Vocabulary;
use haft_policy::{
    AgentSpec, AskMode, Caller, Candidate, Change, ChannelSpec, Decision, Listed, Outcome, Place, Policy, PolicySpec, STEPS, Sender,
    StandardPolicy, ToolLists, Verdict,
};
use serde_json::json;

/// One tool that every step can remove: for the owner, in one profile, not for sub-agents, not for sandboxes.
fn tool() -> ToolDefinition {
    let mut definition = ToolDefinition::new("cron", "Schedules.", json!({"type": "object"}));
    definition.section = haft_contract::Section::Automation;
    definition.profiles = vec!["coding".into()];
    definition
}

fn owned() -> ToolDefinition {
    let mut definition = tool();
    definition.owner_only = true;
    definition
}

fn plan() -> Plan {
    let location = Location::new("docs/a".into(), "/ws/docs/a".into(), "docs/a".into(), Zone::Workspace, Arc::new(()));
    Plan::nothing().write(location)
}

/// Everything a decision depends on.
#[derive(Clone)]
struct Setting {
    spec: PolicySpec,
    caller: Caller,
    definition: ToolDefinition,
    switched_off: bool,
}

impl Setting {
    fn new() -> Self {
        Self { spec: PolicySpec::default(), caller: Caller::default(), definition: tool(), switched_off: false }
    }
    fn decide(&self) -> Decision {
        let policy = StandardPolicy::compile(&self.spec, Vocabulary::core()).unwrap();
        let mut candidate = Candidate::new(&self.definition, &Source::BuiltIn);
        candidate.switched_off = self.switched_off;
        let (offered, decided) = (policy.offer(&candidate, &self.caller), policy.decide(&candidate, Some(&plan()), &self.caller));
        assert!(decided.verdict >= offered.verdict, "a call is never freer than the offer");
        decided
    }
}

fn deny(entries: &[&str]) -> ToolLists {
    ToolLists { deny: entries.iter().map(|entry| at(entry)).collect(), ..ToolLists::default() }
}
fn allow(entries: &[&str]) -> ToolLists {
    let mut lists = ToolLists::default();
    lists.allow =
        vec![haft_policy::AllowList { entries: entries.iter().map(|entry| at(entry)).collect(), place: line(9), of_project: false }];
    lists
}
fn profile(name: &str) -> ToolLists {
    ToolLists { profiles: vec![at(name)], ..ToolLists::default() }
}
fn line(line: u32) -> Place {
    Place { file: Some(Arc::new(PathBuf::from("config.toml"))), line: Some(line) }
}
fn at(entry: &str) -> Listed {
    Listed { place: line(7), ..entry.into() }
}

type Arrange = fn(&mut Setting);

/// A step, how it removes the tool (or asks), how it lets the tool through, and the entry of either.
struct Step {
    name: &'static str,
    remove: Arrange,
    removes_with: (Outcome, &'static str),
    keep: Arrange,
    keeps_with: Option<&'static str>,
}

fn provider(setting: &mut Setting) {
    (setting.caller.provider, setting.caller.model) = (Some("Work".into()), Some("big".into()));
}

fn main_agent(setting: &mut Setting) -> &mut AgentSpec {
    if setting.spec.agents.is_empty() {
        setting.spec.agents.push(("main".into(), AgentSpec::default()));
    }
    &mut setting.spec.agents[0].1
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn steps() -> Vec<Step> {
    let denied = |entry| (Outcome::Deny, entry);
    vec![
        Step {
            name: "switched off",
            remove: |s| s.spec.disabled = vec![at("cron")],
            removes_with: denied("cron"),
            keep: |s| s.spec.disabled = vec![at("exec")],
            keeps_with: None,
        },
        Step {
            name: "profile",
            remove: |s| s.spec.tools.profiles = profile("messaging").profiles,
            removes_with: denied("not in profile messaging"),
            keep: |s| s.spec.tools.profiles = profile("coding").profiles,
            keeps_with: Some("in profile coding"),
        },
        Step {
            name: "provider profile",
            remove: |s| {
                provider(s);
                s.spec.by_provider.push(("work".into(), profile("minimal")));
            },
            removes_with: denied("not in profile minimal"),
            keep: |s| {
                provider(s);
                s.spec.by_provider.push(("work".into(), profile("full")));
            },
            keeps_with: Some("in profile full"),
        },
        Step {
            name: "global",
            remove: |s| s.spec.tools.deny = deny(&["group:automation"]).deny,
            removes_with: denied("deny group:automation"),
            keep: |s| s.spec.tools.allow = allow(&["c*"]).allow,
            keeps_with: Some("allow c*"),
        },
        Step {
            name: "global per provider",
            remove: |s| {
                provider(s);
                s.spec.by_provider.push(("work/big".into(), deny(&["cron"])));
            },
            removes_with: denied("deny cron"),
            keep: |s| {
                provider(s);
                s.spec.by_provider.push(("work/big".into(), allow(&["cron"])));
            },
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "agent",
            remove: |s| main_agent(s).tools = allow(&["exec"]),
            removes_with: denied("not in agents.main.tools.allow"),
            keep: |s| main_agent(s).tools = allow(&["Cron"]),
            keeps_with: Some("allow Cron"),
        },
        Step {
            name: "agent per provider",
            remove: |s| {
                provider(s);
                main_agent(s).by_provider = vec![("WORK".into(), deny(&["*"]))];
            },
            removes_with: denied("deny *"),
            keep: |s| {
                provider(s);
                main_agent(s).by_provider = vec![("WORK".into(), allow(&["*"]))];
            },
            keeps_with: Some("allow *"),
        },
        Step {
            name: "group",
            remove: |s| {
                s.caller.channel = Some("telegram:-100".into());
                s.spec.channels.push(("telegram".into(), ChannelSpec { tools: deny(&["cron"]), ..ChannelSpec::default() }));
            },
            removes_with: denied("deny cron"),
            keep: |s| {
                s.caller.channel = Some("telegram:-100".into());
                s.spec.channels.push(("telegram".into(), ChannelSpec { tools: allow(&["cron"]), ..ChannelSpec::default() }));
            },
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "sandbox",
            remove: |s| s.caller.sandboxed = true,
            removes_with: denied("deny cron"),
            keep: |s| {
                s.caller.sandboxed = true;
                s.spec.sandbox = ToolLists { allow: allow(&["cron"]).allow, ..deny(&["browser"]) };
            },
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "sub-agent",
            remove: |s| s.caller.depth = 1,
            removes_with: denied("not for sub-agents by default"),
            keep: |s| {
                s.caller.depth = 1;
                s.spec.subagents.also_allow = vec![at("cron")];
            },
            keeps_with: Some("named in subagents.tools"),
        },
        Step {
            name: "owner-only",
            remove: |s| s.definition = owned(),
            removes_with: denied("the sender is not the owner"),
            keep: |s| {
                s.definition = owned();
                s.caller.owner = true;
            },
            keeps_with: Some("the sender is the owner"),
        },
        Step {
            name: "access level",
            remove: |s| s.caller.access = Access::ReadOnly,
            removes_with: denied("write needs workspace-write, the session has read-only"),
            keep: |s| s.caller.access = Access::WorkspaceWrite,
            keeps_with: Some("needs workspace-write"),
        },
        Step {
            name: "rules",
            remove: |s| s.spec.rules.deny = vec![at("write(docs/**)")],
            removes_with: denied("deny write(docs/**)"),
            keep: |s| s.spec.rules.allow = vec![at("cron")],
            keeps_with: Some("allow cron"),
        },
        Step {
            name: "asking",
            remove: |s| s.spec.ask = AskMode::Changes,
            removes_with: (Outcome::Ask, "every change is asked about (ask = \"changes\"): write"),
            keep: |s| s.spec.ask = AskMode::Rules,
            keeps_with: None,
        },
    ]
}

fn said(decision: &Decision, step: &str) -> Vec<(Outcome, String)> {
    decision.trace.iter().filter(|entry| entry.step == step).map(|entry| (entry.outcome, entry.entry.to_string())).collect()
}

fn verdict_of(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Pass => Verdict::Allow,
        Outcome::Ask => Verdict::Ask,
        Outcome::Deny => Verdict::Deny,
    }
}

#[test]
fn the_table_covers_every_step_in_order() {
    assert_eq!(steps().iter().map(|step| step.name).collect::<Vec<_>>(), STEPS);
}

#[test]
fn each_step_alone_removes_and_keeps() {
    for step in steps() {
        let mut removed = Setting::new();
        (step.remove)(&mut removed);
        let decision = removed.decide();
        let (outcome, entry) = step.removes_with;
        assert_eq!(decision.verdict, verdict_of(outcome), "{}", step.name);
        assert!(said(&decision, step.name).contains(&(outcome, entry.to_owned())), "{}: {:?}", step.name, decision.trace);

        let mut kept = Setting::new();
        (step.keep)(&mut kept);
        let decision = kept.decide();
        assert_eq!((decision.verdict, decision.refusal()), (Verdict::Allow, None), "{}", step.name);
        let passed = step.keeps_with.map(|entry| (Outcome::Pass, entry.to_owned()));
        assert_eq!(said(&decision, step.name).into_iter().next(), passed, "{}", step.name);
    }
}

#[test]
fn neighbouring_steps_add_up_and_the_earlier_one_is_told() {
    let steps = steps();
    for pair in steps.windows(2) {
        let (first, second) = (&pair[0], &pair[1]);
        for (first_removes, second_removes) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut setting = Setting::new();
            (if first_removes { first.remove } else { first.keep })(&mut setting);
            (if second_removes { second.remove } else { second.keep })(&mut setting);
            let decision = setting.decide();
            // The one thing that a step gives: an allow rule answers the question that comes after it.
            let second_removes = second_removes && (first_removes || first.name != "rules");
            let expected = [(first_removes, first), (second_removes, second)]
                .into_iter()
                .map(|(removes, step)| if removes { verdict_of(step.removes_with.0) } else { Verdict::Allow })
                .max();
            let names = format!("{} {first_removes}, {} {second_removes}", first.name, second.name);
            assert_eq!(Some(decision.verdict), expected, "{names}: {:?}", decision.trace);
            let blamed = decision.trace.iter().find(|entry| entry.outcome != Outcome::Pass).map(|entry| entry.step);
            let earliest = if first_removes { Some(first.name) } else { second_removes.then_some(second.name) };
            assert_eq!(blamed, earliest, "{names}");
        }
    }
}

#[test]
fn an_entry_of_a_file_is_named_with_its_line() {
    let mut setting = Setting::new();
    setting.spec.tools.deny = vec![at("cron")];
    let decision = setting.decide();
    let entry = &decision.trace[0];
    assert_eq!((entry.file.as_deref(), entry.line), (Some(&PathBuf::from("config.toml")), Some(7)));
    let change = decision.refusal().and_then(|refusal| refusal.to_change.clone());
    assert_eq!(change, Some(Change::Remove { key: "tools.deny".into(), entry: "cron".into() }));
}

#[test]
fn the_model_comes_before_the_provider_and_only_one_of_them_counts() {
    let mut setting = Setting::new();
    provider(&mut setting);
    setting.spec.by_provider = vec![("work".into(), deny(&["cron"])), ("Work/Big".into(), allow(&["cron"]))];
    assert_eq!(setting.decide().verdict, Verdict::Allow);
    setting.caller.model = Some("small".into());
    assert_eq!(setting.decide().verdict, Verdict::Deny);
    setting.caller.provider = Some("other".into());
    assert_eq!(setting.decide().verdict, Verdict::Allow);
}

#[test]
fn an_agents_profile_stands_in_for_the_global_one_and_a_projects_comes_on_top() {
    let mut setting = Setting::new();
    setting.spec.tools.profiles = profile("minimal").profiles;
    setting.spec.agents = vec![("main".into(), AgentSpec { tools: profile("coding"), ..AgentSpec::default() })];
    assert_eq!(setting.decide().verdict, Verdict::Allow);
    setting.spec.tools.profiles[0].of_project = true;
    assert_eq!(setting.decide().verdict, Verdict::Deny);
}

#[test]
fn also_allow_adds_to_the_persons_own_lists_alone() {
    for (of_project, verdict) in [(false, Verdict::Allow), (true, Verdict::Deny)] {
        let mut setting = Setting::new();
        setting.spec.tools = allow(&["exec"]);
        setting.spec.tools.profiles = profile("minimal").profiles;
        setting.spec.tools.allow[0].of_project = of_project;
        setting.spec.tools.also_allow = vec![at("cron")];
        assert_eq!(setting.decide().verdict, verdict);
        setting.spec.tools.deny = vec![at("cron")];
        assert_eq!(setting.decide().verdict, Verdict::Deny, "deny wins inside a step");
    }
}

#[test]
fn an_empty_allow_list_allows_nothing_and_none_at_all_everything() {
    let mut setting = Setting::new();
    assert_eq!(setting.decide().verdict, Verdict::Allow);
    setting.spec.tools = allow(&[]);
    let decision = setting.decide();
    assert_eq!((decision.verdict, decision.trace[0].line), (Verdict::Deny, Some(9)));
}

#[test]
fn a_list_of_plugins_alone_leaves_the_core_on() {
    let plugin = Source::Plugin("lobster".into());
    let mut definition = tool();
    definition.name = "catch".into();
    let vocabulary = Vocabulary::with([(&definition, &plugin)]);
    for entry in ["catch", "lobster", "group:lobster", "group:plugins", "cat*"] {
        let mut spec = PolicySpec::default();
        spec.tools = allow(&[entry]);
        let policy = StandardPolicy::compile(&spec, vocabulary.clone()).unwrap();
        let core = tool();
        let verdict = |definition, source| policy.offer(&Candidate::new(definition, source), &Caller::default()).verdict;
        assert_eq!((verdict(&core, &Source::BuiltIn), verdict(&definition, &plugin)), (Verdict::Allow, Verdict::Allow), "{entry}");
        let mut other = definition.clone();
        other.name = "other".into();
        assert_eq!(verdict(&other, &Source::Plugin("else".into())) == Verdict::Allow, entry == "group:plugins", "{entry}");
    }
    let mut spec = PolicySpec::default();
    spec.tools = allow(&["catch", "exec"]);
    let policy = StandardPolicy::compile(&spec, vocabulary).unwrap();
    assert_eq!(policy.offer(&Candidate::new(&tool(), &Source::BuiltIn), &Caller::default()).verdict, Verdict::Deny);
}

#[test]
fn a_senders_lists_stand_in_for_the_channels_and_the_surest_name_counts_first() {
    let sender = |id: &str, username: &str, name: &str| Sender {
        id: Some(id.into()),
        username: Some(username.into()),
        name: Some(name.into()),
        ..Sender::default()
    };
    let mut setting = Setting::new();
    setting.caller.channel = Some("telegram:-100".into());
    setting.spec.channels = vec![(
        "telegram:-100".into(),
        ChannelSpec {
            tools: deny(&["cron"]),
            senders: vec![("42".into(), allow(&["cron"])), ("username:eve".into(), deny(&["*"])), ("name:Ann".into(), allow(&["cron"]))],
        },
    )];
    for (sender, verdict) in [
        (None, Verdict::Deny),
        (Some(sender("42", "eve", "Eve")), Verdict::Allow),
        (Some(sender("7", "Eve", "Ann")), Verdict::Deny),
        (Some(sender("7", "bob", "ann")), Verdict::Allow),
        (Some(sender("7", "bob", "Bob")), Verdict::Deny),
    ] {
        setting.caller.sender.clone_from(&sender);
        assert_eq!(setting.decide().verdict, verdict, "{sender:?}");
    }
    setting.spec.channels[0].1.senders.push(("*".into(), allow(&["cron"])));
    assert_eq!(setting.decide().verdict, Verdict::Allow, "anyone");
}

#[test]
fn a_sub_agent_has_nothing_that_its_parent_has_not() {
    let mut parent = Caller::default();
    parent.select(["exec"]);
    let mut setting = Setting::new();
    setting.spec.subagents.also_allow = vec![at("cron")];
    setting.caller.parent = Some(Arc::new(parent.clone()));
    setting.caller.inherit();
    assert_eq!((setting.caller.depth, setting.decide().verdict), (1, Verdict::Deny));
    parent.select(["exec", "cron"]);
    setting.caller.parent = Some(Arc::new(parent));
    setting.caller.inherit();
    assert_eq!(setting.decide().verdict, Verdict::Allow);
}

#[test]
fn a_child_takes_over_the_narrower_of_everything() {
    let mut parent = Caller::default();
    (parent.access, parent.sandboxed, parent.depth) = (Access::ReadOnly, true, 2);
    parent.channel = Some("telegram".into());
    let mut child = Caller::default();
    (child.access, child.owner, child.parent) = (Access::FullAccess, true, Some(Arc::new(parent)));
    child.inherit();
    let facts = (child.access, child.owner, child.sandboxed, child.depth, child.channel.as_deref());
    assert_eq!(facts, (Access::ReadOnly, false, true, 3, Some("telegram")));
}

#[test]
fn leaves_may_not_start_agents() {
    let mut definition = tool();
    definition.name = "sessions_spawn".into();
    for (depth, max_depth, verdict) in [(0, 1, Verdict::Allow), (1, 1, Verdict::Deny), (1, 2, Verdict::Allow), (2, 2, Verdict::Deny)] {
        let mut setting = Setting { definition: definition.clone(), ..Setting::new() };
        (setting.caller.depth, setting.spec.max_depth) = (depth, max_depth);
        assert_eq!(setting.decide().verdict, verdict, "depth {depth} of {max_depth}");
    }
}

#[test]
fn where_nobody_is_asked_a_question_is_a_denial() {
    let mut setting = Setting::new();
    setting.spec.rules.ask = vec![at("write(docs/**)")];
    assert_eq!(setting.decide().verdict, Verdict::Ask);
    setting.spec.ask = AskMode::Never;
    let decision = setting.decide();
    let message = "This call would need a person's approval (the rule 'ask write(docs/**)'), and nobody is asked here.";
    assert_eq!((decision.verdict, decision.refusal().map(|refusal| refusal.message.as_str())), (Verdict::Deny, Some(message)));
}

#[test]
fn beyond_the_access_level_a_person_may_be_asked_and_a_rule_can_answer() {
    let mut setting = Setting::new();
    setting.caller.access = Access::ReadOnly;
    setting.spec.rules.allow = vec![at("write(docs/**)")];
    assert_eq!(setting.decide().verdict, Verdict::Deny, "a rule never lifts the access level");
    setting.spec.ask = AskMode::Beyond;
    assert_eq!(setting.decide().verdict, Verdict::Allow, "but it answers the question");
    setting.spec.rules.allow.clear();
    assert_eq!(setting.decide().verdict, Verdict::Ask);
}

#[test]
fn groups_of_the_person_hold_other_groups() {
    let mut setting = Setting::new();
    setting.spec.groups = vec![("mine".into(), vec![at("group:inner")]), ("inner".into(), vec![at("cron"), at("group:mine")])];
    setting.spec.tools = deny(&["group:mine"]);
    let decision = setting.decide();
    assert_eq!((decision.verdict, decision.trace[0].entry.as_ref()), (Verdict::Deny, "deny group:mine"));
}
