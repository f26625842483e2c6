//! Ways around a rule: effects (read, write, delete, run, connect) by spellings. Every row is one text in which only a name changes: with
//! the name that a rule denies the effect must not happen, with a permitted name it must. The effect is looked for on disk, on the
//! network and in the output; messages do not count.
//!
//! A row that has its effect nowhere proves nothing, so each line is also run with plain bash, where it must have it.

mod connect;
mod delete;
mod further;
mod later;
mod machine;
mod moved;
mod outside;
mod rare;
mod read;
mod run;
mod uncommon;
mod write;

use std::fs;
use std::sync::Mutex;

use serde_json::json;

use super::effects::{
    CallResult, Scene, Tree, call, on_threads, restore, run_in_background, run_line, run_unsandboxed, tree, user_git, user_git_text,
};
use super::harness::{HAFT, haft};

/// What runs the text of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Exec,
    Background,
    Pty,
    PythonRepl,
    NodeRepl,
    BashRepl,
}
use By::{Background, BashRepl, Exec, NodeRepl, Pty, PythonRepl};

/// The spelling, what runs it, and its text with `@name@` for what changes.
type Row = (&'static str, By, &'static str);

/// Placeholders with their values.
type Names = Vec<(&'static str, String)>;

/// The rows of one effect, and how it is recognised.
struct Table {
    rules: fn(&Scene) -> String,
    fixture: fn(&Scene),
    denied: fn(&Scene) -> Names,
    permitted: fn(&Scene) -> Names,
    /// Whether the effect happened: what is given was printed, the flag says whether it is about the denied name.
    happened: fn(&Scene, &[u8], Target) -> bool,
}

/// Which name a row was run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Denied,
    Permitted,
}

/// Folders that the rows of one scene do not restore: Git's own is reset by Git.
const NOT_RESTORED: [&str; 1] = [".git"];

fn fill(text: &str, names: &Names) -> String {
    names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

fn scene_for(table: &Table) -> (Scene, Tree) {
    let scene = Scene::new();
    scene.configure(&(table.rules)(&scene));
    (table.fixture)(&scene);
    user_git_text(&scene, "", &["tag", "base"]);
    fs::create_dir_all(scene.file("loot")).unwrap();
    let before = tree(&scene.file(""), &NOT_RESTORED);
    (scene, before)
}

/// As it was before the row.
fn reset(scene: &Scene, before: &Tree, text: &str) {
    restore(&scene.file(""), before, &NOT_RESTORED);
    if text.contains("git ") {
        for words in [&["checkout", "-qf", "main"][..], &["reset", "-q", "--hard", "base"], &["stash", "clear"], &["worktree", "prune"]] {
            user_git(scene, "", words);
        }
        restore(&scene.file(""), before, &NOT_RESTORED);
    }
}

fn run_by(scene: &Scene, by: By, text: &str) -> CallResult {
    let repl = |language: &str| call(scene, "repl", &json!({ "language": language, "code": text, "timeout_ms": 30_000 }));
    match by {
        Exec => run_line(scene, text),
        Background => run_in_background(scene, text),
        Pty => call(scene, "exec", &json!({ "command": text, "pty": true, "timeout": 60 })),
        PythonRepl => repl("python"),
        NodeRepl => repl("javascript"),
        BashRepl => repl("bash"),
    }
}

/// Runs every row with both names in the sandbox.
fn try_rows(table: &Table, rows: &[Row]) {
    let wrong = Mutex::new(Vec::new());
    let halves: Vec<&[Row]> = rows.chunks(rows.len().div_ceil(2)).collect();
    on_threads(2, &halves, |rows| {
        let (scene, before) = scene_for(table);
        for (spelling, by, text) in *rows {
            for (target, names) in [(Target::Denied, (table.denied)(&scene)), (Target::Permitted, (table.permitted)(&scene))] {
                let text = fill(text, &names);
                let result = run_by(&scene, *by, &text);
                let happened = (table.happened)(&scene, result.value.to_string().as_bytes(), target);
                if happened != (target == Target::Permitted) {
                    wrong.lock().unwrap().push(format!("{target:?}, {spelling}, {by:?}: {text}\n    {}", result.brief()));
                }
                reset(&scene, &before, &text);
            }
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), 2 * rows.len(), wrong.join("\n"));
}

/// Runs every line with the denied name and plain bash: without a sandbox it has its effect.
fn try_rows_unsandboxed(table: &Table, rows: &[Row]) {
    let (scene, before) = scene_for(table);
    let mut harmless = Vec::new();
    for (spelling, _, text) in rows.iter().filter(|(_, by, _)| matches!(by, Exec | Background | Pty | BashRepl)) {
        let text = fill(text, &(table.denied)(&scene));
        let output = run_unsandboxed(&scene, &text);
        let printed = [output.stdout.clone(), output.stderr.clone()].concat();
        if !(table.happened)(&scene, &printed, Target::Denied) {
            harmless.push(format!("{spelling}: {text}\n    {}", String::from_utf8_lossy(&printed)));
        }
        reset(&scene, &before, &text);
    }
    assert!(harmless.is_empty(), "these have no effect even outside:\n{}", harmless.join("\n"));
}

/// A repository with everything that is there by now.
fn commit_all(scene: &Scene) {
    user_git_text(scene, "", &["init", "-q"]);
    user_git_text(scene, "", &["add", "-A"]);
    user_git_text(scene, "", &["commit", "-qm", "first"]);
}

/// Placeholders for a folder of six letters: whole and in parts, encoded, absolute.
fn folder_names(scene: &Scene, folder: &str) -> Names {
    let encoded = folder.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<Vec<_>>().concat();
    let half = folder.len() / 2;
    vec![
        ("@d@", folder.to_owned()),
        ("@start@", folder[..half].to_owned()),
        ("@end@", folder[half..].to_owned()),
        ("@any@", format!("?{}", &folder[1..])),
        ("@reverse@", folder.chars().rev().collect()),
        ("@hex@", encoded),
        ("@upper@", folder.to_uppercase()),
        ("@absolute@", scene.file(folder).display().to_string()),
    ]
}

#[test]
fn table_has_its_size() {
    let counts = [read::ROWS.len(), write::ROWS.len(), write::GLOB_ROWS.len(), delete::ROWS.len(), run::ROWS.len(), run::PUSHES.len()];
    let further = further::READS.len() + further::WRITES.len() + further::DELETES.len() + further::RUNS.len() + machine::ROWS.len();
    let uncommon = uncommon::READS.len() + uncommon::WRITES.len() + uncommon::DELETES.len() + uncommon::RUNS.len();
    let count: usize = counts.iter().sum::<usize>()
        + connect::ROWS.len()
        + connect::DETOURS.len()
        + outside::count()
        + further
        + uncommon
        + moved::ROWS.len();
    assert!(count >= 540, "{count}");
    println!("{count} rows");
}

/// Those that run a sandbox, in two parts of about the same length.
const AGAIN: [&[&str]; 2] = [
    &[
        "suite::bypass::read::read_rules",
        "suite::bypass::outside::",
        "suite::bypass::further::read_rules",
        "suite::bypass::machine::",
        "suite::bypass::later::",
        "suite::bypass::rare::read_rules",
        "suite::bypass::uncommon::read_rules",
    ],
    &[
        "suite::bypass::write::write_rules",
        "suite::bypass::delete::delete_rules",
        "suite::bypass::run::exec_rules",
        "suite::bypass::further::write_rules",
        "suite::bypass::moved::write_rules",
        "suite::bypass::further::delete_and_exec",
        "suite::bypass::rare::write_delete",
        "suite::bypass::uncommon::write_rules",
        "suite::bypass::uncommon::delete_and_exec",
        "suite::bypass::connect::",
    ],
];

fn again(words: &[&str]) -> String {
    haft_testkit::again_as_an_ordinary_user(words, &[(HAFT, &haft())]).unwrap_or_else(|said| panic!("{said}"))
}

#[test]
fn ordinary_user_cannot_bypass_what_is_read() {
    println!("{}", again(AGAIN[0]));
}

#[test]
fn ordinary_user_cannot_bypass_what_is_changed_run_or_reached() {
    println!("{}", again(AGAIN[1]));
}
