//! Gateways that do not keep to the protocol.

use std::sync::atomic::{AtomicUsize, Ordering};

use haft_contract::{BoxFuture, ToolOutput};
use serde_json::json;

use super::calls::{NodeOutcome, NodeRequest};
use super::*;
use crate::frame::About;
use crate::handshake::{PairingVerdict, as_gateway};

/// Counts what it runs.
#[derive(Default)]
struct Counter(AtomicUsize);

impl NodeRunner for Counter {
    fn run(self: Arc<Self>, _: NodeRequest) -> BoxFuture<'static, NodeOutcome> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { NodeOutcome { result: Ok(ToolOutput::text("ran")), effects: Vec::new() } })
    }
    fn about(&self) -> About {
        About::default()
    }
}

/// Both ends of a connection that is paired: the gateway's is the test's.
async fn ends() -> (Secured, Secured) {
    let folder = tempfile::tempdir().unwrap();
    let gateway_key = MachineKey::open(&folder.path().join("gateway.key")).unwrap();
    let node_key = MachineKey::open(&folder.path().join("node.key")).unwrap();
    let (near, far) = tokio::io::duplex(1 << 20);
    let gateway = as_gateway(OpenSocket::new(Box::new(near), WsRole::Server), &gateway_key, |_, _| PairingVerdict::Paired);
    let node = as_node(OpenSocket::new(Box::new(far), WsRole::Client), &node_key, |_| true, "n");
    let (gateway, node) = tokio::join!(gateway, node);
    let (gateway, node) = (gateway.unwrap(), node.unwrap());
    assert_eq!(gateway.code, node.code, "both screens show the same");
    (gateway, node)
}

fn call(id: u64) -> Frame {
    Frame::Call { id, tool: "x".into(), arguments: json!({}), effects: json!([]), timeout_ms: 1000 }
}

#[tokio::test]
async fn call_that_is_repeated_does_not_run_again() {
    for (first, second) in [(5, 5), (5, 4), (1, 0)] {
        let ((mut gateway, node), counter) = (ends().await, Arc::new(Counter::default()));
        let runner = Arc::clone(&counter) as Arc<dyn NodeRunner>;
        let serving = tokio::spawn(async move { serve(node.reader, node.writer, runner, &CancellationToken::new()).await });
        gateway.writer.send(&call(first), &[]).await.unwrap();
        loop {
            if let Arrival::Frame(Frame::Done { id, .. }, _) = gateway.reader.next().await.unwrap() {
                assert_eq!(id, first);
                break;
            }
        }
        gateway.writer.send(&call(second), &[]).await.unwrap();
        let LinkEnd::Lost(why) = serving.await.unwrap() else { panic!("the connection ends") };
        assert!(why.to_string().contains("repeats a call"), "{why}");
        assert_eq!(counter.0.load(Ordering::SeqCst), 1, "{first} then {second}");
    }
}

#[tokio::test]
async fn gateway_that_refuses_or_has_another_key_pairs_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let gateway_key = MachineKey::open(&folder.path().join("gateway.key")).unwrap();
    let node_key = MachineKey::open(&folder.path().join("node.key")).unwrap();
    let pinned = node_key.public();
    for (admission, is_pinned, expected) in [
        (PairingVerdict::Refused("go\u{202e} away".into()), false, "go\\u{202e} away"),
        (PairingVerdict::Paired, true, "another gateway ("),
    ] {
        let (near, far) = tokio::io::duplex(1 << 20);
        let gateway = as_gateway(OpenSocket::new(Box::new(near), WsRole::Server), &gateway_key, |_, _| admission);
        let is_expected = |found: &PeerKey| !is_pinned || *found == pinned;
        let node = as_node(OpenSocket::new(Box::new(far), WsRole::Client), &node_key, is_expected, "n");
        let (gateway, node) = tokio::join!(gateway, node);
        let why = node.unwrap_err().to_string();
        assert!(gateway.is_err() && why.starts_with(expected), "{why}");
    }
}

#[test]
fn pairing_of_a_node_is_private_and_a_broken_one_lets_no_other_gateway_in() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let store = NodeStore::new(&folder.path().join("node"));
    assert_eq!(store.gateway().unwrap(), None);
    let pinned = PinnedGateway { url: "wss://x:1".into(), key: "00".into(), name: "n".into() };
    store.pin(&pinned).unwrap();
    assert_eq!(store.gateway().unwrap(), Some(pinned));
    let mode = |path: &str| std::fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
    store.key().unwrap();
    assert_eq!((mode("node"), mode("node/gateway.json"), mode("node/node.key")), (0o700, 0o600, 0o600));
    std::fs::write(folder.path().join("node/gateway.json"), "{").unwrap();
    assert!(store.gateway().is_err());
    assert_eq!((store.forget().unwrap(), store.forget().unwrap()), (true, false));
}
