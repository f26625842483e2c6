//! A workspace with a shell, for one test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{CommandRequest, ExecHost, ShellCommand, ToolError, ports::ProcessRunner};
use haft_host::{LocalFiles, WorkspaceOptions};
use haft_jobs::{Jobs, LocalProcesses, ShellOptions};
use haft_sandbox::Launcher;
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) processes: LocalProcesses,
    folder: TempDir,
}

impl World {
    /// Commands run on the machine itself: there is no launcher for a sandbox.
    pub(crate) fn new() -> Self {
        Self::with_jobs(|_| Jobs::default())
    }

    /// With a list of background jobs for the folder of this world.
    pub(crate) fn with_jobs(jobs: impl FnOnce(&Path) -> Jobs) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        std::fs::create_dir(&root).unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
        let usual = ShellOptions::new(Launcher::at("/nowhere/launcher"), folder.path());
        let shell = ShellOptions { host: ExecHost::Host, grace: Duration::from_millis(500), jobs: jobs(folder.path()), ..usual };
        Self { processes: LocalProcesses::default().with_shell(shell, files, Arc::default()), folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("workspace").canonicalize().unwrap()
    }
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    pub(crate) fn plan(&self, request: &CommandRequest) -> Result<ShellCommand, ToolError> {
        self.processes.plan(request)
    }
    pub(crate) fn command(&self, command: &str) -> ShellCommand {
        self.plan(&request(command)).unwrap()
    }
    /// A path relative to the workspace.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).map_or_else(|_| path.display().to_string(), |rest| format!("./{}", rest.display()))
    }
}

pub(crate) fn request(command: &str) -> CommandRequest {
    CommandRequest { command: command.to_owned(), ..CommandRequest::default() }
}
