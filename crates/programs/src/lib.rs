//! What programs do, in one table: for the analysis of shell commands and for rules on programs.
//!
//! No such table is ever complete. What it does not contain counts as not known.
#![warn(missing_docs)]

mod class;
mod commands;
pub mod environment;
mod options;
mod wrappers;

pub use class::{ProgramClass, class_of, file_name};
pub use commands::{CommandFamily, NARROWED, RunOptions, family_of, is_git_command, run_options};
pub use options::{GIT_COMMANDS, Operands, PROGRAMS, ProgramEffect, ProgramOptions, only_shows};
pub use wrappers::{FILTERS, ProgramFilter, WRAPPERS, Wrapper};
