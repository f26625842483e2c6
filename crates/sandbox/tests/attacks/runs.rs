//! Attacks that take more than a script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use haft_contract::CommandLimits;
use haft_sandbox::{Bubblewrap, ConfinedCommand, SandboxError, SandboxPolicy};

use crate::backend::Backend;
use crate::support::{RunOutput, RunningCommand, TestWorkspace, exists, is_root, launcher, marker, processes_with, until};

/// Descriptors that the host has open without close-on-exec.
pub(crate) fn descriptors(backend: &Backend) {
    let ws = TestWorkspace::new();
    let open = ws.outside.join("open");
    fs::write(&open, "private").unwrap();
    let script = "for d in /proc/self/fd/*; do echo ${d##*/}; done | grep -vxE '[0-3]|10|255'; cat <&9; cat <&7; echo blocked";
    let ConfinedCommand { command, guard } = backend.sandbox.wrap(backend.shell(&ws, script), &Backend::policy(&ws)).unwrap();
    let mut outer = Process::new("/bin/bash");
    // By exec, so that the supervisor is a child of this process, its host.
    outer.args(["-c", "exec 7<\"$0\" 9<\"$0\" 200<\"$0\"; exec \"$@\""]).arg(&open).arg(&command.program).args(&command.arguments);
    outer.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
    let ran = RunOutput::from(outer.stdin(Stdio::null()).output().unwrap());
    drop(guard);
    assert_eq!(ran.stdout, "blocked\n", "{}", ran.stderr);
}

pub(crate) fn hidden(backend: &Backend) {
    let ws = TestWorkspace::new();
    let marker = marker();
    let script = format!(
        "(setsid sh -c 'trap \"\" TERM HUP; exec sleep {marker}' &) ; (setsid sleep {marker} &); \
         while [ $(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -cxF {marker}) -lt 2 ]; do :; done; echo up"
    );
    let ConfinedCommand { command, guard } = backend.sandbox.wrap(backend.shell(&ws, &script), &Backend::policy(&ws)).unwrap();
    let output = command.to_std().stdin(Stdio::null()).output().unwrap();
    // The guard still exists: the PID namespace alone must have ended them.
    assert_eq!(processes_with(&marker), Vec::<String>::new());
    drop(guard);
    assert_eq!(RunOutput::from(output), RunOutput { code: Some(0), stdout: "up\n".into(), stderr: String::new() });
}

pub(crate) fn killed(backend: &Backend) {
    let script = |marker: &str| format!("trap '' TERM INT HUP; for i in 1 2 3 4 5; do setsid sleep {marker} & done; sleep {marker}");
    assert_run_ends_whole(backend, script);
}

pub(crate) fn bomb(backend: &Backend) {
    assert_run_ends_whole(backend, |marker| format!("bomb() {{ sleep {marker} & bomb & bomb & wait; }}; bomb"));
}

fn assert_run_ends_whole(backend: &Backend, script: impl Fn(&str) -> String) {
    let (ws, marker) = (TestWorkspace::new(), marker());
    let policy = SandboxPolicy { limits: CommandLimits { processes: Some(64), ..CommandLimits::STANDARD }, ..Backend::policy(&ws) };
    let running = RunningCommand::start(&*backend.sandbox, backend.shell(&ws, &script(&marker)), &policy);
    until("the processes have started", || processes_with(&marker).len() > 3);
    running.kill();
    assert_eq!(processes_with(&marker), Vec::<String>::new());
}

/// Files of other processes are not visible, and written files do not stay.
pub(crate) fn temporary(backend: &Backend) {
    let (ws, marker) = (TestWorkspace::new(), marker());
    let folders = ["/tmp", "/var/tmp", "/dev/shm"];
    let files = folders.map(|folder| tempfile::Builder::new().prefix("haft-test-").tempfile_in(folder).unwrap());
    let names: Vec<_> = files.iter().map(|file| file.path().display().to_string()).collect();
    let ran =
        backend.run(&ws, &format!("ls -d {} 2>/dev/null; for d in /tmp /var/tmp /dev/shm; do echo x >$d/{marker}; done", names.join(" ")));
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(0)), "{}", ran.stderr);
    for folder in folders {
        assert!(!exists(format!("{folder}/{marker}")), "{folder} is the host's");
    }
}

pub(crate) fn unavailable(_: &Backend) {
    let folder = tempfile::tempdir().unwrap();
    let fake = |name: &str, script: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let refusal =
        "[ \"$1\" = --version ] && echo bubblewrap 0.9.0 && exit; echo 'bwrap: No permissions to create a new namespace' >&2; exit 1";
    let cases = [
        (PathBuf::from("/no/such/bwrap"), "cannot be run"),
        (fake("old", "echo bubblewrap 0.7.0"), "0.8 or newer"),
        (fake("forbidden", refusal), "No permissions to create a new namespace"),
    ];
    for (program, words) in cases {
        let error = Bubblewrap::with_program(&program, launcher()).unwrap_err();
        assert!(matches!(error, SandboxError::Unavailable { backend: "bubblewrap", .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

const NAMESPACES: &str = "__haft_sandbox_namespaces";

pub(crate) fn broken_steps(backend: &Backend) {
    let ws = TestWorkspace::new();
    let whole = || backend.sandbox.wrap(backend.shell(&ws, "echo ran >ran; echo ran"), &Backend::policy(&ws)).unwrap();
    let position = |arguments: &[std::ffi::OsString], word: &str| arguments.iter().position(|argument| argument == word).unwrap();
    let own_steps = whole().command.arguments.iter().any(|argument| argument == NAMESPACES);
    let makers: [(&str, &str, usize, &str); 2] = if own_steps {
        [("the namespaces step", NAMESPACES, 0, "__haft_sandbox_none"), ("an option of the step", "--proc", 0, "--no-such-option")]
    } else {
        [
            ("a missing bubblewrap", "__haft_sandbox_outer", 2, "/no/such/bwrap"),
            ("an option of bubblewrap", "--unshare-pid", 0, "--no-such-option"),
        ]
    };
    let breaks = [
        ("outer settings", "__haft_sandbox_outer", 1, "{"),
        ("a missing control group", "__haft_sandbox_outer", 1, r#"{"cgroup_files":["/no/such/cgroup.procs"]}"#),
        ("a mount", "--ro-bind", 1, "/no/such/source"),
        ("a folder", "--chdir", 1, "/no/such/folder"),
        ("the inner step", "__haft_sandbox_inner", 0, "__haft_sandbox_none"),
        ("inner settings", "__haft_sandbox_inner", 1, "{"),
        ("an unknown filter", "__haft_sandbox_inner", 1, ""),
    ];
    for (name, word, offset, replacement) in breaks.into_iter().chain(makers) {
        if word == "__haft_sandbox_outer" && !is_root() {
            println!("C11 not tried as an unprivileged user: {name}; without a control group there is no outer step");
            continue;
        }
        let ConfinedCommand { mut command, guard } = whole();
        let at = position(&command.arguments, word) + offset;
        let original = command.arguments[at].to_string_lossy().into_owned();
        command.arguments[at] =
            if replacement.is_empty() { original.replace("\"Tcp\"", "\"Other\"") } else { replacement.to_owned() }.into();
        let ran = RunOutput::from(command.to_std().stdin(Stdio::null()).output().unwrap());
        drop(guard);
        assert!(!exists(ws.workspace.join("ran")) && ran.stdout.is_empty(), "{name}: {ran:?}");
        if replacement != "__haft_sandbox_none" {
            assert!(ran.setup_failure().is_some(), "{name}: {ran:?}");
        }
    }
    assert_eq!(backend.run(&ws, "echo ran").stdout, "ran\n", "it runs when nothing is broken");
}

/// A command that is killed during setup has not escaped at any moment.
pub(crate) fn killed_early(backend: &Backend) {
    let ws = TestWorkspace::new();
    for step in 0..20 {
        let script = "echo x >\"$OUT\"/escaped; sleep 60";
        let ConfinedCommand { command, guard } = backend.sandbox.wrap(backend.shell(&ws, script), &Backend::policy(&ws)).unwrap();
        let mut child = command.to_std().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let delay = Duration::from_millis(if backend.name() == "container" { step * 20 } else { step });
        std::thread::sleep(delay);
        guard.kill(child.id()).unwrap();
        child.wait().unwrap();
        drop(guard);
        assert!(!exists(ws.outside.join("escaped")), "after {delay:?}");
    }
}

/// The arguments are the same with and without a terminal. (The tests of the binary run one.)
pub(crate) fn with_terminal(backend: &Backend) {
    let ws = TestWorkspace::new();
    let words = |terminal: bool| {
        let policy = SandboxPolicy { terminal, ..Backend::policy(&ws) };
        let ConfinedCommand { command, guard } = backend.sandbox.wrap(backend.shell(&ws, "true"), &policy).unwrap();
        drop(guard);
        let text = |word: &std::ffi::OsString| word.to_string_lossy().replace("\"terminal\":true", "\"terminal\":false");
        command.arguments.iter().map(text).filter(|word| !word.contains("/sys/fs/cgroup/")).collect::<Vec<_>>()
    };
    assert_eq!(words(true), words(false));
}

/// The command gets nothing of the environment of its parent process.
pub(crate) fn environment(backend: &Backend) {
    let ws = TestWorkspace::new();
    let script = "env | cut -d= -f1 | grep -vxE 'PATH|OUT|LC_ALL|PWD|SHLVL|_|HOME|HOSTNAME|TERM|OLDPWD|container'; echo blocked";
    let ConfinedCommand { command, guard } = backend.sandbox.wrap(backend.shell(&ws, script), &Backend::policy(&ws)).unwrap();
    let mut process = command.to_std();
    process.env("AWS_SECRET_ACCESS_KEY", "private").env("OPENAI_API_KEY", "private").env("LD_PRELOAD_FOR_TEST", "x");
    let ran = RunOutput::from(process.stdin(Stdio::null()).output().unwrap());
    drop(guard);
    assert_eq!((ran.stdout.as_str(), ran.code), ("blocked\n", Some(0)), "{}", ran.stderr);
}
