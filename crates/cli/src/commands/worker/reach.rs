//! How a process that runs turns reaches servers: by the queue, or through the worker that started it for a tenant.

use haft_fleet::{ControlMessages, ControlReply, FleetQueue, subject_of_session};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::tenants::{LineSender, TurnReport};

/// Messages of servers that may wait for one turn.
const MOST_WAITING: usize = 1_024;

/// The way to servers.
#[derive(Clone)]
pub(super) enum ServerReach {
    /// The queue itself.
    Queue(Box<FleetQueue>),
    /// The worker that started this process.
    Worker(WorkerLines),
}

/// What goes to the worker, and what it says of each session.
#[derive(Clone)]
pub(super) struct WorkerLines {
    reports: LineSender,
    told: broadcast::Sender<ToldMessage>,
}

/// What a server says: to which session, what, and the number of its question if it waits for an answer.
type ToldMessage = (String, Value, Option<u64>);

/// What servers say to one session.
pub(super) enum SessionMessages {
    Queue { queue: Box<FleetQueue>, messages: ControlMessages },
    Worker { session: String, told: broadcast::Receiver<ToldMessage>, reports: LineSender },
}

/// The way of an answer.
pub(super) enum ReplyPath {
    Queue(Box<FleetQueue>, ControlReply),
    Worker(LineSender, u64),
}

impl ReplyPath {
    /// Nobody waits for one that is lost for long.
    pub(super) async fn send(self, body: Value) {
        match self {
            Self::Queue(queue, reply) => drop(queue.answer(reply, body.to_string().into_bytes()).await),
            Self::Worker(reports, number) => drop(reports.send(&TurnReport::Reply { number, body }).await),
        }
    }
}

impl WorkerLines {
    pub(super) fn new(reports: LineSender) -> Self {
        Self { reports, told: broadcast::channel(MOST_WAITING).0 }
    }

    pub(super) async fn report(&self, report: &TurnReport) -> bool {
        self.reports.send(report).await
    }

    /// Passes on what a server says.
    pub(super) fn pass_on(&self, session: String, body: Value, reply: Option<u64>) {
        // A session that has no turn any more has nothing to be told.
        self.told.send((session, body, reply)).ok();
    }
}

impl ServerReach {
    /// Tells every server what happens in a session; `false` if that is to be tried again.
    pub(super) async fn publish(&self, session: &str, body: &Value) -> bool {
        match self {
            Self::Queue(queue) => queue.publish_event(&subject_of_session(session), body.to_string().into_bytes()).await.is_ok(),
            Self::Worker(lines) => lines.report(&TurnReport::Events { session: session.to_owned(), body: body.clone() }).await,
        }
    }

    /// Listens to what servers say to a session; `None` if the queue cannot be used now.
    pub(super) async fn listen(&self, session: &str) -> Option<SessionMessages> {
        Some(match self {
            Self::Queue(queue) => SessionMessages::Queue { queue: queue.clone(), messages: queue.listen(session).await.ok()? },
            Self::Worker(lines) => {
                SessionMessages::Worker { session: session.to_owned(), told: lines.told.subscribe(), reports: lines.reports.clone() }
            }
        })
    }
}

impl SessionMessages {
    /// The next message; `None` if there are no more.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.next_asked().await.map(|(body, _)| body)
    }

    /// The same, and the way of an answer if one is waited for.
    pub(super) async fn next_asked(&mut self) -> Option<(Vec<u8>, Option<ReplyPath>)> {
        match self {
            Self::Queue { queue, messages } => {
                let (body, reply) = messages.next_asked().await?;
                Some((body, reply.map(|reply| ReplyPath::Queue(queue.clone(), reply))))
            }
            Self::Worker { session, told, reports } => loop {
                match told.recv().await {
                    Ok((meant, body, number)) if meant == *session => {
                        return Some((body.to_string().into_bytes(), number.map(|number| ReplyPath::Worker(reports.clone(), number))));
                    }
                    // Others are of other sessions, and what was lost is said again or lies in the store.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            },
        }
    }
}
