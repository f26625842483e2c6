//! `haft undo`: files as they were before a call.

use std::fs;

use serde_json::json;

use super::harness::World;

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
    assert!(ran.stdout.ends_with("\n  [world]/workspace/d/a: put back\n"), "{ran:?}");
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
