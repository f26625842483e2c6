//! What channels keep: intents and outcomes, senders, codes, conversations.

use std::time::{Duration, SystemTime};

use haft_contract::ports::SendOutcome;
use haft_store::{ConversationRecord, GuessAnswer, IntentAnswer, PairedSender, SendIntent, UnansweredMessage};

use crate::common::new_session;
use crate::suite::test_store::TestStore;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn intent(id: &str, fingerprint: &str, created: u64) -> SendIntent {
    SendIntent {
        id: id.into(),
        channel: "slack".into(),
        recipient: "#ops".into(),
        action: "send".into(),
        fingerprint: fingerprint.into(),
        excerpt: "hi".into(),
        origin: Some(("s".into(), "c".into())),
        created: at(created),
    }
}

pub(crate) async fn message_is_intended_once_and_its_first_certain_outcome_counts(store: &TestStore) {
    let channels = store.open().channels;
    assert_eq!(channels.intend(intent("1", "f", 100), at(0)).await.unwrap(), IntentAnswer::Recorded);
    // The same id, and the same content while nobody knows what became of it.
    for again in [intent("1", "g", 101), intent("2", "f", 101)] {
        let IntentAnswer::Known(known) = channels.intend(again, at(0)).await.unwrap() else { panic!("it was recorded twice") };
        assert_eq!((known.intent.id.as_str(), known.outcome), ("1", None));
    }
    channels.settle("1", SendOutcome::Unknown, None, Some("lost")).await.unwrap();
    assert!(matches!(channels.intend(intent("2", "f", 102), at(0)).await.unwrap(), IntentAnswer::Known(_)));
    assert_eq!(channels.intend(intent("3", "f", 5000), at(4000)).await.unwrap(), IntentAnswer::Recorded, "long ago");
    channels.settle("1", SendOutcome::Delivered, Some("m"), None).await.unwrap();
    channels.settle("1", SendOutcome::NotDelivered, None, Some("too late")).await.unwrap();
    let listed = channels.outgoing(None, 10, at(5001)).await.unwrap();
    let found: Vec<_> = listed.iter().map(|record| (record.intent.id.as_str(), record.outcome, record.message.as_deref())).collect();
    assert_eq!(found, [("3", None, None), ("1", Some(SendOutcome::Delivered), Some("m"))]);
    // Its process was killed, and the next one says so.
    let later = channels.outgoing(Some("slack"), 1, at(9000)).await.unwrap();
    assert_eq!(later[0].outcome, Some(SendOutcome::Unknown));
    assert_eq!(channels.outgoing(Some("mail"), 10, at(9000)).await.unwrap(), []);
}

pub(crate) async fn code_is_used_once_expires_and_ends_with_too_many_guesses(store: &TestStore) {
    let channels = store.open().channels;
    let guess = |hash: &'static str, now: u64| channels.guess_code("phone", hash, at(now), 3);
    assert_eq!(guess("right", 1).await.unwrap(), GuessAnswer::NoCode);
    channels.open_code("phone", "right", at(100)).await.unwrap();
    assert_eq!(guess("wrong", 1).await.unwrap(), GuessAnswer::Wrong);
    assert_eq!(channels.guess_code("mail", "right", at(1), 3).await.unwrap(), GuessAnswer::NoCode);
    assert_eq!(guess("right", 1).await.unwrap(), GuessAnswer::Right);
    assert_eq!(guess("right", 1).await.unwrap(), GuessAnswer::NoCode);
    channels.open_code("phone", "right", at(100)).await.unwrap();
    assert_eq!(guess("right", 100).await.unwrap(), GuessAnswer::NoCode);
    channels.open_code("phone", "right", at(100)).await.unwrap();
    for _ in 0..3 {
        assert_eq!(guess("wrong", 1).await.unwrap(), GuessAnswer::Wrong);
    }
    assert_eq!(guess("right", 1).await.unwrap(), GuessAnswer::NoCode);
}

pub(crate) async fn senders_conversations_and_cursors_survive_and_end_with_their_session(store: &TestStore) {
    let sender = PairedSender { channel: "phone".into(), sender: "5".into(), name: "Ann".into(), added: at(7) };
    let conversation = |session: &str, updated: u64| ConversationRecord {
        channel: "phone".into(),
        conversation: "direct:5".into(),
        session: session.into(),
        sender: "{}".into(),
        is_owner: true,
        updated: at(updated),
    };
    {
        let opened = store.open();
        let channels = &opened.channels;
        opened.sessions.create(new_session("s1")).await.unwrap();
        channels.add_sender(sender.clone()).await.unwrap();
        channels.put_conversation(conversation("s0", 1)).await.unwrap();
        channels.put_conversation(conversation("s1", 2)).await.unwrap();
        channels.set_cursor("phone", "12").await.unwrap();
        assert!(channels.first_seen("phone", "m1", at(1), None).await.unwrap());
    }
    let opened = store.open();
    let channels = &opened.channels;
    assert_eq!(channels.senders().await.unwrap(), [sender]);
    assert_eq!(channels.conversation("phone", "direct:5").await.unwrap(), Some(conversation("s1", 2)));
    assert_eq!(channels.conversation_of("s1").await.unwrap(), Some(conversation("s1", 2)));
    assert_eq!(channels.conversations(10).await.unwrap().len(), 1);
    assert_eq!(channels.cursor("phone").await.unwrap().as_deref(), Some("12"));
    assert!(!channels.first_seen("phone", "m1", at(2), None).await.unwrap(), "it is known after a restart");
    assert!(channels.first_seen("mail", "m1", at(2), None).await.unwrap());
    opened.sessions.delete("s1").await.unwrap();
    assert_eq!(channels.conversation_of("s1").await.unwrap(), None);
}

pub(crate) async fn message_that_was_not_answered_is_taken_over_once_when_its_process_has_ended(store: &TestStore) {
    let first = store.open();
    let waiting = &first.channels;
    for (message, body) in [("m1", "one"), ("m2", "two"), ("m3", "three")] {
        assert!(waiting.first_seen("phone", message, at(1), Some(body)).await.unwrap());
    }
    assert!(!waiting.first_seen("phone", "m1", at(2), Some("again")).await.unwrap());
    waiting.answered("phone", "m2").await.unwrap();
    assert_eq!(waiting.take_unanswered().await.unwrap(), [], "its own are being answered");
    let second = store.open();
    assert_eq!(second.channels.take_unanswered().await.unwrap(), [], "the process that answers them lives");
    drop(first);
    let left = |message: &str, body: &str, attempts| UnansweredMessage {
        channel: "phone".into(),
        message: message.into(),
        body: body.into(),
        at: at(1),
        attempts,
    };
    assert_eq!(second.channels.take_unanswered().await.unwrap(), [left("m1", "one", 1), left("m3", "three", 1)]);
    assert_eq!(second.channels.take_unanswered().await.unwrap(), []);
    second.channels.answered("phone", "m1").await.unwrap();
    drop(second);
    assert_eq!(store.open().channels.take_unanswered().await.unwrap(), [left("m3", "three", 2)]);
}
