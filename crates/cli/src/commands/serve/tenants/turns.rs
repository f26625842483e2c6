//! Turns and calls of a tenant that its server asks to give to workers. Everything is for that tenant alone, whatever it asks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_contract::BoxFuture;
use haft_fleet::{FleetError, topic_of_call, topic_of_turn};
use haft_store::{NewWork, StoreError, WorkRecord, WorkState};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::commands::serve::workers::{CALL_PATIENCE, GivenTurns, TURN_PATIENCE, TurnAudience, follow};
use crate::failure::Failure;
use crate::output::warn;
use crate::tenants::{LineSender, NO_WORKER, ServerAsk, ServerWord, TenantFolder, TenantRecord, write_lines};
use crate::wire::{FleetLink, SessionScope, TenantWork, WorkBody, renew_limits};

/// How long the queue may take to send events: turns that are given before it does begin unseen.
const LISTENS: Duration = Duration::from_secs(5);
/// The longest id of work.
const MOST_ID: usize = 64;
/// How often it is looked whether the operator has changed the limits of the tenant.
const LOOK: Duration = Duration::from_secs(1);
/// How long a database that is away is waited for, beyond the patience of the store itself.
const STORE_PATIENCE: Duration = Duration::from_mins(2);
const AGAIN: Duration = Duration::from_millis(500);

/// What this server does for the server of a tenant.
struct TenantBroker {
    given: GivenTurns,
    tenant: TenantFolder,
    route: String,
    words: LineSender,
    /// What ends each turn and call, by its id.
    running: Mutex<HashMap<String, CancellationToken>>,
    /// How much work was recorded.
    recorded: AtomicU64,
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
    let broker = Arc::new(TenantBroker { given, tenant, route, words, running: Mutex::default(), recorded: AtomicU64::default() });
    tokio::spawn(Arc::clone(&broker).follow_limits(stop.clone()));
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
            ServerAsk::Give { id, session, agent, label } => self.begin(id.clone(), stop, move |broker, cancel| {
                Box::pin(async move { broker.give(&id, &session, &topic_of_turn(&agent, label.as_deref()), &cancel).await })
            }),
            ServerAsk::Call { id, session, tool, label, is_repeatable } => self.begin(id.clone(), stop, move |broker, cancel| {
                let topic = topic_of_call(&tool, label.as_deref());
                Box::pin(async move { broker.call((&id, &session), topic, is_repeatable, &cancel).await })
            }),
            ServerAsk::Stop { id } => drop(self.running().get(&id).inspect(|cancel| cancel.cancel())),
            ServerAsk::Tell { session, message } => self.given.tell(&session, &message),
            ServerAsk::Ask { number, session, message } => {
                tokio::spawn(async move {
                    let answer = self.given.ask(&session, &message).await;
                    self.words.send(&ServerWord::Answered { number, answer }).await;
                });
            }
            ServerAsk::Held { number } => {
                tokio::spawn(async move {
                    let sessions = self.given.held_sessions().await;
                    self.words.send(&ServerWord::Held { number, sessions }).await;
                });
            }
        }
    }

    /// Gives work away, and says how it ended.
    fn begin<F>(self: Arc<Self>, id: String, stop: &CancellationToken, give: F)
    where
        F: FnOnce(Arc<Self>, CancellationToken) -> BoxFuture<'static, String>,
    {
        let (cancel, stop) = (CancellationToken::new(), stop.clone());
        self.running().insert(id.clone(), cancel.clone());
        let given = give(Arc::clone(&self), cancel);
        tokio::spawn(async move {
            // A turn is not taken back when this server stops: the worker continues it.
            let state = tokio::select! {
                () = stop.cancelled() => return,
                state = given => state,
            };
            self.running().remove(&id);
            self.words.send(&ServerWord::Settled { id, state }).await;
        });
    }

    /// Returns the last state of the turn: a state of work, or why there is none, as the tenant may know it.
    async fn give(&self, id: &str, session: &str, topic: &str, cancel: &CancellationToken) -> String {
        let given = async {
            let (record, own) = self.own_work(id, session)?;
            let work = NewWork {
                topic: topic.to_owned(),
                body: WorkBody::TenantTurn(Box::new(own)).encode()?,
                patience: TURN_PATIENCE,
                holds: self.given.scope.lock_name(session),
                ..self.new_work(id)
            };
            self.submit_current(&work, record).await?;
            Ok(self.given.run(session, &work, cancel).await?)
        };
        self.state_of("a turn", given.await)
    }

    /// The same for a call, which ends with the wait for it. Without a worker for it the server of the tenant makes it.
    async fn call(&self, (id, session): (&str, &str), topic: String, is_repeatable: bool, cancel: &CancellationToken) -> String {
        if !self.given.has_worker(&topic).await.unwrap_or(false) {
            return NO_WORKER.to_owned();
        }
        let given = async {
            let (record, own) = self.own_work(id, session)?;
            let body = WorkBody::TenantCall(Box::new(own)).encode()?;
            let work = NewWork { topic, body, patience: CALL_PATIENCE, repeatable: is_repeatable, ..self.new_work(id) };
            self.submit_current(&work, record).await?;
            Ok(self.given.dispatcher().run(work).await?)
        };
        tokio::select! {
            given = given => self.state_of("a call", given),
            // What was begun is ended by its worker.
            () = cancel.cancelled() => {
                // It may be recorded and given to nobody yet, and then a worker would find it.
                self.given.link.work.cancel(&self.new_work(id).id).await.ok();
                WorkState::Cancelled.as_str().to_owned()
            }
        }
    }

    fn state_of(&self, what: &str, given: Result<WorkRecord, GiveError>) -> String {
        match given {
            Ok(record) => record.state.as_str().to_owned(),
            Err(GiveError(why)) => {
                // It may name what is the operator's own.
                warn(&format!("{what} of the tenant '{}' cannot be given to a worker: {why}", self.tenant.name()));
                WorkState::Unknown.as_str().to_owned()
            }
        }
    }

    /// What a worker is told of it, with the limits of now.
    fn own_work(&self, id: &str, session: &str) -> Result<(TenantRecord, TenantWork), Failure> {
        if id.is_empty() || id.len() > MOST_ID || !id.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '-') {
            return Err(Failure::usage("its id is none"));
        }
        // A tenant that is removed has no record, and gets nothing.
        let (tenant, record) = (self.tenant.name(), self.tenant.record()?.for_workers());
        Ok((record.clone(), TenantWork { tenant, record, session: session.to_owned(), id: id.to_owned() }))
    }

    fn new_work(&self, id: &str) -> NewWork {
        let id = format!("{}{id}", TenantWork::id_prefix(&self.route));
        NewWork { id, repeatable: true, tenant: self.tenant.name(), ..NewWork::default() }
    }

    /// Records work. What the operator has changed since its limits were read is changed in it: a later change finds it recorded.
    async fn submit_current(&self, work: &NewWork, given: TenantRecord) -> Result<(), GiveError> {
        let until = Instant::now() + STORE_PATIENCE;
        loop {
            let submitted = async {
                self.given.link.work.submit(work.clone()).await?;
                self.recorded.fetch_add(1, Ordering::Relaxed);
                match self.tenant.record().map(TenantRecord::for_workers) {
                    Ok(record) if record != given => renew_limits(&self.given.link.work, record).await,
                    _ => Ok(()),
                }
            };
            match submitted.await {
                Err(error) if Instant::now() >= until => return Err(error.into()),
                Err(_) => sleep(AGAIN).await,
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Gives work that waits for a worker the limits that the operator has changed, until it is stopped.
    async fn follow_limits(self: Arc<Self>, stop: CancellationToken) {
        let (mut looks, mut known) = (interval(LOOK), None);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = looks.tick() => {}
            }
            // Before the limits are read: work that is recorded from now on may have others, also if they are these again when it is looked.
            let recorded = self.recorded.load(Ordering::Relaxed);
            // One that cannot be read has no limits that could be given.
            let Ok(record) = self.tenant.record().map(TenantRecord::for_workers) else { continue };
            let current = Some((record, recorded));
            if let Some((record, _)) = current.as_ref().filter(|_| known != current)
                && renew_limits(&self.given.link.work, record.clone()).await.is_ok()
            {
                known = current;
            }
        }
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why work cannot be given, for the operator.
struct GiveError(String);

impl From<Failure> for GiveError {
    fn from(failure: Failure) -> Self {
        Self(failure.message.clone())
    }
}

impl From<FleetError> for GiveError {
    fn from(error: FleetError) -> Self {
        Self(error.to_string())
    }
}

impl From<StoreError> for GiveError {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}
