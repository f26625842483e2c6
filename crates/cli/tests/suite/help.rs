//! Help and usage errors, as people read them.

use super::harness::World;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["call"],
    &["chat"],
    &["tools"],
    &["explain"],
    &["history"],
    &["undo"],
    &["config"],
    &["config", "check"],
    &["config", "show"],
    &["config", "schema"],
    &["config", "path"],
    &["quarantine"],
    &["doctor"],
    &["demo"],
    &["agents"],
    &["agents", "list"],
    &["agents", "show"],
    &["agents", "edit"],
    &["sessions", "resume"],
    &["mcp"],
    &["mcp", "add"],
    &["mcp", "list"],
    &["mcp", "test"],
    &["mcp", "trust"],
    &["mcp", "login"],
    &["mcp", "logout"],
    &["mcp", "remove"],
    &["models"],
    &["prune"],
    &["store"],
    &["store", "copy"],
    &["tenants"],
    &["tenants", "add"],
    &["tenants", "invite"],
    &["tenants", "set"],
    &["worker"],
    &["fleet"],
    &["fleet", "status"],
    &["skills"],
    &["skills", "list"],
    &["skills", "show"],
    &["skills", "new"],
    &["skills", "check"],
    &["run"],
    &["sessions"],
    &["sessions", "list"],
    &["sessions", "show"],
    &["sessions", "fork"],
    &["policy"],
    &["policy", "test"],
    &["policy", "simulate"],
    &["trust"],
    &["completions"],
    &["man"],
    &["call", "write_file"],
    &["mcp"],
    &["mcp", "install"],
    &["mcp", "token"],
    &["serve"],
    &["browser"],
    &["browser", "show"],
    &["browser", "recordings"],
];

#[test]
fn long_help_of_every_command() {
    let world = World::new();
    for &command in COMMANDS {
        let ran = world.run_with(&[("COLUMNS", "100")], &[command, &["--help"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command:?}");
        let name = if command.is_empty() { "haft".to_owned() } else { command.join("_") };
        insta::assert_snapshot!(format!("help_{name}"), ran.stdout);
    }
}

#[test]
fn short_help_fits_a_screen() {
    let ran = World::new().run_with(&[("COLUMNS", "100")], &["-h"]);
    insta::assert_snapshot!("short_help", ran.stdout);
    assert!(ran.stdout.lines().count() <= 46, "{}", ran.stdout);
}

#[test]
fn every_command_has_two_examples() {
    let world = World::new();
    for command in &COMMANDS[..27] {
        let ran = world.run(&[command, &["--help"][..]].concat());
        let examples = ran.stdout.split_once("Examples:").unwrap_or_else(|| panic!("no examples: {command:?}")).1;
        assert!(examples.lines().filter(|line| line.contains("haft ")).count() >= 2, "{command:?}: {examples}");
    }
}

#[test]
fn wrong_usage_is_2_and_says_what_is_right() {
    let world = World::new();
    for (words, says) in [
        (&[][..], "Usage: haft"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["hist"], "'history'"),
        (&["call"], "Usage: haft call [OPTIONS] <TOOL>"),
        (&["explain"], "Usage: haft explain [OPTIONS] <TOOL>"),
        (&["hello"], "tip: to ask a model: haft run \"hello\""),
        (&["what", "time", "is", "it"], "tip: to ask a model: haft run \"what time is it\""),
        (&["config"], "Usage: haft config"),
        (&["config", "chek"], "'check'"),
        (&["call", "read_file", "--pth", "a"], "a similar argument exists: '--path'"),
        (&["call", "write_file", "a.txt"], "'a.txt' is not a JSON object"),
        (&["call", "read_file", "{}", "{}"], "unexpected argument '{}' found"),
        (&["tools", "--access", "root"], "unknown access level 'root': use read-only, workspace-write or full-access"),
        (&["tools", "--agent", ""], "an agent's name has 1 to 64"),
        (&["tools", "--workspace", "nowhere"], "the workspace 'nowhere' cannot be used: No such file or directory"),
        (&["tools", "--workspace", "/etc/hostname"], "the workspace '/etc/hostname' cannot be used: it is not a folder"),
        (&["history", "abcd1234", "--failed"], "cannot be used with"),
        (&["history", "--limit", "0"], "0 is not in 1..=100000"),
        (&["completions", "tcsh"], "invalid value 'tcsh'"),
        (&["man", "nothing"], "there is no command 'nothing'"),
    ] {
        let ran = world.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn a_program_that_asks_for_json_gets_wrong_usage_as_json_too() {
    let world = World::new();
    let ran = world.run(&["tools", "--json", "--workspace", "nowhere"]);
    let expected = serde_json::json!({
        "status": "error",
        "error_type": "usage_error",
        "message": "the workspace 'nowhere' cannot be used: No such file or directory (os error 2)",
        "help": "give an existing folder with --workspace DIR, or change to it first",
    });
    assert_eq!((ran.code, ran.json()), (2, expected));
    let ran = world.run(&["call", "read_file", "--json", "--pth", "a"]);
    let expected = serde_json::json!({"status": "error", "error_type": "usage_error", "message": "unexpected argument '--pth' found"});
    assert_eq!((ran.code, ran.json()), (2, expected));
}

#[test]
fn every_line_of_what_is_wrong_is_in_the_json() {
    let ran = World::new().run(&["policy", "test", "--json"]);
    let expected = "the following required arguments were not provided:\n  <FILE>";
    assert_eq!((ran.code, &ran.json()["message"]), (2, &serde_json::json!(expected)));
}

#[test]
fn examples_name_tools_that_there_are() {
    let world = World::new();
    let tools = world.run(&["tools", "--json"]).json();
    let known: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for command in ["call", "explain", "tools"] {
        let help = world.run(&[command, "--help"]).stdout;
        let example = |line: &str| line.trim().strip_prefix(&format!("haft {command} "))?.split(' ').next().map(str::to_owned);
        let named: Vec<String> = help.lines().filter_map(example).filter(|word| word.starts_with(char::is_alphabetic)).collect();
        assert!(!named.is_empty() && named.iter().all(|tool| known.contains(&tool.as_str())), "{command}: {named:?}");
    }
}

#[test]
fn manual_pages_are_written() {
    let world = World::new();
    for (words, part) in [
        (&["man"][..], ".TH haft 1"),
        (&["man", "call"], "haft call read_file README.md"),
        (&["man", "mcp", "add"], concat!("\"haft ", env!("CARGO_PKG_VERSION"), "\"")),
        (&["man", "config", "show"], "Show every value"),
    ] {
        let ran = world.run(words);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
        assert!(ran.stdout.contains(part), "{words:?}: {}", ran.stdout);
    }
    let version = world.run(&["--version"]);
    assert_eq!((version.code, version.stdout), (0, format!("haft {}\n", env!("CARGO_PKG_VERSION"))));
}
