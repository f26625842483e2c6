//! Attacks on the bubblewrap backend, each made for real. Ids are those of the list of attacks in the design.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use haft_sandbox::{Bubblewrap, Command, Limits, Policy, Sandbox, SandboxError, Wrapped};
use support::{Place, Ran, Running, bubblewrap, exists, is_root, launcher, marker, processes_with, run, until};

/// Scripts that print what they reached. Whatever they print besides `held` is an escape.
const ATTACKS: &[(&str, &str, &str)] = &[
    (
        "C02",
        "the sockets of services",
        "ls /run/docker.sock /run/dbus /var/run/docker.sock /tmp/.X11-unix /run/user 2>/dev/null; echo held",
    ),
    ("C03", "a connection by the shell", "(exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null && echo connected; echo held"),
    ("C03", "a name that is looked up", "timeout 5 getent hosts example.org; echo held"),
    ("C03", "a datagram", "(echo x >/dev/udp/127.0.0.1/53) 2>/dev/null && echo sent; echo held"),
    ("C05", "the terminal of the host", "(exec 3<>/dev/tty) 2>/dev/null && echo opened; echo held"),
    ("C06", "a user namespace", "unshare -U true 2>/dev/null && echo made; echo held"),
    (
        "C06",
        "a program with set user id",
        "cp /bin/bash x && chmod 4755 x; ./x -p -c 'grep -q \"^CapEff:.*[1-9a-f]\" /proc/self/status && echo gained'; rm x; echo held",
    ),
    ("C06", "capabilities", "grep -E '^Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | grep -qv 0000000000000000 && echo some; echo held"),
    ("C07", "processes of the host", "for p in /proc/[0-9]*; do echo ${p#/proc/}; done | grep -vxE '[1-9]'; echo held"),
    ("C07", "a signal to all processes", "trap '' TERM; kill -TERM -1; echo held"),
    (
        "--",
        "the kernel's settings",
        "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger; do (: >>$f) 2>/dev/null && echo $f; done; echo held",
    ),
    (
        "--",
        "control groups",
        "find /sys/fs/cgroup -name cgroup.procs 2>/dev/null | while read f; do (echo 0 >$f) 2>/dev/null && echo $f; done; echo held",
    ),
    (
        "--",
        "writes to the system",
        "for d in / /etc /usr /usr/bin /var /home /root /opt /run /dev /sys \"$OUT\"; do (: >$d/haft-x) 2>/dev/null && echo $d; done; echo held",
    ),
    ("--", "a secret file", "cat \"$OUT/secret\" 2>/dev/null; cat .env 2>/dev/null; echo held"),
    ("--", "a secret directory", "ls keys 2>/dev/null; cat keys/id 2>/dev/null; echo held"),
    (
        "--",
        "a secret that is moved away",
        "mv keys k2 2>/dev/null; mv .env e2 2>/dev/null; cat k2/id e2 2>/dev/null; cp .env e3 2>/dev/null && cat e3; rm -f e3; echo held",
    ),
    ("--", "a secret by another name", "ln .env e4 2>/dev/null && cat e4; ln -s .env e5; cat e5 2>/dev/null; rm -f e4 e5; echo held"),
    (
        "--",
        "a protected file",
        "(echo x >settings) 2>/dev/null; rm -f settings 2>/dev/null; mv settings s 2>/dev/null; (echo x >n; mv -f n settings) 2>/dev/null; rm -f n; cat settings | grep -vx mine; echo held",
    ),
    (
        "--",
        "a protected directory",
        "(echo x >.git/hooks/pre-commit) 2>/dev/null && echo written; rmdir .git/hooks 2>/dev/null && echo removed; mv .git/hooks h 2>/dev/null && echo moved; rm -rf h; echo held",
    ),
    ("--", "what lies above a protected one", "mv .git g 2>/dev/null && echo moved; rm -rf .git 2>/dev/null && echo removed; echo held"),
    (
        "--",
        "a protected name that is missing",
        "mkdir .haft 2>/dev/null && echo made; (echo x >.haft/config) 2>/dev/null && echo written; rmdir .haft 2>/dev/null && echo removed; ln -sfn /tmp .haft 2>/dev/null; [ -L .haft ] && echo replaced; echo held",
    ),
    (
        "--",
        "a missing one with missing parents",
        "mkdir -p deep/er/missing 2>/dev/null && echo made; (echo x >deep/x) 2>/dev/null && echo written; rmdir deep 2>/dev/null && echo removed; echo held",
    ),
    ("--", "the kernel's secrets", "cat /proc/keys /proc/kcore /proc/kmsg /dev/kmsg /dev/mem 2>/dev/null | head -c 9; echo held"),
    ("--", "the hostname", "hostname | grep -vx haft; hostname other 2>/dev/null && echo set; echo held"),
];

#[test]
fn no_attack_gets_through_and_nothing_is_left() {
    let sandbox = bubblewrap();
    let place = Place::new();
    let before = place.listing();
    for (id, name, script) in ATTACKS {
        let ran = run(&sandbox, place.shell(script), &place.policy());
        assert_eq!((ran.stdout.as_str(), ran.code), ("held\n", Some(0)), "{id} {name}: {}", ran.stderr);
        assert_eq!(place.listing(), before, "{id} {name} left something");
    }
}

#[test]
fn what_is_allowed_works() {
    let place = Place::new();
    let script = "echo x >new; mkdir -p a/b; mv new a/b/; ln -s b a/l; cat a/l/new; echo y >.git/config; mv .git/config .git/c; cat .git/c; \
                  rm -r a .git/c; echo t >/tmp/t; cat /tmp/t; echo s >/dev/shm/s; cat /dev/shm/s; cat \"$OUT\"/plain; pwd; (cat) <<<here; exit 7";
    fs::write(place.outside.join("plain"), "plain\n").unwrap();
    let before = place.listing();
    let ran = run(&bubblewrap(), place.shell(script), &place.policy());
    let expected = format!("x\ny\nt\ns\nplain\n{}\nhere\n", place.workspace.display());
    assert_eq!(ran, Ran { code: Some(7), stdout: expected, stderr: String::new() });
    assert_eq!(place.listing(), before);
    for path in ["/tmp/t", "/dev/shm/s"] {
        assert!(!exists(path), "C09: {path} is on the host");
    }
}

/// C09, the other way: what others have there is not seen.
#[test]
fn the_temporary_files_of_the_host_are_not_seen() {
    let place = Place::new();
    let folders = ["/tmp", "/var/tmp", "/dev/shm"];
    let files = folders.map(|folder| tempfile::Builder::new().prefix("haft-test-").tempfile_in(folder).unwrap());
    let names: Vec<_> = files.iter().map(|file| file.path().display().to_string()).collect();
    let ran = run(&bubblewrap(), place.shell(&format!("ls -d {} 2>/dev/null", names.join(" "))), &place.policy());
    assert_eq!(ran.stdout, "", "{}", ran.stderr);
}

#[test]
fn ends_are_passed_on_as_shells_do() {
    let place = Place::new();
    let sandbox = bubblewrap();
    for (script, code) in [("exit 0", 0), ("exit 125", 125), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        let ran = run(&sandbox, place.shell(script), &place.policy());
        assert_eq!((ran.code, ran.setup_failure()), (Some(code), None), "{script}: {}", ran.stderr);
    }
    let by_name = Command::new("true", &place.workspace).variable("PATH", "/usr/bin:/bin");
    assert_eq!(run(&sandbox, by_name, &place.policy()).code, Some(0), "a name is looked up in the command's own PATH");
    let missing = run(&sandbox, Command::new("/no/such/program", &place.workspace), &place.policy());
    assert_eq!(missing.code, Some(127));
    assert!(missing.setup_failure().unwrap().contains("/no/such/program"));
}

/// C13, and the environment of whoever spawns.
#[test]
fn the_environment_is_what_was_said_and_nothing_else() {
    let place = Place::new();
    let command =
        Command::new("/usr/bin/env", &place.workspace).variable("A", "1").variable("LD_LIBRARY_PATH", "/tmp").variable("ODD", "a\nb");
    let Wrapped { command, guard } = bubblewrap().wrap(command, &place.policy()).unwrap();
    let mut process = command.to_std();
    process.env("AWS_SECRET_ACCESS_KEY", "private").env("LD_PRELOAD_FOR_TEST", "x");
    let ran = Ran::from(process.output().unwrap());
    drop(guard);
    assert_eq!(ran, Ran { code: Some(0), stdout: "A=1\nLD_LIBRARY_PATH=/tmp\nODD=a\nb\n".into(), stderr: String::new() });
}

/// A preload meant for the command must not be loaded by the programs on the way, which run outside.
#[test]
fn the_environment_does_not_reach_the_stages_outside() {
    let place = Place::new();
    let command = place.shell("true").variable("LD_PRELOAD", "/evil.so").variable("LD_AUDIT", "/evil.so");
    let Wrapped { command, guard } = bubblewrap().wrap(command, &place.policy()).unwrap();
    drop(guard);
    let names: Vec<_> = command.environment.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| name.starts_with("HAFT_SANDBOX_")), "{names:?}");
    assert!(command.arguments.iter().all(|argument| !argument.to_string_lossy().contains("evil")), "arguments are seen by all");
}

/// C05: descriptors that the host holds open, and that whoever wrote it forgot to close.
#[test]
fn descriptors_of_the_host_are_not_inherited() {
    let place = Place::new();
    let held = place.outside.join("held");
    fs::write(&held, "private").unwrap();
    let script = "for d in /proc/self/fd/*; do echo ${d##*/}; done | grep -vxE '[0-2]|3|255'; cat <&9; cat <&7; echo held";
    let Wrapped { command, guard } = bubblewrap().wrap(place.shell(script), &place.policy()).unwrap();
    let mut outer = Process::new("/bin/bash");
    outer.args(["-c", "exec 7<\"$0\" 9<\"$0\" 200<\"$0\"; exec \"$@\""]).arg(&held).arg(&command.program).args(&command.arguments);
    outer.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
    let ran = Ran::from(outer.output().unwrap());
    drop(guard);
    assert_eq!(ran.stdout, "held\n", "{}", ran.stderr);
}

#[test]
fn what_another_run_holds_the_place_of_is_no_secret() {
    let place = Place::new();
    let mut policy = place.policy();
    policy.masked.push(place.workspace.join(".haft"));
    let first = bubblewrap().wrap(place.shell("true"), &policy).unwrap();
    let Wrapped { command, guard } = bubblewrap().wrap(place.shell("mkdir .haft/x || echo held"), &policy).unwrap();
    drop(first);
    let ran = Ran::from(command.to_std().output().unwrap());
    drop(guard);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "held\n"), "{}", ran.stderr);
    assert!(!exists(place.workspace.join(".haft")));
}

/// C05: the session is always a new one, and its terminal the one that the command was given or none.
#[test]
fn the_session_of_the_host_is_left() {
    let place = Place::new();
    let ran = run(&bubblewrap(), place.shell("exec cut -d ' ' -f 6,7 /proc/self/stat"), &place.policy());
    assert_eq!(ran.stdout, "1 0\n", "{}", ran.stderr);
    let ran = run(&bubblewrap(), place.shell("echo ran"), &Policy { terminal: true, ..place.policy() });
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(125), ""), "{}", ran.stderr);
    assert!(ran.setup_failure().unwrap().contains("cannot take the terminal"), "{}", ran.stderr);
}

/// C07
#[test]
fn what_hides_in_the_background_ends_with_the_command() {
    let place = Place::new();
    let marker = marker();
    let script = format!(
        "(setsid bash -c 'trap \"\" TERM HUP; exec sleep {marker}' &) ; (setsid -f sleep {marker}); while ! pgrep -f 'sleep {marker}' >/dev/null; do :; done; echo up"
    );
    let Wrapped { command, guard } = bubblewrap().wrap(place.shell(&script), &place.policy()).unwrap();
    let output = command.to_std().stdin(Stdio::null()).output().unwrap();
    // The guard is still there: the namespace alone must have done it.
    assert_eq!(processes_with(&marker), Vec::<String>::new());
    drop(guard);
    assert_eq!(Ran::from(output), Ran { code: Some(0), stdout: "up\n".into(), stderr: String::new() });
}

/// C07, C08: killed from outside, however many they are.
#[test]
fn killing_the_run_ends_everything_at_once() {
    let place = Place::new();
    let marker = marker();
    let scripts = [
        format!("trap '' TERM INT HUP; for i in 1 2 3 4 5; do setsid sleep {marker} & done; sleep {marker}"),
        format!("bomb() {{ sleep {marker} & bomb & bomb & wait; }}; bomb"),
    ];
    for script in scripts {
        let policy = Policy { limits: Limits { processes: Some(64), ..Limits::default() }, ..place.policy() };
        let running = Running::start(&bubblewrap(), place.shell(&script), &policy);
        until("the processes have started", || processes_with(&marker).len() > 3);
        running.kill();
        assert_eq!(processes_with(&marker), Vec::<String>::new(), "{script}");
    }
}

/// C07: nobody is left to kill it.
#[test]
fn a_run_ends_with_its_host() {
    let place = Place::new();
    let marker = marker();
    let Wrapped { command, guard } = bubblewrap().wrap(place.shell(&format!("sleep {marker} & sleep {marker}")), &place.policy()).unwrap();
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
fn limits_hold_and_are_told() {
    let place = Place::new();
    let limits = Limits {
        memory: Some(64 << 20),
        processes: Some(32),
        cpu_seconds: Some(1),
        file_size: Some(1 << 20),
        open_files: Some(32),
        tmp_size: 1 << 20,
    };
    let policy = Policy { limits, ..place.policy() };
    let cases = [
        ("memory", "a=x; while :; do a=$a$a$a$a; done", &[1, 2, 137][..], true),
        ("processes", "perl -e 'for (1..100) { defined(my $p = fork) or exit 9; $p or sleep 60, exit } print qq(all)'", &[9][..], true),
        ("cpu_seconds", "while :; do :; done", &[137, 152][..], false),
        ("file_size", "head -c 9M /dev/zero >large", &[153, 1][..], false),
        ("tmp_size", "head -c 9M /dev/zero >/tmp/large", &[1, 153][..], false),
        ("open_files", "for i in {3..90}; do eval \"exec $i</dev/null\" || exit 9; done; echo all", &[1, 9][..], false),
    ];
    for (limit, script, codes, told) in cases {
        let Wrapped { command, guard } = bubblewrap().wrap(place.shell(script), &policy).unwrap();
        let ran = Ran::from(command.to_std().stdin(Stdio::null()).output().unwrap());
        let exceeded = guard.exceeded();
        drop(guard);
        assert!(ran.code.is_some_and(|code| codes.contains(&code)) && ran.stdout.is_empty(), "{limit}: {ran:?}");
        if told && is_root() {
            assert_eq!(exceeded, [limit], "{limit}: {ran:?}");
        }
        fs::remove_file(place.workspace.join("large")).ok();
    }
    if !is_root() {
        println!("not tried as an ordinary person: which limit was met, which control groups tell and only root has here");
    }
}

/// C10
#[test]
fn what_does_not_work_here_is_refused_with_words() {
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

/// C11: each stage is broken in turn, and the command never runs.
#[test]
fn a_stage_that_fails_runs_nothing() {
    let place = Place::new();
    let whole = || bubblewrap().wrap(place.shell("echo ran >ran; echo ran"), &place.policy()).unwrap();
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
            println!("not tried as an ordinary person: {name}; without a control group there is no outer stage");
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
    let ran = run(&bubblewrap(), place.shell("echo ran"), &place.policy());
    assert_eq!(ran.stdout, "ran\n", "unbroken it runs");
}

/// C11: killed at any moment of its start, it has done nothing that it may not do.
#[test]
fn killed_at_any_moment_it_never_ran_outside() {
    let place = Place::new();
    let sandbox = bubblewrap();
    for delay in 0..30 {
        let Wrapped { command, guard } = sandbox.wrap(place.shell("echo x >\"$OUT\"/escaped; sleep 60"), &place.policy()).unwrap();
        let mut child = command.to_std().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        guard.kill(child.id()).unwrap();
        child.wait().unwrap();
        drop(guard);
        assert!(!exists(place.outside.join("escaped")), "after {delay} ms");
    }
}

#[test]
fn policies_that_cannot_be_held_are_refused() {
    let place = Place::new();
    let linked = place.workspace.join("linked");
    std::os::unix::fs::symlink(&place.outside, &linked).unwrap();
    let with = |change: &dyn Fn(&mut Policy)| {
        let mut policy = place.policy();
        change(&mut policy);
        bubblewrap().wrap(place.shell("true"), &policy).map(|_| ()).unwrap_err().to_string()
    };
    let cases = [
        (with(&|policy| policy.writable.push("/".into())), "must not be writable"),
        (with(&|policy| policy.writable.push("/etc".into())), "must not be writable"),
        (with(&|policy| policy.writable.push("/no/such/folder".into())), "cannot make writable /no/such/folder"),
        (with(&|policy| policy.protected.push(linked.clone())), "protected and a link"),
        (with(&|policy| policy.protected.push(linked.join("deeper"))), "protected and a link"),
        (with(&|policy| policy.protected.push(place.workspace.clone())), "both writable and protected"),
        (with(&|policy| policy.protected.extend((0..2000).map(|n| place.workspace.join(format!("keys{n}/x"))))), "is the most"),
    ];
    for (error, words) in cases {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(fs::read_dir(&place.workspace).unwrap().count(), 5, "no placeholder of a refused policy is left");
}

/// The program that confines must not be one that the confined can change.
#[test]
fn our_own_programs_are_protected_inside_the_workspace() {
    let place = Place::new();
    let folder = place.workspace.join("target/debug");
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("launcher");
    fs::copy(launcher().path(), &copy).unwrap();
    let sandbox = Bubblewrap::detect(haft_sandbox::Launcher::at(&copy)).unwrap();
    let script = "(echo x >target/debug/launcher) 2>/dev/null; rm -f target/debug/launcher 2>/dev/null; mv target t 2>/dev/null; echo held";
    let ran = run(&sandbox, place.shell(script), &place.policy());
    assert_eq!(ran.stdout, "held\n");
    assert_eq!(fs::read(&copy).unwrap(), fs::read(launcher().path()).unwrap());
}

/// In a worktree `.git` is a file: what would lie beneath it is protected by protecting that.
#[test]
fn a_file_where_a_protected_directory_would_lie() {
    let place = Place::new();
    fs::remove_dir_all(place.workspace.join(".git")).unwrap();
    fs::write(place.workspace.join(".git"), "gitdir: elsewhere\n").unwrap();
    let before = place.listing();
    let script = "(rm -f .git; mv .git g; mkdir -p .git/hooks; echo x >.git) 2>/dev/null; cat .git";
    let ran = run(&bubblewrap(), place.shell(script), &place.policy());
    assert_eq!((ran.stdout.as_str(), place.listing()), ("gitdir: elsewhere\n", before), "{}", ran.stderr);
}

#[test]
fn a_protected_name_stays_protected_while_another_run_ends() {
    let place = Place::new();
    let sandbox = bubblewrap();
    let first = sandbox.wrap(place.shell("true"), &place.policy()).unwrap();
    let script = "until [ -e go ]; do sleep 0.01; done; (echo x >.haft/config) 2>/dev/null && echo written; mkdir .haft 2>/dev/null && echo made; echo held";
    let Wrapped { command, guard } = sandbox.wrap(place.shell(script), &place.policy()).unwrap();
    let child = command.to_std().stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    drop(first);
    fs::write(place.workspace.join("go"), "").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.stdout, "held\n");
    drop(guard);
    assert!(!exists(place.workspace.join(".haft")), "the last run removes it");
}

/// All of the above once more, by someone who has no rights at all.
#[test]
fn the_same_as_an_ordinary_person() {
    support::again_as_an_ordinary_person();
}
