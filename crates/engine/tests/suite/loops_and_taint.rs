//! Loops stop, and private data does not leave through untrusted content.

use haft_contract::{Access, ErrorKind, Plan};
use haft_engine::{LoopLimits, TaintPolicy};
use haft_testkit::ScriptedTool;
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
        story.push((kind, message.contains("in a row"), harness.session.should_stop()));
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
async fn private_data_and_untrusted_content_close_the_way_out() {
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
