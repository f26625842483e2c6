//! A gateway and nodes over real sockets on this machine: pairing, calls, attacks, lost connections.

mod support;

use std::sync::atomic::Ordering;
use std::time::Duration;

use haft_contract::ErrorKind;
use haft_contract::ports::{NodeCall, NodeDirectory};
use haft_nodes::{NodeEvent, NodeRequest};
use serde_json::json;

use self::support::{Gateway, Machine, TestRunner, call, until};

#[tokio::test]
async fn machine_is_paired_by_its_code_and_makes_calls() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "Laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    assert_eq!((node.name.as_str(), node.id.len()), ("laptop", 16));
    let output = gateway.hub.call(call(&node, "echo", json!({"text": "hello"}))).await.unwrap();
    assert_eq!(output.texts().collect::<String>(), "{\"text\":\"hello\"}");
    let expected = NodeRequest {
        tool: "echo".into(),
        arguments: json!({"text": "hello"}),
        effects: json!([{"effect": "node", "node": "laptop", "action": "echo", "target": ""}]),
    };
    assert_eq!(machine.runner.seen(), [expected]);
    let [listed] = &gateway.hub.summaries().unwrap()[..] else { panic!("one node") };
    assert_eq!(
        (listed.connected, listed.actions.clone(), listed.workspace.clone()),
        (Some(true), vec!["echo".to_owned()], Some("/work".to_owned()))
    );
}

#[tokio::test]
async fn paired_machine_comes_back_without_a_code_and_after_its_gateway_was_killed() {
    let mut gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    gateway.restart().await;
    until(|| gateway.is_connected(&node.id)).await;
    assert!(gateway.hub.call(call(&node, "echo", json!(1))).await.is_ok());
    assert_eq!(machine.count(|event| matches!(event, NodeEvent::Waiting { .. })), 1, "the code was shown once");
}

#[tokio::test]
async fn nobody_is_paired_before_the_user_says_so() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let why = machine.ended().await.unwrap_err().to_string();
    assert!(why.contains("haft node pair"), "{why}");
    assert_eq!(gateway.hub.summaries().unwrap(), []);
}

#[tokio::test]
async fn wrong_codes_pair_nobody_and_the_fifth_ends_the_pairing() {
    let gateway = Gateway::start().await;
    gateway.hub.open_window(Duration::from_mins(1));
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let code = machine.code().await;
    for wrong in ["0000-0000", "", "9999", "x"] {
        assert_eq!(gateway.hub.approve(wrong).unwrap_err().kind(), ErrorKind::ValidationError);
    }
    assert_eq!(gateway.hub.approve("1111-1111").unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(gateway.hub.approve(&code).unwrap_err().kind(), ErrorKind::PermissionDenied, "the right one comes too late");
    assert!(machine.ended().await.is_err());
    assert_eq!(gateway.hub.summaries().unwrap(), []);
}

#[tokio::test]
async fn rejected_machine_is_told_and_stays_away() {
    let gateway = Gateway::start().await;
    gateway.hub.open_window(Duration::from_mins(1));
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    machine.code().await;
    until(|| !gateway.hub.pending_nodes().is_empty()).await;
    let [pending] = &gateway.hub.pending_nodes()[..] else { panic!("one machine asks") };
    gateway.hub.reject_node(&pending.id).unwrap();
    let why = machine.ended().await.unwrap_err().to_string();
    assert!(why.starts_with("the user of the gateway has rejected this machine"), "{why}");
}

#[tokio::test]
async fn another_gateway_cannot_claim_a_machine() {
    let (own, other) = (Gateway::start().await, Gateway::start().await);
    let machine = Machine::start(&own, "laptop", TestRunner::default());
    machine.pair(&own).await;
    // The same machine is led to the other gateway, with its pairing; and a new machine with the fingerprint of the first.
    other.hub.open_window(Duration::from_mins(1));
    let led_astray = machine.again_at(&other.url_with(&other));
    let why = led_astray.ended().await.unwrap_err().to_string();
    assert!(why.starts_with("another gateway ("), "{why}");
    let impostor = Machine::start_at(&other.url_with(&own), "laptop", TestRunner::default());
    assert!(impostor.ended().await.unwrap_err().to_string().starts_with("another gateway ("));
    assert_eq!((other.hub.pending_nodes(), other.hub.summaries().unwrap()), (vec![], vec![]), "it never learned of either");
    let nameless = Machine::start_at(other.url_with(&other).split('#').next().unwrap(), "laptop", TestRunner::default());
    assert!(nameless.ended().await.unwrap_err().to_string().contains("does not say which gateway it is"));
}

#[tokio::test]
async fn revoked_machine_loses_its_connection_and_its_calls_at_once() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    let hub = gateway.hub.clone();
    let waiting = tokio::spawn(async move { hub.call(call(&node, "wait", json!({}))).await });
    until(|| machine.runner.running.load(Ordering::SeqCst) == 1).await;
    gateway.hub.revoke("laptop").await.unwrap();
    let outcome = waiting.await.unwrap().unwrap_err();
    assert!(outcome.message().starts_with("Outcome unknown: the connection was lost"), "{outcome}");
    let why = machine.ended().await.unwrap_err().to_string();
    assert!(why.starts_with("the user of the gateway has revoked this machine"), "{why}");
    until(|| machine.runner.running.load(Ordering::SeqCst) == 0).await;
    // It forgot its gateway, and the gateway forgot it.
    let again = machine.again_at(&gateway.url_with(&gateway));
    assert!(again.ended().await.is_err());
}

#[tokio::test]
async fn lost_connection_leaves_the_outcome_unknown_and_the_node_ends_what_nobody_waits_for() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    let hub = gateway.hub.clone();
    let waiting = tokio::spawn(async move { hub.call(call(&node, "wait", json!({}))).await });
    until(|| machine.runner.running.load(Ordering::SeqCst) == 1).await;
    gateway.cut();
    let outcome = waiting.await.unwrap().unwrap_err();
    assert!(outcome.message().starts_with("Outcome unknown"), "{outcome}");
    assert_eq!(outcome.details(), Some(&json!({"outcome": "unknown", "node": "laptop"})));
    until(|| machine.runner.running.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn call_that_is_given_up_or_late_ends_on_the_node() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    let running = || machine.runner.running.load(Ordering::SeqCst);
    let hub = gateway.hub.clone();
    let given_up = tokio::spawn({
        let call = call(&node, "wait", json!({}));
        async move { hub.call(call).await }
    });
    until(|| running() == 1).await;
    given_up.abort();
    until(|| running() == 0).await;
    let late = NodeCall { timeout: Duration::from_millis(50), ..call(&node, "wait", json!({})) };
    assert_eq!(gateway.hub.call(late).await.unwrap_err().kind(), ErrorKind::Timeout);
    until(|| running() == 0).await;
}

#[tokio::test]
async fn node_that_lies_about_its_plan_is_not_believed() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::lying());
    let node = machine.pair(&gateway).await;
    let refused = gateway.hub.call(call(&node, "echo", json!({}))).await.unwrap_err();
    assert!(refused.message().contains("says that it did something else than was permitted (read /etc/passwd)"), "{refused}");
}

#[tokio::test]
async fn large_results_arrive_whole_and_too_large_calls_are_not_made() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    let output = gateway.hub.call(call(&node, "large", json!({"bytes": 5_000_000}))).await.unwrap();
    assert_eq!(output.texts().map(str::len).sum::<usize>(), 5_000_000);
    let huge = call(&node, "echo", json!({"text": "x".repeat(2_000_000)}));
    assert_eq!(gateway.hub.call(huge).await.unwrap_err().kind(), ErrorKind::ValidationError);
    assert!(gateway.hub.call(call(&node, "echo", json!(1))).await.is_ok(), "the connection is as it was");
    let flood = gateway.hub.call(call(&node, "large", json!({"bytes": 40_000_000}))).await.unwrap_err();
    assert!(flood.message().starts_with("Outcome unknown"), "{flood}");
}

#[tokio::test]
async fn many_calls_at_once_each_have_their_own_answer() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    let calls = (0..40).map(|number| {
        let (hub, call) = (gateway.hub.clone(), call(&node, "echo", json!(number)));
        tokio::spawn(async move { (number, hub.call(call).await.unwrap().texts().collect::<String>()) })
    });
    for made in calls.collect::<Vec<_>>() {
        let (number, text) = made.await.unwrap();
        assert_eq!(text, number.to_string());
    }
    drop(machine);
}

#[tokio::test]
async fn renamed_node_is_not_called_under_its_former_name() {
    let gateway = Gateway::start().await;
    let machine = Machine::start(&gateway, "laptop", TestRunner::default());
    let node = machine.pair(&gateway).await;
    gateway.hub.rename("laptop", "studio").unwrap();
    assert_eq!(gateway.hub.call(call(&node, "echo", json!(1))).await.unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(machine.runner.seen(), []);
    assert_eq!(gateway.hub.resolve("studio").unwrap().id, node.id);
}
