//! Configuration: TOML layers become one resolved [`Config`] in which every value knows its file, line and column.
//!
//! Layers, in order: built-in, the person's file, the project's file, `HAFT_…` variables, flags. A later layer wins
//! for plain values; for authority the project's file can only tighten, and nothing of it starts until the person trusts
//! it. Which keys there are, what they mean and how
//! layers meet stands once, in [`KEYS`]; reading, checking, showing, the variables and the schema derive from it.
#![warn(missing_docs)]

mod budget;
mod config;
mod decode;
mod displace;
mod document;
mod exec;
mod groups;
mod hooks;
mod key;
mod later;
mod lint;
mod load;
mod lookup;
mod merge;
mod models;
mod money;
mod named;
mod names;
mod origin;
mod path;
mod paths;
mod presets;
mod problem;
mod provenance;
mod read;
mod report;
mod save;
mod schema;
mod shape;
mod show;
mod size;
mod source;
mod suggest;
mod table;
mod text;
mod trust;
mod value;
mod variables;

pub use budget::{Budget, BudgetThen, Context};
pub use config::{Approvals, Config, Guards, History, Limits, LoopGuard, Network, Rules, Subagents, Taint, Tools, Workspace};
pub use decode::{Check, Complaint};
pub use exec::{ContainerEngine, ContainerSettings, Exec, ExecAsk, ExecLimits, ExecSecurity, Sandbox, SandboxBackend, SandboxMode};
pub use hooks::Hook;
pub use key::{Key, Kind, ListOf, Merge, Status};
pub use load::{Loaded, Request};
pub use names::agent_name;
pub use paths::{Environment, PathsError, config_file, data_folder};
pub use presets::presets;
pub use problem::{Problem, Severity};
pub use provenance::{Provenance, Setting};
pub use report::{Look, json as report_json};
pub use save::{AgentEdit, OwnFile, Replaced, SaveError, Saved, save_rules};
pub use schema::schema;
pub use show::Row;
pub use source::{Layer, Source, Sourced};
pub use table::KEYS;
pub use trust::{FILES, Pending};
pub use value::{Root, Value};
pub use variables::Flag;

pub use load::load;
