//! Scheduled jobs: a version is changed once, a time has one run, and a run one process.

use std::path::Path;
use std::time::Duration;

use haft_contract::ports::{
    DeliveryState, JobDelivery, JobNotice, JobRun, JobSchedule, JobTarget, MissedRuns, OverlapRule, RunState, RunTrigger, ScheduledJob,
};
use haft_store::{AutomationChange, RunOwner};

use crate::common::second;
use crate::suite::test_store::TestStore;

const WORKSPACE: &str = "/w";

fn job(id: &str, due: u64) -> ScheduledJob {
    ScheduledJob {
        id: id.into(),
        name: "clock\u{0}".into(),
        workspace: WORKSPACE.into(),
        schedule: JobSchedule::At { at: second(due), zone: "UTC".into() },
        task: "what time is it".into(),
        target: JobTarget::Isolated,
        session: None,
        agent: None,
        model: None,
        timeout: Duration::from_mins(1),
        delivery: JobDelivery::default(),
        missed: MissedRuns::Once,
        overlap: OverlapRule::Skip,
        delete_after_run: false,
        is_tainted: false,
        created: second(1),
        enabled: true,
        disabled_because: None,
        next_due: Some(second(due)),
        failures: 0,
        noticed: None,
        version: 0,
    }
}

fn run(id: &str, due: u64, state: RunState) -> JobRun {
    JobRun {
        id: id.into(),
        job: "j1".into(),
        name: "clock".into(),
        workspace: WORKSPACE.into(),
        due: second(due),
        trigger: RunTrigger::Schedule,
        state,
        started: None,
        ended: None,
        attempts: 1,
        session: None,
        answer: None,
        error: None,
        is_tainted: false,
        route: JobDelivery::default(),
        origin: None,
        delivery: DeliveryState::NotRequested,
        delivery_note: None,
        delivery_attempts: 0,
        delivery_due: None,
    }
}

fn with_job(job: ScheduledJob) -> AutomationChange {
    AutomationChange { job: Some(job), ..AutomationChange::default() }
}

fn with_run(run: JobRun) -> AutomationChange {
    AutomationChange { runs: vec![run], ..AutomationChange::default() }
}

pub(crate) async fn scheduled_job_is_changed_by_its_version_and_found_when_it_is_due(store: &TestStore) {
    let automation = store.open().automation;
    let workspace = Path::new(WORKSPACE);
    for (id, due) in [("j1", 20), ("j2", 10), ("j3", 30)] {
        assert!(automation.commit(workspace, with_job(job(id, due))).await.unwrap());
    }
    assert!(!automation.commit(workspace, with_job(job("j1", 5))).await.unwrap(), "it is there already");
    let known = automation.job("j1").await.unwrap().unwrap();
    assert_eq!(known, ScheduledJob { version: 1, ..job("j1", 20) });
    let notice = JobNotice { job: "j1".into(), name: "clock".into(), run: None, at: second(2), text: "failed".into() };
    let changed = AutomationChange { notices: vec![notice.clone()], ..with_job(ScheduledJob { failures: 1, ..known.clone() }) };
    assert!(automation.commit(workspace, changed.clone()).await.unwrap());
    assert!(!automation.commit(workspace, changed).await.unwrap(), "of two that read the same version, one changes it");
    assert_eq!(automation.notices(workspace, 9).await.unwrap(), [notice], "and nothing of the other is kept");
    let due: Vec<String> = automation.due_jobs(workspace, second(20), 9).await.unwrap().into_iter().map(|job| job.id).collect();
    assert_eq!((due, automation.next_due(workspace).await.unwrap()), (vec!["j2".to_owned(), "j1".to_owned()], Some(second(10))));
    let removed = AutomationChange { removed: Some("j2".into()), ..AutomationChange::default() };
    assert!(automation.commit(workspace, removed).await.unwrap());
    assert_eq!((automation.jobs(workspace).await.unwrap().len(), automation.jobs(Path::new("/other")).await.unwrap().len()), (2, 0));
}

pub(crate) async fn run_of_a_time_is_made_once_and_has_one_process(store: &TestStore) {
    let (first, second_process) = (store.open(), store.open());
    let workspace = Path::new(WORKSPACE);
    let waiting = run("r1", 20, RunState::Waiting);
    assert!(first.automation.commit(workspace, with_run(waiting.clone())).await.unwrap());
    assert!(!second_process.automation.commit(workspace, with_run(run("r2", 20, RunState::Waiting))).await.unwrap(), "the time has a run");
    assert_eq!(first.automation.open_runs(workspace).await.unwrap(), [(waiting, RunOwner::Nobody)]);
    assert!(second_process.automation.take_run("r1").await.unwrap());
    assert!(!first.automation.take_run("r1").await.unwrap(), "another works on it");
    let running = run("r1", 20, RunState::Running);
    assert!(second_process.automation.commit(workspace, with_run(running.clone())).await.unwrap());
    assert_eq!(first.automation.open_runs(workspace).await.unwrap(), [(running.clone(), RunOwner::Other)]);
    assert_eq!(second_process.automation.open_runs(workspace).await.unwrap(), [(running.clone(), RunOwner::Mine)]);
    drop(second_process);
    assert_eq!(first.automation.open_runs(workspace).await.unwrap(), [(running, RunOwner::Nobody)]);
    assert!(first.automation.take_run("r1").await.unwrap(), "its process has ended");
    assert!(first.automation.commit(workspace, with_run(run("r1", 20, RunState::Ok))).await.unwrap());
    assert_eq!(first.automation.open_runs(workspace).await.unwrap(), []);
    assert_eq!(first.automation.runs(workspace, Some("j1"), 9).await.unwrap(), [run("r1", 20, RunState::Ok)]);
}
