//! Messages that were being answered when a server ended.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_channels::{Inbox, InboxVerdict};
use haft_contract::ports::ChannelKind;
use haft_store::ChannelStore;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::common::{Reply, Server, settings};
use crate::setup::{EchoHost, FirstAnswers, message, until};

/// A server of the program on a folder, whose answers go to the channel `phone` at an address.
fn started(folder: &std::path::Path, url: &str) -> (Arc<Inbox>, Arc<EchoHost>, CancellationToken) {
    let mut channel = settings(ChannelKind::Slack, url);
    (channel.name, channel.receives, channel.allow_from) = ("phone".into(), true, vec!["U5".into()]);
    let store: Arc<dyn ChannelStore> = Arc::new(haft_store::SqliteCallLog::open(folder).unwrap().log.channels());
    let opened = move || Ok(Arc::clone(&store));
    let service = haft_channels::ChannelService::new(vec![channel], &haft_channels::ChannelPorts::default(), Box::new(opened));
    let (host, stop) = (Arc::new(EchoHost::default()), CancellationToken::new());
    let inbox = Inbox::new(Arc::new(service), Arc::clone(&host) as _, Arc::new(FirstAnswers::default()), stop.clone());
    (inbox, host, stop)
}

#[tokio::test]
async fn message_that_was_being_answered_when_a_server_ended_is_answered_by_the_next_or_said_to_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![Reply::ok(json!({"ok": true, "ts": "1.5"}).to_string())]).await;
    let texts = || server.received().iter().map(|request| request.json()["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    // The first ends in the middle of a turn, with another message that waits, as a kill does: nothing of it is told.
    let killed = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (path, url) = (folder.path().to_owned(), server.url.clone());
    let first = killed.spawn(async move {
        let (inbox, host, _) = started(&path, &url);
        *host.hangs.lock().unwrap() = true;
        assert_eq!(inbox.accept("phone", message("U5", "m1", "first")).await, Ok(InboxVerdict::Taken));
        assert_eq!(inbox.accept("phone", message("U5", "m2", "second")).await, Ok(InboxVerdict::Taken));
        until(|| host.turns.lock().unwrap().len() == 1).await;
    });
    first.await.unwrap();
    tokio::task::spawn_blocking(move || drop(killed)).await.unwrap();
    assert_eq!(texts(), Vec::<String>::new());
    // The next continues both, in their order, and stops in the middle of a third, in an orderly way.
    {
        let (inbox, host, stop) = started(folder.path(), &server.url);
        let run = tokio::spawn(Arc::clone(&inbox).run(Arc::new(|channel: &str, why: &str| panic!("{channel}: {why}"))));
        until(|| texts().len() == 2).await;
        assert_eq!(texts(), ["continued first", "continued second"]);
        let resumed: Vec<String> = host.resumed.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
        assert_eq!(resumed, ["first", "second"]);
        stop.cancel();
        run.await.unwrap();
    }
    // What was answered is not answered again; what no server could answer is said to be lost, once.
    let store = haft_store::SqliteCallLog::open(folder.path()).unwrap().log.channels();
    let body = serde_json::to_string(&message("U5", "m3", "third")).unwrap();
    store.first_seen("phone", "m3", SystemTime::now() - Duration::from_hours(25), Some(&body)).await.unwrap();
    let stranger = serde_json::to_string(&message("U6", "m4", "from a stranger")).unwrap();
    store.first_seen("phone", "m4", SystemTime::now(), Some(&stranger)).await.unwrap();
    drop(store);
    for _ in 0..2 {
        let (inbox, host, stop) = started(folder.path(), &server.url);
        let run = tokio::spawn(Arc::clone(&inbox).run(Arc::new(|channel: &str, why: &str| panic!("{channel}: {why}"))));
        until(|| texts().len() == 3).await;
        assert!(texts()[2].starts_with("This message was not answered, because this Haft was stopped"), "{:?}", texts());
        assert_eq!(*host.resumed.lock().unwrap(), []);
        stop.cancel();
        run.await.unwrap();
    }
}
