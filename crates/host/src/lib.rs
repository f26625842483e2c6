//! The real machine behind the capabilities: files beneath open handles, the guarded network, programs, the clock.
#![warn(missing_docs)]

mod clock;
mod files;
mod http;
mod local;
mod notifier;
mod process;
mod proxy;
mod system;

pub use clock::SystemClock;
pub use files::{LocalFiles, WorkspaceOptions};
pub use haft_sandbox as sandbox;
pub use http::{GuardedClient, HttpOptions, NetworkRule, NetworkRuleError, NetworkRules, Resolve, SystemResolver};
pub use local::{HostOptions, LocalHost};
pub use notifier::{Desktop, LocalNotifier};
pub use process::{ChangeOptions, Jobs, LocalProcesses, ShellOptions, end_all_jobs, end_all_processes};
pub use system::LocalSystem;
