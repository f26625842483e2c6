//! What a tool is. No I/O, no runtime: the types and traits that tool authors, the engine and the host share.
//!
//! A call travels through these types: a [`ToolCall`] names a [`Tool`]; its checked arguments become a [`Plan`]
//! (a list of [`Effect`]s); the tool runs with a [`ToolContext`] whose capabilities reach exactly what was planned;
//! its [`ToolOutput`] or [`ToolError`] becomes the one [`ToolResult`] of that call.
#![warn(missing_docs)]

mod apply;
mod automation_use;
mod browser_use;
mod call;
mod call_token;
mod canvas_use;
mod capability;
pub mod causes;
mod changes;
mod channel_use;
mod command;
mod commit;
mod conflict;
mod context;
mod conversation;
mod definition;
mod dialect;
mod effect;
mod error;
mod file_identity;
mod image;
mod job;
mod job_handle;
pub mod json;
mod location;
mod media_use;
mod memory_use;
mod node_use;
mod opaque_debug;
mod output;
mod plan;
pub mod ports;
mod readers;
mod retention;
pub mod schema;
mod seen;
mod session_use;
mod settings;
mod shared_schema;
mod tool;
mod tree;
mod turn_tools;

pub use automation_use::{AutomationUse, GatewayUse};
pub use browser_use::BrowserUse;
pub use call::{Arguments, Envelope, ToolCall, ToolResult};
pub use call_token::CallToken;
pub use canvas_use::CanvasUse;
pub use capability::{Clocks, Files, Http, Notices, Processes, Spills};
pub use changes::{
    AppliedChanges, ChangeKind, ChangeMode, ChangeSet, ChangeSets, ChangeSide, ClaimedChanges, DirectChanges, EntryKind, FileChange,
    GitReport, QuarantineRecord, RefusedChange, RunEffects, Trigger,
};
pub use channel_use::ChannelUse;
pub use command::{CodeInput, CommandRequest, InterpreterSpec, ProgramSpec, ShellCommand};
pub use conflict::{ConcurrentChange, retry_conflicts};
pub use context::{CallInfo, ContextParts, PlanContext, Progress, ToolContext};
pub use conversation::{PlanningCapability, SettingsCapability, SkillCapability, UserCapability};
pub use definition::{AbsentTool, Access, Category, Hints, Meta, ParameterHints, RuleTarget, Section, ToolDefinition, ToolSource};
pub use dialect::{Dialect, DialectTool, Form, FormParameter, Unit};
pub use effect::{Connect, Effect, Exec, ExecHost, ExecNature, ExecReach, Extent, Need, PathEffect};
pub use error::{ErrorKind, ToolError};
pub use file_identity::FileIdentity;
pub use image::ImageLimits;
pub use job::{ChangeApplier, Job, JobEnd, JobOptions, JobStatus, JobUsage};
pub use job_handle::{JobAccess, JobHandle, JobUse};
pub use location::{Location, PathSpelling, RefusalCause, Zone};
pub use media_use::MediaUse;
pub use memory_use::MemoryUse;
pub use node_use::NodeUse;
pub use output::{Content, DocumentBody, EmbeddedDocument, IntoToolOutput, Json, ToolOutput};
pub use plan::Plan;
pub use ports::{
    AgentAttachment, AgentType, Body, CommandSpec, EgressRefusal, FileInfo, FileKind, FileReader, HelperLimits, HelperOutput, HttpRequest,
    HttpResponse, KnownAgent, LocalOffset, ModelChange, NetworkDecision, NetworkVerdict, Notice, ProcessOutput, SandboxDemand,
    SearchEndpoint, SearchFields, SearchProvider, SessionDelivery, SessionKind, SessionMessage, SessionPage, SessionQuery, SessionState,
    SessionSummary, SessionVisibility, SpillFile, SpillWriter, StartedAgent, StoredAttachment, SubAgentRequest, SubAgentState,
    SubAgentStatus, SystemFacts, ThinkingLevel, WebSettings, WriteMode, WriteOutcome,
};
pub use retention::{Prunable, PruneSummary, RetentionLimit, StoredEntry};
pub use seen::SeenFiles;
pub use session_use::{SessionUse, SubAgentUse};
pub use settings::{
    AskMode, CommandLimits, ContainerEngine, ExecAsk, ExecSecurity, HookEvent, OnFailure, SandboxBackend, SandboxMode, TaintPolicy,
};
pub use shared_schema::SharedSchema;
pub use tool::{BoxFuture, DynTool, Erased, Prepared, Tool, ToolMeta};
pub use tree::{EntryStamp, TreeChanges, TreeEntry, TreeOptions, TreeVisitor, TreeWatch, Visit, WalkSummary};
pub use turn_tools::{LimitEnd, TurnLimit, TurnTools};

/// What the macros expand to; not part of the public contract.
#[doc(hidden)]
pub mod private {
    pub use schemars;
    pub use serde;
    pub use std::time::Duration;
}
