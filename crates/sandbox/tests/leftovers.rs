//! A run leaves nothing, however it ends: no process, no mount, no control group, no file.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use haft_contract::CommandLimits;
use haft_sandbox::{Bubblewrap, ConfinedCommand, Launcher, NetworkAccess, Sandbox, SandboxPolicy, probe};
use support::{RunningCommand, TestWorkspace, marker, processes_with, run, until};

#[derive(Debug, PartialEq, Eq)]
struct Traces {
    processes: Vec<String>,
    mounts: Vec<String>,
    groups: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
}

impl Traces {
    fn now(ws: &TestWorkspace, launcher: &Launcher, marker: &str) -> Self {
        let ours = format!("-{}-", std::process::id());
        let named = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            entries.filter(|path| path.to_string_lossy().contains(&ours)).collect::<BTreeSet<_>>()
        };
        let mut groups = BTreeSet::new();
        collect(Path::new("/sys/fs/cgroup"), &mut groups);
        groups.retain(|path| path.to_string_lossy().contains(&ours));
        let temporary = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(|folder| named(Path::new(folder)));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let ws = ws.folder.path().to_string_lossy().into_owned();
        Self {
            processes: [processes_with(marker), processes_with(launcher.path().to_str().unwrap())].concat(),
            mounts: mounts.lines().filter(|line| line.contains(&ws) || line.contains(&ours)).map(str::to_owned).collect(),
            groups,
            files: temporary.into_iter().flatten().collect(),
        }
    }
}

fn collect(folder: &Path, folders: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.insert(entry.path());
            collect(&entry.path(), folders);
        }
    }
}

type Step<'a> = (&'a str, Box<dyn Fn() + 'a>);

#[test]
fn run_leaves_nothing_however_it_ends() {
    let marker = marker();
    let ws = TestWorkspace::new();
    // A launcher of its own, so that its processes are distinct from those of other tests.
    let launcher = Launcher::at(ws.folder.path().join("launcher"));
    fs::copy(support::launcher().path(), launcher.path()).unwrap();
    let sandbox = Bubblewrap::detect(launcher.clone()).unwrap();
    let policy = ws.policy();
    let listing = ws.listing();
    let before = Traces::now(&ws, &launcher, &marker);
    let steps: [Step<'_>; 7] = [
        ("a run", Box::new(|| drop(run(&sandbox, ws.shell("true"), &policy)))),
        ("one that fails", Box::new(|| drop(run(&sandbox, ws.shell("exit 3"), &policy)))),
        ("one that was never spawned", Box::new(|| drop(sandbox.wrap(ws.shell("true"), &policy).unwrap()))),
        ("one that cannot start", Box::new(|| drop(run(&sandbox, ws.shell("true"), &broken(&ws))))),
        (
            "one that is killed",
            Box::new(|| {
                let running = RunningCommand::start(&sandbox, ws.shell(&format!("sleep {marker} & setsid sleep {marker}")), &policy);
                until("it has started", || processes_with(&marker).len() > 1);
                running.kill();
            }),
        ),
        (
            "one whose guard is dropped first",
            Box::new(|| {
                let ConfinedCommand { command, guard } = sandbox.wrap(ws.shell(&format!("sleep {marker}")), &policy).unwrap();
                let mut child = command.to_std().stdin(Stdio::null()).spawn().unwrap();
                until("it has started", || !processes_with(&marker).is_empty());
                guard.kill(child.id()).unwrap();
                drop(guard);
                child.wait().unwrap();
            }),
        ),
        ("all probes", Box::new(|| drop(probe::run(&sandbox, &launcher, &[]).unwrap()))),
    ];
    for (name, step) in steps {
        step();
        assert_eq!(Traces::now(&ws, &launcher, &marker), before, "after {name}");
        assert_eq!(ws.listing(), listing, "after {name}");
    }
}

fn broken(ws: &TestWorkspace) -> SandboxPolicy {
    let network = NetworkAccess::Proxy { socket: ws.outside.join("none"), port: 1 };
    SandboxPolicy { network, limits: CommandLimits::STANDARD, ..ws.policy() }
}

#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}
