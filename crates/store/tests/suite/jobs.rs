//! Background jobs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{
    ExecHost, JobEnd, JobUsage, SpillFile,
    ports::{JobRecord, JobScope},
};

use crate::common::second;
use crate::suite::test_store::TestStore;

/// With something in every field; the paths are not text.
fn job(session: &str, workspace: &str) -> JobRecord {
    let odd: PathBuf = Path::new(OsStr::from_bytes(b"/\xff\xfe")).into();
    JobRecord {
        number: 0,
        session: session.into(),
        workspace: odd.join(workspace),
        command: "npm run dev # ü".into(),
        directory: odd.join("directory"),
        host: ExecHost::Container,
        sandbox: "podman".into(),
        pid: Some(42),
        start_time: Some(u64::from(u32::MAX)),
        started: second(1_763_000_000) + Duration::from_nanos(7),
        socket: odd.join("supervisor.sock"),
        end: None,
        bytes: 0,
    }
}

fn end(code: i32, at: u64) -> JobEnd {
    let spill = Some(SpillFile { path: OsStr::from_bytes(b"/s/\xff.txt").into(), bytes: 9 });
    let usage = Some(JobUsage { max_memory: Some(1 << 30), user: Duration::from_nanos(1), system: Duration::from_secs(2) });
    JobEnd { code: Some(code), usage, spill, ..JobEnd::unknown(second(at)) }
}

fn of_session(session: &str) -> JobScope {
    JobScope::Session(session.into())
}

pub(crate) async fn jobs_come_back_whole_by_session_and_by_workspace_in_another_process_too(store: &TestStore) {
    let jobs = store.open().jobs;
    let (first, second) = (job("s1", "w1"), job("s2", "w1"));
    assert_eq!([jobs.begin(first.clone()).await.unwrap(), jobs.begin(second.clone()).await.unwrap()], [1, 2]);
    jobs.begin(job("s1", "w2")).await.unwrap();
    jobs.end(2, end(3, 1_763_000_009), 9).await.unwrap();
    drop(jobs);
    let jobs = store.open().jobs;
    let (first, second) = (JobRecord { number: 1, ..first }, JobRecord { number: 2, end: Some(end(3, 1_763_000_009)), bytes: 9, ..second });
    assert_eq!(jobs.list(JobScope::Workspace(first.workspace.clone())).await.unwrap(), [first.clone(), second.clone()]);
    assert_eq!(jobs.list(of_session("s2")).await.unwrap(), [second]);
    assert_eq!(jobs.list(of_session("s1")).await.unwrap().iter().map(|job| job.number).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(jobs.list(of_session("s")).await.unwrap(), []);
}

pub(crate) async fn the_first_end_counts_and_no_number_is_given_twice(store: &TestStore) {
    let jobs = store.open().jobs;
    let number = jobs.begin(job("s1", "w")).await.unwrap();
    jobs.end(number, end(0, 1_763_000_001), 9).await.unwrap();
    jobs.end(number, end(7, 1_763_000_002), 1).await.unwrap();
    jobs.end(99, end(7, 1_763_000_002), 1).await.unwrap();
    let listed = jobs.list(of_session("s1")).await.unwrap();
    assert_eq!((listed.len(), listed[0].end.clone(), listed[0].bytes), (1, Some(end(0, 1_763_000_001)), 9));
    jobs.forget(number).await.unwrap();
    jobs.forget(number).await.unwrap();
    assert_eq!(jobs.list(of_session("s1")).await.unwrap(), []);
    assert_eq!(jobs.begin(job("s1", "w")).await.unwrap(), number + 1);
}

pub(crate) async fn what_ended_two_weeks_ago_is_swept_by_the_next_and_what_runs_is_not(store: &TestStore) {
    let jobs = store.open().jobs;
    for ended in [Some(1_763_000_000), Some(1_763_000_002), None] {
        let number = jobs.begin(job("s1", "w")).await.unwrap();
        if let Some(at) = ended {
            jobs.end(number, end(0, at), 0).await.unwrap();
        }
    }
    let later = JobRecord { started: second(1_763_000_001 + 14 * 24 * 60 * 60), ..job("s1", "w") };
    jobs.begin(later).await.unwrap();
    assert_eq!(jobs.list(of_session("s1")).await.unwrap().iter().map(|job| job.number).collect::<Vec<_>>(), [2, 3, 4]);
}
