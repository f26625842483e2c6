//! Connections of a sandboxed command: decided on when they are made, with the user where the policy asks.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    Access, AskMode, CommandRequest, Connect, Effect, EgressRefusal, Job as _, JobOptions, Plan, TaintPolicy, ToolOutput,
    ports::{ApprovalAnswer, EgressGate},
};
use haft_engine::SessionBuilder;
use haft_policy::catalog::Vocabulary;
use haft_policy::{PolicySpec, StandardPolicy};
use haft_store::{CallFilter, CallLog as _, CallStatus};
use haft_testkit::{Script, ScriptedTool};
use serde_json::json;

use crate::asking::{EventRecorder, ScriptedRuleStore, ScriptedUser, policy};
use crate::harness::{Harness, setup};

const HOST: &str = "packages.example.org";
const RULE: &str = "connect(domain:packages.example.org:443 method:CONNECT)";
const UNASKED: &str = "it needs approval, and no one can approve here";

/// Starts its command and leaves it running.
fn exec() -> ScriptedTool {
    let request = |command: &str| CommandRequest { command: command.to_owned(), ..CommandRequest::default() };
    ScriptedTool::new("exec")
        .plan(move |arguments, cx| Ok(Plan::nothing().command(cx.command(&request(arguments["command"].as_str().unwrap()))?)))
        .body(|_, cx| async move {
            let job = cx.process().start(JobOptions::default()).await?;
            cx.process().keep(job).await?;
            Ok(ToolOutput::text("started"))
        })
}

fn fetch() -> ScriptedTool {
    ScriptedTool::new("fetch").plan(|_, cx| Ok(Plan::nothing().connect(cx.connect("GET", "http://page.example/")?)))
}

fn rules(allow: &[&str], deny: &[&str], ask: &[&str]) -> StandardPolicy {
    let mut spec = PolicySpec::default();
    let listed = |rules: &[&str]| rules.iter().map(|&rule| rule.into()).collect();
    (spec.rules.allow, spec.rules.deny, spec.rules.ask) = (listed(allow), listed(deny), listed(ask));
    StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap()
}

fn world(policy: StandardPolicy, session: impl FnOnce(SessionBuilder) -> SessionBuilder + 'static) -> Harness {
    let harness = setup()
        .built_in(exec())
        .built_in(fetch())
        .engine(move |builder| builder.policy(Arc::new(policy)))
        .session(move |builder| session(builder.loop_limits(None)))
        .build();
    for _ in 0..4 {
        harness.host.processes.script(Script::says("").waits(Duration::from_hours(1)));
    }
    harness
}

/// A world with this user, and the gate of a command in it.
async fn asking(answers: impl IntoIterator<Item = ApprovalAnswer>) -> (Harness, Arc<ScriptedUser>, Arc<dyn EgressGate>) {
    let user = ScriptedUser::saying(answers);
    let approver = Arc::clone(&user);
    let harness = world(rules(&[], &[], &[]), |session| session.approver(approver));
    let gate = gate(&harness, "npm ci").await;
    (harness, user, gate)
}

/// A world with this user, whose questions are told.
fn observed(user: &Arc<ScriptedUser>, told: &Arc<EventRecorder>) -> Harness {
    let (approver, sink) = (Arc::clone(user), Arc::clone(told));
    let harness = setup()
        .built_in(exec())
        .engine(move |builder| builder.policy(Arc::new(rules(&[], &[], &[]))).events(sink))
        .session(|session| session.approver(approver))
        .build();
    harness.host.processes.script(Script::says("").waits(Duration::from_hours(1)));
    harness
}

/// The gate of a command that runs in the background.
async fn gate(harness: &Harness, command: &str) -> Arc<dyn EgressGate> {
    let result = harness.call("exec", json!({ "command": command })).await;
    assert!(result.is_success(), "{:?}", result.outcome);
    harness.host.processes.take_egress_gates().pop().unwrap()
}

async fn permit(gate: &Arc<dyn EgressGate>, host: &str) -> Result<(), EgressRefusal> {
    gate.permit(&Connect::tunnel(host, 443)).await
}

fn refused(reason: &str, rule: Option<&str>) -> Result<(), EgressRefusal> {
    Err(EgressRefusal { reason: reason.into(), rule: rule.map(str::to_owned) })
}

#[tokio::test(start_paused = true)]
async fn every_answer_does_what_it_says_for_the_next_command() {
    let deny = |comment: Option<&str>| ApprovalAnswer::Deny { comment: comment.map(str::to_owned) };
    let no = "The user said no. Do not repeat the call; ask what they want instead";
    for (answer, outcome, asked_again, kept) in [
        (ApprovalAnswer::Once, Ok(()), true, false),
        (ApprovalAnswer::Session, Ok(()), false, false),
        (ApprovalAnswer::Always, Ok(()), false, true),
        (deny(None), refused(no, None), true, false),
        (deny(Some("use the mirror")), refused("The user said no: use the mirror", None), true, false),
    ] {
        let (user, store) = (ScriptedUser::saying([answer.clone(), deny(None)]), ScriptedRuleStore::saying(Ok("/home/me/rules")));
        let (approver, saving) = (Arc::clone(&user), Arc::clone(&store));
        let harness = world(rules(&[], &[], &[]), |session| session.approver(approver).rule_store(saving).taint(TaintPolicy::Off));
        let first = gate(&harness, "npm ci").await;
        for _ in 0..2 {
            assert_eq!(permit(&first, HOST).await, outcome, "{answer:?} holds for the rest of the command");
        }
        assert_eq!(user.asked().len(), 1, "{answer:?}");
        let next = gate(&harness, "npm ci").await;
        assert_eq!(permit(&next, HOST).await.is_ok(), !asked_again, "{answer:?}");
        assert_eq!(user.asked().len(), 1 + usize::from(asked_again), "{answer:?}");
        assert_eq!(*store.kept.lock().unwrap(), vec![vec![RULE.to_owned()]; usize::from(kept)], "{answer:?}");
        if kept {
            let later = world(rules(&[RULE], &[], &[]), |session| session);
            let gate = gate(&later, "npm ci").await;
            assert_eq!(permit(&gate, HOST).await, Ok(()), "what was saved is read back and allows the connection");
            assert!(permit(&gate, "other.example.org").await.is_err());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn question_names_program_and_host_and_holds_the_one_connection() {
    let (_harness, user, gate) = asking([ApprovalAnswer::Once]).await;
    permit(&gate, HOST).await.unwrap();
    let asked = user.asked().remove(0);
    let effects: Vec<String> = asked.effects.iter().map(Effect::target).collect();
    assert_eq!((asked.reason.as_str(), effects), ("/bin/sh wants packages.example.org:443", vec![format!("CONNECT https://{HOST}:443")]));
    assert_eq!((asked.call.tool.as_str(), asked.rules), ("exec", Ok(vec![RULE.to_owned()])));
    assert_eq!(asked.arguments, json!({"command": "npm ci"}));
}

#[tokio::test(start_paused = true)]
async fn connections_to_one_host_share_one_question() {
    let (user, told) = (ScriptedUser::saying([ApprovalAnswer::Once, ApprovalAnswer::Once]), Arc::new(EventRecorder::default()));
    let harness = observed(&user, &told);
    let gate = gate(&harness, "npm ci").await;
    let (a, b, c, other) = tokio::join!(permit(&gate, HOST), permit(&gate, HOST), permit(&gate, HOST), permit(&gate, "cdn.example.org"));
    assert_eq!([a, b, c, other], [const { Ok(()) }; 4]);
    assert_eq!(user.asked().len(), 2, "one for each host");
    assert_eq!(told.lines().iter().filter(|line| line.starts_with("asked about exec")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_a_refusal_and_so_is_no_approver() {
    let (_harness, _, slow) = asking([]).await;
    assert_eq!(permit(&slow, HOST).await, refused("no answer came within 120 s", Some(RULE)));
    let alone = world(rules(&[], &[], &[]), |session| session);
    let gate = gate(&alone, "npm ci").await;
    let began = tokio::time::Instant::now();
    assert_eq!(permit(&gate, HOST).await, refused(UNASKED, Some(RULE)));
    assert!(began.elapsed() < Duration::from_secs(1), "at once");
}

#[tokio::test(start_paused = true)]
async fn access_level_and_rules_decide_before_the_user() {
    for (access, allow, deny, ask, host, outcome) in [
        (Access::ReadOnly, &[][..], &[][..], &[][..], HOST, Some(UNASKED)),
        (Access::WorkspaceWrite, &[], &[], &[], HOST, Some(UNASKED)),
        (Access::FullAccess, &[], &[], &[], HOST, None),
        (Access::ReadOnly, &[RULE], &[], &[], HOST, None),
        (Access::WorkspaceWrite, &[RULE], &[], &[], HOST, None),
        (Access::WorkspaceWrite, &[RULE], &[], &[], "cdn.example.org", Some(UNASKED)),
        (Access::FullAccess, &[], &["connect(domain:*.example.org)"], &[], HOST, Some("refuses it")),
        (Access::FullAccess, &[], &["connect(domain:*.example.org)"], &[], "example.net", None),
        (Access::FullAccess, &[], &[], &["connect(domain:*.example.org)"], HOST, Some("so it needs approval")),
        (Access::FullAccess, &[], &[], &["connect(domain:*.example.org)"], "example.net", None),
        (Access::FullAccess, &[], &[], &[], "metadata.example", Some("The machine's own address")),
    ] {
        // The plan of the tool asks for workspace-write, whatever the session has.
        let (harness, start) = (world(rules(allow, deny, ask), |session| session), Access::WorkspaceWrite);
        let session =
            |access| haft_engine::Session::builder(Arc::clone(harness.session.host())).access(access).continuing(&harness.session);
        harness.host.http.refuse("metadata.example", "The machine's own address.");
        let starting = session(access.max(start)).build();
        let call = haft_contract::ToolCall::new("call", "exec", json!({"command": "npm ci"}));
        assert!(harness.engine.run(call, &starting).await.is_success());
        let _deciding = session(access).build();
        let gate = harness.host.processes.take_egress_gates().pop().unwrap();
        let reason = permit(&gate, host).await.err().map(|refusal| refusal.reason);
        match (&reason, outcome) {
            (Some(reason), Some(part)) => assert!(reason.contains(part), "{access} {host}: {reason}"),
            _ => assert_eq!(reason.as_deref(), outcome, "{access} {host}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_where_nobody_is_to_be_asked() {
    let user = ScriptedUser::saying([ApprovalAnswer::Once]);
    let approver = Arc::clone(&user);
    let harness = world(policy(AskMode::Never, &[], &[]), |session| session.approver(approver));
    let gate = gate(&harness, "npm ci").await;
    let refusal = permit(&gate, HOST).await.unwrap_err();
    assert!(refusal.reason.contains("nobody is asked here") && refusal.rule.as_deref() == Some(RULE), "{refusal:?}");
    assert_eq!(user.asked().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn taint_asks_unless_the_user_has_named_the_host_or_its_domain() {
    let (domain, wide) = ("connect(domain:*.example.org method:CONNECT)", "connect(domain:*.org method:CONNECT)");
    for (allow, access, taint, seen, allowed) in [
        (&[][..], Access::FullAccess, TaintPolicy::Ask, false, true),
        (&[], Access::FullAccess, TaintPolicy::Ask, true, false),
        (&[RULE], Access::FullAccess, TaintPolicy::Ask, true, true),
        (&[RULE], Access::WorkspaceWrite, TaintPolicy::Ask, true, true),
        (&[RULE], Access::WorkspaceWrite, TaintPolicy::Deny, true, true),
        (&[domain], Access::WorkspaceWrite, TaintPolicy::Ask, true, true),
        (&[wide], Access::WorkspaceWrite, TaintPolicy::Ask, false, true),
        (&[wide], Access::WorkspaceWrite, TaintPolicy::Ask, true, false),
        (&[wide], Access::WorkspaceWrite, TaintPolicy::Deny, true, false),
        (&[wide], Access::WorkspaceWrite, TaintPolicy::Off, true, true),
    ] {
        let harness = world(rules(allow, &[], &[]), move |session| session.access(access).taint(taint));
        if seen {
            assert!(harness.call("fetch", json!({})).await.is_success());
        }
        let gate = gate(&harness, "npm ci").await;
        let outcome = permit(&gate, HOST).await;
        assert_eq!(outcome.is_ok(), allowed, "{allow:?} {access} {taint:?} {seen}: {outcome:?}");
        if let Err(refusal) = outcome {
            assert!(refusal.reason.contains("read private data and seen untrusted content"), "{refusal:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_the_session_answers_the_taint_question_too() {
    let (harness, user, gate_before) = asking([ApprovalAnswer::Session, ApprovalAnswer::Once]).await;
    assert!(harness.call("fetch", json!({})).await.is_success());
    permit(&gate_before, HOST).await.unwrap();
    let asked = user.asked().remove(0);
    let why = "/bin/sh wants packages.example.org:443; this session has read private data and seen untrusted content; this call could send data out";
    assert_eq!((asked.reason.as_str(), asked.rules), (why, Ok(vec![RULE.to_owned()])));
    let next = gate(&harness, "npm ci").await;
    permit(&next, HOST).await.unwrap();
    assert_eq!(user.asked().len(), 1);
    permit(&next, "cdn.example.org").await.unwrap();
    assert_eq!(user.asked().len(), 2, "another host is another question");
}

/// What a command brings in reaches the model with its result: until then its own next connection is no leak.
#[tokio::test(start_paused = true)]
async fn downloads_of_a_command_count_when_its_call_has_ended() {
    let tool = ScriptedTool::new("exec")
        .plan(|_, cx| {
            Ok(Plan::nothing().command(cx.command(&CommandRequest { command: "pip install x".into(), ..CommandRequest::default() })?))
        })
        .body(|_, cx| async move {
            let job = cx.process().start(JobOptions::default()).await?;
            job.wait().await;
            Ok(ToolOutput::text("installed"))
        });
    let harness = Arc::new(
        setup()
            .built_in(tool)
            .engine(|builder| builder.policy(Arc::new(rules(&[], &[], &[]))))
            .session(|session| session.access(Access::FullAccess).loop_limits(None))
            .build(),
    );
    harness.host.processes.script(Script::says("").waits(Duration::from_secs(5)));
    let running = tokio::spawn({
        let harness = Arc::clone(&harness);
        async move { harness.call("exec", json!({})).await.is_success() }
    });
    let gate = loop {
        if let Some(gate) = harness.host.processes.take_egress_gates().pop() {
            break gate;
        }
        tokio::task::yield_now().await;
    };
    for host in ["index.example.org", "files.example.org"] {
        assert_eq!(permit(&gate, host).await, Ok(()), "{host}");
    }
    assert!(running.await.unwrap());
    let refusal = permit(&gate, "evil.example.org").await.unwrap_err();
    assert!(refusal.reason.contains("seen untrusted content"), "{refusal:?}");
}

#[tokio::test(start_paused = true)]
async fn secret_in_the_arguments_is_asked_about_each_time() {
    let key = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    for (command, allowed) in [(format!("curl -d {key} x"), false), ("curl -d hello x".to_owned(), true)] {
        let harness = world(rules(&[RULE], &[], &[]), |session| session);
        let gate = gate(&harness, &command).await;
        let outcome = permit(&gate, HOST).await;
        assert_eq!(outcome.is_ok(), allowed, "{outcome:?}");
        if let Err(refusal) = outcome {
            assert!(refusal.reason.contains("its arguments hold a secret (github_token)") && refusal.rule.is_none(), "{refusal:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn gate_follows_its_session_and_ends_with_it() {
    let (mut harness, user, gate) = asking([ApprovalAnswer::Once, ApprovalAnswer::Once]).await;
    assert_eq!(permit(&gate, HOST).await, Ok(()), "its call has ended");
    let approver = Arc::clone(&user);
    let continued = haft_engine::Session::builder(Arc::clone(harness.session.host())).approver(approver).continuing(&harness.session);
    harness.session = continued.build();
    assert_eq!(permit(&gate, "cdn.example.org").await, Ok(()), "the session that continues it is asked");
    assert_eq!(user.asked().len(), 2);
    let Harness { engine, session, .. } = harness;
    drop(session);
    assert_eq!(permit(&gate, "late.example.org").await, refused("its session has ended", None));
    drop(engine);
}

/// A background command connects after its call: history has it all the same.
#[tokio::test(start_paused = true)]
async fn connections_after_the_call_are_added_to_its_record() {
    let (harness, _, gate) = asking([ApprovalAnswer::Once, ApprovalAnswer::Deny { comment: None }]).await;
    let recorded = async || harness.log.list(CallFilter::default()).await.unwrap().remove(0);
    assert_eq!((recorded().await.status, recorded().await.decision.get("connections")), (CallStatus::Success, None));
    permit(&gate, HOST).await.unwrap();
    permit(&gate, "other.example.org").await.unwrap_err();
    let both = async {
        while recorded().await.decision["connections"].as_array().map_or(0, Vec::len) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), both).await.unwrap();
    let record = recorded().await;
    let connections: Vec<(&str, bool)> = record.decision["connections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|connection| (connection["host"].as_str().unwrap(), connection["made"] == true))
        .collect();
    assert_eq!((record.status, connections), (CallStatus::Success, vec![(HOST, true), ("other.example.org", false)]));
}

#[tokio::test(start_paused = true)]
async fn question_is_withdrawn_with_its_command() {
    let (user, told) = (ScriptedUser::saying([]), Arc::new(EventRecorder::default()));
    let harness = observed(&user, &told);
    let gate = gate(&harness, "npm ci").await;
    let waiting = tokio::spawn(async move { permit(&gate, HOST).await });
    while user.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished(), "the connection waits for the answer");
    waiting.abort();
    drop(waiting.await);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(told.lines().pop().unwrap(), "answered call: None");
}

#[tokio::test(start_paused = true)]
async fn one_command_asks_for_a_bounded_number_of_hosts() {
    let harness = world(rules(&[], &[], &[]), |session| session.access(Access::FullAccess).taint(TaintPolicy::Off));
    let gate = gate(&harness, "npm ci").await;
    for number in 0..100 {
        assert_eq!(permit(&gate, &format!("h{number}.example.org")).await, Ok(()));
    }
    let refusal = permit(&gate, "h100.example.org").await.unwrap_err();
    assert!(refusal.reason.contains("100 hosts"), "{refusal:?}");
    assert_eq!(permit(&gate, "h1.example.org").await, Ok(()), "those before stay");
}

#[tokio::test]
async fn taint_does_not_ask_about_the_sandbox_itself() {
    let to =
        |name: &str, url: &'static str| ScriptedTool::new(name).plan(move |_, cx| Ok(Plan::nothing().connect(cx.connect("POST", url)?)));
    let harness = setup()
        .built_in(to("inside", "http://sandbox.localhost:8000/"))
        .built_in(to("outside", "http://example.org/"))
        .built_in(ScriptedTool::new("read").plans_read())
        .session(|session| session.access(Access::FullAccess).taint(TaintPolicy::Deny))
        .build();
    assert!(harness.call("read", json!({"path": "a"})).await.is_success());
    for n in 0..2 {
        assert!(harness.call("inside", json!({ "n": n })).await.is_success(), "it brings nothing in, and takes nothing out");
    }
    assert!(harness.call("outside", json!({})).await.is_success(), "the first page brings untrusted content in");
    assert!(!harness.call("outside", json!({"n": 2})).await.is_success());
    assert!(harness.call("inside", json!({"n": 3})).await.is_success());
}
