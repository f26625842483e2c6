//! The side of a server: gives work to workers, and waits for what comes of it.

use std::time::Duration;

use futures_util::StreamExt;
use haft_store::{NewWork, PostgresWork, WorkRecord, WorkState};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::queue::EVENTS;
use crate::{FleetError, FleetQueue};

/// How a server waits.
#[derive(Debug, Clone, Copy)]
pub struct WorkPatience {
    /// How often the database is asked, in case that no event comes.
    pub look: Duration,
    /// Work that nobody has taken is put on the queue again this often, in case that its message is lost.
    pub push_again: Duration,
}

impl Default for WorkPatience {
    fn default() -> Self {
        Self { look: Duration::from_secs(2), push_again: Duration::from_secs(30) }
    }
}

/// Gives work to workers.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    /// The queue.
    pub queue: FleetQueue,
    /// The database.
    pub work: PostgresWork,
    /// How it waits.
    pub patience: WorkPatience,
}

/// Takes work back when nobody waits for it any more.
struct WorkGuard {
    work: Option<PostgresWork>,
    id: String,
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        let (Some(work), Ok(runtime)) = (self.work.take(), tokio::runtime::Handle::try_current()) else { return };
        let id = std::mem::take(&mut self.id);
        // What cannot be taken back now expires, or ends with nobody to tell.
        runtime.spawn(async move { work.cancel(&id).await.ok() });
    }
}

impl Dispatcher {
    /// With the usual patience.
    pub fn new(queue: FleetQueue, work: PostgresWork) -> Self {
        Self { queue, work, patience: WorkPatience::default() }
    }

    /// Gives work away and waits until it is settled. When the future is dropped, the work is taken back: it is not begun, or ended.
    pub async fn run(&self, new: NewWork) -> Result<WorkRecord, FleetError> {
        let mut guard = WorkGuard { work: Some(self.work.clone()), id: new.id.clone() };
        let record = self.run_detached(new).await;
        if record.is_ok() {
            guard.work = None;
        }
        record
    }

    /// The same; when the future is dropped, the work continues.
    pub async fn run_detached(&self, new: NewWork) -> Result<WorkRecord, FleetError> {
        let (id, topic) = (new.id.clone(), new.topic.clone());
        // Before the work is there, so that no event is missed.
        let mut events = self.queue.client.subscribe(format!("{EVENTS}.work.{id}")).await.ok();
        self.work.submit(new).await?;
        let mut looks = interval(self.patience.look);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        let (mut pushed, mut attempt) = (None::<Instant>, 0);
        loop {
            let is_due = pushed.is_none_or(|pushed| pushed.elapsed() >= self.patience.push_again);
            if is_due && self.queue.push(&topic, &id, attempt).await.is_ok() {
                (pushed, attempt) = (Some(Instant::now()), attempt + 1);
            }
            let told = async {
                match &mut events {
                    Some(events) => drop(events.next().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = told => {}
                _ = looks.tick() => {}
            }
            let found = self.work.look(&id).await?;
            let record = found.ok_or_else(|| self.queue.failed(format!("the work {id} is not in the database any more")))?;
            if record.state.is_final() {
                return Ok(record);
            }
            if record.state != WorkState::Queued {
                pushed = Some(Instant::now());
            }
        }
    }
}
