//! Jobs that are remembered beyond the process that runs them. Two hosts stand for two processes; where it matters that the
//! first one is gone, it is a list without its desk, or a record of a process of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use haft_contract::{
    BoxFuture, ExecHost, Host, Job, JobEnd, JobOptions, JobRecord, JobRegistry, JobScope, JobStatus, ProcessRunner, ToolError,
};
use haft_host::Jobs;
use haft_store::{SqliteCallLog, SqliteJobs};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use crate::support::World;

/// Where both processes look.
struct Shared {
    folder: tempfile::TempDir,
    registry: Arc<SqliteJobs>,
}

impl Shared {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Arc::new(SqliteCallLog::open(folder.path()).unwrap().log.jobs());
        Self { folder, registry }
    }
    fn world(&self) -> World {
        self.world_with(Late::new(self))
    }
    fn world_with(&self, registry: Late) -> World {
        World::with_jobs(|_| Jobs::remembered(Arc::new(registry), Path::new("/workspace"), &self.folder.path().join("run")))
    }
    async fn record(&self, number: u64) -> JobRecord {
        let records = self.registry.list(workspace()).await.unwrap();
        records.into_iter().find(|record| record.number == number).unwrap()
    }
}

fn workspace() -> JobScope {
    JobScope::Workspace("/workspace".into())
}

async fn kept(world: &World, session: &str, line: &str) -> Arc<dyn Job> {
    let options = JobOptions { session: session.into(), input: true, ..JobOptions::default() };
    let job = world.host.processes().start(&world.line(line), options).await.unwrap();
    world.host.processes().keep(job).await
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it hangs")
}

/// Everything that a second process finds for its session.
async fn found(world: &World, scope: JobScope) -> Vec<Arc<dyn Job>> {
    let processes: &dyn ProcessRunner = world.host.processes();
    within(processes.adopt("mine", scope)).await.unwrap();
    processes.jobs("mine")
}

fn text(job: &dyn Job) -> String {
    String::from_utf8_lossy(&job.output(0, usize::MAX).1).into_owned()
}

#[tokio::test]
async fn another_process_sees_follows_feeds_and_ends_a_job() {
    let shared = Shared::new();
    let (runs, follows) = (shared.world(), shared.world());
    let own = kept(&runs, "s", "echo ready; read x; echo got $x; sleep 4801.5").await;
    within(own.changed(5)).await;
    let [job] = found(&follows, workspace()).await.try_into().ok().unwrap();
    let JobStatus { id, session, line, pid, .. } = job.status();
    assert_eq!((id.as_str(), session.as_str(), line, pid), ("job-1", "mine", own.status().line, own.status().pid));
    assert_eq!((own.status().id.as_str(), own.status().session.as_str(), text(&*job)), ("job-1", "s", "ready\n".into()));
    job.write(b"it\n", false).await.unwrap();
    within(job.changed(6)).await;
    assert_eq!(text(&*job), "ready\ngot it\n");
    // Listed once, however often it is looked for.
    assert_eq!(found(&follows, workspace()).await.len(), 1);
    within(job.kill()).await;
    assert!(job.status().end.unwrap().killed && own.status().end.unwrap().killed);
    let refused = job.write(b"more\n", false).await.unwrap_err();
    assert!(refused.message().contains("takes no input"), "{}", refused.message());
}

#[tokio::test]
async fn of_much_output_another_process_sees_the_beginning_and_the_end() {
    let shared = Shared::new();
    let (runs, follows) = (shared.world(), shared.world());
    let own = kept(&runs, "s", "seq 100000; read x").await;
    within(async {
        while own.status().bytes < 588_895 {
            own.changed(own.status().bytes).await;
        }
    })
    .await;
    let [job] = found(&follows, JobScope::Session("s".into())).await.try_into().ok().unwrap();
    let (one, other) = (job.status(), own.status());
    assert_eq!((one.bytes, one.kept_from, job.head()), (other.bytes, other.kept_from, own.head()));
    assert_eq!(job.output(one.kept_from, usize::MAX), own.output(one.kept_from, usize::MAX));
    own.kill().await;
}

#[tokio::test]
async fn what_has_ended_is_remembered_with_how_and_with_all_it_said() {
    let shared = Shared::new();
    let runs = shared.world();
    let own = kept(&runs, "s", "echo last words; exit 3").await;
    assert_eq!(Some(within(own.ended()).await), shared.record(1).await.end);
    drop((own, runs));
    let follows = shared.world();
    let [job] = found(&follows, workspace()).await.try_into().ok().unwrap();
    let end = within(job.ended()).await;
    assert_eq!((end.code, end.killed, end.lost), (Some(3), false, false));
    assert_eq!(follows.host.processes().notices("mine"), []);
    follows.host.processes().forget("mine", "job-1").await;
    assert_eq!(shared.registry.list(workspace()).await.unwrap(), []);
}

/// A job whose process is gone.
fn orphan(keeper: &Path) -> JobRecord {
    JobRecord {
        number: 0,
        session: "s".into(),
        workspace: "/workspace".into(),
        line: "make".into(),
        directory: "/".into(),
        host: ExecHost::Sandbox,
        walls: "bubblewrap".into(),
        // Our own number, but of another time.
        pid: Some(std::process::id()),
        born: Some(1),
        started: SystemTime::now(),
        keeper: keeper.to_owned(),
        end: None,
        bytes: 0,
    }
}

/// How a job ended that its keeper saw to its end.
fn seen_end() -> JobEnd {
    JobEnd { code: Some(3), ..JobEnd::unknown(SystemTime::now()) }
}

#[tokio::test]
async fn a_job_whose_process_is_gone_with_its_keeper_ended_unseen() {
    let shared = Shared::new();
    shared.registry.begin(orphan(Path::new("/nowhere.sock"))).await.unwrap();
    let follows = shared.world();
    let [job] = found(&follows, workspace()).await.try_into().ok().unwrap();
    assert!(job.status().end.unwrap().lost);
    assert!(shared.record(1).await.end.unwrap().lost);
    // News for the session, once.
    let notices = || follows.host.processes().notices("mine").into_iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!((notices(), notices()), (vec!["job-1".to_owned()], vec![]));
}

/// A registry that is late.
struct Late {
    registry: Arc<SqliteJobs>,
    /// Whether the next list is one that was read before its jobs ended.
    is_stale: AtomicBool,
    /// Taken for as long as an end is written.
    pen: Arc<Semaphore>,
}

impl Late {
    /// One that is not, yet.
    fn new(shared: &Shared) -> Self {
        Self { registry: Arc::clone(&shared.registry), is_stale: AtomicBool::new(false), pen: Arc::new(Semaphore::new(1)) }
    }
}

impl JobRegistry for Late {
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>> {
        self.registry.begin(record)
    }
    fn end(&self, number: u64, end: JobEnd, bytes: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let _pen = self.pen.acquire().await.unwrap();
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
async fn who_waits_for_the_end_waits_until_it_is_remembered() {
    let shared = Shared::new();
    let registry = Late::new(&shared);
    let pen = Arc::clone(&registry.pen);
    let held = pen.acquire().await.unwrap();
    let world = shared.world_with(registry);
    let own = kept(&world, "s", "exit 3").await;
    within(own.changed(u64::MAX)).await;
    assert_eq!((own.status().end.unwrap().code, shared.record(1).await.end), (Some(3), None));
    let is_told = tokio::select! {
        biased;
        _ = own.ended() => true,
        () = std::future::ready(()) => false,
    };
    assert!(!is_told, "nobody could have remembered it");
    drop(held);
    assert_eq!(Some(within(own.ended()).await), shared.record(1).await.end);
}

#[tokio::test]
async fn an_end_that_was_remembered_while_its_keeper_was_looked_for_is_not_lost() {
    let shared = Shared::new();
    let number = shared.registry.begin(orphan(Path::new("/nowhere.sock"))).await.unwrap();
    shared.registry.end(number, seen_end(), 0).await.unwrap();
    let follows = shared.world_with(Late { is_stale: AtomicBool::new(true), ..Late::new(&shared) });
    let [job] = found(&follows, workspace()).await.try_into().ok().unwrap();
    let end = job.status().end.unwrap();
    assert_eq!((end.code, end.lost, shared.record(number).await.end), (Some(3), false, Some(end)));
}

#[tokio::test]
async fn a_keeper_that_goes_without_a_word_leaves_the_end_that_it_remembered() {
    let shared = Shared::new();
    let socket = shared.folder.path().join("keeper.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let number = shared.registry.begin(orphan(&socket)).await.unwrap();
    let running = br#"{"Sight":{"bytes":0,"end":null,"spill":null,"has_terminal":false,"output":[]}}"#;
    let follows = shared.world();
    let keeper = async {
        let (mut asked, _) = listener.accept().await.unwrap();
        assert_ne!(asked.read(&mut [0; 256]).await.unwrap(), 0);
        asked.write_all(running).await.unwrap();
    };
    let (jobs, ()) = tokio::join!(found(&follows, workspace()), keeper);
    assert_eq!(jobs[0].status().end, None);
    shared.registry.end(number, seen_end(), 0).await.unwrap();
    drop(listener);
    assert_eq!(Some(within(jobs[0].ended()).await), shared.record(number).await.end);
}

#[tokio::test]
async fn what_outlived_its_keeper_can_still_be_ended() {
    let shared = Shared::new();
    let runs = shared.world();
    let own = kept(&runs, "s", "(sleep 4802.5 &); sleep 4802.5").await;
    let record = JobRecord { keeper: "/nowhere.sock".into(), number: 0, ..shared.record(1).await };
    assert!(record.born.is_some());
    shared.registry.forget(1).await.unwrap();
    shared.registry.begin(record).await.unwrap();
    let follows = shared.world();
    let [job] = found(&follows, workspace()).await.try_into().ok().unwrap();
    assert_eq!((job.status().id.as_str(), job.status().end), ("job-2", None));
    assert!(job.write(b"x", false).await.unwrap_err().message().contains("the haft that ran it has ended"));
    within(job.kill()).await;
    assert!(job.status().end.unwrap().killed);
    within(own.ended()).await;
    assert!(!super::running::is_alive("sleep\x004802.5"), "something outlived the job");
}

#[tokio::test]
async fn a_session_hears_once_of_an_end_that_it_was_not_told_of() {
    let shared = Shared::new();
    let world = shared.world();
    let (told, untold) = (kept(&world, "s", "true").await, kept(&world, "s", "true").await);
    within(async { tokio::join!(told.ended(), untold.ended()) }).await;
    told.acknowledge();
    let notices = |session: &str| world.host.processes().notices(session).into_iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!((notices("other"), notices("s"), notices("s")), (vec![], vec!["job-2".to_owned()], vec![]));
}

#[tokio::test]
async fn a_list_takes_its_jobs_along_and_leaves_no_socket() {
    let shared = Shared::new();
    let world = shared.world();
    let job = kept(&world, "s", "sleep 4803.5").await;
    let sockets = || std::fs::read_dir(shared.folder.path().join("run")).unwrap().count();
    assert_eq!(sockets(), 1);
    let other = kept(&world, "s", "sleep 4803.5").await;
    world.host.processes().forget("s", "job-1").await;
    assert!(job.status().end.unwrap().killed);
    drop(world);
    assert!(within(other.ended()).await.killed);
    drop((job, other));
    assert_eq!(sockets(), 0);
}
