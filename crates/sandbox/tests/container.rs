//! Attacks on a real container: podman, on a root file system of busybox alone. No image is fetched.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test that cannot go on has failed, and says why")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use haft_sandbox::{Command, Container, ContainerOptions, Image, Limits, Policy, Sandbox, Wrapped};
use support::{Place, Ran, is_root, launcher, marker, processes_with, run, until};

const APPLETS: &[&str] =
    &["sh", "cat", "ls", "id", "sleep", "echo", "grep", "rm", "mkdir", "mv", "hostname", "mount", "env", "head", "ip", "chroot"];

/// As in `bubblewrap.rs`: whatever is printed besides `held` is an escape.
const ATTACKS: &[(&str, &str, &str)] = &[
    ("C01", "a mount", "mount -t tmpfs x /tmp 2>/dev/null && echo mounted; chroot /tmp 2>/dev/null && echo changed; echo held"),
    ("C02", "sockets of services", "ls /run/* /var/run/* 2>/dev/null; echo held"),
    ("C03", "interfaces of the network", "ls /sys/class/net | grep -vx lo; echo held"),
    ("C05", "descriptors", "ls /proc/self/fd | grep -vxE '[0-3]'; echo held"),
    ("C06", "capabilities", "grep -E '^Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | grep -v 0000000000000000; echo held"),
    ("C06", "new privileges", "grep NoNewPrivs /proc/self/status | grep -v 1; grep '^Seccomp:' /proc/self/status | grep -v 2; echo held"),
    ("C07", "processes of the host", "for p in /proc/[0-9]*; do echo ${p#/proc/}; done | grep -vxE '[0-9]'; echo held"),
    (
        "--",
        "the root",
        "(: >/x) 2>/dev/null && echo written; (: >/bin/x) 2>/dev/null && echo written; (: >/etc/x) 2>/dev/null && echo written; echo held",
    ),
    ("--", "the kernel's settings", "(: >>/proc/sys/kernel/core_pattern) 2>/dev/null && echo opened; echo held"),
    ("--", "a secret", "cat .env 2>/dev/null; ls keys 2>/dev/null; cat $OUT/secret 2>/dev/null; echo held"),
    (
        "--",
        "a protected file",
        "(echo x >settings) 2>/dev/null && echo written; rm -f settings 2>/dev/null; (: >.git/hooks/x) 2>/dev/null && echo made; echo held",
    ),
    ("C08", "a large file in /tmp", "head -c 9000000 /dev/zero >/tmp/x 2>/dev/null && echo written; echo held"),
    ("C13", "the environment", "env | grep -vE '^(PATH|LANG|HOME|HOSTNAME|TERM|PWD|OUT|SHLVL|OLDPWD|container)='; echo held"),
];

/// The engine, or why there is none for this person.
fn container() -> Option<(Arc<dyn Sandbox>, tempfile::TempDir)> {
    if !is_root() {
        println!("not tried as an ordinary person: containers without root need sub-ids that a machine may not give");
        return None;
    }
    // A folder of its own: podman puts mount points into the root.
    let folder = tempfile::tempdir().unwrap();
    let options = ContainerOptions { image: Some(Image::RootFolder(root_folder(folder.path()))), ..ContainerOptions::default() };
    let container = Container::detect(&options, launcher()).unwrap();
    Some((container, folder))
}

fn root_folder(parent: &Path) -> PathBuf {
    let root = parent.join("root");
    for folder in ["bin", "proc", "sys", "dev", "etc", "run", "tmp", "var/tmp", "var/run"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).expect("busybox-static is installed");
    for applet in APPLETS {
        symlink("busybox", root.join("bin").join(applet)).unwrap();
    }
    root
}

fn shell(place: &Place, script: &str) -> Command {
    let command = Command::new("/bin/sh", &place.workspace).argument("-c").argument(script);
    command.variable("PATH", "/bin").variable("LANG", "C.UTF-8").variable("OUT", &place.outside)
}

/// Of the folder outside only the secret is of interest.
fn policy(place: &Place) -> Policy {
    let limits = Limits { tmp_size: 1 << 20, processes: Some(64), memory: Some(64 << 20), ..Limits::default() };
    Policy { limits, read_only: Vec::new(), ..place.policy() }
}

#[test]
fn no_attack_gets_through() {
    let place = Place::new();
    let Some((container, _root)) = container() else { return };
    let before = place.listing();
    for (id, name, script) in ATTACKS {
        let ran = run(&*container, shell(&place, script), &policy(&place));
        assert_eq!((ran.stdout.as_str(), ran.code), ("held\n", Some(0)), "{id} {name}: {}", ran.stderr);
        assert_eq!(place.listing(), before, "{id} {name} left something");
    }
    let ran = run(&*container, shell(&place, "echo x >new && cat new && rm new; hostname; exit 7"), &policy(&place));
    assert_eq!((ran.stdout.as_str(), ran.code), ("x\nhaft\n", Some(7)), "what is allowed works: {}", ran.stderr);
}

/// C07, C08: ending the client is not enough, and the guard does the rest.
#[test]
fn nothing_of_a_container_is_left() {
    let place = Place::new();
    let Some((container, _root)) = container() else { return };
    let marker = marker();
    let script = format!("bomb() {{ sleep {marker} & bomb & bomb & wait; }}; bomb");
    let Wrapped { command, guard } = container.wrap(shell(&place, &script), &policy(&place)).unwrap();
    let mut client = command.to_std().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the processes have started", || processes_with(&marker).len() > 3);
    client.kill().unwrap();
    client.wait().unwrap();
    drop(guard);
    assert_eq!(processes_with(&marker), Vec::<String>::new());
    let left = Process::new("podman").args(["ps", "--all", "--format", "{{.Names}}"]).output().unwrap();
    let ours = format!("haft-{}-", std::process::id());
    let left = Ran::from(left).stdout;
    // The other test of this file has containers too, so only this one's name counts.
    let name = command.arguments.iter().map(|word| word.to_string_lossy()).find(|word| word.starts_with(&ours)).unwrap();
    assert!(!left.lines().any(|line| line == name), "{left}");
}
