//! A worker of an older version gets work that only a newer one understands.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::BoxFuture;
use haft_fleet::{FleetWorker, TakenWork, WorkEnd, WorkRunner, WorkStep};
use haft_store::{NewWork, WorkState};
use tokio_util::sync::CancellationToken;

use super::world::{CountingRunner, LocalWorker, StepLog, World, new_work, settings};

const LEASE: Duration = Duration::from_secs(3);

/// Knows nothing of bodies that begin with `new`.
struct OlderRunner(Arc<CountingRunner>);

impl WorkRunner for OlderRunner {
    fn run(self: Arc<Self>, work: TakenWork) -> BoxFuture<'static, WorkEnd> {
        Arc::clone(&self.0).run(work)
    }

    fn ended(&self, why: &str) -> String {
        self.0.ended(why)
    }

    fn accepts(&self, body: &str) -> bool {
        !body.starts_with("new")
    }
}

fn older_worker(world: &World) -> LocalWorker {
    let (steps, stop) = (Arc::new(StepLog::default()), CancellationToken::new());
    let runner = CountingRunner { folder: world.folder.path().to_owned(), name: "older".to_owned() };
    let worker = FleetWorker {
        queue: world.queue.clone(),
        work: world.work.clone(),
        runner: Arc::new(OlderRunner(Arc::new(runner))),
        watcher: steps.clone(),
        settings: settings("older", 2, LEASE),
    };
    let stopped = stop.clone();
    let task = tokio::spawn(async move { worker.run(&stopped).await.unwrap() });
    LocalWorker { steps, stop, task: Some(task) }
}

#[tokio::test(flavor = "multi_thread")]
async fn older_worker_hands_newer_work_back_before_it_begins() {
    let world = World::new().await;
    let older = older_worker(&world);
    let given = world.give(new_work("new-work", false));
    older.steps.wait_for(WorkStep::Returned, 1).await;
    // It does what it can read, and is not kept from that.
    assert_eq!(world.give(new_work("known", false)).await.unwrap().outcome.as_deref(), Some("known by older"));
    assert_eq!(world.effects("new-work"), 0);
    let newer = world.worker("newer", 1, LEASE);
    let record = given.await.unwrap();
    assert_eq!((record.outcome.as_deref(), world.effects("new-work")), (Some("new-work by newer"), 1), "{record:?}");
    assert!(record.story.iter().any(|line| line.contains("older cannot read it")), "{record:?}");
    older.drain().await;
    newer.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_no_worker_can_read_expires_and_is_not_set_aside_as_poison() {
    let world = World::new().await;
    let older = older_worker(&world);
    let record = world.give(NewWork { patience: Duration::from_secs(4), ..new_work("new-work", false) }).await.unwrap();
    assert_eq!((record.state, world.effects("new-work")), (WorkState::Expired, 0), "{record:?}");
    assert_eq!(older.drain().await.count(WorkStep::Started), 0);
}
