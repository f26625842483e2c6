//! How many messages pass policy and store in a second: 200 are promised. It prints the figure.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a test that cannot continue has failed; the figure is its output"
)]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use common::{Reply, Server, service, settings};
use haft_contract::ToolCall;
use haft_contract::ports::{ChannelKind, MessageChannels, Services};
use haft_contract::{Access, ToolSource};
use haft_engine::{Engine, Registry, Session};
use haft_store::{FileBlobs, SqliteCallLog};
use haft_testkit::FakeHost;
use serde_json::json;

const MESSAGES: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_pass_policy_and_store_fast_enough() {
    let server = Server::start(vec![Reply::ok(json!({"ok": true, "ts": "1"}).to_string())]).await;
    let (folder, channels, store) = service(vec![settings(ChannelKind::Slack, &server.url)]);
    let registry = Arc::new(Registry::new());
    registry.register(haft_builtin::message_for(channels.offers(), None), ToolSource::BuiltIn).unwrap();
    let log = Arc::new(SqliteCallLog::open(&folder.path().join("calls")).unwrap().log);
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap().of_session("s").unwrap());
    let engine = Arc::new(Engine::builder(registry, log, blobs).build());
    let (host, mut services) = (FakeHost::new(), Services::default());
    services.channels = Some(channels as _);
    assert!(host.services.set(services).is_ok());
    let session = Session::builder(host).access(Access::FullAccess).loop_limits(None).build();
    let begin = Instant::now();
    let calls = (0..MESSAGES).map(|number| {
        let arguments = json!({"to": "#ops", "message": format!("message {number}")});
        ToolCall::new(format!("c{number}"), "message", arguments)
    });
    let mut tasks = tokio::task::JoinSet::new();
    for call in calls {
        let (engine, session) = (Arc::clone(&engine), session.clone());
        tasks.spawn(async move { engine.run(call, &session).await });
    }
    while let Some(result) = tasks.join_next().await {
        let result = result.unwrap();
        assert!(result.outcome.is_ok(), "{:?}", result.outcome);
    }
    let elapsed = begin.elapsed();
    let delivered = store.outgoing(None, MESSAGES * 2, SystemTime::now()).await.unwrap().len();
    assert_eq!((delivered, server.received().len()), (MESSAGES, MESSAGES));
    println!("{:.0} messages a second through policy and store", MESSAGES as f64 / elapsed.as_secs_f64());
    // Ten times slower than promised is a fault on any machine.
    assert!(elapsed < Duration::from_secs_f64(MESSAGES as f64 / 20.0), "{elapsed:?}");
}
