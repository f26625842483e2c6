//! What a tool is. No I/O, no runtime: the types and traits that tool authors, the engine and the host share.
//!
//! A call travels through these types: a [`ToolCall`] names a [`Tool`]; its checked arguments become a [`Plan`]
//! (a list of [`Effect`]s); the tool runs with a [`ToolContext`] whose capabilities reach exactly what was planned;
//! its [`ToolOutput`] or [`ToolError`] becomes the one [`ToolResult`] of that call.
#![warn(missing_docs)]

mod approval;
pub mod base64;
mod call;
mod capability;
pub mod causes;
mod changes;
mod committing;
mod context;
mod definition;
mod dialect;
mod effect;
mod error;
mod hook;
mod host;
mod line;
mod location;
mod output;
mod permission;
mod registry;
pub mod schema;
mod seen;
mod tool;
mod tree;
pub mod visible;

pub use approval::{Answer, ApprovalRequest, Approver, AskMode, RuleKeeper};
pub use call::{Arguments, Envelope, ToolCall, ToolResult};
pub use capability::{Clocks, Files, Http, Notices, Processes, Spills};
pub use changes::{Aftermath, ChangeDeed, ChangeSet, ChangeSets, Changes, Claim, EntryKind, FileChange, Side, Trigger};
pub use context::{CallInfo, Gate, Journal, PlanContext, Progress, ProgressSink, ToolContext};
pub use definition::{Access, Category, Hints, Meta, ParameterHints, Section, Source, ToolDefinition};
pub use dialect::{Dialect, Form, FormParameter, Shown, Unit};
pub use effect::{Connect, Effect, Exec, ExecHost, ExecNature, Extent, Need, PathEffect, Plan};
pub use error::{ErrorKind, ToolError};
pub use hook::{HookEvent, OnFailure};
pub use host::{
    AsideLimits, Body, Clock, CommandSpec, FileInfo, FileKind, FileSystem, Helped, HopJudge, Host, HttpClient, HttpRequest, HttpResponse,
    LocalOffset, Notice, Notifier, PreImage, ProcessOutput, ProcessRunner, Reader, SpillFile, SpillWriter, SystemFacts, SystemInfo,
    WriteMode, Written,
};
pub use line::{Job, JobEnd, JobOptions, JobStatus, JobUsage, Line, LineLimits, LineRequest, Program, Takes};
pub use location::{Location, Spelled, Zone, lexical};
pub use output::{Content, IntoToolOutput, Json, ToolOutput};
pub use permission::{PermissionAnswer, PermissionHost, PermissionState};
pub use registry::{JobRecord, JobRegistry, JobScope};
pub use seen::SeenFiles;
pub use tool::{BoxFuture, DynTool, Erased, Prepared, Tool, ToolMeta};
pub use tree::{TreeEntry, TreeOptions, TreeVisitor, Visit, Walked};

/// What the macros expand to; not part of the public contract.
#[doc(hidden)]
pub mod private {
    pub use schemars;
    pub use serde;
    pub use std::time::Duration;
}
