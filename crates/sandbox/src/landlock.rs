//! Landlock: a second layer inside bubblewrap, or the only one where namespaces are forbidden.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use serde::{Deserialize, Serialize};

use crate::command::ProcessSpec;
use crate::environment;
use crate::error::SandboxError;
use crate::launcher::{InnerStep, Launcher, step};
use crate::limits::Cgroup;
use crate::mounts::system;
use crate::policy::{NetworkAccess, SandboxPolicy};
use crate::sandbox::{ConfinedCommand, Sandbox, SandboxGuard};
use crate::seccomp::{Sockets, Tracing};

const NAME: &str = "landlock";
/// Newest known version; older kernels enforce what they support.
const NEWEST: ABI = ABI::V7;
/// Devices that programs need.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/ptmx"];
/// Bounds the rules for masks deep in large directories, which list everything around them.
const MOST_RULES: usize = 4096;

/// Paths and connections that Landlock allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandlockRules {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// Refuse TCP, where no network namespace does.
    pub(crate) no_tcp: bool,
    /// Fail where the kernel has no Landlock, instead of continuing with the other layers.
    pub(crate) required: bool,
}

/// Confines by Landlock and the system call filter alone.
#[derive(Debug)]
pub struct Landlock {
    launcher: Launcher,
}

impl Landlock {
    /// Checks that the kernel supports it.
    ///
    /// # Errors
    /// `Unavailable`, with what to do.
    pub fn detect(launcher: Launcher) -> Result<Self, SandboxError> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::Execute);
        ruleset.and_then(Ruleset::create).map(|_| Self { launcher }).map_err(|error| {
            let remedy = "use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and 'landlock' in the kernel's parameter 'lsm=', \
                          or another sandbox";
            SandboxError::unavailable(NAME, format!("the kernel lacks it, or has it disabled: {error}"), remedy)
        })
    }
}

impl Sandbox for Landlock {
    fn name(&self) -> &'static str {
        NAME
    }

    fn supports_terminals(&self) -> bool {
        true
    }

    fn wrap(&self, command: ProcessSpec, policy: &SandboxPolicy) -> Result<ConfinedCommand, SandboxError> {
        policy.refuse_overlay(NAME)?;
        let sockets = match policy.network {
            NetworkAccess::Off => Sockets::None,
            NetworkAccess::Host => Sockets::TcpAndUdp,
            NetworkAccess::Proxy { .. } => {
                let why = "without a network namespace a command can bypass the proxy";
                return Err(SandboxError::unsupported(NAME, why, "set the network to 'off', or use bubblewrap"));
            }
        };
        let cgroup = Cgroup::create(&policy.limits);
        let inner = InnerStep {
            limits: policy.limits,
            cgroup_limits: cgroup.as_ref().map(|group| group.limits).unwrap_or_default(),
            sockets,
            tracing: Tracing::Nobody,
            relay: None,
            landlock: Some(rules(policy)?),
            cgroup_files: cgroup.as_ref().map(Cgroup::join_files).unwrap_or_default(),
            moves_folders: false,
            removals: None,
            is_init: false,
            terminal: policy.terminal,
        };
        let mut arguments = step::arguments(step::INNER, &inner)?;
        arguments.push(command.program.into_os_string());
        arguments.extend(command.arguments);
        let environment = environment::carry(command.environment);
        let program = self.launcher.path().to_owned();
        let guard = SandboxGuard { cgroup, ..SandboxGuard::default() };
        Ok(ConfinedCommand { command: ProcessSpec { program, arguments, directory: command.directory, environment }, guard })
    }

    fn gaps(&self, policy: &SandboxPolicy) -> Vec<String> {
        let inside = |path: &PathBuf| policy.writable.iter().any(|root| path.starts_with(root));
        let always = [
            "the processes of the host are visible",
            "there is no private /tmp and no private home folder",
            "a process that leaves its process group may outlive the run",
        ];
        let mut gaps: Vec<String> = always.map(str::to_owned).into();
        gaps.extend(policy.protected_without_layers().filter(|path| inside(path)).map(|path| format!("{} can be written", path.display())));
        gaps.extend(policy.masked.iter().filter(|path| inside(path)).map(|path| format!("{} can be read", path.display())));
        gaps
    }
}

/// Landlock has no deny rules, so a masked path is left out by allowing everything around it.
fn rules(policy: &SandboxPolicy) -> Result<LandlockRules, SandboxError> {
    // Not devices: root could read the disk past every rule.
    let system = system::paths();
    let roots = policy.writable.iter().chain(&policy.read_only).filter_map(|path| path.canonicalize().ok());
    let view = policy.view.read_only.iter().map(|bind| bind.source.clone());
    let mut read: Vec<PathBuf> = system.folders.iter().cloned().chain(["/proc".into()]).chain(view).chain(roots).collect();
    let masked = policy.masked.iter().filter_map(|path| path.canonicalize().ok());
    for secret in masked.chain(system.private.iter().cloned()) {
        read = read.into_iter().flat_map(|allowed| without(allowed, &secret)).collect();
        if read.len() > MOST_RULES {
            let why = format!("hiding {} takes more than {MOST_RULES} rules", secret.display());
            return Err(SandboxError::unsupported(NAME, why, "mask the directory around it, or use bubblewrap"));
        }
    }
    let devices = || DEVICES.iter().map(PathBuf::from);
    read.extend(devices());
    let home = policy.view.home.iter().map(|home| home.source.clone());
    let write = policy.writable.iter().cloned().chain(home).chain(devices()).collect();
    Ok(LandlockRules { read, write, no_tcp: policy.network == NetworkAccess::Off, required: true })
}

/// The tree without `secret`: its siblings, and those of every directory above it.
fn without(allowed: PathBuf, secret: &Path) -> Vec<PathBuf> {
    let Ok(inside) = secret.strip_prefix(&allowed) else { return vec![allowed] };
    let mut around = Vec::new();
    let mut folder = allowed;
    for name in inside {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        around.extend(entries.filter(|entry| entry.file_name() != name).map(|entry| entry.path()));
        folder.push(name);
    }
    around
}

/// Restricts this process and its children.
///
/// # Errors
/// The kernel refused, or has no Landlock although the rules require it.
pub(crate) fn restrict(rules: &LandlockRules) -> Result<(), String> {
    let status = build(rules).map_err(|error| format!("cannot set up Landlock: {error}"))?;
    if rules.required && status == RulesetStatus::NotEnforced {
        return Err("Landlock is required and the kernel does not enforce it".to_owned());
    }
    Ok(())
}

fn build(rules: &LandlockRules) -> Result<RulesetStatus, RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::from_all(NEWEST))?;
    if rules.no_tcp {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let created = ruleset.scope(Scope::from_all(NEWEST))?.create()?;
    let created = created.add_rules(paths(&rules.read, AccessFs::from_read(NEWEST)))?;
    let created = created.add_rules(paths(&rules.write, AccessFs::from_all(NEWEST)))?;
    Ok(created.restrict_self()?.ruleset)
}

/// Missing and inaccessible paths need no rule. Directories have access rights that files do not.
fn paths(
    paths: &[PathBuf],
    access: landlock::BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> + use<'_> {
    paths.iter().filter_map(move |path| {
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        PathFd::new(path).ok().map(|opened| Ok(PathBeneath::new(opened, access)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_paths_are_left_out_and_their_siblings_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/.ssh")).unwrap();
        fs::create_dir_all(root.join("home/code")).unwrap();
        fs::create_dir_all(root.join("usr")).unwrap();
        let mut around = without(root.clone(), &root.join("home/.ssh"));
        around.sort();
        assert_eq!(around, [root.join("home/code"), root.join("usr")]);
        assert_eq!(without(root.join("usr"), &root.join("home/.ssh")), [root.join("usr")]);
    }

    #[test]
    fn rules_follow_from_the_policy() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in ["w", "r", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("w/.env"), "x").unwrap();
        fs::write(at("w/main"), "x").unwrap();
        let policy =
            SandboxPolicy { writable: vec![at("w")], read_only: vec![at("r")], masked: vec![at("w/.env")], ..SandboxPolicy::default() };
        let rules = rules(&policy).unwrap();
        assert!(rules.read.contains(&"/usr".into()), "{:?}", rules.read);
        let here: Vec<_> = rules.read.iter().filter(|path| path.starts_with(&root)).cloned().collect();
        assert_eq!(here, [at("w/main"), at("r")]);
        assert!(["/", "/dev", "/home", "/root"].iter().all(|absent| !rules.read.contains(&absent.into())), "{:?}", rules.read);
        assert_eq!(rules.write[0], at("w"));
        assert_eq!(rules.write[1..], DEVICES.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert!(rules.no_tcp && rules.required);
    }

    #[test]
    fn gaps_name_what_landlock_cannot_enforce() {
        let launcher = Launcher::at("/launcher");
        let policy = SandboxPolicy {
            writable: vec!["/w".into()],
            protected: vec!["/w/.git".into(), "/x".into()],
            masked: vec!["/w/.env".into(), "/home/.ssh".into()],
            ..SandboxPolicy::default()
        };
        let gaps = Landlock { launcher: launcher.clone() }.gaps(&policy);
        assert_eq!(gaps[3..], ["/w/.git can be written".to_owned(), "/w/.env can be read".to_owned()]);
        let proxy = SandboxPolicy { network: NetworkAccess::Proxy { socket: "/s".into(), port: 1 }, ..policy };
        let refused = Landlock { launcher }.wrap(ProcessSpec::new("/bin/true", "/"), &proxy).unwrap_err();
        assert!(matches!(refused, SandboxError::Unsupported { backend: NAME, .. }), "{refused}");
    }
}
