//! Sessions that were interrupted at any point are resumed.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod stores;

use std::sync::Arc;

use haft_agent::{Ledger, LedgerEntry, StoredSession};
use haft_provider::{Block, Message, ResultPart, StopReason, Usage, transcript};
use haft_store::{CallRecord, CallStatus, NewSession, SessionRecord, SessionStore, StoreError};

use self::stores::{call_log, session_store};

fn call(id: &str) -> Block {
    Block::Call { id: id.into(), name: "noop".into(), arguments: "{}".into(), opaque: None }
}

fn result(id: &str) -> Block {
    Block::Result { id: id.into(), name: "noop".into(), content: vec![ResultPart::Text { text: "ok".into() }], is_error: false }
}

fn assistant(blocks: Vec<Block>) -> LedgerEntry {
    let message = Message::assistant(blocks);
    LedgerEntry::Assistant { message, model: "a/b".into(), stop: StopReason::EndTurn, usage: Usage::default() }
}

/// A session of two rounds and what follows.
fn whole() -> Vec<LedgerEntry> {
    vec![
        LedgerEntry::User { message: Message::user("go") },
        LedgerEntry::Begun { call: call("1") },
        LedgerEntry::Begun { call: call("2") },
        assistant(vec![Block::text("I look"), call("1"), call("2")]),
        LedgerEntry::Results { message: Message::results(vec![result("1"), result("2")]) },
        LedgerEntry::Begun { call: call("3") },
        assistant(vec![call("3")]),
        LedgerEntry::Results { message: Message::results(vec![result("3"), Block::text("hurry")]) },
        assistant(vec![Block::text("done")]),
    ]
}

async fn started(store: &Arc<dyn SessionStore>) -> SessionRecord {
    store.create(NewSession::new("main", "/w".as_ref())).await.unwrap()
}

async fn opened(store: &Arc<dyn SessionStore>, record: &SessionRecord) -> (StoredSession, Vec<Message>, usize) {
    let history = call_log();
    let (session, resumed) = StoredSession::open(Arc::clone(store), &*history, record.clone()).await.unwrap();
    (session, resumed.messages, resumed.flaws.len())
}

#[tokio::test]
async fn a_complete_session_is_read_unchanged() {
    let store = session_store();
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
async fn a_session_interrupted_after_any_entry_resumes_with_one_result_for_every_call() {
    for length in 1..=whole().len() {
        let store = session_store();
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
        let begun = whole().into_iter().take(length).filter(|entry| matches!(entry, LedgerEntry::Begun { .. })).count();
        assert_eq!(ids(Block::call_id).len(), begun, "no call that was begun is forgotten");
        drop(session);
        let (session, again, flaws) = opened(&store, &record).await;
        assert_eq!((again, flaws), (messages, 0), "it is repaired once");
        session.keep(&LedgerEntry::User { message: Message::user("continue") }).await.unwrap();
    }
}

#[tokio::test]
async fn a_second_open_of_a_session_names_its_owner() {
    let store = session_store();
    let record = started(&store).await;
    let (_session, ..) = opened(&store, &record).await;
    let refused = StoredSession::open(Arc::clone(&store), &*call_log(), record).await.unwrap_err();
    assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
}

fn summary(text: &str, kept: usize) -> LedgerEntry {
    LedgerEntry::Summary { message: Message::user(text), kept }
}

#[tokio::test]
async fn a_summary_replaces_the_messages_before_it() {
    let store = session_store();
    let record = started(&store).await;
    let (session, ..) = opened(&store, &record).await;
    for entry in whole().into_iter().chain([summary("so it was", 3), LedgerEntry::User { message: Message::user("and now?") }]) {
        session.keep(&entry).await.unwrap();
    }
    drop(session);
    let expected = [
        Message::user("so it was"),
        Message::assistant(vec![call("3")]),
        Message::results(vec![result("3"), Block::text("hurry")]),
        Message::assistant(vec![Block::text("done")]),
        Message::user("and now?"),
    ];
    let (session, messages, flaws) = opened(&store, &record).await;
    assert_eq!((messages.as_slice(), flaws), (&expected[..], 0));
    session.keep(&summary("all of it", 0)).await.unwrap();
    drop(session);
    assert_eq!(opened(&store, &record).await.1, [Message::user("all of it")], "the second summary holds the first");
}

/// Messages that a summary keeps are stored before it, and may be the broken ones.
#[tokio::test]
async fn damage_around_a_summary_is_repaired_once_and_the_summary_stays() {
    for tail in [
        vec![LedgerEntry::Begun { call: call("9") }],
        vec![assistant(vec![call("9")])],
        vec![LedgerEntry::User { message: Message::user("a") }, LedgerEntry::User { message: Message::user("b") }],
        vec![LedgerEntry::Results { message: Message::results(vec![result("unknown")]) }],
    ] {
        for kept in [0, 1, 3] {
            let store = session_store();
            let record = started(&store).await;
            let (session, ..) = opened(&store, &record).await;
            for entry in whole().into_iter().chain([summary("so it was", kept)]).chain(tail.clone()) {
                session.keep(&entry).await.unwrap();
            }
            drop(session);
            let (_, messages, _) = opened(&store, &record).await;
            assert_eq!(transcript::validate(&messages), [], "{kept} {tail:?}");
            let first = &messages[0].blocks[0];
            assert_eq!(first, &Block::text("so it was"), "{kept} {tail:?}");
            let (_, again, flaws) = opened(&store, &record).await;
            assert_eq!((again, flaws), (messages, 0), "it is repaired once: {kept} {tail:?}");
        }
    }
}

fn history_of(session: &str, id: &str, status: CallStatus) -> CallRecord {
    CallRecord {
        id: format!("record-{id}"),
        call_id: id.into(),
        session: session.into(),
        agent: "main".into(),
        tool: "noop".into(),
        workspace: "/w".into(),
        arguments: serde_json::Value::Null,
        original_arguments: None,
        effects: serde_json::Value::Null,
        decision: serde_json::Value::Null,
        started: std::time::SystemTime::UNIX_EPOCH,
        elapsed: std::time::Duration::ZERO,
        status,
        summary: format!("what {id} said"),
        undone: false,
    }
}

#[tokio::test]
async fn missing_results_are_taken_from_the_history_of_calls() {
    let store = session_store();
    let record = started(&store).await;
    let history = call_log();
    for (session, id, status) in [
        (record.id.as_str(), "1", CallStatus::Success),
        (record.id.as_str(), "2", CallStatus::Error("timeout".into())),
        (record.id.as_str(), "3", CallStatus::Begun),
        ("another", "4", CallStatus::Success),
    ] {
        history.append(history_of(session, id, status)).unwrap();
    }
    let (session, _) = StoredSession::open(Arc::clone(&store), &*history, record.clone()).await.unwrap();
    session.keep(&LedgerEntry::User { message: Message::user("go") }).await.unwrap();
    for id in ["1", "2", "3", "4"] {
        session.keep(&LedgerEntry::Begun { call: call(id) }).await.unwrap();
    }
    drop(session);
    let (session, resumed) = StoredSession::open(Arc::clone(&store), &*history, record.clone()).await.unwrap();
    let told: Vec<(bool, String)> = resumed.messages[2]
        .blocks
        .iter()
        .map(|block| match block {
            Block::Result { content, is_error, .. } => (*is_error, format!("{content:?}")),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told.iter().map(|(is_error, _)| *is_error).collect::<Vec<_>>(), [false, true, true, true]);
    for (told, words) in told.iter().zip(["what 1 said", "what 2 said", "interrupted", "interrupted"]) {
        assert!(told.1.contains(words), "{words}: {told:?}");
    }
    assert_eq!((resumed.recalled, resumed.flaws.len()), (2, 2), "{:?}", resumed.flaws);
    drop(session);
    let (_, again) = StoredSession::open(Arc::clone(&store), &*history, record).await.unwrap();
    assert_eq!((again.messages, again.recalled), (resumed.messages, 0), "once");
}
