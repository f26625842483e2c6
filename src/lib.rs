//! The tool system for AI agents: everything between "the model asked for a tool" and "the model has its result".
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
//! println!("{}", ToolDefinition::of::<Greet>().name);
//! # assert_eq!(ToolDefinition::of::<Greet>().name, "greet");
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
//! # let folder = tempfile::tempdir().unwrap();
//! # let (workspace, state) = (folder.path().join("work"), folder.path().join("state"));
//! # std::fs::create_dir(&workspace).unwrap();
//! let toolbox = haft::Toolbox::open(&workspace, &state)?;
//! toolbox.add(Greet)?;
//! let result = toolbox.call("greet", r#"{"name": "Ann"}"#).await;
//! assert_eq!(result.to_json(), r#"{"status":"success","result":"Hello, Ann!"}"#);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! For anything beyond that, build the parts yourself: a [`Registry`] of tools, a [`host`], a [`store`], an [`Engine`] over
//! them, and a [`Session`] for each caller. [`compat`] takes in tools that were written for other traits.
#![warn(missing_docs)]

mod toolbox;

pub use haft_compat as compat;
pub use haft_contract::*;
pub use haft_engine::{
    AnswerError, ApprovalBroker, ApprovalNotice, CallLimits, CallbackPermissions, CommandHook, CommandHookSpec, Engine, EngineBuilder,
    Event, EventSink, Explanation, FirstOf, Hook, HookCall, HookDecision, LoopLimits, PermissionBroker, PersistDecision, RegisterError,
    Registry, Session, SessionBuilder, ToolEntry, UndoError, UndoneCall, UndoneSession,
};
pub use haft_macros::{ToolMeta, tool};
pub use haft_policy::*;

pub use toolbox::{Toolbox, ToolboxError};

/// The tools that come with Haft.
pub mod builtin {
    pub use haft_builtin::{all, metas};
}

/// This machine, behind the capabilities.
pub mod host {
    pub use haft_host::{GuardedClient, HttpOptions, LocalFiles, LocalHost, NetworkRules, Resolve, WorkspaceOptions};
    pub use haft_jobs::{ChangeOptions, Jobs, LocalProcesses, ShellOptions};
    pub use haft_sandbox as sandbox;
}

/// Where history, pre-images and spills are kept.
pub mod store {
    pub use haft_store::{
        BlobId, BlobWriter, Blobs, CallFilter, CallLog, CallRecord, CallStatus, FileBlobs, InMemoryCallLog, PreImageRecord, SqliteCallLog,
        StoreError,
    };
}

/// The Rust examples of the documents, compiled and run like those above.
#[cfg(doctest)]
#[doc = include_str!("../docs/ADDING_A_TOOL.md")]
#[doc = include_str!("../README.md")]
mod documents {}
