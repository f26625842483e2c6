//! Who may do what: availability, access levels, approvals; and `explain` says the same as a call.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::{
    Access, BoxFuture, Effect, ErrorKind, ExecAsk, ExecSecurity, Plan,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use haft_policy::catalog::Vocabulary;
use haft_policy::{ExecSpec, ListEntry, PolicySpec, STEPS, SourceSpan, StandardPolicy, StepOutcome, Verdict};
use haft_testkit::ScriptedTool;
use serde_json::{Value, json};

use crate::harness::{Harness, failure, setup, text};

fn unknown() -> ScriptedTool {
    ScriptedTool::new("mystery").plan(|_, _| Ok(Plan::nothing().with(Effect::Unknown { why: "it is a mystery".into() }))).returns("ran")
}

fn writer() -> ScriptedTool {
    ScriptedTool::new("write").plans_write().returns("wrote")
}

#[tokio::test]
async fn a_tool_outside_the_agents_set_is_not_available() {
    let harness = setup().tool(ScriptedTool::new("xyz")).tool(ScriptedTool::new("mine")).session(|builder| builder.tools(["mine"])).build();
    let (kind, message) = failure(&harness.call("xyz", json!({})).await);
    assert_eq!(kind, ErrorKind::ToolNotAvailable);
    assert!(message.starts_with("Tool 'xyz' is not available for this agent (removed by the step 'agent'). "), "{message}");
    assert!(harness.call("mine", json!({})).await.is_success());
}

#[tokio::test]
async fn a_switched_off_tool_says_so() {
    let harness = setup().tool(ScriptedTool::new("xyz")).build();
    harness.engine.registry().set_disabled("XYZ", true);
    assert_eq!(failure(&harness.call("xyz", json!({})).await).0, ErrorKind::ToolGloballyDisabled);
    harness.engine.registry().set_disabled("xyz", false);
    assert!(harness.call("xyz", json!({})).await.is_success());
}

#[tokio::test]
async fn owner_only_is_refused_with_the_seeds_words_for_anyone_else() {
    let tool = || ScriptedTool::new("cron").define(|definition| definition.owner_only = true);
    let guest = setup().tool(tool()).build();
    assert_eq!(
        failure(&guest.call("cron", json!({})).await).1,
        "Tool restricted to owner senders. Do without it, or ask the owner to send the message."
    );
    let owner = setup().tool(tool()).session(haft_engine::SessionBuilder::owner).build();
    assert!(owner.call("cron", json!({})).await.is_success());
}

#[tokio::test]
async fn access_levels_bind_the_effects() {
    let at = |access: Access| {
        setup().tool(writer()).tool(ScriptedTool::new("read").plans_read()).session(move |builder| builder.access(access)).build()
    };
    let cases: [(Access, &str, &str, Option<ErrorKind>); 9] = [
        (Access::ReadOnly, "read", "in", None),
        (Access::ReadOnly, "write", "in", Some(ErrorKind::PermissionDenied)),
        (Access::ReadOnly, "read", "../out", Some(ErrorKind::PathNotAllowed)),
        (Access::WorkspaceWrite, "write", "in", None),
        (Access::WorkspaceWrite, "read", "/etc/passwd", Some(ErrorKind::PathNotAllowed)),
        (Access::WorkspaceWrite, "write", "../out", Some(ErrorKind::PathNotAllowed)),
        (Access::FullAccess, "read", "../out", None),
        (Access::FullAccess, "write", "/elsewhere", None),
        (Access::FullAccess, "write", "in", None),
    ];
    for (access, tool, path, expected) in cases {
        let result = at(access).call(tool, json!({"path": path})).await;
        assert_eq!(result.outcome.as_ref().err().map(haft_contract::ToolError::kind), expected, "{access} {tool} {path}");
    }
    let (_, message) = failure(&at(Access::ReadOnly).call("write", json!({"path": "in"})).await);
    assert_eq!(
        message,
        "'write' needs the access level workspace-write to write 'in', and this session has read-only. Only the user can raise it (--access workspace-write)."
    );
    let (_, message) = failure(&at(Access::ReadOnly).call("read", json!({"path": "../out"})).await);
    assert!(message.starts_with("Access denied: path is outside the workspace: "), "{message}");
}

#[tokio::test]
async fn protected_paths_are_refused_at_every_level() {
    let harness =
        setup().tool(writer()).tool(ScriptedTool::new("read").plans_read()).session(|builder| builder.access(Access::FullAccess)).build();
    harness.host.files.forbid_write("guarded", "'guarded' is protected");
    harness.host.files.forbid_read("hidden", "'hidden' is denied by workspace.deny_read");
    let refused = |message: &str| (ErrorKind::PathNotAllowed, message.to_owned());
    assert_eq!(failure(&harness.call("write", json!({"path": "guarded"})).await), refused("Access denied: 'guarded' is protected"));
    assert_eq!(
        failure(&harness.call("read", json!({"path": "hidden"})).await),
        refused("Access denied: 'hidden' is denied by workspace.deny_read")
    );
}

struct ScriptedUser {
    answer: Option<ApprovalAnswer>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Approver for ScriptedUser {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.asked.lock().unwrap().push(request);
        let answer = self.answer.clone();
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

fn asking(answer: Option<ApprovalAnswer>) -> (Harness, Arc<ScriptedUser>) {
    let user = Arc::new(ScriptedUser { answer, asked: Mutex::default() });
    let approver = Arc::clone(&user);
    let harness = setup()
        .tool(unknown())
        .engine(|builder| {
            let mut limits = haft_engine::CallLimits::default();
            limits.approval = Duration::from_millis(50);
            builder.limits(limits)
        })
        .session(move |builder| builder.access(Access::FullAccess).approver(approver))
        .build();
    (harness, user)
}

#[tokio::test]
async fn unknown_effects_ask_and_the_answer_counts_once() {
    let (harness, user) = asking(Some(ApprovalAnswer::Once));
    assert_eq!(text(&harness.call("mystery", json!({"a": 1})).await), "ran");
    assert_eq!(text(&harness.call("mystery", json!({"a": 1})).await), "ran");
    let asked = user.asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "an approval is used once");
    assert_eq!((asked[0].reason.as_str(), &asked[0].arguments), ("its effects are not known: it is a mystery", &json!({"a": 1})));
    assert_eq!(asked[0].effects.len(), 1);
}

#[tokio::test]
async fn no_and_no_answer_and_no_approver_are_denials() {
    let (harness, _) = asking(Some(ApprovalAnswer::Deny { comment: Some("use git instead".into()) }));
    assert_eq!(
        failure(&harness.call("mystery", json!({})).await),
        (ErrorKind::PermissionDenied, "The user said no: use git instead".into())
    );
    let (harness, _) = asking(None);
    assert_eq!(failure(&harness.call("mystery", json!({})).await).0, ErrorKind::ApprovalTimeout);
    let harness = setup().tool(unknown()).session(|builder| builder.access(Access::FullAccess)).build();
    let (kind, message) = failure(&harness.call("mystery", json!({})).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert!(message.contains("no one can approve here"), "{message}");
    assert_eq!(harness.history().await[0].decision["verdict"], "ask");
}

#[tokio::test]
async fn the_lists_name_their_file_and_line() {
    let file = Arc::new(PathBuf::from("/etc/haft.toml"));
    let mut spec = PolicySpec::default();
    spec.tools.deny = vec![ListEntry { span: SourceSpan { file: Some(file), line: Some(4) }, ..ListEntry::new("x*") }];
    spec.tools.allow = vec![["Y*", "x*"].into(), ["*"].into()];
    let policy = StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
    let harness = setup()
        .tool(ScriptedTool::new("xyz"))
        .tool(ScriptedTool::new("yes"))
        .tool(ScriptedTool::new("other"))
        .engine(move |builder| builder.policy(Arc::new(policy)))
        .build();
    let mut explanation = harness.engine.explain("xyz", None, &harness.session).await.unwrap();
    let steps: Vec<&str> = explanation.trace.iter().map(|entry| entry.step).collect();
    assert_eq!(steps, STEPS, "every step is there, in order");
    explanation.trace.retain(|entry| entry.outcome != StepOutcome::Pass);
    assert_eq!(
        serde_json::to_value(&explanation).unwrap(),
        json!({
            "verdict": "deny", "tool": "xyz", "effects": [],
            "trace": [{"step": "global", "outcome": "deny", "entry": "deny x*", "file": "/etc/haft.toml", "line": 4}],
            "message": "Tool 'xyz' is not available for this agent (removed by the step 'global'). Use 'yes' if it will do, or ask the user to allow it.",
            "to_change": "remove 'x*' from tools.deny (/etc/haft.toml:4)",
            "advice": {
                "edits": [{"edit": "remove", "key": "tools.deny", "entry": "x*", "file": "/etc/haft.toml", "line": 4}],
                "then": "allow",
            },
        })
    );
    assert!(harness.call("yes", json!({})).await.is_success());
    let (_, message) = failure(&harness.call("other", json!({})).await);
    assert!(message.contains("removed by the step 'global'"), "{message}");
}

#[tokio::test]
async fn explain_says_what_a_call_would_meet() {
    for access in [Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess] {
        let harness = setup().tool(writer()).tool(unknown()).session(move |builder| builder.access(access)).build();
        for (tool, arguments) in [("write", json!({"path": "a"})), ("write", json!({"path": "../a"})), ("mystery", json!({}))] {
            let explained = harness.engine.explain(tool, Some(arguments.clone().into()), &harness.session).await.unwrap();
            let ran = harness.call(tool, arguments.clone()).await;
            assert_eq!(explained.verdict == Verdict::Allow, ran.is_success(), "{access} {tool} {arguments}");
            let recorded: Value = harness.history().await[0].decision.clone();
            assert_eq!(recorded["verdict"], serde_json::to_value(explained.verdict).unwrap(), "{access} {tool} {arguments}");
        }
    }
}

#[tokio::test]
async fn an_approver_is_shown_the_whole_call() {
    let (harness, user) = asking(Some(ApprovalAnswer::Once));
    let tail = format!("echo {} ; rm -rf ~", "a".repeat(3000));
    let many: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    for arguments in [
        json!({"command": tail, "files": many}).into(),
        haft_contract::Arguments::Text(json!({"command": tail, "files": many}).to_string()),
    ] {
        harness.call("mystery", arguments).await;
    }
    for request in user.asked.lock().unwrap().iter() {
        assert_eq!(request.arguments, json!({"command": tail, "files": many}));
    }
    let kept = &harness.history().await[0].arguments;
    assert!(kept["command"].as_str().unwrap().ends_with("bytes)") && kept["files"][100] == "… (150 items)", "{kept}");
}

#[tokio::test]
async fn a_tool_that_names_no_effects_is_limited_to_its_declared_access() {
    let tool = || ScriptedTool::new("does_its_own_thing").define(|definition| definition.access = Access::FullAccess);
    let (kind, message) = failure(&setup().tool(tool()).build().call("does_its_own_thing", json!({})).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert_eq!(
        message,
        "'does_its_own_thing' needs the access level full-access, and this session has workspace-write. Only the user can raise it (--access full-access)."
    );
    let full = setup().tool(tool()).session(|builder| builder.access(Access::FullAccess)).build();
    assert!(full.call("does_its_own_thing", json!({})).await.is_success());
}

/// Where an entry stands.
fn at(pattern: &str, file: &str, line: u32) -> ListEntry {
    ListEntry { span: SourceSpan { file: Some(Arc::new(PathBuf::from(file))), line: Some(line) }, ..ListEntry::new(pattern) }
}

fn under(spec: &PolicySpec, access: Access) -> Harness {
    let policy = StandardPolicy::compile(spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
    let fetch = ScriptedTool::new("web_fetch").plan(|_, cx| Ok(Plan::nothing().connect(cx.connect("GET", "https://example.org/")?)));
    setup()
        .built_in(ScriptedTool::new("write_file").plans_write())
        .built_in(ScriptedTool::new("noop"))
        .built_in(fetch)
        .built_in(ScriptedTool::new("exec").plan(|_, _| Ok(Plan::nothing().with(Effect::Unknown { why: "who knows".into() }))))
        .engine(move |builder| builder.policy(Arc::new(policy)))
        .session(move |builder| builder.access(access))
        .build()
}

async fn change(harness: &Harness, tool: &str) -> (Verdict, Option<String>) {
    let explained = harness.engine.explain(tool, Some(json!({"path": "docs/a"}).into()), &harness.session).await.unwrap();
    (explained.verdict, explained.to_change)
}

#[tokio::test]
async fn a_refusal_names_a_way_that_the_model_can_take() {
    let told = |deny: &'static [&'static str], tool: &'static str| async move {
        let mut spec = PolicySpec::default();
        spec.tools.deny = deny.iter().map(|entry| (*entry).into()).collect();
        let harness = under(&spec, Access::FullAccess);
        let (_, called) = failure(&harness.call(tool, json!({"path": "docs/a"})).await);
        if let Ok(explained) = harness.engine.explain(tool, Some(json!({"path": "docs/a"}).into()), &harness.session).await {
            assert_eq!(explained.message.as_deref(), Some(called.as_str()), "the same for both");
        }
        called
    };
    let removed = |tool: &str, way: &str| {
        format!("Tool '{tool}' is not available for this agent (removed by the step 'global'). {way}, or ask the user to allow it.")
    };
    assert_eq!(told(&["noop"], "noop").await, removed("noop", "Use 'write_file' if it will do"));
    assert_eq!(told(&["*"], "noop").await, removed("noop", "Do without it"));
    assert_eq!(told(&[], "nop").await, "Tool 'nop' not found. Did you mean 'noop'?");
    assert_eq!(told(&["noop", "exec"], "nop").await, "Tool 'nop' not found. The tools are: write_file, web_fetch.");
    assert_eq!(told(&["*"], "nop").await, "Tool 'nop' not found. There is no tool here: answer without one.");
}

#[tokio::test]
async fn what_would_refuse_a_call_is_as_small_as_can_be_and_does_it() {
    for (tool, key) in [("write_file", "rules.deny"), ("web_fetch", "rules.deny"), ("noop", "tools.deny")] {
        let mut spec = PolicySpec::default();
        let (verdict, advice) = change(&under(&spec, Access::FullAccess), tool).await;
        let advice = advice.unwrap();
        let entry = advice.strip_prefix("to refuse it, add '").and_then(|rest| rest.strip_suffix(&format!("' to {key}")));
        let entry = entry.unwrap_or_else(|| panic!("{tool}: {advice}"));
        assert_eq!((verdict, key == "rules.deny"), (Verdict::Allow, entry.contains('(')), "{advice}");
        let list = if key == "rules.deny" { &mut spec.rules.deny } else { &mut spec.tools.deny };
        list.push(entry.into());
        assert_eq!(change(&under(&spec, Access::FullAccess), tool).await.0, Verdict::Deny, "{advice}");
    }
}

#[tokio::test]
async fn every_file_that_must_change_is_named_and_what_comes_then() {
    let list = |entry: &str, file: &str, line| haft_policy::AllowList {
        entries: vec![at(entry, file, line)],
        span: SourceSpan { file: Some(Arc::new(PathBuf::from(file))), line: Some(line) },
        of_project: false,
    };
    let mut two_lists = PolicySpec::default();
    two_lists.tools.allow = vec![list("noop", "/home/me.toml", 2), list("noop", "/w/.haft/config.toml", 7)];
    let advice = "add 'write_file' to tools.allow (/home/me.toml:2) and add 'write_file' to tools.allow (/w/.haft/config.toml:7)";
    assert_eq!(change(&under(&two_lists, Access::FullAccess), "write_file").await, (Verdict::Deny, Some(advice.into())));

    let mut asks_then = PolicySpec::default();
    asks_then.rules.deny = vec![at("write(docs/**)", "/home/me.toml", 3)];
    asks_then.ask = haft_contract::AskMode::Changes;
    let (verdict, advice) = change(&under(&asks_then, Access::ReadOnly), "exec").await;
    assert_eq!(verdict, Verdict::Deny);
    assert!(advice.as_deref().is_some_and(|advice| advice.ends_with("; then you are asked")), "{advice:?}");

    let mut asked = PolicySpec::default();
    asked.rules.ask = vec![at("write(docs/**)", "/home/me.toml", 3)];
    let advice = "to allow it without asking, remove 'write(docs/**)' from rules.ask (/home/me.toml:3)";
    assert_eq!(change(&under(&asked, Access::FullAccess), "write_file").await, (Verdict::Ask, Some(advice.into())));
}

#[tokio::test]
async fn what_no_setting_helps_is_for_the_user_to_do_by_hand() {
    let mut spec = PolicySpec::default();
    spec.rules.deny = vec!["write(guarded)".into()];
    let harness = under(&spec, Access::FullAccess);
    harness.host.files.forbid_write("guarded", "'guarded' is protected");
    let explained = harness.engine.explain("write_file", Some(json!({"path": "guarded"}).into()), &harness.session).await.unwrap();
    let by_hand = "no setting allows it: only you can change 'guarded', by hand";
    assert_eq!((explained.verdict, explained.to_change.as_deref()), (Verdict::Deny, Some(by_hand)));
}

#[tokio::test]
async fn history_keeps_the_advice_on_a_refusal() {
    let mut spec = PolicySpec::default();
    spec.tools.deny = vec![at("noop", "/home/me.toml", 3)];
    let harness = under(&spec, Access::FullAccess);
    harness.call("noop", json!({})).await;
    harness.call("write_file", json!({"path": "docs/a"})).await;
    let kept: Vec<Option<Value>> = harness.history().await.into_iter().map(|record| record.decision.get("to_change").cloned()).collect();
    assert!(kept.contains(&Some(json!("remove 'noop' from tools.deny (/home/me.toml:3)"))), "{kept:?}");
    assert!(kept.contains(&None), "a call that passed has none: {kept:?}");
}

#[tokio::test]
async fn history_keeps_who_a_decision_was_about() {
    let plain = setup().tool(ScriptedTool::new("noop")).session(haft_engine::SessionBuilder::owner).build();
    plain.call("noop", json!({})).await;
    assert_eq!(plain.history().await[0].decision.get("caller"), None, "the owner in front of the agent");
    let sender = haft_policy::Sender { id: Some("7".into()), name: Some("Ann".into()), ..haft_policy::Sender::default() };
    let other = setup()
        .tool(ScriptedTool::new("noop"))
        .session(|builder| builder.depth(2).channel("chat:1").sender(sender).sandboxed().model("acme", Some("small".into())))
        .build();
    other.call("noop", json!({})).await;
    assert_eq!(
        other.history().await[0].decision["caller"],
        json!({
            "owner": false, "depth": 2, "sandboxed": true, "provider": "acme", "model": "small", "channel": "chat:1",
            "sender": {"id": "7", "name": "Ann"},
        })
    );
}

#[test]
fn history_and_hooks_see_all_of_a_command() {
    let mut exec = haft_contract::Exec::new("/usr/bin/git", vec!["status".into()], "/w");
    let plain = json!({"effect": "exec", "program": "/usr/bin/git", "arguments": ["status"], "directory": "/w", "host": "host"});
    assert_eq!(serde_json::to_value(Effect::Exec(exec.clone())).unwrap(), plain);
    (exec.named, exec.environment) = ("git".into(), vec!["GIT_SSH_COMMAND".into()]);
    let full = json!({
        "effect": "exec", "program": "/usr/bin/git", "named": "git", "arguments": ["status"], "directory": "/w", "host": "host",
        "environment": ["GIT_SSH_COMMAND"],
    });
    assert_eq!(serde_json::to_value(Effect::Exec(exec)).unwrap(), full);
}

/// What decides about programs is named with its line, and what to change there.
#[tokio::test]
async fn explain_says_what_decides_about_programs() {
    let span = |line| SourceSpan { file: Some(Arc::new(PathBuf::from("/etc/haft.toml"))), line: Some(line) };
    let explained = |security, ask| async move {
        let mut spec = PolicySpec::default();
        spec.exec = ExecSpec { security, security_span: span(3), ask, ask_span: span(4), ..ExecSpec::default() };
        let policy = StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        let exec = ScriptedTool::new("exec").plan(|_, _| {
            let mut exec = haft_contract::Exec::new("/usr/bin/make", vec!["all".into()], "/w");
            exec.named = "make".into();
            Ok(Plan::nothing().exec(exec))
        });
        let harness = setup()
            .built_in(exec)
            .engine(move |builder| builder.policy(Arc::new(policy)))
            .session(|builder| builder.access(Access::FullAccess))
            .build();
        let explained = harness.engine.explain("exec", Some(json!({}).into()), &harness.session).await.unwrap();
        let step = explained.trace.into_iter().find(|entry| entry.step == "exec").unwrap();
        (explained.verdict, step.outcome, step.line, explained.to_change.unwrap())
    };
    for (security, ask, verdict, outcome, line, change) in [
        (None, ExecAsk::Smart, Verdict::Ask, StepOutcome::Ask, 3, "to allow it without asking, add 'exec(make all)' to rules.allow"),
        (
            Some(ExecSecurity::Paranoid),
            ExecAsk::Smart,
            Verdict::Ask,
            StepOutcome::Ask,
            3,
            "to allow it without asking, set exec.security = \"safe-bin\" (/etc/haft.toml:3) and add 'exec(make all)' to rules.allow",
        ),
        (
            Some(ExecSecurity::Full),
            ExecAsk::Always,
            Verdict::Ask,
            StepOutcome::Ask,
            4,
            "to allow it without asking, set exec.ask = \"smart\" (/etc/haft.toml:4)",
        ),
        (Some(ExecSecurity::SafeBin), ExecAsk::Auto, Verdict::Deny, StepOutcome::Deny, 4, "add 'exec(make all)' to rules.allow"),
        (
            Some(ExecSecurity::Full),
            ExecAsk::Smart,
            Verdict::Allow,
            StepOutcome::Pass,
            3,
            "to refuse it, add 'exec(make all)' to rules.deny",
        ),
    ] {
        assert_eq!(explained(security, ask).await, (verdict, outcome, Some(line), change.to_owned()), "{security:?} {ask:?}");
    }
}
