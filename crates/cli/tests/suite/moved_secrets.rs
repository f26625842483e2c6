//! A job that moves folders with secrets and repositories all the time, while other commands are set up: each of them sees no secret and
//! writes no hook, or does not run. Beside it: a job that writes and renames files all the time delays nothing.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::effects::{CANARY, CallResult, Scene, call, on_threads, reveals, run_line, run_session, tree, user_git_text};
use super::harness::{HAFT, haft};
use super::processes::end_processes_in;

/// Commands beside each job.
const STAGED: usize = 4;
const DIRECT: usize = 12;
const BESIDE_WRITER: usize = 25;

/// What the job does again and again: `move(a, b)` renames there and back, `swap(a, b)` exchanges.
const MOVES: &[(&str, &str)] = &[
    ("the folder itself", "move('mid/conf', 'mid/other')"),
    ("the folder above", "move('mid', 'nid')"),
    ("from what is read late to what is read early", "move('zz/conf', 'aa/conf'), move('aa/conf2', 'zz/conf2')"),
    ("exchange with one that looks alike", "swap('mid/conf', 'decoy/conf')"),
    ("into a generated folder", "move('mid/conf', 'target/debug/conf')"),
    ("becomes a generated folder", "move('mid', 'node_modules')"),
    ("a repository", "move('vendor/lib', 'zz/lib'), swap('vendor/two', 'decoy/two')"),
];

const JOB: &str = r"
import ctypes, os, random, time
exchange = ctypes.CDLL(None).renameat2
def rest():
    time.sleep(random.choice([0, 0, 0.0005, 0.002, 0.005]))
def move(a, b):
    try: os.rename(a, b)
    except OSError: pass
    rest()
    try: os.rename(b, a)
    except OSError: pass
    rest()
def swap(a, b):
    exchange(-100, a.encode(), -100, b.encode(), 2)
    rest()
open('ready', 'w').close()
while True:
    @MOVES@
";

const WRITER: &str = r"
import os
open('ready', 'w').close()
n = 0
while True:
    n += 1
    for folder in ('.', 'mid', 'mid/conf', 'zz', 'dist'):
        name = f'{folder}/out{n % 40}'
        with open(name + '.tmp', 'w') as file:
            file.write(str(n))
        os.rename(name + '.tmp', name + '.js')
        if n % 7 == 0:
            os.unlink(name + '.js')
";

/// Looks for secrets and writes hooks, for about as long as the folders take to move there and back a few times.
const LOOK: &str = "for i in 1 2 3 4 5 6; do cat .env */.env */*/.env */*/*/.env */conf*/.e* */*/*/conf/.e*; \
                    for h in */*/.git/hooks; do echo evil > $h/pre-commit; done; sleep 0.01; done 2>/dev/null; echo looked";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write(".gitignore", ".env\ntarget\n");
    for folder in ["mid/conf", "zz/conf", "aa/conf2"] {
        scene.write(&format!("{folder}/.env"), format!("KEY={CANARY}\n"));
        scene.write(&format!("{folder}/plain"), "plain\n");
    }
    for folder in ["decoy/conf", "aa", "zz", "dist", "target/debug"] {
        scene.write(&format!("{folder}/.env.example"), "none\n");
    }
    scene.write("decoy/conf/.env", "decoy\n");
    scene.write("web/page", "page\n");
    for folder in ["vendor/lib", "vendor/two", "decoy/two"] {
        scene.write(&format!("{folder}/file"), "text\n");
        user_git_text(&scene, folder, &["init", "-q"]);
        scene.write(&format!("{folder}/.git/hooks/pre-commit"), "of the user\n");
    }
    scene
}

/// What came of commands beside a job: in one session in which nobody is watching, so that their changes are staged, or by calls of the
/// user, which change the workspace directly.
fn run_beside(scene: &Scene, job: &str, line: &str, staged: usize, direct: usize) -> Vec<CallResult> {
    scene.write("job.py", job);
    let start = json!({ "command": "python3 job.py", "background": true });
    let ready = json!({ "command": "until [ -e ready ]; do sleep 0.05; done; echo ready", "timeout": 60 });
    let number = |number| json!({ "command": format!("{line}; echo {number}"), "timeout": 60 });
    let mut calls: Vec<(&str, Value)> = vec![("exec", start.clone()), ("exec", ready.clone())];
    calls.extend((0..staged).map(|count| ("exec", number(count))));
    let mut results = run_session(scene, "", &calls).split_off(2);
    fs::remove_file(scene.file("ready")).unwrap();
    call(scene, "exec", &start);
    call(scene, "exec", &ready);
    results.extend((0..direct).map(|count| call(scene, "exec", &number(count))));
    end_processes_in(&scene.path(""));
    results
}

/// The hooks that are there, wherever the job has left their repositories.
fn hooks(scene: &Scene) -> BTreeSet<Vec<u8>> {
    let all = tree(&scene.file(""), &[]);
    all.into_keys().filter(|path| path.ends_with("hooks/pre-commit")).map(|path| fs::read(scene.file("").join(path)).unwrap()).collect()
}

#[test]
fn folders_that_a_job_moves_show_no_secret_and_take_no_hook() {
    let (wrong, ran) = (Mutex::new(Vec::new()), Mutex::new(0));
    on_threads(2, MOVES, |(what, moves)| {
        let scene = scene();
        for result in run_beside(&scene, &JOB.replace("@MOVES@", moves), LOOK, STAGED, DIRECT) {
            let (has_run, text) = (result.text().contains("looked"), result.text());
            *ran.lock().unwrap() += usize::from(has_run);
            let is_refused = text.contains("was not run") && text.contains("process tool");
            if reveals(result.value.to_string().as_bytes(), CANARY) || !(has_run || is_refused) {
                wrong.lock().unwrap().push(format!("{what}: {}", result.brief()));
            }
        }
        let hooks = hooks(&scene);
        if hooks != BTreeSet::from([b"of the user\n".to_vec()]) {
            wrong.lock().unwrap().push(format!("{what}: {hooks:?}"));
        }
    });
    let (wrong, ran) = (wrong.into_inner().unwrap(), ran.into_inner().unwrap());
    println!("{ran} of {} commands ran", MOVES.len() * (STAGED + DIRECT));
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran > 0, "a job that moves folders stops every command");
}

/// What one command does, and what the next one reads.
const SEQUENCES: &[(&str, &str, &str)] = &[
    ("into a generated folder", "mkdir -p target && mv mid/conf target/x", "cat target/x/.e*; head target/x/.e*"),
    ("deep into a generated folder", "mkdir -p a/.venv/lib && mv mid a/.venv/lib/", "grep -rh KEY a"),
    ("becomes a generated folder", "mv mid node_modules", "cat node_modules/conf/.e*"),
    ("a folder above becomes one", "mkdir -p w/v && mv mid w/v && mv w __pycache__", "cat __pycache__/*/*/*/.e*"),
    ("twice", "mkdir -p target && mv mid/conf target/x && mv target .tox", "cat .tox/x/.e*"),
    ("closed", "chmod 000 mid", "chmod 755 mid; cat mid/conf/.e*"),
    ("closed deep", "chmod 000 mid/conf", "chmod 755 mid/conf; cat mid/conf/.e*"),
    ("open to names alone", "chmod 311 mid/conf", "chmod 755 mid/conf; cat mid/conf/.e*"),
    ("open to lists alone", "chmod 444 mid/conf mid", "chmod 755 mid mid/conf; cat mid/conf/.e*"),
    ("closed and moved", "mkdir -p target && mv mid target/m && chmod 000 target/m", "chmod 755 target/m; cat target/m/conf/.e*"),
    ("other case", "mv mid TARGET", "cat TARGET/conf/.e*"),
];

#[test]
fn secrets_that_a_command_moves_or_closes_are_hidden_from_the_next() {
    let wrong = Mutex::new(Vec::new());
    on_threads(2, SEQUENCES, |(what, first, then)| {
        let scene = scene();
        let first = run_line(&scene, first);
        let then = run_line(&scene, &format!("{then}; cat zz/conf/plain"));
        let is_shown = reveals(then.value.to_string().as_bytes(), CANARY);
        if is_shown || first.exit() != Some(0) || !then.text().contains("plain") {
            wrong.lock().unwrap().push(format!("{what}: {}\n    {}", first.brief(), then.brief()));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn job_that_writes_files_all_the_time_delays_no_command() {
    let scene = scene();
    let line = "cat mid/conf/plain; cat mid/conf/.e*; ls dist > /tmp/seen && echo listed";
    for result in run_beside(&scene, WRITER, line, BESIDE_WRITER, BESIDE_WRITER) {
        let (is_shown, text) = (reveals(result.value.to_string().as_bytes(), CANARY), result.text());
        assert!(!is_shown && text.contains("plain") && text.contains("listed"), "{}", result.brief());
    }
}

/// Moves folders with secrets for some seconds, in the foreground, and counts how often it did.
const MOVER: &str = "touch ready; n=0; while [ $SECONDS -lt 4 ]; do mv mid nid && mv nid mid && n=$((n + 1)); done; echo moved $n times";

/// Looks for secrets for some seconds.
const LONG_LOOK: &str = "for i in $(seq 400); do cat */*/.e* */*/*/.e*; sleep 0.01; done 2>/dev/null; echo looked";

/// What hides secrets from these does not follow a folder: arguments of the call, and settings.
const EXPOSED: &[(&str, &str, &str)] = &[("dry run", "\"dry_run\": true", ""), ("staged", "", "exec.changes = 'staged'\n")];

fn line_call(scene: &Scene, line: &str, more: &str) -> CallResult {
    let mut arguments: Value = serde_json::from_str(&format!("{{{more}}}")).unwrap();
    arguments["command"] = json!(line);
    arguments["timeout"] = json!(60);
    call(scene, "exec", &arguments)
}

fn wait_for(scene: &Scene, name: &str) {
    let began = Instant::now();
    while !scene.file(name).exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "no {name}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// In whatever process and session: neither runs while the other does, and both run.
#[test]
fn command_that_moves_folders_and_one_with_an_overlay_do_not_run_together() {
    let wrong = Mutex::new(Vec::new());
    on_threads(2, EXPOSED, |(what, more, config)| {
        let scene = scene();
        std::thread::scope(|scope| {
            let mover = scope.spawn(|| run_line(&scene, MOVER));
            wait_for(&scene, "ready");
            scene.configure(config);
            let exposed = line_call(&scene, LONG_LOOK, more);
            let mover = mover.join().unwrap();
            let has_moved = mover.text().contains("moved ") && !mover.text().contains("moved 0 ");
            let is_shown = reveals(exposed.value.to_string().as_bytes(), CANARY);
            if is_shown || !exposed.text().contains("looked") || !has_moved {
                wrong.lock().unwrap().push(format!("{what}: {}\n    {}", mover.brief(), exposed.brief()));
            }
        });
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The other way round: the folder stays where it is, the result says why, and afterwards it can be moved.
#[test]
fn command_beside_one_with_an_overlay_cannot_move_folders_with_secrets() {
    let scene = scene();
    std::thread::scope(|scope| {
        let exposed = scope.spawn(|| line_call(&scene, &format!("cat mid/conf/plain; {LONG_LOOK}"), "\"dry_run\": true"));
        wait_for_a_run(&scene);
        let refused = run_line(&scene, "mv mid nid; mv web other; ls -d mid other");
        assert!(refused.text().contains("holds files that are hidden from commands"), "{}", refused.brief());
        assert!(scene.file("mid").exists() && scene.file("other").exists(), "{}", refused.brief());
        let exposed = exposed.join().unwrap();
        let is_shown = reveals(exposed.value.to_string().as_bytes(), CANARY);
        assert!(!is_shown && exposed.text().contains("plain") && exposed.text().contains("looked"), "{}", exposed.brief());
    });
    let moved = run_line(&scene, "mv mid nid && cat nid/conf/plain nid/conf/.e*");
    assert!(moved.text().contains("plain") && !reveals(moved.value.to_string().as_bytes(), CANARY), "{}", moved.brief());
    assert!(scene.file("nid/conf/.env").exists());
}

/// Until a command is on the list of those that run.
fn wait_for_a_run(scene: &Scene) {
    let (list, began) = (scene.path("home/.local/share/haft/run/moves"), Instant::now());
    let is_listed = || fs::read_dir(&list).is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name() != "gate"));
    while !is_listed() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing is listed");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn ordinary_user_is_shown_no_moved_secret() {
    let words = [
        "suite::moved_secrets::folders_that_a_job_moves",
        "suite::moved_secrets::job_that_writes",
        "suite::moved_secrets::secrets_that",
        "suite::moved_secrets::command_",
    ];
    println!("{}", haft_testkit::again_as_an_ordinary_user(&words, &[(HAFT, &haft())]).unwrap_or_else(|said| panic!("{said}")));
}
