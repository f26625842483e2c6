//! Turns of a tenant that its server asks to give to workers. Everything is for sessions of that tenant alone, whatever it asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_fleet::topic_of_turn;
use haft_store::{NewWork, WorkState};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::commands::serve::workers::{GivenTurns, TURN_PATIENCE, TurnAudience, follow};
use crate::failure::Failure;
use crate::output::warn;
use crate::tenants::{LineSender, ServerAsk, ServerWord, TenantFolder, write_lines};
use crate::wire::{FleetLink, SessionScope, TenantTurn, WorkBody};

/// How long the queue may take to send events: turns that are given before it does begin unseen.
const LISTENS: Duration = Duration::from_secs(5);
/// The longest id of a turn.
const MOST_ID: usize = 64;

/// What this server does for the server of a tenant.
struct TenantBroker {
    given: GivenTurns,
    tenant: TenantFolder,
    route: String,
    words: LineSender,
    /// What ends each turn, by its id.
    running: Mutex<HashMap<String, CancellationToken>>,
}

/// Does what the process of a tenant asks for, and tells it what workers tell, until it is stopped.
pub(super) fn attend(
    link: FleetLink,
    (tenant, route): (TenantFolder, String),
    (input, output): (ChildStdin, BufReader<ChildStdout>),
    stop: CancellationToken,
) {
    let (words, waiting) = LineSender::pair();
    let given = GivenTurns { link, scope: SessionScope::of_tenant(&route) };
    tokio::spawn(write_lines(input, waiting, stop.clone()));
    let (listens, is_listening) = oneshot::channel();
    tokio::spawn(follow(given.clone(), TurnAudience::Tenant(words.clone()), stop.clone(), Some(listens)));
    let broker = Arc::new(TenantBroker { given, tenant, route, words, running: Mutex::default() });
    tokio::spawn(async move {
        tokio::time::timeout(LISTENS, is_listening).await.ok();
        let mut asks = output.lines();
        loop {
            let ask = tokio::select! {
                () = stop.cancelled() => return,
                ask = asks.next_line() => ask,
            };
            let Ok(Some(ask)) = ask else { return };
            // What is none was printed by something else.
            if let Ok(ask) = serde_json::from_str(&ask) {
                Arc::clone(&broker).answer(ask, &stop);
            }
        }
    });
}

impl TenantBroker {
    fn answer(self: Arc<Self>, ask: ServerAsk, stop: &CancellationToken) {
        match ask {
            ServerAsk::Give { id, session, agent, label } => {
                let (cancel, stop) = (CancellationToken::new(), stop.clone());
                self.running().insert(id.clone(), cancel.clone());
                tokio::spawn(async move {
                    // The work is not taken back when this server stops: the worker continues it.
                    let state = tokio::select! {
                        () = stop.cancelled() => return,
                        state = self.give(&id, &session, (&agent, label.as_deref()), &cancel) => state,
                    };
                    self.running().remove(&id);
                    self.words.send(&ServerWord::Settled { id, state }).await;
                });
            }
            ServerAsk::Stop { id } => drop(self.running().get(&id).inspect(|cancel| cancel.cancel())),
            ServerAsk::Tell { session, message } => self.given.tell(&session, &message),
            ServerAsk::Held { number } => {
                tokio::spawn(async move {
                    let sessions = self.given.held_sessions().await;
                    self.words.send(&ServerWord::Held { number, sessions }).await;
                });
            }
        }
    }

    /// Returns the last state of the turn: a state of work, or why there is none, as the tenant may know it.
    async fn give(&self, id: &str, session: &str, topic: (&str, Option<&str>), cancel: &CancellationToken) -> String {
        let given = match self.work(id, session, topic) {
            Ok(work) => self.given.run(session, &work, cancel).await.map_err(|error| error.to_string()),
            Err(failure) => Err(failure.message.clone()),
        };
        match given {
            Ok(record) => record.state.as_str().to_owned(),
            Err(why) => {
                // It may name what is the operator's own.
                warn(&format!("a turn of the tenant '{}' cannot be given to a worker: {why}", self.tenant.name()));
                WorkState::Unknown.as_str().to_owned()
            }
        }
    }

    fn work(&self, id: &str, session: &str, (agent, label): (&str, Option<&str>)) -> Result<NewWork, Failure> {
        if id.is_empty() || id.len() > MOST_ID || !id.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '-') {
            return Err(Failure::usage("its id is none"));
        }
        // A tenant that is removed has no record, and gets nothing.
        let (tenant, record) = (self.tenant.name(), self.tenant.record()?.for_workers());
        let turn = TenantTurn { tenant: tenant.clone(), record, session: session.to_owned(), id: id.to_owned() };
        Ok(NewWork {
            id: format!("{}{id}", TenantTurn::id_prefix(&self.route)),
            topic: topic_of_turn(agent, label),
            body: WorkBody::TenantTurn(Box::new(turn)).encode()?,
            repeatable: true,
            patience: TURN_PATIENCE,
            tenant,
            holds: self.given.scope.lock_name(session),
        })
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
