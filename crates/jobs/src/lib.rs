//! Commands on this machine: planned, sandboxed, run as jobs, their changes staged.
//!
//! A command is analysed before it runs ([`ShellCommand`]), wrapped in its sandbox, and started as a
//! job, which a supervisor reads and ends. A job that continues after its call is listed in [`Jobs`], and other processes of the
//! user reach it over a socket. Each process of a call leads a process group, which ends with the call; in the sandbox everything it
//! started does.
#![warn(missing_docs)]

mod changes;
pub mod checkpoint;
mod concurrent_runs;
mod environment;
mod folder_moves;
mod git;
mod guarded_paths;
mod helpers;
mod ipc;
mod isolated;
mod job;
mod job_list;
mod job_start;
mod late_changes;
mod lookup;
mod moved_workspace;
mod options;
mod orphans;
mod output;
mod output_pump;
mod own_data;
mod plan;
mod process_group;
mod protection;
mod quarantine;
mod recorder;
mod remote_job;
mod retention;
mod run;
mod run_guard;
mod sandboxer;
mod server_process;
mod session_networks;
mod setup_report;
mod shell;
mod spawn;
mod supervisor;
mod temporary_files;
mod triggers;
mod view;

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{
    BoxFuture, ChangeSets, CommandRequest, CommandSpec, ErrorKind, HelperLimits, HelperOutput, Job, JobOptions, JobStatus, ProcessOutput,
    ShellCommand, ToolError,
    ports::{ChangeRecorder, JobScope, Journal, ProcessRunner},
};
use haft_host::{GuardedClient, LocalFiles};
use tokio_util::sync::CancellationToken;

use self::helpers::Helpers;
use self::shell::Shell;

pub use self::isolated::{IsolatedChild, IsolatedCommand};
pub use self::job::end_all_jobs;
pub use self::job_list::Jobs;
pub use self::options::{ChangeOptions, GuardedPattern, ShellOptions};
pub use self::process_group::end_all_processes;
pub use self::quarantine::{Origin, Quarantine, RestoreError};
pub use self::retention::{CommandRetention, EntryFolders};
pub use self::server_process::{ServerAccess, ServerChild, ServerCommand};
pub use self::session_networks::SessionNetworks;

/// Runs programs on this machine.
#[derive(Debug, Clone, Default)]
pub struct LocalProcesses {
    shell: Option<Arc<Shell>>,
    helpers: Option<Arc<Helpers>>,
    roots: Vec<PathBuf>,
    unavailable: Option<String>,
}

impl LocalProcesses {
    /// Without a shell, for this reason.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self { unavailable: Some(reason.into()), ..Self::default() }
    }
    /// With a shell whose commands see these files, and whose connections go through the address guard of this client.
    pub fn with_shell(self, options: ShellOptions, files: Arc<LocalFiles>, http: Arc<GuardedClient>) -> Self {
        let shell = Shell::new(options, files, http);
        Self { shell: Some(Arc::new(shell)), ..self }
    }
    /// With folders that commands write: for a program outside the sandbox, those of their programs are last on the `PATH`.
    pub fn with_roots(self, roots: Vec<PathBuf>) -> Self {
        Self { roots, ..self }
    }
    /// With helper processes, which see none of these paths, and are sandboxed where commands are. The launcher of these options
    /// is a program whose `main` begins with [`launcher::main_if_asked`](haft_sandbox::launcher::main_if_asked) and then runs the
    /// helper that its first argument names.
    pub fn with_helpers(self, options: &ShellOptions, hidden: Vec<PathBuf>) -> Self {
        Self { helpers: Some(Arc::new(Helpers::new(options, hidden))), ..self }
    }
    /// The networks of sessions, which reach servers that commands have started; `None` without a shell.
    pub fn session_networks(&self) -> Option<Arc<SessionNetworks>> {
        self.shell.as_ref().map(|shell| Arc::clone(shell.networks()))
    }
    /// Starts a server that runs beside the calls.
    pub async fn start_server(&self, server: ServerCommand) -> Result<ServerChild, ToolError> {
        self.shell()?.start_server(server).await
    }
    /// Starts a program that sees no file of its session.
    pub async fn start_isolated(&self, command: IsolatedCommand) -> Result<IsolatedChild, ToolError> {
        self.shell()?.start_isolated(command).await
    }
    fn shell(&self) -> Result<&Shell, ToolError> {
        self.shell.as_deref().ok_or_else(|| {
            ToolError::new(ErrorKind::SandboxUnavailable, self.unavailable.as_deref().unwrap_or("This host runs no shell commands."))
        })
    }
}

impl ProcessRunner for LocalProcesses {
    fn run(&self, command: CommandSpec, cancel: CancellationToken) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        let mut roots = self.roots.clone();
        roots.extend(self.shell.iter().flat_map(|shell| shell.sandboxer().files().writable()));
        Box::pin(async move { run::run(command, &roots, cancel).await })
    }
    fn run_helper(
        &self,
        name: &'static str,
        input: Vec<u8>,
        limits: HelperLimits,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<HelperOutput, ToolError>> {
        match &self.helpers {
            Some(helpers) => Box::pin(Arc::clone(helpers).run(name, input, limits, cancel)),
            None => Box::pin(std::future::ready(Err(helpers::none()))),
        }
    }
    fn plan(&self, request: &CommandRequest) -> Result<ShellCommand, ToolError> {
        self.shell()?.plan(request)
    }
    fn start<'a>(&'a self, command: &'a ShellCommand, options: JobOptions) -> BoxFuture<'a, Result<Arc<dyn Job>, ToolError>> {
        Box::pin(async move { self.shell()?.start(command, options).await })
    }
    fn checkpoint<'a>(&'a self, command: &'a ShellCommand, journal: Arc<dyn Journal>) -> BoxFuture<'a, Option<Box<dyn ChangeRecorder>>> {
        Box::pin(async move { self.shell.as_ref()?.checkpoint(command, journal).await })
    }
    fn change_sets(&self) -> Option<&dyn ChangeSets> {
        self.shell.as_deref().map(|shell| shell.changes() as _)
    }
    fn keep(&self, job: Arc<dyn Job>) -> BoxFuture<'_, Arc<dyn Job>> {
        match &self.shell {
            Some(shell) => Box::pin(shell.jobs().keep(job)),
            None => Box::pin(std::future::ready(job)),
        }
    }
    fn adopt<'a>(&'a self, session: &'a str, scope: JobScope) -> BoxFuture<'a, Result<(), ToolError>> {
        match &self.shell {
            Some(shell) => Box::pin(async move {
                shell.recover_changes().await;
                shell.jobs().adopt(session, scope, shell.changes()).await
            }),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
    fn end_notices(&self, session: &str) -> Vec<JobStatus> {
        self.shell.as_ref().map(|shell| shell.jobs().end_notices(session)).unwrap_or_default()
    }
    fn waits_for_exit(&self) -> bool {
        self.shell.as_ref().is_some_and(|shell| shell.options().wait_for_exit)
    }
    fn jobs(&self, session: &str) -> Vec<Arc<dyn Job>> {
        self.shell.as_ref().map(|shell| shell.jobs().of_session(session)).unwrap_or_default()
    }
    fn end_session(&self, session: &str) {
        if let Some(shell) = &self.shell {
            shell.remove_session(session);
        }
    }
    fn forget<'a>(&'a self, session: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        match &self.shell {
            Some(shell) => Box::pin(shell.jobs().forget(session, id)),
            None => Box::pin(std::future::ready(())),
        }
    }
}
