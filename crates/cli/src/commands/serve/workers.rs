//! Turns and calls that this server gives to workers, and what workers tell of them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Weak;
use std::time::{Duration, Instant};

use haft_agent::{TurnEnd, TurnEndRecord, TurnEventRecord};
use haft_contract::{Access, BoxFuture, ToolResult};
use haft_fleet::{Dispatcher, FleetError, FleetMetrics, subject_of_session, topic_of_call, topic_of_turn};
use haft_gateway::{RemoteEvent, RemoteMessage, RemoteTurn, RemoteTurns, ServedSessions, ToolRequest};
use haft_store::{NewWork, WorkRecord, WorkState, new_uuid};
use haft_tui::chat::ChatOptions;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::backend::ServeBackend;
use crate::failure::Failure;
use crate::output::{note, warn};
use crate::wire::{self, CallWork, FleetLink, TurnWork, WorkBody};

/// A turn waits for a worker no longer than this.
const TURN_PATIENCE: Duration = Duration::from_hours(1);
const CALL_PATIENCE: Duration = Duration::from_mins(5);
/// After a failure of the queue or the database.
const AGAIN: Duration = Duration::from_millis(500);
/// A database that is away for longer is given up, beyond the patience of the store itself.
const STORE_PATIENCE: Duration = Duration::from_mins(2);
/// How often it is looked for turns that nobody runs any more.
const LOOK: Duration = Duration::from_secs(5);
/// Before the id of a session that a turn needs for itself alone.
const SESSION: &str = "session ";
/// A worker that begins just now, or follows one that was lost, did not hear that the user wants the turn to end.
const STOP_AGAIN: Duration = Duration::from_secs(1);

/// Gives turns to workers.
pub(super) struct FleetTurns {
    pub(super) link: FleetLink,
    pub(super) backend: Weak<ServeBackend>,
}

/// The outcome of a turn.
#[derive(Deserialize)]
struct TurnOutcome {
    end: TurnEndRecord,
}

/// The outcome of a call.
#[derive(Deserialize)]
struct CallOutcome {
    result: TurnEventRecord,
}

impl FleetTurns {
    fn dispatcher(&self) -> Dispatcher {
        Dispatcher::new(self.link.queue.clone(), self.link.work.clone())
    }

    fn turn_work(&self, turn: RemoteTurn) -> Result<NewWork, Failure> {
        let backend = self.backend.upgrade().ok_or_else(|| Failure::failed("execution_error", "the server is stopping"))?;
        let options = ChatOptions { agent: Some(turn.agent.clone()), access: turn.access, ..ChatOptions::default() };
        let wire = backend.wire(&options)?;
        let limits = wire.work_limits()?;
        let RemoteTurn { session, agent, text, blocks, model, messages, .. } = turn;
        let (topic, holds) = (topic_of_turn(&agent, wire.worker_label()), held_by(&session));
        let body = WorkBody::Turn(Box::new(TurnWork { session, agent, text, blocks, model, messages, limits }));
        // Another worker continues what one has begun: results of calls are in the history, and the rest is reported as unknown.
        Ok(NewWork {
            id: new_uuid().to_string(),
            topic,
            body: body.encode()?,
            repeatable: true,
            patience: TURN_PATIENCE,
            holds,
            ..NewWork::default()
        })
    }

    async fn turn(&self, turn: RemoteTurn, cancel: &CancellationToken) -> Result<TurnEnd, String> {
        let session = turn.session.clone();
        let work = self.turn_work(turn).map_err(|failure| failure.message.clone())?;
        let record = tokio::select! {
            settled = self.settled(&work) => settled.map_err(|error| error.to_string())?,
            never = self.stop_turn(&session, &work.id, cancel) => match never {},
        };
        let outcome = record.outcome.as_deref().and_then(|outcome| serde_json::from_str::<TurnOutcome>(outcome).ok());
        if let Some(outcome) = outcome {
            return Ok(outcome.end.into());
        }
        // No worker tells the pages of other servers that it is over.
        let over = json!({ "session": session, "events": [RemoteEvent::Over] }).to_string().into_bytes();
        self.link.queue.publish_event(&subject_of_session(&session), over).await.ok();
        Err(unsettled(&record))
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
                Ok(Some(record)) if record.state == WorkState::Queued => drop(self.link.work.cancel(id).await),
                // It is being recorded.
                Ok(None) => pause /= 20,
                _ => self.tell(session, RemoteMessage::Cancel),
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Calls a tool on a worker that offers it; `None` if there is none.
    pub(super) async fn call(&self, request: &ToolRequest, call_id: &str) -> Result<Option<ToolResult>, Failure> {
        let Some(backend) = self.backend.upgrade() else { return Ok(None) };
        let wire = backend.wire_of(request.agent.as_deref())?;
        let Some(entry) = wire.registry.get(&request.tool) else { return Ok(None) };
        let topic = topic_of_call(entry.name(), wire.worker_label());
        if !self.link.work.workers().await?.iter().any(|worker| worker.topics.contains(&topic)) {
            return Ok(None);
        }
        let repeatable = entry.definition().access == Access::ReadOnly;
        let body = WorkBody::Call(Box::new(CallWork {
            call_id: call_id.to_owned(),
            tool: entry.name().to_owned(),
            agent: wire.settings.agent.clone(),
            arguments: request.arguments.clone().unwrap_or_default(),
            limits: wire.work_limits()?,
        }));
        let work =
            NewWork { id: new_uuid().to_string(), topic, body: body.encode()?, repeatable, patience: CALL_PATIENCE, ..NewWork::default() };
        let record = self.dispatcher().run(work).await.map_err(|error| wire::fleet_failure(&error))?;
        let outcome = record.outcome.as_deref().and_then(|outcome| serde_json::from_str::<CallOutcome>(outcome).ok());
        let result = outcome.and_then(|outcome| outcome.result.into_result());
        result.map(Some).ok_or_else(|| Failure::failed("execution_error", unsettled(&record)))
    }
}

/// What a turn needs for itself alone.
fn held_by(session: &str) -> String {
    format!("{SESSION}{session}")
}

/// Why work has no outcome.
fn unsettled(record: &WorkRecord) -> String {
    let last = record.story.last().map(|line| format!(": {line}")).unwrap_or_default();
    match record.state {
        WorkState::Expired => "No worker took it in time. `haft fleet status` shows the workers and what they take.".to_owned(),
        WorkState::Cancelled => "It was cancelled before a worker began it.".to_owned(),
        state => format!("The work {} ended without an outcome ({}{last}).", record.id, state.as_str()),
    }
}

impl RemoteTurns for FleetTurns {
    fn run<'a>(&'a self, turn: RemoteTurn, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<TurnEnd, String>> {
        Box::pin(self.turn(turn, cancel))
    }

    fn tell(&self, session: &str, message: RemoteMessage) {
        let (queue, session) = (self.link.queue.clone(), session.to_owned());
        let Ok(body) = serde_json::to_vec(&message) else { return };
        tokio::spawn(async move {
            if let Err(error) = queue.tell(&session, body).await {
                warn(&format!("a worker was not told: {error}"));
            }
        });
    }
}

/// What a worker publishes.
#[derive(Deserialize)]
struct SessionEvents {
    session: String,
    events: Vec<RemoteEvent>,
}

/// Says that workers have the turns, and shows what they tell.
pub(super) async fn begin(
    link: FleetLink,
    metrics: Option<SocketAddr>,
    sessions: &ServedSessions,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    wire::serve_metrics(&FleetMetrics::new(link.work.clone()), metrics, stop).await?;
    note(&format!("Workers of the queue {} run the turns of this server.", link.queue.name()));
    tokio::spawn(end_lost(link.clone(), sessions.clone(), stop.child_token()));
    tokio::spawn(follow(link, sessions.clone(), stop.child_token()));
    Ok(())
}

/// Shows what workers tell, with what they told of turns that run already; after a break it continues with the next number.
async fn follow(link: FleetLink, sessions: ServedSessions, stop: CancellationToken) {
    let mut last = None;
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => return,
            () = follow_once(&link, &sessions, &mut last) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn follow_once(link: &FleetLink, sessions: &ServedSessions, last: &mut Option<u64>) {
    let Ok(mut events) = link.queue.events(&subject_of_session(">"), *last).await else { return };
    if last.is_none() || events.has_missed {
        catch_up(link, sessions, events.last()).await;
        *last = Some(events.last());
    }
    while let Ok(event) = events.next().await {
        *last = Some(event.sequence);
        // Of another version: what cannot be read is not shown.
        let Ok(SessionEvents { session, events }) = serde_json::from_slice(&event.body) else { continue };
        for event in events {
            sessions.mirror_event(&session, event).await;
        }
    }
}

/// Shows the turns that run when this server starts, or of which it missed something, as far as their events are kept.
async fn catch_up(link: &FleetLink, sessions: &ServedSessions, until: u64) {
    for session in sessions.mirrored() {
        sessions.mirror_event(&session, RemoteEvent::Over).await;
    }
    let (held, own) = (link.work.list_exclusive().await.unwrap_or_default(), sessions.running());
    for session in held.iter().filter_map(|held| held.strip_prefix(SESSION)).filter(|session| own.iter().all(|own| own != session)) {
        let Ok(past) = link.queue.past_events(&subject_of_session(session), until).await else { return };
        let told = past.iter().filter_map(|event| serde_json::from_slice::<SessionEvents>(&event.body).ok());
        let told: Vec<RemoteEvent> = told.flat_map(|told| told.events).collect();
        let earlier_turns = told.iter().rposition(|event| *event == RemoteEvent::Over).map_or(0, |over| over + 1);
        for event in told.into_iter().skip(earlier_turns) {
            sessions.mirror_event(session, event).await;
        }
    }
}

/// Ends what is shown of turns that nobody runs any more, and of which nobody says so: their server and their worker were lost.
async fn end_lost(link: FleetLink, sessions: ServedSessions, stop: CancellationToken) {
    let mut absent = Vec::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let mirrored = sessions.mirrored();
        if mirrored.is_empty() {
            absent.clear();
            continue;
        }
        let Ok(held) = link.work.list_exclusive().await else { continue };
        let gone: Vec<String> = mirrored.into_iter().filter(|session| !held.contains(&held_by(session))).collect();
        // Its last events may be on their way.
        for session in gone.iter().filter(|session| absent.contains(*session)) {
            sessions.mirror_event(session, RemoteEvent::Over).await;
        }
        absent = gone;
    }
}
