//! `haft prune` and the cleaning at the start.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::harness::World;

const STAMP: &str = "haft.db.pruned";

/// A world with something old and something new of most kinds.
fn filled() -> World {
    let world = World::new();
    world.write("a.txt", "one");
    for content in ["two", "three"] {
        assert_eq!(world.call("write_file", &json!({"path": "a.txt", "content": content})).0, 0);
    }
    assert_eq!(world.run(&["run", "what time is it?"]).code, 0);
    assert_eq!(world.run(&["run", "what time is it?"]).code, 0);
    let state = world.state();
    let database = Connection::open(state.join("haft.db")).unwrap();
    database.execute("UPDATE calls SET started = 0 WHERE rowid = 1", []).unwrap();
    database.execute("UPDATE sessions SET updated = 0 WHERE rowid = 1", []).unwrap();
    make_old(&fs::read_dir(state.join("pre-images")).unwrap().next().unwrap().unwrap().path());
    for folder in ["changes/chg-old", "quarantine/q-0123456789", "spills/calls"] {
        fs::create_dir_all(state.join(folder)).unwrap();
    }
    fs::write(state.join("spills/calls/old.txt"), "12345").unwrap();
    fs::write(state.join("spills/calls/new.txt"), "12345").unwrap();
    fs::write(state.join("changes/chg-old/set.json"), "{}").unwrap();
    make_old(&state.join("spills/calls/old.txt"));
    make_old(&state.join("changes/chg-old/set.json"));
    world
}

fn make_old(path: &Path) {
    File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_hours(24 * 1000)).unwrap();
}

/// What is stored: calls, sessions, pre-images, spills, change sets.
fn counts(world: &World) -> [usize; 5] {
    let database = Connection::open(world.state().join("haft.db")).unwrap();
    let rows = |table: &str| database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap();
    let files = |folder: &str| fs::read_dir(world.state().join(folder)).map_or(0, Iterator::count);
    let number = |count: i64| usize::try_from(count).unwrap();
    [number(rows("calls")), number(rows("sessions")), files("pre-images"), files("spills/calls"), files("changes")]
}

fn removed(report: &Value) -> Vec<(&str, u64)> {
    let kinds = report["kinds"].as_array().unwrap();
    kinds.iter().map(|kind| (kind["kind"].as_str().unwrap(), kind["removed"].as_u64().unwrap())).collect()
}

#[test]
fn prune_is_a_dry_run_until_it_is_told_otherwise() {
    let world = filled();
    let before = counts(&world);
    let report = world.run(&["prune", "--json"]).json();
    let expected = [
        ("history", 1),
        ("pre-images", 1),
        ("sessions", 1),
        ("spills", 1),
        ("changes", 1),
        ("checkpoints", 0),
        ("recordings", 0),
        ("quarantine", 0),
    ];
    assert_eq!((removed(&report), &report["dry_run"]), (expected.to_vec(), &json!(true)));
    let shown = world.run(&["prune"]);
    assert!(shown.stdout.lines().next().unwrap().contains("WOULD GO"), "{shown:?}");
    assert!(shown.stderr.contains("nothing was removed; `haft prune --yes` removes 5 items, "), "{shown:?}");
    assert_eq!(counts(&world), before);
    let done = world.run(&["prune", "--yes", "--json"]).json();
    assert_eq!((removed(&done), &done["dry_run"]), (expected.to_vec(), &json!(false)));
    assert_eq!(counts(&world), [before[0] - 1, before[1] - 1, before[2] - 1, before[3] - 1, before[4] - 1]);
    let again = world.run(&["prune", "--yes"]);
    assert!(again.stderr.contains("nothing exceeds its limits"), "{again:?}");
}

#[test]
fn limits_come_from_the_configuration() {
    let world = filled();
    world.configure("[retention]\nhistory = { days = 0, size = 0 }\nsessions.days = 36500\nspills = { days = 0, size = \"1B\" }\n");
    let report = world.run(&["prune", "--json"]).json();
    let expected = [
        ("history", 0),
        ("pre-images", 1),
        ("sessions", 0),
        ("spills", 1),
        ("changes", 1),
        ("checkpoints", 0),
        ("recordings", 0),
        ("quarantine", 0),
    ];
    // The new spill exceeds its size too, but it was written a moment ago.
    assert_eq!(removed(&report), expected);
    assert_eq!(report["kinds"][0]["limit"], json!({ "days": null, "bytes": null }));
    let refused = world.run_with(&[("HAFT_RETENTION_HISTORY_DAYS", "-1")], &["prune"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn the_next_start_cleans_once_a_day_and_says_nothing() {
    let world = filled();
    let before = counts(&world);
    make_old(&world.state().join(STAMP));
    let ran = world.run(&["call", "noop"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let after = counts(&world);
    assert_eq!(after, [before[0], before[1] - 1, before[2] - 1, before[3] - 1, before[4] - 1], "one call went, one came");
    // Not again on the same day.
    make_old(&world.state().join("spills/calls/new.txt"));
    assert_eq!(world.run(&["call", "noop"]).code, 0);
    assert!(world.state().join("spills/calls/new.txt").exists());
    make_old(&world.state().join(STAMP));
    assert_eq!(world.run(&["call", "noop"]).code, 0);
    assert!(!world.state().join("spills/calls/new.txt").exists());
}

#[test]
fn a_conversation_cleans_too() {
    let world = filled();
    make_old(&world.state().join(STAMP));
    assert_eq!(world.run(&["run", "what time is it?"]).code, 0);
    assert!(!world.state().join("spills/calls/old.txt").exists());
}

#[test]
fn doctor_finds_a_damaged_database_and_the_next_start_recovers_it() {
    let world = World::new();
    for number in 0..60 {
        assert_eq!(world.call("write_file", &json!({"path": "a.txt", "content": format!("{number} {}", "x".repeat(300))})).0, 0);
    }
    let file = world.state().join("haft.db");
    let root: u32 = Connection::open(&file)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'pre_images_by_record'", [], |row| row.get(0))
        .unwrap();
    let mut content = fs::read(&file).unwrap();
    let start = (root as usize - 1) * 4096;
    content[start..start + 4096].fill(0xA5);
    fs::write(&file, content).unwrap();
    let doctor = world.run(&["doctor", "--json"]);
    let checks = doctor.json();
    let history = checks.as_array().unwrap().iter().find(|check| check["check"] == "history").unwrap();
    assert_eq!((doctor.code, &history["status"]), (1, &json!("error")));
    assert!(history["message"].as_str().unwrap().contains("is damaged: "), "{history}");
    assert!(history["fix"].as_str().unwrap().contains("recovers what can be read"), "{history}");
    let next = world.run(&["history", "--json", "--limit", "100"]);
    assert!(next.stderr.contains("with the 60 calls and 0 sessions that could be read"), "{next:?}");
    assert_eq!(next.json().as_array().unwrap().len(), 60);
    assert_eq!(world.run(&["undo", "last"]).code, 0);
}
