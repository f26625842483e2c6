//! The attacks on the sandbox, one table for every backend: bubblewrap as root and as an unprivileged user, containers, Landlock
//! where the kernel has it, and none.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test that cannot continue has failed, and says why")]

mod backend;
mod runs;
#[path = "../support/mod.rs"]
mod support;
mod table;

use std::path::Path;

use haft_contract::SandboxBackend;
use haft_sandbox::probe::{self, Finding};
use haft_sandbox::{ContainerOptions, Landlock, SandboxError, SandboxPolicy, SelectionRequest, select};

use backend::Backend;
use support::{TestWorkspace, is_root, launcher};
use table::{Attack, Exclusion, Row, TABLE};

fn attack(backend: &Backend) {
    let findings = probe::run(&*backend.sandbox, &launcher(), &[]).unwrap();
    let ws = TestWorkspace::new();
    let before = ws.listing();
    for row in TABLE {
        let Row { id, name, attack, exclusions } = row;
        if let Some(Exclusion { reason, instead, .. }) = exclusions.iter().find(|exclusion| exclusion.backend == backend.name()) {
            println!("{id} {name}: does not apply to {}: {reason} {instead:?}", backend.name());
            continue;
        }
        match attack {
            Attack::Script(script) => {
                let ran = backend.run(&ws, script);
                assert_eq!((ran.stdout.as_str(), ran.code), ("blocked\n", Some(0)), "{id} {name}: {}", ran.stderr);
                assert_eq!(ws.listing(), before, "{id} {name} left something");
            }
            Attack::Probes(names) => names.split_whitespace().for_each(|probe| assert_blocked(&findings, probe)),
            Attack::Run(run) => run(backend),
            Attack::Elsewhere(tests) => {
                println!("{id} {name}: not a matter of the sandbox, see {tests:?}");
                continue;
            }
        }
        println!("{id} {name}: blocked by {}", backend.name());
    }
    let ran = backend.run(&ws, "echo x >new && cat new && rm new; exit 7");
    assert_eq!((ran.stdout.as_str(), ran.code), ("x\n", Some(7)), "allowed actions must work: {}", ran.stderr);
}

fn assert_blocked(findings: &[Finding], name: &str) {
    let finding = findings.iter().find(|finding| finding.probe == name).unwrap_or_else(|| panic!("no attempt '{name}' in {findings:#?}"));
    assert!(finding.is_blocked(), "{finding:?}");
}

/// As root, and in `tests_pass_as_an_unprivileged_user` without privileges.
#[test]
fn bubblewrap() {
    attack(&Backend::bubblewrap());
}

#[test]
fn bubblewrap_program() {
    attack(&Backend::bubblewrap_program());
}

#[test]
fn container() {
    if is_root() {
        attack(&Backend::container());
    } else {
        println!("no row is tried as an unprivileged user: rootless containers need sub-ids, which a machine may not have");
    }
}

/// Alone it protects no path inside writable ones, and hides no process: `gaps` says so, and `required` refuses it.
#[test]
fn landlock() {
    let not_enforced = "write_protected rename_protected see_processes";
    match Landlock::detect(launcher()) {
        Ok(landlock) => {
            let findings = probe::run(&landlock, &launcher(), &[]).unwrap();
            for name in findings.iter().map(|finding| finding.probe.as_str()).filter(|name| !not_enforced.contains(name)) {
                assert_blocked(&findings, name);
            }
        }
        Err(error) => {
            assert!(matches!(error, SandboxError::Unavailable { backend: "landlock", .. }), "{error}");
            for row in TABLE {
                println!("{} {}: not tried with landlock: {error}", row.id, row.name);
            }
        }
    }
}

/// Nothing runs without a sandbox where one is required.
#[test]
fn none() {
    let request =
        SelectionRequest { choice: SandboxBackend::None, required: true, launcher: launcher(), container: ContainerOptions::default() };
    let refused = select(&request, &SandboxPolicy::default()).unwrap_err();
    assert!(matches!(refused, SandboxError::Unsupported { backend: "none", .. }), "{refused}");
    for row in TABLE {
        println!("{} {}: not tried without a sandbox: {refused}", row.id, row.name);
    }
}

#[test]
fn table_has_every_case_and_every_attempt() {
    for number in 1..=15 {
        let id = format!("C{number:02}");
        assert!(TABLE.iter().any(|row| row.id == id), "{id} is missing");
    }
    let in_table = |probe: &str| {
        TABLE.iter().any(|row| matches!(row.attack, Attack::Probes(names) if names.split_whitespace().any(|name| name == probe)))
    };
    let findings = probe::run(&*Backend::bubblewrap().sandbox, &launcher(), &[]).unwrap();
    let missing: Vec<_> = findings.iter().filter(|finding| !in_table(&finding.probe)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn tests_named_in_the_table_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for test in table::named_tests() {
        let (file, function) = test.split_once("::").unwrap();
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{test}: {error}"));
        assert!(source.contains(&format!("fn {function}(")), "{test} does not exist");
    }
}

#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}
