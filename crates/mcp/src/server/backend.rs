//! What a program gives the server: tools, and an agent for each client.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::ports::{ApprovalRequest, Approver, ProgressSink, SmallModel, UserMessages, UserQuestions};
use haft_contract::{BoxFuture, Dialect};
use haft_engine::{Engine, Session, ToolEntry};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::prompts::PromptSource;
use super::resources::ResourceSource;

/// Gives the server its tools, and builds the agent of each client.
pub trait ToolBackend: Send + Sync + 'static {
    /// The tools that every client is offered.
    fn tools(&self) -> Vec<Arc<ToolEntry>>;
    /// The names and parameters that tools have for clients.
    fn dialect(&self) -> Dialect;
    /// Reports a new version whenever the tools change.
    fn changes(&self) -> watch::Receiver<u64>;
    /// Builds the agent of a client. The error says why that is not possible, and what to do.
    fn open(&self, client: ClientPorts) -> BoxFuture<'_, Result<ClientAgent, String>>;
    /// What the user of a client is asked before a call, in full.
    fn describe(&self, request: &ApprovalRequest) -> String;
}

/// What an agent reaches of its client.
#[non_exhaustive]
pub struct ClientPorts {
    /// Asks the user of the client; `None` where the client cannot.
    pub approver: Option<Arc<dyn Approver>>,
    /// Asks the user of the client what tools want to know; `None` where the client cannot.
    pub questions: Option<Arc<dyn UserQuestions>>,
    /// Shows progress.
    pub progress: Arc<dyn ProgressSink>,
    /// Shows messages of tools.
    pub messages: Arc<dyn UserMessages>,
    /// The client's model, where it lends it.
    pub model: Option<Arc<dyn SmallModel>>,
    /// The folders that the client works in; `None` where it did not say.
    pub roots: Option<Vec<PathBuf>>,
    /// Ends every call of the agent.
    pub cancel: CancellationToken,
}

haft_contract::opaque_debug!(ClientPorts);

/// The agent of a client.
#[non_exhaustive]
pub struct ClientAgent {
    /// What answers its calls.
    pub engine: Engine,
    /// Its session.
    pub session: Session,
    /// The resources that the client may read.
    pub resources: Vec<Arc<dyn ResourceSource>>,
    /// The prompts that the client may offer its user.
    pub prompts: Vec<Arc<dyn PromptSource>>,
    /// Cleans up when it is dropped, with the agent.
    guard: Box<dyn Any + Send + Sync>,
}

haft_contract::opaque_debug!(ClientAgent: session = session);

impl ClientAgent {
    /// An agent without resources and prompts.
    pub fn new(engine: Engine, session: Session) -> Self {
        Self { engine, session, resources: Vec::new(), prompts: Vec::new(), guard: Box::new(()) }
    }
    /// Adds resources.
    pub fn with_resources(mut self, source: Arc<dyn ResourceSource>) -> Self {
        self.resources.push(source);
        self
    }
    /// Adds prompts.
    pub fn with_prompts(mut self, source: Arc<dyn PromptSource>) -> Self {
        self.prompts.push(source);
        self
    }
    /// Adds what is dropped when the client has gone.
    pub fn with_guard(mut self, guard: impl Any + Send + Sync) -> Self {
        self.guard = Box::new((self.guard, guard));
        self
    }
}
