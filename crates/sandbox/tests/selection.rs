//! Backend selection on a real machine.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod support;

use haft_contract::SandboxBackend;
use haft_sandbox::{ContainerOptions, Launcher, ProcessSpec, SandboxError, SandboxPolicy, SelectionRequest, select};
use support::launcher;

fn request(choice: SandboxBackend) -> SelectionRequest {
    SelectionRequest { choice, required: true, launcher: launcher(), container: ContainerOptions::default() }
}

#[test]
fn strongest_backend_is_selected_and_enforces_everything() {
    let selection = select(&request(SandboxBackend::Auto), &SandboxPolicy::default()).unwrap();
    assert_eq!((selection.sandbox.name(), selection.gaps, selection.skipped.len()), ("bubblewrap", Vec::<String>::new(), 0));
}

/// Also in folders that are private in the sandbox.
#[test]
fn launcher_is_usable_from_any_folder() {
    for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let copy = folder.path().join("launcher");
        std::fs::copy(launcher().path(), &copy).unwrap();
        let request = SelectionRequest { launcher: Launcher::at(copy), ..request(SandboxBackend::Bubblewrap) };
        let sandbox = select(&request, &SandboxPolicy::default()).unwrap().sandbox;
        let ran = support::run(&*sandbox, ProcessSpec::new("/bin/true", "/"), &SandboxPolicy::default());
        assert_eq!(ran.code, Some(0), "{}: {}", folder.path().display(), ran.stderr);
    }
}

#[test]
fn unavailable_backend_is_refused_by_name() {
    for (choice, name) in [(SandboxBackend::Seatbelt, "seatbelt"), (SandboxBackend::Container, "container")] {
        let refused = select(&request(choice), &SandboxPolicy::default()).unwrap_err();
        assert!(matches!(refused, SandboxError::Unavailable { backend, .. } if backend == name), "{refused}");
    }
}

#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}
