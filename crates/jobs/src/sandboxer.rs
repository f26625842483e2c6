//! The sandbox of a command, by the user's settings and the session's file rules.

mod isolated;
mod server;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{CommandLimits, Effect, ErrorKind, ExecHost, SandboxBackend, ShellCommand, ToolError};
use haft_host::{LocalFiles, SandboxPaths, ScanCache};
use haft_sandbox::{
    Bind, ConfinedCommand, NetworkAccess, NetworkNamespace, Overlay, OverlayLayer, ProcessSpec, Sandbox, SandboxError, SandboxGuard,
    SandboxPolicy, Selection, SelectionRequest, SocketAccess, check_gaps, usual_secrets,
};
use haft_text::display;

use crate::changes::staging_gap;
use crate::guarded_paths::paths_outside;
use crate::moved_workspace::{keeps_moving, note_identities};
use crate::plan::in_container;
use crate::quarantine::FolderCache;
use crate::session_networks::SessionNetworks;
use crate::view::{RunView, Views, may_add_packages};
use crate::{environment, lookup, orphans};

pub(crate) use crate::options::ShellOptions;

/// The shell that every container image has.
const CONTAINER_SHELL: &str = "/bin/sh";
/// The backend without mounts.
const LANDLOCK: &str = "landlock";
/// The backend with overlays.
const BUBBLEWRAP: &str = "bubblewrap";

/// Wraps commands in the configured sandbox.
pub(crate) struct Sandboxer {
    options: ShellOptions,
    files: Arc<LocalFiles>,
    views: Views,
    networks: Arc<SessionNetworks>,
    scanned: ScanCache,
    folders: Arc<FolderCache>,
    /// The backends that work here; probing one takes a while.
    selected: Mutex<Vec<(SandboxBackend, Arc<Selection>)>>,
}

/// What a plan says of the view of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewLimits<'a> {
    /// Whether it may change nothing of the roots.
    pub(crate) read_only: bool,
    /// Whether it may add to the package caches.
    pub(crate) adds_packages: bool,
    pub(crate) limits: CommandLimits,
    /// The folder of the program, if the host keeps it for programs alone.
    pub(crate) program_folder: Option<&'a Path>,
}

/// What a command gets besides its plan.
pub(crate) struct RunSetup<'a> {
    /// The session that it belongs to.
    pub(crate) session: &'a str,
    /// The paths of the session, from [`Sandboxer::paths`].
    pub(crate) paths: SandboxPaths,
    pub(crate) network: NetworkAccess,
    /// The network of the session.
    pub(crate) shared_network: Option<NetworkNamespace>,
    pub(crate) terminal: bool,
    /// Where its changes go, if they are staged.
    pub(crate) overlay: Option<Overlay>,
    /// Overlays of repositories. Those without one are read-only.
    pub(crate) layers: Vec<OverlayLayer>,
    /// Files whose folders it cannot rename.
    pub(crate) fixed: Vec<PathBuf>,
    /// The socket at which removals of repositories are asked for.
    pub(crate) removals: Option<PathBuf>,
    /// The FIFO that is told when everything is mounted.
    pub(crate) report: Option<PathBuf>,
}

haft_contract::opaque_debug!(Sandboxer: options = options);

/// A command with its sandbox, ready to be started.
pub(crate) struct SandboxedCommand {
    pub(crate) command: ProcessSpec,
    /// Must be dropped when the command has ended.
    pub(crate) guard: SandboxGuard,
    /// The sandbox backend.
    pub(crate) sandbox: String,
    /// What this backend does not enforce, and why no better one was used.
    pub(crate) gaps: Vec<String>,
    /// Whether standard input becomes its controlling terminal.
    pub(crate) terminal: bool,
    /// Paths in the workspace that it may not change.
    pub(crate) protected: Vec<PathBuf>,
    /// The folder of its temporary files, and how many bytes they may have.
    pub(crate) temporary: Option<(PathBuf, u64)>,
    /// Whether the FIFO of its setup is written to.
    pub(crate) reports_setup: bool,
}

impl Sandboxer {
    pub(crate) fn new(options: ShellOptions, files: Arc<LocalFiles>) -> Self {
        let views = Views::new(&options.view_folder, files.root());
        let scanned = ScanCache::with_secrets_in(options.view_folder.join("known-secrets"));
        let (networks, folders) = (Arc::default(), Arc::default());
        Self { options, files, views, networks, scanned, folders, selected: Mutex::default() }
    }
    pub(crate) fn options(&self) -> &ShellOptions {
        &self.options
    }
    pub(crate) fn files(&self) -> &Arc<LocalFiles> {
        &self.files
    }
    /// Where a command runs; with the sandbox turned off, on the machine itself.
    pub(crate) fn exec_host(&self, requested: Option<ExecHost>) -> ExecHost {
        match requested.unwrap_or(self.options.host) {
            ExecHost::Sandbox if self.options.sandbox == SandboxBackend::None => ExecHost::Host,
            host => host,
        }
    }

    pub(crate) fn networks(&self) -> &Arc<SessionNetworks> {
        &self.networks
    }
    /// The network of a session, where bubblewrap is the backend. Blocks, and must run on a thread that lives as long.
    pub(crate) fn session_network(&self, session: &str) -> Option<NetworkNamespace> {
        let is_used = matches!(self.options.sandbox, SandboxBackend::Auto | SandboxBackend::Bubblewrap);
        is_used.then(|| self.networks.get_or_start(session, &self.options.launcher)).flatten()
    }
    /// Removes the temporary folders and the network of a session.
    pub(crate) fn remove_session(&self, session: &str) {
        self.networks.remove(session);
        self.views.remove_session(session);
    }
    /// Why changes of commands cannot be staged here.
    pub(crate) fn staging_gap(&self) -> Option<&'static str> {
        let selected = self.select(self.options.sandbox, self.options.required, &SandboxPolicy::default());
        // Where no sandbox works, the command itself says so.
        if selected.is_ok_and(|selected| selected.sandbox.name() != BUBBLEWRAP) {
            return Some("this sandbox has no overlays");
        }
        staging_gap(&self.options.changes.folder, &self.files.writable())
    }
    /// Whether a command of this host is not set up where something else is than what was found there.
    pub(crate) fn compares_mounts(&self, host: ExecHost) -> bool {
        let selected = self.select(self.backend(host), self.options.required, &SandboxPolicy::default());
        // Where no sandbox works, the command itself says so.
        selected.map_or(true, |selected| selected.sandbox.reports_setup())
    }
    fn backend(&self, host: ExecHost) -> SandboxBackend {
        match host {
            ExecHost::Sandbox => self.options.sandbox,
            ExecHost::Container => SandboxBackend::Container,
            _ => SandboxBackend::None,
        }
    }
    /// Folders as the guards of runs have seen them.
    pub(crate) fn folders(&self) -> &Arc<FolderCache> {
        &self.folders
    }
    /// Searches the roots for what the sandbox protects and hides. Blocks.
    pub(crate) fn paths(&self) -> SandboxPaths {
        self.files.sandbox_paths(&self.scanned)
    }

    /// Wraps a command in its sandbox. Blocks: it creates folders and control groups.
    pub(crate) fn wrap(&self, planned: &ShellCommand, setup: RunSetup<'_>) -> Result<SandboxedCommand, ToolError> {
        let shell = planned.shell();
        check_directory(&shell.directory)?;
        lookup::check_scripts(planned.scripts())?;
        let choice = self.backend(shell.host);
        if choice == SandboxBackend::None {
            return self.wrap_unconfined(planned, setup);
        }
        let (terminal, uncovered, roots) = (setup.terminal, setup.paths.uncovered.clone(), setup.paths.writable.clone());
        if self.options.required && !uncovered.is_empty() {
            return Err(too_large(&uncovered));
        }
        let moving = setup.paths.moving.first().cloned();
        if let Some(folder) = moving.as_ref().filter(|_| self.options.required) {
            return Err(keeps_moving(folder));
        }
        let uncovered = uncovered.into_iter().chain(moving.map(|folder| not_at_rest(&folder)));
        let base = SandboxPolicy { network: setup.network.clone(), ..SandboxPolicy::default() };
        let selected = self.select(choice, self.options.required, &base).map_err(unavailable)?;
        let Selection { sandbox, skipped, .. } = &*selected;
        if sandbox.has_own_root() && planned.program_folder().is_some() {
            return Err(in_container());
        }
        let view = ViewLimits {
            read_only: planned.has_read_only_view(),
            adds_packages: !planned.has_read_only_view() && may_add_packages(planned),
            limits: planned.limits(),
            program_folder: planned.program_folder(),
        };
        let (mut policy, variables) = self.policy(&**sandbox, view, setup)?;
        policy.terminal = terminal && sandbox.supports_terminals();
        // The proxy that decides on every connection cannot be offered: the command has no network. It is refused only if it needs one.
        let plans_hosts = planned.effects().iter().any(|effect| matches!(effect, Effect::Connect(_)));
        if matches!(policy.network, NetworkAccess::Proxy { .. }) && !sandbox.supports_proxy() && !plans_hosts {
            policy.network = NetworkAccess::Off;
        }
        let gaps = check_gaps(&**sandbox, &policy, self.options.required).map_err(unavailable)?;
        let command = command(&**sandbox, planned, &policy, &roots, terminal, variables);
        let ConfinedCommand { command, guard } = sandbox.wrap(command, &policy).map_err(unavailable)?;
        let gaps = gaps.into_iter().chain(skipped.iter().map(ToString::to_string)).chain(uncovered).collect();
        let sandbox = sandbox.name().to_owned();
        let (temporary, reports_setup) = (policy.view.tmp.zip(policy.limits.tmp_size), selected.sandbox.reports_setup());
        let SandboxPolicy { terminal, protected, .. } = policy;
        Ok(SandboxedCommand { command, guard, sandbox, gaps, terminal, protected, temporary, reports_setup })
    }

    /// On the machine itself, with a controlling terminal if it needs one.
    fn wrap_unconfined(&self, planned: &ShellCommand, setup: RunSetup<'_>) -> Result<SandboxedCommand, ToolError> {
        let policy = SandboxPolicy { overlay: setup.overlay, network: NetworkAccess::Host, ..SandboxPolicy::default() };
        let selected = self.select(SandboxBackend::None, false, &policy).map_err(unavailable)?;
        let shell = planned.shell();
        let mut command = ProcessSpec::new(&shell.program, &shell.directory).arguments(&shell.arguments);
        command.environment = environment::clean(planned.environment(), setup.terminal);
        command.environment = environment::without_writable_path(command.environment, &setup.paths.writable, &[]);
        command.environment.push(orphans::new_env_tag());
        let ConfinedCommand { command, guard } = selected.sandbox.wrap(command, &policy).map_err(unavailable)?;
        let at_terminal = if setup.terminal { self.options.launcher.with_terminal(&command) } else { None };
        let (terminal, command) = (at_terminal.is_some(), at_terminal.unwrap_or(command));
        let sandbox = selected.sandbox.name().to_owned();
        let (gaps, protected) = (Vec::new(), Vec::new());
        Ok(SandboxedCommand { command, guard, sandbox, gaps, terminal, protected, temporary: None, reports_setup: false })
    }

    /// The requested limits that are enforced: those that are tighter than the configured ones. Outside a sandbox none are.
    pub(crate) fn enforced_limits(&self, requested: CommandLimits, host: ExecHost) -> CommandLimits {
        if !host.is_sandboxed() {
            return CommandLimits::default();
        }
        requested.within(self.options.limits)
    }

    /// The sandbox policy of a command, and the variables that fit it.
    fn policy(
        &self,
        sandbox: &dyn Sandbox,
        run: ViewLimits<'_>,
        setup: RunSetup<'_>,
    ) -> Result<(SandboxPolicy, Vec<(OsString, OsString)>), ToolError> {
        let RunSetup { session, mut paths, network, shared_network, overlay, mut layers, fixed, removals, report, .. } = setup;
        // Rules know them by their place.
        let outside: Vec<PathBuf> = self.options.readable.iter().flat_map(|globs| paths_outside(self.files.root(), globs)).collect();
        note_identities(&mut paths, outside.iter())?;
        let mut view = RunView::default();
        if !sandbox.has_own_root() {
            let view_of_run = self.views.for_run(session, &paths, run.adds_packages);
            view = view_of_run.map_err(|error| no_view(&self.options.view_folder, error))?;
            layers.append(&mut view.layers);
            view.view.read_only.extend(run.program_folder.map(Bind::same));
        }
        let SandboxPaths { mut writable, mut read_only, mut protected, mut masked, mut pinned, repositories, identities, .. } = paths;
        for git in repositories.into_iter().filter(|git| layers.iter().all(|layer| layer.lower != *git)) {
            let is_inside = writable.iter().any(|root| git.starts_with(root));
            if is_inside { &mut protected } else { &mut read_only }.push(git);
        }
        let exists = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink());
        protected.extend(self.options.protected.iter().filter(exists).cloned());
        pinned.extend(self.options.protected.iter().filter(exists).cloned());
        masked.extend(self.options.hidden.iter().cloned());
        pinned.extend(outside.iter().cloned().chain(fixed));
        masked.extend(outside);
        masked.extend(std::env::home_dir().map(|home| usual_secrets(&home)).unwrap_or_default());
        if run.read_only {
            read_only.append(&mut writable);
            protected.clear();
        }
        let limits = self.options.limits.tightest(run.limits);
        let policy = SandboxPolicy {
            writable,
            read_only,
            protected,
            masked,
            pinned,
            identities,
            setup_report: report,
            network,
            limits,
            terminal: false,
            overlay,
            layers,
            view: view.view,
            removals,
            shared_network,
            // Those in the roots are found with the secrets.
            sockets: SocketAccess::Programs,
        };
        Ok((policy, view.variables))
    }

    fn select(&self, choice: SandboxBackend, required: bool, policy: &SandboxPolicy) -> Result<Arc<Selection>, SandboxError> {
        let mut all = self.selected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, selected)) = all.iter().find(|(known, _)| *known == choice) {
            return Ok(Arc::clone(selected));
        }
        let ShellOptions { launcher, mut container, .. } = self.options.clone();
        container.roots = self.files.writable();
        let selected = Arc::new(haft_sandbox::select(&SelectionRequest { choice, required, launcher, container }, policy)?);
        all.push((choice, Arc::clone(&selected)));
        Ok(selected)
    }
}

/// The process to confine.
fn command(
    sandbox: &dyn Sandbox,
    planned: &ShellCommand,
    policy: &SandboxPolicy,
    roots: &[PathBuf],
    terminal: bool,
    mut variables: Vec<(OsString, OsString)>,
) -> ProcessSpec {
    let shell = planned.shell();
    let mut command = ProcessSpec::new(&shell.program, &shell.directory).arguments(&shell.arguments);
    if sandbox.name() == LANDLOCK
        && let Some(home) = &policy.view.home
    {
        // It mounts nothing: the private home is where it is.
        variables.push(("HOME".into(), home.source.clone().into()));
    }
    // Also where the workspace is read-only: an earlier command may have put a program there.
    let clean = environment::without_writable_path(environment::clean(&[], terminal), roots, &policy.view.read_only);
    let clean = match &policy.view.home {
        Some(home) => environment::with_private_programs_last(clean, &home.at, &policy.view.read_only),
        None => clean,
    };
    let own = planned.environment().iter().map(|(name, value)| (name.into(), value.into())).collect();
    command.environment = environment::with_variables(environment::with_variables(clean, variables), own);
    if sandbox.has_own_root() {
        // A bare name is a program of the container.
        if command.program.is_absolute() {
            command.program = CONTAINER_SHELL.into();
        }
        command.environment = environment::in_container(command.environment);
    }
    command
}

/// What is said of a workspace in which not everything can be looked for.
pub(crate) fn too_large(uncovered: &[String]) -> ToolError {
    let why = uncovered.join("; ");
    let advice = "Work in a smaller folder, or set sandbox.mode = \"preferred\" to accept that";
    ToolError::new(ErrorKind::SandboxUnavailable, format!("The command was not run: {why}. {advice}."))
}

fn not_at_rest(folder: &Path) -> String {
    let folder = display::escape_line(&folder.to_string_lossy()).into_owned();
    format!("folders such as '{folder}' were moved all the time, and secrets in them may have been missed")
}

fn no_view(folder: &Path, error: std::io::Error) -> ToolError {
    let what = format!("The command was not run: its private folders in '{}' cannot be created: {error}.", folder.display());
    ToolError::new(ErrorKind::SandboxUnavailable, what).with_source(error)
}

/// Refuses a working directory that was replaced by a link since the command was planned.
fn check_directory(directory: &Path) -> Result<(), ToolError> {
    let path = |path: &Path| display::escape_line(&path.to_string_lossy()).into_owned();
    match directory.canonicalize() {
        Ok(now) if now == directory => Ok(()),
        Ok(now) => {
            let (was, now) = (path(directory), path(&now));
            let what = format!("The working directory '{was}' is now '{now}', and was not when it was checked. The command was not run.");
            Err(ToolError::new(ErrorKind::PathNotAllowed, what))
        }
        Err(error) => {
            let what = format!("The working directory '{}' is gone: {error}. The command was not run.", path(directory));
            Err(ToolError::new(ErrorKind::FileNotFound, what).with_source(error))
        }
    }
}

pub(crate) fn unavailable(error: SandboxError) -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, format!("The command was not run: {error}.")).with_source(error)
}

#[cfg(test)]
mod tests;
