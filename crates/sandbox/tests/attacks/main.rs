//! The attacks on the sandbox, one table for every backend: bubblewrap as root and as an ordinary person, containers, Landlock
//! where the kernel has it, and none.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test that cannot go on has failed, and says why")]

mod backend;
mod runs;
#[path = "../support/mod.rs"]
mod support;
mod table;

use std::path::Path;

use haft_sandbox::probe::{self, Finding};
use haft_sandbox::{Choice, ContainerOptions, Landlock, Policy, Request, SandboxError, pick};

use backend::Backend;
use support::{Place, is_root, launcher};
use table::{Attack, Not, Row, TABLE};

fn attacked(backend: &Backend) {
    let findings = probe::run(&*backend.sandbox, &launcher()).unwrap();
    let place = Place::new();
    let before = place.listing();
    for row in TABLE {
        let Row { id, name, attack, not } = row;
        if let Some(Not { reason, instead, .. }) = not.iter().find(|not| not.backend == backend.name()) {
            println!("{id} {name}: does not apply to {}: {reason} {instead:?}", backend.name());
            continue;
        }
        match attack {
            Attack::Script(script) => {
                let ran = backend.run(&place, script);
                assert_eq!((ran.stdout.as_str(), ran.code), ("held\n", Some(0)), "{id} {name}: {}", ran.stderr);
                assert_eq!(place.listing(), before, "{id} {name} left something");
            }
            Attack::Probes(names) => names.split_whitespace().for_each(|probe| held(&findings, probe)),
            Attack::Run(made) => made(backend),
            Attack::Elsewhere(tests) => {
                println!("{id} {name}: not the sandbox's, see {tests:?}");
                continue;
            }
        }
        println!("{id} {name}: held by {}", backend.name());
    }
    let ran = backend.run(&place, "echo x >new && cat new && rm new; exit 7");
    assert_eq!((ran.stdout.as_str(), ran.code), ("x\n", Some(7)), "walls that hold everything hold nothing: {}", ran.stderr);
}

fn held(findings: &[Finding], name: &str) {
    let finding = findings.iter().find(|finding| finding.probe == name).unwrap_or_else(|| panic!("no attempt '{name}' in {findings:#?}"));
    assert!(finding.held(), "{finding:?}");
}

/// As root, and in `the_same_as_an_ordinary_person` without any rights.
#[test]
fn bubblewrap() {
    attacked(&Backend::bubblewrap());
}

#[test]
fn container() {
    if is_root() {
        attacked(&Backend::container());
    } else {
        println!("no row is tried as an ordinary person: containers without root need sub-ids that a machine may not give");
    }
}

/// Alone it protects no name inside what is writable, and hides no process: `gaps` says so, and `required` refuses it.
#[test]
fn landlock() {
    let not_its_own = "write_protected rename_protected create_protected replace_protected see_processes";
    match Landlock::detect(launcher()) {
        Ok(landlock) => {
            let findings = probe::run(&landlock, &launcher()).unwrap();
            for name in findings.iter().map(|finding| finding.probe.as_str()).filter(|name| !not_its_own.contains(name)) {
                held(&findings, name);
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

/// Without walls nothing is held, so nothing runs where they are required.
#[test]
fn none() {
    let request = Request { choice: Choice::None, required: true, launcher: launcher(), container: ContainerOptions::default() };
    let refused = pick(&request, &Policy::default()).unwrap_err();
    assert!(matches!(refused, SandboxError::Unsupported { backend: "none", .. }), "{refused}");
    for row in TABLE {
        println!("{} {}: not tried without a sandbox: {refused}", row.id, row.name);
    }
}

#[test]
fn every_case_and_every_attempt_is_in_the_table() {
    for number in 1..=15 {
        let id = format!("C{number:02}");
        assert!(TABLE.iter().any(|row| row.id == id), "{id} is missing");
    }
    let named = |probe: &str| {
        TABLE.iter().any(|row| matches!(row.attack, Attack::Probes(names) if names.split_whitespace().any(|name| name == probe)))
    };
    let findings = probe::run(&*Backend::bubblewrap().sandbox, &launcher()).unwrap();
    let missing: Vec<_> = findings.iter().filter(|finding| !named(&finding.probe)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_test_that_the_table_points_to_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for named in table::named() {
        let (file, function) = named.split_once("::").unwrap();
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{named}: {error}"));
        assert!(source.contains(&format!("fn {function}(")), "{named} is not there");
    }
}

#[test]
fn the_same_as_an_ordinary_person() {
    support::again_as_an_ordinary_person();
}
