//! Real programs: their exit, their output, and that no process is left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // helpers of a test may panic, as the test itself

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_contract::{CommandSpec, ErrorKind, Exec, ProcessOutput, ToolError, ports::ProcessRunner};
use haft_jobs::LocalProcesses;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

fn command(program: impl Into<PathBuf>, arguments: &[&str]) -> CommandSpec {
    let arguments = arguments.iter().map(ToString::to_string).collect();
    CommandSpec {
        exec: Exec::new(program, arguments, "/"),
        environment: Vec::new(),
        input: None,
        output_limit: 1024 * 1024,
        timeout: Duration::from_mins(1),
    }
}

fn shell(script: &str) -> CommandSpec {
    command("/bin/sh", &["-c", script])
}

async fn run(command: CommandSpec) -> Result<ProcessOutput, ToolError> {
    let processes = LocalProcesses::default();
    let running = processes.run(command, CancellationToken::new());
    tokio::time::timeout(Duration::from_secs(30), running).await.expect("the call hangs")
}

fn output(code: i32, stdout: &str, stderr: &str) -> ProcessOutput {
    ProcessOutput { code: Some(code), signal: None, stdout: stdout.into(), stderr: stderr.into(), truncated: false, timed_out: false }
}

/// Waits for a script to write down the process ids of its tree.
async fn written_ids(file: &Path, count: usize) -> Vec<u32> {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < Duration::from_secs(10), "{} was not written", file.display());
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let ids: Vec<u32> = text.split_whitespace().map(|id| id.parse().unwrap()).collect();
        if text.ends_with('\n') && ids.len() == count {
            return ids;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process runs; one that ended but was not reaped by its parent does not.
fn is_alive(id: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).ok();
    state.is_some_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// A killed process may take a moment to end.
async fn assert_all_end(ids: &[u32]) {
    let start = Instant::now();
    while ids.iter().copied().any(is_alive) {
        assert!(start.elapsed() < Duration::from_secs(10), "still alive: {ids:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A script of three processes, which write their ids and keep running.
fn tree(folder: &TempDir) -> (CommandSpec, PathBuf) {
    let file = folder.path().join("ids");
    let script = format!("sleep 100 & one=$!; sleep 100 & echo $$ $one $! > {}; wait", file.display());
    (shell(&script), file)
}

#[tokio::test]
async fn run_returns_exit_code_and_both_streams() {
    for (script, expected) in [
        ("exit 0", output(0, "", "")),
        ("echo out; echo err >&2; exit 3", output(3, "out\n", "err\n")),
        ("printf '%s' \"$0\"; pwd", output(0, "/bin/sh/\n", "")),
    ] {
        assert_eq!(run(shell(script)).await.unwrap(), expected, "{script}");
    }
    let literal = run(command("/bin/echo", &["$HOME; `id`", "a b"])).await.unwrap();
    assert_eq!(literal, output(0, "$HOME; `id` a b\n", ""), "no shell reads the arguments");
}

#[tokio::test]
async fn run_tells_a_signal_from_an_exit() {
    let killed = run(shell("kill -SEGV $$")).await.unwrap();
    assert_eq!(killed, ProcessOutput { code: None, signal: Some(11), ..output(0, "", "") });
}

#[tokio::test]
async fn timeout_ends_the_whole_tree_and_keeps_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spec, file) = tree(&folder);
    spec.exec.arguments[1].insert_str(0, "echo begun; ");
    spec.timeout = Duration::from_millis(1500);
    let result = run(spec).await.unwrap();
    assert_eq!(result, ProcessOutput { code: None, signal: Some(15), timed_out: true, ..output(0, "begun\n", "") });
    assert_all_end(&written_ids(&file, 3).await).await;
}

#[tokio::test]
async fn tree_that_ignores_sigterm_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ids");
    let script = format!("trap '' TERM; sleep 100 & echo $$ $! > {}; while :; do sleep 100; done", file.display());
    let mut spec = shell(&script);
    spec.timeout = Duration::from_millis(1500);
    let result = run(spec).await.unwrap();
    assert_eq!(result, ProcessOutput { code: None, signal: Some(9), timed_out: true, ..output(0, "", "") });
    assert_all_end(&written_ids(&file, 2).await).await;
}

#[tokio::test]
async fn cancellation_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, file) = tree(&folder);
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let cancel = cancel.clone();
        async move { LocalProcesses::default().run(spec, cancel).await }
    });
    let ids = written_ids(&file, 3).await;
    assert!(ids.iter().copied().all(is_alive));
    cancel.cancel();
    let error = running.await.unwrap().unwrap_err();
    let expected = "'/bin/sh' was cancelled; it and all it started were ended. It may have had effects.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, expected));
    assert_all_end(&ids).await;
}

#[tokio::test]
async fn cancelled_call_starts_no_program() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = LocalProcesses::default().run(command("/nonexistent", &[]), cancel).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "that the program is missing was not even noticed");
}

#[tokio::test]
async fn dropped_call_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, file) = tree(&folder);
    let running = tokio::spawn(async move { LocalProcesses::default().run(spec, CancellationToken::new()).await });
    let ids = written_ids(&file, 3).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert_all_end(&ids).await;
}

#[tokio::test]
async fn process_left_behind_neither_hangs_the_call_nor_survives_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, streams) in [("holding", ""), ("quiet", " >/dev/null 2>&1")] {
        let file = folder.path().join(name);
        let script = format!("sleep 100{streams} & echo $! > {}; echo done", file.display());
        assert_eq!(run(shell(&script)).await.unwrap(), output(0, "done\n", ""), "{name}");
        assert_all_end(&written_ids(&file, 1).await).await;
    }
}

#[tokio::test]
async fn output_after_the_exit_of_the_leader_is_read() {
    let result = run(shell("(sleep 0.02; echo late) & exit 0")).await.unwrap();
    assert_eq!(result, output(0, "late\n", ""));
}

#[tokio::test]
async fn output_beyond_the_limit_is_read_and_dropped() {
    let mut spec = shell("yes 0123456789 | head -c 10000000; yes e | head -c 10000000 >&2; exit 4");
    spec.output_limit = 1000;
    let result = run(spec).await.unwrap();
    assert_eq!((result.code, result.truncated, result.timed_out), (Some(4), true, false));
    assert_eq!(result.stdout, "0123456789\n".repeat(91).as_bytes()[..1000]);
    assert_eq!(result.stderr, "e\n".repeat(500).as_bytes());
}

#[tokio::test]
async fn input_is_passed_or_empty() {
    assert_eq!(run(shell("cat; echo end")).await.unwrap(), output(0, "end\n", ""), "no input: an end at once");
    let mut spec = command("/bin/cat", &[]);
    let large = "line of input\n".repeat(70_000);
    spec.input = Some(large.clone().into_bytes());
    assert_eq!(run(spec).await.unwrap(), output(0, &large, ""), "more than a pipe holds, both ways");
    let mut deaf = shell("exec <&-; exit 5");
    deaf.input = Some(vec![0; 1024 * 1024]);
    assert_eq!(run(deaf).await.unwrap(), output(5, "", ""), "a program need not read");
}

#[tokio::test]
async fn environment_of_a_program_is_clean() {
    let mut spec = command("/usr/bin/env", &[]);
    spec.exec.environment = vec!["PLANNED".into()];
    spec.environment = vec![("PLANNED".into(), "yes".into())];
    let result = run(spec).await.unwrap();
    let text = String::from_utf8(result.stdout).unwrap();
    let names: BTreeSet<_> = text.lines().map(|line| line.split('=').next().unwrap()).collect();
    let known = BTreeSet::from(["PATH", "HOME", "LANG", "TERM", "TZ", "PLANNED"]);
    assert!(names.is_subset(&known) && names.contains("PATH") && text.contains("PLANNED=yes\n"), "{names:?}");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "there is something here that must not leak");
}

#[tokio::test]
async fn dangerous_variables_stop_the_call() {
    for name in ["LD_PRELOAD", "MY_API_KEY"] {
        let mut spec = shell("echo ran");
        spec.environment = vec![(name.into(), "x".into())];
        assert_eq!(run(spec).await.unwrap_err().kind(), ErrorKind::PermissionDenied, "{name}");
    }
}

#[tokio::test]
async fn spawn_errors_say_why() {
    let folder = tempfile::tempdir().unwrap();
    // Written by another process: a program cannot be run while a fork of this one still holds it open for writing.
    let file = |name: &str, mode: &str, content: &str| {
        let path = folder.path().join(name);
        let install = "printf '%s' \"$2\" > \"$1\" && chmod \"$3\" \"$1\"";
        let status = std::process::Command::new("/bin/sh").args(["-c", install, "sh"]).arg(&path).args([content, mode]).status();
        assert!(status.unwrap().success());
        path
    };
    for (program, why) in [
        (folder.path().join("none"), "there is no such file. Check the name, or install it."),
        (file("plain", "644", "#!/bin/sh\n"), "it is not executable for this user. Set it with chmod +x."),
        (file("text", "755", "hello"), "it is neither a program for this machine nor a script that names its interpreter (#!/bin/sh)."),
        (file("orphan", "755", "#!/no/such/interpreter\n"), "the interpreter that its first line names is missing."),
    ] {
        let error = run(command(&program, &[])).await.unwrap_err();
        let expected = format!("Cannot run '{}': {why}", program.display());
        assert_eq!((error.kind(), error.message()), (ErrorKind::ExecutionError, &*expected));
    }
    let mut nowhere = shell("true");
    nowhere.exec.directory = folder.path().join("gone");
    let expected = format!("Cannot run '/bin/sh' in '{}': there is no such folder.", nowhere.exec.directory.display());
    assert_eq!(run(nowhere).await.unwrap_err().message(), expected);
    let relative = run(command("sh", &[])).await.unwrap_err();
    assert_eq!(relative.message(), "'sh' is not an absolute path; the plan must name the file that runs");
}

#[test]
fn process_tests_pass_as_an_unprivileged_user() {
    println!("{}", haft_testkit::again_as_an_ordinary_user(&[], &[]).unwrap_or_else(|output| panic!("{output}")));
}
