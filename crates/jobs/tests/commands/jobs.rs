//! Background jobs in the registry. Two hosts play two processes; where the first must have ended, the registry has a record
//! without a job server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use haft_contract::{
    BoxFuture, ExecHost, Job, JobEnd, JobOptions, JobStatus, ToolError,
    ports::{JobRecord, JobRegistry, JobScope, ProcessRunner},
};
use haft_jobs::Jobs;
use haft_store::{SqliteCallLog, SqliteJobs};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use crate::support::World;

/// The registry and the folder of both processes.
struct SharedRegistry {
    folder: tempfile::TempDir,
    registry: Arc<SqliteJobs>,
}

impl SharedRegistry {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Arc::new(SqliteCallLog::open(folder.path()).unwrap().log.jobs());
        Self { folder, registry }
    }
    fn world(&self) -> World {
        self.world_with(SlowRegistry::new(self))
    }
    fn world_with(&self, registry: SlowRegistry) -> World {
        World::with_jobs(|_| Jobs::with_registry(Arc::new(registry), Path::new("/workspace"), &self.folder.path().join("run")))
    }
    async fn record(&self, number: u64) -> JobRecord {
        let records = self.registry.list(workspace()).await.unwrap();
        records.into_iter().find(|record| record.number == number).unwrap()
    }
}

fn workspace() -> JobScope {
    JobScope::Workspace("/workspace".into())
}

async fn keep(world: &World, session: &str, command: &str) -> Arc<dyn Job> {
    let options = JobOptions { session: session.into(), input: true, ..JobOptions::default() };
    let job = world.processes.start(&world.command(command), options).await.unwrap();
    world.processes.keep(job).await
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it hangs")
}

/// The jobs that a second process adopts for its session.
async fn adopt(world: &World, scope: JobScope) -> Vec<Arc<dyn Job>> {
    let processes: &dyn ProcessRunner = &world.processes;
    within(processes.adopt("mine", scope)).await.unwrap();
    processes.jobs("mine")
}

fn text(job: &dyn Job) -> String {
    String::from_utf8_lossy(&job.output(0, usize::MAX).1).into_owned()
}

#[tokio::test]
async fn job_is_followed_fed_and_ended_by_another_process() {
    let shared = SharedRegistry::new();
    let (runs, follows) = (shared.world(), shared.world());
    let own = keep(&runs, "s", "echo ready; read x; echo got $x; sleep 4801.5").await;
    within(own.wait_for_output(5)).await;
    let [job] = adopt(&follows, workspace()).await.try_into().ok().unwrap();
    let JobStatus { id, session, command, pid, .. } = job.status();
    assert_eq!((id.as_str(), session.as_str(), command, pid), ("job-1", "mine", own.status().command, own.status().pid));
    assert_eq!((own.status().id.as_str(), own.status().session.as_str(), text(&*job)), ("job-1", "s", "ready\n".into()));
    job.write(b"it\n", false).await.unwrap();
    within(job.wait_for_output(6)).await;
    assert_eq!(text(&*job), "ready\ngot it\n");
    // Listed once, however often it is adopted.
    assert_eq!(adopt(&follows, workspace()).await.len(), 1);
    within(job.kill()).await;
    assert!(job.status().end.unwrap().killed && own.status().end.unwrap().killed);
    let refused = job.write(b"more\n", false).await.unwrap_err();
    assert!(refused.message().contains("takes no input"), "{}", refused.message());
}

#[tokio::test]
async fn large_output_reaches_another_process_by_its_beginning_and_end() {
    let shared = SharedRegistry::new();
    let (runs, follows) = (shared.world(), shared.world());
    let own = keep(&runs, "s", "seq 100000; read x").await;
    within(async {
        while own.status().bytes < 588_895 {
            own.wait_for_output(own.status().bytes).await;
        }
    })
    .await;
    let [job] = adopt(&follows, JobScope::Session("s".into())).await.try_into().ok().unwrap();
    let (one, other) = (job.status(), own.status());
    assert_eq!((one.bytes, one.kept_from, job.head()), (other.bytes, other.kept_from, own.head()));
    assert_eq!(job.output(one.kept_from, usize::MAX), own.output(one.kept_from, usize::MAX));
    own.kill().await;
}

#[tokio::test]
async fn ended_job_is_in_the_registry_with_its_exit_code() {
    let shared = SharedRegistry::new();
    let runs = shared.world();
    let own = keep(&runs, "s", "echo last output; exit 3").await;
    assert_eq!(Some(within(own.wait()).await), shared.record(1).await.end);
    drop((own, runs));
    let follows = shared.world();
    let [job] = adopt(&follows, workspace()).await.try_into().ok().unwrap();
    let end = within(job.wait()).await;
    assert_eq!((end.code, end.killed, end.lost), (Some(3), false, false));
    assert_eq!(follows.processes.end_notices("mine"), []);
    follows.processes.forget("mine", "job-1").await;
    assert_eq!(shared.registry.list(workspace()).await.unwrap(), []);
}

/// The record of a job whose process has ended.
fn stale_record(socket: &Path) -> JobRecord {
    JobRecord {
        number: 0,
        session: "s".into(),
        workspace: "/workspace".into(),
        command: "make".into(),
        directory: "/".into(),
        host: ExecHost::Sandbox,
        sandbox: "bubblewrap".into(),
        // Our own pid, but another start time.
        pid: Some(std::process::id()),
        start_time: Some(1),
        started: SystemTime::now(),
        socket: socket.to_owned(),
        end: None,
        bytes: 0,
    }
}

/// An end that the supervisor of a job observed.
fn observed_end() -> JobEnd {
    JobEnd { code: Some(3), ..JobEnd::unknown(SystemTime::now()) }
}

#[tokio::test]
async fn job_whose_process_and_supervisor_ended_has_an_unknown_exit_status() {
    let shared = SharedRegistry::new();
    shared.registry.begin(stale_record(Path::new("/nowhere.sock"))).await.unwrap();
    let follows = shared.world();
    let [job] = adopt(&follows, workspace()).await.try_into().ok().unwrap();
    assert!(job.status().end.unwrap().lost);
    assert!(shared.record(1).await.end.unwrap().lost);
    // A notice for the session, once.
    let notices = || follows.processes.end_notices("mine").into_iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!((notices(), notices()), (vec!["job-1".to_owned()], vec![]));
}

/// A registry with delayed reads and writes.
struct SlowRegistry {
    registry: Arc<SqliteJobs>,
    /// Whether the next list lacks the ends of its jobs.
    is_stale: AtomicBool,
    /// Acquired to write an end.
    write_permit: Arc<Semaphore>,
}

impl SlowRegistry {
    fn new(shared: &SharedRegistry) -> Self {
        Self { registry: Arc::clone(&shared.registry), is_stale: AtomicBool::new(false), write_permit: Arc::new(Semaphore::new(1)) }
    }
}

impl JobRegistry for SlowRegistry {
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>> {
        self.registry.begin(record)
    }
    fn end(&self, number: u64, end: JobEnd, bytes: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let _permit = self.write_permit.acquire().await.unwrap();
            self.registry.end(number, end, bytes).await
        })
    }
    fn list(&self, scope: JobScope) -> BoxFuture<'_, Result<Vec<JobRecord>, ToolError>> {
        Box::pin(async move {
            let records = self.registry.list(scope).await?;
            let is_stale = self.is_stale.swap(false, Ordering::Relaxed);
            Ok(records.into_iter().map(|record| if is_stale { JobRecord { end: None, ..record } } else { record }).collect())
        })
    }
    fn forget(&self, number: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        self.registry.forget(number)
    }
}

#[tokio::test]
async fn wait_resolves_when_the_end_is_in_the_registry() {
    let shared = SharedRegistry::new();
    let registry = SlowRegistry::new(&shared);
    let write_permit = Arc::clone(&registry.write_permit);
    let permit = write_permit.acquire().await.unwrap();
    let world = shared.world_with(registry);
    let own = keep(&world, "s", "exit 3").await;
    within(own.wait_for_output(u64::MAX)).await;
    assert_eq!((own.status().end.unwrap().code, shared.record(1).await.end), (Some(3), None));
    let has_resolved = tokio::select! {
        biased;
        _ = own.wait() => true,
        () = std::future::ready(()) => false,
    };
    assert!(!has_resolved, "its end is not stored yet");
    drop(permit);
    assert_eq!(Some(within(own.wait()).await), shared.record(1).await.end);
}

#[tokio::test]
async fn end_stored_while_the_supervisor_was_looked_for_is_not_lost() {
    let shared = SharedRegistry::new();
    let number = shared.registry.begin(stale_record(Path::new("/nowhere.sock"))).await.unwrap();
    shared.registry.end(number, observed_end(), 0).await.unwrap();
    let follows = shared.world_with(SlowRegistry { is_stale: AtomicBool::new(true), ..SlowRegistry::new(&shared) });
    let [job] = adopt(&follows, workspace()).await.try_into().ok().unwrap();
    let end = job.status().end.unwrap();
    assert_eq!((end.code, end.lost, shared.record(number).await.end), (Some(3), false, Some(end)));
}

#[tokio::test]
async fn end_stored_by_a_supervisor_that_disappeared_is_found() {
    let shared = SharedRegistry::new();
    let socket = shared.folder.path().join("supervisor.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let number = shared.registry.begin(stale_record(&socket)).await.unwrap();
    let running = br#"{"Snapshot":{"end":null,"spill":null,"has_terminal":false,"output":[]}}"#;
    let follows = shared.world();
    let supervisor = async {
        let (mut client, _) = listener.accept().await.unwrap();
        assert_ne!(client.read(&mut [0; 256]).await.unwrap(), 0);
        client.write_all(running).await.unwrap();
    };
    let (jobs, ()) = tokio::join!(adopt(&follows, workspace()), supervisor);
    assert_eq!(jobs[0].status().end, None);
    shared.registry.end(number, observed_end(), 0).await.unwrap();
    drop(listener);
    assert_eq!(Some(within(jobs[0].wait()).await), shared.record(number).await.end);
}

#[tokio::test]
async fn orphaned_job_can_be_killed() {
    let shared = SharedRegistry::new();
    let runs = shared.world();
    let seconds = super::running::unique_seconds(4802);
    let own = keep(&runs, "s", &format!("(sleep {seconds} &); sleep {seconds}")).await;
    let record = JobRecord { socket: "/nowhere.sock".into(), number: 0, ..shared.record(1).await };
    assert!(record.start_time.is_some());
    shared.registry.forget(1).await.unwrap();
    shared.registry.begin(record).await.unwrap();
    let follows = shared.world();
    let [job] = adopt(&follows, workspace()).await.try_into().ok().unwrap();
    assert_eq!((job.status().id.as_str(), job.status().end), ("job-2", None));
    assert!(job.write(b"x", false).await.unwrap_err().message().contains("the haft that ran it has ended"));
    within(job.kill()).await;
    assert!(job.status().end.unwrap().killed);
    within(own.wait()).await;
    assert!(!super::running::is_alive(&format!("sleep\0{seconds}")), "a process is still running after the job");
}

#[tokio::test]
async fn end_notice_reaches_a_session_once() {
    let shared = SharedRegistry::new();
    let world = shared.world();
    let (acknowledged, other) = (keep(&world, "s", "true").await, keep(&world, "s", "true").await);
    within(async { tokio::join!(acknowledged.wait(), other.wait()) }).await;
    acknowledged.acknowledge();
    let notices = |session: &str| world.processes.end_notices(session).into_iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!((notices("other"), notices("s"), notices("s")), (vec![], vec!["job-2".to_owned()], vec![]));
}

#[tokio::test]
async fn dropped_list_ends_its_jobs_and_leaves_no_socket() {
    let shared = SharedRegistry::new();
    let world = shared.world();
    let job = keep(&world, "s", "sleep 4803.5").await;
    let sockets = || std::fs::read_dir(shared.folder.path().join("run")).unwrap().count();
    assert_eq!(sockets(), 1);
    let other = keep(&world, "s", "sleep 4803.5").await;
    world.processes.forget("s", "job-1").await;
    assert!(job.status().end.unwrap().killed);
    drop(world);
    assert!(within(other.wait()).await.killed);
    drop((job, other));
    assert_eq!(sockets(), 0);
}
