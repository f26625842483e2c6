use std::time::SystemTime;

use haft_store::{MessageRecord, NewSession, SessionFilter, SessionOwner, SessionRecord, SessionStore};

use crate::common::{message, messages, new_session, second};

/// What a session that was just created looks like.
fn created(new: NewSession) -> SessionRecord {
    let NewSession { id, title, agent, model, workspace, created } = new;
    SessionRecord { id, title, agent, model, workspace, created, updated: created, parent: None, closed: false, messages: 0, access: None }
}

async fn ids(store: &dyn SessionStore, filter: SessionFilter) -> Vec<String> {
    store.list(filter).await.unwrap().into_iter().map(|session| session.id).collect()
}

pub(crate) async fn a_session_comes_back_whole(store: &dyn SessionStore) {
    let bare = NewSession { title: None, model: None, created: SystemTime::UNIX_EPOCH, ..new_session("bare") };
    for new in [new_session("s1"), bare] {
        assert_eq!(store.create(new.clone()).await.unwrap(), created(new.clone()));
        assert_eq!(store.open(&new.id).await.unwrap(), created(new));
    }
}

pub(crate) async fn a_new_session_has_an_id_of_its_own(store: &dyn SessionStore) {
    let before = SystemTime::now();
    let new = || NewSession::new("coder", "/w".as_ref());
    let (first, second) = (store.create(new()).await.unwrap(), store.create(new()).await.unwrap());
    assert!(first.id < second.id, "{} then {}", first.id, second.id);
    assert!((before..=SystemTime::now()).contains(&first.created));
    let expected =
        NewSession { id: first.id.clone(), title: None, model: None, workspace: "/w".into(), created: first.created, ..new_session("") };
    assert_eq!(first, created(expected));
}

pub(crate) async fn an_id_is_taken_once(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    store.append("s1", None, vec![message(1, "kept")]).await.unwrap();
    let error = store.create(NewSession { agent: "other".into(), ..new_session("s1") }).await.unwrap_err();
    assert_eq!(error.to_string(), "there is a session 's1' already: give the new one another id");
    assert_eq!(store.open("s1").await.unwrap(), SessionRecord { messages: 1, ..created(new_session("s1")) });
}

pub(crate) async fn sessions_are_listed_by_their_last_message(store: &dyn SessionStore) {
    for (id, at) in [("s1", 10), ("s2", 30), ("s3", 20), ("s4", 30)] {
        store.create(NewSession { created: second(at), ..new_session(id) }).await.unwrap();
    }
    assert_eq!(ids(store, SessionFilter::default()).await, ["s4", "s2", "s3", "s1"]);
    store.append("s1", None, vec![message(50, "new"), message(40, "made before it")]).await.unwrap();
    // Not newer than the session is already.
    store.append("s3", None, vec![message(5, "old")]).await.unwrap();
    let listed = store.list(SessionFilter::default()).await.unwrap();
    let found: Vec<_> = listed.iter().map(|session| (session.id.as_str(), session.updated)).collect();
    assert_eq!(found, [("s1", second(50)), ("s4", second(30)), ("s2", second(30)), ("s3", second(20))]);
}

pub(crate) async fn filters_narrow_the_list_of_sessions(store: &dyn SessionStore) {
    let new = |id: &str, at, agent: &str, workspace: &str, title: Option<&str>| NewSession {
        created: second(at),
        agent: agent.into(),
        workspace: workspace.into(),
        title: title.map(Into::into),
        ..new_session(id)
    };
    store.create(new("s1", 1, "coder", "/a", Some("Über den Fluß"))).await.unwrap();
    store.create(new("s2", 2, "coder", "/b", Some("100% done_now"))).await.unwrap();
    store.create(new("s3", 3, "writer", "/a", None)).await.unwrap();
    store.create(new("s4", 4, "writer", "/a/b", Some("done"))).await.unwrap();
    let all = SessionFilter::default;
    let title = |text: &str| SessionFilter { title: Some(text.into()), ..all() };
    let workspace = |path: &str| SessionFilter { workspace: Some(path.into()), ..all() };
    let agent = |name: &str| SessionFilter { agent: Some(name.into()), ..all() };
    let limit = |limit| SessionFilter { limit: Some(limit), ..all() };
    let cases: Vec<(SessionFilter, &[&str])> = vec![
        (all(), &["s4", "s3", "s2", "s1"]),
        (workspace("/a"), &["s3", "s1"]),
        (workspace("/"), &[]),
        (agent("writer"), &["s4", "s3"]),
        (agent("Writer"), &[]),
        (title("DONE"), &["s4", "s2"]),
        (title("über"), &["s1"]),
        (title("ÜBER DEN"), &["s1"]),
        (title("%"), &["s2"]),
        (title("e_n"), &["s2"]),
        (title("nothing"), &[]),
        (limit(0), &[]),
        (limit(3), &["s4", "s3", "s2"]),
        (limit(usize::MAX), &["s4", "s3", "s2", "s1"]),
        (SessionFilter { limit: Some(1), ..title("done") }, &["s4"]),
        (SessionFilter { agent: Some("coder".into()), ..workspace("/a") }, &["s1"]),
        (SessionFilter { agent: Some("coder".into()), ..title("done") }, &["s2"]),
    ];
    for (filter, expected) in cases {
        assert_eq!(ids(store, filter.clone()).await, expected, "{filter:?}");
    }
}

pub(crate) async fn title_and_model_can_be_changed(store: &dyn SessionStore) {
    for id in ["s1", "s2"] {
        store.create(new_session(id)).await.unwrap();
    }
    store.rename("s1", Some("It's \"new\"")).await.unwrap();
    store.set_model("s1", None).await.unwrap();
    let expected = SessionRecord { title: Some("It's \"new\"".into()), model: None, ..created(new_session("s1")) };
    assert_eq!(store.open("s1").await.unwrap(), expected);
    store.rename("s1", None).await.unwrap();
    store.set_model("s1", Some("a/b")).await.unwrap();
    assert_eq!(store.open("s1").await.unwrap(), SessionRecord { title: None, model: Some("a/b".into()), ..expected });
    assert_eq!(store.open("s2").await.unwrap(), created(new_session("s2")));
}

pub(crate) async fn the_next_message_reopens_a_closed_session(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    store.close("s1").await.unwrap();
    store.append("s1", Some(0), Vec::new()).await.unwrap();
    assert_eq!(store.open("s1").await.unwrap(), SessionRecord { closed: true, ..created(new_session("s1")) });
    store.append("s1", None, vec![message(1, "again")]).await.unwrap();
    assert_eq!(store.open("s1").await.unwrap(), SessionRecord { messages: 1, ..created(new_session("s1")) });
}

pub(crate) async fn a_deleted_session_is_gone_with_all_it_held(store: &dyn SessionStore) {
    for id in ["s1", "s2"] {
        store.create(new_session(id)).await.unwrap();
        store.append(id, None, vec![message(1, "a"), message(2, "b")]).await.unwrap();
        store.rewrite(id, 1, vec![message(3, "c")], "why").await.unwrap();
    }
    let fork = store.fork("s1", None).await.unwrap();
    store.delete("s1").await.unwrap();
    assert!(store.open("s1").await.is_err());
    assert_eq!(messages(store, "s2").await.len(), 2);
    assert_eq!((messages(store, &fork).await.len(), store.open(&fork).await.unwrap().parent), (2, Some(("s1".into(), 2))));
    // Nothing of the old one comes back.
    store.create(new_session("s1")).await.unwrap();
    assert_eq!((messages(store, "s1").await, store.replaced("s1", 9).await.unwrap()), (vec![], vec![]));
}

pub(crate) async fn a_fork_shares_nothing(store: &dyn SessionStore) {
    let before = SystemTime::now();
    store.create(new_session("s1")).await.unwrap();
    store.append("s1", None, vec![message(1, "a"), message(2, "b")]).await.unwrap();
    store.close("s1").await.unwrap();
    let id = store.fork("s1", None).await.unwrap();
    let fork = store.open(&id).await.unwrap();
    assert!((before..=SystemTime::now()).contains(&fork.created));
    let parent = Some(("s1".to_owned(), 2));
    let expected =
        SessionRecord { parent, messages: 2, ..created(NewSession { id: id.clone(), created: fork.created, ..new_session("") }) };
    assert_eq!(fork, expected);

    let copied = messages(store, &id).await;
    let original = messages(store, "s1").await;
    let as_copied: Vec<_> = original.iter().map(|message| MessageRecord { session: id.clone(), ..message.clone() }).collect();
    assert_eq!(copied, as_copied);
    assert_eq!(store.append(&id, Some(2), vec![message(3, "fork's own")]).await.unwrap(), 3);
    store.rewrite("s1", 0, Vec::new(), "all").await.unwrap();
    assert_eq!((messages(store, "s1").await, messages(store, &id).await[..2].to_vec()), (vec![], copied));
    assert_eq!(store.replaced(&id, 9).await.unwrap(), []);
}

pub(crate) async fn a_fork_is_cut_where_it_is_asked_to_be(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    store.append("s1", None, (0..3).map(|number| message(number, &number.to_string())).collect()).await.unwrap();
    for at in [0, 1, 3] {
        let id = store.fork("s1", Some(at)).await.unwrap();
        let record = store.open(&id).await.unwrap();
        let bodies: Vec<_> = messages(store, &id).await.into_iter().map(|message| message.body).collect();
        let expected: Vec<_> = (0..at).map(|number| number.to_string()).collect();
        assert_eq!((bodies, record.messages, record.parent), (expected, at, Some(("s1".into(), at))));
    }
    assert_eq!(store.fork("s1", Some(4)).await.unwrap_err().to_string(), "no message '4 of session s1'");
    assert_eq!(ids(store, SessionFilter::default()).await.len(), 4);
}

pub(crate) async fn nothing_can_be_done_with_a_session_that_is_not_there(store: &dyn SessionStore) {
    store.create(new_session("s1")).await.unwrap();
    let outcomes = [
        store.rename("s9", None).await,
        store.set_model("s9", None).await,
        store.close("s9").await,
        store.delete("s9").await,
        store.fork("s9", None).await.map(drop),
        store.append("s9", None, vec![message(1, "a")]).await.map(drop),
        store.rewrite("s9", 0, vec![message(1, "a")], "why").await.map(drop),
        store.messages("s9", 0, 9).await.map(drop),
        store.replaced("s9", 9).await.map(drop),
        store.claim("s9", SessionOwner::this_process()).await.map(drop),
    ];
    let expected =
        "no session 's9': `haft sessions list` lists the sessions; an id may be shortened to 4 or more characters of its beginning or end";
    assert_eq!(outcomes.map(|outcome| outcome.unwrap_err().to_string()), [expected; 10]);
}
