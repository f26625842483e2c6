//! `haft doctor`: what works, and one fix for each thing that does not.

use std::fs;

use serde_json::{Value, json};

use super::harness::World;

fn check<'a>(checks: &'a Value, name: &str) -> &'a Value {
    checks.as_array().unwrap().iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no '{name}' in {checks}"))
}

#[test]
fn a_healthy_machine() {
    let world = World::new();
    let ran = world.run(&["doctor", "--json"]);
    assert_eq!(ran.code, 0);
    let checks = ran.json();
    for name in ["configuration", "workspace", "tools", "data folder", "history", "time zones"] {
        assert_eq!(check(&checks, name)["status"], "ok", "{checks}");
    }
    assert_eq!(check(&checks, "workspace")["message"], "[world]/workspace (workspace-write)");
    let plain = world.run(&["doctor"]);
    assert_eq!((plain.code, plain.stderr.as_str()), (0, ""));
    assert!(plain.stdout.starts_with("ok       configuration: no problems\n"), "{plain:?}");
}

#[test]
fn what_is_broken_is_named_with_its_fix() {
    let world = World::with_config("acces = 1\n");
    fs::write(world.state(), "a file where a folder should be").unwrap();
    let ran = world.run(&["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    let checks = ran.json();
    for (name, fix) in [("configuration", "haft config check"), ("data folder", "set HAFT_HOME"), ("history", "set HAFT_HOME")] {
        let check = check(&checks, name);
        assert_eq!(check["status"], json!("error"), "{check}");
        assert!(check["fix"].as_str().unwrap().contains(fix), "{check}");
    }
    let plain = world.run_with(&[("COLUMNS", "60")], &["doctor"]);
    assert_eq!(plain.code, 1);
    assert!(plain.stdout.contains("error    configuration: 1 errors") && plain.stdout.contains("         help: "), "{plain:?}");
    assert!(plain.stdout.lines().all(|line| line.chars().count() <= 60 || !line.trim().contains(' ')), "{}", plain.stdout);
}

#[test]
fn a_workspace_that_is_not_there() {
    let ran = World::new().run(&["doctor", "--json", "--workspace", "nowhere"]);
    assert_eq!((ran.code, &check(&ran.json(), "workspace")["status"]), (1, &json!("error")));
}

#[test]
fn a_history_that_another_process_holds() {
    let world = World::new();
    world.call("noop", &json!({}));
    let lock = rusqlite::Connection::open(world.state().join("haft.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ran = world.run(&["doctor", "--json"]);
    let checks = ran.json();
    let history = check(&checks, "history");
    assert_eq!((ran.code, &history["status"]), (1, &json!("error")), "{history}");
    assert!(history["message"].as_str().unwrap().contains("locked by another process"), "{history}");
    drop(lock);
    assert_eq!(check(&world.run(&["doctor", "--json"]).json(), "history")["status"], "ok");
}

#[test]
fn a_newer_history() {
    let world = World::new();
    world.call("noop", &json!({}));
    rusqlite::Connection::open(world.state().join("haft.db")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let ran = world.run(&["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    assert_eq!(check(&ran.json(), "history")["fix"], "use the newer haft, or set HAFT_HOME to another folder");
}

#[test]
fn every_escape_attempt_is_listed_with_its_outcome() {
    let world = World::new();
    let checks = world.run(&["doctor", "--json"]).json();
    let sandbox = check(&checks, "sandbox");
    assert_eq!((&sandbox["status"], &sandbox["details"]["backend"]), (&json!("ok"), &json!("bubblewrap")), "{sandbox}");
    let probes = sandbox["details"]["probes"].as_array().unwrap();
    for name in ["write_outside", "read_secret", "connect_out", "see_processes", "setns", "mount", "unix_socket", "memory", "processes"] {
        let probe = probes.iter().find(|probe| probe["probe"] == name).unwrap_or_else(|| panic!("no '{name}' in {sandbox}"));
        assert!(probe["outcome"] == "blocked" && probe["evidence"].is_string(), "{probe}");
    }
    assert!(check(&checks, "limits")["message"].as_str().unwrap().contains("memory for"), "{checks}");
    assert!(check(&checks, "not here")["message"].as_str().unwrap().contains("sandbox.container.image"), "{checks}");
    let plain = world.run_with(&[("COLUMNS", "60")], &["doctor"]);
    assert!(plain.stdout.contains("blocked: write_workspace, write_outside"), "{}", plain.stdout);
    assert!(plain.stdout.lines().all(|line| line.chars().count() <= 60 || !line.trim().contains(' ')), "{}", plain.stdout);
}
