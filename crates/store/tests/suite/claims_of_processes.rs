//! Claims of several processes.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout};
use std::time::Duration;

use haft_store::{SessionClaim, SessionOwner, SessionStore, StoreError};

use crate::common::{message, messages, new_session};
use crate::suite::test_store::{TestStore, claimed_when_free};

const CLAIMED: &str = "claimed";

/// Not a test by itself: a process that claims a session, and works on it until its input ends.
#[tokio::test]
async fn child_that_claims() {
    let Some(store) = TestStore::of_parent() else { return };
    let sessions = store.open().sessions;
    match sessions.claim("s1", SessionOwner::this_process()).await {
        Ok(_claim) => {
            sessions.append("s1", None, vec![message(1, "child's")]).await.unwrap();
            println!("\n{CLAIMED}");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        Err(error) => println!("\n{error}"),
    }
}

/// The process, ended with the test.
struct Claiming {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Claiming {
    fn start(store: &TestStore) -> Self {
        let mut child = store.process("suite::claims_of_processes::child_that_claims").spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What became of its claim, if it says so before it ends.
    fn told(&mut self) -> Option<String> {
        self.lines.by_ref().map(Result::unwrap).find(|line| line == CLAIMED || line.starts_with("session '"))
    }

    fn claimed(store: &TestStore) -> Self {
        let mut child = Self::start(store);
        assert_eq!(child.told().unwrap(), CLAIMED);
        child
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Claiming {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

async fn with_session(store: &TestStore) {
    store.open().sessions.create(new_session("s1")).await.unwrap();
}

async fn claim(sessions: &dyn SessionStore) -> Result<SessionClaim, StoreError> {
    sessions.claim("s1", SessionOwner::this_process()).await
}

pub(crate) async fn a_second_process_is_refused_until_the_first_is_killed(store: &TestStore) {
    with_session(store).await;
    let mut child = Claiming::claimed(store);
    let sessions = store.open().sessions;
    let this = SessionOwner::this_process();
    let refused = [
        claim(&*sessions).await.map(drop),
        sessions.append("s1", None, vec![message(2, "mine")]).await.map(drop),
        sessions.rewrite("s1", 0, vec![message(2, "mine")], "why").await.map(drop),
        sessions.delete("s1").await,
    ];
    for outcome in refused {
        let Err(StoreError::Busy { session, pid, host, since }) = outcome else { panic!("{outcome:?}") };
        assert_eq!((session.as_str(), pid, &host), ("s1", child.child.id(), &this.host));
        assert!(since <= this.since);
    }
    // Reading, renaming and forking are still possible.
    sessions.rename("s1", Some("watched")).await.unwrap();
    assert_eq!(messages(&*sessions, &sessions.fork("s1", None).await.unwrap()).await.len(), 1);

    child.kill();
    let claim = claimed_when_free(&*sessions, "s1").await;
    assert_eq!(sessions.append("s1", Some(1), vec![message(2, "mine")]).await.unwrap(), 2);
    drop((claim, sessions));
}

pub(crate) async fn the_second_process_names_the_first(store: &TestStore) {
    with_session(store).await;
    let sessions = store.open().sessions;
    let held = claim(&*sessions).await.unwrap();
    let SessionOwner { pid, host, .. } = SessionOwner::this_process();
    let expected = format!("session 's1' is in use by process {pid} on {host}: end that process first, or fork the session");
    assert_eq!(Claiming::start(store).told().unwrap(), expected);
    drop(held);
    // The release is queued; a claim through this store comes after it.
    drop(claim(&*sessions).await.unwrap());
    drop(sessions);
    Claiming::claimed(store);
}

pub(crate) async fn two_stores_of_one_process_are_two(store: &TestStore) {
    with_session(store).await;
    let stores = [store.open().sessions, store.open().sessions];
    let held = claim(&*stores[0]).await.unwrap();
    assert!(matches!(claim(&*stores[1]).await, Err(StoreError::Busy { .. })));
    assert!(matches!(stores[1].append("s1", None, vec![message(1, "a")]).await, Err(StoreError::Busy { .. })));
    assert_eq!(stores[0].clone().append("s1", None, vec![message(1, "a")]).await.unwrap(), 1);
    drop(held);
    let released = async {
        while claim(&*stores[1]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), released).await.unwrap();
}

pub(crate) async fn of_many_at_once_one_gets_the_claim(store: &TestStore) {
    with_session(store).await;
    let mut stores = Vec::new();
    for _ in 0..8 {
        stores.push(store.open().sessions);
    }
    let claims: Vec<_> =
        stores.iter().cloned().map(|store| tokio::spawn(async move { store.claim("s1", SessionOwner::this_process()).await })).collect();
    let mut held = Vec::new();
    for outcome in claims {
        match outcome.await.unwrap() {
            Ok(claim) => held.push(claim),
            Err(error) => assert!(matches!(error, StoreError::Busy { .. }), "{error}"),
        }
    }
    assert_eq!(held.len(), 1);
}
