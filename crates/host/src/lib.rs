//! The real machine behind the capabilities: files beneath open handles, the guarded network, the egress proxy, the clock, notices.
#![warn(missing_docs)]

mod alarm;
mod clock;
mod file_signal;
mod files;
mod http;
mod local;
mod notifier;
mod page_cache;
mod proxy;
mod system;

pub use alarm::SystemAlarm;
pub use clock::SystemClock;
pub use file_signal::{FileSignal, send_signal};
pub use files::{
    FolderStamp, LocalFiles, SandboxPaths, ScanCache, WorkspaceOptions, directory_state, link_state, may_be_protected, paths_run_by_git,
    sha256,
};
pub use http::{GuardedClient, HttpOptions, NetworkRuleError, NetworkRules, Resolve, SandboxDialer, SystemResolver, UpstreamProxy};
pub use local::{HostParts, LocalHost};
pub use notifier::{Desktop, LocalNotifier};
pub use page_cache::FolderPageCache;
pub use proxy::{EgressProxy, QuestionClock};
pub use system::LocalSystem;
