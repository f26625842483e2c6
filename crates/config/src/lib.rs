//! Configuration: TOML layers become one resolved [`Config`] in which every value knows its file, line and column.
//!
//! Layers, in order: built-in, the person's file, the project's file, `HAFT_…` variables, flags. A later layer wins
//! for plain values; for authority the project's file can only tighten. Which keys there are, what they mean and how
//! layers meet stands once, in [`KEYS`]; reading, checking, showing, the variables and the schema derive from it.
#![warn(missing_docs)]

mod config;
mod decode;
mod document;
mod key;
mod load;
mod merge;
mod origin;
mod paths;
mod problem;
mod read;
mod report;
mod schema;
mod show;
mod source;
mod suggest;
mod text;
mod value;
mod variables;

pub use config::{Approvals, Config, Guards, History, Limits, LoopGuard, Network, Taint, Tools, Workspace};
pub use decode::{Check, Complaint};
pub use key::{KEYS, Key, Kind, ListOf, Merge, Status};
pub use load::{Loaded, Request};
pub use merge::{Provenance, Setting};
pub use paths::{Environment, PathsError, config_file, data_folder};
pub use problem::{Problem, Severity};
pub use report::{Look, json as report_json};
pub use schema::schema;
pub use show::Row;
pub use source::{Layer, Source, Sourced};
pub use value::{Root, Value};
pub use variables::Flag;

pub use load::load;
