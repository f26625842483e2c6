//! Everything put together, for a program that wants to call tools and no more.

mod builder;
mod error;
mod ground;
#[cfg(feature = "tools")]
mod provided;

#[cfg(all(feature = "tools", feature = "sqlite"))]
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::{Arguments, DynTool, Erased, Tool, ToolCall, ToolDefinition, ToolResult, ToolSource};
use haft_engine::{Engine, Session, UndoError, UndoneCall};

pub use self::builder::ToolboxBuilder;
pub use self::error::ToolboxError;

/// Tools in one session, with validation, policy, timeouts, history and undo.
///
/// ```
/// # /// Greets somebody by name.
/// # #[haft::tool]
/// # async fn greet(
/// #     /// Whom to greet.
/// #     name: String,
/// # ) -> Result<String, haft::ToolError> {
/// #     Ok(format!("Hello, {name}!"))
/// # }
/// # async fn example() -> Result<(), haft::ToolboxError> {
/// let toolbox = haft::Toolbox::builder().build()?;
/// toolbox.add(Greet)?;
/// assert_eq!(toolbox.call("greet", r#"{"name": "Ann"}"#).await.to_json(), r#"{"status":"success","result":"Hello, Ann!"}"#);
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct Toolbox {
    engine: Engine,
    session: Session,
    calls: AtomicU64,
}

/// The source of tools that the program adds.
pub(crate) fn of_program() -> ToolSource {
    ToolSource::Plugin("program".into())
}

impl Toolbox {
    /// Opens a workspace with the built-in tools; history, pre-images and spills are kept in the state folder, which must lie
    /// elsewhere. Commands run in the sandbox if `haft::start` is the first line of `main`; without it, and without the
    /// feature `exec`, the tools that run commands are left out.
    #[cfg(all(feature = "tools", feature = "sqlite"))]
    pub fn open(workspace: impl AsRef<Path>, state: impl AsRef<Path>) -> Result<Self, ToolboxError> {
        Self::builder().workspace(workspace.as_ref()).state(state.as_ref()).build()
    }

    /// A toolbox whose every part can be chosen.
    pub fn builder() -> ToolboxBuilder {
        ToolboxBuilder::default()
    }

    /// Puts other parts in: a session with another access level or an approver, an engine with hooks.
    pub fn from_parts(engine: Engine, session: Session) -> Self {
        Self { engine, session, calls: AtomicU64::new(1) }
    }

    /// Adds a tool of the program's own.
    pub fn add<T: Tool>(&self, tool: T) -> Result<(), ToolboxError> {
        self.add_dyn(Arc::new(Erased::new(tool)))
    }

    /// Adds a tool that is known only at run time, such as one from [`compat`](crate::compat).
    pub fn add_dyn(&self, tool: Arc<dyn DynTool>) -> Result<(), ToolboxError> {
        Ok(self.engine.registry().register(tool, of_program())?)
    }

    /// Adds a tool in place of those that have one of its names; returns the names of those that are gone.
    pub fn replace<T: Tool>(&self, tool: T) -> Result<Vec<String>, ToolboxError> {
        self.replace_dyn(Arc::new(Erased::new(tool)))
    }

    /// As [`Toolbox::replace`], for a tool that is known only at run time.
    pub fn replace_dyn(&self, tool: Arc<dyn DynTool>) -> Result<Vec<String>, ToolboxError> {
        Ok(self.engine.registry().replace(tool, of_program())?)
    }

    /// The definitions of the tools that the session is offered, for a model.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.engine.offered(&self.session).iter().map(|entry| entry.definition().clone()).collect()
    }

    /// Calls one tool.
    pub async fn call(&self, tool: &str, arguments: impl Into<Arguments>) -> ToolResult {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        self.engine.run(ToolCall::new(format!("call_{number}"), tool, arguments), &self.session).await
    }

    /// Answers all calls of one model response, results in call order.
    pub async fn call_all(&self, calls: Vec<ToolCall>) -> Vec<ToolResult> {
        self.engine.run_all(calls, &self.session).await
    }

    /// Takes back the newest call that changed files and is not undone yet.
    pub async fn undo_last(&self) -> Result<UndoneCall, UndoError> {
        self.engine.undo(None, &**self.session.host(), false).await
    }

    /// The engine, for everything else.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The session that calls are made in.
    pub fn session(&self) -> &Session {
        &self.session
    }
}
