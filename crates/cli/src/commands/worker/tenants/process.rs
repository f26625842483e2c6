//! The process of one tenant on a worker.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_fleet::{ControlReply, FleetQueue, subject_of_tenant};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::failure::Failure;
use crate::tenants::{LineSender, TurnReport, WorkerSeat, write_lines};

/// How long a process may take to listen.
const START: Duration = Duration::from_secs(30);
/// How long it may take to end, before it is killed.
const END: Duration = Duration::from_secs(10);
/// An event that the queue does not take is tried again, some times.
const ATTEMPTS: usize = 5;
const AGAIN: Duration = Duration::from_millis(200);
/// Questions of servers that wait for an answer.
const MOST_ASKED: usize = 256;

/// A process. When it is dropped, the process ends.
pub(super) struct TenantWorker {
    pub(super) lines: LineSender,
    /// Cancelled when the process has ended, or says nothing any more.
    pub(super) gone: CancellationToken,
    turns: Arc<Mutex<RunningTurns>>,
    _stop: DropGuard,
}

/// What waits for turns, by their ids.
struct RunningTurns {
    waiting: HashMap<String, oneshot::Sender<bool>>,
    /// Since when there are none.
    idle: Instant,
    /// Where answers go, by the numbers of the questions: the process knows no more of them.
    replies: VecDeque<(u64, ControlReply)>,
    asked: u64,
}

impl TenantWorker {
    /// Starts it, and waits until it listens.
    pub(super) async fn start(mut command: Command, seat: &WorkerSeat, (queue, route): (FleetQueue, &str)) -> Result<Self, Failure> {
        let broken = |error: std::io::Error| Failure::failed("execution_error", format!("its process cannot be started: {error}"));
        let mut child = command.spawn().map_err(broken)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| broken(std::io::ErrorKind::BrokenPipe.into()))?;
        let ((lines, waiting), stop, gone) = (LineSender::pair(), CancellationToken::new(), CancellationToken::new());
        let turns =
            Arc::new(Mutex::new(RunningTurns { waiting: HashMap::new(), idle: Instant::now(), replies: VecDeque::new(), asked: 0 }));
        let guard = stop.clone().drop_guard();
        tokio::spawn(write_lines(input, waiting, stop.clone()));
        lines.send(seat).await;
        let mut reports = BufReader::new(output).lines();
        match timeout(START, reports.next_line()).await {
            Ok(Ok(Some(line))) if matches!(serde_json::from_str(&line), Ok(TurnReport::Ready)) => {}
            Ok(_) => return Err(Failure::failed("execution_error", "the process of the tenant ended at once, and says why above")),
            Err(_) => {
                let message = format!("the process of the tenant did not listen within {} seconds", START.as_secs());
                return Err(Failure::failed("execution_error", message));
            }
        }
        let publisher = EventPublisher { queue, route: route.to_owned() };
        tokio::spawn(tend(child, stop, gone.clone(), listen(reports, publisher, Arc::clone(&turns))));
        Ok(Self { lines, gone, turns, _stop: guard })
    }

    pub(super) fn begin_turn(&self, id: &str, ended: oneshot::Sender<bool>) {
        lock(&self.turns).waiting.insert(id.to_owned(), ended);
    }

    pub(super) fn end_turn(&self, id: &str) {
        let mut turns = lock(&self.turns);
        turns.waiting.remove(id);
        turns.idle = Instant::now();
    }

    /// Remembers where an answer goes; returns the number of the question.
    pub(super) fn keep_reply(&self, reply: ControlReply) -> u64 {
        let mut turns = lock(&self.turns);
        turns.asked += 1;
        let number = turns.asked;
        if turns.replies.len() >= MOST_ASKED {
            turns.replies.pop_front();
        }
        turns.replies.push_back((number, reply));
        number
    }

    /// How long it has had no turn; `None` while it has one.
    pub(super) fn idle_time(&self) -> Option<Duration> {
        let turns = lock(&self.turns);
        turns.waiting.is_empty().then(|| turns.idle.elapsed())
    }

    /// Ends it, and waits until it has ended.
    pub(super) async fn end(self: Arc<Self>) {
        let gone = self.gone.clone();
        // A turn that ends just now may have it, too.
        drop(self);
        timeout(END * 2, gone.cancelled()).await.ok();
    }
}

/// Waits for the end of a process, and kills one that does not end when it is told.
async fn tend(mut child: Child, stop: CancellationToken, gone: CancellationToken, listening: impl Future<Output = ()>) {
    let _gone = gone.drop_guard();
    tokio::select! {
        () = listening => {}
        () = stop.cancelled() => {}
    }
    // One that says nothing any more is of no use.
    stop.cancel();
    if timeout(END, child.wait()).await.is_err() {
        child.kill().await.ok();
    }
}

/// Publishes for the pages of one tenant.
struct EventPublisher {
    queue: FleetQueue,
    route: String,
}

impl EventPublisher {
    async fn publish(&self, session: &str, body: &Value) {
        let (subject, body) = (subject_of_tenant(&self.route, session), body.to_string().into_bytes());
        for _ in 0..ATTEMPTS {
            if self.queue.publish_event(&subject, body.clone()).await.is_ok() {
                return;
            }
            sleep(AGAIN).await;
        }
    }
}

async fn listen(mut reports: Lines<BufReader<ChildStdout>>, publisher: EventPublisher, turns: Arc<Mutex<RunningTurns>>) {
    while let Ok(Some(line)) = reports.next_line().await {
        match serde_json::from_str(&line) {
            Ok(TurnReport::Events { session, body }) => publisher.publish(&session, &body).await,
            Ok(TurnReport::Reply { number, body }) => {
                let reply = {
                    let mut turns = lock(&turns);
                    let at = turns.replies.iter().position(|(of, _)| *of == number);
                    at.and_then(|at| turns.replies.remove(at))
                };
                if let Some((_, reply)) = reply {
                    // Nobody waits for one that is lost for long.
                    publisher.queue.answer(reply, body.to_string().into_bytes()).await.ok();
                }
            }
            Ok(TurnReport::Ended { id, is_stored }) => drop(lock(&turns).waiting.remove(&id).map(|turn| turn.send(is_stored))),
            // What is no report was printed by something else.
            Ok(TurnReport::Ready) | Err(_) => {}
        }
    }
}

// Entries come and go whole, so it is consistent after a panic elsewhere.
fn lock(turns: &Mutex<RunningTurns>) -> MutexGuard<'_, RunningTurns> {
    turns.lock().unwrap_or_else(PoisonError::into_inner)
}
