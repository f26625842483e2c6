//! For any policy: adding to it never widens, and what is offered is what may be called.
#![allow(clippy::unwrap_used, clippy::field_reassign_with_default, reason = "a test that cannot go on has failed; specs are made by changing the default")]

use std::sync::Arc;

use haft_contract::{Access, Connect, Location, Plan, Section, Source, ToolDefinition, Zone};
use haft_policy::catalog::{CATALOG, Vocabulary};
use haft_policy::{
    AgentSpec, AllowList, AskMode, Caller, Candidate, ChannelSpec, Decision, Listed, Policy, PolicySpec, StandardPolicy, ToolLists, Verdict,
};
use proptest::prelude::*;
use serde_json::json;

fn entry() -> impl Strategy<Value = Listed> {
    let names =
        ["read_file", "Write", "exec", "bash", "cron", "web_*", "*", "group:fs", "group:haft", "group:plugins", "catch", "group:mine"];
    proptest::sample::select(names.to_vec()).prop_map(Listed::from)
}

fn entries() -> impl Strategy<Value = Vec<Listed>> {
    proptest::collection::vec(entry(), 0..4)
}

fn lists() -> impl Strategy<Value = ToolLists> {
    let allow = (entries(), any::<bool>()).prop_map(|(entries, of_project)| AllowList { entries, of_project, ..AllowList::default() });
    let profile = (proptest::sample::select(vec!["minimal", "messaging", "coding", "full"]), any::<bool>())
        .prop_map(|(name, of_project)| Listed { of_project, ..Listed::from(name) });
    (proptest::collection::vec(profile, 0..2), proptest::collection::vec(allow, 0..2), entries(), entries())
        .prop_map(|(profiles, allow, also_allow, deny)| ToolLists { profiles, allow, also_allow, deny })
}

fn rules() -> impl Strategy<Value = Vec<Listed>> {
    let texts = [
        "read(**)",
        "write(docs/**)",
        "write_file(docs/a)",
        "web_fetch(domain:example.org)",
        "connect(method:POST)",
        "exec",
        "web_*",
        "catch",
    ];
    proptest::collection::vec(proptest::sample::select(texts.to_vec()).prop_map(Listed::from), 0..4)
}

fn ask_mode() -> impl Strategy<Value = AskMode> {
    proptest::sample::select(vec![AskMode::Never, AskMode::Beyond, AskMode::Rules, AskMode::Changes, AskMode::Always])
}

fn spec() -> impl Strategy<Value = PolicySpec> {
    let channel = (lists(), lists()).prop_map(|(tools, sender)| ChannelSpec { tools, senders: vec![("id:1".into(), sender)] });
    let agent = (lists(), lists()).prop_map(|(tools, provided)| AgentSpec { tools, by_provider: vec![("p".into(), provided)] });
    let tables = (lists(), lists(), agent, channel, lists(), lists());
    // Allow rules that are the same as bare tool names with effects must be ones that may stand in rules.allow.
    let allowed = proptest::collection::vec(
        proptest::sample::select(vec!["write_file(docs/a)", "web_fetch(domain:example.org)", "catch"]).prop_map(Listed::from),
        0..3,
    );
    (tables, entries(), rules(), rules(), allowed, ask_mode()).prop_map(
        |((tools, provided, agent, channel, sandbox, subagents), disabled, deny, ask, allow, mode)| {
            let mut spec = PolicySpec::default();
            (spec.tools, spec.sandbox, spec.subagents, spec.disabled) = (tools, sandbox, subagents, disabled);
            spec.by_provider = vec![("p/m".into(), provided)];
            spec.agents = vec![("main".into(), agent)];
            spec.channels = vec![("c".into(), channel)];
            spec.groups = vec![("mine".into(), vec!["read_file".into(), "cron".into()])];
            (spec.rules.deny, spec.rules.ask, spec.rules.allow, spec.ask) = (deny, ask, allow, mode);
            spec
        },
    )
}

fn caller() -> impl Strategy<Value = Caller> {
    let access = proptest::sample::select(vec![Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess]);
    (access, any::<[bool; 6]>(), 0_u32..3).prop_map(|(access, [owner, provider, channel, sandboxed, selected, parent], depth)| {
        let mut caller = Caller::default();
        (caller.access, caller.owner, caller.sandboxed, caller.depth) = (access, owner, sandboxed, depth);
        if provider {
            (caller.provider, caller.model) = (Some("P".into()), Some("m".into()));
        }
        if channel {
            caller.channel = Some("c".into());
            caller.sender = Some(haft_policy::Sender { id: Some("1".into()), ..Default::default() });
        }
        if selected {
            caller.select(["read_file", "exec", "catch"]);
        }
        if parent {
            caller.parent = Some(Arc::new(Caller::default()));
        }
        caller
    })
}

/// Every tool of the catalog, and one of a plugin.
fn tools() -> Vec<(ToolDefinition, Source)> {
    let mut tools: Vec<(ToolDefinition, Source)> = CATALOG
        .iter()
        .map(|known| {
            let mut definition = ToolDefinition::new(known.name, "Does.", json!({"type": "object"}));
            definition.section = known.section;
            definition.profiles = known.profiles.iter().map(|name| (*name).into()).collect();
            definition.aliases = known.aliases.iter().map(|name| (*name).into()).collect();
            definition.owner_only = known.owner_only;
            (definition, Source::BuiltIn)
        })
        .collect();
    let mut catch = ToolDefinition::new("catch", "Catches.", json!({"type": "object"}));
    catch.section = Section::Web;
    tools.push((catch, Source::Plugin("lobster".into())));
    tools
}

fn plan() -> impl Strategy<Value = Plan> {
    let place = |name: &str, zone| Location::new(name.into(), format!("/ws/{name}").into(), name.into(), zone, Arc::new(()));
    (0_usize..6).prop_map(move |kind| match kind {
        0 => Plan::nothing(),
        1 => Plan::nothing().read(place("docs/a", Zone::Workspace)),
        2 => Plan::nothing().write(place("docs/a", Zone::Workspace)),
        3 => Plan::nothing().write(place("src/b", Zone::Workspace)).connect(Connect::new("https", "example.org", 443, "GET")),
        4 => Plan::nothing().connect(Connect::new("https", "example.org", 443, "POST")),
        _ => Plan::nothing().with(haft_contract::Effect::Unknown { why: "who knows".into() }),
    })
}

fn decide(spec: &PolicySpec, tools: &[(ToolDefinition, Source)], plan: Option<&Plan>, caller: &Caller) -> Vec<Decision> {
    let vocabulary = Vocabulary::with(tools.iter().map(|(definition, source)| (definition, source)));
    let policy = StandardPolicy::compile(spec, vocabulary).unwrap();
    tools.iter().map(|(definition, source)| policy.decide(&Candidate::new(definition, source), plan, caller)).collect()
}

fn verdicts(decisions: &[Decision]) -> Vec<Verdict> {
    decisions.iter().map(|decision| decision.verdict).collect()
}

fn of_project(entry: &str) -> Listed {
    Listed { of_project: true, ..entry.into() }
}

/// Something that a person or a project may add.
fn added(spec: &PolicySpec, what: usize, entries: &[Listed], rules: &[Listed]) -> PolicySpec {
    let mut spec = spec.clone();
    let list = || AllowList { entries: entries.to_vec(), of_project: true, ..AllowList::default() };
    match what {
        0 => spec.tools.deny.extend_from_slice(entries),
        1 => spec.disabled.extend_from_slice(entries),
        2 => spec.rules.deny.extend_from_slice(rules),
        3 => spec.rules.ask.extend_from_slice(rules),
        4 => spec.tools.allow.push(list()),
        5 => spec.tools.profiles.push(of_project("coding")),
        6 => spec.agents[0].1.tools.deny.extend_from_slice(entries),
        7 => spec.agents[0].1.tools.allow.push(list()),
        8 => spec.by_provider[0].1.deny.extend_from_slice(entries),
        9 => spec.channels[0].1.tools.deny.extend_from_slice(entries),
        10 => spec.channels[0].1.senders[0].1.deny.extend_from_slice(entries),
        11 => spec.subagents.deny.extend_from_slice(entries),
        12 => spec.subagents.allow.push(list()),
        13 => spec.sandbox.deny.extend(entries.iter().map(|entry| of_project(&entry.pattern))),
        14 => spec.sandbox.allow.push(list()),
        15 => spec.agents[0].1.by_provider[0].1.deny.extend_from_slice(entries),
        // Where nobody is asked, being asked would be more.
        _ if spec.ask != AskMode::Never => spec.ask = spec.ask.max(AskMode::Changes),
        _ => {}
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn adding_to_a_policy_never_widens(
        spec in spec(), caller in caller(), plan in plan(), what in 0_usize..17, entries in entries(), rules in rules(),
    ) {
        let tools = tools();
        let more = added(&spec, what, &entries, &rules);
        for plan in [None, Some(&plan)] {
            let (before, after) = (decide(&spec, &tools, plan, &caller), decide(&more, &tools, plan, &caller));
            for ((before, after), (tool, _)) in before.iter().zip(&after).zip(&tools) {
                prop_assert!(after.verdict >= before.verdict, "{}: {:?} became {:?}", tool.name, before, after);
            }
        }
    }

    #[test]
    fn an_allow_rule_lifts_questions_alone(spec in spec(), caller in caller(), plan in plan()) {
        let tools = tools();
        let mut without = spec.clone();
        without.rules.allow.clear();
        let pairs = decide(&without, &tools, Some(&plan), &caller).into_iter().zip(decide(&spec, &tools, Some(&plan), &caller));
        for (before, after) in pairs {
            let asked_by_rule = before.trace.iter().any(|entry| entry.step == "rules" && entry.outcome == haft_policy::Outcome::Ask);
            // Where nobody is asked, what would be asked is denied, and that is what a rule answers.
            let only_asked = before.refusals.len() == 1 && spec.ask == AskMode::Never && !before.asks.is_empty();
            if asked_by_rule || (before.verdict == Verdict::Deny && !only_asked) {
                prop_assert_eq!(before.verdict, after.verdict);
            }
            prop_assert!(after.verdict <= before.verdict);
        }
    }

    #[test]
    fn what_is_not_offered_is_never_permitted(spec in spec(), caller in caller(), plan in plan()) {
        let tools = tools();
        let offered = verdicts(&decide(&spec, &tools, None, &caller));
        let permitted = decide(&spec, &tools, Some(&plan), &caller);
        for (offered, permitted) in offered.into_iter().zip(permitted) {
            prop_assert!(permitted.verdict >= offered);
            prop_assert_eq!(permitted.verdict == Verdict::Deny, permitted.refusal().is_some(), "a denial says why: {:?}", permitted);
        }
    }

    #[test]
    fn a_narrower_caller_gets_no_more(spec in spec(), caller in caller(), plan in plan()) {
        let tools = tools();
        let mut child = caller.clone();
        child.parent = Some(Arc::new(caller.clone()));
        child.inherit();
        let pairs = decide(&spec, &tools, Some(&plan), &caller).into_iter().zip(decide(&spec, &tools, Some(&plan), &child));
        for (parents, childs) in pairs {
            prop_assert!(childs.verdict >= parents.verdict, "{:?} became {:?}", parents, childs);
        }
    }
}
