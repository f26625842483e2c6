//! The side of a worker: takes messages of its topics, so many at once, until it is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt;
use haft_store::{PostgresWork, WorkerRecord};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::handling::MessageHandler;
use crate::{FleetError, FleetQueue, WorkRunner, WorkWatcher};

/// One request for a message waits this long.
const POLL: Duration = Duration::from_secs(5);
/// A worker that is busy gives a message back after this time, so that another can take it.
const BUSY: Duration = Duration::from_secs(1);
/// After a failure of the queue.
const AGAIN: Duration = Duration::from_millis(500);
/// The part of a lease for which a claim lasts.
const CLAIM: (u32, u32) = (3, 5);
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(500);
/// How often a worker says that it lives.
const BEAT: Duration = Duration::from_secs(5);

/// What a worker is.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// As it says of itself; what it runs and how much is filled in here.
    pub record: WorkerRecord,
    /// Work of a worker that is gone is another's after this time. A claim itself lasts for a part of it, so that there is time to find it.
    pub lease: Duration,
    /// How long work may take that runs when the worker is stopped.
    pub grace: Duration,
}

/// A worker.
pub struct FleetWorker {
    /// The queue.
    pub queue: FleetQueue,
    /// The database.
    pub work: PostgresWork,
    /// What runs the work.
    pub runner: Arc<dyn WorkRunner>,
    /// Is told of each step.
    pub watcher: Arc<dyn WorkWatcher>,
    /// What it is.
    pub settings: WorkerSettings,
}

haft_contract::opaque_debug!(FleetWorker: settings = settings);

/// What all tasks of a worker share.
struct WorkerState {
    handler: MessageHandler,
    slots: Arc<Semaphore>,
    is_draining: AtomicBool,
    settings: WorkerSettings,
}

impl WorkerState {
    async fn present(&self) {
        let capacity = self.settings.record.capacity;
        let running = capacity.saturating_sub(self.slots.available_permits() as u64);
        let record = WorkerRecord { running, draining: self.is_draining.load(Ordering::Relaxed), ..self.settings.record.clone() };
        // The next beat tries again.
        self.handler.work.present(record).await.ok();
    }
}

impl FleetWorker {
    /// Works until it is stopped; then it takes nothing more, and waits for what runs as long as the grace lasts. What runs longer is
    /// ended, and its outcome says so.
    pub async fn run(self, stop: &CancellationToken) -> Result<(), FleetError> {
        let Self { queue, work, runner, watcher, settings } = self;
        for topic in &settings.record.topics {
            queue.consumer(topic, settings.lease).await?;
        }
        let (worker, lease) = (settings.record.name.clone(), settings.lease * CLAIM.0 / CLAIM.1);
        let ended = CancellationToken::new();
        let handler = MessageHandler { queue, work, runner, watcher, worker, lease, ended: ended.clone() };
        let slots = Arc::new(Semaphore::new(usize::try_from(settings.record.capacity).unwrap_or(1).max(1)));
        let state = Arc::new(WorkerState { handler, slots, is_draining: AtomicBool::new(false), settings });
        state.present().await;
        // Every task has an end of it: when the last one is dropped, all have ended.
        let (alive, mut all_ended) = mpsc::channel::<()>(1);
        for topic in state.settings.record.topics.clone() {
            tokio::spawn(take(Arc::clone(&state), topic, stop.clone(), alive.clone()));
        }
        let looking_alive = alive;
        let beating = tokio::spawn(beat(Arc::clone(&state)));
        let looking = tokio::spawn(look_for_lost(Arc::clone(&state), stop.clone(), looking_alive));
        stop.cancelled().await;
        state.is_draining.store(true, Ordering::Relaxed);
        state.present().await;
        if timeout(state.settings.grace, all_ended.recv()).await.is_err() {
            ended.cancel();
            all_ended.recv().await;
        }
        beating.abort();
        looking.abort();
        state.handler.work.leave(&state.settings.record.token).await.ok();
        Ok(())
    }
}

async fn beat(state: Arc<WorkerState>) {
    loop {
        sleep(BEAT).await;
        state.present().await;
    }
}

/// Takes work that nobody has although its message is gone: the queue lost it, or it was used for other work.
async fn look_for_lost(state: Arc<WorkerState>, stop: CancellationToken, alive: mpsc::Sender<()>) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep((state.settings.lease / 5).clamp(LOOK_AT_MOST_EVERY, BEAT)) => {}
        }
        let free = state.slots.available_permits();
        if free == 0 {
            continue;
        }
        let Ok(lost) = state.handler.work.list_lost(state.settings.record.topics.clone(), free).await else { continue };
        for (id, _) in lost {
            let Ok(slot) = Arc::clone(&state.slots).try_acquire_owned() else { break };
            let (state, alive) = (Arc::clone(&state), alive.clone());
            tokio::spawn(async move {
                state.handler.resume(&id).await;
                drop((slot, alive));
            });
        }
    }
}

/// Takes messages of one topic while a slot is free.
async fn take(state: Arc<WorkerState>, topic: String, stop: CancellationToken, alive: mpsc::Sender<()>) {
    let mut consumer = None;
    while !stop.is_cancelled() {
        // Only looked at: a topic without work must not hold what another needs.
        let free = state.slots.acquire();
        tokio::select! {
            () = stop.cancelled() => return,
            _ = free => {}
        }
        let message = tokio::select! {
            () = stop.cancelled() => return,
            message = next_message(&state, &topic, &mut consumer) => message,
        };
        match message {
            // A queue that came back may have lost it without a word.
            Ok(None) => consumer = None,
            Ok(Some(message)) => begin(&state, &topic, message, alive.clone()).await,
            Err(()) => {
                consumer = None;
                sleep(AGAIN).await;
            }
        }
    }
}

/// `None` if none came for some time.
async fn next_message(state: &WorkerState, topic: &str, consumer: &mut Option<PullConsumer>) -> Result<Option<Message>, ()> {
    if consumer.is_none() {
        *consumer = Some(state.handler.queue.consumer(topic, state.settings.lease).await.map_err(drop)?);
    }
    let consumer = consumer.as_ref().ok_or(())?;
    let mut messages = consumer.batch().max_messages(1).expires(POLL).messages().await.map_err(drop)?;
    let next = timeout(POLL * 2, messages.next()).await.map_err(drop)?;
    next.transpose().map_err(drop)
}

/// Handles a message in a slot. If none becomes free, another worker may take it.
async fn begin(state: &Arc<WorkerState>, topic: &str, message: Message, alive: mpsc::Sender<()>) {
    let Ok(Ok(slot)) = timeout(BUSY, Arc::clone(&state.slots).acquire_owned()).await else {
        message.ack_with(async_nats::jetstream::AckKind::Nak(None)).await.ok();
        return;
    };
    let (state, topic) = (Arc::clone(state), topic.to_owned());
    tokio::spawn(async move {
        state.handler.handle(&topic, message).await;
        drop((slot, alive));
    });
}
