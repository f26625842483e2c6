//! What a user does with staged changes: looks at them, commits them, takes them back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::harness::{Ran, World, haft, is_root};
use super::pty::Pty;

/// Mode, time and content by path.
type Tree = BTreeMap<PathBuf, (u32, Option<(i64, i64)>, Vec<u8>)>;

/// Everything of a tree that a commit is to make, and its times for when nothing is to happen.
fn tree(root: &Path, with_times: bool) -> Tree {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.chain((folder == root).then(|| root.to_owned())) {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = match metadata.file_type() {
                kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                kind if kind.is_file() => fs::read(&path).unwrap(),
                _ => Vec::new(),
            };
            if metadata.is_dir() && path != root {
                folders.push(path.clone());
            }
            let times = with_times.then(|| (metadata.mtime(), metadata.mtime_nsec()));
            found.insert(path.strip_prefix(root).unwrap().to_owned(), (metadata.mode(), times, content));
        }
    }
    found
}

fn dry_run(world: &World, line: &str) -> Value {
    let (code, result) = world.call("exec", &json!({"command": line, "dry_run": true}));
    assert_eq!(code, 0, "{result}");
    result
}

fn id_of(result: &Value) -> String {
    result["details"]["changes"]["id"].as_str().unwrap_or_else(|| panic!("no set in {result}")).to_owned()
}

fn commit(world: &World, id: &str) -> Ran {
    world.run(&["call", "exec", "--commit", id])
}

/// The call that changed something last.
fn last_call(world: &World) -> String {
    let history = world.run(&["history", "--json"]).json();
    history[0]["id"].as_str().unwrap_or_else(|| panic!("{history}")).to_owned()
}

fn filled() -> World {
    let world = World::new();
    world.write("a.txt", "one\ntwo\n");
    world.write("gone.txt", "gone\n");
    world.write("d/x", "x\n");
    world
}

const LINE: &str =
    "echo three >>a.txt; rm gone.txt; mkdir -p n/empty; echo new >n/f; ln -s a.txt link; chmod 700 d/x; mkfifo pipe; echo said";

#[test]
fn a_dry_run_shows_what_would_change_and_leaves_everything_as_it_was() {
    let world = filled();
    let before = tree(&world.file(""), true);
    let result = dry_run(&world, LINE);
    assert_eq!(tree(&world.file(""), true), before);
    let mut changes = result["details"]["changes"].clone();
    changes["id"] = "[id]".into();
    let file = |path: &str, change: &str, kind: &str, bytes: u32, mode: Option<&str>, target: Option<&str>| json!({"path": path, "change": change, "kind": kind, "bytes": bytes, "mode": mode, "target": target});
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n two\n+three\n--- a/gone.txt\n+++ b/gone.txt\n@@ -1 +0,0 @@\n-gone\n--- a/n/f\n+++ b/n/f\n@@ -0,0 +1 @@\n+new\n";
    let expected = json!({
        "id": "[id]", "applied": false, "created": 5, "changed": 2, "deleted": 1,
        "files": [
            file("a.txt", "changed", "file", 14, Some("644"), None),
            file("d/x", "changed", "file", 2, Some("700"), None),
            file("gone.txt", "deleted", "file", 5, None, None),
            file("link", "created", "link", 0, Some("777"), Some("a.txt")),
            file("n", "created", "directory", 0, Some("755"), None),
            file("n/empty", "created", "directory", 0, Some("755"), None),
            file("n/f", "created", "file", 4, Some("644"), None),
            file("pipe", "created", "special", 0, Some("644"), None),
        ],
        "not_committable": null, "diff": diff, "spill": null,
    });
    assert_eq!(changes, expected);
    let text = result["result"].as_str().unwrap();
    assert!(
        text.starts_with("said\n\nNothing was changed yet. It would change 8 paths (5 created, 2 changed, 1 deleted):\n\nM a.txt"),
        "{text}"
    );
    assert!(text.ends_with(&format!("call exec with commit={} and nothing else.", id_of(&result))), "{text}");
}

#[test]
fn a_commit_does_exactly_that_once_and_can_be_taken_back() {
    let world = filled();
    let before = tree(&world.file(""), false);
    let id = id_of(&dry_run(&world, LINE));
    let ran = commit(&world, &id);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("1 pipes, sockets or devices were not created"), "{ran:?}");
    let direct = filled();
    direct.call("exec", &json!({"command": LINE}));
    fs::remove_file(direct.file("pipe")).unwrap();
    let after = tree(&world.file(""), false);
    assert_eq!(after, tree(&direct.file(""), false));

    let call = last_call(&world);
    let again = commit(&world, &id);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("was committed already"), "{again:?}");
    let undone = world.run(&["undo", &call]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(tree(&world.file(""), false), before);
}

#[test]
fn a_file_that_changed_meanwhile_stops_all_of_it() {
    type Meanwhile = fn(&World);
    let cases: [(&str, Meanwhile); 6] = [
        ("a.txt", |world| world.write("a.txt", "other\n")),
        ("gone.txt", |world| fs::remove_file(world.file("gone.txt")).unwrap()),
        ("n", |world| world.write("n", "in the way\n")),
        ("link", |world| symlink("elsewhere", world.file("link")).unwrap()),
        ("d/x", |world| {
            fs::remove_dir_all(world.file("d")).unwrap();
            symlink("/", world.file("d")).unwrap();
        }),
        // A new folder is moved as a whole.
        ("n", |world| world.write("n/f", "mine\n")),
    ];
    for (named, meanwhile) in cases {
        let world = filled();
        let id = id_of(&dry_run(&world, LINE));
        meanwhile(&world);
        let before = tree(&world.file(""), true);
        let ran = commit(&world, &id);
        assert_eq!(ran.code, 1, "{named}: {ran:?}");
        assert!(ran.stderr.contains(&format!("'{named}'")) && ran.stderr.contains("Nothing was applied"), "{named}: {ran:?}");
        assert_eq!(tree(&world.file(""), true), before, "{named}");
    }
}

#[test]
fn what_cannot_be_committed_says_why() {
    let world = filled();
    let id = id_of(&dry_run(&world, "ln -s /etc/passwd out; ln -s ../../up up; ln -s a.txt in"));
    let other = filled();
    let elsewhere = world.run(&["call", "exec", "--commit", &id, "--workspace", &other.file("").to_string_lossy()]);
    for (ran, words) in [
        (commit(&world, &id), "the link 'out' leads out of the workspace, to '/etc/passwd'"),
        (commit(&world, "chg-00000000"), "There is no change set 'chg-00000000'"),
        (commit(&world, "../../x"), "There is no change set '../../x'"),
        (elsewhere, "is of another workspace"),
        (world.run(&["call", "exec", "--commit", &id, "--command", "ls"]), "Parameter 'commit' stands alone"),
        (world.run(&["call", "exec", "--dry-run", "--command", "ls", "--host", "host", "--access", "full-access"]), "outside the sandbox"),
        (
            world.run_with(
                &[("HAFT_HOME", &*world.file("state").to_string_lossy())],
                &["call", "exec", "--dry-run", "--command", "echo x >ran"],
            ),
            "choose another data folder",
        ),
        (
            world.run_with(&[("HAFT_SANDBOX_BACKEND", "container")], &["call", "exec", "--dry-run", "--command", "echo x >ran"]),
            "The command was not run",
        ),
    ] {
        assert_eq!(ran.code, 1, "{words}: {ran:?}");
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        assert!(!world.file("ran").exists() && !world.file("in").exists(), "{words}");
    }
}

/// The upper layer of an overlay cannot lie on an overlay: the kernel says so, and nothing runs.
#[test]
fn where_the_kernel_refuses_an_overlay_nothing_runs() {
    let world = filled();
    let haft = haft().display().to_string();
    for folder in ["lower", "upper", "work", "home/state"] {
        fs::create_dir_all(world.path(folder)).unwrap();
    }
    let at = |name: &str| world.path(name).display().to_string();
    let options = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    let script = format!("mount -t overlay x -o {options} {} && exec {haft} call exec --dry-run --command 'echo x >ran'", at("home/state"));
    let mut command = std::process::Command::new("unshare");
    let rights: &[&str] = if is_root() { &["-m"] } else { &["-Urm"] };
    let like = world.command::<&str>(&[]);
    command.args(rights).args(["sh", "-c", &script]).current_dir(world.file("")).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = world.ran(&command.output().unwrap());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("cannot mount an overlay on [world]/workspace: Invalid argument"), "{ran:?}");
    assert!(ran.stderr.contains("set HAFT_HOME to one"), "{ran:?}");
    assert!(!world.file("ran").exists());
}

#[test]
fn with_undo_a_command_is_applied_when_it_has_ended_well_and_can_be_taken_back() {
    let world = World::with_config("exec.changes = 'staged'\n");
    world.write("a.txt", "one\ntwo\n");
    let before = tree(&world.file(""), false);
    let (_, result) = world.call("exec", &json!({"command": "echo three >>a.txt; echo new >new; cat a.txt; exit 3"}));
    assert_eq!((&result["details"]["exit_code"], &result["details"]["changes"]["applied"]), (&json!(3), &json!(true)), "{result}");
    assert_eq!((world.read("a.txt"), world.read("new")), ("one\ntwo\nthree\n".into(), "new\n".into()));
    let undone = world.run(&["undo", &last_call(&world)]);
    assert_eq!((undone.code, tree(&world.file(""), false)), (0, before.clone()), "{undone:?}");

    for line in ["echo x >new; no-such-program", "echo x >new; sleep 60"] {
        let (code, result) = world.call("exec", &json!({"command": line, "timeout": 1}));
        assert_eq!((code, tree(&world.file(""), false)), (1, before.clone()), "{result}");
    }
}

#[test]
fn staged_changes_are_checked_by_the_rules_path_by_path_and_keep_their_times() {
    let world = World::with_config("exec.changes = 'staged'\nrules.deny = ['write(docs/**)', 'delete(keep/**)']\n");
    for path in ["docs/a.md", "keep/b", "src/c"] {
        world.write(path, "old\n");
    }
    let line = "echo new >docs/a.md; echo new >docs/n.md; echo new >src/c; touch -d @1000000 src/c; rm -rf keep; rm -rf docs; mkdir -p docs; echo x >ok";
    // In a file, which nobody reads beforehand.
    world.write("run.sh", line);
    let (_, result) = world.call("exec", &json!({"command": "sh run.sh"}));
    assert_eq!((world.read("docs/a.md"), world.read("keep/b")), ("old\n".into(), "old\n".into()), "{result}");
    assert!(!world.file("docs/n.md").exists());
    assert_eq!((world.read("src/c"), world.read("ok")), ("new\n".into(), "x\n".into()), "{result}");
    assert_eq!(fs::metadata(world.file("src/c")).unwrap().mtime(), 1_000_000);
}

#[test]
fn folders_can_be_renamed_while_changes_are_staged() {
    let world = World::with_config("exec.changes = 'staged'\n");
    world.write("src/deep/a.rs", "fn a() {}\n");
    let identity = "-c user.name=a -c user.email=a@example.org";
    let line = format!("git init -q && git add . && git {identity} commit -qm one && git mv src lib && git {identity} commit -qm two");
    let (code, result) = world.call("exec", &json!({"command": line}));
    assert_eq!((code, world.read("lib/deep/a.rs")), (0, "fn a() {}\n".into()), "{result}");
    assert!(!world.file("src").exists(), "{result}");
    // The last one ran on an overlay of its own: here `src` is a folder of the lower layer.
    let (code, result) = world.call("exec", &json!({"command": "python3 -c \"import os; os.rename('lib', 'src')\" && git status --short"}));
    assert_eq!((code, world.read("src/deep/a.rs")), (0, "fn a() {}\n".into()), "{result}");
    assert!(!world.file("lib").exists(), "{result}");
}

/// A staged run may make repositories, and what Git runs or trusts stays behind.
#[test]
fn new_repositories_are_applied_without_what_git_runs() {
    let world = World::with_config("rules.ask = ['delete(**)']\nrules.deny = ['write(docs/**)']\n");
    world.write("a.txt", "one\n");
    world.write("docs/x", "x\n");
    let marker = world.file("marker");
    let hook = format!("printf '#!/bin/sh\\ntouch {0}\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit", marker.display());
    let setting = format!("git config core.fsmonitor 'touch {0}'; git config alias.st '!touch {0}'", marker.display());
    let identity = "-c user.name=a -c user.email=a@example.org";
    let line = format!(
        "git init -q . && git add a.txt && git {identity} commit -qm one && {hook} && {setting}; git init -q docs/inner; git init -q --bare b.git; \
         git -C b.git config core.pager 'touch {}'",
        marker.display()
    );
    // In a file, which nobody reads beforehand.
    world.write("run.sh", &line);
    let (code, result) = world.call("exec", &json!({"command": "sh run.sh"}));
    assert_eq!(code, 0, "{result}");
    assert!(!world.file("docs/inner").exists(), "{result}");
    assert!(!world.file(".git/hooks/pre-commit").exists() && world.file(".git/HEAD").is_file(), "{result}");
    for config in [".git/config", "b.git/config"] {
        assert!(!world.read(config).contains("touch"), "{config}: {}", world.read(config));
    }
    // As the user would, outside.
    fs::remove_file(&marker).ok();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let ran = std::process::Command::new("git").args(identity).args(arguments).current_dir(world.file("")).output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(git(&["log", "--format=%s"]), "one\n");
    git(&["status"]);
    git(&["commit", "--allow-empty", "-qm", "two"]);
    assert!(!marker.exists());
    let text = result["result"].as_str().unwrap();
    assert!(text.lines().count() < 30, "{text}");
    // The repository is there for the next command.
    let (code, result) = world.call("exec", &json!({"command": "git log --format=%s | wc -l; git init -q other"}));
    assert!(code == 0 && result["result"].as_str().unwrap().starts_with("2\n"), "{result}");
    assert!(world.file("other/.git/HEAD").is_file(), "{result}");
    assert!(result["result"].as_str().unwrap().ends_with("(Undo does not cover new repositories: 'other/.git'.)"), "{result}");
}

#[test]
fn changes_under_review_need_approval() {
    let world = World::with_config("exec.changes = 'review'\naccess = 'full-access'\n");
    world.write("a.txt", "one\n");
    let before = tree(&world.file(""), true);
    let (_, result) = world.call("exec", &json!({"command": "echo two >>a.txt"}));
    assert_eq!(tree(&world.file(""), true), before);
    let id = id_of(&result);
    let unasked = commit(&world, &id);
    assert_eq!((unasked.code, tree(&world.file(""), true)), (1, before), "{unasked:?}");
    assert!(unasked.stderr.contains("exec.changes = \"review\""), "{unasked:?}");
    for (answer, expected) in [("n", "one\n"), ("y", "one\ntwo\n")] {
        let mut pty = Pty::start(world.command(&["call", "exec", "--commit", &id]), 120);
        let asked = pty.waits_for("[y] once");
        assert!(asked.contains("a.txt"), "{asked}");
        pty.types(answer);
        let (_, shown) = pty.ends();
        assert_eq!(world.read("a.txt"), expected, "{shown}");
    }
}

#[test]
fn changes_of_a_background_command_are_staged_until_it_ends() {
    let world = World::with_config("exec.changes = 'staged'\n");
    let (_, result) = world.call("exec", &json!({"command": "echo x >new; sleep 60", "yield_ms": 200}));
    assert_eq!(result["details"]["status"], "running", "{result}");
    assert!(result["result"].as_str().unwrap().contains("Its changes are staged: other commands see them when it has ended"), "{result}");
    assert!(!world.file("new").exists());
}

#[test]
fn secrets_and_what_others_run_are_told_apart() {
    let world = World::new();
    world.write("Makefile", "all:\n");
    let line = "echo API=hunter2 >.env; echo x >conftest.py; mkdir -p web; echo '{}' >web/package.json; rm Makefile; printf 'ghp_%s' abcdefghijklmnopqrstuvwxyz0123456789 >keys.txt";
    let result = dry_run(&world, line);
    assert!(!result.to_string().contains("hunter2"), "{result}");
    let text = result["result"].as_str().unwrap();
    assert!(text.contains("+[redacted:github_token]") && !text.contains("ghp_abc"), "{text}");
    let triggers: Vec<&str> =
        result["details"]["triggers"].as_array().unwrap().iter().filter_map(|trigger| trigger["path"].as_str()).collect();
    assert_eq!(triggers, ["conftest.py", "web/package.json"]);
    let (_, direct) = world.call("exec", &json!({"command": "echo x >conftest.py; echo y >notes"}));
    let expected = json!([{"path": "conftest.py", "why": "pytest runs it before any test"}]);
    assert_eq!(direct["details"]["triggers"], expected, "{direct}");
    assert!(direct["result"].as_str().unwrap().contains("Check 'conftest.py' before you continue"), "{direct}");
    let (_, again) = world.call("exec", &json!({"command": "cat conftest.py"}));
    assert_eq!(again["details"]["triggers"], Value::Null, "{again}");
}

#[test]
fn thousands_of_files_are_counted_and_the_list_is_in_a_file() {
    let world = World::new();
    let result = dry_run(&world, "python3 -c \"for i in range(3000): open(f'f{i}', 'w').write(str(i))\"");
    let text = result["result"].as_str().unwrap();
    assert!(text.contains("3000 paths (3000 created)") && text.contains("(2960 more are not shown)") && text.len() < 20_000, "{text}");
    let spill = result["details"]["changes"]["spill"].as_str().unwrap();
    let spill = spill.replace("[world]", &world.path("").to_string_lossy());
    assert_eq!(fs::read_to_string(spill).unwrap().lines().filter(|line| line.starts_with("A f")).count(), 3000);
}

#[test]
fn what_a_run_left_that_was_cut_off_goes_with_the_next_and_a_commit_leaves_no_content() {
    let world = filled();
    let sets = world.state().join("changes");
    dry_run(&world, "true");
    let left = sets.join("chg-00");
    fs::create_dir_all(left.join("0/work/work/x")).unwrap();
    fs::set_permissions(left.join("0/work/work"), fs::Permissions::from_mode(0o000)).unwrap();
    let old = fs::File::open(&left).unwrap();
    old.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
    drop(old);
    let id = id_of(&dry_run(&world, "echo x >x"));
    assert!(!left.exists());
    assert_eq!(super::harness::mode(&sets), 0o700);
    assert_eq!(commit(&world, &id).code, 0);
    let kept: Vec<_> = fs::read_dir(sets.join(&id)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["committed"]);
    let empty = dry_run(&world, "true");
    assert_eq!(
        (&empty["details"]["changes"]["id"], fs::read_dir(&sets).unwrap().count()),
        (&Value::Null, 1),
        "nothing changed, nothing kept"
    );
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&*world.path("").to_string_lossy()));
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// Commands on a few names, of which many fail; what counts is what is there in the end.
fn some_line(dice: &mut Dice) -> String {
    let names = ["a", "b", "d", "d/x", "d/y", "d/e", "d/e/z", "l"];
    // An ordinary user could not compare what is in a folder that is shut.
    let modes = if is_root() { ["700", "755", "640", "600"] } else { ["700", "755", "750", "711"] };
    let mut words = Vec::new();
    for _ in 0..12 {
        let (one, other) = (names[dice.roll(names.len())], names[dice.roll(names.len())]);
        words.push(match dice.roll(9) {
            0 => format!("echo {one}{other} >{one}; "),
            1 => format!("echo more >>{one}; "),
            2 => format!("rm -rf {one}; "),
            3 => format!("mkdir -p {one}; "),
            4 => format!("mv -T {one} {other}; "),
            5 => format!("ln -sfn {other} {one}; "),
            6 => format!("chmod {} {one}; ", modes[dice.roll(4)]),
            7 => format!("cp {one} {other}; "),
            _ => format!("rm -rf {one}; mkdir -p {one}; echo {other} >{one}/new; "),
        });
    }
    format!("( {}) 2>/dev/null; true", words.concat())
}

#[test]
fn what_is_committed_is_what_the_same_commands_do_directly_and_comes_back() {
    for seed in 0..15 {
        let mut dice = Dice(seed);
        let (first, line) = (some_line(&mut dice), some_line(&mut dice));
        let (kept, direct) = (World::new(), World::new());
        for world in [&kept, &direct] {
            let (code, result) = world.call("exec", &json!({"command": first}));
            assert_eq!(code, 0, "{result}");
        }
        let before = tree(&kept.file(""), false);
        assert_eq!(before, tree(&direct.file(""), false), "{first}");
        direct.call("exec", &json!({"command": line}));
        let result = dry_run(&kept, &line);
        assert_eq!(tree(&kept.file(""), false), before, "seed {seed}: {line}");
        if result["details"]["changes"]["id"].is_null() {
            continue;
        }
        let ran = commit(&kept, &id_of(&result));
        assert_eq!(ran.code, 0, "seed {seed}: {first} THEN {line}: {ran:?}");
        assert_eq!(tree(&kept.file(""), false), tree(&direct.file(""), false), "seed {seed}: {first} THEN {line}");
        let undone = kept.run(&["undo", &last_call(&kept)]);
        assert_eq!(undone.code, 0, "seed {seed}: {undone:?}");
        assert_eq!(tree(&kept.file(""), false), before, "seed {seed}: {first} THEN {line}, and back");
    }
}

/// The same by someone who has no rights at all: a dry run, its commit, and back.
#[test]
fn ordinary_user_can_do_all_of_it() {
    let world = filled();
    let copied = world.path("haft");
    fs::copy(haft(), &copied).unwrap();
    if is_root() {
        let owned = std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(world.path("")).status().unwrap();
        assert!(owned.success());
    }
    let as_user = |words: &[&str]| {
        let mut command = std::process::Command::new(if is_root() { "setpriv" } else { "env" });
        if is_root() {
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        }
        let like = world.command::<&str>(&[]);
        command.arg(&copied).args(words).current_dir(world.file("")).env_clear();
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        world.ran(&command.output().unwrap())
    };
    let before = tree(&world.file(""), true);
    let line =
        "echo three >>a.txt; rm gone.txt; rm -r d; mkdir d; echo y >d/y; mkdir shut; echo z >shut/z; chmod 600 shut/z; ln -s a.txt link";
    let shown = as_user(&["call", "exec", "--dry-run", "--json", "--command", line]);
    assert_eq!((shown.code, tree(&world.file(""), true)), (0, before), "{shown:?}");
    let before = tree(&world.file(""), false);
    let done = as_user(&["call", "exec", "--commit", &id_of(&shown.json())]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!((world.read("a.txt"), world.read("d/y"), world.file("d/x").exists()), ("one\ntwo\nthree\n".into(), "y\n".into(), false));
    assert_eq!(super::harness::mode(&world.file("shut/z")), 0o600);
    let call = as_user(&["history", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let undone = as_user(&["undo", &call]);
    assert_eq!((undone.code, tree(&world.file(""), false)), (0, before), "{undone:?}");
}
