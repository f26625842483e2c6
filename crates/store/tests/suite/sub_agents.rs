use haft_contract::ports::SubAgentState;
use haft_store::{SessionFilter, SessionStore, StoreError, UsageRecord};

use crate::common::{new_session, second};
use crate::suite::sub_agent_status::sub_agent;

pub(crate) async fn a_sub_agent_comes_back_whole_and_its_newest_state_counts(store: &dyn SessionStore) {
    store.create(new_session("child")).await.unwrap();
    let mut status = sub_agent("child", "parent", SubAgentState::Pending);
    store.put_sub_agent(status.clone()).await.unwrap();
    assert_eq!(store.sub_agent("child").await.unwrap(), Some(status.clone()));
    (status.state, status.started, status.answer) = (SubAgentState::Done, Some(second(2)), Some("done\u{0}ü".into()));
    (status.rounds, status.calls, status.input, status.output, status.cost_micros) = (3, 4, 5, 6, Some(7));
    (status.ended, status.error, status.reported) = (Some(second(3)), Some("cut".into()), true);
    store.put_sub_agent(status.clone()).await.unwrap();
    assert_eq!(store.sub_agent("child").await.unwrap(), Some(status));
    assert_eq!(store.sub_agent("parent").await.unwrap(), None);
}

pub(crate) async fn sub_agents_are_listed_by_their_parent_and_go_with_their_session(store: &dyn SessionStore) {
    for id in ["a", "b", "c"] {
        store.create(new_session(id)).await.unwrap();
    }
    for (id, parent) in [("b", "root"), ("a", "root"), ("c", "a")] {
        store.put_sub_agent(sub_agent(id, parent, SubAgentState::Done)).await.unwrap();
    }
    let listed = |with_sub_agents: bool| store.list(SessionFilter { with_sub_agents, ..SessionFilter::default() });
    assert_eq!((listed(true).await.unwrap().len(), listed(false).await.unwrap().len()), (3, 0));
    assert!(matches!(store.open("last").await, Err(StoreError::Missing { .. })), "the last conversation is one with a user");
    let ids = |parent: &'static str| async move { store.sub_agents(parent).await.unwrap().into_iter().map(|status| status.id).collect() };
    let listed: [Vec<String>; 3] = [ids("root").await, ids("a").await, ids("c").await];
    assert_eq!(listed, [vec!["a".to_owned(), "b".into()], vec!["c".into()], vec![]]);
    store.delete("a").await.unwrap();
    assert_eq!(store.sub_agent("a").await.unwrap(), None);
    assert_eq!(store.sub_agents("a").await.unwrap().len(), 1, "what it started stays");
    let missing = store.put_sub_agent(sub_agent("gone", "root", SubAgentState::Done)).await;
    assert!(matches!(missing, Err(StoreError::Missing { .. })), "{missing:?}");
}

pub(crate) async fn usage_of_a_tree_counts_every_session_beneath(store: &dyn SessionStore) {
    for (id, parent) in [("a", "root"), ("b", "a"), ("x", "other")] {
        store.create(new_session(id)).await.unwrap();
        store.put_sub_agent(sub_agent(id, parent, SubAgentState::Done)).await.unwrap();
    }
    for (session, cost) in [("root", 1), ("a", 10), ("b", 100), ("b", 100), ("x", 1000)] {
        let usage = UsageRecord {
            session: session.into(),
            turn: 1,
            model: "m".into(),
            input: 1,
            output: 1,
            cached: 0,
            cache_writes: 0,
            reasoning: 0,
            cost_micros: Some(cost),
            at: second(1),
            day: "d".into(),
        };
        store.add_usage(usage).await.unwrap();
    }
    for (root, cost, requests) in [("root", 211, 4), ("a", 210, 3), ("b", 200, 2), ("other", 1000, 1), ("none", 0, 0)] {
        let sum = store.tree_usage(root).await.unwrap();
        assert_eq!((sum.cost_micros, sum.requests), (cost, requests), "{root}");
    }
}

pub(crate) async fn a_sub_agent_of_this_process_is_not_interrupted(store: &dyn SessionStore) {
    store.create(new_session("child")).await.unwrap();
    let running = sub_agent("child", "parent", SubAgentState::Running);
    store.put_sub_agent(running.clone()).await.unwrap();
    assert_eq!(store.interrupt_sub_agents().await.unwrap(), 0);
    assert_eq!(store.sub_agent("child").await.unwrap(), Some(running));
}
