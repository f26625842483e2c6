//! `exec` through the real binary, in the real sandbox.

use std::fs;

use serde_json::json;

use super::harness::{World, is_root};
use super::processes::processes_with;

/// What a line gives, and how it ended.
fn ran(world: &World, line: &str) -> (String, serde_json::Value) {
    let (_, result) = world.call("exec", &json!({ "command": line }));
    let text = result["result"].as_str().or_else(|| result["message"].as_str()).unwrap_or_default().to_owned();
    (text, result)
}

#[test]
fn a_command_runs_in_the_workspace_and_says_how_it_ended() {
    let world = World::new();
    let (text, result) = ran(&world, "echo one; echo two >&2; pwd > where; exit 3");
    assert_eq!(result["details"]["exit_code"], 3, "{result}");
    assert_eq!(result["details"]["sandbox"], "bubblewrap", "{result}");
    assert!(text.starts_with("Exit code: 3\n\none\ntwo"), "{text}");
    let root = world.file("").canonicalize().unwrap();
    assert_eq!(fs::read_to_string(world.file("where")).unwrap().trim(), root.to_string_lossy());
    assert!(!fs::read_dir(&root).unwrap().flatten().any(|entry| [".git", ".haft"].iter().any(|name| entry.file_name() == *name)));
}

/// Seed 001 calls it `bash` and counts its timeout in milliseconds.
#[test]
fn bash_is_exec_with_its_timeout_in_milliseconds() {
    let world = World::new();
    let (_, result) = world.call("bash", &json!({"command": "echo one", "timeout": 20_000, "description": "says one"}));
    assert_eq!(
        (&result["tool"], &result["details"]["exit_code"], &result["result"]),
        (&json!("exec"), &json!(0), &json!("one")),
        "{result}"
    );
    let (_, late) = world.call("bash", &json!({"command": "sleep 30", "timeout": 1_000}));
    assert_eq!(late["error_type"], "timeout", "{late}");
}

#[test]
fn c09_c13_it_sees_no_other_process_no_secret_and_no_key() {
    let world = World::new();
    world.write("a/.env", "PASSWORD=hunter2\n");
    let line = "ls /proc | grep -c '^[0-9]'; grep -rs hunter2 . ; env | grep -c -i -E 'key|token|secret'; ls /tmp | wc -l";
    let (text, _) = ran(&world, line);
    assert!(!text.contains("hunter2"), "{text}");
    let numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(matches!(numbers[..], [processes, 0, _] if processes < 10), "{text}");
}

#[test]
fn a18_b03_what_is_protected_or_outside_is_not_written_however_it_is_tried() {
    let world = World::new();
    fs::create_dir_all(world.file(".git")).unwrap();
    let outside = world.file("").parent().unwrap().join("outside.txt");
    for line in [
        "echo x > .git/config".to_owned(),
        "echo x > .haft".to_owned(),
        format!("echo x > {}", outside.display()),
        format!("python3 -c \"open('{}', 'w')\"", outside.display()),
        "python3 -c \"import os; os.makedirs('.git/hooks'); open('.git/hooks/pre-commit', 'w')\"".to_owned(),
        "mv .git elsewhere".to_owned(),
        "f=.git/config; echo x > $f".to_owned(),
    ] {
        let (text, _) = ran(&world, &line);
        assert!(!outside.exists(), "{line}: {text}");
        assert!(!world.file(".git/config").exists() && !world.file(".git/hooks").exists(), "{line}: {text}");
        assert!(world.file(".git").is_dir() && !world.file(".haft").exists(), "{line}: {text}");
    }
}

#[test]
fn c03_there_is_no_network_unless_it_was_asked_for_and_permitted() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = World::new();
    let line = format!("python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\"");
    let (text, result) = ran(&world, &line);
    assert_ne!(result["details"]["exit_code"], 0, "{text}");
    assert!(listener.accept().is_err(), "something came through");
    let (_, refused) = world.call("exec", &json!({ "command": "true", "allow_hosts": ["example.org"] }));
    assert_eq!(refused["error_type"], "permission_denied", "{refused}");
}

#[test]
fn line_that_cannot_be_followed_runs_in_the_sandbox_and_needs_approval_outside() {
    let world = World::new();
    for line in ["$(echo touch) ran", "eval 'touch ran'"] {
        let (_, refused) = world.call("exec", &json!({ "command": line, "host": "host" }));
        assert_eq!((&refused["error_type"], world.file("ran").exists()), (&json!("permission_denied"), false), "{line}: {refused}");
        let (text, result) = ran(&world, line);
        assert_eq!((&result["status"], world.file("ran").exists()), (&json!("success"), true), "{line}: {text}");
        fs::remove_file(world.file("ran")).unwrap();
    }
}

#[test]
fn without_its_sandbox_nothing_runs() {
    let world = World::with_config("[sandbox]\nbackend = 'landlock'\nmode = 'required'\n");
    let (text, result) = ran(&world, "touch ran");
    assert_eq!(result["error_type"], "sandbox_unavailable", "{text}");
    assert!(!world.file("ran").exists(), "{text}");
}

#[test]
fn what_is_stopped_leaves_nothing_in_the_workspace() {
    let world = World::new();
    let seconds = format!("{}.25", 70_000 + std::process::id());
    let mut stopped = world.command(&["call", "exec", &json!({ "command": format!("touch begun; sleep {seconds}") }).to_string()]);
    let mut child = stopped.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !world.file("begun").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::yield_now();
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    let names: Vec<_> = fs::read_dir(world.file("")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["begun"]);
    assert_eq!(processes_with(&seconds), Vec::<String>::new(), "a command is still running after haft");
}

#[test]
fn c11_sandbox_that_cannot_be_set_up_is_no_exit_code() {
    let world = World::with_config("[exec.limits]\nprocesses = 1\n");
    let (text, result) = ran(&world, "touch ran");
    assert_eq!(result["error_type"], "sandbox_unavailable", "{text}");
    assert!(text.starts_with("The command was not run, because its sandbox could not be set up: "), "{text}");
    assert!(!world.file("ran").exists(), "{text}");
    // What is missing inside is the command's own affair.
    let (_, missing) = ran(&World::new(), "no-such-program");
    assert_eq!((&missing["error_type"], &missing["details"]["exit_code"]), (&json!("execution_error"), &json!(127)), "{missing}");
}

#[test]
fn a_terminal_is_given_where_it_is_asked_for_and_its_output_shown_plainly() {
    let world = World::new();
    let (_, result) =
        world.call("exec", &json!({ "command": "stty size; tty > /dev/null && ls --color=always -d .; printf 'a\\rb\\n'", "pty": true }));
    assert_eq!(
        result["result"], "30 120\n.\nb\n\n(A line was written over by the next, as progress bars do; only the last is shown.)",
        "{result}"
    );
}

#[test]
fn what_it_used_is_in_the_details() {
    let world = World::new();
    let (_, result) = world.call("exec", &json!({ "command": "head -c 200000000 /dev/zero | sort | wc -c" }));
    let of = |name: &str| result["details"]["usage"][name].as_u64().unwrap_or_else(|| panic!("{name}: {result}"));
    assert!(of("max_memory_bytes") > 20_000_000 && of("user_ms") + of("system_ms") > 10, "{result}");
}

/// Git as the user has it, without settings of their own.
fn git(world: &World, words: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(words).current_dir(world.file("")).env("HOME", world.path("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

#[test]
fn a_command_makes_the_workspace_a_repository_and_the_user_sees_its_commits() {
    let world = World::new();
    let line = "git init -q && git config user.name a && git config user.email a@example.org && echo x > a && git add a && git commit -qm one && git checkout -qb two";
    let (text, result) = ran(&world, line);
    assert_eq!(result["details"]["exit_code"], 0, "{text}");
    let mut log = std::process::Command::new("git");
    let log = log.args(["log", "--format=%s %D"]).current_dir(world.file("")).env("HOME", world.path("home")).output().unwrap();
    let shown = String::from_utf8_lossy(&log.stdout).into_owned();
    assert!(shown.starts_with("one HEAD -> two"), "{shown} {log:?}");
}

#[test]
fn what_git_runs_in_repositories_below_is_protected_as_well() {
    let world = World::new();
    fs::create_dir_all(world.file("libraries/one")).unwrap();
    git(&world, &["init", "-q", "libraries/one"]);
    for (key, value) in [("user.name", "a"), ("user.email", "a@example.org")] {
        git(&world, &["-C", "libraries/one", "config", key, value]);
    }
    let (text, result) = ran(&world, "git -C libraries/one commit -q --allow-empty -m one");
    assert_eq!(result["details"]["exit_code"], 0, "{text}");
    let settings = world.read("libraries/one/.git/config");
    let hooks = fs::read_dir(world.file("libraries/one/.git/hooks")).unwrap().count();
    // In a file, which nobody reads beforehand: only the sandbox holds.
    for attack in [
        "cd libraries/one && git config core.fsmonitor ./evil",
        "echo evil > libraries/one/.git/hooks/pre-commit",
        "rm -rf libraries/one/.git/config",
        "mv libraries/one/.git/hooks x",
    ] {
        world.write("attack", attack);
        ran(&world, "sh attack");
        assert_eq!(world.read("libraries/one/.git/config"), settings, "{attack}");
        assert_eq!(fs::read_dir(world.file("libraries/one/.git/hooks")).unwrap().count(), hooks, "{attack}");
        fs::remove_dir_all(world.file("x")).ok();
    }
}

/// A balloon that says after each 8 MB how much it holds.
const BALLOON: &str = "held = []\nwhile True:\n    held.append(bytearray(8 << 20))\n    print(8 * len(held), flush=True)\n";

#[test]
fn a_call_can_tighten_its_limits_and_never_widen_them() {
    let world = World::with_config("[exec.limits]\nmemory = '192MB'\ncpu_seconds = 2\n");
    world.write("balloon.py", BALLOON);
    let more = json!(["'memory_mb' was ignored: it can only be less than is configured"]);
    for (asked, most, warnings) in
        [(json!({}), 192, json!(null)), (json!({"memory_mb": 64}), 64, json!(null)), (json!({"memory_mb": 4096}), 192, more)]
    {
        let mut arguments = asked.clone();
        arguments["command"] = "python3 balloon.py".into();
        let (_, result) = world.call("exec", &arguments);
        let text = result["message"].as_str().unwrap_or_default();
        let held: u64 = text.lines().filter_map(|line| line.parse().ok()).max().unwrap_or_default();
        assert!(held > most / 3 && held <= most, "{asked}: {held} MB: {result}");
        let refused = !is_root() && text.contains("MemoryError");
        assert!(refused || text.contains("[haft: the command met its limit of memory]"), "{asked}: {result}");
        assert_eq!(result["details"]["warnings"], warnings, "{asked}: {result}");
    }
    let limits =
        "ulimit -t; python3 -c 'import subprocess; held = [subprocess.Popen([\"sleep\", \"9\"]) for _ in range(40)]' 2>&1 | tail -1";
    let (_, result) = world.call("exec", &json!({"command": limits, "cpu_seconds": 1, "processes": 16, "timeout": 20}));
    let text = result["result"].as_str().unwrap_or_default();
    assert!(text.starts_with("1\n") && text.contains("temporarily unavailable"), "{result}");
}

#[test]
fn the_least_that_can_be_asked_for_is_enough_for_a_line_to_run() {
    let world = World::new();
    let (_, result) = world.call("exec", &json!({"command": "echo ran | cat", "memory_mb": 16, "cpu_seconds": 1, "processes": 8}));
    assert_eq!(result["result"], "ran", "{result}");
}
