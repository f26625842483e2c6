//! Bubblewrap: namespaces of all kinds, a read-only root, and what the policy makes writable on top.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};

use crate::command::Command;
use crate::environment;
use crate::error::SandboxError;
use crate::landlock::Rules;
use crate::launcher::{Inner, Launcher, Outer, Relay};
use crate::limits::{Cgroup, Held};
use crate::mounts::Plan;
use crate::policy::{Network, Policy};
use crate::probe;
use crate::sandbox::{Guard, Sandbox, Wrapped};
use crate::seccomp::Sockets;

pub(crate) const NAME: &str = "bubblewrap";
const OLDEST: (u32, u32) = (0, 8);
/// How often it is tried again where the machine changed under it.
const TRIES: u32 = 3;
/// Where distributions install it; then the `PATH` is searched.
const PLACES: &[&str] = &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
/// Private places inside, in the sandbox's own `/run`.
const LAUNCHER: &str = "/run/haft/launcher";
const PROXY: &str = "/run/haft/proxy";
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
];

/// Confines by namespaces, with the filter on system calls (and Landlock, where the kernel has it) beneath.
#[derive(Debug)]
pub struct Bubblewrap {
    program: PathBuf,
    launcher: Launcher,
}

impl Bubblewrap {
    /// Finds the program and tries it, so that a kernel that forbids namespaces is noticed now.
    ///
    /// # Errors
    /// `Unavailable`, with what to do.
    pub fn detect(launcher: Launcher) -> Result<Self, SandboxError> {
        let program = find().ok_or_else(|| missing("the program 'bwrap' is not installed"))?;
        Self::with_program(program, launcher)
    }

    /// The same with a program of your choice.
    ///
    /// # Errors
    /// `Unavailable`, with what to do.
    pub fn with_program(program: impl Into<PathBuf>, launcher: Launcher) -> Result<Self, SandboxError> {
        let program = program.into();
        let failed = |error| missing(format!("{} cannot be run: {error}", program.display()));
        let version = run(&program, &["--version".into()]).map_err(failed)?;
        check_version(&String::from_utf8_lossy(&version.stdout))?;
        let sandbox = Self { program: program.clone(), launcher };
        let mut tried = sandbox.try_out().map_err(failed)?;
        // A mount of the machine that goes while bubblewrap copies all of them is no reason to do without it.
        for _ in 0..TRIES {
            if tried.status.success() || !String::from_utf8_lossy(&tried.stderr).contains("Unable to apply mount flags") {
                break;
            }
            tried = sandbox.try_out().map_err(failed)?;
        }
        if tried.status.success() { Ok(sandbox) } else { Err(forbidden(&String::from_utf8_lossy(&tried.stderr))) }
    }

    /// All namespaces at once, and no command of anyone's.
    fn try_out(&self) -> std::io::Result<Output> {
        let mut arguments: Vec<OsString> = NAMESPACES.iter().map(Into::into).collect();
        arguments.extend(["--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run"].map(Into::into));
        arguments.extend(["--ro-bind".into(), self.launcher.path().into(), LAUNCHER.into(), "--".into(), LAUNCHER.into()]);
        arguments.extend(probe::HARMLESS.map(Into::into));
        run(&self.program, &arguments)
    }

    /// The outer stage has something to do only where there is a control group to join, or an overlay to lay.
    fn outer(&self, cgroup: Option<&Cgroup>, policy: &Policy, arguments: Vec<OsString>) -> Result<(PathBuf, Vec<OsString>), SandboxError> {
        let layers = policy.overlay.as_ref().map(|overlay| overlay.layers().to_vec()).unwrap_or_default();
        let doors = cgroup.map(Cgroup::doors).unwrap_or_default();
        if doors.is_empty() && layers.is_empty() {
            return Ok((self.program.clone(), arguments));
        }
        let mut outer = Launcher::outer(&Outer { doors, layers })?;
        outer.push(self.program.clone().into());
        outer.extend(arguments);
        Ok((self.launcher.path().to_owned(), outer))
    }

    fn arguments(&self, plan: &Plan, command: &Command, policy: &Policy) -> Result<Vec<OsString>, SandboxError> {
        let mut arguments: Vec<OsString> = NAMESPACES.iter().map(Into::into).collect();
        if policy.network != Network::Host {
            arguments.push("--unshare-net".into());
        }
        arguments.extend(["--hostname", "haft"].map(Into::into));
        arguments.extend(plan.arguments(policy.limits.tmp_size));
        arguments.extend(["--ro-bind".into(), self.launcher.path().into(), LAUNCHER.into()]);
        if let Network::Proxy { socket, .. } = &policy.network {
            arguments.extend(["--ro-bind".into(), socket.into(), PROXY.into()]);
        }
        // Last, since all that is mounted inside must be made before.
        arguments.extend(["--remount-ro", "/run", "--remount-ro", "/dev", "--chdir"].map(Into::into));
        let directory = command.directory.canonicalize().map_err(|error| SandboxError::io("start in", &command.directory, error))?;
        arguments.push(directory.into());
        Ok(arguments)
    }
}

impl Sandbox for Bubblewrap {
    fn name(&self) -> &'static str {
        NAME
    }

    fn gives_terminals(&self) -> bool {
        true
    }

    fn wrap(&self, command: Command, policy: &Policy) -> Result<Wrapped, SandboxError> {
        let mut plan = Plan::new(policy, &[self.launcher.path(), &self.program])?;
        let cgroup = Cgroup::create(&policy.limits);
        let inner = inner(policy, cgroup.as_ref(), plan.writable());
        let mut arguments = self.arguments(&plan, &command, policy)?;
        arguments.extend(["--".into(), LAUNCHER.into()]);
        arguments.extend(Launcher::inner(&inner)?);
        arguments.push(command.program.into());
        arguments.extend(command.arguments);
        let (program, arguments) = self.outer(cgroup.as_ref(), policy, arguments)?;

        let environment = match policy.network {
            Network::Proxy { port, .. } => environment::with_proxy(command.environment, port),
            Network::Off | Network::Host => command.environment,
        };
        let guard = Guard { namespace: true, cgroup, placeholders: plan.take_placeholders(), ..Guard::default() };
        let command = Command { program, arguments, directory: "/".into(), environment: environment::carry(environment) };
        Ok(Wrapped { command, guard })
    }
}

fn inner(policy: &Policy, cgroup: Option<&Cgroup>, writable: Vec<PathBuf>) -> Inner {
    let (sockets, relay) = match &policy.network {
        Network::Off => (Sockets::Tcp, None),
        Network::Host => (Sockets::TcpAndUdp, None),
        Network::Proxy { port, .. } => (Sockets::Tcp, Some(Relay { port: *port, socket: PROXY.into() })),
    };
    let mut write = writable;
    write.extend(["/tmp", "/var/tmp", "/dev", "/proc"].map(PathBuf::from));
    Inner {
        limits: policy.limits,
        held: cgroup.map(|group| Held { memory: group.memory, processes: group.processes }).unwrap_or_default(),
        sockets,
        relay,
        landlock: Some(Rules { read: vec!["/".into()], write, no_tcp: false, required: false }),
        doors: Vec::new(),
        first: true,
        terminal: policy.terminal,
    }
}

fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let searched = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join("bwrap"));
    PLACES.iter().map(PathBuf::from).chain(searched).find(|place| place.is_file())
}

fn run(program: &Path, arguments: &[OsString]) -> std::io::Result<Output> {
    Process::new(program).args(arguments).env_clear().current_dir("/").stdin(Stdio::null()).output()
}

fn missing(why: impl Into<String>) -> SandboxError {
    SandboxError::unavailable(NAME, why, "install it (for example: sudo apt-get install bubblewrap)")
}

fn check_version(text: &str) -> Result<(), SandboxError> {
    let mut numbers = text.trim().rsplit(' ').next().unwrap_or_default().split('.').map(|part| part.parse::<u32>().ok());
    let found = numbers.next().flatten().zip(numbers.next().flatten());
    if found.is_some_and(|found| found >= OLDEST) {
        return Ok(());
    }
    let why = format!("its version is '{}', and {}.{} or newer is needed", text.trim(), OLDEST.0, OLDEST.1);
    Err(SandboxError::unavailable(NAME, why, "install a newer bubblewrap"))
}

fn forbidden(stderr: &str) -> SandboxError {
    let why = format!("the kernel refused it: {}", stderr.lines().next().unwrap_or("it said nothing"));
    let remedy = "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces, or \
                  kernel.apparmor_restrict_unprivileged_userns=0; in a container its own rules decide), or use another sandbox";
    SandboxError::unavailable(NAME, why, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_unknown_versions_are_refused() {
        let cases =
            [("bubblewrap 0.8.0\n", true), ("bubblewrap 0.11.0", true), ("bubblewrap 1.0", true), ("bubblewrap 0.7.9", false), ("", false)];
        for (text, good) in cases {
            assert_eq!(check_version(text).is_ok(), good, "{text}");
        }
    }
}
