//! Verdicts where little is known: without arguments, for names in another spelling, from several layers, of past refusals.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::harness::World;

fn write_config(world: &World, text: &str) {
    fs::write(world.path("config/haft/config.toml"), text).unwrap();
}

#[test]
fn where_every_call_is_asked_about_a_tool_without_arguments_is_too_and_is_listed_all_the_same() {
    let world = World::with_config("ask = \"always\"\n[rules]\nallow = [\"notify\"]\n");
    let explained = |tool: &str| world.run(&["explain", tool, "--json"]).json();
    let noop = explained("noop");
    let asking = noop["trace"].as_array().unwrap().iter().find(|entry| entry["step"] == "asking").unwrap();
    let file = "[world]/config/haft/config.toml";
    let entry = "every call is asked about (ask = \"always\"): noop";
    let expected = json!({"step": "asking", "outcome": "ask", "entry": entry, "file": file, "line": 1});
    assert_eq!((&noop["verdict"], asking), (&json!("ask"), &expected));
    assert_eq!(noop["to_change"], "to allow it without asking, add 'noop' to rules.allow");
    assert_eq!(explained("notify")["verdict"], "allow", "a rule answers for the whole tool");
    let listed = world.run(&["tools", "--json"]).json();
    assert!(listed.as_array().unwrap().iter().any(|tool| tool["name"] == "noop"), "{listed}");
    world.write("cases.toml", "[[case]]\ntool = \"noop\"\nexpect = \"ask\"\nstep = \"asking\"\n");
    assert_eq!(world.run(&["policy", "test", "cases.toml"]).code, 0);
}

#[test]
fn a_failed_example_says_what_decided_or_that_nothing_did() {
    let world = World::with_config("[tools]\ndeny = [\"notify\"]\n");
    let case = |tool: &str, expect: &str| format!("[[case]]\ntool = \"{tool}\"\nexpect = \"{expect}\"\n");
    world.write("cases.toml", format!("{}{}{}", case("noop", "deny"), case("notify", "allow"), case("nope", "allow")));
    let ran = world.run(&["policy", "test", "cases.toml"]);
    assert_eq!(ran.code, 1);
    let got: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("got ")).map(str::trim).collect();
    let [allowed, denied, unknown] = got[..] else { panic!("{ran:?}") };
    assert_eq!(allowed, "got allow: no step objects");
    assert_eq!(denied, "got deny, because of the step 'global': deny notify, [world]/config/haft/config.toml:2");
    assert!(unknown.starts_with("got error: Tool 'nope' not found"), "{unknown}");
}

#[test]
fn an_agents_table_counts_in_every_spelling() {
    let world = World::with_config("[agents.Main]\naccess = \"read-only\"\ntools.deny = [\"noop\"]\n");
    world.write(".haft/config.toml", "[agents.' MAIN ']\ntools.deny = [\"notify\"]\n");
    for agent in [&[][..], &["--agent", "main"], &["--agent", "MAIN"]] {
        let verdict = |words: &[&str]| world.run(&[&["explain", "--json"], words, agent].concat()).json()["verdict"].clone();
        assert_eq!([verdict(&["noop"]), verdict(&["notify"]), verdict(&["get_current_time"])], ["deny", "deny", "allow"], "{agent:?}");
        assert_eq!(verdict(&["write_file", "--path", "a", "--content", "b"]), "deny", "{agent:?}");
    }
    write_config(&world, "[agents.main]\n[agents.Main]\n");
    let checked = world.run(&["config", "check"]);
    assert!(checked.code == 2 && checked.stdout.contains("has the names 'main' and 'Main', which are the same"), "{checked:?}");
    write_config(&world, "[agents.'a b']\n");
    let checked = world.run(&["config", "check"]);
    assert!(checked.code == 2 && checked.stdout.contains("an agent's name has 1 to 64 alphanumeric characters"), "{checked:?}");
}

#[test]
fn what_was_saved_for_good_holds_beside_the_variable() {
    let world = World::with_config("ask = \"always\"\n[rules]\nallow = [\"noop\"]\n");
    world.write(".haft/config.toml", "[rules]\nallow = [\"system_info\"]\n");
    for (tool, expected) in [("noop", "allow"), ("notify", "allow"), ("system_info", "ask")] {
        let ran = world.run_with(&[("HAFT_RULES_ALLOW", "notify")], &["explain", tool, "--json"]);
        assert_eq!(ran.json()["verdict"], expected, "{tool}");
    }
}

#[test]
fn a_rule_that_is_a_group_is_refused_where_it_stands() {
    let world = World::with_config("access = \"read-only\"\n[rules]\ndeny = [\"write(a)\", \"group:fs\"]\n");
    let ran = world.run(&["config", "check", "--json"]);
    let problem = &ran.json()["problems"][0];
    let file = json!("[world]/config/haft/config.toml");
    assert_eq!((ran.code, &problem["file"], &problem["line"], &problem["column"]), (2, &file, &json!(3), &json!(21)), "{ran:?}");
}

#[test]
fn a_call_that_was_refused_as_unavailable_is_checked_again() {
    let world = World::with_config("[tools]\ndeny = [\"read_file\"]\n");
    assert_eq!(world.call("read_file", &json!({"path": "a"})).1["error_type"], "tool_not_available");
    let simulate = || world.run(&["policy", "simulate", "--json"]).json();
    assert_eq!(simulate(), json!({"differences": [], "same": 1, "unknown": 0}));
    write_config(&world, "");
    let difference = json!({
        "tool": "read_file", "target": "", "was": "deny", "now": "allow", "because": "no step objects", "calls": 1
    });
    assert_eq!(simulate(), json!({"differences": [difference], "same": 0, "unknown": 0}));
}

#[test]
fn a_projects_file_that_is_none_is_not_trusted_either() {
    for (kind, told) in [("link", "symbolic link"), ("pipe", "a pipe, a socket or a device, not a file")] {
        let world = World::new();
        fs::create_dir_all(world.file(".haft")).unwrap();
        fs::write(world.path("elsewhere.toml"), "").unwrap();
        let file = world.file(".haft/config.toml");
        match kind {
            "link" => symlink(world.path("elsewhere.toml"), &file).unwrap(),
            _ => mkfifoat(CWD, &file, Mode::RUSR | Mode::WUSR).unwrap(),
        }
        for words in [&["call", "noop"][..], &["trust"], &["trust", "--show"]] {
            let ran = world.run(words);
            assert!(ran.code == 2 && ran.stderr.contains(told), "{kind} {words:?}: {ran:?}");
        }
        assert!(!world.state().join("trusted.json").exists(), "{kind}");
    }
}
