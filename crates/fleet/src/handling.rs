//! One message of a worker, step by step. A worker may be killed between any two of them: what is in the database then says what may be
//! done.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{AckKind, Message};
use haft_contract::BoxFuture;
use haft_store::{LeaseAnswer, PostgresWork, WorkClaim, WorkLease, WorkState};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::FleetQueue;
use crate::queue::WorkMessage;
use crate::wake_up::WakeUp;

/// How long a message rests after the first failure; each further one doubles it.
const FIRST_REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_mins(1);
/// An outcome that cannot be stored is tried again this often.
const STORE_AGAIN: Duration = Duration::from_millis(500);

/// Work that a worker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenWork {
    /// Its id.
    pub id: String,
    /// What is to be done.
    pub body: String,
    /// The how-manieth claim it is: from the second on, a part may be done.
    pub attempt: u64,
    /// The fencing number of the claim: greater than that of every earlier one.
    pub fence: i64,
}

/// How work ended on a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkEnd {
    /// With this outcome.
    Done(String),
    /// What did it here is gone, and this is why: another worker continues it, if it may be begun again.
    Lost(String),
}

/// What a worker can run. Its outcome is stored as it is, and read by the server that gave the work.
pub trait WorkRunner: Send + Sync + 'static {
    /// Does work. When the future is dropped, everything that it started ends.
    fn run(self: Arc<Self>, work: TakenWork) -> BoxFuture<'static, WorkEnd>;
    /// The outcome of work that was ended before its own end: why.
    fn ended(&self, why: &str) -> String;
    /// Whether this version can read the work as a whole. What it cannot goes back before it begins, for a worker of another version.
    fn accepts(&self, _body: &str) -> bool {
        true
    }
}

/// A step of a worker with one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkStep {
    /// The message is here, and nothing was done.
    Received,
    /// The work is claimed, and nothing of it was done.
    Claimed,
    /// It is recorded that the work begins.
    Started,
    /// The work is done, and its outcome is nowhere else.
    Ran,
    /// The outcome is stored.
    Stored,
    /// The servers know.
    Announced,
    /// The message is gone from the queue.
    Acknowledged,
    /// Another worker has the work now: what this one did is not stored.
    Fenced,
    /// The message goes back to the queue, and comes again later.
    Returned,
    /// The message makes no sense, and is set aside with its story.
    SetAside,
}

/// Is told of each step.
pub trait WorkWatcher: Send + Sync + 'static {
    /// A step with the work of this id, before the next one is made.
    fn step(&self, step: WorkStep, id: &str);
}

/// Handles messages.
pub(crate) struct MessageHandler {
    pub(crate) queue: FleetQueue,
    pub(crate) work: PostgresWork,
    pub(crate) runner: Arc<dyn WorkRunner>,
    pub(crate) watcher: Arc<dyn WorkWatcher>,
    pub(crate) worker: String,
    pub(crate) lease: Duration,
    /// Ends work that runs when the worker has waited long enough.
    pub(crate) ended: CancellationToken,
}

/// How work ended here.
enum RunEnd {
    Own(WorkEnd),
    /// The lease is lost.
    Fenced,
    /// The worker is stopped.
    Stopped,
}

impl MessageHandler {
    pub(crate) async fn handle(&self, topic: &str, message: Message) {
        let Ok(WorkMessage { id }) = serde_json::from_slice(&message.payload) else { return self.set_aside(topic, &message).await };
        self.watcher.step(WorkStep::Received, &id);
        if let WorkClaim::Missing = self.take(&id, &WakeUp::Message(Box::new(message.clone()))).await {
            self.set_aside(topic, &message).await;
        }
    }

    /// Does work whose message is lost, or whose worker is gone.
    pub(crate) async fn resume(&self, id: &str) {
        self.take(id, &WakeUp::Look).await;
    }

    async fn take(&self, id: &str, wake: &WakeUp) -> WorkClaim {
        let claim = self.work.claim(id, &self.worker, self.lease).await;
        match claim {
            Ok(WorkClaim::Taken { lease, body, attempt }) => {
                let work = TakenWork { id: lease.id.clone(), body, attempt, fence: lease.fence };
                self.perform(&lease, work, wake).await;
                WorkClaim::Settled(WorkState::Done)
            }
            Ok(WorkClaim::Settled(state)) => {
                self.acknowledge(id, wake).await;
                WorkClaim::Settled(state)
            }
            Ok(WorkClaim::Held(time)) => {
                self.give_back(id, wake, time).await;
                WorkClaim::Held(time)
            }
            Ok(WorkClaim::Missing) => WorkClaim::Missing,
            // The database is away: the message waits for it.
            Err(_) => {
                self.give_back(id, wake, Duration::ZERO).await;
                WorkClaim::Held(Duration::ZERO)
            }
        }
    }

    async fn perform(&self, lease: &WorkLease, work: TakenWork, wake: &WakeUp) {
        self.watcher.step(WorkStep::Claimed, &lease.id);
        if !self.runner.accepts(&work.body) {
            return self.refuse(lease, wake).await;
        }
        if self.ended.is_cancelled() || !matches!(self.work.start(lease).await, Ok(true)) {
            self.work.give_back(lease).await.ok();
            return self.give_back(&lease.id, wake, Duration::ZERO).await;
        }
        self.watcher.step(WorkStep::Started, &lease.id);
        self.tell(&lease.id, "started").await;
        let outcome = match self.run(lease, work, wake).await {
            RunEnd::Own(WorkEnd::Done(outcome)) => outcome,
            RunEnd::Own(WorkEnd::Lost(why)) if self.put_back(lease, &why).await => {
                return self.give_back(&lease.id, wake, Duration::ZERO).await;
            }
            RunEnd::Own(WorkEnd::Lost(why)) => self.runner.ended(&why),
            RunEnd::Fenced => return self.watcher.step(WorkStep::Fenced, &lease.id),
            // Another worker continues what may be begun again; of the rest it is said that it was ended.
            RunEnd::Stopped if matches!(self.work.hand_back(lease).await, Ok(true)) => {
                wake.answer(AckKind::Nak(None)).await;
                return self.watcher.step(WorkStep::Returned, &lease.id);
            }
            RunEnd::Stopped => self.runner.ended("the worker was stopped"),
        };
        self.watcher.step(WorkStep::Ran, &lease.id);
        if !self.store(lease, &outcome).await {
            // The worker that has the work now has the message, too, or gets it.
            return self.watcher.step(WorkStep::Fenced, &lease.id);
        }
        self.watcher.step(WorkStep::Stored, &lease.id);
        self.tell(&lease.id, "done").await;
        self.watcher.step(WorkStep::Announced, &lease.id);
        self.acknowledge(&lease.id, wake).await;
    }

    /// Leaves work to another worker, which continues it; `false` if it may not be begun again.
    async fn put_back(&self, lease: &WorkLease, why: &str) -> bool {
        self.work.tell(&lease.id, &format!("{} lost it: {why}", self.worker)).await.ok();
        // With the database away, the lease runs out.
        self.work.put_back(lease).await.unwrap_or(true)
    }

    /// Leaves work to a worker of another version. Nothing of it was begun, so the attempt does not count.
    async fn refuse(&self, lease: &WorkLease, wake: &WakeUp) {
        if wake.is_first() {
            // The story says it once for each message, not for each look at the database.
            self.work.tell(&lease.id, &format!("{} cannot read it: its version is another", self.worker)).await.ok();
        }
        self.work.give_back(lease).await.ok();
        self.give_back(&lease.id, wake, Duration::ZERO).await;
    }

    /// Runs work and renews its lease. A lease that cannot be renewed in its time ends the work: someone else may have it.
    async fn run(&self, lease: &WorkLease, work: TakenWork, wake: &WakeUp) -> RunEnd {
        let mut work = Arc::clone(&self.runner).run(work);
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                end = &mut work => return RunEnd::Own(end),
                () = self.ended.cancelled() => return RunEnd::Stopped,
                () = sleep(self.lease / 3) => {}
            }
            wake.answer(AckKind::Progress).await;
            // The work continues while the database is asked.
            let asked = async {
                let left = self.lease.saturating_sub(renewed.elapsed());
                timeout(left, self.work.renew(lease, self.lease)).await
            };
            let answer = tokio::select! {
                end = &mut work => return RunEnd::Own(end),
                answer = asked => answer,
            };
            match answer {
                Ok(Ok(LeaseAnswer::Renewed)) => renewed = Instant::now(),
                Ok(Ok(LeaseAnswer::Unwanted)) => return RunEnd::Own(WorkEnd::Done(self.runner.ended("nobody wants it any more"))),
                Ok(Ok(LeaseAnswer::Lost)) => return RunEnd::Fenced,
                Ok(Err(_)) | Err(_) if renewed.elapsed() >= self.lease => return RunEnd::Fenced,
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    /// Whether the outcome is stored. While the database is away it is tried again, for two leases: then the work counts as lost.
    async fn store(&self, lease: &WorkLease, outcome: &str) -> bool {
        let until = Instant::now() + self.lease * 2;
        loop {
            // A connection through a network that drops everything says nothing for minutes.
            match timeout_at(until, self.work.finish(lease, outcome)).await {
                Ok(Ok(is_stored)) => return is_stored,
                Ok(Err(_)) if Instant::now() < until => sleep(STORE_AGAIN).await,
                Ok(Err(_)) | Err(_) => return false,
            }
        }
    }

    /// Servers that miss it ask the database.
    async fn tell(&self, id: &str, state: &str) {
        let body = json!({"id": id, "state": state, "worker": self.worker}).to_string().into_bytes();
        timeout(self.lease / 3, self.queue.publish_event(&format!("work.{id}"), body)).await.ok();
    }

    async fn acknowledge(&self, id: &str, wake: &WakeUp) {
        if let WakeUp::Message(message) = wake {
            // One that gets lost brings the message again, and then there is nothing to do.
            message.double_ack().await.ok();
        }
        self.watcher.step(WorkStep::Acknowledged, id);
    }

    async fn give_back(&self, id: &str, wake: &WakeUp, at_least: Duration) {
        wake.answer(AckKind::Nak(Some(rest(wake.deliveries()).max(at_least)))).await;
        self.watcher.step(WorkStep::Returned, id);
    }

    /// A message that makes no sense, with what is known of it.
    async fn set_aside(&self, topic: &str, message: &Message) {
        let (sequence, deliveries) = message.info().map_or((0, 0), |info| (info.stream_sequence, info.delivered));
        let body = String::from_utf8_lossy(&message.payload).into_owned();
        let body = haft_text::truncate::first_bytes(&body, 4_096);
        let id = serde_json::from_slice(&message.payload).map_or_else(|_| format!("message-{sequence}"), |WorkMessage { id }| id);
        let story = format!(
            "message {sequence} of {topic}, delivery {deliveries}, taken by {}: it names no work of {}; set aside",
            self.worker,
            self.work.name()
        );
        match self.work.set_aside(&id, topic, body, &story).await {
            Ok(()) => {
                message.ack_with(AckKind::Term).await.ok();
                self.watcher.step(WorkStep::SetAside, &id);
            }
            Err(_) => self.give_back(&id, &WakeUp::Message(Box::new(message.clone())), Duration::ZERO).await,
        }
    }
}

/// How long a message rests that was delivered so often.
fn rest(deliveries: i64) -> Duration {
    let doubled = u32::try_from(deliveries.clamp(1, 16) - 1).unwrap_or(0);
    FIRST_REST.saturating_mul(1 << doubled).min(LONGEST_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_rest_longer_after_each_failure() {
        let rests = [0, 1, 2, 3, 7, 8, 100].map(|deliveries| rest(deliveries).as_millis());
        assert_eq!(rests, [500, 500, 1_000, 2_000, 32_000, 60_000, 60_000]);
    }
}
