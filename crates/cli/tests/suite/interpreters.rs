//! `powershell` and `repl` through the real binary, in the real sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::harness::World;
use super::terminal::{self, Program};

/// A world in which this stands for PowerShell, and nothing else does.
fn world_with_pwsh(script: &str) -> (World, String) {
    let world = World::new();
    let folder = world.path("bin");
    fs::create_dir(&folder).unwrap();
    // Behind walls '/tmp' is private, but for what the person opens.
    let opened = format!("[workspace]\nroots = [{{ path = '{}', access = \"read-only\" }}]\n", folder.canonicalize().unwrap().display());
    fs::write(world.path("config/haft/config.toml"), opened).unwrap();
    fs::write(folder.join("pwsh"), script).unwrap();
    fs::set_permissions(folder.join("pwsh"), fs::Permissions::from_mode(0o755)).unwrap();
    (world, format!("{}:/usr/bin:/bin", folder.display()))
}

const CALL: &[&str] = &["call", "powershell", r#"{"command":"Get-Item a; 'b'"}"#, "--json", "--access"];

#[test]
fn powershell_gets_its_line_behind_the_walls_once_a_person_agrees() {
    let (world, path) = world_with_pwsh("#!/bin/sh\nprintf '[%s]\\n' \"$@\"; touch ran; exit 4\n");
    for level in ["workspace-write", "full-access"] {
        let refused = world.run_with(&[("PATH", &path)], &[CALL, &[level]].concat()).json();
        assert_eq!(refused["error_type"], "permission_denied", "{refused}");
        assert!(!world.file("ran").exists());
    }
    let mut command = world.command(&[CALL, &["full-access"]].concat());
    command.env("PATH", path);
    let (asked, result) = terminal::seen(command, 200, Program::Reads, |screen, _| {
        screen.wait_for("Get-Item a; 'b'");
        screen.wait_for("[y]");
        screen.types("y\n");
    });
    let result: Value = serde_json::from_str(&result).unwrap_or_else(|_| panic!("{asked}"));
    assert_eq!(result["result"], "[-NoProfile]\n[-NonInteractive]\n[-Command]\n[Get-Item a; 'b']\n\nExit code: 4", "{result}");
    assert_eq!((&result["details"]["walls"], world.file("ran").exists()), (&json!("bubblewrap"), true));
}

#[test]
fn without_powershell_the_error_says_what_to_do() {
    let world = World::new();
    let message = "There is no program 'pwsh' or 'powershell' on this machine (programs in the workspace do not count). \
                   Install PowerShell (package 'powershell'), or use exec, which runs the shell of this machine.";
    let result = world.run_with(&[("PATH", "/nowhere")], &[CALL, &["full-access"]].concat()).json();
    assert_eq!((&result["error_type"], &result["message"]), (&json!("execution_error"), &json!(message)));
}
