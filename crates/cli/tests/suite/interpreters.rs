//! `powershell` and `repl` through the real binary, in the real sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use haft_testkit::Round;
use serde_json::{Value, json};

use super::harness::World;
use super::model::{Talk, done};

/// A world in which this stands for PowerShell, and nothing else does.
fn world_with_pwsh(script: &str) -> (World, String) {
    let world = World::new();
    let folder = world.path("bin");
    fs::create_dir(&folder).unwrap();
    // In the sandbox '/tmp' is private, but for what the user opens.
    let opened = format!("[workspace]\nroots = [{{ path = '{}', access = \"read-only\" }}]\n", folder.canonicalize().unwrap().display());
    fs::write(world.path("config/haft/config.toml"), opened).unwrap();
    fs::write(folder.join("pwsh"), script).unwrap();
    fs::set_permissions(folder.join("pwsh"), fs::Permissions::from_mode(0o755)).unwrap();
    (world, format!("{}:/usr/bin:/bin", folder.display()))
}

const CALL: &[&str] = &["call", "powershell", r#"{"command":"Get-Item a; 'b'"}"#, "--json", "--access"];

#[test]
fn powershell_runs_its_line_in_the_sandbox_without_a_question() {
    let (world, path) = world_with_pwsh("#!/bin/sh\nprintf '[%s]\\n' \"$@\"; touch ran; exit 4\n");
    let result = world.run_with(&[("PATH", &path)], &[CALL, &["workspace-write"]].concat()).json();
    assert_eq!(result["message"], "Exit code: 4\n\n[-NoProfile]\n[-NonInteractive]\n[-Command]\n[Get-Item a; 'b']", "{result}");
    assert_eq!((&result["details"]["sandbox"], world.file("ran").exists()), (&json!("bubblewrap"), true));
}

#[test]
fn without_powershell_the_error_says_what_to_do() {
    let world = World::new();
    let message = "There is no program 'pwsh' or 'powershell' on this machine (programs in the workspace do not count). \
                   Install PowerShell (package 'powershell'), or use exec, which runs the shell of this machine.";
    let result = world.run_with(&[("PATH", "/nowhere")], &[CALL, &["full-access"]].concat()).json();
    assert_eq!((&result["error_type"], &result["message"]), (&json!("execution_error"), &json!(message)));
}

#[test]
fn sandboxed_interpreter_keeps_state_and_ends_with_haft() {
    let outside = std::env::temp_dir().join(format!("haft-repl-{}", std::process::id()));
    let code = |id: &str, code: &str| Round::call(id, "repl", json!({"language": "python", "code": code}));
    let rounds = vec![
        code("1", "import os, subprocess\nfound = len(os.listdir('/proc'))\nchild = subprocess.Popen(['sleep', '7337.25'])"),
        code("2", &format!("open({:?}, 'w').write('x'); open('note.txt', 'w').write('y')", outside.display().to_string())),
        code("3", "sum(name.isdigit() for name in os.listdir('/proc')) < 10, os.path.exists('note.txt'), child.poll()"),
        code("4", "import socket; socket.create_connection(('127.0.0.1', 9), 2)"),
        done(),
    ];
    let talk = Talk::new("openai", rounds);
    assert_eq!(talk.turn(&["go"]).code, 0);
    let results: Vec<String> =
        talk.results().into_iter().map(|(_, result)| result["result"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!((&*results[0], &*results[1], &*results[2]), ("(no output)", "=> 1", "=> (True, True, None)"), "{results:?}");
    assert!(results[3].contains("Network is unreachable") || results[3].contains("refused"), "{results:?}");
    assert!(!outside.exists() && talk.world.read("note.txt") == "y", "its '/tmp' is its own");
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    let is_child = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x007337.25\0");
    assert!(!processes.any(is_child), "an interpreter's child is still running after haft");
}

#[test]
fn an_interpreter_is_never_one_of_the_programs_that_only_filter() {
    let world = World::with_config("[exec]\nsecurity = \"safe-bin\"\nask = \"auto\"\n");
    for (language, program) in [("python", "python3"), ("node", "node"), ("bash", "bash")] {
        let (_, result) = world.call("repl", &json!({"language": language, "code": "1"}));
        assert_eq!(result["error_type"], "permission_denied", "{result}");
        assert!(result["message"].as_str().unwrap().starts_with(&format!("'repl' may not run '{program}'")), "{result}");
    }
}

#[test]
fn a_missing_interpreter_is_said_with_what_to_do() {
    let world = World::new();
    let words = ["call", "repl", r#"{"language":"node","code":"1"}"#, "--json"];
    let result = world.run_with(&[("PATH", "/nowhere")], &words).json();
    let message = "There is no program 'node' or 'nodejs' on this machine (programs in the workspace do not count). \
                   Install Node.js (package 'nodejs'), or use language 'python'.";
    assert_eq!((&result["error_type"], &result["message"]), (&json!("execution_error"), &json!(message)));
}

#[test]
fn an_interpreter_keeps_to_the_limits_that_it_was_started_with() {
    let code = |id: &str, more: Value| {
        let mut call = json!({"language": "python", "code": "import resource; resource.getrlimit(resource.RLIMIT_CPU)[0]"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Round::call(id, "repl", call)
    };
    let talk = Talk::new(
        "openai",
        vec![
            code("1", json!({"cpu_seconds": 7})),
            code("2", json!({"cpu_seconds": 5})),
            code("3", json!({"cpu_seconds": 5, "reset": true})),
            done(),
        ],
    );
    assert_eq!(talk.turn(&["go"]).code, 0);
    let said: Vec<Value> = talk.results().into_iter().map(|(_, result)| result["result"].clone()).collect();
    assert_eq!(said, ["=> 7", "=> 7", "=> 5"]);
}
