//! Whatever happens to a run, it leaves nothing: no process, no mount, no control group, no file.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use haft_sandbox::{Bubblewrap, Launcher, Limits, Network, Policy, Sandbox, Wrapped, probe};
use support::{Place, Running, marker, processes_with, run, until};

#[derive(Debug, PartialEq, Eq)]
struct Traces {
    processes: Vec<String>,
    mounts: Vec<String>,
    groups: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
}

impl Traces {
    fn now(place: &Place, launcher: &Launcher, marker: &str) -> Self {
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
        let place = place.folder.path().to_string_lossy().into_owned();
        Self {
            processes: [processes_with(marker), processes_with(launcher.path().to_str().unwrap())].concat(),
            mounts: mounts.lines().filter(|line| line.contains(&place) || line.contains(&ours)).map(str::to_owned).collect(),
            groups,
            files: temporary.into_iter().flatten().collect(),
        }
    }
}

fn collect(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.insert(entry.path());
            collect(&entry.path(), found);
        }
    }
}

type Step<'a> = (&'a str, Box<dyn Fn() + 'a>);

#[test]
fn nothing_is_left_however_a_run_ends() {
    let marker = marker();
    let place = Place::new();
    // A launcher of its own, so that its processes are told from those of other tests.
    let launcher = Launcher::at(place.folder.path().join("launcher"));
    fs::copy(support::launcher().path(), launcher.path()).unwrap();
    let sandbox = Bubblewrap::detect(launcher.clone()).unwrap();
    let policy = place.policy();
    let listing = place.listing();
    let before = Traces::now(&place, &launcher, &marker);
    let steps: [Step<'_>; 7] = [
        ("a run", Box::new(|| drop(run(&sandbox, place.shell("true"), &policy)))),
        ("one that fails", Box::new(|| drop(run(&sandbox, place.shell("exit 3"), &policy)))),
        ("one that was never spawned", Box::new(|| drop(sandbox.wrap(place.shell("true"), &policy).unwrap()))),
        ("one that cannot start", Box::new(|| drop(run(&sandbox, place.shell("true"), &broken(&place))))),
        (
            "one that is killed",
            Box::new(|| {
                let running = Running::start(&sandbox, place.shell(&format!("sleep {marker} & setsid sleep {marker}")), &policy);
                until("it has started", || processes_with(&marker).len() > 1);
                running.kill();
            }),
        ),
        (
            "one whose guard goes first",
            Box::new(|| {
                let Wrapped { command, guard } = sandbox.wrap(place.shell(&format!("sleep {marker}")), &policy).unwrap();
                let mut child = command.to_std().stdin(Stdio::null()).spawn().unwrap();
                until("it has started", || !processes_with(&marker).is_empty());
                guard.kill(child.id()).unwrap();
                drop(guard);
                child.wait().unwrap();
            }),
        ),
        ("all probes", Box::new(|| drop(probe::run(&sandbox, &launcher).unwrap()))),
    ];
    for (name, step) in steps {
        step();
        assert_eq!(Traces::now(&place, &launcher, &marker), before, "after {name}");
        assert_eq!(place.listing(), listing, "after {name}");
    }
}

fn broken(place: &Place) -> Policy {
    let network = Network::Proxy { socket: place.outside.join("none"), port: 1 };
    Policy { network, limits: Limits::default(), ..place.policy() }
}

#[test]
fn the_same_as_an_ordinary_person() {
    support::again_as_an_ordinary_person();
}
