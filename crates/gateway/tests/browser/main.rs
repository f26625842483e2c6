//! The page in Chromium, against `haft serve` with the demo model. The tests themselves are beside this file, for `node --test`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The binary that is tested; the one of this build unless the environment names another.
fn haft() -> PathBuf {
    std::env::var_os("HAFT_TEST_BINARY").map_or_else(
        || {
            let test = std::env::current_exe().unwrap();
            let binary = test.parent().and_then(Path::parent).unwrap().join("haft");
            assert!(binary.exists(), "{} is missing: build it with `cargo build -p haft-cli`", binary.display());
            binary
        },
        PathBuf::from,
    )
}

/// How often a file is run before it has failed: Chromium on a busy machine misses a focus or an event now and then.
const ATTEMPTS: usize = 3;

fn run(file: &str) {
    let mut failures = Vec::new();
    for _ in 0..ATTEMPTS {
        match attempt(file) {
            Ok(()) => return,
            Err(text) => failures.push(text),
        }
    }
    panic!("{file} failed {ATTEMPTS} times:\n{}", failures.join("\n"));
}

/// One run, or what it printed.
fn attempt(file: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    // Chromium leaves files in the folder for temporary ones.
    let temporary = tempfile::tempdir().unwrap();
    let shots =
        std::env::var_os("HAFT_SCREENSHOTS").map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots"), PathBuf::from);
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=spec"]).arg(folder.join(file));
    command.env("HAFT_TEST_BINARY", haft()).env("HAFT_SCREENSHOTS", shots).env("TMPDIR", temporary.path());
    let output = command.output().expect("node is missing: install it (for example: apt-get install nodejs), version 18 or newer");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(text) }
}

#[test]
fn events_are_applied_once_and_the_stream_resumes() {
    run("state.test.mjs");
}

#[test]
fn flows_of_a_user_show_each_call_and_its_result() {
    run("flows.test.mjs");
}

#[test]
fn newcomer_denies_a_write_finds_out_why_and_undoes_another() {
    run("newcomer.test.mjs");
}

#[test]
fn browser_as_attacker_reads_and_changes_nothing() {
    run("attacks.test.mjs");
}

#[test]
fn page_is_small_fast_accessible_and_survives_a_restart() {
    run("page.test.mjs");
}
