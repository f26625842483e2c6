//! Who may do what: availability, access levels, approvals; and `explain` says the same as a call.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::{Access, Answer, ApprovalRequest, Approver, BoxFuture, Effect, ErrorKind, Plan};
use haft_engine::catalog::Vocabulary;
use haft_engine::{Listed, Outcome, Place, PolicySpec, STEPS, StandardPolicy, Verdict};
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
    assert_eq!(message, "Tool 'xyz' is not available for this agent (removed by the step 'agent').");
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
    assert_eq!(failure(&guest.call("cron", json!({})).await).1, "Tool restricted to owner senders.");
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
        "'write' needs the access level workspace-write to write 'in', and this session has read-only. Only the person can raise it (--access workspace-write)."
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

struct Person {
    answer: Option<Answer>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
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

fn asking(answer: Option<Answer>) -> (Harness, Arc<Person>) {
    let person = Arc::new(Person { answer, asked: Mutex::default() });
    let approver = Arc::clone(&person);
    let harness = setup()
        .tool(unknown())
        .engine(|builder| {
            let mut limits = haft_engine::Limits::default();
            limits.approval = Duration::from_millis(50);
            builder.limits(limits)
        })
        .session(move |builder| builder.access(Access::FullAccess).approver(approver))
        .build();
    (harness, person)
}

#[tokio::test]
async fn unknown_effects_ask_and_the_answer_counts_once() {
    let (harness, person) = asking(Some(Answer::Once));
    assert_eq!(text(&harness.call("mystery", json!({"a": 1})).await), "ran");
    assert_eq!(text(&harness.call("mystery", json!({"a": 1})).await), "ran");
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "an approval is used once");
    assert_eq!((asked[0].reason.as_str(), &asked[0].arguments), ("its effects are not known: it is a mystery", &json!({"a": 1})));
    assert_eq!(asked[0].effects.len(), 1);
}

#[tokio::test]
async fn no_and_no_answer_and_nobody_there_are_denials() {
    let (harness, _) = asking(Some(Answer::Deny { comment: Some("use git instead".into()) }));
    assert_eq!(
        failure(&harness.call("mystery", json!({})).await),
        (ErrorKind::PermissionDenied, "The person said no: use git instead".into())
    );
    let (harness, _) = asking(None);
    assert_eq!(failure(&harness.call("mystery", json!({})).await).0, ErrorKind::ApprovalTimeout);
    let harness = setup().tool(unknown()).session(|builder| builder.access(Access::FullAccess)).build();
    let (kind, message) = failure(&harness.call("mystery", json!({})).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert!(message.contains("nobody can be asked here"), "{message}");
    assert_eq!(harness.history().await[0].decision["verdict"], "ask");
}

#[tokio::test]
async fn the_lists_name_their_file_and_line() {
    let file = Arc::new(PathBuf::from("/etc/haft.toml"));
    let mut spec = PolicySpec::default();
    spec.tools.deny = vec![Listed { place: Place { file: Some(file), line: Some(4) }, ..Listed::new("x*") }];
    spec.tools.allow = vec![["Y*", "x*"].into(), ["*"].into()];
    let policy = StandardPolicy::compile(&spec, Vocabulary::core()).unwrap();
    let harness = setup()
        .tool(ScriptedTool::new("xyz"))
        .tool(ScriptedTool::new("yes"))
        .tool(ScriptedTool::new("other"))
        .engine(move |builder| builder.policy(Arc::new(policy)))
        .build();
    let mut explanation = harness.engine.explain("xyz", None, &harness.session).await.unwrap();
    let steps: Vec<&str> = explanation.trace.iter().map(|entry| entry.step).collect();
    assert_eq!(steps, STEPS, "every step is there, in order");
    explanation.trace.retain(|entry| entry.outcome != Outcome::Pass);
    assert_eq!(
        serde_json::to_value(&explanation).unwrap(),
        json!({
            "verdict": "deny", "tool": "xyz", "effects": [],
            "trace": [{"step": "global", "outcome": "deny", "entry": "deny x*", "file": "/etc/haft.toml", "line": 4}],
            "message": "Tool 'xyz' is not available for this agent (removed by the step 'global').",
            "to_change": "remove 'x*' from tools.deny"
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
async fn a_person_is_shown_the_whole_call() {
    let (harness, person) = asking(Some(Answer::Once));
    let tail = format!("echo {} ; rm -rf ~", "a".repeat(3000));
    let many: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    for arguments in [
        json!({"command": tail, "files": many}).into(),
        haft_contract::Arguments::Text(json!({"command": tail, "files": many}).to_string()),
    ] {
        harness.call("mystery", arguments).await;
    }
    for request in person.asked.lock().unwrap().iter() {
        assert_eq!(request.arguments, json!({"command": tail, "files": many}));
    }
    let kept = &harness.history().await[0].arguments;
    assert!(kept["command"].as_str().unwrap().ends_with("bytes)") && kept["files"][100] == "… (150 items)", "{kept}");
}

#[tokio::test]
async fn a_tool_that_names_no_effects_is_held_to_its_declared_access() {
    let tool = || ScriptedTool::new("does_its_own_thing").define(|definition| definition.access = Access::FullAccess);
    let (kind, message) = failure(&setup().tool(tool()).build().call("does_its_own_thing", json!({})).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert_eq!(
        message,
        "'does_its_own_thing' needs the access level full-access, and this session has workspace-write. Only the person can raise it (--access full-access)."
    );
    let full = setup().tool(tool()).session(|builder| builder.access(Access::FullAccess)).build();
    assert!(full.call("does_its_own_thing", json!({})).await.is_success());
}
