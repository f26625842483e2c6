//! Sessions that were broken off at any point go on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use haft_agent::{Entry, Ledger, StoredSession};
use haft_provider::{Block, Message, Piece, StopReason, Usage, transcript};
use haft_store::{InMemorySessionStore, NewSession, SessionRecord, SessionStore, StoreError};

fn call(id: &str) -> Block {
    Block::Call { id: id.into(), name: "noop".into(), arguments: "{}".into(), opaque: None }
}

fn result(id: &str) -> Block {
    Block::Result { id: id.into(), name: "noop".into(), content: vec![Piece::Text { text: "ok".into() }], is_error: false }
}

fn assistant(blocks: Vec<Block>) -> Entry {
    let message = Message::assistant(blocks);
    Entry::Assistant { message, model: "a/b".into(), stop: StopReason::EndTurn, usage: Usage::default() }
}

/// A session of two rounds and what follows.
fn whole() -> Vec<Entry> {
    vec![
        Entry::User { message: Message::user("go") },
        Entry::Begun { call: call("1") },
        Entry::Begun { call: call("2") },
        assistant(vec![Block::text("I look"), call("1"), call("2")]),
        Entry::Results { message: Message::results(vec![result("1"), result("2")]) },
        Entry::Begun { call: call("3") },
        assistant(vec![call("3")]),
        Entry::Results { message: Message::results(vec![result("3"), Block::text("hurry")]) },
        assistant(vec![Block::text("done")]),
    ]
}

async fn started(store: &Arc<InMemorySessionStore>) -> SessionRecord {
    store.create(NewSession::new("main", "/w".as_ref())).await.unwrap()
}

async fn opened(store: &Arc<InMemorySessionStore>, record: &SessionRecord) -> (StoredSession, Vec<Message>, usize) {
    let (session, resumed) = StoredSession::open(Arc::clone(store) as _, record.clone()).await.unwrap();
    (session, resumed.messages, resumed.flaws.len())
}

#[tokio::test]
async fn a_session_that_came_to_its_end_is_read_as_it_was_said() {
    let store = Arc::new(InMemorySessionStore::default());
    let record = started(&store).await;
    let (session, messages, _) = opened(&store, &record).await;
    assert_eq!(messages, []);
    for entry in whole() {
        session.keep(&entry).await.unwrap();
    }
    drop(session);
    let (_, messages, flaws) = opened(&store, &record).await;
    assert_eq!(flaws, 0);
    assert_eq!(messages.len(), 6);
    assert_eq!(messages[1], Message::assistant(vec![Block::text("I look"), call("1"), call("2")]));
    assert_eq!(messages[4], Message::results(vec![result("3"), Block::text("hurry")]));
}

#[tokio::test]
async fn broken_off_after_any_entry_it_resumes_with_one_result_for_every_call() {
    for length in 1..=whole().len() {
        let store = Arc::new(InMemorySessionStore::default());
        let record = started(&store).await;
        let (session, ..) = opened(&store, &record).await;
        for entry in whole().into_iter().take(length) {
            session.keep(&entry).await.unwrap();
        }
        drop(session);
        let (session, messages, _) = opened(&store, &record).await;
        assert_eq!(transcript::validate(&messages), [], "after {length} entries");
        let ids = |of: fn(&Block) -> Option<&str>| -> Vec<String> {
            messages.iter().flat_map(|message| &message.blocks).filter_map(of).map(str::to_owned).collect()
        };
        assert_eq!(ids(Block::call_id), ids(Block::result_id), "after {length} entries");
        let begun = whole().into_iter().take(length).filter(|entry| matches!(entry, Entry::Begun { .. })).count();
        assert_eq!(ids(Block::call_id).len(), begun, "no call that was begun is forgotten");
        drop(session);
        let (session, again, flaws) = opened(&store, &record).await;
        assert_eq!((again, flaws), (messages, 0), "it is repaired once");
        session.keep(&Entry::User { message: Message::user("go on") }).await.unwrap();
    }
}

#[tokio::test]
async fn the_second_who_wants_a_session_is_told_who_has_it() {
    let store = Arc::new(InMemorySessionStore::default());
    let record = started(&store).await;
    let (_session, ..) = opened(&store, &record).await;
    let refused = StoredSession::open(Arc::clone(&store) as _, record).await.unwrap_err();
    assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
}
