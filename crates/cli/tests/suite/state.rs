//! The data folder: private, and never in the way of an answer.

use std::fs;
use std::os::unix::fs::symlink;

use rusqlite::Connection;
use serde_json::json;

use super::harness::{World, mode};

#[test]
fn everything_kept_is_private() {
    let world = World::new();
    world.call("write_file", &json!({"path": "a", "content": "b"}));
    let mut seen = 0;
    let mut folders = vec![world.state()];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{folder:?}");
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                assert_eq!(mode(&entry), 0o600, "{entry:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 0);
}

#[test]
fn a_damaged_history_is_set_aside_and_said_so() {
    let world = World::new();
    world.call("noop", &json!({}));
    fs::write(world.state().join("haft.db"), "this is no database, and it is longer than a header of one hundred bytes ".repeat(9))
        .unwrap();
    let ran = world.run(&["call", "noop", "--json"]);
    assert_eq!((ran.code, &ran.json()["status"]), (0, &json!("success")));
    assert!(ran.stderr.starts_with("warning: the database [world]/home/state/haft.db was damaged"), "{ran:?}");
    assert!(ran.stderr.contains("haft.db.damaged-1"), "{ran:?}");
    assert!(world.state().join("haft.db.damaged-1").exists());
    let after = world.run(&["history", "--json"]);
    assert_eq!((after.stderr.as_str(), after.json().as_array().unwrap().len()), ("", 1));
}

#[test]
fn a_newer_history_is_refused_and_left_alone() {
    let world = World::new();
    world.call("noop", &json!({}));
    let file = world.state().join("haft.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&file).unwrap();
    for words in [&["call", "noop"][..], &["history"], &["undo", "last"]] {
        let ran = world.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}");
        assert!(ran.stderr.contains("has schema version 99") && ran.stderr.contains("use a newer haft"), "{words:?}: {ran:?}");
    }
    assert_eq!(world.run(&["call", "noop", "--json"]).json()["error_type"], "store_error");
    assert_eq!(fs::read(&file).unwrap(), before);
}

/// Holds the database as another process would, for as long as it lives.
fn locked(world: &World) -> Connection {
    let connection = Connection::open(world.state().join("haft.db")).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

#[test]
fn a_locked_history_stops_what_changes_something() {
    let world = World::new();
    world.call("noop", &json!({}));
    let lock = locked(&world);
    let ran = world.run(&["call", "write_file", "--path", "a", "--content", "b", "--json"]);
    assert_eq!((ran.code, &ran.json()["error_type"]), (1, &json!("execution_error")));
    let message = ran.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("Nothing was done") && message.contains("locked by another process"), "{message}");
    assert!(!world.file("a").exists());
    drop(lock);
    assert_eq!(world.call("write_file", &json!({"path": "a", "content": "b"})).0, 0);
}

#[test]
fn a_locked_history_does_not_lose_an_answer() {
    let world = World::new();
    world.call("noop", &json!({}));
    let lock = locked(&world);
    let ran = world.run(&["call", "noop"]);
    assert_eq!(ran.code, 0);
    assert!(!ran.stdout.is_empty());
    assert!(ran.stderr.starts_with("warning: this call is not in the history: ") && ran.stderr.contains("locked"), "{ran:?}");
    drop(lock);
    assert_eq!(world.run(&["history", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_folder_that_is_held_by_another_process_is_said() {
    let world = World::new();
    world.call("noop", &json!({}));
    let folder = fs::File::open(world.state()).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let ran = world.run(&["call", "noop"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("is locked by another process"), "{ran:?}");
}

#[test]
fn a_data_folder_that_leads_elsewhere_is_refused() {
    let world = World::new();
    fs::create_dir(world.path("elsewhere")).unwrap();
    symlink(world.path("elsewhere"), world.state()).unwrap();
    let ran = world.run(&["call", "noop"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cannot hold private data: it is a symbolic link"), "{ran:?}");
}
