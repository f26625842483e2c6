//! Configuration: TOML layers become one resolved [`Config`]; [`Provenance`] has the file, line and column of each value.
//!
//! Layers, in order: built-in, the user's file, the project's file, `HAFT_…` variables, flags. A later layer wins for plain
//! values; for authority the project's file can only tighten, and nothing of it starts until the user trusts it. [`KEYS`] is
//! the one table of keys; parsing, checks, output, variables and schema derive from it.
#![warn(missing_docs)]

mod browser;
mod budget;
mod command_files;
mod config;
mod decode;
mod document;
mod entry_syntax;
mod exec;
mod foreign_keys;
mod front_matter;
mod groups;
mod hooks;
mod key;
mod key_path;
mod lint;
mod load;
mod memory;
mod merge;
mod models;
mod money;
mod overrides;
mod paths;
mod presets;
mod problem;
mod provenance;
mod quota;
mod read;
mod report;
mod retention;
mod save;
mod schema;
mod servers;
mod show;
mod size;
mod source;
mod source_text;
mod table;
mod table_names;
mod trust;
mod value;
mod variables;
mod web;

pub use budget::{BudgetSettings, BudgetThen, ContextSettings};
pub use config::{
    ApprovalSettings, Config, DisplaySettings, GuardSettings, HistorySettings, LimitSettings, LoopGuardSettings, NetworkSettings,
    SubagentSettings, WorkspaceSettings,
};
pub use decode::{EntryCheck, EntryFault};
pub use exec::{ContainerSettings, ExecSettings, SandboxSettings};
pub use front_matter::{FrontMatter, FrontMatterError, FrontMatterField, FrontMatterValue};
pub use hooks::HookSettings;
pub use key::{ConfigKey, ListKind, MergeRule, ValueKind};
pub use load::{LoadRequest, Loaded};
pub use paths::{Environment, PathsError, config_file, data_folder};
pub use presets::{preset_values, presets};
pub use problem::{Problem, Severity};
pub use provenance::{Provenance, Setting};
pub use quota::QuotaSettings;
pub use report::{ReportStyle, json as report_json};
pub use retention::RetentionSettings;
pub use save::{AgentEdit, ModelSetting, OwnFile, Replaced, SaveError, Saved, ServerEdit, SettingEdit, model_key, save_rules};
pub use schema::schema;
pub use servers::configured_servers;
pub use show::ConfigRow;
pub use source::{ConfigLayer, SettingSource, Sourced};
pub use table::KEYS;
pub use table_names::agent_name;
pub use trust::{FILES, PendingTrust};
pub use value::{ConfigValue, RootSetting};
pub use variables::FlagValue;

pub use browser::BrowserConfig;
pub use load::load;
pub use memory::MemoryConfig;
pub use web::WebConfig;
