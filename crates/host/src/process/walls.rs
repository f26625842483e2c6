//! The walls around a line of shell, as the person's settings and the session's files want them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{ErrorKind, ExecHost, Line, ToolError};
use haft_sandbox::{
    Choice, Command, Guard, Image, Launcher, Limits, Network, Policy, Request, Sandbox, SandboxError, Wrapped, usual_secrets,
};

use crate::LocalFiles;

/// What the person decides about running commands.
#[derive(Debug, Clone)]
pub struct ShellOptions {
    /// Where lines run if nothing is said.
    pub host: ExecHost,
    /// Which sandbox.
    pub sandbox: Choice,
    /// Whether a sandbox that cannot hold everything is refused.
    pub required: bool,
    /// The program that a sandbox starts from: one whose `main` begins with
    /// [`launcher::main_if_asked`](haft_sandbox::launcher::main_if_asked).
    pub launcher: Launcher,
    /// What containers are made from.
    pub image: Option<Image>,
    /// What a line may use.
    pub limits: Limits,
    /// A private folder for the sockets of running lines.
    pub folder: PathBuf,
}

/// Wraps lines in what was configured.
pub(super) struct Walls {
    options: ShellOptions,
    files: Arc<LocalFiles>,
    /// The sandboxes that were found to work, by choice: looking takes a while.
    found: Mutex<Vec<(Choice, Arc<dyn Sandbox>)>>,
}

impl std::fmt::Debug for Walls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walls").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A line within its walls, ready to be started.
pub(super) struct Walled {
    pub(super) command: Command,
    /// To be dropped when it has ended.
    pub(super) guard: Guard,
    /// What it runs in, in words.
    pub(super) name: String,
}

impl Walls {
    pub(super) fn new(options: ShellOptions, files: Arc<LocalFiles>) -> Self {
        Self { options, files, found: Mutex::default() }
    }
    pub(super) fn options(&self) -> &ShellOptions {
        &self.options
    }
    pub(super) fn files(&self) -> &LocalFiles {
        &self.files
    }
    /// Where a line will really run: without walls, the machine itself.
    pub(super) fn host(&self, wanted: Option<ExecHost>) -> ExecHost {
        match wanted.unwrap_or(self.options.host) {
            ExecHost::Sandbox if self.options.sandbox == Choice::None => ExecHost::Host,
            host => host,
        }
    }

    /// Puts the walls around a line. Blocks: it looks at files, and makes control groups.
    pub(super) fn around(
        &self,
        line: &Line,
        environment: Vec<(OsString, OsString)>,
        network: Network,
        terminal: bool,
    ) -> Result<Walled, ToolError> {
        let shell = line.shell();
        let mut command = Command::new(&shell.program, &shell.directory).arguments(&shell.arguments);
        command.environment = environment;
        let choice = match shell.host {
            ExecHost::Sandbox => self.options.sandbox,
            ExecHost::Container => Choice::Container,
            _ => Choice::None,
        };
        let policy = self.policy(network, terminal);
        let sandbox = self.sandbox(choice, &policy).map_err(unavailable)?;
        let Wrapped { command, guard } = sandbox.wrap(command, &policy).map_err(unavailable)?;
        Ok(Walled { command, guard, name: sandbox.name().to_owned() })
    }

    fn policy(&self, network: Network, terminal: bool) -> Policy {
        let crate::files::Walls { writable, read_only, protected, mut masked, .. } = self.files.walls();
        if let Some(home) = std::env::home_dir() {
            masked.extend(usual_secrets(&home));
        }
        Policy { writable, read_only, protected, masked, network, limits: self.options.limits, terminal }
    }

    fn sandbox(&self, choice: Choice, policy: &Policy) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, sandbox)) = found.iter().find(|(known, _)| *known == choice) {
            return Ok(Arc::clone(sandbox));
        }
        let ShellOptions { required, launcher, image, .. } = &self.options;
        // Whoever chose none was permitted to run on the machine itself.
        let required = *required && choice != Choice::None;
        let request = Request { choice, required, launcher: launcher.clone(), image: image.clone() };
        let picked = haft_sandbox::pick(&request, policy)?;
        found.push((choice, Arc::clone(&picked.sandbox)));
        Ok(picked.sandbox)
    }
}

fn unavailable(error: SandboxError) -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, format!("The command was not run: {error}.")).with_source(error)
}
