//! The events of a turn, owned: they can be sent anywhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_agent::{Micros, TurnEnd, TurnEvent, TurnWatcher};
use haft_contract::ports::{ProgressSink, Todo, UserMessage};
use haft_contract::{CallInfo, Effect, Progress, ToolError, ToolResult};
use haft_engine::{Event, EventSink};
use haft_provider::Usage;
use serde::{Serialize, Serializer};
use tokio::sync::mpsc::UnboundedSender;

/// An event of a turn. As JSON it has the form of `haft run --json`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A turn begins.
    Start {
        /// The session's id.
        session: String,
        /// The model, as provider/model.
        model: String,
    },
    /// Text of the model.
    Text(String),
    /// Thinking of the model.
    Thinking(String),
    /// A call is on its way to its tool.
    ToolStart {
        /// The provider's id.
        call_id: String,
        /// The tool, as the model named it.
        tool: String,
        /// The arguments, as they came.
        arguments: String,
    },
    /// Progress of a call.
    ToolUpdate {
        /// The provider's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// The message.
        message: String,
    },
    /// A call has its result.
    ToolEnd(Arc<ToolResult>),
    /// The user is asked to approve a call; later, the answer.
    Approval {
        /// The provider's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// The effects of the call.
        effects: Vec<Effect>,
        /// Why it is asked.
        reason: String,
        /// The answer; absent while it is open.
        answer: Option<String>,
    },
    /// Tokens of an answer, and its cost where the price is known.
    Usage(Usage, Option<Micros>),
    /// A message to the user.
    Notice(String),
    /// The to-do list has changed.
    Todos(Vec<Todo>),
    /// The model has sent the user a message.
    Message(UserMessage),
    /// The turn is over. Always the last one.
    End(TurnEnd),
}

impl AgentEvent {
    fn from_event(event: &TurnEvent<'_>) -> Option<Self> {
        Some(match event {
            TurnEvent::Start { session, model } => Self::Start { session: (*session).into(), model: (*model).into() },
            TurnEvent::Text(text) => Self::Text((*text).into()),
            TurnEvent::Thinking(text) => Self::Thinking((*text).into()),
            TurnEvent::ToolStart { call_id, tool, arguments } => {
                Self::ToolStart { call_id: (*call_id).into(), tool: (*tool).into(), arguments: (*arguments).into() }
            }
            TurnEvent::ToolUpdate { call_id, tool, message } => {
                Self::ToolUpdate { call_id: (*call_id).into(), tool: (*tool).into(), message: (*message).into() }
            }
            TurnEvent::ToolEnd(result) => Self::ToolEnd(Arc::new(copy(result))),
            TurnEvent::Approval { call_id, tool, effects, reason, answer } => Self::Approval {
                call_id: (*call_id).into(),
                tool: (*tool).into(),
                effects: effects.to_vec(),
                reason: (*reason).into(),
                answer: answer.map(str::to_owned),
            },
            TurnEvent::Usage(usage, cost) => Self::Usage(*usage, *cost),
            TurnEvent::Notice(text) => Self::Notice((*text).into()),
            TurnEvent::Todos(todos) => Self::Todos(todos.to_vec()),
            TurnEvent::Message(message) => Self::Message((*message).clone()),
            TurnEvent::End(end) => Self::End((*end).clone()),
            _ => return None,
        })
    }

    fn borrowed(&self) -> TurnEvent<'_> {
        match self {
            Self::Start { session, model } => TurnEvent::Start { session, model },
            Self::Text(text) => TurnEvent::Text(text),
            Self::Thinking(text) => TurnEvent::Thinking(text),
            Self::ToolStart { call_id, tool, arguments } => TurnEvent::ToolStart { call_id, tool, arguments },
            Self::ToolUpdate { call_id, tool, message } => TurnEvent::ToolUpdate { call_id, tool, message },
            Self::ToolEnd(result) => TurnEvent::ToolEnd(result),
            Self::Approval { call_id, tool, effects, reason, answer } => {
                TurnEvent::Approval { call_id, tool, effects, reason, answer: answer.as_deref() }
            }
            Self::Usage(usage, cost) => TurnEvent::Usage(*usage, *cost),
            Self::Notice(text) => TurnEvent::Notice(text),
            Self::Todos(todos) => TurnEvent::Todos(todos),
            Self::Message(message) => TurnEvent::Message(message),
            Self::End(end) => TurnEvent::End(end),
        }
    }
}

impl Serialize for AgentEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.borrowed().serialize(serializer)
    }
}

/// A result as a listener may keep it; the source of an error stays with the engine.
fn copy(result: &ToolResult) -> ToolResult {
    let outcome = match &result.outcome {
        Ok(output) => Ok(output.clone()),
        Err(error) => {
            let copied = ToolError::new(error.kind(), error.message());
            Err(match error.details() {
                Some(details) => copied.with_details(details.clone()),
                None => copied,
            })
        }
    };
    ToolResult { call_id: result.call_id.clone(), tool: result.tool.clone(), outcome, elapsed: result.elapsed, stored: None }
}

/// Passes the events of a conversation to the turn that runs, and to a watcher of the program.
#[derive(Default)]
pub(super) struct AgentEventStream {
    turn: Mutex<Option<UnboundedSender<AgentEvent>>>,
    watcher: Option<Arc<dyn TurnWatcher>>,
}

impl AgentEventStream {
    pub(super) fn new(watcher: Option<Arc<dyn TurnWatcher>>) -> Self {
        Self { turn: Mutex::default(), watcher }
    }

    /// Events go to this turn until the result is dropped.
    pub(super) fn send_to(&self, turn: UnboundedSender<AgentEvent>) -> Receiving<'_> {
        *self.turn() = Some(turn);
        Receiving(self)
    }

    fn turn(&self) -> MutexGuard<'_, Option<UnboundedSender<AgentEvent>>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn that gets the events.
pub(super) struct Receiving<'a>(&'a AgentEventStream);

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        *self.0.turn() = None;
    }
}

impl TurnWatcher for AgentEventStream {
    fn event(&self, event: &TurnEvent<'_>) {
        self.watcher.iter().for_each(|watcher| watcher.event(event));
        if let (Some(turn), Some(event)) = (&*self.turn(), AgentEvent::from_event(event)) {
            // A turn that nobody listens to continues.
            turn.send(event).ok();
        }
    }
}

impl ProgressSink for AgentEventStream {
    fn progress(&self, call: &CallInfo, progress: Progress) {
        TurnWatcher::event(self, &TurnEvent::ToolUpdate { call_id: &call.id, tool: &call.tool, message: &progress.message });
    }
}

/// Events of the engine, as events of the turn.
pub(super) struct AskedQuestions(pub(super) Arc<AgentEventStream>);

impl EventSink for AskedQuestions {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Asked { request } => {
                let (call_id, tool) = (request.call.id.as_str(), request.call.tool.as_str());
                let (effects, reason) = (request.effects.as_slice(), request.reason.as_str());
                self.0.event(&TurnEvent::Approval { call_id, tool, effects, reason, answer: None });
            }
            Event::NotRecorded { why, .. } => self.0.event(&TurnEvent::Notice(&format!("this call is not in the history: {why}"))),
            _ => {}
        }
    }
}
