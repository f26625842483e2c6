//! Claims of several processes.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use haft_store::{SessionClaim, SessionOwner, SessionStore, SqliteSessionStore, StoreError};
use tempfile::{TempDir, tempdir};

use super::{listing, open};
use crate::common::{message, new_session};

const CHILD: &str = "HAFT_STORE_TEST_CLAIMING_CHILD";
const CLAIMED: &str = "claimed";

/// Not a test by itself: a process that claims a session, and works on it until its input ends.
#[tokio::test]
async fn child_that_claims() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let log = open(&folder);
    let sessions = log.sessions();
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
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite_suite::claims::child_that_claims", "--nocapture"])
            .env(CHILD, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What became of its claim, if it says so before it ends.
    fn told(&mut self) -> Option<String> {
        self.lines.by_ref().map(Result::unwrap).find(|line| line == CLAIMED || line.starts_with("session '"))
    }

    fn claimed(folder: &Path) -> Self {
        let mut child = Self::start(folder);
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

async fn folder_with_session() -> TempDir {
    let folder = tempdir().unwrap();
    open(folder.path()).sessions().create(new_session("s1")).await.unwrap();
    folder
}

async fn claim(sessions: &SqliteSessionStore) -> Result<SessionClaim, StoreError> {
    sessions.claim("s1", SessionOwner::this_process()).await
}

fn owner_files(folder: &Path) -> usize {
    listing(folder, |_| ()).into_iter().filter(|(name, ())| name.starts_with("haft.db.owner-")).count()
}

#[tokio::test]
async fn a_dead_owner_blocks_no_claim() {
    let folder = folder_with_session().await;
    let mut child = Claiming::claimed(folder.path());
    child.kill();
    let sessions = open(folder.path()).sessions();
    assert_eq!(sessions.append("s1", None, vec![message(2, "mine")]).await.unwrap(), 2);
    assert_eq!(owner_files(folder.path()), 1);
    let held = claim(&sessions).await.unwrap();
    assert_eq!(owner_files(folder.path()), 1, "its own, and no longer that of the dead one");
    drop(held);
    sessions.delete("s1").await.unwrap();
    drop(sessions);
    assert_eq!(owner_files(folder.path()), 0);
}

#[tokio::test]
async fn a_zombie_owner_counts_as_dead() {
    let folder = folder_with_session().await;
    let mut child = Claiming::claimed(folder.path());
    child.child.kill().unwrap();
    // Its output ends with it, but its process id stays taken until it is waited for.
    assert_eq!(child.told(), None);
    let sessions = open(folder.path()).sessions();
    let claimed = async {
        while claim(&sessions).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), claimed).await.unwrap();
    assert!(Path::new(&format!("/proc/{}", child.child.id())).exists() || !Path::new("/proc/self").exists());
}

#[tokio::test]
async fn a_process_that_ends_well_leaves_nothing() {
    let folder = folder_with_session().await;
    let mut child = Claiming::claimed(folder.path());
    assert_eq!(owner_files(folder.path()), 1);
    child.child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.child.wait().unwrap().success());
    assert_eq!(owner_files(folder.path()), 0);
    drop(claim(&open(folder.path()).sessions()).await.unwrap());
}
