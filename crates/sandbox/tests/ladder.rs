//! What is picked on a real machine.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod support;

use haft_sandbox::{Choice, Command, ContainerOptions, Launcher, Policy, Request, SandboxError, pick};
use support::launcher;

fn request(choice: Choice) -> Request {
    Request { choice, required: true, launcher: launcher(), container: ContainerOptions::default() }
}

#[test]
fn the_strongest_is_picked_and_holds_all() {
    let picked = pick(&request(Choice::Auto), &Policy::default()).unwrap();
    assert_eq!((picked.sandbox.name(), picked.gaps, picked.passed.len()), ("bubblewrap", Vec::<String>::new(), 0));
}

/// Where the sandbox has its own directories, the host's program still is found.
#[test]
fn a_launcher_may_lie_anywhere() {
    for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let copy = folder.path().join("launcher");
        std::fs::copy(launcher().path(), &copy).unwrap();
        let request = Request { launcher: Launcher::at(copy), ..request(Choice::Bubblewrap) };
        let sandbox = pick(&request, &Policy::default()).unwrap().sandbox;
        let ran = support::run(&*sandbox, Command::new("/bin/true", "/"), &Policy::default());
        assert_eq!(ran.code, Some(0), "{}: {}", folder.path().display(), ran.stderr);
    }
}

#[test]
fn one_that_is_not_here_is_refused_by_name() {
    for (choice, name) in [(Choice::Seatbelt, "seatbelt"), (Choice::Container, "container")] {
        let refused = pick(&request(choice), &Policy::default()).unwrap_err();
        assert!(matches!(refused, SandboxError::Unavailable { backend, .. } if backend == name), "{refused}");
    }
}

#[test]
fn the_same_as_an_ordinary_person() {
    support::again_as_an_ordinary_person();
}
