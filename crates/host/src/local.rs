//! The machine as one host: every capability, put together.

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{Clock, FileSystem, Host, HttpClient, Notifier, ProcessRunner, SystemInfo};

use crate::{GuardedClient, LocalFiles, LocalNotifier, LocalProcesses, LocalSystem, NetworkRules, ShellOptions, SystemClock};

/// What the person decides about the host.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// What tools may reach beyond public addresses, and what they may not.
    pub network: NetworkRules,
    /// Where notices go when there is no desktop.
    pub alert_log: PathBuf,
}

/// This machine, as tools reach it.
pub struct LocalHost {
    files: Arc<dyn FileSystem>,
    http: Arc<GuardedClient>,
    processes: LocalProcesses,
    clock: SystemClock,
    notifier: LocalNotifier,
    system: LocalSystem,
}

impl std::fmt::Debug for LocalHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalHost").field("http", &self.http).field("notifier", &self.notifier).finish_non_exhaustive()
    }
}

impl LocalHost {
    /// A host whose tools see these files. Nothing is opened or connected yet.
    pub fn new(files: Arc<dyn FileSystem>, options: HostOptions) -> Self {
        Self {
            notifier: LocalNotifier::new(options.alert_log).avoiding(Arc::clone(&files)),
            files,
            http: Arc::new(GuardedClient::new(options.network)),
            processes: LocalProcesses::default(),
            clock: SystemClock,
            system: LocalSystem,
        }
    }
    /// With a shell whose lines see these files.
    pub fn with_shell(mut self, options: ShellOptions, files: Arc<LocalFiles>) -> Self {
        self.processes = self.processes.with_shell(options, files, Arc::clone(&self.http));
        self
    }
    /// With helpers, which see nothing of these paths, and have walls where commands have them. The launcher of these options is
    /// a program whose `main` begins with [`launcher::main_if_asked`](haft_sandbox::launcher::main_if_asked) and with what knows
    /// their stages.
    pub fn with_helpers(mut self, options: &ShellOptions, hidden: Vec<PathBuf>) -> Self {
        self.processes = self.processes.with_helpers(options, hidden);
        self
    }
}

impl Host for LocalHost {
    fn files(&self) -> &dyn FileSystem {
        &*self.files
    }
    fn http(&self) -> &dyn HttpClient {
        &*self.http
    }
    fn processes(&self) -> &dyn ProcessRunner {
        &self.processes
    }
    fn clock(&self) -> &dyn Clock {
        &self.clock
    }
    fn notifier(&self) -> &dyn Notifier {
        &self.notifier
    }
    fn system(&self) -> &dyn SystemInfo {
        &self.system
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use haft_contract::Zone;

    use super::*;
    use crate::WorkspaceOptions;

    #[tokio::test]
    async fn every_capability_is_the_one_that_was_configured() {
        let folder = tempfile::tempdir().unwrap();
        let files = LocalFiles::open(WorkspaceOptions::new(folder.path())).unwrap();
        let network = NetworkRules::parse(&["127.0.0.1:8080"], &["denied.example"]).unwrap();
        let host = LocalHost::new(Arc::new(files), HostOptions { network, alert_log: folder.path().join("alerts.log") });
        assert_eq!(host.files().locate(Path::new("a.txt")).unwrap().zone(), Zone::Workspace);
        for (url, open) in [("http://127.0.0.1:8080/", true), ("http://127.0.0.1:8081/", false), ("http://denied.example/", false)] {
            assert_eq!(host.http().locate("GET", url).unwrap().refused.is_none(), open, "{url}");
        }
        assert_eq!(host.system().facts().await.os, std::env::consts::OS);
        assert_eq!(host.clock().time_zone(), SystemClock.time_zone());
    }
}
