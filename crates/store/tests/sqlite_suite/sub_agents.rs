//! Sub-agents whose process was killed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use haft_contract::ports::SubAgentState;
use haft_store::SessionStore;
use tempfile::tempdir;

use super::open;
use crate::common::{new_session, sub_agent};

const CHILD: &str = "HAFT_STORE_TEST_SUB_AGENTS_CHILD";

/// Not a test by itself: the process that is killed.
#[tokio::test]
async fn child_that_runs_sub_agents() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let store = open(&folder).sessions();
    for (id, state) in [("done", SubAgentState::Done), ("pending", SubAgentState::Pending), ("running", SubAgentState::Running)] {
        store.create(new_session(id)).await.unwrap();
        store.put_sub_agent(sub_agent(id, "parent", state)).await.unwrap();
    }
    println!("\nready");
    std::thread::sleep(std::time::Duration::from_mins(1));
}

#[tokio::test]
async fn sub_agents_of_a_killed_process_have_failed_and_others_are_as_they_were() {
    let folder = tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite_suite::sub_agents::child_that_runs_sub_agents", "--nocapture"])
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap() == "ready"));
    let store = open(folder.path()).sessions();
    assert_eq!(store.interrupt_sub_agents().await.unwrap(), 0, "it still runs");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(store.interrupt_sub_agents().await.unwrap(), 2);
    assert_eq!(store.interrupt_sub_agents().await.unwrap(), 0, "once");
    for status in store.sub_agents("parent").await.unwrap() {
        let interrupted = status.id != "done";
        assert_eq!(status.state, if interrupted { SubAgentState::Failed } else { SubAgentState::Done });
        let error = "interrupted: the process that ran it has ended";
        assert_eq!(status.error.as_deref(), interrupted.then_some(error));
        assert_eq!(status.ended.is_some(), interrupted);
    }
}
