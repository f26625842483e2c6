//! Names that tools run or trust, at the top and below, there or missing, and replaced by the user while a job runs.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::super::effects::{Scene, on_threads, run_in_background, run_line, user_git_text};
use super::{Running, Start, TWO_LOOKS, as_script, start};

/// Files that a command must not leave; their text in the attack is `planted`.
const NAMES: &[&str] = &[
    ".envrc",
    ".npmrc",
    ".mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
    ".haft/config.toml",
    ".claude/settings.json",
    ".cursor/mcp.json",
    "pkg/.envrc",
    "pkg/.npmrc",
    "pkg/deep/.vscode/tasks.json",
    "pkg/deep/.mcp.json",
    "pkg/.haft/config.toml",
];

/// How such a file is made.
const WAYS: &[(&str, &str)] = &[
    ("redirection", "mkdir -p \"$(dirname @name@)\"; echo planted > @name@"),
    (
        "python",
        "python3 -c \"import os; os.makedirs(os.path.dirname('@name@') or '.', exist_ok=True); open('@name@', 'w').write('planted')\"",
    ),
    ("mv", "echo planted > x; mkdir -p \"$(dirname @name@)\"; mv x @name@"),
    ("mv of a folder", "mkdir -p y/\"$(dirname @name@)\"; echo planted > y/@name@; cp -rT y ."),
    ("tar", "mkdir -p y/\"$(dirname @name@)\"; echo planted > y/@name@; tar cf - -C y . | tar xf -; rm -rf y"),
    ("link", "echo planted > x; mkdir -p \"$(dirname @name@)\"; ln -s \"$PWD/x\" @name@"),
    ("script", "printf 'mkdir -p \"$(dirname \"$1\")\"; echo planted > \"$1\"' > s.sh; sh s.sh @name@"),
];

fn is_planted(scene: &Scene, name: &str) -> bool {
    fs::read_to_string(scene.file(name)).is_ok_and(|text| text.contains("planted"))
}

#[test]
fn protected_names_are_not_left_by_a_command_or_a_job() {
    let wrong = Mutex::new(Vec::new());
    let cases: Vec<(usize, &str)> = NAMES.iter().enumerate().map(|(at, name)| (at, *name)).collect();
    on_threads(3, &cases, |(at, name)| {
        // Not every way for every name, but every name and every way.
        for (way, line) in [WAYS[at % WAYS.len()], WAYS[(at + 3) % WAYS.len()]] {
            for is_job in [false, true] {
                let scene = start(Start::Repository);
                let line = line.replace("@name@", name);
                let result = if is_job { run_in_background(&scene, &line) } else { run_line(&scene, &line) };
                if is_planted(&scene, name) {
                    wrong.lock().unwrap().push(format!("{name} by {way}, job {is_job}: {line}\n    {}", result.brief()));
                }
            }
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn protected_files_that_are_there_stay_as_they_are() {
    let scene = start(Start::Repository);
    for name in NAMES {
        scene.write(name, "the user's\n");
    }
    let mut wrong = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        for (way, line) in [WAYS[at % WAYS.len()], ("removal", "rm -rf @name@"), ("sed", "sed -i s/user/planted/ @name@")] {
            let result = run_line(&scene, &line.replace("@name@", name));
            if scene.read(name) != "the user's\n" {
                wrong.push(format!("{name} by {way}: {}", result.brief()));
                scene.write(name, "the user's\n");
            }
            for left in ["x", "y", "s.sh"] {
                fs::remove_dir_all(scene.file(left)).or_else(|_| fs::remove_file(scene.file(left))).ok();
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What one command makes under an ordinary name, and the next one moves to its place with the folder around it: a rename leaves the
/// times of what is in the folder.
#[test]
fn protected_names_do_not_come_with_the_folder_of_an_earlier_command() {
    let exchange = "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'v', -100, b'web/.vscode', 2)\"";
    let cases = [
        ("mkdir v && echo planted > v/tasks.json", "mv v .vscode", ".vscode/tasks.json"),
        ("mkdir -p web/v && echo planted > web/v/settings.json", "mv web/v web/.vscode", "web/.vscode/settings.json"),
        ("mkdir -p c/git && echo planted > c/git/config", "mv c .config", ".config/git/config"),
        (
            "mkdir -p v web/.vscode && echo planted > v/tasks.json && echo {} > web/.vscode/extensions.json",
            exchange,
            "web/.vscode/tasks.json",
        ),
        ("mkdir -p node_modules/p && echo planted > node_modules/p/.envrc", "mv node_modules/p pkg", "pkg/.envrc"),
        ("mkdir -p t && echo planted > t/clean", "mv t tools", "tools/clean"),
    ];
    let wrong = Mutex::new(Vec::new());
    on_threads(3, &cases, |(first, second, name)| {
        for is_job in [false, true] {
            let scene = start(Start::Repository);
            user_git_text(&scene, "", &["config", "filter.x.clean", "tools/clean"]);
            scene.write("own/.npmrc", "the user's\n");
            run_line(&scene, first);
            let second = format!("{second}; mv own moved");
            let result = if is_job { run_in_background(&scene, &second) } else { run_line(&scene, &second) };
            if is_planted(&scene, name) || scene.read("moved/.npmrc") != "the user's\n" {
                wrong.lock().unwrap().push(format!("{name}, job {is_job}: {second}\n    {}", result.brief()));
            }
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Ordinary names beside them are written as ever, and nothing that was not there is in the listing.
#[test]
fn names_beside_protected_ones_are_written_and_there_are_no_phantoms() {
    let scene = Scene::new();
    let result = run_line(
        &scene,
        "ls -A; mkdir -p .vscode .github/workflows && echo x > .vscode/extensions.json && echo x > .github/workflows/ci.yml && echo x > envrc && ls -A",
    );
    assert_eq!(result.text().trim(), ".github\n.vscode\nenvrc", "{}", result.brief());
    for name in [".vscode/extensions.json", ".github/workflows/ci.yml", "envrc"] {
        assert_eq!(scene.read(name), "x\n", "{name}");
    }
}

/// Replaces a file as editors and Git do: a new one is renamed over it.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

/// A job that leaves protected files alone is no reason to take the user's changes back.
#[test]
fn file_that_the_user_replaces_while_a_job_runs_stays_as_the_user_left_it() {
    let scene = start(Start::Repository);
    for name in [".npmrc", "pkg/.envrc"] {
        scene.write(name, "first\n");
    }
    scene.write("work.sh", "while :; do echo x >> log; touch pkg/other; sleep 0.05; done");
    let running = Running::start(&scene, "bash work.sh &").unwrap_or_else(|refused| panic!("{}", refused.brief()));
    for name in [".npmrc", "pkg/.envrc"] {
        replace(&scene.file(name), "second, the user's\n");
    }
    std::thread::sleep(TWO_LOOKS);
    for name in [".npmrc", "pkg/.envrc"] {
        assert_eq!(scene.read(name), "second, the user's\n", "{name}, while the job runs");
    }
    drop(running);
    for name in [".npmrc", "pkg/.envrc"] {
        assert_eq!(scene.read(name), "second, the user's\n", "{name}, after the job");
    }
}

/// As some editors save: the file is renamed away or removed, and created anew. The job sleeps, so it cannot have been the job.
#[test]
fn file_that_the_user_removes_and_creates_anew_stays_as_the_user_left_it() {
    let scene = start(Start::Files);
    for name in [".npmrc", "pkg/.envrc", "pkg/.mcp.json"] {
        scene.write(name, "first\n");
    }
    let running = Running::start(&scene, "true").unwrap_or_else(|refused| panic!("{}", refused.brief()));
    std::thread::sleep(TWO_LOOKS);
    fs::rename(scene.file(".npmrc"), scene.file(".npmrc~")).unwrap();
    scene.write(".npmrc", "second, the user's\n");
    fs::remove_file(scene.file(".npmrc~")).unwrap();
    fs::remove_file(scene.file("pkg/.envrc")).unwrap();
    scene.write("pkg/.envrc", "second, the user's\n");
    fs::remove_file(scene.file("pkg/.mcp.json")).unwrap();
    std::thread::sleep(TWO_LOOKS);
    let check = |when: &str| {
        for name in [".npmrc", "pkg/.envrc"] {
            assert_eq!(scene.read(name), "second, the user's\n", "{name}, {when}");
        }
        assert!(!scene.file("pkg/.mcp.json").exists(), "{when}");
    };
    check("while the job runs");
    drop(running);
    check("after the job");
}

/// What the job writes into the new file is taken back to what the user left, if that was seen before.
#[test]
fn job_cannot_change_the_file_that_the_user_left() {
    let scene = start(Start::Files);
    scene.write(".npmrc", "first\n");
    scene.write("work.sh", "while [ ! -e go ]; do sleep 0.05; done; while :; do echo '# planted' >> .npmrc; sleep 0.05; done");
    let running = Running::start(&scene, "bash work.sh 2>/dev/null &").unwrap_or_else(|refused| panic!("{}", refused.brief()));
    replace(&scene.file(".npmrc"), "second, the user's\n");
    std::thread::sleep(TWO_LOOKS);
    scene.write("go", "");
    std::thread::sleep(TWO_LOOKS);
    drop(running);
    assert_eq!(scene.read(".npmrc"), "second, the user's\n");
}

/// A mount on a file detaches when the user replaces the file: a job that continues writing must not get through.
#[test]
fn file_that_the_user_replaces_while_a_job_runs_stays_protected() {
    let scene = start(Start::Repository);
    for name in [".npmrc", "pkg/.envrc"] {
        scene.write(name, "first\n");
    }
    let line = "while :; do for f in .npmrc pkg/.envrc .git/config; do echo '# planted' >> $f; done; sleep 0.05; done";
    scene.write("write.sh", line);
    let running = Running::start(&scene, "bash write.sh 2>/dev/null &").unwrap_or_else(|refused| panic!("{}", refused.brief()));
    for name in [".npmrc", "pkg/.envrc"] {
        replace(&scene.file(name), "second, the user's\n");
    }
    user_git_text(&scene, "", &["config", "user.nickname", "ann"]);
    std::thread::sleep(TWO_LOOKS);
    drop(running);
    // What a job may have changed is not left; the version that the user wrote is in quarantine then.
    for name in [".npmrc", "pkg/.envrc"] {
        let text = scene.read(name);
        assert!(["first\n", "second, the user's\n"].contains(&&*text), "{name}: {text}");
    }
    let settings = scene.read(".git/config");
    assert!(settings.contains("nickname = ann") && !settings.contains("planted"), "{settings}");
}

/// What a job plants is gone within seconds, while it runs.
#[test]
fn what_a_job_plants_is_taken_away_while_it_runs() {
    let scene = start(Start::Files);
    let line = "mkdir -p pkg; echo planted > pkg/.envrc; git init -q; git config core.fsmonitor evil; git init -q pkg/new; git -C pkg/new config core.fsmonitor evil";
    let running = Running::start(&scene, &as_script(&scene, line)).unwrap_or_else(|refused| panic!("{}", refused.brief()));
    let is_evil = |name: &str| fs::read_to_string(scene.file(name)).is_ok_and(|text| text.contains("planted") || text.contains("evil"));
    let began = Instant::now();
    let left = || ["pkg/.envrc", ".git/config", "pkg/new/.git/config"].into_iter().filter(|name| is_evil(name)).collect::<Vec<_>>();
    while !left().is_empty() && began.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(left(), Vec::<&str>::new(), "after five seconds");
    drop(running);
    assert_eq!(left(), Vec::<&str>::new(), "after the job");
}
