//! The sandbox of a server that runs beside the calls: it reads the workspace, and writes the folders that the user has named.

use std::path::PathBuf;

use haft_contract::{CommandLimits, SandboxBackend, ToolError};
use haft_host::SandboxPaths;
use haft_sandbox::{ConfinedCommand, NetworkAccess, ProcessSpec, SandboxGuard, SandboxPolicy, check_gaps};

use super::{RunSetup, Sandboxer, ViewLimits, unavailable};
use crate::environment;
use crate::server_process::ServerCommand;

impl Sandboxer {
    /// Wraps a server. Blocks: it creates folders and control groups. Without a sandbox it is refused: the user wants one.
    pub(crate) fn wrap_server(
        &self,
        server: &ServerCommand,
        folders: &[PathBuf],
        network: NetworkAccess,
    ) -> Result<(ProcessSpec, SandboxGuard), ToolError> {
        if self.options.sandbox == SandboxBackend::None {
            let what = "sandbox.mode is off, and the server is configured to run in the sandbox";
            return Err(ToolError::new(haft_contract::ErrorKind::SandboxUnavailable, what));
        }
        let base = SandboxPolicy { network: network.clone(), ..SandboxPolicy::default() };
        let selected = self.select(self.options.sandbox, true, &base).map_err(unavailable)?;
        let sandbox = &*selected.sandbox;
        let view = ViewLimits { read_only: false, adds_packages: true, limits: CommandLimits::default(), program_folder: None };
        let session = format!("mcp-{}", server.name);
        let paths = server_paths(self.paths(), folders);
        let setup = RunSetup {
            session: &session,
            // It may run for as long as any command, also beside those that a move would show a secret.
            fixed: paths.masked.clone(),
            paths,
            network,
            shared_network: None,
            terminal: false,
            overlay: None,
            layers: Vec::new(),
            removals: None,
            report: None,
        };
        let roots = setup.paths.writable.clone();
        let (policy, variables) = self.policy(sandbox, view, setup)?;
        check_gaps(sandbox, &policy, true).map_err(unavailable)?;
        let clean = environment::without_writable_path(environment::clean(&[], false), &roots, &policy.view.read_only);
        let own = server.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut command = ProcessSpec::new(&server.program, &server.directory).arguments(&server.arguments);
        command.environment = environment::with_variables(environment::with_variables(clean, variables), own);
        let ConfinedCommand { command, guard } = sandbox.wrap(command, &policy).map_err(unavailable)?;
        Ok((command, guard))
    }
}

/// Everything that commands may write can be read; only the folders can be written, but for the protected paths in them.
fn server_paths(mut paths: SandboxPaths, folders: &[PathBuf]) -> SandboxPaths {
    let writable: Vec<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    paths.read_only.append(&mut paths.writable);
    paths.read_only.retain(|path| !writable.contains(path));
    paths.protected.retain(|path| writable.iter().any(|folder| path.starts_with(folder)));
    paths.writable = writable;
    paths
}
