//! Bubblewrap: namespaces of all kinds, an empty root, and on it the folders of the system and the paths of the policy. The launcher does
//! the same itself ([`crate::launcher`]), and faster; the program `bwrap` does it where the kernel lets only named programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};

use crate::command::ProcessSpec;
use crate::environment;
use crate::error::SandboxError;
use crate::landlock::LandlockRules;
use crate::launcher::namespaces::{NETWORK, REPORT};
use crate::launcher::{InnerStep, Launcher, OuterStep, Relay, step};
use crate::limits::Cgroup;
use crate::mounts::{MountPlan, RootFolder};
use crate::overlay::{OverlayLayer, WorkFolders};
use crate::policy::{NetworkAccess, SandboxPolicy, SocketAccess};
use crate::probe;
use crate::sandbox::{ConfinedCommand, Sandbox, SandboxGuard};
use crate::seccomp::{Sockets, Tracing};
use crate::session_network::NetworkNamespace;

pub(crate) const NAME: &str = "bubblewrap";
const OLDEST: (u32, u32) = (0, 8);
/// Retries where a mount of the host disappears meanwhile.
const TRIES: u32 = 3;
/// Install paths of the program.
/// A program elsewhere on the `PATH` is not used: a command could have planted it.
const INSTALL_PATHS: &[&str] = &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// Paths inside, in the private `/run`.
const LAUNCHER: &str = "/run/haft/launcher";
const PROXY: &str = "/run/haft/proxy";
const REMOVALS: &str = "/run/haft/removals";
const NAMESPACES: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--as-pid-1",
    "--new-session",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--hostname",
    "haft",
];
const REINSTALL: &str = "install haft again";

/// Who makes the namespaces and mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamespaceMaker {
    /// The launcher itself.
    Launcher,
    /// The program `bwrap`.
    Program(PathBuf),
}

impl NamespaceMaker {
    /// The program with its arguments, for those that describe the mounts and the command.
    fn command(&self, launcher: &Launcher, arguments: Vec<OsString>) -> (PathBuf, Vec<OsString>) {
        let (program, first) = match self {
            Self::Launcher => (launcher.path(), vec![step::NAMESPACES.into()]),
            Self::Program(program) => (program.as_path(), NAMESPACES.iter().map(Into::into).collect::<Vec<OsString>>()),
        };
        (program.to_owned(), first.into_iter().chain(arguments).collect())
    }
}

/// Confines by namespaces, with the system call filter and (where the kernel has it) Landlock as further layers.
#[derive(Debug)]
pub struct Bubblewrap {
    maker: NamespaceMaker,
    launcher: Launcher,
}

impl Bubblewrap {
    /// Tries the launcher, then the program `bwrap`, so that a kernel that forbids namespaces is noticed now.
    ///
    /// # Errors
    /// `Unavailable`, with a remedy.
    pub fn detect(launcher: Launcher) -> Result<Self, SandboxError> {
        let own = Self { maker: NamespaceMaker::Launcher, launcher };
        let Err(refused) = own.check() else { return Ok(own) };
        match find() {
            Some(program) => Self::with_program(program, own.launcher),
            None => Err(refused),
        }
    }

    /// With the program at this path.
    ///
    /// # Errors
    /// `Unavailable`, with a remedy.
    pub fn with_program(program: impl Into<PathBuf>, launcher: Launcher) -> Result<Self, SandboxError> {
        let program = program.into();
        let failed = |error| missing(format!("{} cannot be run: {error}", program.display()));
        let version = run(&program, &["--version".into()]).map_err(failed)?;
        check_version(&String::from_utf8_lossy(&version.stdout))?;
        let sandbox = Self { maker: NamespaceMaker::Program(program), launcher };
        sandbox.check()?;
        Ok(sandbox)
    }

    /// Runs the launcher in all namespaces, without a command.
    fn check(&self) -> Result<(), SandboxError> {
        let failed = |error| SandboxError::unavailable(NAME, format!("it cannot be run: {error}"), REINSTALL);
        let mut trial = self.run_trial().map_err(failed)?;
        // Bubblewrap fails if a mount of the host disappears while it copies the mount table.
        for _ in 0..TRIES {
            if trial.status.success() || !String::from_utf8_lossy(&trial.stderr).contains("Unable to apply mount flags") {
                break;
            }
            trial = self.run_trial().map_err(failed)?;
        }
        if trial.status.success() { Ok(()) } else { Err(forbidden(&String::from_utf8_lossy(&trial.stderr))) }
    }

    fn run_trial(&self) -> std::io::Result<Output> {
        let mounts = [NETWORK, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"];
        let mut arguments: Vec<OsString> = mounts.map(Into::into).into();
        arguments.extend(["--ro-bind".into(), real(self.launcher.path()).into(), LAUNCHER.into(), "--".into(), LAUNCHER.into()]);
        arguments.extend(probe::HARMLESS.map(Into::into));
        let (program, arguments) = self.maker.command(&self.launcher, arguments);
        run(&program, &arguments)
    }

    /// Adds the outer step, which is needed only to join a control group or a network, or to mount an overlay.
    fn outer(
        &self,
        cgroup: Option<&Cgroup>,
        policy: &SandboxPolicy,
        arguments: Vec<OsString>,
    ) -> Result<(PathBuf, Vec<OsString>), SandboxError> {
        let mut layers = policy.overlay.as_ref().map(|overlay| overlay.layers().to_vec()).unwrap_or_default();
        layers.extend(policy.layers.iter().cloned());
        // Deeper ones are mounted on top of those above them.
        layers.sort_by_key(|layer| layer.mount_point().components().count());
        let identity = |layer: &OverlayLayer| policy.identities.get(&layer.lower).copied();
        let layers = layers
            .into_iter()
            .map(|layer| {
                let identity = identity(&layer);
                layer.expecting(identity)
            })
            .collect::<Vec<_>>();
        let cgroup_files = cgroup.map(Cgroup::join_files).unwrap_or_default();
        let network = shared_network(policy).cloned();
        let (program, arguments) = self.maker.command(&self.launcher, arguments);
        if cgroup_files.is_empty() && layers.is_empty() && network.is_none() {
            return Ok((program, arguments));
        }
        let mut outer = step::arguments(step::OUTER, &OuterStep { cgroup_files, layers, network })?;
        outer.push(program.into());
        outer.extend(arguments);
        Ok((self.launcher.path().to_owned(), outer))
    }

    fn arguments(&self, plan: &MountPlan, command: &ProcessSpec, policy: &SandboxPolicy) -> Result<Vec<OsString>, SandboxError> {
        let mut arguments = Vec::new();
        if policy.network != NetworkAccess::Host && shared_network(policy).is_none() {
            arguments.push(NETWORK.into());
        }
        let (mounts, last) = plan.arguments(policy.tmp_size());
        arguments.extend(mounts);
        let proxy = if let NetworkAccess::Proxy { socket, .. } = &policy.network { Some(socket.as_path()) } else { None };
        let own = [(Some(self.launcher.path()), LAUNCHER), (proxy, PROXY), (policy.removals.as_deref(), REMOVALS)];
        for (source, at) in own.into_iter().filter_map(|(source, at)| Some((source?, at))) {
            arguments.extend(["--ro-bind".into(), real(source).into(), at.into()]);
        }
        arguments.extend(last);
        let directory = command.directory.canonicalize().map_err(|error| SandboxError::io("start in", &command.directory, error))?;
        if !plan.shows(&directory) {
            let what = format!("the working directory {} is not visible in the sandbox", directory.display());
            return Err(SandboxError::policy(format!("{what}; add it to workspace.roots, or choose a folder of the workspace")));
        }
        arguments.extend(["--chdir".into(), directory.into()]);
        let report = policy.setup_report.as_ref().filter(|_| self.maker == NamespaceMaker::Launcher);
        arguments.extend(report.into_iter().flat_map(|path| [REPORT.into(), real(path).into()]));
        Ok(arguments)
    }
}

impl Sandbox for Bubblewrap {
    fn name(&self) -> &'static str {
        NAME
    }

    fn supports_terminals(&self) -> bool {
        true
    }

    fn supports_proxy(&self) -> bool {
        true
    }

    fn reports_setup(&self) -> bool {
        self.maker == NamespaceMaker::Launcher
    }

    fn wrap(&self, command: ProcessSpec, policy: &SandboxPolicy) -> Result<ConfinedCommand, SandboxError> {
        let program = match &self.maker {
            NamespaceMaker::Launcher => self.launcher.path(),
            NamespaceMaker::Program(program) => program,
        };
        let plan = MountPlan::new(RootFolder::Empty, policy, &[self.launcher.path(), program])?;
        let plan = if self.maker == NamespaceMaker::Launcher { plan } else { plan.without_identities() };
        let cgroup = Cgroup::create(&policy.limits);
        let inner = inner(policy, cgroup.as_ref(), plan.writable());
        let mut arguments = self.arguments(&plan, &command, policy)?;
        arguments.extend(["--".into(), LAUNCHER.into()]);
        arguments.extend(step::arguments(step::INNER, &inner)?);
        arguments.push(command.program.into());
        arguments.extend(command.arguments);
        let (program, arguments) = self.outer(cgroup.as_ref(), policy, arguments)?;

        let environment = match policy.network {
            NetworkAccess::Proxy { port, .. } => environment::with_proxy(command.environment, port),
            NetworkAccess::Off | NetworkAccess::Host => command.environment,
        };
        let work_folders = WorkFolders(policy.layers.iter().filter(|layer| layer.is_cache()).cloned().collect());
        let guard = SandboxGuard { namespace: true, cgroup, work_folders, ..SandboxGuard::default() };
        let command = ProcessSpec { program, arguments, directory: "/".into(), environment: environment::carry(environment) };
        Ok(ConfinedCommand { command, guard })
    }
}

/// The namespace that the outer step joins, instead of one of its own.
fn shared_network(policy: &SandboxPolicy) -> Option<&NetworkNamespace> {
    policy.shared_network.as_ref().filter(|_| policy.network != NetworkAccess::Host)
}

fn inner(policy: &SandboxPolicy, cgroup: Option<&Cgroup>, writable: Vec<PathBuf>) -> InnerStep {
    let (own, tracing) = match policy.sockets {
        SocketAccess::Tcp => (Sockets::Tcp, Tracing::Nobody),
        SocketAccess::Unix => (Sockets::TcpAndUnix, Tracing::Nobody),
        SocketAccess::Programs => (Sockets::Inside, Tracing::OwnNamespace),
    };
    let (sockets, relay) = match &policy.network {
        NetworkAccess::Off => (own, None),
        NetworkAccess::Host => (Sockets::TcpAndUdp, None),
        NetworkAccess::Proxy { port, .. } => (own, Some(Relay { port: *port, socket: PROXY.into() })),
    };
    let mut write = writable;
    write.extend(["/tmp", "/var/tmp", "/dev", "/proc"].map(PathBuf::from));
    InnerStep {
        limits: policy.limits,
        cgroup_limits: cgroup.map(|group| group.limits).unwrap_or_default(),
        sockets,
        tracing,
        relay,
        landlock: Some(LandlockRules { read: vec!["/".into()], write, no_tcp: false, required: false }),
        cgroup_files: Vec::new(),
        moves_folders: policy.overlay.is_some(),
        removals: policy.removals.is_some().then(|| REMOVALS.into()),
        is_init: true,
        terminal: policy.terminal,
    }
}

pub(crate) fn find() -> Option<PathBuf> {
    INSTALL_PATHS.iter().map(PathBuf::from).find(|path| path.is_file())
}

fn run(program: &Path, arguments: &[OsString]) -> std::io::Result<Output> {
    Process::new(program).args(arguments).env_clear().current_dir("/").stdin(Stdio::null()).output()
}

/// Without links: nothing is mounted through one. What is missing stops the launcher.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn missing(why: impl Into<String>) -> SandboxError {
    SandboxError::unavailable(NAME, why, "install it (for example: sudo apt-get install bubblewrap)")
}

fn check_version(text: &str) -> Result<(), SandboxError> {
    let mut numbers = text.trim().rsplit(' ').next().unwrap_or_default().split('.').map(|part| part.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    if version.is_some_and(|version| version >= OLDEST) {
        return Ok(());
    }
    let why = format!("its version is '{}', and {}.{} or newer is needed", text.trim(), OLDEST.0, OLDEST.1);
    Err(SandboxError::unavailable(NAME, why, "install a newer bubblewrap"))
}

fn forbidden(stderr: &str) -> SandboxError {
    let why = format!("the kernel refused it: {}", stderr.lines().next().unwrap_or("no message"));
    let remedy = "install bubblewrap (for example: sudo apt-get install bubblewrap), which some systems let create them; or allow user \
                  namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces, or \
                  kernel.apparmor_restrict_unprivileged_userns=0; in a container its own rules decide), or use another sandbox";
    SandboxError::unavailable(NAME, why, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_are_old_or_unknown_are_refused() {
        let cases =
            [("bubblewrap 0.8.0\n", true), ("bubblewrap 0.11.0", true), ("bubblewrap 1.0", true), ("bubblewrap 0.7.9", false), ("", false)];
        for (text, good) in cases {
            assert_eq!(check_version(text).is_ok(), good, "{text}");
        }
    }
}
