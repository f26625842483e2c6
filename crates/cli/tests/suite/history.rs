//! `haft history`: the list and one call in full.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::harness::World;

fn filled() -> World {
    let world = World::new();
    world.call("write_file", &json!({"path": "a.txt", "content": "one"}));
    world.call("read_file", &json!({"path": "missing\u{202e}"}));
    world.call("noop", &json!({}));
    world
}

fn column(text: &str, number: usize) -> Vec<&str> {
    text.lines().map(|line| line.split_whitespace().nth(number).unwrap_or_default()).collect()
}

#[test]
fn newest_first_one_line_each() {
    let world = filled();
    let ran = world.run(&["history"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(column(&ran.stdout, 0)[0], "ID");
    // A date and a time make two words of one column.
    assert_eq!(column(&ran.stdout, 3)[1..], ["noop", "read_file", "write_file"]);
    assert_eq!(column(&ran.stdout, 4)[1..], ["ok", "file_not_found", "ok"]);
    assert!(ran.stdout.lines().nth(2).unwrap().ends_with("missing\\u{202e}"), "{}", ran.stdout);
    assert!(ran.stdout.lines().nth(3).unwrap().ends_with("a.txt"), "{}", ran.stdout);
}

#[test]
fn a_narrow_terminal_gets_the_columns_that_matter() {
    let world = filled();
    let ran = world.run_with(&[("COLUMNS", "40")], &["history"]);
    assert_eq!(column(&ran.stdout, 1), ["TOOL", "noop", "read_file", "write_file"]);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 40), "{}", ran.stdout);
}

#[test]
fn filters() {
    let world = filled();
    for (words, tools) in [
        (&["--limit", "2"][..], &["noop", "read_file"][..]),
        (&["--tool", "file_write"], &["write_file"]),
        (&["--tool", "gone"], &[]),
        (&["--failed"], &["read_file"]),
    ] {
        let calls = world.run(&[&["history", "--json"], words].concat()).json();
        let found: Vec<&str> = calls.as_array().unwrap().iter().map(|call| call["tool"].as_str().unwrap()).collect();
        assert_eq!(found, tools, "{words:?}");
    }
    let nothing = world.run(&["history", "--tool", "gone"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert!(nothing.stderr.contains("no matching calls"), "{nothing:?}");
}

#[test]
fn one_call_by_any_of_its_ids() {
    let world = filled();
    let listed = world.run(&["history", "--tool", "write_file", "--json"]).json()[0].take();
    let id = listed["id"].as_str().unwrap();
    let short = world.run(&["history", "--tool", "write_file"]).stdout.lines().nth(1).unwrap()[..8].to_owned();
    assert_eq!(short, id[id.len() - 8..]);
    let mut expected = listed.clone();
    expected["files"] = json!(["[world]/workspace/a.txt"]);
    expected["undo"] = json!(format!("haft undo {id}"));
    expected["recording"] = json!(null);
    for name in [id, &short, &id[..36], listed["call_id"].as_str().unwrap()] {
        let ran = world.run(&["history", name, "--json"]);
        assert_eq!((ran.code, ran.json()), (0, expected.clone()), "{name}");
    }
}

#[test]
fn one_call_in_full() {
    let world = World::with_config("[tools]\nallow = [\"*_file\"]\n");
    world.call("write_file", &json!({"path": "a.txt", "content": "one"}));
    let call = world.run(&["history", "--json"]).json()[0].take();
    let ran = world.run(&["history", call["id"].as_str().unwrap()]);
    let mut text = ran.stdout;
    for unstable in ["id", "call_id", "session"] {
        text = text.replace(call[unstable].as_str().unwrap(), &format!("[{unstable}]"));
    }
    let stable = |line: &str| match line.split_whitespace().next() {
        Some(name @ ("when" | "took")) => format!("{name:<9}  […]"),
        _ => line.to_owned(),
    };
    insta::assert_snapshot!("history_in_full", text.lines().map(stable).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_call_that_never_told_its_outcome_says_so() {
    let world = World::new();
    world.call("write_file", &json!({"path": "a.txt", "content": "one"}));
    // As a process leaves it that ends in between.
    Connection::open(world.state().join("haft.db")).unwrap().execute("UPDATE calls SET status = 'begun', summary = ''", []).unwrap();
    let listed = world.run(&["history"]).stdout;
    assert_eq!((column(&listed, 4)[1], column(&listed, 5)[1]), ("unknown", "unknown"), "{listed}");
    let call = world.run(&["history", "--json"]).json()[0].take();
    assert_eq!((&call["status"], &call["duration_ms"]), (&json!("unfinished"), &json!(null)));
    let text = world.run(&["history", call["id"].as_str().unwrap()]).stdout;
    let told = "\nOutcome\n  The process ended before the result was known; the change may or may not have happened.\n";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_long_history_is_listed_soon() {
    let world = World::new();
    world.call("noop", &json!({}));
    let connection = Connection::open(world.state().join("haft.db")).unwrap();
    let columns: Vec<String> = connection
        .prepare("SELECT name FROM pragma_table_info('calls') WHERE name != 'id'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let columns = columns.join(", ");
    let copies = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) \
         INSERT INTO calls (id, {columns}) SELECT printf('%036d', i), {columns} FROM calls, n"
    );
    connection.execute_batch(&copies).unwrap();
    let started = Instant::now();
    let ran = world.run(&["history", "--limit", "100000"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 100_001));
    // Generous: a square took minutes.
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
}

#[test]
fn what_is_not_there_is_said() {
    let world = filled();
    for id in ["nope", "ffffffff", "x"] {
        let ran = world.run(&["history", id]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{id}");
        assert!(ran.stderr.starts_with(&format!("error: no call '{id}': `haft history` lists the calls")), "{}", ran.stderr);
    }
    let ambiguous = world.run(&["history", "01", "--json"]);
    assert_eq!(ambiguous.json()["error_type"], Value::from("store_error"));
}

#[test]
fn history_is_there_when_the_configuration_is_broken() {
    let world = filled();
    std::fs::write(world.path("config/haft/config.toml"), "nonsense").unwrap();
    assert_eq!(world.run(&["call", "noop"]).code, 2);
    assert_eq!(world.run(&["history", "--json"]).json().as_array().unwrap().len(), 3);
}
