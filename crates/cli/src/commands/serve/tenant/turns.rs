//! Turns and calls of this tenant on workers. What is to be done and what came of it lie in the schema of the tenant; the server in front
//! gives their ids to workers, and says what workers tell.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use haft_agent::TurnEnd;
use haft_contract::{BoxFuture, ToolResult};
use haft_gateway::{RemoteMessage, RemoteTurn, RemoteTurns, ServedSessions, ToolRequest};
use haft_store::{PostgresWork, StateStore, WorkState, new_uuid};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::OwnSeat;
use crate::commands::serve::backend::ServeBackend;
use crate::commands::serve::workers::{GivenCalls, HeldTurns, WorkerTool, end_lost, read_end, read_result, show_past, turn_work};
use crate::failure::Failure;
use crate::tenants::{LineSender, NO_WORKER, ServerAsk, ServerWord, own_lines};
use crate::wire::{self, WorkBody};

/// How long the server in front may take to answer a question.
const ANSWER: Duration = Duration::from_secs(10);

/// Gives turns to the server in front.
pub(in crate::commands::serve) struct TenantTurns {
    work: PostgresWork,
    backend: Weak<ServeBackend>,
    front: LineSender,
    /// What waits for the state of a turn or a call, by its id.
    turns: Mutex<HashMap<String, oneshot::Sender<String>>>,
    /// What waits for an answer, by the number of its question.
    questions: Mutex<HashMap<u64, oneshot::Sender<Option<Vec<String>>>>>,
    /// The same, where a worker answers.
    asks: Mutex<HashMap<u64, oneshot::Sender<Option<Value>>>>,
    asked: AtomicU64,
}

/// What the server in front says, and who acts on it.
pub(in crate::commands::serve) struct FrontWords {
    turns: Arc<TenantTurns>,
    words: UnboundedReceiver<String>,
}

/// Gives turns away from now on, if the server in front has workers.
pub(in crate::commands::serve) fn use_workers(backend: &Arc<ServeBackend>, seat: &mut OwnSeat) -> Option<FrontWords> {
    let words = seat.words.take()?;
    let StateStore::Postgres(log) = &*backend.served.store else { return None };
    let turns = Arc::new(TenantTurns {
        work: log.work(),
        backend: Arc::downgrade(backend),
        front: own_lines(),
        turns: Mutex::default(),
        questions: Mutex::default(),
        asks: Mutex::default(),
        asked: AtomicU64::default(),
    });
    backend.run_turns_with(Arc::clone(&turns) as _);
    if seat.gives_calls {
        backend.make_calls_with(Arc::clone(&turns) as _);
    }
    Some(FrontWords { turns, words })
}

/// Shows what the server in front says, until the server ends.
pub(in crate::commands::serve) fn follow(words: FrontWords, sessions: &ServedSessions, stop: &CancellationToken) {
    let FrontWords { turns, mut words } = words;
    tokio::spawn(end_lost(AskedTurns(Arc::clone(&turns)), sessions.clone(), stop.child_token()));
    let (sessions, stop) = (sessions.clone(), stop.child_token());
    tokio::spawn(async move {
        loop {
            let word = tokio::select! {
                () = stop.cancelled() => return,
                word = words.recv() => word,
            };
            let Some(word) = word else { return };
            // One of another version changes nothing.
            let Ok(word) = serde_json::from_str(&word) else { continue };
            turns.hear(word, &sessions).await;
        }
    });
}

impl TenantTurns {
    async fn hear(&self, word: ServerWord, sessions: &ServedSessions) {
        match word {
            ServerWord::Settled { id, state } => drop(lock(&self.turns).remove(&id).map(|turn| turn.send(state))),
            ServerWord::Held { number, sessions } => drop(lock(&self.questions).remove(&number).map(|question| question.send(sessions))),
            ServerWord::Answered { number, answer } => drop(lock(&self.asks).remove(&number).map(|ask| ask.send(answer))),
            ServerWord::Events { session, events } => {
                for event in events {
                    sessions.mirror_event(&session, event).await;
                }
            }
            ServerWord::CatchUp { turns } => show_past(sessions, turns).await,
        }
    }

    async fn turn(&self, turn: RemoteTurn, cancel: &CancellationToken) -> Result<TurnEnd, String> {
        let (work, label) = turn_work(&self.backend, turn).map_err(|failure| failure.message.clone())?;
        let (id, session, agent) = (new_uuid().to_string(), work.session.clone(), work.agent.clone());
        let body = WorkBody::Turn(Box::new(work)).encode().map_err(|failure| failure.message.clone())?;
        self.work.deposit(&id, &body).await.map_err(|error| error.to_string())?;
        let (settled, state) = oneshot::channel();
        lock(&self.turns).insert(id.clone(), settled);
        self.front.send(&ServerAsk::Give { id: id.clone(), session, agent, label }).await;
        let stopping = async {
            cancel.cancelled().await;
            self.front.send(&ServerAsk::Stop { id: id.clone() }).await;
            std::future::pending::<()>().await;
        };
        let state = tokio::select! {
            state = state => state.unwrap_or_default(),
            () = stopping => String::new(),
        };
        let outcome = self.work.deposit_outcome(&id).await.map_err(|error| error.to_string())?;
        read_end(outcome.as_deref()).ok_or_else(|| unsettled(&state))
    }
}

/// A call that nobody waits for any more is not begun, or ended.
struct CallGuard<'a> {
    turns: &'a TenantTurns,
    id: String,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if lock(&self.turns.turns).remove(&self.id).is_some() {
            self.turns.front.send_later(ServerAsk::Stop { id: std::mem::take(&mut self.id) });
        }
    }
}

impl TenantTurns {
    async fn run_call(&self, request: &ToolRequest, call_id: &str) -> Result<Option<ToolResult>, Failure> {
        let Some(backend) = self.backend.upgrade() else { return Ok(None) };
        let Some(tool) = WorkerTool::find(&backend, request)? else { return Ok(None) };
        let (id, session) = (new_uuid().to_string(), new_uuid().to_string());
        self.work.deposit(&id, &tool.work(request, call_id, Some(session.clone()))?.encode()?).await?;
        let (settled, state) = oneshot::channel();
        lock(&self.turns).insert(id.clone(), settled);
        let guard = CallGuard { turns: self, id: id.clone() };
        let WorkerTool { name: tool, label, is_repeatable, .. } = tool;
        self.front.send(&ServerAsk::Call { id: id.clone(), session, tool, label, is_repeatable }).await;
        let state = state.await.unwrap_or_default();
        drop(guard);
        if state == NO_WORKER {
            // What stays of it says nothing that the history does not say, and goes after a week.
            self.work.remove_deposit(&id).await.ok();
            return Ok(None);
        }
        let result = read_result(self.work.deposit_outcome(&id).await?.as_deref());
        result.map(Some).ok_or_else(|| Failure::failed("execution_error", unsettled(&state)))
    }
}

impl GivenCalls for TenantTurns {
    fn call<'a>(&'a self, request: &'a ToolRequest, call_id: &'a str) -> BoxFuture<'a, Result<Option<ToolResult>, Failure>> {
        Box::pin(self.run_call(request, call_id))
    }
}

/// Why work has no outcome. Which worker it was is for the operator.
fn unsettled(state: &str) -> String {
    match state.parse() {
        Ok(WorkState::Expired) => "No worker took it in time. Try again, or tell the operator.".to_owned(),
        Ok(WorkState::Cancelled) => "It was cancelled before a worker began it.".to_owned(),
        _ => "It ended without an outcome. Look at what it has done before you try again, or tell the operator.".to_owned(),
    }
}

impl RemoteTurns for TenantTurns {
    fn run<'a>(&'a self, turn: RemoteTurn, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<TurnEnd, String>> {
        Box::pin(self.turn(turn, cancel))
    }

    fn tell(&self, session: &str, message: RemoteMessage) {
        self.front.send_later(ServerAsk::Tell { session: session.to_owned(), message });
    }

    fn ask<'a>(&'a self, session: &'a str, message: RemoteMessage) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let (number, (answer, answered)) = (self.asked.fetch_add(1, Ordering::Relaxed), oneshot::channel());
            lock(&self.asks).insert(number, answer);
            // The server in front says when a worker does not answer, so nothing stays.
            self.front.send(&ServerAsk::Ask { number, session: session.to_owned(), message }).await;
            answered.await.ok()?
        })
    }

    /// One server has the pages of a tenant.
    fn announce(&self, _: &str) {}

    fn say<'a>(&'a self, session: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            wire::store_said(&self.work, session, text).await?;
            self.tell(session, RemoteMessage::Said);
            Ok(())
        })
    }

    fn unheard<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(wire::unheard_texts(&self.work, session))
    }
}

/// Asks the server in front.
struct AskedTurns(Arc<TenantTurns>);

impl HeldTurns for AskedTurns {
    fn list_held(&self) -> BoxFuture<'_, Option<Vec<String>>> {
        Box::pin(async move {
            let (number, (answer, answered)) = (self.0.asked.fetch_add(1, Ordering::Relaxed), oneshot::channel());
            lock(&self.0.questions).insert(number, answer);
            self.0.front.send(&ServerAsk::Held { number }).await;
            let held = tokio::time::timeout(ANSWER, answered).await;
            lock(&self.0.questions).remove(&number);
            held.ok()?.ok()?
        })
    }
}

// Entries come and go whole, so a map is consistent after a panic elsewhere.
fn lock<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
