//! Turns and calls that this server gives to workers.

mod feed;
mod given;

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use haft_agent::{TurnEnd, TurnEndRecord, TurnEventRecord};
use haft_contract::{Access, BoxFuture, ToolResult};
use haft_fleet::{FleetMetrics, topic_of_call, topic_of_turn};
use haft_gateway::{RemoteMessage, RemoteTurn, RemoteTurns, ServedSessions, ToolRequest};
use haft_store::{NewWork, WorkRecord, WorkState, new_uuid};
use haft_tui::chat::ChatOptions;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(super) use self::feed::{HeldTurns, TurnAudience, end_lost, follow, show_past};
pub(super) use self::given::GivenTurns;
use super::backend::ServeBackend;
use crate::failure::Failure;
use crate::output::note;
use crate::wire::{self, CallWork, FleetLink, SessionScope, TurnWork, Wire, WorkBody};

/// A turn waits for a worker no longer than this.
pub(super) const TURN_PATIENCE: Duration = Duration::from_hours(1);
/// The same for a call.
pub(super) const CALL_PATIENCE: Duration = Duration::from_mins(5);
/// Gives turns to workers.
pub(super) struct FleetTurns {
    given: GivenTurns,
    backend: Weak<ServeBackend>,
}

/// The outcome of a turn.
#[derive(Deserialize)]
struct TurnOutcome {
    end: TurnEndRecord,
}

/// How a turn ended, as its worker has stored it.
pub(super) fn read_end(outcome: Option<&str>) -> Option<TurnEnd> {
    Some(serde_json::from_str::<TurnOutcome>(outcome?).ok()?.end.into())
}

/// What is to be done for a turn, and the label of workers that can.
pub(super) fn turn_work(backend: &Weak<ServeBackend>, turn: RemoteTurn) -> Result<(TurnWork, Option<String>), Failure> {
    let backend = backend.upgrade().ok_or_else(|| Failure::failed("execution_error", "the server is stopping"))?;
    let options = ChatOptions { agent: Some(turn.agent.clone()), access: turn.access, ..ChatOptions::default() };
    let wire = backend.wire(&options)?;
    let limits = wire.work_limits()?;
    let RemoteTurn { session, agent, text, blocks, model, messages, answers_said, .. } = turn;
    let label = wire.worker_label().map(str::to_owned);
    Ok((TurnWork { session, agent, text, blocks, model, messages, limits, answers_said }, label))
}

/// The outcome of a call.
#[derive(Deserialize)]
struct CallOutcome {
    result: TurnEventRecord,
}

/// The result of a call, as its worker has stored it.
pub(super) fn read_result(outcome: Option<&str>) -> Option<ToolResult> {
    serde_json::from_str::<CallOutcome>(outcome?).ok()?.result.into_result()
}

/// Gives calls of the user to workers.
pub(super) trait GivenCalls: Send + Sync {
    /// Calls a tool on a worker that offers it; `None` if there is none.
    fn call<'a>(&'a self, request: &'a ToolRequest, call_id: &'a str) -> BoxFuture<'a, Result<Option<ToolResult>, Failure>>;
}

/// A tool that may be called on a worker, with the configuration of the agent.
pub(super) struct WorkerTool {
    wire: Arc<Wire>,
    pub(super) name: String,
    pub(super) label: Option<String>,
    /// Whether it may be called again when nobody knows whether it was called.
    pub(super) is_repeatable: bool,
}

impl WorkerTool {
    /// `None` if there is no such tool.
    pub(super) fn find(backend: &ServeBackend, request: &ToolRequest) -> Result<Option<Self>, Failure> {
        let wire = backend.wire_of(request.agent.as_deref())?;
        let Some(entry) = wire.registry.get(&request.tool) else { return Ok(None) };
        let is_repeatable = entry.definition().access == Access::ReadOnly;
        let (name, label) = (entry.name().to_owned(), wire.worker_label().map(str::to_owned));
        Ok(Some(Self { wire, name, label, is_repeatable }))
    }

    /// What a worker has to know to call it.
    pub(super) fn work(&self, request: &ToolRequest, call_id: &str, session: Option<String>) -> Result<WorkBody, Failure> {
        Ok(WorkBody::Call(Box::new(CallWork {
            call_id: call_id.to_owned(),
            tool: self.name.clone(),
            agent: self.wire.settings.agent.clone(),
            arguments: request.arguments.clone().unwrap_or_default(),
            limits: self.wire.work_limits()?,
            session,
        })))
    }
}

impl FleetTurns {
    pub(super) fn new(link: FleetLink, backend: Weak<ServeBackend>) -> Self {
        Self { given: GivenTurns { link, scope: SessionScope::default() }, backend }
    }

    fn turn_work(&self, turn: RemoteTurn) -> Result<NewWork, Failure> {
        let (work, label) = turn_work(&self.backend, turn)?;
        let (topic, holds) = (topic_of_turn(&work.agent, label.as_deref()), self.given.scope.lock_name(&work.session));
        // Another worker continues what one has begun: results of calls are in the history, and the rest is reported as unknown.
        Ok(NewWork {
            id: new_uuid().to_string(),
            topic,
            body: WorkBody::Turn(Box::new(work)).encode()?,
            repeatable: true,
            patience: TURN_PATIENCE,
            holds,
            ..NewWork::default()
        })
    }

    async fn turn(&self, turn: RemoteTurn, cancel: &CancellationToken) -> Result<TurnEnd, String> {
        let session = turn.session.clone();
        let work = self.turn_work(turn).map_err(|failure| failure.message.clone())?;
        let record = self.given.run(&session, &work, cancel).await.map_err(|error| error.to_string())?;
        read_end(record.outcome.as_deref()).ok_or_else(|| unsettled(&record))
    }

    async fn run_call(&self, request: &ToolRequest, call_id: &str) -> Result<Option<ToolResult>, Failure> {
        let Some(backend) = self.backend.upgrade() else { return Ok(None) };
        let Some(tool) = WorkerTool::find(&backend, request)? else { return Ok(None) };
        let topic = topic_of_call(&tool.name, tool.label.as_deref());
        if !self.given.has_worker(&topic).await? {
            return Ok(None);
        }
        let (body, repeatable) = (tool.work(request, call_id, None)?, tool.is_repeatable);
        let work =
            NewWork { id: new_uuid().to_string(), topic, body: body.encode()?, repeatable, patience: CALL_PATIENCE, ..NewWork::default() };
        let record = self.given.dispatcher().run(work).await.map_err(|error| wire::fleet_failure(&error))?;
        let result = read_result(record.outcome.as_deref());
        result.map(Some).ok_or_else(|| Failure::failed("execution_error", unsettled(&record)))
    }
}

impl GivenCalls for FleetTurns {
    fn call<'a>(&'a self, request: &'a ToolRequest, call_id: &'a str) -> BoxFuture<'a, Result<Option<ToolResult>, Failure>> {
        Box::pin(self.run_call(request, call_id))
    }
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
        self.given.tell(session, &message);
    }

    fn ask<'a>(&'a self, session: &'a str, message: RemoteMessage) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move { self.given.ask(session, &message).await })
    }

    fn announce(&self, session: &str) {
        self.given.announce(session);
    }

    fn say<'a>(&'a self, session: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            wire::store_said(&self.given.link.work, session, text).await?;
            self.tell(session, RemoteMessage::Said);
            Ok(())
        })
    }

    fn unheard<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(wire::unheard_texts(&self.given.link.work, session))
    }
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
    let given = GivenTurns { link, scope: SessionScope::default() };
    tokio::spawn(end_lost(given.clone(), sessions.clone(), stop.child_token()));
    tokio::spawn(follow(given, TurnAudience::Own(sessions.clone()), stop.child_token(), None));
    Ok(())
}
