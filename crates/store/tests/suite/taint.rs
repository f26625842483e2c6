use haft_contract::Access;
use haft_contract::ports::SubAgentState;
use haft_store::{SessionStore, StoreError, StoredTaint};

use crate::common::{message, new_session};
use crate::suite::sub_agent_status::sub_agent;

const UNTRUSTED: StoredTaint = StoredTaint { private: false, untrusted: true };
const PRIVATE: StoredTaint = StoredTaint { private: true, untrusted: false };
const BOTH: StoredTaint = StoredTaint { private: true, untrusted: true };
const NONE: StoredTaint = StoredTaint { private: false, untrusted: false };

/// root, with a and b, and c beneath b; other stands alone.
async fn tree(store: &dyn SessionStore) {
    for id in ["root", "a", "b", "c", "other"] {
        store.create(new_session(id)).await.unwrap();
    }
    for (id, parent) in [("a", "root"), ("b", "root"), ("c", "b")] {
        store.put_sub_agent(sub_agent(id, parent, SubAgentState::Done)).await.unwrap();
    }
}

pub(crate) async fn taint_counts_for_the_sessions_above_and_for_those_beneath_them(store: &dyn SessionStore) {
    tree(store).await;
    let of = |id: &'static str| async move { store.taint(id).await.unwrap() };
    store.add_taint("b", PRIVATE).await.unwrap();
    assert_eq!((of("root").await, of("a").await, of("b").await, of("c").await), (PRIVATE, PRIVATE, PRIVATE, PRIVATE));
    store.add_taint("c", UNTRUSTED).await.unwrap();
    assert_eq!((of("root").await, of("a").await, of("c").await, of("other").await), (BOTH, BOTH, BOTH, NONE));
    store.delete("c").await.unwrap();
    store.add_taint("root", NONE).await.unwrap();
    assert_eq!(of("root").await, BOTH, "its parent keeps what a removed sub-agent has brought in");
    let missing = (store.taint("gone").await, store.add_taint("gone", BOTH).await);
    assert!(matches!(missing, (Err(StoreError::Missing { .. }), Err(StoreError::Missing { .. }))), "{missing:?}");
}

pub(crate) async fn a_fork_has_the_taint_and_the_skills_of_its_session(store: &dyn SessionStore) {
    tree(store).await;
    store.append("a", None, vec![message(1, "x")]).await.unwrap();
    store.add_taint("b", UNTRUSTED).await.unwrap();
    store.set_skills("a", Some("{}")).await.unwrap();
    let fork = store.fork("a", None).await.unwrap();
    assert_eq!((store.taint(&fork).await.unwrap(), store.skills(&fork).await.unwrap().as_deref()), (UNTRUSTED, Some("{}")));
    let clean = store.fork("other", None).await.unwrap();
    assert_eq!((store.taint(&clean).await.unwrap(), store.skills(&clean).await.unwrap()), (NONE, None));
}

pub(crate) async fn skills_of_a_session_are_replaced_and_taken_away(store: &dyn SessionStore) {
    store.create(new_session("a")).await.unwrap();
    for skills in [None, Some("{\"a\":\"\u{0}\u{fc}\"}"), Some("{}"), None] {
        store.set_skills("a", skills).await.unwrap();
        assert_eq!(store.skills("a").await.unwrap().as_deref(), skills);
    }
    let missing = (store.skills("gone").await, store.set_skills("gone", None).await);
    assert!(matches!(missing, (Err(StoreError::Missing { .. }), Err(StoreError::Missing { .. }))), "{missing:?}");
}

pub(crate) async fn access_level_of_a_session_is_kept_and_goes_to_its_forks(store: &dyn SessionStore) {
    store.create(new_session("a")).await.unwrap();
    for level in [None, Some(Access::ReadOnly), Some(Access::FullAccess), None, Some(Access::WorkspaceWrite)] {
        store.set_access("a", level).await.unwrap();
        assert_eq!(store.open("a").await.unwrap().access, level);
    }
    let fork = store.fork("a", None).await.unwrap();
    assert_eq!(store.open(&fork).await.unwrap().access, Some(Access::WorkspaceWrite));
    assert!(store.set_access("gone", None).await.is_err());
}
