//! A conversation with a model that uses tools, for a program that embeds it.

mod builder;
mod event;

use std::sync::Arc;

use haft_agent::{Runner, Steering};
use haft_engine::{Engine, Session};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::builder::{AgentBuilder, AgentError};
pub use self::event::AgentEvent;
use self::event::AgentEventStream;
pub use haft_agent::{
    EndReason, Ledger, LedgerEntry, Meter, Micros, NullLedger, OutputSchema, Provider, Runner as AgentRunner, TurnEnd, TurnEvent,
    TurnWatcher,
};

/// A conversation with a model, which uses tools until it is done. Clones share the conversation.
///
/// ```
/// # use haft_testkit::{ModelServer, Round};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = ModelServer::start(vec![
/// #     Round::call("1", "greet", serde_json::json!({"name": "Ann"})), Round::Text("Done.".into())
/// # ])?;
/// # let address = server.url();
/// use haft::providers::{self, Protocol};
///
/// /// Greets somebody by name.
/// #[haft::tool]
/// async fn greet(
///     /// Whom to greet.
///     name: String,
/// ) -> Result<String, haft::ToolError> {
///     Ok(format!("Hello, {name}!"))
/// }
///
/// let model = providers::at(Protocol::OpenAi, address, "m1");
/// let agent = haft::Agent::builder().provider(model).tool(Greet).system("You are brief.").build().await?;
/// let mut turn = agent.ask("Greet Ann.");
/// while let Some(event) = turn.next().await {
///     if let haft::AgentEvent::Text(text) = event {
///         print!("{text}");
///     }
/// }
/// assert_eq!(turn.end().await.text, "Done.");
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct Agent {
    runner: Arc<Mutex<Runner>>,
    events: Arc<AgentEventStream>,
    steering: Steering,
    engine: Engine,
    session: Session,
}

haft_contract::opaque_debug!(Agent: session = session);

impl Agent {
    /// An agent whose every part can be chosen.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    fn new(runner: Runner, events: Arc<AgentEventStream>) -> Self {
        let (steering, engine, session) = (runner.steering.clone(), runner.engine.clone(), runner.session.clone());
        Self { runner: Arc::new(Mutex::new(runner)), events, steering, engine, session }
    }

    /// Asks the model; it answers, calling tools, until it is done. A second question waits for the end of the first. Must be called
    /// in a tokio runtime. Dropping the turn stops it.
    pub fn ask(&self, text: impl Into<String>) -> Turn {
        self.send(haft_provider::Message::user(text))
    }

    /// As [`Agent::ask`], with a message that may have images.
    pub fn send(&self, message: haft_provider::Message) -> Turn {
        let (sender, events) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let (runner, stream, token) = (Arc::clone(&self.runner), Arc::clone(&self.events), cancel.clone());
        let running = tokio::spawn(async move {
            let mut runner = runner.lock_owned().await;
            let _receiving = stream.send_to(sender);
            runner.turn(message, &token).await
        });
        Turn { events, running: Some(running), _stop: cancel.clone().drop_guard(), cancel }
    }

    /// Asks, and waits for the last answer.
    pub async fn answer(&self, text: impl Into<String>) -> TurnEnd {
        self.ask(text).end().await
    }

    /// A message for the running turn: the model gets it with the next results.
    pub fn steer(&self, text: impl Into<String>) {
        self.steering.say(text);
    }

    /// Adds a tool of the program's own.
    pub fn add<T: haft_contract::Tool>(&self, tool: T) -> Result<(), crate::ToolboxError> {
        let tool = Arc::new(haft_contract::Erased::new(tool));
        Ok(self.engine.registry().register(tool, crate::toolbox::of_program())?)
    }

    /// The engine that answers calls.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The session that calls are made in.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The conversation so far. Waits for the end of a running turn.
    pub async fn messages(&self) -> Vec<haft_provider::Message> {
        self.runner.lock().await.messages.clone()
    }

    /// The whole loop, for everything else. Waits for the end of a running turn.
    pub async fn with_runner<T>(&self, change: impl FnOnce(&mut Runner) -> T) -> T {
        change(&mut *self.runner.lock().await)
    }
}

/// A running turn. Dropped, it is stopped: every call gets its result, and the conversation stays well formed.
pub struct Turn {
    events: mpsc::UnboundedReceiver<AgentEvent>,
    running: Option<JoinHandle<TurnEnd>>,
    cancel: CancellationToken,
    _stop: DropGuard,
}

haft_contract::opaque_debug!(Turn);

impl Turn {
    /// The next event; `None` after the end.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        self.events.recv().await
    }

    /// Stops the turn; its end follows.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for the end.
    pub async fn end(mut self) -> TurnEnd {
        self.events.close();
        let Some(running) = self.running.take() else { return TurnEnd::new(EndReason::Cancelled) };
        running.await.unwrap_or_else(|error| {
            let mut end = TurnEnd::new(EndReason::Failed);
            end.error = Some(format!("The turn stopped in the middle: {error}"));
            end
        })
    }
}
