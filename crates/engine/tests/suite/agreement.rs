//! Listing, dispatch and `explain` are one decision: for any policy and any caller they say the same.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_contract::AskMode;
use haft_contract::{
    Access, BoxFuture, Dialect, Effect, ErrorKind, Form, FormParameter, HookEvent, Plan, ToolCall, ToolDefinition, ToolSource,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use haft_engine::{HOOK, Hook, HookCall, Session, SessionBuilder};
use haft_policy::catalog::Vocabulary;
use haft_policy::{AgentSpec, AllowList, ChannelSpec, ListEntry, PolicySpec, Sender, StandardPolicy, ToolLists, Verdict};
use haft_testkit::ScriptedTool;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::harness::{Harness, setup};

/// What a tool is called, and by which parameter it is told where.
const TOOLS: [(&str, &str); 9] = [
    ("read_file", "path"),
    ("Reader", "file_path"),
    ("write_file", "path"),
    ("cron", "path"),
    ("noop", "path"),
    ("off", "path"),
    ("mystery", "path"),
    ("helper", "path"),
    ("mcp__hub__look", "path"),
];

fn source(name: &str) -> ToolSource {
    match name {
        "helper" => ToolSource::Plugin("tools".into()),
        "mcp__hub__look" => ToolSource::Mcp("hub".into()),
        _ => ToolSource::BuiltIn,
    }
}

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "Reader").parameters(&[FormParameter::new("file_path", "path")])];

fn tool(name: &str) -> ScriptedTool {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool = ScriptedTool::new(name).schema(schema);
    match name {
        "read_file" => tool.plans_read().define(|definition| {
            definition.profiles = vec!["coding".into()];
            definition.forms = Cow::Borrowed(FORMS);
        }),
        "write_file" | "helper" => tool.plans_write().define(|definition| definition.profiles = vec!["coding".into()]),
        "mcp__hub__look" => tool.plans_read(),
        "cron" => tool.define(|definition| definition.owner_only = true),
        "mystery" => tool.plan(|_, _| Ok(Plan::nothing().with(Effect::Unknown { why: "who knows".into() }))),
        _ => tool,
    }
}

fn entries() -> impl Strategy<Value = Vec<ListEntry>> {
    let names = vec!["read", "write_file", "cron", "noop", "*", "mystery", "w*", "group:plugins", "group:fs", "mcp__*", "hub"];
    proptest::collection::vec(select(names).prop_map(ListEntry::from), 0..3)
}

fn lists() -> impl Strategy<Value = ToolLists> {
    let allow = entries().prop_map(|entries| AllowList { entries, ..AllowList::default() });
    let profile = select(vec!["coding", "full"]).prop_map(ListEntry::from);
    (
        proptest::option::weighted(0.2, profile),
        proptest::option::weighted(0.2, allow),
        entries(),
        proptest::option::weighted(0.4, entries()),
    )
        .prop_map(|(profile, allow, also_allow, deny)| ToolLists {
            profiles: profile.into_iter().collect(),
            allow: allow.into_iter().collect(),
            also_allow,
            deny: deny.unwrap_or_default(),
        })
}

fn spec() -> impl Strategy<Value = PolicySpec> {
    let rules = || {
        let texts = vec!["read(docs/**)", "write(docs/**)", "write_file(docs/a)", "noop", "mystery", "helper", "mcp__hub__*"];
        proptest::collection::vec(select(texts).prop_map(ListEntry::from), 0..2)
    };
    let rules = (rules(), rules(), rules(), select(AskMode::ALL.to_vec()));
    let tables = (lists(), lists(), lists(), lists(), lists(), lists(), lists());
    (tables, rules, proptest::collection::vec(select(vec!["noop", "helper"]).prop_map(ListEntry::from), 0..2)).prop_map(
        |((tools, agent, provided, channel, sender, sandbox, subagents), (deny, asked, allow, ask), disabled)| {
            let mut spec = PolicySpec::default();
            (spec.tools, spec.ask, spec.sandbox, spec.subagents, spec.disabled) = (tools, ask, sandbox, subagents, disabled);
            spec.by_provider = vec![("acme/small".into(), provided)];
            spec.agents = vec![("main".into(), AgentSpec { tools: agent, ..AgentSpec::default() })];
            spec.channels = vec![("chat".into(), ChannelSpec { tools: channel, senders: vec![("id:7".into(), sender)] })];
            (spec.rules.deny, spec.rules.ask, spec.rules.allow) = (deny, asked, allow);
            spec
        },
    )
}

/// Who calls.
#[derive(Debug, Clone)]
struct Who {
    access: Access,
    owner: bool,
    model: Option<&'static str>,
    sender: Option<&'static str>,
    sandboxed: bool,
    parent: Option<Access>,
}

fn who() -> impl Strategy<Value = Who> {
    let access = || select(vec![Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess]);
    let rare = |names: &[&'static str]| proptest::option::weighted(0.4, select(names.to_vec()));
    let parts = (access(), any::<bool>(), rare(&["small", "large"]), rare(&["7", "8"]), prop::bool::weighted(0.2));
    (parts, proptest::option::weighted(0.3, access())).prop_map(|((access, owner, model, sender, sandboxed), parent)| Who {
        access,
        owner,
        model,
        sender,
        sandboxed,
        parent,
    })
}

/// A user who approves everything, and counts.
#[derive(Default)]
struct Agreeable(AtomicUsize);

impl Approver for Agreeable {
    fn ask(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { ApprovalAnswer::Once })
    }
}

/// A hook that has nothing against anything; it changes no verdict.
struct Watches(bool);

impl Hook for Watches {
    fn name(&self) -> &'static str {
        "watches"
    }
    fn needs_effects(&self) -> bool {
        self.0
    }
    fn wants(&self, call: &HookCall<'_>, event: HookEvent) -> bool {
        event == HookEvent::BeforeToolCall && (!self.0 || call.effects.is_some_and(|effects| !effects.is_empty()))
    }
}

impl Who {
    fn session(&self, harness: &Harness, user: &Arc<Agreeable>) -> Session {
        let builder = |access| Session::builder(Arc::clone(harness.session.host())).access(access).loop_limits(None);
        let user = Arc::clone(user);
        let mut session: SessionBuilder = builder(self.access).dialect(Dialect::Claw).approver(user);
        session = if self.owner { session.owner() } else { session };
        session = if self.sandboxed { session.sandboxed() } else { session };
        if let Some(model) = self.model {
            session = session.model("acme", Some(model.into()));
        }
        if let Some(id) = self.sender {
            session = session.channel("chat:1").sender(Sender { id: Some(id.into()), ..Sender::default() });
        }
        match self.parent {
            Some(access) => session.started_by(&builder(access).owner().build()).build(),
            None => session.build(),
        }
    }
}

fn harness(spec: &PolicySpec, hooked: Option<bool>) -> Harness {
    let named = |name: &'static str| (ToolDefinition::new(name, "", json!({"type": "object"})), source(name));
    let others = ["off", "mystery", "helper", "mcp__hub__look"].map(named);
    let vocabulary = Vocabulary::of_core(haft_builtin::metas()).with(others.iter().map(|(definition, source)| (definition, source)));
    let policy = Arc::new(StandardPolicy::compile(spec, vocabulary).unwrap());
    let harness = setup()
        .engine(move |builder| {
            let builder = builder.policy(policy);
            if let Some(effects) = hooked { builder.hook(Arc::new(Watches(effects))) } else { builder }
        })
        .build();
    for (name, _) in TOOLS.into_iter().filter(|(name, _)| *name != "Reader") {
        harness.engine.registry().register(tool(name).shared(), source(name)).unwrap();
    }
    harness.engine.registry().set_disabled("off", true);
    harness
}

/// The outcome of a call, as a verdict: whether it ran, and whether a user had to approve it.
async fn happened(
    harness: &Harness,
    session: &Session,
    user: &Agreeable,
    name: &str,
    arguments: Value,
) -> (Verdict, Option<(ErrorKind, String)>) {
    let before = user.0.load(Ordering::Relaxed);
    let result = harness.engine.run(ToolCall::new("1", name, arguments), session).await;
    let refused = result.outcome.as_ref().err().map(|error| (error.kind(), error.message().to_owned()));
    let asked = user.0.load(Ordering::Relaxed) > before;
    let verdict = match (&refused, asked) {
        (None, false) => Verdict::Allow,
        (None, true) => Verdict::Ask,
        (Some(_), _) => Verdict::Deny,
    };
    (verdict, refused)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_explained_is_what_happens(spec in spec(), who in who(), hooked in proptest::option::of(any::<bool>())) {
        let harness = harness(&spec, hooked);
        let user = Arc::new(Agreeable::default());
        let session = who.session(&harness, &user);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for (name, parameter) in TOOLS {
                let entry = harness.engine.registry().get(name).unwrap();
                let listed = harness.engine.offers(&entry, &session).verdict;
                let without_arguments = harness.engine.explain(name, None, &session).await.unwrap().verdict;
                prop_assert!(without_arguments >= listed, "{} is listed: {:?} {:?}", name, listed, without_arguments);
                for path in ["docs/a", "src/b", "../out"] {
                    let arguments = json!({parameter: path});
                    let explained = harness.engine.explain(name, Some(arguments.clone().into()), &session).await.unwrap();
                    let (verdict, refused) = happened(&harness, &session, &user, name, arguments).await;
                    prop_assert_eq!(explained.verdict, verdict, "{} {}: {:?} {:?}", name, path, explained, refused);
                    prop_assert!(without_arguments != Verdict::Deny || verdict == Verdict::Deny, "{} {}: no call may be allowed", name, path);
                    let kind = refused.as_ref().map(|(kind, _)| *kind);
                    let unavailable = matches!(kind, Some(ErrorKind::ToolNotAvailable | ErrorKind::ToolGloballyDisabled));
                    prop_assert!(listed != Verdict::Deny || refused.is_some(), "what is not listed does not run: {} {:?}", name, refused);
                    prop_assert!(!unavailable || listed == Verdict::Deny, "what is listed is available: {} {:?}", name, refused);
                    prop_assert_eq!(explained.message, refused.map(|(_, message)| message));
                    let named = explained.trace.iter().any(|entry| entry.step == HOOK);
                    let asked = match hooked {
                        None => false,
                        Some(effects) => listed != Verdict::Deny && (!effects || explained.effects != json!([])),
                    };
                    prop_assert_eq!(named, asked, "{} {}: hooks are named where they are asked", name, path);
                }
            }
            Ok(())
        })?;
    }
}

/// The property would be empty if all of these came out alike.
#[tokio::test]
async fn every_verdict_happens_there() {
    let mut spec = PolicySpec::default();
    (spec.rules.ask, spec.rules.deny) = (vec!["noop".into()], vec!["write(docs/**)".into()]);
    let harness = harness(&spec, None);
    let user = Arc::new(Agreeable::default());
    let who = Who { access: Access::FullAccess, owner: true, model: None, sender: None, sandboxed: false, parent: None };
    let session = who.session(&harness, &user);
    for (name, expected) in [("read_file", Verdict::Allow), ("noop", Verdict::Ask), ("write_file", Verdict::Deny), ("off", Verdict::Deny)] {
        assert_eq!(happened(&harness, &session, &user, name, json!({"path": "docs/a"})).await.0, expected, "{name}");
    }
}
