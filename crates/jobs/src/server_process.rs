//! Servers that run beside the calls: programs with pipes, which end when their input is closed.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use haft_contract::ToolError;
use haft_host::{EgressProxy, GuardedClient, NetworkRules};
use haft_sandbox::{NetworkAccess, ProcessSpec, SandboxGuard};
use haft_text::display;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::environment;
use crate::sandboxer::Sandboxer;
use crate::shell::{Shell, run_name};
use crate::spawn::on_spawn_thread;

/// The port of the proxy in the sandbox of a server, which has a network of its own.
const PROXY_PORT: u16 = 23_128;

/// A server to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// Its name, for private folders and messages.
    pub name: String,
    /// The program, by name or path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Its variables, besides the few that every program gets.
    pub environment: Vec<(String, String)>,
    /// Its sandbox; `None` means that it runs as any program of the user does.
    pub sandbox: Option<ServerAccess>,
}

/// What a sandboxed server may reach besides the workspace, which it reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerAccess {
    /// Hosts, as in `network.allow`.
    pub hosts: Vec<String>,
    /// Folders that it may change.
    pub folders: Vec<PathBuf>,
}

/// A server that runs. It ends, with everything that it started, when its input is closed, also by the death of this process.
#[derive(Debug)]
pub struct ServerChild {
    child: Child,
    guard: Option<SandboxGuard>,
    _proxy: Option<EgressProxy>,
    /// Its standard input.
    pub input: Option<ChildStdin>,
    /// Its standard output.
    pub output: Option<ChildStdout>,
    /// Its standard error.
    pub errors: Option<ChildStderr>,
}

impl ServerChild {
    /// Waits until it has ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

impl Drop for ServerChild {
    fn drop(&mut self) {
        // Its guard process sees that, and ends the rest.
        drop(self.input.take());
        // Dropping it may block.
        let Some(guard) = self.guard.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(guard))),
            Err(_) => drop(guard),
        }
    }
}

impl Shell {
    /// Starts a server.
    pub(crate) async fn start_server(&self, server: ServerCommand) -> Result<ServerChild, ToolError> {
        let proxy = self.server_proxy(&server)?;
        let (sandboxer, socket) = (Arc::clone(self.sandboxer()), proxy.as_ref().map(|proxy| proxy.socket().to_owned()));
        let name = server.name.clone();
        let started = on_spawn_thread(move || start(&server, &sandboxer, socket)).await;
        let failed = |error: io::Error| not_started(&name, &error.to_string());
        let (mut child, guard) = started.map_err(failed)??;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(ServerChild { child, guard, _proxy: proxy, input, output, errors })
    }

    /// The egress proxy of a sandboxed server, for the hosts that the user has named.
    fn server_proxy(&self, server: &ServerCommand) -> Result<Option<EgressProxy>, ToolError> {
        let Some(ServerAccess { hosts, .. }) = server.sandbox.as_ref().filter(|access| !access.hosts.is_empty()) else { return Ok(None) };
        let allowed = hosts.iter().map(|host| NetworkRules::parse_entry(host).map_err(|error| not_started(&server.name, &error.problem)));
        let allowed = allowed.collect::<Result<Vec<_>, _>>()?;
        let (folder, http): (_, &GuardedClient) = (&self.options().folder, self.http());
        let failed = |error: io::Error| not_started(&server.name, &format!("its proxy cannot listen: {error}"));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let socket = folder.join(format!("{}.sock", run_name()));
        http.proxy(&socket, allowed, None).map(Some).map_err(failed)
    }
}

/// Starts the process. Blocks.
fn start(server: &ServerCommand, sandboxer: &Sandboxer, socket: Option<PathBuf>) -> Result<(Child, Option<SandboxGuard>), ToolError> {
    let (command, guard) = if let Some(access) = &server.sandbox {
        let network = socket.map_or(NetworkAccess::Off, |socket| NetworkAccess::Proxy { socket, port: PROXY_PORT });
        let (command, guard) = sandboxer.wrap_server(server, &access.folders, network)?;
        (command, Some(guard))
    } else {
        let mut command = ProcessSpec::new(&server.program, &server.directory).arguments(&server.arguments);
        let roots = sandboxer.files().writable();
        command.environment = environment::with_programs_of_roots_last(environment::clean(&server.environment, false), &roots);
        (command, None)
    };
    let command = sandboxer.options().launcher.with_guard(command);
    let mut command = tokio::process::Command::from(command.to_std());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    // Its guard ends it, and with it what it started, which a signal to this process alone would not.
    command.kill_on_drop(cfg!(not(target_os = "linux")));
    let child =
        command.spawn().map_err(|error| not_started(&server.name, &format!("'{}': {error}", display::escape_line(&server.program))))?;
    Ok((child, guard))
}

fn not_started(name: &str, why: &str) -> ToolError {
    ToolError::execution(format!("the server '{name}' was not started: {why}"))
}
