//! The pipeline of a call: every stage in its own file, one result for every call.
//!
//! Start with [`Engine::run`]: it reads top to bottom, and the order of its stages is a security property.
#![warn(missing_docs)]

mod advice;
mod approvals;
mod batch;
mod egress;
mod engine;
mod events;
mod explain;
mod fingerprint;
mod forms;
mod hooks;
mod journal;
mod limits;
mod locks;
mod open_call;
mod permissions;
mod registry;
mod schema_check;
mod session;
mod session_files;
mod stages;
mod stop;
mod trail;
mod undo;
mod validator;
mod workers;

pub use approvals::{AnswerError, ApprovalBroker, ApprovalNotice, CallbackApprover, FirstOf, covers_past_call};
pub use engine::{Engine, EngineBuilder};
pub use events::{Event, EventSink};
pub use explain::{Explanation, HOOK, NOT_YET, NOTHING_CONFIGURED, PLANNING};
pub use hooks::{CommandHook, CommandHookSpec, Hook, HookCall, HookDecision, PersistDecision, WithheldHook};
pub use limits::CallLimits;
pub use permissions::{CallbackPermissions, PermissionBroker};
pub use registry::{RegisterError, Registry, ToolEntry, ToolSettings};
pub use schema_check::SchemaCheck;
pub use session::{Session, SessionBuilder, SessionLink};
pub use session_files::SessionFile;
pub use stages::bound::WHOLE_IN;
pub use stages::guard::LoopLimits;
pub use stages::taint::RecordedTaint;
pub use undo::{OverwrittenCopy, RepairedCall, UndoError, UndoneCall, UndoneSession};
