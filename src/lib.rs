//! The tool system for AI agents: everything between "the model asked for a tool" and "the model has its result".
//!
//! An agent with a tool of its own and the built-in ones, in twenty lines (features `agent` and `providers`):
//!
//! ```no_run
//! use haft::{Agent, AgentEvent, ToolError, providers};
//!
//! /// Greets somebody by name.
//! #[haft::tool]
//! async fn greet(
//!     /// Whom to greet.
//!     name: String,
//! ) -> Result<String, ToolError> {
//!     Ok(format!("Hello, {name}!"))
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let model = providers::anthropic("claude-sonnet-4-5")?; // the key is in ANTHROPIC_API_KEY
//!     let agent = Agent::builder().provider(model).tool(Greet).toolbox(|tools| tools.workspace("work").state("state")).build().await?;
//!     let mut turn = agent.ask("Greet Ann, then tell me what is in README.md.");
//!     while let Some(event) = turn.next().await {
//!         match event {
//!             AgentEvent::Text(text) => print!("{text}"),
//!             AgentEvent::ToolStart { tool, .. } => println!("[{tool}]"),
//!             _ => {}
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! | feature | brings |
//! |---|---|
//! | none | the contract, the engine, policies, a store in memory, [`Toolbox`], [`compat`] |
//! | `tools` (default) | the built-in tools on a workspace of this machine |
//! | `sqlite` (default) | history, pre-images and conversations in a database |
//! | `exec` | commands in a sandbox: `start` is the first line of `main` |
//! | `agent` | `Agent`: the loop, with a provider of the program's own |
//! | `providers` | `providers`: models over HTTP, and the forms of their protocols as data |
//! | `mcp` | `mcp`: the Model Context Protocol, both ways |
//! | `json-schema` | every keyword of JSON Schema in parameters |
//! | `pdf` | text of PDF documents |
//!
//! # A tool
//!
//! A tool in ten lines:
//!
//! ```
//! use haft::{ToolContext, ToolDefinition, ToolError};
//!
//! /// Greets somebody by name.
//! #[haft::tool(timeout_secs = 5)]
//! async fn greet(
//!     /// Whom to greet.
//!     name: String,
//!     /// How many times.
//!     #[tool(default = 1)] times: usize,
//!     cx: &ToolContext,
//! ) -> Result<String, ToolError> {
//!     Ok(format!("{}: Hello, {name}! ", cx.call().agent).repeat(times.min(100)))
//! }
//!
//! println!("{}", ToolDefinition::for_tool::<Greet>().name);
//! # assert_eq!(ToolDefinition::for_tool::<Greet>().name, "greet");
//! ```
//!
//! A tool that touches something says so first: its [`Plan`] names what a call will read, write, run or reach, and its
//! [`ToolContext`] reaches exactly that.
//!
//! ```
//! use haft::{Plan, PlanContext, ToolContext, ToolError};
//!
//! /// Counts the bytes of a file.
//! #[haft::tool(section = Files, category = Io, read_only, plan = reads)]
//! async fn count_bytes(
//!     /// Path relative to the workspace.
//!     path: String,
//!     cx: &ToolContext,
//! ) -> Result<String, ToolError> {
//!     Ok(cx.fs().info(&path).await?.size.to_string())
//! }
//!
//! fn reads(params: &CountBytesParams, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
//!     Ok(Plan::nothing().read(cx.locate(&params.path)?))
//! }
//! ```
//!
//! A tool with state is a struct: it has [`#[derive(ToolMeta)]`](derive@ToolMeta) and an `impl` of [`Tool`].
//!
//! A [`Toolbox`] runs them: validation, policy, timeouts, history and undo come with it.
//!
//! ```
//! # /// Greets somebody by name.
//! # #[haft::tool]
//! # async fn greet(
//! #     /// Whom to greet.
//! #     name: String,
//! # ) -> Result<String, haft::ToolError> {
//! #     Ok(format!("Hello, {name}!"))
//! # }
//! # async fn example() -> Result<(), haft::ToolboxError> {
//! let toolbox = haft::Toolbox::builder().build()?;
//! toolbox.add(Greet)?;
//! let result = toolbox.call("greet", r#"{"name": "Ann"}"#).await;
//! assert_eq!(result.to_json(), r#"{"status":"success","result":"Hello, Ann!"}"#);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! [`ToolboxBuilder`] takes an approver, a policy, a store, a clock, an HTTP client, a file system, an event sink and more of the
//! program's own; the folder `examples` has a program for each. [`compat`] takes in tools that were written for other traits, and gives
//! tools of ours to programs that expect those. Tests of a program that embeds this crate use `haft-testkit`: a machine in memory,
//! scripted tools and a scripted model server.
#![warn(missing_docs)]

#[cfg(feature = "agent")]
mod agent;
mod blocking;
#[cfg(feature = "exec")]
mod commands;
mod custom_host;
#[cfg(feature = "providers")]
pub mod providers;
mod toolbox;

#[cfg(feature = "agent")]
pub use agent::{Agent, AgentBuilder, AgentError, AgentEvent, EndReason, Provider, Turn, TurnEnd};
pub use blocking::BlockingToolbox;
#[cfg(feature = "exec")]
pub use commands::start;
pub use custom_host::CustomHost;
pub use haft_compat as compat;
pub use haft_contract::*;
pub use haft_engine::{
    AnswerError, ApprovalBroker, ApprovalNotice, CallLimits, CallbackApprover, CallbackPermissions, CommandHook, CommandHookSpec, Engine,
    EngineBuilder, Event, EventSink, Explanation, FirstOf, Hook, HookCall, HookDecision, LoopLimits, PermissionBroker, PersistDecision,
    RegisterError, Registry, Session, SessionBuilder, ToolEntry, ToolSettings, UndoError, UndoneCall, UndoneSession,
};
pub use haft_macros::{ToolMeta, tool};
#[cfg(feature = "mcp")]
pub use haft_mcp as mcp;
pub use haft_policy::*;
/// What stops a call or a turn; tokio's, here for programs that do not name its crate.
pub use tokio_util::sync::CancellationToken;
pub use toolbox::{Toolbox, ToolboxBuilder, ToolboxError};

/// The loop behind [`Agent`]: its ledger, its events, its budget, and what a provider of the program's own gives and gets.
#[cfg(feature = "agent")]
pub mod agent_loop {
    pub use crate::agent::{AgentRunner, Ledger, LedgerEntry, Meter, Micros, NullLedger, OutputSchema, TurnEvent, TurnWatcher};
    pub use haft_provider::{
        Block, Completion, Delta, Message, Model, ModelReply, ModelTurn, OfferedTool, Protocol, ProviderError, ProviderErrorKind,
        ResultPart, Role, StopReason, Usage,
    };
}

/// The tools that come with Haft.
#[cfg(feature = "tools")]
pub mod builtin {
    /// Pictures of tools, brought into the limits of providers.
    pub use haft_builtin::results::{image_result, image_result_from_file};
    pub use haft_builtin::{all, metas};
}

/// This machine, behind the capabilities.
#[cfg(feature = "tools")]
pub mod host {
    pub use haft_host::{GuardedClient, HttpOptions, LocalFiles, LocalHost, NetworkRules, Resolve, WorkspaceOptions};
    #[cfg(feature = "exec")]
    pub use haft_jobs::{ChangeOptions, Jobs, LocalProcesses, ShellOptions};
    #[cfg(feature = "exec")]
    pub use haft_sandbox as sandbox;
}

/// Where history, pre-images and spills are kept.
pub mod store {
    #[cfg(feature = "tools")]
    pub use haft_store::FileBlobs;
    pub use haft_store::{
        BlobId, BlobWriter, Blobs, CallFilter, CallLog, CallRecord, CallStatus, DatabaseFault, InMemoryBlobs, InMemoryCallLog,
        InMemorySessionStore, NewSession, PreImageRecord, SessionFilter, SessionRecord, SessionStore, StoreError,
    };
    #[cfg(feature = "sqlite")]
    pub use haft_store::{OpenedLog, SqliteCallLog, SqliteSessionStore};
}

/// The Rust examples of the documents, compiled and run like those above.
#[cfg(all(doctest, feature = "agent", feature = "providers"))]
#[doc = include_str!("../docs/ADDING_A_TOOL.md")]
#[doc = include_str!("../docs/EMBEDDING.md")]
#[doc = include_str!("../README.md")]
mod documents {}
