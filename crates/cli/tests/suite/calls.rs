//! `haft call`: results, errors and exit codes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::harness::World;

#[test]
fn the_result_is_standard_output_and_nothing_else() {
    let world = World::new();
    for (content, written) in [("one\ntwo\n", "one\ntwo\n"), ("no end", "no end\n"), ("\u{1b}[31mred\u{202e}\n", "\u{1b}[31mred\u{202e}\n")]
    {
        world.write("a.txt", content);
        let ran = world.run(&["call", "read_file", r#"{"path":"a.txt"}"#]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, written, ""));
    }
}

#[test]
fn json_is_one_object_with_every_field() {
    let world = World::new();
    world.write("a.txt", "hi");
    let (code, mut result) = world.call("read", &json!({"path": "a.txt", "colour": "red"}));
    assert!(result["call_id"].as_str().is_some_and(|id| id.starts_with("call_") && id.len() == 21), "{result}");
    assert!(result["duration_ms"].as_f64().is_some_and(|time| time > 0.0), "{result}");
    assert_eq!(result["details"]["warnings"], json!(["unknown parameter 'colour' was ignored"]));
    for unstable in ["call_id", "duration_ms", "details"] {
        result[unstable].take();
    }
    let expected = r#"{"call_id":null,"tool":"read_file","status":"success","result":"hi","content":[{"type":"text","text":"hi"}],"details":null,"duration_ms":null}"#;
    assert_eq!((code, result.to_string().as_str()), (0, expected));
}

#[test]
fn exit_codes_and_error_types() {
    let world = World::new();
    for (tool, arguments, error_type) in [
        ("read_file", r#"{"path":"missing"}"#, "file_not_found"),
        ("read_file", r#"{"path":"../x"}"#, "path_not_allowed"),
        ("read_file", "{}", "validation_error"),
        ("read_file", "", "validation_error"),
        ("read_file", "[1]", "validation_error"),
        ("read_file", "3", "validation_error"),
        ("read_file", "3.txt", "file_not_found"),
        ("read_file", "{", "validation_error"),
        ("read_fil", r#"{"path":"a"}"#, "tool_not_found"),
        ("", "{}", "tool_not_found"),
        ("help", "{}", "tool_not_found"),
        ("http_request", r#"{"url":"http://127.0.0.1:9/"}"#, "network_error"),
    ] {
        let ran = world.run(&["call", tool, arguments, "--json"]);
        let result = ran.json();
        assert_eq!((ran.code, &result["status"], &result["error_type"]), (1, &json!("error"), &json!(error_type)), "{tool} {arguments}");
        let plain = world.run(&["call", tool, arguments]);
        // Without the advice that is for a model.
        let whole = format!("error: {}\n", result["message"].as_str().unwrap());
        let first = plain.stderr.split("\nhelp: ").next().unwrap();
        assert_eq!((plain.code, plain.stdout.as_str()), (1, ""), "{tool} {arguments}");
        assert!(first.len() > 20 && whole.starts_with(first.trim_end()), "{tool} {arguments}: {}", plain.stderr);
    }
    assert_eq!(world.run(&["call", " Read-File ", r#"{"path":"missing"}"#, "--json"]).json()["tool"], "read_file");
}

#[test]
fn errors_look_alike_and_help() {
    let world = World::with_config("[tools]\ndeny = [\"http_*\"]\n");
    let runs = [
        world.run(&["call", "read_file", "--path", "nope.txt"]),
        world.run(&["call", "read_file", "{README.md}"]),
        world.run(&["call", "raed_file", "--path", "x"]),
        world.run(&["call", "write_file", "--path", "../x", "--content", "y"]),
        world.run(&["call", "write_file", "--path", "x", "--content", "y", "--access", "read-only"]),
        world.run(&["call", "http_request", "--url", "http://example.org"]),
    ];
    insta::assert_snapshot!("call_errors", runs.map(|ran| ran.all()).join("\n"));
}

#[test]
fn access_comes_from_the_flag_wherever_it_stands() {
    let world = World::new();
    let arguments = r#"{"path":"a","content":"x"}"#;
    for words in [
        ["--access", "read-only", "call", "write_file", arguments],
        ["call", "--access", "read-only", "write_file", arguments],
        ["call", "write_file", "--access", "read-only", arguments],
        ["call", "write_file", arguments, "--access", "read-only"],
    ] {
        let ran = world.run(&words);
        assert_eq!(ran.code, 1, "{words:?}");
        assert!(ran.stderr.contains("this session has read-only"), "{words:?}: {}", ran.stderr);
    }
    assert!(!world.file("a").exists());
    let last_wins = world.run(&["--access", "read-only", "call", "write_file", arguments, "--access", "workspace-write"]);
    assert_eq!((last_wins.code, world.read("a").as_str()), (0, "x"));
}

#[test]
fn a_workspace_elsewhere() {
    let world = World::new();
    world.write("inner/a.txt", "inside");
    let ran = world.run(&["call", "read_file", "--path", "a.txt", "--workspace", "inner"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "inside\n"));
    let outside = world.run(&["call", "read_file", "--path", "../a.txt", "--workspace", "inner", "--json"]);
    assert_eq!((outside.code, &outside.json()["error_type"]), (1, &json!("path_not_allowed")));
}

#[test]
fn arguments_come_from_standard_input() {
    let world = World::new();
    let ran = world.run_fed(br#"{"path":"a.txt","content":"piped"}"#, &["call", "write_file", "-"]);
    assert_eq!((ran.code, world.read("a.txt").as_str()), (0, "piped"));
    let flags_win = world.run_fed(br#"{"path":"a.txt","content":"piped"}"#, &["call", "write_file", "-", "--content", "flag"]);
    assert_eq!((flags_win.code, world.read("a.txt").as_str()), (0, "flag"));
}

#[test]
fn too_much_on_standard_input_is_refused_without_reading_it_all() {
    let world = World::with_config("[limits]\nargument_bytes = 1024\n");
    let ran = world.run_fed(&vec![b'x'; 4 << 20], &["call", "read_file", "-", "--json"]);
    assert_eq!((ran.code, &ran.json()["error_type"]), (1, &json!("validation_error")));
    assert_eq!(ran.json()["message"], "standard input is longer than 1024 bytes");
}

#[test]
fn deep_json_is_survived() {
    let deep = format!("{{\"path\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let world = World::new();
    for words in [&["call", "read_file", "-", "--json"][..], &["call", "read_file", "-", "--json", "--path", "a"]] {
        let ran = world.run_fed(deep.as_bytes(), words);
        assert_eq!((ran.code, &ran.json()["error_type"]), (1, &json!("validation_error")), "{words:?}");
    }
}

#[test]
fn what_is_not_utf_8_is_wrong_usage() {
    let world = World::new();
    let bad = OsStr::from_bytes(b"caf\xe9");
    let words = |words: &[&OsStr]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let text = OsStr::new;
    for words in [
        words(&[text("call"), bad]),
        words(&[text("call"), text("read_file"), bad]),
        words(&[text("call"), text("read_file"), text("--path"), bad]),
        words(&[text("explain"), bad]),
        words(&[text("tools"), bad]),
    ] {
        let ran = world.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}: {ran:?}");
        let place = words.iter().position(|word| word == bad).unwrap() + 1;
        let first = format!("error: argument {place} ('caf\u{fffd}') is not UTF-8\n");
        assert!(ran.stderr.starts_with(&first), "{words:?}: {}", ran.stderr);
    }
    let ran = world.run_fed(b"{\"path\":\"\xff\"}", &["call", "read_file", "-"]);
    assert_eq!((ran.code, ran.stderr.lines().next()), (2, Some("error: standard input is not UTF-8 (at byte 9)")));
}

#[test]
fn a_key_twice_is_refused_with_flags_as_without() {
    let world = World::new();
    let twice = r#"{"content":"one","content":"two"}"#;
    for words in [&["call", "write_file", twice, "--json"][..], &["call", "write_file", twice, "--path", "a", "--json"]] {
        let ran = world.run(words);
        assert_eq!((ran.code, &ran.json()["error_type"]), (1, &json!("validation_error")), "{words:?}");
        assert!(ran.json()["message"].as_str().unwrap().contains("the key 'content' is given twice"), "{ran:?}");
    }
    assert!(!world.file("a").exists());
}

#[test]
fn help_of_a_tool_that_is_not_there_is_no_call() {
    let world = World::new();
    for (command, flag) in [("call", "--help"), ("call", "-h"), ("explain", "--help")] {
        let ran = world.run(&[command, "raed_file", flag]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{command} {flag}");
        let first = "error: there is no tool 'raed_file'\nhelp: did you mean read_file or edit_file? `haft tools` lists the tools\n\n";
        assert!(ran.stderr.starts_with(first) && ran.stderr.contains(&format!("Usage: haft {command} [OPTIONS] <TOOL>")), "{ran:?}");
    }
    assert_eq!(world.run(&["call", "nope", "--help", "--json"]).json()["error_type"], "usage_error");
    assert_eq!(world.run(&["history", "--json"]).json(), json!([]));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = World::new();
    world.write("big.txt", "line\n".repeat(20_000));
    for words in [&["tools"][..], &["tools", "--json"], &["--help"], &["call", "read_file", "--path", "big.txt"], &["completions", "zsh"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = world.command(words).stdout(writer).output().unwrap();
        let ran = world.ran(&output);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let world = World::new();
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let ran = world.ran(&world.command(&["tools"]).stdout(full).output().unwrap());
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: cannot write to standard output: "), "{}", ran.stderr);
}
