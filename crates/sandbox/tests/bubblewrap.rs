//! Properties of the bubblewrap backend beyond the table of attacks.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod support;

use std::fs;
use std::process::{Command as Process, Stdio};

use haft_contract::CommandLimits;
use haft_sandbox::{Bubblewrap, ConfinedCommand, ProcessSpec, Sandbox, SandboxPolicy};
use support::{RunOutput, TestWorkspace, bubblewrap, exists, is_root, launcher, marker, processes_with, run, until};

#[test]
fn allowed_actions_work() {
    let ws = TestWorkspace::new();
    let script = "echo x >new; mkdir -p a/b; mv new a/b/; ln -s b a/l; cat a/l/new; echo y >.git/config; mv .git/config .git/c; cat .git/c; \
                  rm -r a .git/c; echo t >/tmp/t; cat /tmp/t; echo s >/dev/shm/s; cat /dev/shm/s; cat \"$OUT\"/plain; pwd; (cat) <<<here; exit 7";
    fs::write(ws.outside.join("plain"), "plain\n").unwrap();
    let before = ws.listing();
    let ran = run(&bubblewrap(), ws.shell(script), &ws.policy());
    let expected = format!("x\ny\nt\ns\nplain\n{}\nhere\n", ws.workspace.display());
    assert_eq!(ran, RunOutput { code: Some(7), stdout: expected, stderr: String::new() });
    assert_eq!(ws.listing(), before);
    for path in ["/tmp/t", "/dev/shm/s"] {
        assert!(!exists(path), "C09: {path} is on the host");
    }
}

#[test]
fn exit_codes_are_those_of_a_shell() {
    let ws = TestWorkspace::new();
    let sandbox = bubblewrap();
    for (script, code) in [("exit 0", 0), ("exit 125", 125), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        let ran = run(&sandbox, ws.shell(script), &ws.policy());
        assert_eq!((ran.code, ran.setup_failure()), (Some(code), None), "{script}: {}", ran.stderr);
    }
    let by_name = ProcessSpec::new("true", &ws.workspace).variable("PATH", "/usr/bin:/bin");
    assert_eq!(run(&sandbox, by_name, &ws.policy()).code, Some(0), "a name is looked up in the command's own PATH");
    let missing = run(&sandbox, ProcessSpec::new("/no/such/program", &ws.workspace), &ws.policy());
    assert_eq!(missing.code, Some(127));
    assert!(missing.setup_failure().unwrap().contains("/no/such/program"));
}

/// C13, and the environment of the parent process.
#[test]
fn environment_has_the_given_variables_only() {
    let ws = TestWorkspace::new();
    let command =
        ProcessSpec::new("/usr/bin/env", &ws.workspace).variable("A", "1").variable("LD_LIBRARY_PATH", "/tmp").variable("ODD", "a\nb");
    let ConfinedCommand { command, guard } = bubblewrap().wrap(command, &ws.policy()).unwrap();
    let mut process = command.to_std();
    process.env("AWS_SECRET_ACCESS_KEY", "private").env("LD_PRELOAD_FOR_TEST", "x");
    let ran = RunOutput::from(process.output().unwrap());
    drop(guard);
    assert_eq!(ran, RunOutput { code: Some(0), stdout: "A=1\nLD_LIBRARY_PATH=/tmp\nODD=a\nb\n".into(), stderr: String::new() });
}

/// A preload meant for the command must not be loaded by the launcher, which runs outside.
#[test]
fn environment_does_not_reach_the_steps_outside() {
    let ws = TestWorkspace::new();
    let command = ws.shell("true").variable("LD_PRELOAD", "/evil.so").variable("LD_AUDIT", "/evil.so");
    let ConfinedCommand { command, guard } = bubblewrap().wrap(command, &ws.policy()).unwrap();
    drop(guard);
    let names: Vec<_> = command.environment.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| name.starts_with("HAFT_SANDBOX_")), "{names:?}");
    assert!(command.arguments.iter().all(|argument| !argument.to_string_lossy().contains("evil")), "arguments are visible to all");
}

/// C05: the session is always a new one, and its terminal the one that the command was given or none.
#[test]
fn session_of_the_host_is_left() {
    let ws = TestWorkspace::new();
    let ran = run(&bubblewrap(), ws.shell("exec cut -d ' ' -f 6,7 /proc/self/stat"), &ws.policy());
    assert_eq!(ran.stdout, "1 0\n", "{}", ran.stderr);
    let ran = run(&bubblewrap(), ws.shell("echo ran"), &SandboxPolicy { terminal: true, ..ws.policy() });
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(125), ""), "{}", ran.stderr);
    assert!(ran.setup_failure().unwrap().contains("cannot take the terminal"), "{}", ran.stderr);
}

/// C07: no host process is left to kill it.
#[test]
fn run_ends_with_its_host() {
    let ws = TestWorkspace::new();
    let marker = marker();
    let ConfinedCommand { command, guard } =
        bubblewrap().wrap(ws.shell(&format!("sleep {marker} & sleep {marker}")), &ws.policy()).unwrap();
    let mut host = Process::new("/bin/bash");
    host.args(["-c", "\"$@\" & wait", "host"]).arg(&command.program).args(&command.arguments);
    let mut host = host.envs(command.environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null()).spawn().unwrap();
    until("the command has started", || processes_with(&marker).len() == 2);
    host.kill().unwrap();
    host.wait().unwrap();
    until("the run has ended", || processes_with(&marker).is_empty());
    drop(guard);
}

/// C08
#[test]
fn limits_are_enforced_and_reported() {
    let ws = TestWorkspace::new();
    let limits = CommandLimits {
        memory: Some(64 << 20),
        processes: Some(32),
        cpu_seconds: Some(1),
        file_size: Some(1 << 20),
        open_files: Some(32),
        tmp_size: Some(1 << 20),
    };
    let policy = SandboxPolicy { limits, ..ws.policy() };
    let cases = [
        ("memory", "a=x; while :; do a=$a$a$a$a; done", &[1, 2, 137][..], true),
        ("processes", "perl -e 'for (1..100) { defined(my $p = fork) or exit 9; $p or sleep 60, exit } print qq(all)'", &[9][..], true),
        ("cpu_seconds", "while :; do :; done", &[137, 152][..], false),
        ("file_size", "head -c 9M /dev/zero >large", &[153, 1][..], false),
        ("tmp_size", "head -c 9M /dev/zero >/tmp/large", &[1, 153][..], false),
        ("open_files", "for i in {3..90}; do eval \"exec $i</dev/null\" || exit 9; done; echo all", &[1, 9][..], false),
    ];
    for (limit, script, codes, told) in cases {
        let ConfinedCommand { command, guard } = bubblewrap().wrap(ws.shell(script), &policy).unwrap();
        let ran = RunOutput::from(command.to_std().stdin(Stdio::null()).output().unwrap());
        let exceeded = guard.exceeded();
        drop(guard);
        assert!(ran.code.is_some_and(|code| codes.contains(&code)) && ran.stdout.is_empty(), "{limit}: {ran:?}");
        if told && is_root() {
            assert_eq!(exceeded, [limit], "{limit}: {ran:?}");
        }
        fs::remove_file(ws.workspace.join("large")).ok();
    }
    if !is_root() {
        println!("not tried as an unprivileged user: the exceeded limit, which only the control groups of root report");
    }
}

#[test]
fn invalid_policies_are_refused() {
    let ws = TestWorkspace::new();
    let linked = ws.workspace.join("linked");
    std::os::unix::fs::symlink(&ws.outside, &linked).unwrap();
    let many: Vec<_> = (0..1300).map(|n| ws.outside.join(format!("{n}"))).collect();
    for path in &many {
        fs::write(path, "x").unwrap();
    }
    let with = |change: &dyn Fn(&mut SandboxPolicy)| {
        let mut policy = ws.policy();
        change(&mut policy);
        bubblewrap().wrap(ws.shell("true"), &policy).map(|_| ()).unwrap_err().to_string()
    };
    let cases = [
        (with(&|policy| policy.writable.push("/".into())), "must not be writable"),
        (with(&|policy| policy.writable.push("/etc".into())), "must not be writable"),
        (with(&|policy| policy.writable.push("/no/such/folder".into())), "cannot make writable /no/such/folder"),
        (with(&|policy| policy.protected.push(linked.clone())), "protected and a symlink"),
        (with(&|policy| policy.protected.push(linked.join("deeper"))), "protected and a symlink"),
        (with(&|policy| policy.protected.push(ws.workspace.clone())), "both writable and protected"),
        (with(&|policy| policy.masked.extend(many.iter().cloned())), "that are supported"),
    ];
    for (error, words) in cases {
        assert!(error.contains(words), "{error}");
    }
    let elsewhere = ProcessSpec::new("/bin/true", ws.folder.path().parent().unwrap().join("..").canonicalize().unwrap().join("srv"));
    let error = bubblewrap().wrap(elsewhere, &ws.policy()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("is not visible in the sandbox") || error.contains("cannot start in"), "{error}");
}

/// A confined command must not change the program that confines it.
#[test]
fn launcher_is_protected_inside_the_workspace() {
    let ws = TestWorkspace::new();
    let folder = ws.workspace.join("target/debug");
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("launcher");
    fs::copy(launcher().path(), &copy).unwrap();
    let sandbox = Bubblewrap::detect(haft_sandbox::Launcher::at(&copy)).unwrap();
    let script =
        "(echo x >target/debug/launcher) 2>/dev/null; rm -f target/debug/launcher 2>/dev/null; mv target t 2>/dev/null; echo blocked";
    let ran = run(&sandbox, ws.shell(script), &ws.policy());
    assert_eq!(ran.stdout, "blocked\n");
    assert_eq!(fs::read(&copy).unwrap(), fs::read(launcher().path()).unwrap());
}

/// In a worktree `.git` is a file, which is protected instead of the paths beneath it.
#[test]
fn file_in_place_of_a_protected_directory_is_protected() {
    let ws = TestWorkspace::new();
    fs::remove_dir_all(ws.workspace.join(".git")).unwrap();
    fs::write(ws.workspace.join(".git"), "gitdir: elsewhere\n").unwrap();
    let before = ws.listing();
    let script = "(rm -f .git; mv .git g; mkdir -p .git/hooks; echo x >.git) 2>/dev/null; cat .git";
    let ran = run(&bubblewrap(), ws.shell(script), &ws.policy());
    assert_eq!((ran.stdout.as_str(), ws.listing()), ("gitdir: elsewhere\n", before), "{}", ran.stderr);
}

/// All of the above once more, without root privileges.
#[test]
fn tests_pass_as_an_unprivileged_user() {
    support::rerun_as_unprivileged_user();
}
