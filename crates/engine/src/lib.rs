//! How a call is answered: one pipeline, every stage in its own file, one result for every call.
//!
//! Start with [`Engine::run`]: it reads top to bottom, and the order of its stages is a security property.
#![warn(missing_docs)]

mod batch;
mod engine;
mod events;
mod explain;
mod hooks;
mod journal;
mod limits;
mod locks;
mod permissions;
mod policy;
mod redact;
mod registry;
mod session;
mod stages;
mod stop;
mod undo;
mod workers;

pub use engine::{Engine, EngineBuilder};
pub use events::{Event, EventSink};
pub use explain::Explanation;
pub use hooks::{Before, Hook, HookCall};
pub use limits::Limits;
pub use permissions::{CallbackPermissions, PermissionBroker};
pub use policy::{Candidate, Decision, Listed, Outcome, Policy, Refusal, StandardPolicy, TraceEntry, Verdict};
pub use redact::{Redactor, redact};
pub use registry::{Entry, RegisterError, Registry, View};
pub use session::{Session, SessionBuilder, TaintPolicy};
pub use stages::guard::LoopLimits;
pub use undo::{Kept, UndoError, Undone};
