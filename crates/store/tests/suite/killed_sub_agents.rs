//! Sub-agents whose process was killed.

use std::io::{BufRead, BufReader};

use haft_contract::ports::SubAgentState;

use crate::common::new_session;
use crate::suite::sub_agent_status::sub_agent;
use crate::suite::test_store::{TestStore, until};

/// Not a test by itself: the process that is killed.
#[tokio::test]
async fn child_that_runs_sub_agents() {
    let Some(store) = TestStore::of_parent() else { return };
    let store = store.open().sessions;
    for (id, state) in [("done", SubAgentState::Done), ("pending", SubAgentState::Pending), ("running", SubAgentState::Running)] {
        store.create(new_session(id)).await.unwrap();
        store.put_sub_agent(sub_agent(id, "parent", state)).await.unwrap();
    }
    println!("\nready");
    std::thread::sleep(std::time::Duration::from_mins(1));
}

pub(crate) async fn sub_agents_of_a_killed_process_have_failed_and_others_are_as_they_were(place: &TestStore) {
    let mut child = place.process("suite::killed_sub_agents::child_that_runs_sub_agents").spawn().unwrap();
    assert!(BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap() == "ready"));
    let store = place.open().sessions;
    assert_eq!(store.interrupt_sub_agents().await.unwrap(), 0, "it still runs");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(until(async || store.interrupt_sub_agents().await.unwrap(), |count| *count > 0).await, 2);
    assert_eq!(store.interrupt_sub_agents().await.unwrap(), 0, "once");
    for status in store.sub_agents("parent").await.unwrap() {
        let interrupted = status.id != "done";
        assert_eq!(status.state, if interrupted { SubAgentState::Failed } else { SubAgentState::Done });
        let error = "interrupted: the process that ran it has ended";
        assert_eq!(status.error.as_deref(), interrupted.then_some(error));
        assert_eq!(status.ended.is_some(), interrupted);
    }
}
