//! Nodes that do not keep to the protocol.

use haft_contract::ports::{NodeCall, NodeDirectory};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use super::*;
use crate::frame::{About, ContentBlock};
use crate::handshake::as_node;
use crate::link::Arrival;

/// A gateway with one node that is paired and does as the test says.
struct Attack {
    hub: NodeHub,
    link: Secured,
    serving: JoinHandle<Result<(), HandshakeError>>,
    node: PairedNode,
    folder: TempDir,
}

fn connect(hub: &NodeHub) -> (DuplexStream, JoinHandle<Result<(), HandshakeError>>) {
    let (near, far) = tokio::io::duplex(4 << 20);
    let hub = hub.clone();
    (near, tokio::spawn(async move { hub.accept(Box::new(far)).await }))
}

async fn attack() -> Attack {
    let folder = tempfile::tempdir().unwrap();
    let hub = NodeHub::open(folder.path(), false, CancellationToken::new()).unwrap();
    let key = MachineKey::open(&folder.path().join("node.key")).unwrap();
    let node = hub.inner.book.add(&key.public(), "rogue", 0).unwrap();
    let (near, serving) = connect(&hub);
    let mut link = as_node(OpenSocket::new(Box::new(near), WsRole::Client), &key, |_| true, "rogue").await.unwrap();
    link.writer.send(&Frame::About(About { workspace: "/".into(), ..About::default() }), &[]).await.unwrap();
    Attack { hub, link, serving, node, folder }
}

impl Attack {
    /// Makes a call, and returns its number at the node.
    async fn call(&mut self) -> (u64, JoinHandle<Result<ToolOutput, ToolError>>) {
        let (id, name) = (self.node.id.clone(), self.node.name.clone());
        let call =
            NodeCall { node: id, name, tool: "x".into(), arguments: json!({}), effects: json!([]), timeout: Duration::from_secs(30) };
        let hub = self.hub.clone();
        let made = tokio::spawn(async move { hub.call(call).await });
        loop {
            if let Arrival::Frame(Frame::Call { id, .. }, _) = self.link.reader.next().await.unwrap() {
                return (id, made);
            }
        }
    }

    /// The connection ends, the reason names this, and nobody is connected any more.
    async fn ends_with(self, why: &str) {
        let ended = tokio::time::timeout(Duration::from_secs(10), self.serving).await.unwrap().unwrap().unwrap_err();
        assert!(ended.to_string().contains(why), "{ended}");
        assert_eq!(self.hub.summaries().unwrap()[0].connected, Some(false));
    }
}

#[tokio::test]
async fn flood_of_results_that_nobody_asked_for_ends_the_connection() {
    let mut attack = attack().await;
    for id in 1_000..2_000 {
        let stray = Frame::Failed { id, kind: "x".into(), message: "y".repeat(1000) };
        if attack.link.writer.send(&stray, &[]).await.is_err() {
            break;
        }
    }
    attack.ends_with("results that nobody asked for").await;
}

#[tokio::test]
async fn result_that_grows_without_end_ends_the_connection_and_its_outcome_is_unknown() {
    let mut attack = attack().await;
    let (id, made) = attack.call().await;
    let part = vec![0; 512 << 10];
    while attack.link.writer.send(&Frame::Part { id }, &part).await.is_ok() {}
    let outcome = made.await.unwrap().unwrap_err();
    let message = outcome.message();
    assert!(message.starts_with("Outcome unknown") && message.contains("a result that is too large"), "{outcome}");
    attack.ends_with("a result that is too large").await;
}

#[tokio::test]
async fn disconnect_in_the_middle_of_a_file_leaves_the_outcome_unknown() {
    let mut attack = attack().await;
    let (id, made) = attack.call().await;
    attack.link.writer.send(&Frame::Part { id }, b"the first half").await.unwrap();
    drop(attack.link);
    let outcome = made.await.unwrap().unwrap_err();
    assert!(outcome.message().starts_with("Outcome unknown"), "{outcome}");
}

#[tokio::test]
async fn result_whose_lengths_lie_ends_the_connection() {
    let mut attack = attack().await;
    let (id, made) = attack.call().await;
    let lie = Frame::Done { id, content: vec![ContentBlock::Text(1 << 40)], details: None, effects: Vec::new() };
    attack.link.writer.send(&lie, b"short").await.unwrap();
    assert!(made.await.unwrap().is_err());
    attack.ends_with("its result is cut").await;
}

#[tokio::test]
async fn second_answer_to_a_call_changes_nothing() {
    let mut attack = attack().await;
    let (id, made) = attack.call().await;
    let answer = |text: &str| Frame::Done { id, content: vec![ContentBlock::Text(text.len())], details: None, effects: Vec::new() };
    attack.link.writer.send(&answer("one"), b"one").await.unwrap();
    attack.link.writer.send(&answer("two"), b"two").await.unwrap();
    assert_eq!(made.await.unwrap().unwrap().texts().collect::<String>(), "one");
    let (_, next) = attack.call().await;
    next.abort();
}

#[tokio::test]
async fn message_that_is_repeated_or_is_a_gateways_ends_the_connection() {
    let mut repeating = attack().await;
    let mut message = Frame::Failed { id: 1, kind: "x".into(), message: String::new() }.encode(&[]).unwrap();
    repeating.link.writer.encryptor.encrypt(&mut message).unwrap();
    for _ in 0..2 {
        repeating.link.writer.socket.binary(&message).await.unwrap();
    }
    repeating.ends_with("changed, repeated or left out").await;
    let mut commanding = attack().await;
    commanding.link.writer.send(&Frame::Cancel { id: 1 }, &[]).await.unwrap();
    commanding.ends_with("what only a gateway sends").await;
}

#[tokio::test]
async fn newest_connection_of_a_machine_counts() {
    let attack = attack().await;
    let key = MachineKey::open(&attack.folder.path().join("node.key")).unwrap();
    let (near, _serving) = connect(&attack.hub);
    let mut second = as_node(OpenSocket::new(Box::new(near), WsRole::Client), &key, |_| true, "rogue").await.unwrap();
    assert!(second.is_paired);
    assert!(attack.serving.await.unwrap().is_ok(), "the first one has ended");
    let call = NodeCall {
        node: attack.node.id.clone(),
        name: "rogue".into(),
        tool: "x".into(),
        arguments: json!({}),
        effects: json!([]),
        timeout: Duration::from_secs(10),
    };
    let hub = attack.hub.clone();
    let made = tokio::spawn(async move { hub.call(call).await });
    loop {
        if let Arrival::Frame(Frame::Call { id, .. }, _) = second.reader.next().await.unwrap() {
            second.writer.send(&Frame::Done { id, content: Vec::new(), details: None, effects: Vec::new() }, &[]).await.unwrap();
            break;
        }
    }
    assert!(made.await.unwrap().is_ok());
}

#[tokio::test]
async fn anything_but_a_handshake_is_refused_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let hub = NodeHub::open(folder.path(), false, CancellationToken::new()).unwrap();
    for message in [&b""[..], b"{}", b"null", b"{\"protocol\":1,\"commitment\":7}", &[0xff; 5000], b"{\"protocol\":99,\"commitment\":\"\"}"]
    {
        let (near, serving) = connect(&hub);
        let mut socket = OpenSocket::new(Box::new(near), WsRole::Client);
        socket.writer.binary(message).await.unwrap();
        let refused = serving.await.unwrap().unwrap_err();
        assert!(matches!(refused, HandshakeError::Refused(_)), "{refused}");
    }
    let (near, serving) = connect(&hub);
    drop(near);
    assert!(matches!(serving.await.unwrap(), Err(HandshakeError::Lost(_))));
    assert_eq!(hub.pending_nodes(), []);
}
