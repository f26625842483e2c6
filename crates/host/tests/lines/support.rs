//! A workspace with a shell, for one test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{ExecHost, Host, Line, LineRequest, ToolError};
use haft_host::sandbox::Launcher;
use haft_host::{HostOptions, Jobs, LocalFiles, LocalHost, NetworkRules, ShellOptions, WorkspaceOptions};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) host: LocalHost,
    folder: TempDir,
}

impl World {
    /// Lines run on the machine itself: there is no program here that a sandbox could start from.
    pub(crate) fn new() -> Self {
        Self::with_jobs(|_| Jobs::default())
    }

    /// The same, with jobs that are kept as these are for the folder of the world.
    pub(crate) fn with_jobs(jobs: impl FnOnce(&Path) -> Jobs) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        std::fs::create_dir(&root).unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
        let options = HostOptions { network: NetworkRules::default(), alert_log: folder.path().join("alerts.log") };
        let usual = ShellOptions::new(Launcher::at("/nowhere/launcher"), folder.path());
        let shell = ShellOptions { host: ExecHost::Host, grace: Duration::from_millis(500), jobs: jobs(folder.path()), ..usual };
        let host = LocalHost::new(Arc::clone(&files) as _, options).with_shell(shell, files);
        Self { host, folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("workspace").canonicalize().unwrap()
    }
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    pub(crate) fn plan(&self, request: &LineRequest) -> Result<Line, ToolError> {
        self.host.processes().plan(request)
    }
    pub(crate) fn line(&self, line: &str) -> Line {
        self.plan(&request(line)).unwrap()
    }
    /// A path as the workspace sees it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).map_or_else(|_| path.display().to_string(), |rest| format!("./{}", rest.display()))
    }
}

pub(crate) fn request(line: &str) -> LineRequest {
    LineRequest { line: line.to_owned(), ..LineRequest::default() }
}
