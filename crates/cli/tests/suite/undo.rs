//! `haft undo`: files as they were before a call.

use std::fs;

use haft_testkit::Round;
use serde_json::{Value, json};

use super::harness::World;
use super::model::{Talk, done};

fn write(world: &World, path: &str, content: &str) {
    let (code, result) = world.call("write_file", &json!({"path": path, "content": content}));
    assert_eq!(code, 0, "{result}");
}

#[test]
fn last_goes_back_call_by_call() {
    let world = World::new();
    write(&world, "d/a", "one");
    world.call("noop", &json!({}));
    write(&world, "d/a", "two");
    let ran = world.run(&["undo", "last"]);
    assert_eq!((ran.code, world.read("d/a").as_str()), (0, "one"), "{ran:?}");
    assert!(ran.stdout.ends_with("\n  [world]/workspace/d/a: restored\n"), "{ran:?}");
    let ran = world.run(&["undo", "last"]);
    assert_eq!((ran.code, world.file("d").exists()), (0, false), "{ran:?}");
    assert!(ran.stdout.ends_with("\n  [world]/workspace/d/a: removed, as it did not exist before\n"), "{ran:?}");
    let ran = world.run(&["undo", "last"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: there is no call left to undo\n"));
    let marks: Vec<_> = world.run(&["history", "--json"]).json().as_array().unwrap().iter().map(|call| call["undone"].clone()).collect();
    assert_eq!(marks, [json!(true), json!(false), json!(true)]);
    assert!(world.run(&["history"]).stdout.contains("ok, undone"));
}

#[test]
fn a_call_by_its_short_id_and_only_once() {
    let world = World::new();
    write(&world, "a", "one");
    let id = world.run(&["history", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let short = &id[id.len() - 8..];
    let ran = world.run(&["undo", short, "--json"]);
    assert_eq!(
        (ran.code, ran.json()["status"].clone(), ran.json()["files"].clone()),
        (0, json!("success"), json!(["[world]/workspace/a"]))
    );
    assert_eq!(ran.json()["call"]["id"], json!(id));
    let again = world.run(&["undo", short, "--json"]);
    let expected = json!({"status": "error", "error_type": "not_undone", "message": format!("call {id} was undone before")});
    assert_eq!((again.code, again.json()), (1, expected));
}

#[test]
fn later_changes_are_not_lost_unless_forced() {
    let world = World::new();
    write(&world, "a", "one");
    world.write("a", "by hand");
    let ran = world.run(&["undo", "last"]);
    assert_eq!((ran.code, world.read("a").as_str()), (1, "by hand"));
    assert!(ran.stderr.contains("a was changed after the call") && ran.stderr.contains("--force"), "{ran:?}");
    let ran = world.run(&["undo", "last", "--force"]);
    assert_eq!((ran.code, world.file("a").exists()), (0, false));
    let told = "  [world]/workspace/a: had been changed after the call; that is kept in [world]/";
    let copy = ran.stdout.lines().find_map(|line| line.strip_prefix(told)).unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(fs::read_to_string(world.path(copy)).unwrap(), "by hand");
}

#[test]
fn a_call_without_files_says_so() {
    let world = World::new();
    world.call("noop", &json!({}));
    let id = world.run(&["history", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let ran = world.run(&["undo", &id]);
    assert_eq!((ran.code, ran.stderr), (1, format!("error: call {id} (noop) changed no files, so there is nothing to put back\n")));
}

#[test]
fn from_another_folder() {
    let world = World::new();
    fs::create_dir(world.path("elsewhere")).unwrap();
    let elsewhere = world.path("elsewhere").to_str().unwrap().to_owned();
    let in_elsewhere = ["call", "write_file", "--path", "b", "--content", "two", "--workspace", &elsewhere];
    assert_eq!(world.run(&in_elsewhere).code, 0);
    write(&world, "a", "one");
    let id = world.run(&["history", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    // The newest of this folder, not the newest of all.
    let undo_there = ["undo", "last", "--workspace", &elsewhere];
    let ran = world.run(&undo_there);
    assert_eq!((ran.code, world.file("a").exists(), world.path("elsewhere/b").exists()), (0, true, false), "{ran:?}");
    let ran = world.run(&undo_there);
    let expected = format!(
        "error: there is no call left to undo in [world]/elsewhere; the newest one is in [world]/workspace: write_file\n\
         help: `haft undo {id}` undoes that one\n"
    );
    assert_eq!((ran.code, ran.stderr), (1, expected));
    let ran = world.run(&["undo", &id, "--workspace", &elsewhere]);
    assert_eq!((ran.code, world.file("a").exists()), (0, false), "{ran:?}");
}

#[test]
fn last_passes_over_what_is_as_before_already() {
    let world = World::new();
    write(&world, "a", "one");
    write(&world, "b", "two");
    fs::remove_file(world.file("b")).unwrap();
    let ran = world.run(&["undo", "last"]);
    assert_eq!((ran.code, world.file("a").exists()), (0, false), "{ran:?}");
}

/// A session that changes, makes, renames and removes files, some of them twice.
fn session() -> Talk {
    let call = |id: &str, tool: &str, arguments: Value| (id.to_owned(), tool.to_owned(), arguments);
    let patch = "*** Begin Patch\n*** Update File: b\n*** Move to: d/moved\n@@\n-b\n+B\n*** Delete File: c\n*** End Patch\n";
    let calls = vec![
        call("1", "edit_file", json!({"path": "a", "old_string": "a", "new_string": "A"})),
        call("2", "apply_patch", json!({"input": patch})),
        call("3", "notify", json!({"message": "half"})),
        call("4", "write_file", json!({"path": "a", "content": "new\n"})),
        call("5", "write_file", json!({"path": "d/new", "content": "new\n"})),
    ];
    let talk = Talk::new("openai", vec![Round::Calls(calls), done()]);
    for name in ["a", "b", "c"] {
        talk.world.write(name, format!("{name}\n"));
    }
    let turn = talk.turn(&["change it all"]);
    assert_eq!(turn.outcomes(), ["success"; 5], "{turn:?}");
    assert_eq!((talk.world.read("a"), talk.world.read("d/moved")), ("new\n".into(), "B\n".into()));
    talk
}

/// Whether the files are as they were before the session.
fn is_as_before(world: &World) -> bool {
    let texts = ["a", "b", "c"].map(|name| fs::read_to_string(world.file(name)).ok());
    texts == ["a\n", "b\n", "c\n"].map(|text| Some(text.to_owned())) && !world.file("d").exists()
}

fn session_id(world: &World) -> String {
    world.run(&["history", "--json"]).json()[0]["session"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_goes_back_as_one_with_what_was_renamed_and_removed() {
    let talk = session();
    let world = &talk.world;
    let id = session_id(world);
    // The newest of this folder is not the newest of all.
    let elsewhere = world.path("home").to_str().unwrap().to_owned();
    assert_eq!(world.run(&["call", "write_file", "--path", "other", "--content", "x", "--workspace", &elsewhere]).code, 0);
    let ran = world.run(&["undo", "--session"]);
    assert!(ran.code == 0 && is_as_before(world) && world.path("home/other").exists(), "{ran:?}");
    assert!(ran.stdout.starts_with(&format!("undone: session {id} (4 calls)\n")), "{ran:?}");
    assert!(ran.stdout.contains("  [world]/workspace/d/moved: removed, as it did not exist before\n"), "{ran:?}");
    assert!(ran.stdout.contains("  [world]/workspace/c: restored\n"), "{ran:?}");
    assert!(ran.stderr.contains("this cannot be undone: notify (send desktop to system)"), "{ran:?}");
    let marks = world.run(&["history", "--json"]).json();
    let marks: Vec<_> = marks.as_array().unwrap().iter().map(|call| (call["tool"].as_str().unwrap(), call["undone"] == true)).collect();
    assert_eq!(marks.iter().filter(|(_, undone)| *undone).count(), 4, "{marks:?}");
    let again = world.run(&["undo", "--session", &id]);
    assert_eq!((again.code, again.stderr), (1, format!("error: session {id} has no call left to undo\n")));
}

#[test]
fn a_session_by_its_short_id_for_a_program() {
    let talk = session();
    let id = session_id(&talk.world);
    let ran = talk.world.run(&["undo", "--session", &id[id.len() - 8..], "--json"]);
    let mut data = ran.json();
    let calls: Vec<_> = data["calls"].as_array().unwrap().iter().map(|call| call["call_id"].clone()).collect();
    assert_eq!(calls.len(), 4, "{ran:?}");
    let mut files: Vec<_> = data["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap().to_owned()).collect();
    files.sort();
    assert_eq!(files, ["a", "b", "c", "d/moved", "d/new"].map(|name| format!("[world]/workspace/{name}")));
    let rest = data.as_object_mut().unwrap();
    rest.retain(|name, _| name != "calls" && name != "files");
    let expected = json!({"status": "success", "session": id, "kept": [], "uncovered": [], "beyond": ["notify (send desktop to system)"]});
    assert_eq!((ran.code, data, is_as_before(&talk.world)), (0, expected, true));
}

#[test]
fn what_something_else_changed_keeps_a_whole_session_from_going_back() {
    let talk = session();
    let world = &talk.world;
    world.write("d/moved", "by hand");
    let files = || ["a", "d/moved", "d/new"].map(|name| world.read(name));
    let before = files();
    let ran = world.run(&["undo", "--session", "--json"]);
    let message = "[world]/workspace/d/moved was changed by something else than the session; undoing would overwrite that change \
                   (--force undoes it anyway and keeps a copy)";
    let expected = json!({"status": "error", "error_type": "not_undone", "message": message, "files": ["[world]/workspace/d/moved"]});
    assert_eq!((ran.code, ran.json(), files()), (1, expected, before));
    let ran = world.run(&["undo", "--session", "--force"]);
    assert!(ran.code == 0 && is_as_before(world), "{ran:?}");
    let told = "  [world]/workspace/d/moved: had been changed by something else; that is kept in [world]/";
    let copy = ran.stdout.lines().find_map(|line| line.strip_prefix(told)).unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(fs::read_to_string(world.path(copy)).unwrap(), "by hand");
}

#[test]
fn a_call_of_its_own_is_a_session_and_what_is_none_is_said() {
    let world = World::new();
    write(&world, "a", "one");
    write(&world, "b", "two");
    let id = session_id(&world);
    assert_eq!(world.run(&["undo", "--session", &id]).code, 0);
    assert_eq!((world.read("a").as_str(), world.file("b").exists()), ("one", false), "each call of the command line is one");
    let ran = world.run(&["undo", "--session", "nothing-like-it"]);
    assert!(ran.code == 1 && ran.stderr.starts_with("error: no session 'nothing-like-it'"), "{ran:?}");
    let ran = world.run(&["undo", "last", "--session"]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot be used with"), "{ran:?}");
}
