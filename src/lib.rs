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
#![warn(missing_docs)]

pub use haft_contract::*;
pub use haft_macros::{ToolMeta, tool};
