//! Turns that were given to workers, of this server's sessions or of those of a tenant.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use haft_fleet::{Dispatcher, FleetError};
use haft_gateway::{RemoteEvent, RemoteMessage};
use haft_store::{NewWork, StoreError, WorkRecord, WorkState};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::output::warn;
use crate::wire::{FleetLink, SessionScope};

/// After a failure of the queue or the database.
const AGAIN: Duration = Duration::from_millis(500);
/// A database that is away for longer is given up, beyond the patience of the store itself.
const STORE_PATIENCE: Duration = Duration::from_mins(2);
/// A worker that begins just now, or follows one that was lost, did not hear that the user wants the turn to end.
const STOP_AGAIN: Duration = Duration::from_secs(1);
/// How often a turn that is being recorded is looked for.
const RECORDING: Duration = Duration::from_millis(5);
/// How long a worker may take to answer: a browser that shows nothing new says so after 15 s.
const ANSWER: Duration = Duration::from_secs(20);

/// The way to workers, and whose sessions it is for.
#[derive(Debug, Clone)]
pub(in crate::commands::serve) struct GivenTurns {
    pub(in crate::commands::serve) link: FleetLink,
    pub(in crate::commands::serve) scope: SessionScope,
}

impl GivenTurns {
    pub(in crate::commands::serve) fn dispatcher(&self) -> Dispatcher {
        Dispatcher::new(self.link.queue.clone(), self.link.work.clone())
    }

    /// Whether a worker that lives takes this.
    pub(in crate::commands::serve) async fn has_worker(&self, topic: &String) -> Result<bool, StoreError> {
        Ok(self.link.work.workers().await?.iter().any(|worker| worker.topics.contains(topic)))
    }

    /// Gives a turn to a worker, and waits until it is settled.
    pub(in crate::commands::serve) async fn run(
        &self,
        session: &str,
        work: &NewWork,
        cancel: &CancellationToken,
    ) -> Result<WorkRecord, FleetError> {
        // Workers that are free would begin it before they hear that nobody wants it any more.
        if cancel.is_cancelled() && self.link.work.submit(work.clone()).await.is_ok() {
            self.link.work.cancel(&work.id).await.ok();
        }
        let record = tokio::select! {
            settled = self.settled(work) => settled?,
            never = self.stop_turn(session, &work.id, cancel) => match never {},
        };
        if record.outcome.is_none() {
            // No worker tells the pages of other servers that it is over.
            let over = json!({ "session": session, "events": [RemoteEvent::Over] }).to_string().into_bytes();
            self.link.queue.publish_event(&self.scope.subject(session), over).await.ok();
        }
        Ok(record)
    }

    /// The end of a turn. A database that is away for some time has not forgotten it: the same work twice is one.
    async fn settled(&self, work: &NewWork) -> Result<WorkRecord, FleetError> {
        let dispatcher = self.dispatcher();
        let mut answered = Instant::now();
        loop {
            let asked = Instant::now();
            match dispatcher.run_detached(work.clone()).await {
                Err(FleetError::Store(error)) if answered.elapsed() < STORE_PATIENCE || asked.elapsed() > STORE_PATIENCE => {
                    warn(&format!("how a turn stands is not known now: {error}"));
                    if asked.elapsed() > STORE_PATIENCE {
                        answered = Instant::now();
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                settled => return settled,
            }
        }
    }

    /// Once the user wants it to end: a turn that waits is not begun, and one that runs ends by itself and says how.
    async fn stop_turn(&self, session: &str, id: &str, cancel: &CancellationToken) -> Infallible {
        cancel.cancelled().await;
        loop {
            let mut pause = STOP_AGAIN;
            match self.link.work.look(id).await {
                Ok(Some(record)) if matches!(record.state, WorkState::Queued | WorkState::Claimed) => drop(self.link.work.cancel(id).await),
                // It is being recorded.
                Ok(None) => pause = RECORDING,
                _ => self.tell(session, &RemoteMessage::Cancel),
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Tells the worker that has a turn of this session.
    pub(in crate::commands::serve) fn tell(&self, session: &str, message: &RemoteMessage) {
        let (queue, control) = (self.link.queue.clone(), self.scope.control(session));
        let Ok(body) = serde_json::to_vec(message) else { return };
        tokio::spawn(async move {
            if let Err(error) = queue.tell(&control, body).await {
                warn(&format!("a worker was not told: {error}"));
            }
        });
    }

    /// Asks the worker that has a turn of this session; `None` if it does not answer.
    pub(in crate::commands::serve) async fn ask(&self, session: &str, message: &RemoteMessage) -> Option<Value> {
        let body = serde_json::to_vec(message).ok()?;
        let answer = self.link.queue.ask(&self.scope.control(session), body, ANSWER).await.ok()??;
        serde_json::from_slice(&answer).ok()
    }

    /// Tells every server that a session is new, or has changed.
    pub(super) fn announce(&self, session: &str) {
        let body = json!({ "session": session, "events": [RemoteEvent::Changed] }).to_string().into_bytes();
        let (queue, subject) = (self.link.queue.clone(), self.scope.subject(session));
        // Pages of other servers that miss it learn of the session with its next turn.
        tokio::spawn(async move { queue.publish_event(&subject, body).await.ok() });
    }

    /// The sessions of which a turn is not settled; `None` if that is not known now.
    pub(in crate::commands::serve) async fn held_sessions(&self) -> Option<Vec<String>> {
        let held = self.link.work.list_exclusive().await.ok()?;
        Some(held.iter().filter_map(|held| self.scope.session_of(held)).map(str::to_owned).collect())
    }
}
