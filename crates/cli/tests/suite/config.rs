//! `haft config`, and how the layers reach a call.

use std::fs;

use serde_json::json;

use super::harness::{World, said};

#[test]
fn a_wrong_file_ends_every_command_that_needs_it() {
    let world = World::with_config("acces = \"read-only\"\n[tools]\ndeny = [\"raed_file\"]\n[network]\nallow = [\"http://x\"]\n");
    insta::assert_snapshot!("config_wrong", world.run(&["config", "check"]).all());
    for words in [&["call", "noop"][..], &["tools"], &["explain", "noop"], &["undo", "last"], &["config", "show"]] {
        let ran = world.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}");
        assert!(ran.stderr.contains("config.toml:1:1") && ran.stderr.contains("did you mean"), "{words:?}: {}", ran.stderr);
    }
    let ran = world.run(&["tools", "--json"]);
    assert_eq!((ran.code, &ran.json()["error_type"], ran.json()["problems"].as_array().unwrap().len()), (2, &json!("config_error"), 3));
    assert!(!world.state().exists(), "nothing was done");
}

#[test]
fn check_says_what_is_well() {
    let ran = World::new().run(&["config", "check"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ok: the configuration has no problems\n"));
    let ran = World::new().run(&["config", "check", "--json"]);
    assert_eq!((ran.code, ran.json()), (0, json!({"status": "success", "problems": []})));
}

#[test]
fn warnings_are_for_those_who_ask() {
    let world = World::new();
    world.write(".haft/config.toml", "access = \"full-access\"\n");
    let quiet = world.run(&["tools"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    let verbose = world.run(&["tools", "-v"]);
    assert!(verbose.stderr.contains("warning") && verbose.stderr.contains("cannot widen"), "{verbose:?}");
    let checked = world.run(&["config", "check"]);
    assert_eq!(checked.code, 0);
    assert!(checked.stdout.contains("cannot widen"), "{checked:?}");
}

#[test]
fn a_misspelt_limit_stops_haft_and_any_other_misspelt_variable_is_told() {
    let world = World::new();
    let ran = world.run_with(&[("HAFT_ACESS", "read-only")], &["call", "write_file", "--path", "a", "--content", "b"]);
    assert_eq!((ran.code, ran.stdout.as_str(), world.file("a").exists()), (2, "", false));
    assert!(ran.stderr.starts_with("error: unknown variable 'HAFT_ACESS'") && ran.stderr.contains("did you mean HAFT_ACCESS?"), "{ran:?}");
    let ran = world.run_with(&[("HAFT_PLAIM", "1")], &["tools"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "warning: unknown variable 'HAFT_PLAIM' (did you mean HAFT_PLAIN?)\n"));
}

#[test]
fn check_finds_what_would_stop_a_call() {
    let world = World::new();
    fs::write(world.path("file"), "").unwrap();
    let (missing, file) = (world.path("missing"), world.path("file"));
    for (value, says) in [
        (
            "deny_read = [\"[bad\"]".to_owned(),
            "'workspace.deny_read' holds '[bad': the pattern '[bad' contains '['; only '*', '?' and '**' are special",
        ),
        ("deny_read = [\"~/x\"]".to_owned(), "'workspace.deny_read' holds '~/x': '~' is not expanded"),
        (format!("roots = [{{ path = {missing:?} }}]"), "'workspace.roots' holds '[world]/missing': it cannot be opened: No such file"),
        (format!("roots = [{{ path = {file:?} }}]"), "'workspace.roots' holds '[world]/file': it is not a folder"),
        ("roots = [{ path = \"/proc\" }]".to_owned(), "'workspace.roots' holds '/proc': The folder '/proc' belongs to the kernel"),
    ] {
        fs::write(world.path("config/haft/config.toml"), format!("[workspace]\n{value}\n")).unwrap();
        let problems = world.run(&["config", "check", "--json"]).json()["problems"].take();
        let problem = &problems[0];
        assert_eq!((&problem["severity"], &problem["line"]), (&json!("error"), &json!(2)), "{problems}");
        assert_eq!(problem["file"], "[world]/config/haft/config.toml");
        assert!(problem["message"].as_str().unwrap().starts_with(says), "{problem}");
        let ran = world.run(&["call", "noop"]);
        assert_eq!(ran.code, 2, "{value}");
        assert!(ran.stderr.contains("config.toml:2:"), "{ran:?}");
    }
}

#[test]
fn a_projects_link_is_refused_and_its_target_not_shown() {
    let world = World::new();
    fs::write(world.path("shadow"), "root:SECRET:1").unwrap();
    fs::create_dir(world.file(".haft")).unwrap();
    std::os::unix::fs::symlink(world.path("shadow"), world.file(".haft/config.toml")).unwrap();
    let ran = world.run(&["call", "noop"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("it is a symbolic link") && !ran.stderr.contains("SECRET"), "{ran:?}");
}

#[test]
fn values_are_never_cut_however_narrow_the_terminal() {
    let world = World::new();
    let ran = world.run_with(&[("COLUMNS", "30")], &["config", "show"]);
    assert!(ran.stdout.contains("\naccess\n  \"workspace-write\"\n  built-in\n"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('…') && ran.stdout.lines().all(|line| line.chars().count() <= 30), "{}", ran.stdout);
}

#[test]
fn without_a_home_a_named_file_and_a_named_folder_are_enough() {
    let world = World::new();
    fs::write(world.path("own.toml"), "[tools]\ndeny = [\"noop\"]\n").unwrap();
    let run = |words: &[&str]| {
        let mut command = world.command(words);
        world.ran(&command.env_remove("HOME").env_remove("XDG_CONFIG_HOME").output().unwrap())
    };
    let own = world.path("own.toml");
    let ran = run(&["call", "system_info", "--config", own.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(run(&["history", "--json"]).json().as_array().map(Vec::len), Some(1));
    let ran = run(&["call", "system_info"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("HOME is not set"), "{ran:?}");
}

#[test]
fn show_names_the_source_of_every_value() {
    let world = World::with_config("access = \"workspace-write\"\n");
    world.write(".haft/config.toml", "[tools]\ndeny = [\"noop\"]\n");
    let ran = world.run_with(&[("HAFT_LIMITS_OUTPUT_BYTES", "50000")], &["config", "show", "--access", "read-only"]);
    insta::assert_snapshot!("config_show", ran.stdout);
    let rows = world.run(&["config", "show", "--json"]).json();
    assert_eq!(
        (&rows[1]["key"], &rows[1]["value"], &rows[1]["source"]["layer"]),
        (&json!("access"), &json!("workspace-write"), &json!("user"))
    );
}

#[test]
fn path_and_schema() {
    let world = World::with_config("");
    insta::assert_snapshot!("config_path", world.run(&["config", "path"]).stdout);
    let path = world.run(&["config", "path", "--json", "--config", "other.toml"]).json();
    assert_eq!(path["user"], json!({"path": "[world]/workspace/other.toml", "exists": false}));
    let schema = world.run(&["config", "schema"]).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["properties"]["tools"]["properties"]["deny"].is_object());
}

#[test]
fn a_named_file_takes_the_place_of_your_own() {
    let world = World::with_config("[tools]\ndeny = [\"noop\"]\n");
    fs::write(world.path("other.toml"), "access = \"read-only\"\n").unwrap();
    let other = world.path("other.toml");
    let other = other.to_str().unwrap();
    assert_eq!(world.run(&["call", "noop"]).code, 1);
    assert_eq!(world.run(&["call", "noop", "--config", other]).code, 0);
    let by_variable = world.run_with(&[("HAFT_CONFIG", other)], &["call", "write_file", "--path", "a", "--content", "b", "--json"]);
    assert_eq!((by_variable.code, &by_variable.json()["error_type"]), (1, &json!("permission_denied")));
    let missing = world.run(&["call", "noop", "--config", "nowhere.toml"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("the file that --config names does not exist"), "{missing:?}");
    let missing = world.run_with(&[("HAFT_CONFIG", "/nowhere.toml")], &["call", "noop"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.stderr.contains("the file that HAFT_CONFIG names does not exist") && !missing.stderr.contains("--config"),
        "{missing:?}"
    );
}

#[test]
fn no_tool_writes_what_governs_it() {
    let world = World::new();
    world.write("own.toml", "");
    let own = world.file("own.toml");
    for path in [world.path("config/haft/config.toml"), world.state().join("haft.db"), own.clone()] {
        let arguments = json!({"path": path, "content": "access = \"full-access\""}).to_string();
        let ran = world.run(&["call", "write_file", &arguments, "--access", "full-access", "--config", own.to_str().unwrap(), "--json"]);
        assert_eq!((ran.code, &ran.json()["error_type"]), (1, &json!("path_not_allowed")), "{path:?}: {ran:?}");
    }
}

#[test]
fn tool_must_be_in_every_list() {
    let world = World::with_config("[tools]\nallow = [\"*_file\", \"noop\"]\n");
    world.write(".haft/config.toml", "[tools]\nallow = [\"read-file\", \"noop\", \"system_info\"]\n");
    let names: Vec<_> = world.run(&["tools", "--json"]).json().as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["read_file", "noop"]);
    let explained = world.run(&["explain", "write_file", "--json"]).json();
    let expected = json!([
        {"step": "global", "outcome": "pass", "entry": "allow *_file", "file": "[world]/config/haft/config.toml", "line": 2},
        {"step": "global", "outcome": "deny", "entry": "not in tools.allow", "file": "[world]/workspace/.haft/config.toml", "line": 2},
    ]);
    assert_eq!((&explained["verdict"], &json!(said(&explained))), (&json!("deny"), &expected));
    assert_eq!(world.call("write_file", &json!({"path": "a", "content": "b"})).1["error_type"], "tool_not_available");
}

#[test]
fn variables_and_files_deny_together_and_both_are_named() {
    let world = World::with_config("[tools]\ndeny = [\"noop\"]\n");
    let tools = world.run_with(&[("HAFT_TOOLS_DENY", "notify")], &["tools", "--json", "--all"]).json();
    let reason = |name: &str| tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap()["reason"].clone();
    assert_eq!(reason("noop"), "removed by tools.deny, config.toml:2");
    assert_eq!(reason("notify"), "removed by tools.deny, HAFT_TOOLS_DENY");
}

#[test]
fn roots_and_deny_read_are_enforced() {
    let world = World::new();
    fs::create_dir(world.path("notes")).unwrap();
    fs::write(world.path("notes/a.txt"), "note").unwrap();
    world.write("secret.key", "S3CRET");
    let notes = world.path("notes");
    let config = format!("[workspace]\nroots = [{{ path = {notes:?}, access = \"read-only\" }}]\ndeny_read = [\"**/*.key\"]\n");
    fs::write(world.path("config/haft/config.toml"), config).unwrap();
    assert_eq!(world.call("read_file", &json!({"path": notes.join("a.txt")})).1["result"], "note");
    assert_eq!(world.call("write_file", &json!({"path": notes.join("b.txt"), "content": ""})).1["error_type"], "path_not_allowed");
    assert_eq!(world.call("read_file", &json!({"path": "secret.key"})).1["error_type"], "path_not_allowed");
}

#[test]
fn variables_that_cannot_be_used_are_named() {
    let world = World::new();
    for (name, value, says) in
        [("HAFT_HOME", "relative", "HAFT_HOME is 'relative', which is not an absolute path"), ("HAFT_ACCESS", "root", "HAFT_ACCESS")]
    {
        let ran = world.run_with(&[(name, value)], &["call", "noop"]);
        assert_eq!(ran.code, 2, "{name}");
        assert!(ran.stderr.contains(says), "{name}: {}", ran.stderr);
    }
}
