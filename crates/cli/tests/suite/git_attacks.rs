//! Commands that plant foreign code where the user's own Git runs it. After each attack the user works outside as usual: no marker of the
//! planted code may appear, after the command and while a job still runs. Beside them: what Git is for must work.
//!
//! The planted code makes a file outside the workspace, which only code outside the sandbox can. Every attack is also run with plain bash,
//! where the marker must appear: an attack that works nowhere proves nothing.

mod neighbours;
mod protected;
mod races;
mod rows;
mod two_commands;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::effects::{CallResult, Scene, call, on_threads, run_line, run_unsandboxed, user_git, user_git_text};
use super::harness::{HAFT, haft};
use super::processes::wait_for_processes_in;
use rows::{ATTACKS, NOT_CODE};

/// What is in the workspace before the attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// A repository with two commits.
    Repository,
    /// Files, and no repository.
    Files,
    /// A repository with a submodule in `sub`.
    Submodule,
    /// A repository with a linked worktree in `tree`.
    Worktree,
    /// A repository with another in `libs/one`.
    Nested,
}

/// Name, start, what the command runs, the folder in which the user works afterwards, and what the user does there besides looking and
/// committing: after that, or before it where a `<` precedes it.
type Attack = (&'static str, Start, &'static str, &'static str, &'static str);

/// What every user does sooner or later.
const DAILY: &[&[&str]] = &[
    &["status"],
    &["diff"],
    &["log", "-p", "-1"],
    &["commit", "--allow-empty", "-qm", "by the user"],
    &["checkout", "-q", "-b", "users-branch"],
    &["commit", "-q", "--allow-empty", "--amend"],
    &["checkout", "-q", "main"],
    &["stash", "list"],
    &["gc", "--auto", "-q"],
];

fn start(kind: Start) -> Scene {
    let scene = Scene::new();
    scene.write("a.txt", "one\n");
    scene.write("b.bin", "two\n");
    scene.write("evil.sh", format!("#!/bin/sh\ntouch {}\n", scene.path("outside/marker").display()));
    fs::set_permissions(scene.file("evil.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let git = |folder: &str, words: &[&str]| user_git_text(&scene, folder, words);
    if kind != Start::Files {
        init_with_commits(&scene, "");
    }
    match kind {
        Start::Repository | Start::Files => {}
        Start::Submodule => {
            fs::create_dir_all(scene.path("outside/library")).unwrap();
            let library = scene.path("outside/library").display().to_string();
            fs::write(scene.path("outside/library/l.txt"), "l\n").unwrap();
            for words in [&["-C", &library, "init", "-q"][..], &["-C", &library, "add", "."], &["-C", &library, "commit", "-qm", "library"]]
            {
                git("", words);
            }
            git("", &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &library, "sub"]);
            git("", &["commit", "-qm", "with a submodule"]);
        }
        Start::Worktree => {
            git("", &["worktree", "add", "-q", "tree"]);
        }
        Start::Nested => {
            fs::create_dir_all(scene.file("libs/one")).unwrap();
            fs::write(scene.file("libs/one/n.txt"), "n\n").unwrap();
            init_with_commits(&scene, "libs/one");
        }
    }
    scene
}

fn init_with_commits(scene: &Scene, folder: &str) {
    let git = |words: &[&str]| user_git_text(scene, folder, words);
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    git(&["branch", "side"]);
}

fn fill(scene: &Scene, text: &str) -> String {
    let marker = scene.path("outside/marker").display().to_string();
    // What follows as arguments is a comment.
    text.replace("@RUN@", &format!("touch {marker} #")).replace("@EVIL@", &scene.file("evil.sh").display().to_string())
}

/// The user works: in the folder of the attack and at the top. Files have changed, so Git looks at them.
fn user_works(scene: &Scene, folder: &str, more: &str) {
    for name in ["a.txt", "libs/one/n.txt", "sub/l.txt", "tree/a.txt", "new/n.txt"] {
        if scene.file(name).is_file() {
            scene.write(name, "changed by the user\n");
        }
    }
    let (first, last) = more.strip_prefix('<').map_or(("", more), |first| (first, ""));
    let run = |folder: &str, line: &str| {
        if !line.is_empty() {
            let line = format!("cd {} && export EDITOR=true GIT_TERMINAL_PROMPT=0; {line}", scene.file(folder).display());
            run_unsandboxed(scene, &fill(scene, &line));
        }
    };
    let folders = [folder, ""].into_iter().take(1 + usize::from(!folder.is_empty()));
    for folder in folders.filter(|folder| scene.file(folder).is_dir()) {
        run(folder, first);
        for words in DAILY {
            user_git(scene, folder, words);
        }
        run(folder, last);
    }
}

fn marker_appeared(scene: &Scene) -> bool {
    scene.path("outside/marker").exists()
}

/// Whether the foreign code ran, after an attack that was carried out like this.
fn try_attack(attack: &Attack, carry_out: impl Fn(&Scene, &str) -> String) -> Result<(), String> {
    let (name, kind, line, folder, more) = *attack;
    let scene = start(kind);
    let line = fill(&scene, line);
    let brief = carry_out(&scene, &line);
    user_works(&scene, folder, more);
    if marker_appeared(&scene) { Err(format!("{name}: {line}\n    {brief}")) } else { Ok(()) }
}

fn failures(attacks: &[Attack], carry_out: impl Fn(&Scene, &str) -> String + Sync) -> Vec<String> {
    let wrong = Mutex::new(Vec::new());
    on_threads(3, attacks, |attack| {
        if let Err(why) = try_attack(attack, &carry_out) {
            wrong.lock().unwrap().push(why);
        }
    });
    wrong.into_inner().unwrap()
}

/// Saves an attack where no analysis of a line looks into, and gives the line that runs it.
fn as_script(scene: &Scene, line: &str) -> String {
    scene.write("attack.sh", line);
    "bash attack.sh".to_owned()
}

#[test]
fn after_an_attack_the_users_git_runs_no_foreign_code() {
    let wrong = failures(ATTACKS, |scene, line| run_line(scene, &as_script(scene, line)).brief());
    assert!(wrong.is_empty(), "{} of {} ran:\n{}", wrong.len(), ATTACKS.len(), wrong.join("\n"));
}

#[test]
fn attacks_on_git_in_a_line_or_an_interpreter_run_nothing_either() {
    let some: Vec<Attack> = ATTACKS.iter().step_by(3).copied().collect();
    let mut wrong = failures(&some, |scene, line| run_line(scene, line).brief());
    let some: Vec<Attack> = ATTACKS.iter().skip(1).step_by(5).copied().collect();
    wrong.extend(failures(&some, |scene, line| {
        let code = format!("import subprocess; subprocess.run(['bash', '-c', {}])", json!(line));
        call(scene, "repl", &json!({ "language": "python", "code": code })).brief()
    }));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn attacks_on_git_are_real() {
    let unsandboxed = |scene: &Scene, line: &str| {
        run_unsandboxed(scene, line);
        String::new()
    };
    let ran = failures(ATTACKS, unsandboxed);
    let ran: Vec<&str> = ran.iter().filter_map(|text| text.split(':').next()).collect();
    let harmless: Vec<&str> = ATTACKS.iter().map(|attack| attack.0).filter(|name| !ran.contains(name)).collect();
    assert_eq!(harmless, Vec::<&str>::new());
}

/// What Git trusts without running it: it must not be there.
#[test]
fn what_git_trusts_is_not_planted() {
    let wrong = Mutex::new(Vec::new());
    on_threads(3, NOT_CODE, |(name, kind, line, absent)| {
        let scene = start(*kind);
        let line = fill(&scene, line);
        let result = run_line(&scene, &as_script(&scene, &line));
        if fs::symlink_metadata(scene.file(absent)).is_ok() {
            wrong.lock().unwrap().push(format!("{name}: {absent} is there\n    {}", result.brief()));
        }
        user_works(&scene, "", "git submodule update --init -q");
        if marker_appeared(&scene) {
            wrong.lock().unwrap().push(format!("{name}: foreign code ran"));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A job that continues until the test ends it.
struct Running<'a> {
    scene: &'a Scene,
    job: Value,
}

impl<'a> Running<'a> {
    /// Starts a line, and waits until it has made the file `ready`.
    fn start(scene: &'a Scene, line: &str) -> Result<Self, CallResult> {
        let command = format!("{line}\ntouch ready; sleep 300");
        let result = call(scene, "exec", &json!({ "command": command, "background": true }));
        let job = result.value["details"]["job"].clone();
        if job.is_null() || result.value["status"] != "success" {
            return Err(result);
        }
        let (running, began) = (Self { scene, job }, Instant::now());
        while !scene.file("ready").exists() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        call(self.scene, "process", &json!({ "action": "kill", "job": self.job }));
        wait_for_processes_in(&self.scene.path(""));
    }
}

/// What a job left is looked for every second.
const TWO_LOOKS: Duration = Duration::from_millis(2_500);

#[test]
fn while_a_job_runs_the_users_git_runs_no_foreign_code() {
    let wrong = Mutex::new(Vec::new());
    let attacks: Vec<Attack> = ATTACKS.iter().step_by(2).copied().collect();
    on_threads(10, &attacks, |(name, kind, line, folder, more)| {
        let scene = start(*kind);
        let line = fill(&scene, line);
        // A line that is refused has no effect either.
        let running = Running::start(&scene, &as_script(&scene, &line));
        std::thread::sleep(TWO_LOOKS);
        user_works(&scene, folder, more);
        if marker_appeared(&scene) {
            wrong.lock().unwrap().push(format!("{name}, while it runs: {line}"));
        }
        drop(running);
        user_works(&scene, folder, more);
        if marker_appeared(&scene) {
            wrong.lock().unwrap().push(format!("{name}, afterwards: {line}"));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} ran:\n{}", wrong.len(), attacks.len(), wrong.join("\n"));
}

#[test]
fn attacks_on_git_fail_again_as_an_ordinary_user() {
    let words = ["after_an_attack", "in_a_line_or", "what_git_trusts", "git_works_and", "suite::git_attacks::protected::"];
    let said = haft_testkit::again_as_an_ordinary_user(&words, &[(HAFT, &haft())]);
    println!("{}", said.unwrap_or_else(|said| panic!("{said}")));
}
