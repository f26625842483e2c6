use haft_store::{NewMessage, SessionStore, TodoVersion};

use crate::common::{new_session, second};

fn version(call: &str, at: u64, body: &str) -> TodoVersion {
    TodoVersion { call: call.into(), at: second(at), body: body.into() }
}

pub(crate) async fn todo_lists_keep_their_history_and_end_with_their_session(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    let versions = |session: &'static str, limit: usize| async move { store.todos(session, limit).await.unwrap() };
    assert_eq!(versions("s1", 9).await, []);
    for (call, at, body) in [("c1", 1, "[1]"), ("c2", 3, "[2]")] {
        store.set_todos("s1", version(call, at, body)).await.unwrap();
    }
    store.set_todos("workspace:/w", version("c3", 4, "[3]")).await.unwrap();
    assert_eq!(versions("s1", 9).await, [version("c2", 3, "[2]"), version("c1", 1, "[1]")], "the newest first");
    assert_eq!(versions("s1", 1).await, [version("c2", 3, "[2]")]);
    store.delete("s1").await.unwrap();
    assert_eq!(versions("s1", 9).await, []);
    assert_eq!(versions("workspace:/w", 9).await, [version("c3", 4, "[3]")], "no session is needed");
}

pub(crate) async fn a_fork_has_the_list_of_its_last_message(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    let message = |at: u64| NewMessage { kind: "user".into(), body: "{}".into(), created: second(at) };
    store.append("s1", None, vec![message(10), message(20), message(30)]).await.unwrap();
    for (call, at) in [("c1", 15), ("c2", 25)] {
        store.set_todos("s1", version(call, at, "[]")).await.unwrap();
    }
    for (at, expected) in [(None, vec!["c2"]), (Some(2), vec!["c1"]), (Some(1), vec![]), (Some(0), vec![])] {
        let fork = store.fork("s1", at).await.unwrap();
        let calls: Vec<String> = store.todos(&fork, 9).await.unwrap().into_iter().map(|version| version.call).collect();
        assert_eq!(calls, expected, "{at:?}");
    }
}

pub(crate) async fn old_versions_of_a_todo_list_are_forgotten(store: &dyn SessionStore) {
    for number in 0..1_010 {
        store.set_todos("s1", version(&number.to_string(), number, "[]")).await.unwrap();
    }
    let kept = store.todos("s1", 2_000).await.unwrap();
    let ends = (kept.len(), kept[0].call.as_str(), kept[999].call.as_str());
    assert_eq!(ends, (1_000, "1009", "10"));
}
