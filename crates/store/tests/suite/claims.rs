use std::task::Poll;

use haft_store::{SessionOwner, SessionStore, StoreError};

use crate::common::{message, new_session, second};

fn owner(pid: u32) -> SessionOwner {
    SessionOwner { pid, host: "here".into(), since: second(u64::from(pid)) }
}

/// Who holds the session, as the one who comes second is told.
async fn holder(store: &dyn SessionStore, session: &str) -> Option<SessionOwner> {
    match store.claim(session, owner(99)).await {
        Ok(claim) => {
            assert_eq!(claim.session(), session);
            None
        }
        Err(StoreError::Busy { session: told, pid, host, since }) => {
            assert_eq!(told, session);
            Some(SessionOwner { pid, host, since })
        }
        Err(other) => panic!("{other}"),
    }
}

pub(crate) async fn one_at_a_time_claims_a_session(store: &dyn SessionStore) {
    for id in ["s1", "s2"] {
        store.create(new_session(id)).await.unwrap();
    }
    let first = store.claim("s1", owner(1)).await.unwrap();
    let second = store.claim("s2", owner(2)).await.unwrap();
    assert_eq!((holder(store, "s1").await, holder(store, "s2").await), (Some(owner(1)), Some(owner(2))));
    let error = store.claim("s1", owner(3)).await.unwrap_err();
    assert_eq!(error.to_string(), "session 's1' is in use by process 1 on here: end that process first, or fork the session");
    drop(first);
    assert_eq!((holder(store, "s1").await, holder(store, "s2").await), (None, Some(owner(2))));
    drop(second);
}

pub(crate) async fn a_claim_ends_with_what_holds_it(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    for pid in 1..=3 {
        let claim = store.claim("s1", owner(pid)).await.unwrap();
        assert_eq!(holder(store, "s1").await, Some(owner(pid)));
        drop(claim);
    }
    let claim = store.claim("s1", owner(4)).await.unwrap();
    let ended = tokio::spawn(async move {
        let _held = claim;
        panic!("the turn ends badly");
    });
    assert!(ended.await.is_err());
    assert_eq!(holder(store, "s1").await, None);
}

pub(crate) async fn a_claim_is_released_when_its_caller_stops_waiting(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    // Given up before each step of its work, until it takes no more of them.
    for steps in 0.. {
        let mut claim = Some(store.claim("s1", owner(1)));
        let mut left = steps;
        let ended = std::future::poll_fn(|cx| {
            let Some(running) = claim.as_mut().filter(|_| left > 0) else { return Poll::Ready(false) };
            left -= 1;
            running.as_mut().poll(cx).map(|claimed| claimed.is_ok())
        })
        .await;
        drop(claim.take());
        assert_eq!(holder(store, "s1").await, None, "after {steps} steps");
        if ended {
            break;
        }
    }
}

pub(crate) async fn the_owner_of_a_session_may_do_everything(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    let claim = store.claim("s1", SessionOwner::this_process()).await.unwrap();
    store.append("s1", None, vec![message(1, "a")]).await.unwrap();
    store.rewrite("s1", 0, vec![message(2, "b")], "why").await.unwrap();
    store.delete("s1").await.unwrap();
    // Releasing a deleted session is no error.
    drop(claim);
    assert!(store.open("s1").await.is_err());
}
