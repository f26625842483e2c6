//! `haft undo` of commands that ran in the real sandbox, and what history keeps of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::harness::World;

/// Everything in the workspace but `.git`: permissions, and content or target.
fn tree(world: &World) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let (mut tree, mut folders) = (BTreeMap::new(), vec![world.file("")]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with(".git")) {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = match metadata.file_type() {
                kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                kind if kind.is_file() => fs::read(&path).unwrap(),
                _ => Vec::new(),
            };
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            tree.insert(path, (metadata.permissions().mode(), content));
        }
    }
    tree
}

fn git(world: &World, words: &[&str]) {
    let identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"];
    let ran = Command::new("git").args(identity).args(words).current_dir(world.file("")).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// A repository with some files.
fn project() -> World {
    let world = World::new();
    for (name, text) in [("src/main.rs", "fn main() {}\n"), ("src/deep/a.txt", "a\n"), ("notes.txt", "old\n"), (".gitignore", "/build\n")] {
        world.write(name, text);
    }
    git(&world, &["init", "-q", "."]);
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "first"]);
    world.write("notes.txt", "not committed\n");
    world.write("build/out", "built\n");
    world
}

fn exec(world: &World, command: &str) -> Value {
    world.call("exec", &json!({ "command": command })).1
}

#[test]
fn commands_are_taken_back_with_all_their_changes() {
    let world = project();
    let before = tree(&world);
    for command in [
        "rm -rf src",
        "sed -i s/not// notes.txt",
        "git checkout -- notes.txt",
        "mv src lib",
        "chmod 600 notes.txt && mkdir -p new/folder && echo 1 > new/file && ln -s notes.txt link",
        "python3 -c \"import shutil; shutil.rmtree('src'); open('src', 'w').write('now a file')\"",
        "rm notes.txt && mkdir -p notes.txt/deep/er && touch notes.txt/x notes.txt/deep/er/y && rm -r src",
        "mv notes.txt /tmp/n && mkdir notes.txt && mv /tmp/n notes.txt/index.txt && echo more >> notes.txt/index.txt",
        "sh -c 'rm -rf src; exit 7'",
    ] {
        let result = exec(&world, command);
        assert_eq!(result["status"] == "success", !command.contains("exit 7"), "{result}");
        assert_ne!(tree(&world), before, "{command}: {result}");
        assert_eq!(result["details"]["changes"]["undo"], true, "{result}");
        let ran = world.run(&["undo", "last"]);
        assert_eq!((ran.code, tree(&world) == before), (0, true), "{command}: {ran:?}");
    }
    let ran = world.run(&["undo", "last"]);
    assert_eq!(ran.code, 1, "every call is undone: {ran:?}");
}

#[test]
fn record_lists_the_paths_that_a_command_really_changed() {
    let world = project();
    let result = exec(&world, "touch src/main.rs; echo 2 > notes.txt; echo 2 > build/out; rm src/deep/a.txt; echo 1 > new");
    let files: Vec<(String, String)> = result["details"]["changes"]["files"].as_array().unwrap().iter().map(facts).collect();
    let expected = [("new", "created"), ("notes.txt", "changed"), ("src/deep/a.txt", "deleted")];
    assert_eq!(files, expected.map(|(path, change)| (path.to_owned(), change.to_owned())), "{result}");
    let history = world.run(&["history", "--json"]).json();
    let call = world.run(&["history", history[0]["id"].as_str().unwrap(), "--json"]).json();
    let recorded: Vec<&str> = call["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert_eq!(recorded.len(), 3, "{call}");
    assert!(expected.iter().all(|(path, _)| recorded.iter().any(|file| Path::new(file).ends_with(path))), "{call}");
}

fn facts(file: &Value) -> (String, String) {
    (file["path"].as_str().unwrap().to_owned(), file["change"].as_str().unwrap().to_owned())
}

#[test]
fn later_changes_stop_the_undo_of_a_command() {
    let world = project();
    exec(&world, "echo 2 > notes.txt; rm -r src");
    world.write("notes.txt", "by hand");
    let ran = world.run(&["undo", "last"]);
    assert_eq!((ran.code, world.read("notes.txt").as_str(), world.file("src").exists()), (1, "by hand", false), "{ran:?}");
}

#[test]
fn deleted_ignored_files_are_named_in_the_result() {
    let world = project();
    let result = exec(&world, "rm -r build");
    assert!(result["result"].as_str().unwrap().contains("Undo does not cover: 'build' (ignored by Git, and deleted)."), "{result}");
}

#[test]
fn undo_last_does_not_pass_over_a_command_outside_the_sandbox() {
    let world =
        World::with_config("access = 'full-access'\nrules.allow = ['exec(touch *)']\nsandbox.mode = 'off'\nexec.security = 'full'\n");
    world.call("write_file", &json!({"path": "a", "content": "one"}));
    let result = world.call("exec", &json!({"command": "touch b"})).1;
    assert_eq!((&result["status"], &result["details"]["sandbox"]), (&json!("success"), &json!("none")), "{result}");
    let ran = world.run(&["undo", "last"]);
    assert_eq!((ran.code, world.file("a").exists()), (1, true), "{ran:?}");
    assert!(ran.stderr.contains("was not kept"), "{ran:?}");
}

#[test]
fn failed_command_is_a_failure_everywhere() {
    let world = World::new();
    let ran = world.run(&["call", "exec", "--command", "echo out; exit 3"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("Exit code: 3") && ran.stderr.contains("out"), "{ran:?}");
    let (code, result) = world.call("exec", &json!({"command": "echo out; exit 3"}));
    assert_eq!((code, &result["error_type"]), (1, &json!("execution_error")), "{result}");
    assert!(result["message"].as_str().unwrap().starts_with("Exit code: 3\n\nout"), "{result}");
    assert!(world.run(&["history"]).stdout.contains("failed"));
    let (code, result) = world.call("exec", &json!({"command": "grep nothing /etc/hostname"}));
    assert_eq!((code, &result["status"]), (0, &json!("success")), "{result}");
}
