//! The page in Chromium, against `haft serve` with the demo model. The tests themselves are beside this file, for `node --test`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]
#![allow(clippy::print_stdout, reason = "the figures of a run that passed are shown with --nocapture")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

/// How long one file may take. Its own waits are shorter, and say what was seen.
const MOST_TIME: Duration = Duration::from_mins(5);

fn run(file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    // Chromium leaves files in the folder for temporary ones.
    let temporary = tempfile::tempdir().unwrap();
    let shots =
        std::env::var_os("HAFT_SCREENSHOTS").map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots"), PathBuf::from);
    let output = temporary.path().join("output");
    let mut command = node();
    command.arg("--test-reporter=spec").arg(folder.join(file));
    command.env("HAFT_TEST_BINARY", haft()).env("HAFT_SCREENSHOTS", shots).env("TMPDIR", temporary.path());
    let log = File::create(&output).unwrap();
    command.stdin(Stdio::null()).stderr(log.try_clone().unwrap()).stdout(log);
    let mut child = command.spawn().expect("node is missing: install it (for example: apt-get install nodejs), version 20 or newer");
    let end = Instant::now() + MOST_TIME;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > end => break None,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    if status.is_none() {
        child.kill().ok();
        child.wait().ok();
    }
    let text = String::from_utf8_lossy(&std::fs::read(&output).unwrap_or_default()).into_owned();
    print!("{text}");
    assert!(status.is_some_and(|status| status.success()), "{file} ended with {status:?} (none: after {MOST_TIME:?}):\n{text}");
}

/// Node, which ends with this test: what it starts ends with it in turn.
fn node() -> Command {
    if cfg!(not(target_os = "linux")) {
        return Command::new("node");
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "node"]);
    command
}

#[test]
fn events_are_applied_once_and_the_stream_resumes() {
    run("state.test.mjs");
}

#[test]
fn api_answers_follow_every_change_and_bad_input_is_bounded() {
    run("api.test.mjs");
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
fn staged_changes_are_reviewed_path_by_path() {
    run("changes.test.mjs");
}

#[test]
fn files_access_output_memory_and_two_tabs_work_and_a_killed_server_is_survived() {
    run("places.test.mjs");
}

#[test]
fn browser_as_attacker_reads_and_changes_nothing() {
    run("attacks.test.mjs");
}

#[test]
fn page_is_small_fast_accessible_and_survives_a_restart() {
    run("page.test.mjs");
}

#[test]
fn cards_questions_and_lists_are_readable_by_all_in_every_state() {
    run("looks.test.mjs");
}

#[test]
fn places_with_something_in_them_are_what_a_screen_reader_is_told() {
    run("filled.test.mjs");
}

#[test]
fn canvas_shows_what_agents_make_and_reaches_nothing() {
    run("canvas.test.mjs");
}

#[test]
fn browser_is_watched_taken_over_handed_back_and_recorded() {
    run("live.test.mjs");
}

#[test]
fn owner_tries_providers_edits_agents_revokes_trust_and_answers_the_inbox() {
    run("owner.test.mjs");
}

#[test]
fn question_is_answered_for_good_by_a_rule_of_the_user() {
    run("rules.test.mjs");
}
