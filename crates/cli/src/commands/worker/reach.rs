//! How a process that runs turns reaches servers: by the queue, or through the worker that started it for a tenant.

use haft_fleet::{ControlMessages, FleetQueue, subject_of_session};
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
    told: broadcast::Sender<(String, Value)>,
}

/// What servers say to one session.
pub(super) enum SessionMessages {
    Queue(ControlMessages),
    Worker { session: String, told: broadcast::Receiver<(String, Value)> },
}

impl WorkerLines {
    pub(super) fn new(reports: LineSender) -> Self {
        Self { reports, told: broadcast::channel(MOST_WAITING).0 }
    }

    pub(super) async fn report(&self, report: &TurnReport) -> bool {
        self.reports.send(report).await
    }

    /// Passes on what a server says.
    pub(super) fn pass_on(&self, session: String, body: Value) {
        // A session that has no turn any more has nothing to be told.
        self.told.send((session, body)).ok();
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
            Self::Queue(queue) => SessionMessages::Queue(queue.listen(session).await.ok()?),
            Self::Worker(lines) => SessionMessages::Worker { session: session.to_owned(), told: lines.told.subscribe() },
        })
    }
}

impl SessionMessages {
    /// The next message; `None` if there are no more.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Queue(messages) => messages.next().await,
            Self::Worker { session, told } => loop {
                match told.recv().await {
                    Ok((meant, body)) if meant == *session => return Some(body.to_string().into_bytes()),
                    // Others are of other sessions, and what was lost is said again or lies in the store.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            },
        }
    }
}
