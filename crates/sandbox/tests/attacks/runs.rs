//! Attacks that take more than a script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use haft_sandbox::{Bubblewrap, Limits, Policy, SandboxError, Wrapped};

use crate::backend::Backend;
use crate::support::{Place, Ran, Running, exists, is_root, launcher, marker, processes_with, until};

/// Those that the host holds open, and that whoever wrote it forgot to close.
pub(crate) fn descriptors(backend: &Backend) {
    let place = Place::new();
    let held = place.outside.join("held");
    fs::write(&held, "private").unwrap();
    let script = "for d in /proc/self/fd/*; do echo ${d##*/}; done | grep -vxE '[0-3]|10|255'; cat <&9; cat <&7; echo held";
    let Wrapped { command, guard } = backend.sandbox.wrap(backend.shell(&place, script), &Backend::policy(&place)).unwrap();
    let mut outer = Process::new("/bin/bash");
    // The last of them stays the child of this process, which a keeper wants to be its host.
    outer.args(["-c", "exec 7<\"$0\" 9<\"$0\" 200<\"$0\"; exec \"$@\""]).arg(&held).arg(&command.program).args(&command.arguments);
    outer.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
    let ran = Ran::from(outer.stdin(Stdio::null()).output().unwrap());
    drop(guard);
    assert_eq!(ran.stdout, "held\n", "{}", ran.stderr);
}

pub(crate) fn hidden(backend: &Backend) {
    let place = Place::new();
    let marker = marker();
    let script = format!(
        "(setsid sh -c 'trap \"\" TERM HUP; exec sleep {marker}' &) ; (setsid sleep {marker} &); \
         while [ $(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -cxF {marker}) -lt 2 ]; do :; done; echo up"
    );
    let Wrapped { command, guard } = backend.sandbox.wrap(backend.shell(&place, &script), &Backend::policy(&place)).unwrap();
    let output = command.to_std().stdin(Stdio::null()).output().unwrap();
    // The guard is still there: the namespace alone must have done it.
    assert_eq!(processes_with(&marker), Vec::<String>::new());
    drop(guard);
    assert_eq!(Ran::from(output), Ran { code: Some(0), stdout: "up\n".into(), stderr: String::new() });
}

pub(crate) fn killed(backend: &Backend) {
    let script = |marker: &str| format!("trap '' TERM INT HUP; for i in 1 2 3 4 5; do setsid sleep {marker} & done; sleep {marker}");
    ended_whole(backend, script);
}

pub(crate) fn bomb(backend: &Backend) {
    ended_whole(backend, |marker| format!("bomb() {{ sleep {marker} & bomb & bomb & wait; }}; bomb"));
}

fn ended_whole(backend: &Backend, script: impl Fn(&str) -> String) {
    let (place, marker) = (Place::new(), marker());
    let policy = Policy { limits: Limits { processes: Some(64), ..Limits::default() }, ..Backend::policy(&place) };
    let running = Running::start(&*backend.sandbox, backend.shell(&place, &script(&marker)), &policy);
    until("the processes have started", || processes_with(&marker).len() > 3);
    running.kill();
    assert_eq!(processes_with(&marker), Vec::<String>::new());
}

/// What others have there is not seen, and what is written there does not stay.
pub(crate) fn temporary(backend: &Backend) {
    let (place, marker) = (Place::new(), marker());
    let folders = ["/tmp", "/var/tmp", "/dev/shm"];
    let files = folders.map(|folder| tempfile::Builder::new().prefix("haft-test-").tempfile_in(folder).unwrap());
    let names: Vec<_> = files.iter().map(|file| file.path().display().to_string()).collect();
    let ran = backend
        .run(&place, &format!("ls -d {} 2>/dev/null; for d in /tmp /var/tmp /dev/shm; do echo x >$d/{marker}; done", names.join(" ")));
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

pub(crate) fn broken_stages(backend: &Backend) {
    let place = Place::new();
    let whole = || backend.sandbox.wrap(backend.shell(&place, "echo ran >ran; echo ran"), &Backend::policy(&place)).unwrap();
    let position = |arguments: &[std::ffi::OsString], word: &str| arguments.iter().position(|argument| argument == word).unwrap();
    let breaks: [(&str, &str, usize, &str); 8] = [
        ("outer settings", "__haft_sandbox_outer", 1, "{"),
        ("a control group that is not there", "__haft_sandbox_outer", 1, r#"{"doors":["/no/such/cgroup.procs"]}"#),
        ("bubblewrap that is not there", "__haft_sandbox_outer", 2, "/no/such/bwrap"),
        ("an option of bubblewrap", "--unshare-pid", 0, "--no-such-option"),
        ("a mount", "--chdir", 1, "/no/such/folder"),
        ("the stage inside", "__haft_sandbox_inner", 0, "__haft_sandbox_none"),
        ("inner settings", "__haft_sandbox_inner", 1, "{"),
        ("a filter that is not known", "__haft_sandbox_inner", 1, ""),
    ];
    for (name, word, offset, replacement) in breaks {
        if word == "__haft_sandbox_outer" && !is_root() {
            println!("C11 not tried as an ordinary person: {name}; without a control group there is no outer stage");
            continue;
        }
        let Wrapped { mut command, guard } = whole();
        let at = position(&command.arguments, word) + offset;
        let original = command.arguments[at].to_string_lossy().into_owned();
        command.arguments[at] =
            if replacement.is_empty() { original.replace("\"Tcp\"", "\"Other\"") } else { replacement.to_owned() }.into();
        let ran = Ran::from(command.to_std().stdin(Stdio::null()).output().unwrap());
        drop(guard);
        assert!(!exists(place.workspace.join("ran")) && ran.stdout.is_empty(), "{name}: {ran:?}");
        if word != "__haft_sandbox_inner" || offset != 0 {
            assert!(ran.setup_failure().is_some(), "{name}: {ran:?}");
        }
    }
    assert_eq!(backend.run(&place, "echo ran").stdout, "ran\n", "unbroken it runs");
}

/// It has done nothing that it may not do, however far it came.
pub(crate) fn killed_early(backend: &Backend) {
    let place = Place::new();
    for step in 0..20 {
        let script = "echo x >\"$OUT\"/escaped; sleep 60";
        let Wrapped { command, guard } = backend.sandbox.wrap(backend.shell(&place, script), &Backend::policy(&place)).unwrap();
        let mut child = command.to_std().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let delay = Duration::from_millis(if backend.name() == "container" { step * 20 } else { step });
        std::thread::sleep(delay);
        guard.kill(child.id()).unwrap();
        child.wait().unwrap();
        drop(guard);
        assert!(!exists(place.outside.join("escaped")), "after {delay:?}");
    }
}

/// A terminal changes nothing else: the commands are the same, word for word. (That one runs is shown through the binary.)
pub(crate) fn with_terminal(backend: &Backend) {
    let place = Place::new();
    let words = |terminal: bool| {
        let policy = Policy { terminal, ..Backend::policy(&place) };
        let Wrapped { command, guard } = backend.sandbox.wrap(backend.shell(&place, "true"), &policy).unwrap();
        drop(guard);
        let text = |word: &std::ffi::OsString| word.to_string_lossy().replace("\"terminal\":true", "\"terminal\":false");
        command.arguments.iter().map(text).filter(|word| !word.contains("/sys/fs/cgroup/")).collect::<Vec<_>>()
    };
    assert_eq!(words(true), words(false));
}

/// Nothing of the environment of whoever spawns, and nothing that was not said.
pub(crate) fn environment(backend: &Backend) {
    let place = Place::new();
    let script = "env | cut -d= -f1 | grep -vxE 'PATH|OUT|LC_ALL|PWD|SHLVL|_|HOME|HOSTNAME|TERM|OLDPWD|container'; echo held";
    let Wrapped { command, guard } = backend.sandbox.wrap(backend.shell(&place, script), &Backend::policy(&place)).unwrap();
    let mut process = command.to_std();
    process.env("AWS_SECRET_ACCESS_KEY", "private").env("OPENAI_API_KEY", "private").env("LD_PRELOAD_FOR_TEST", "x");
    let ran = Ran::from(process.stdin(Stdio::null()).output().unwrap());
    drop(guard);
    assert_eq!((ran.stdout.as_str(), ran.code), ("held\n", Some(0)), "{}", ran.stderr);
}
