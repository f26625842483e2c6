//! What is hidden or protected is what was found: if it was moved or replaced since, nothing of the command runs.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use haft_contract::FileIdentity;
use haft_sandbox::{OverlayLayer, SandboxPolicy, launcher};
use support::{TestWorkspace, bubblewrap, rerun_as_unprivileged_user, run};

/// Changes the workspace between the search and the start.
type Mover = fn(&Path);

/// A workspace with a secret file, a secret folder and a protected one, each in a folder of its own.
fn workspace() -> TestWorkspace {
    let ws = TestWorkspace::new();
    for folder in ["one/keys", "two", "three/hooks", "four/.git", "decoy/keys", "decoy/hooks", "decoy/.git"] {
        fs::create_dir_all(ws.workspace.join(folder)).unwrap();
    }
    for file in ["one/keys/id", "two/.env", "decoy/keys/id", "decoy/.env", "three/hooks/pre-commit", "four/.git/config"] {
        fs::write(ws.workspace.join(file), "private").unwrap();
    }
    ws
}

fn policy(ws: &TestWorkspace) -> SandboxPolicy {
    let paths = |names: &[&str]| names.iter().map(|name| ws.workspace.join(name)).collect::<Vec<_>>();
    let (masked, protected) = (paths(&["one/keys", "two/.env"]), paths(&["three/hooks"]));
    let found = [paths(&["", "four/.git"]), masked.clone(), protected.clone()].concat();
    let identity = |path: PathBuf| (path.clone(), FileIdentity::from_metadata(&path.symlink_metadata().unwrap()));
    let identities: BTreeMap<_, _> = found.into_iter().map(identity).collect();
    let layer = OverlayLayer::prepare(&ws.folder.path().join("layer"), &ws.workspace.join("four/.git")).unwrap();
    SandboxPolicy { masked, protected, identities, layers: vec![layer], ..ws.policy() }
}

const LOOK: &str =
    "touch ran; cat */keys/id */.env; for d in . */; do echo evil > $d/hooks/x; echo evil > $d/.git/x; done 2>/dev/null; true";

#[test]
fn nothing_runs_where_something_else_is_mounted_on() {
    let movers: &[(&str, Mover)] = &[
        ("secret folder moved with the folder above", |root| fs::rename(root.join("one"), root.join("moved")).unwrap()),
        ("secret file moved with the folder above", |root| fs::rename(root.join("two"), root.join("moved")).unwrap()),
        ("secret file replaced", |root| {
            fs::rename(root.join("two/.env"), root.join("two/plain")).unwrap();
            fs::write(root.join("two/.env"), "decoy").unwrap();
        }),
        ("folder exchanged with another that looks alike", |root| exchange(root, "one", "decoy")),
        ("link in the way", |root| {
            fs::rename(root.join("two"), root.join("moved")).unwrap();
            std::os::unix::fs::symlink("decoy", root.join("two")).unwrap();
        }),
        ("secret became a folder", |root| {
            fs::rename(root.join("two/.env"), root.join("two/plain")).unwrap();
            fs::create_dir(root.join("two/.env")).unwrap();
        }),
        ("protected folder moved", |root| fs::rename(root.join("three"), root.join("moved")).unwrap()),
        ("protected folder exchanged", |root| exchange(root, "three", "decoy")),
        ("repository moved", |root| fs::rename(root.join("four"), root.join("moved")).unwrap()),
        ("repository exchanged", |root| exchange(root, "four", "decoy")),
        ("whole workspace replaced", |root| {
            fs::rename(root, root.with_file_name("moved")).unwrap();
            fs::create_dir(root).unwrap();
            fs::create_dir(root.join("four")).unwrap();
        }),
    ];
    for (what, mover) in movers {
        let ws = workspace();
        let policy = policy(&ws);
        let confined = haft_sandbox::Sandbox::wrap(&bubblewrap(), ws.shell(LOOK), &policy).unwrap();
        mover(&ws.workspace);
        let before = listing(&ws.outside.join(".."));
        let output = confined.command.to_std().stdin(std::process::Stdio::null()).output().unwrap();
        drop(confined.guard);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(launcher::MOVED), &b""[..]), "{what}: {text}");
        assert!(launcher::setup_failure(output.status.code(), &output.stderr).unwrap().contains("the workspace moved"), "{what}: {text}");
        assert_eq!(listing(&ws.outside.join("..")), before, "{what}");
    }
}

/// Every path beneath, but for the folders of the overlay.
fn listing(root: &Path) -> Vec<PathBuf> {
    let (mut folders, mut paths) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop().filter(|_| paths.len() < 1000) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != "layer") {
            folders.extend(entry.file_type().unwrap().is_dir().then(|| entry.path()));
            paths.push(entry.path());
        }
    }
    paths.sort();
    paths
}

fn exchange(root: &Path, one: &str, other: &str) {
    let (one, other) = (root.join(one), root.join(other));
    rustix::fs::renameat_with(rustix::fs::CWD, one, rustix::fs::CWD, other, rustix::fs::RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn what_is_where_it_was_is_hidden_also_when_it_is_moved_later() {
    let ws = workspace();
    let policy = policy(&ws);
    let script = "touch ran; while [ ! -e two/moved ]; do sleep 0.01; done; cat two/*/.env two/*/id two/moved/one/keys/id; ls one; true";
    let confined = haft_sandbox::Sandbox::wrap(&bubblewrap(), ws.shell(script), &policy).unwrap();
    let child = confined.command.to_std().stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    support::until("it runs", || ws.workspace.join("ran").exists());
    fs::create_dir(ws.workspace.join("new")).unwrap();
    fs::rename(ws.workspace.join("one"), ws.workspace.join("new/one")).unwrap();
    fs::rename(ws.workspace.join("new"), ws.workspace.join("two/moved")).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(confined.guard);
    assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
}

#[test]
fn paths_that_were_not_found_are_covered_where_they_are() {
    let ws = workspace();
    let policy = SandboxPolicy { masked: vec![ws.workspace.join("one/keys"), ws.workspace.join("none")], ..policy(&ws) };
    let policy = SandboxPolicy { identities: BTreeMap::new(), ..policy };
    let ran = run(&bubblewrap(), ws.shell("ls one/keys none; cat two/.env; echo mine > three/new"), &policy);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "private"), "{}", ran.stderr);
}

#[test]
fn identity_tests_pass_as_an_unprivileged_user() {
    rerun_as_unprivileged_user();
}
