//! A process that is killed while it appends.

use std::io::{BufRead, BufReader};

use haft_store::NewMessage;

use crate::common::{messages, new_session, record, second};
use crate::suite::test_store::{TestStore, claimed_when_free};

/// How many messages are appended at once.
const BATCH: u64 = 3;

/// A message that can be told from all others, of very different sizes.
fn numbered(number: u64) -> NewMessage {
    let length = usize::try_from(number * 7919 % 20_000).unwrap();
    NewMessage { kind: "assistant".into(), body: format!("[{number},\"{}\"]", "x".repeat(length)), created: second(number) }
}

/// Not a test by itself: the process that is killed.
#[tokio::test]
async fn child_that_appends() {
    let Some(store) = TestStore::of_parent() else { return };
    let opened = store.open();
    let (log, sessions) = (&opened.log, &opened.sessions);
    let _claim = claimed_when_free(&**sessions, "s1").await;
    let mut next = sessions.open("s1").await.unwrap().messages;
    // Until it is killed; bounded in case it is not.
    for _ in 0..10_000 {
        log.append(record(&format!("r{next}"))).unwrap();
        next = sessions.append("s1", Some(next), (next..next + BATCH).map(numbered).collect()).await.unwrap();
        println!("\nacknowledged {next}");
    }
}

/// Starts the process, kills it after so many acknowledgements, and says the last one it gave.
fn killed_after(store: &TestStore, acknowledgements: usize) -> u64 {
    let mut child = store.process("suite::crash::child_that_appends").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = lines.by_ref().filter_map(|line| line.unwrap().strip_prefix("acknowledged ").map(|next| next.parse().unwrap()));
    let last = acknowledged.by_ref().nth(acknowledgements - 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said while it was being killed counts too.
    acknowledged.last().or(last).unwrap()
}

pub(crate) async fn a_killed_process_loses_nothing_that_was_acknowledged(store: &TestStore) {
    store.open().sessions.create(new_session("s1")).await.unwrap();
    // One after the other in the same database: each continues where the one before was killed.
    for acknowledgements in [1, 2, 3, 5, 8, 13, 40, 100] {
        let acknowledged = killed_after(store, acknowledgements);
        let sessions = store.open().sessions;
        // What was sent to a server before the kill is done, or it is not, once the session can be claimed.
        let _claim = claimed_when_free(&*sessions, "s1").await;
        let found = messages(&*sessions, "s1").await;
        let count = found.len() as u64;
        assert!(count >= acknowledged, "{acknowledged} were acknowledged, {count} are there");
        assert_eq!((count % BATCH, sessions.open("s1").await.unwrap().messages), (0, count), "half of an append is there");
        for (number, message) in (0..).zip(found) {
            assert_eq!(message.number, number);
            let found = NewMessage { kind: message.kind, body: message.body, created: message.created };
            assert!(found == numbered(number), "message {number} changed");
        }
    }
}
