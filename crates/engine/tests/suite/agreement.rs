//! Listing, dispatch and `explain` are one decision: for any policy and any caller they say the same.

use std::sync::Arc;

use haft_contract::{Access, ErrorKind, Plan, Source, ToolDefinition};
use haft_engine::catalog::Vocabulary;
use haft_engine::{AgentSpec, AllowList, AskMode, Listed, PolicySpec, StandardPolicy, ToolLists, Verdict};
use haft_testkit::ScriptedTool;
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{Harness, setup};

const TOOLS: [&str; 5] = ["read_file", "write_file", "cron", "noop", "mystery"];

fn tool(name: &str) -> ScriptedTool {
    let tool = ScriptedTool::new(name);
    match name {
        "read_file" => tool.plans_read().define(|definition| definition.profiles = vec!["coding".into()]),
        "write_file" => tool.plans_write().define(|definition| definition.profiles = vec!["coding".into()]),
        "cron" => tool.define(|definition| definition.owner_only = true),
        "mystery" => tool.plan(|_, _| Ok(Plan::nothing().with(haft_contract::Effect::Unknown { why: "who knows".into() }))),
        _ => tool,
    }
}

fn entries() -> impl Strategy<Value = Vec<Listed>> {
    let names = ["read", "write_file", "cron", "noop", "*", "mystery", "w*"];
    proptest::collection::vec(proptest::sample::select(names.to_vec()).prop_map(Listed::from), 0..3)
}

fn lists() -> impl Strategy<Value = ToolLists> {
    let allow = entries().prop_map(|entries| AllowList { entries, ..AllowList::default() });
    let profile = proptest::sample::select(vec!["coding", "full"]).prop_map(Listed::from);
    (proptest::option::weighted(0.3, profile), proptest::option::weighted(0.3, allow), entries(), entries()).prop_map(
        |(profile, allow, also_allow, deny)| ToolLists {
            profiles: profile.into_iter().collect(),
            allow: allow.into_iter().collect(),
            also_allow,
            deny,
        },
    )
}

fn spec() -> impl Strategy<Value = PolicySpec> {
    let rules = || {
        let texts = vec!["read(docs/**)", "write(docs/**)", "write_file(docs/a)", "noop", "mystery"];
        proptest::collection::vec(proptest::sample::select(texts).prop_map(Listed::from), 0..2)
    };
    let ask = proptest::sample::select(vec![AskMode::Never, AskMode::Beyond, AskMode::Rules, AskMode::Changes, AskMode::Always]);
    (lists(), lists(), rules(), rules(), rules(), ask).prop_map(|(tools, agent, deny, asked, allow, ask)| {
        let mut spec = PolicySpec::default();
        (spec.tools, spec.ask) = (tools, ask);
        spec.agents = vec![("main".into(), AgentSpec { tools: agent, ..AgentSpec::default() })];
        (spec.rules.deny, spec.rules.ask, spec.rules.allow) = (deny, asked, allow);
        spec
    })
}

fn harness(spec: &PolicySpec, access: Access, owner: bool, depth: u32) -> Harness {
    let mystery = ToolDefinition::new("mystery", "Nobody knows.", json!({"type": "object"}));
    let vocabulary = Vocabulary::with([(&mystery, &Source::BuiltIn)]);
    let policy = Arc::new(StandardPolicy::compile(spec, vocabulary).unwrap());
    let built = TOOLS.into_iter().fold(setup(), |setup, name| setup.built_in(tool(name)));
    built
        .engine(move |builder| builder.policy(policy))
        .session(move |builder| {
            let builder = builder.access(access).depth(depth).loop_limits(None);
            if owner { builder.owner() } else { builder }
        })
        .build()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_is_explained_is_what_happens(spec in spec(), level in 0_usize..3, owner: bool, depth in 0_u32..2) {
        let access = [Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess][level];
        let harness = harness(&spec, access, owner, depth);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for name in TOOLS {
                let entry = harness.engine.registry().get(name).unwrap();
                let listed = harness.engine.offers(&entry, &harness.session).verdict;
                let offered = harness.engine.explain(name, None, &harness.session).await.unwrap().verdict;
                prop_assert_eq!(listed, offered);
                for path in ["docs/a", "src/b", "../out"] {
                    let arguments = json!({"path": path});
                    let explained = harness.engine.explain(name, Some(arguments.clone().into()), &harness.session).await.unwrap();
                    let result = harness.call(name, arguments).await;
                    let refused = result.outcome.as_ref().err().map(haft_contract::ToolError::kind);
                    // Nobody can be asked here, so a question is a refusal as well.
                    prop_assert_eq!(explained.verdict == Verdict::Allow, refused.is_none(), "{} {}: {:?}", name, path, explained);
                    let unavailable = matches!(refused, Some(ErrorKind::ToolNotAvailable | ErrorKind::ToolGloballyDisabled));
                    prop_assert!(listed != Verdict::Deny || refused.is_some(), "what is not listed does not run: {} {:?}", name, refused);
                    prop_assert!(!unavailable || listed == Verdict::Deny, "what is listed is available: {} {:?}", name, refused);
                    if explained.verdict == Verdict::Deny {
                        let told = result.outcome.as_ref().err().map(|error| error.message().to_owned());
                        prop_assert_eq!(explained.message, told);
                    }
                }
            }
            Ok(())
        })?;
    }
}
