//! How a call is answered: one pipeline, every stage in its own file, one result for every call.
//!
//! Start with [`Engine::run`]: it reads top to bottom, and the order of its stages is a security property.
#![warn(missing_docs)]

mod approvals;
mod batch;
mod engine;
mod events;
mod explain;
mod fingerprint;
mod forms;
mod hooks;
mod journal;
mod limits;
mod locks;
mod permissions;
mod redact;
mod registry;
mod session;
mod stages;
mod stop;
mod undo;
mod workers;

pub use approvals::{AnswerError, ApprovalDesk, DeskNotice, FirstOf};
pub use engine::{Engine, EngineBuilder};
pub use events::{Event, EventSink};
pub use explain::{Explanation, HOOK, NOT_YET, NOTHING_CONFIGURED};
pub use haft_policy::{
    AgentSpec, AllowList, AskMode, Caller, Candidate, Change, ChannelSpec, Decision, ExecAsk, ExecSecurity, ExecSpec, Listed, Outcome,
    Place, Policy, PolicySpec, Refusal, RuleKind, RuleLists, RuleSet, STEPS, Sender, StandardPolicy, ToolLists, TraceEntry, Verdict,
    catalog, nearest,
};
pub use hooks::{Before, CommandHook, CommandHookSpec, Hook, HookCall, Persist};
pub use limits::Limits;
pub use permissions::{CallbackPermissions, PermissionBroker};
pub use redact::{Redactor, redact};
pub use registry::{Entry, RegisterError, Registry, View};
pub use session::{Session, SessionBuilder, TaintPolicy};
pub use stages::bound::WHOLE_IN;
pub use stages::guard::LoopLimits;
pub use undo::{Kept, UndoError, Undone, UndoneSession};
