//! Programs of a session that see none of its files, such as a browser: they have the network of the session, whose only egress is a
//! proxy, a folder to exchange files with this process, and private temporary folders in memory, which end with them.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use haft_contract::{ErrorKind, ToolError, ports::EgressGate};
use haft_host::EgressProxy;
use haft_sandbox::{NetworkAccess, SandboxGuard};
use haft_text::display;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::sandboxer::Sandboxer;
use crate::shell::{Shell, remove_stale_entries, run_name};
use crate::spawn::on_spawn_thread;

/// A program to start.
pub struct IsolatedCommand {
    /// Its name, for its folder and messages.
    pub name: String,
    /// The session whose network it shares.
    pub session: String,
    /// The program: a file in a folder of the system.
    pub program: PathBuf,
    /// Its arguments. [`IsolatedCommand::PROXY_PORT`] in them is replaced by the port of its proxy.
    pub arguments: Vec<String>,
    /// Its variables, besides the few that every program gets.
    pub environment: Vec<(String, String)>,
    /// Decides on each of its connections.
    pub gate: Arc<dyn EgressGate>,
}

haft_contract::opaque_debug!(IsolatedCommand: name = name, session = session, program = program);

impl IsolatedCommand {
    /// Stands for the port of the proxy.
    pub const PROXY_PORT: &'static str = "%PROXY_PORT%";
    /// Where the program sees its folder.
    pub const FOLDER: &'static str = "/run/haft/home";
}

/// A program that runs. It ends with this value, with everything that it started, and also with the death of this process.
#[derive(Debug)]
pub struct IsolatedChild {
    child: Child,
    guard: Option<SandboxGuard>,
    folder: ExchangeFolder,
    /// Its only egress.
    pub proxy: EgressProxy,
    /// Its standard input.
    pub input: Option<ChildStdin>,
    /// Its standard output.
    pub output: Option<ChildStdout>,
    /// Its standard error.
    pub errors: Option<ChildStderr>,
}

impl IsolatedChild {
    /// The folder that it sees at [`IsolatedCommand::FOLDER`].
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }
    /// The process that ends with it.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
    /// Waits until it has ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

impl Drop for IsolatedChild {
    fn drop(&mut self) {
        drop(self.input.take());
        // Its sandbox ends with the process that started it.
        self.child.start_kill().ok();
        let (guard, folder) = (self.guard.take(), ExchangeFolder(std::mem::take(&mut self.folder.0)));
        // Both may block: a control group is removed after its last process.
        let clean = move || drop((guard, folder));
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(clean)),
            Err(_) => clean(),
        }
    }
}

/// A folder that is removed when dropped.
#[derive(Debug)]
struct ExchangeFolder(PathBuf);

impl Drop for ExchangeFolder {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // What stays is removed by a later command, when this process has ended.
            std::fs::remove_dir_all(&self.0).ok();
        }
    }
}

impl Shell {
    /// Starts a program that sees no file of the session.
    pub(crate) async fn start_isolated(&self, command: IsolatedCommand) -> Result<IsolatedChild, ToolError> {
        let (_, port) = self.next_port();
        let failed = {
            let name = command.name.clone();
            move |what: &str, error: &dyn std::fmt::Display| not_started(&name, &format!("{what}: {error}"))
        };
        let run_folder = &self.options().folder;
        std::fs::create_dir_all(run_folder).map_err(|error| failed("its folder cannot be created", &error))?;
        remove_stale_entries(run_folder);
        let own = format!("{}-{}", run_name(), command.name);
        let folder = run_folder.join(&own);
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(|error| failed("its folder cannot be created", &error))?;
        let folder = ExchangeFolder(folder);
        let socket = run_folder.join(format!("{own}.sock"));
        let proxy = self.http().proxy(&socket, Vec::new(), Some(Arc::clone(&command.gate)));
        let proxy = proxy.map_err(|error| failed("its proxy cannot listen", &error))?;
        let network = NetworkAccess::Proxy { socket, port };
        let (sandboxer, shared) = (Arc::clone(self.sandboxer()), folder.0.clone());
        let started = on_spawn_thread(move || start(&command, &sandboxer, network, &shared)).await;
        let (mut child, guard) = started.map_err(|error| failed("it cannot be spawned", &error))??;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(IsolatedChild { child, guard: Some(guard), folder, proxy, input, output, errors })
    }
}

/// Starts the process. Blocks.
fn start(
    command: &IsolatedCommand,
    sandboxer: &Sandboxer,
    network: NetworkAccess,
    folder: &Path,
) -> Result<(Child, SandboxGuard), ToolError> {
    let (spec, guard) = sandboxer.wrap_isolated(command, network, folder)?;
    let spec = sandboxer.options().launcher.with_guard(spec);
    let mut process = tokio::process::Command::from(spec.to_std());
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let program = command.program.to_string_lossy();
    let failed = |error: io::Error| not_started(&command.name, &format!("'{}': {error}", display::escape_line(&program)));
    Ok((process.spawn().map_err(failed)?, guard))
}

fn not_started(name: &str, why: &str) -> ToolError {
    ToolError::new(ErrorKind::ExecutionError, format!("The {name} was not started: {why}."))
}
