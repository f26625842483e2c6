use std::time::{Duration, SystemTime};

use haft_store::{MessageRecord, NewMessage, ReplacedMessage, SessionStore, StoreError};

use crate::common::{message, messages, new_session, second};

fn kept(number: u64, seconds: u64, body: &str) -> MessageRecord {
    MessageRecord { session: "s1".into(), number, kind: "user".into(), body: body.into(), created: second(seconds) }
}

pub(crate) async fn messages_are_numbered_without_gaps(store: &dyn SessionStore) {
    for id in ["s1", "s2"] {
        store.create(new_session(id)).await.unwrap();
    }
    assert_eq!(store.append("s1", None, Vec::new()).await.unwrap(), 0);
    assert_eq!(store.append("s1", Some(0), vec![message(1, "a"), message(2, "b")]).await.unwrap(), 2);
    assert_eq!(store.append("s2", None, vec![message(1, "other")]).await.unwrap(), 1);
    assert_eq!(store.append("s1", None, vec![message(3, "c")]).await.unwrap(), 3);
    assert_eq!(messages(store, "s1").await, [kept(0, 1, "a"), kept(1, 2, "b"), kept(2, 3, "c")]);
    assert_eq!(store.open("s1").await.unwrap().messages, 3);
}

pub(crate) async fn a_message_comes_back_whole(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    let created = SystemTime::UNIX_EPOCH + Duration::new(1_763_000_000, 123_456_789);
    let before_1970 = SystemTime::UNIX_EPOCH - Duration::new(5, 7);
    let new = [
        NewMessage { kind: "assistant".into(), body: "{\"text\":\"ü\u{0}😀\"}".into(), created },
        NewMessage { kind: String::new(), body: String::new(), created: before_1970 },
        NewMessage { kind: "results".into(), body: "ä".repeat(1 << 20), created },
    ];
    store.append("s1", None, new.to_vec()).await.unwrap();
    let found = messages(store, "s1").await;
    assert!(found.iter().enumerate().all(|(number, message)| message.number == number as u64 && message.session == "s1"));
    let found: Vec<_> =
        found.into_iter().map(|message| NewMessage { kind: message.kind, body: message.body, created: message.created }).collect();
    assert!(found == new, "a message changed");
}

pub(crate) async fn messages_are_read_in_pages(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    store.append("s1", None, (0..25).map(|number| message(number, &number.to_string())).collect()).await.unwrap();
    let numbers = |found: Vec<MessageRecord>| found.into_iter().map(|message| message.number).collect::<Vec<_>>();
    let cases = [
        (0, 10, 0..10),
        (10, 10, 10..20),
        (20, 10, 20..25),
        (25, 10, 25..25),
        (u64::MAX, 10, 0..0),
        (3, 0, 3..3),
        (24, usize::MAX, 24..25),
    ];
    for (from, limit, expected) in cases {
        let found = store.messages("s1", from, limit).await.unwrap();
        assert_eq!(numbers(found), expected.collect::<Vec<_>>(), "{limit} from {from}");
    }
}

pub(crate) async fn an_append_after_an_unseen_message_is_a_conflict(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    store.append("s1", Some(0), vec![message(1, "a")]).await.unwrap();
    for expected in [0, 2, u64::MAX] {
        for new in [vec![message(2, "b")], Vec::new()] {
            let error = store.append("s1", Some(expected), new).await.unwrap_err();
            assert!(matches!(&error, StoreError::Conflict { session, expected: told, next: 1 } if session == "s1" && *told == expected));
            let text = format!("the next message of session 's1' is 1, not {expected}: someone else wrote to it; read it again first");
            assert_eq!(error.to_string(), text);
        }
    }
    assert_eq!(messages(store, "s1").await, [kept(0, 1, "a")]);
}

pub(crate) async fn appends_at_once_lose_nothing(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    let pair = |number: u64| vec![message(number, "first"), message(number, "second")];
    let appends: Vec<_> = (0..50).map(|number| store.append("s1", None, pair(number))).collect();
    let mut nexts = Vec::new();
    // Polled together, so that the store has them all at once.
    let mut pending: Vec<_> = appends.into_iter().map(Some).collect();
    std::future::poll_fn(|cx| {
        for slot in &mut pending {
            if let Some(std::task::Poll::Ready(next)) = slot.as_mut().map(|append| append.as_mut().poll(cx)) {
                nexts.push(next.unwrap());
                *slot = None;
            }
        }
        if nexts.len() == 50 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    nexts.sort_unstable();
    assert_eq!(nexts, (1..=50).map(|pairs| 2 * pairs).collect::<Vec<_>>());
    let found = messages(store, "s1").await;
    let whole = found
        .chunks(2)
        .filter(|pair| (pair[0].body.as_str(), pair[1].body.as_str()) == ("first", "second") && pair[0].created == pair[1].created);
    assert_eq!((found.len(), whole.count()), (100, 50), "no pair is torn apart");
    assert!((0..100).eq(found.iter().map(|message| message.number)));
}

pub(crate) async fn a_rewrite_replaces_the_end_and_keeps_what_was_there(store: &dyn SessionStore) {
    let before = SystemTime::now();
    store.create(new_session("s1")).await.unwrap();
    store.append("s1", None, (0..4).map(|number| message(number, &number.to_string())).collect()).await.unwrap();
    assert_eq!(store.rewrite("s1", 2, vec![message(9, "new 2")], "a call without its result").await.unwrap(), 3);
    assert_eq!(messages(store, "s1").await, [kept(0, 0, "0"), kept(1, 1, "1"), kept(2, 9, "new 2")]);
    assert_eq!(store.rewrite("s1", 2, vec![message(10, "newer 2"), message(11, "newer 3")], "again").await.unwrap(), 4);
    assert_eq!(store.append("s1", Some(4), vec![message(12, "4")]).await.unwrap(), 5);
    assert_eq!(
        messages(store, "s1").await,
        [kept(0, 0, "0"), kept(1, 1, "1"), kept(2, 10, "newer 2"), kept(3, 11, "newer 3"), kept(4, 12, "4")]
    );
    assert_eq!(store.open("s1").await.unwrap().messages, 5);

    let replaced = store.replaced("s1", usize::MAX).await.unwrap();
    assert!(replaced.iter().all(|old| (before..=SystemTime::now()).contains(&old.replaced)));
    let expected =
        [(kept(2, 2, "2"), "a call without its result"), (kept(3, 3, "3"), "a call without its result"), (kept(2, 9, "new 2"), "again")];
    let expected = expected.into_iter().zip(&replaced).map(|((message, reason), old)| ReplacedMessage {
        message,
        reason: reason.into(),
        ..old.clone()
    });
    assert_eq!((replaced.len(), &replaced), (3, &expected.collect::<Vec<_>>()));
    assert_eq!(store.replaced("s1", 1).await.unwrap(), replaced[..1]);
}

pub(crate) async fn a_rewrite_leaves_no_gap(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    store.append("s1", None, vec![message(1, "a")]).await.unwrap();
    for from in [2, u64::MAX] {
        let error = store.rewrite("s1", from, vec![message(2, "b")], "why").await.unwrap_err();
        assert_eq!(error.to_string(), format!("no message '{from} of session s1'"));
    }
    assert_eq!((messages(store, "s1").await, store.replaced("s1", 9).await.unwrap()), (vec![kept(0, 1, "a")], vec![]));
    // At the end there is nothing to replace.
    assert_eq!(store.rewrite("s1", 1, vec![message(2, "b")], "why").await.unwrap(), 2);
    assert_eq!(store.rewrite("s1", 0, Vec::new(), "why").await.unwrap(), 0);
    assert_eq!((messages(store, "s1").await, store.replaced("s1", 9).await.unwrap().len()), (vec![], 2));
}
