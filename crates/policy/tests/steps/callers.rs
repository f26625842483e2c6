//! Who is calling: senders, sub-agents, the owner.

use std::sync::Arc;

use haft_contract::{Access, ToolDefinition, ToolSource, TurnLimit};
use haft_policy::{AgentSpec, Caller, Candidate, ChannelSpec, Policy, Sender, StandardPolicy, StepOutcome, Verdict};
use serde_json::json;

use crate::setting::{Setting, advice, allow, at, deny, profile, said, tool};

#[test]
fn senders_lists_override_the_channels_and_the_surest_name_counts_first() {
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
fn ids_are_told_apart_by_case_and_kinds_are_not() {
    let mut setting = Setting::new();
    setting.caller.channel = Some("slack".into());
    let senders = [("U1", "cron"), ("ID:u2", "cron"), ("UserName:Ann", "cron"), ("name:Bob", "cron")];
    let senders = senders.map(|(sender, tool)| (sender.to_owned(), allow(&[tool])));
    setting.spec.channels = vec![("slack".into(), ChannelSpec { tools: deny(&["cron"]), senders: senders.to_vec() })];
    for (sender, verdict) in [
        ("id:U1", Verdict::Allow),
        ("ID:U1", Verdict::Allow),
        ("U1", Verdict::Allow),
        ("id:u1", Verdict::Deny),
        ("id:u2", Verdict::Allow),
        ("id:U2", Verdict::Deny),
        ("username:ANN", Verdict::Allow),
        ("Name:bob", Verdict::Allow),
        ("name:ann", Verdict::Deny),
        ("what:ever", Verdict::Deny),
    ] {
        setting.caller.sender = Some(Sender::parse(sender));
        assert_eq!(setting.decide().verdict, verdict, "{sender}");
    }
    assert_eq!(Sender::parse("what:ever").id.as_deref(), Some("what:ever"));
}

#[test]
fn a_sub_agent_has_nothing_that_its_parent_has_not() {
    let mut parent = Caller::default();
    parent.owner = true;
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
    for (depth, max_depth, verdict) in
        [(0, 0, Verdict::Deny), (0, 1, Verdict::Allow), (1, 1, Verdict::Deny), (1, 2, Verdict::Allow), (2, 2, Verdict::Deny)]
    {
        let mut setting = Setting { definition: definition.clone(), ..Setting::new() };
        (setting.caller.depth, setting.spec.max_depth) = (depth, max_depth);
        assert_eq!(setting.decide().verdict, verdict, "depth {depth} of {max_depth}");
    }
}

#[test]
fn the_profile_of_sub_agents_holds_for_them() {
    let mut setting = Setting::new();
    setting.definition.name = "exec".into();
    for (name, also, depth, verdict) in [
        ("messaging", false, 0, Verdict::Allow),
        ("messaging", false, 1, Verdict::Deny),
        ("messaging", true, 1, Verdict::Allow),
        ("coding", false, 1, Verdict::Allow),
    ] {
        setting.spec.subagents = profile(name);
        setting.spec.subagents.also_allow = if also { vec![at("exec")] } else { vec![] };
        setting.caller.depth = depth;
        let decision = setting.decide();
        assert_eq!(decision.verdict, verdict, "{name} at {depth}");
        if verdict == Verdict::Deny {
            assert_eq!(said(&decision, "sub-agent"), [(StepOutcome::Deny, "not in profile messaging".to_owned())]);
            assert_eq!(advice(&decision), ["add 'exec' to subagents.tools.also_allow"]);
        }
    }
}

#[test]
fn a_tool_is_the_owners_by_its_flag_or_by_its_name() {
    let named = |name: &'static str, alias: Option<&'static str>, flag| {
        let mut definition = ToolDefinition::new(name, "Does.", json!({"type": "object"}));
        definition.aliases = alias.into_iter().map(Into::into).collect();
        definition.owner_only = flag;
        definition
    };
    for (definition, verdict) in [
        (named("whatsapp_login", None, false), Verdict::Deny),
        (named("gateway", None, false), Verdict::Deny),
        (named("timer", Some("Cron"), false), Verdict::Deny),
        (named("timer", None, true), Verdict::Deny),
        (named("timer", None, false), Verdict::Allow),
    ] {
        for source in [ToolSource::BuiltIn, ToolSource::Plugin("p".into())] {
            let policy = StandardPolicy::default();
            let offered = policy.offer(&Candidate::new(&definition, &source), &Caller::default());
            assert_eq!(offered.verdict, verdict, "{} of {source:?}", definition.name);
        }
    }
}

#[test]
fn an_agent_is_the_same_in_every_case_and_with_blanks_around() {
    for (table, agent, denied) in
        [("main", "main", true), ("Main", "main", true), ("main", " MAIN ", true), (" Ünit ", "ünit", true), ("ma-in", "ma_in", false)]
    {
        let mut setting = Setting::new();
        setting.spec.agents = vec![(table.into(), AgentSpec { tools: deny(&["cron"]), ..AgentSpec::default() })];
        setting.caller.agent = agent.into();
        assert_eq!(setting.decide().verdict == Verdict::Deny, denied, "{table:?} {agent:?}");
    }
}

#[test]
fn limit_of_a_skill_holds_for_the_turn_and_for_agents_that_it_starts() {
    let limit = |tools: &[&str]| TurnLimit::new(tools.iter().map(ToString::to_string).collect(), "the skill 'review'");
    let own = Setting::new();
    let mut child = Setting::new();
    child.spec.subagents.also_allow = vec![at("cron")];
    child.caller.parent = Some(Arc::new(own.caller.clone()));
    child.caller.inherit();
    let verdicts = || [own.decide().verdict, child.decide().verdict];
    assert_eq!(verdicts(), [Verdict::Allow; 2]);
    own.caller.turn_tools.limit(limit(&["read_file"]));
    assert_eq!(verdicts(), [Verdict::Deny; 2]);
    assert!(own.decide().denials[0].message.contains("until the end of this turn"), "{:?}", own.decide());
    own.caller.turn_tools.begin();
    own.caller.turn_tools.limit(limit(&["cron"]));
    assert_eq!(verdicts(), [Verdict::Allow; 2]);
}
