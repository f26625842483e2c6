//! What the bubblewrap backend promises beyond the table of attacks.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod support;

use std::fs;
use std::process::{Command as Process, Stdio};

use haft_sandbox::{Bubblewrap, Command, Limits, Policy, Sandbox, Wrapped};
use support::{Place, Ran, bubblewrap, exists, is_root, launcher, marker, processes_with, run, until};

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
