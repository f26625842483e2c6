//! The attacks on what decides about commands, B01 to B24, through the real binary: one table of lines with the verdict and the
//! reason, and a test of its own for what takes more than a line.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::harness::World;

/// A person who lets a few programs run unasked, outside the walls of the access level.
const CONFIG: &str = "access = 'full-access'\n[exec]\nsecurity = 'safe-bin'\n[rules]\n\
    allow = ['exec(git status)', 'exec(git log *)', 'exec(echo *)', 'exec(cat *)', 'exec(ls *)']\n\
    deny = ['exec(git push *)']\n";

/// Id, line, verdict, and words of the reason.
#[rustfmt::skip] // one line a line
const LINES: &[(&str, &str, &str, &str)] = &[
    ("B01", "git status", "allow", "git status"),
    ("B01", "git status; rm x", "ask", "no rule allows 'rm'"),
    ("B01", "git status && rm x", "ask", "no rule allows 'rm'"),
    ("B01", "git status || rm x", "ask", "no rule allows 'rm'"),
    ("B01", "git status | sh", "ask", "no rule allows 'sh'"),
    ("B01", "git status & rm x", "ask", "no rule allows 'rm'"),
    ("B01", "git status\nrm x", "ask", "no rule allows 'rm'"),
    ("B01", "git status\rrm x", "ask", "its effects are not known"),
    ("B01", "git status; git push origin", "deny", "git push *"),
    ("B02", "echo $(rm x)", "ask", "no rule allows 'rm'"),
    ("B02", "echo `rm x`", "ask", "no rule allows 'rm'"),
    ("B02", "cat <(rm x)", "ask", "no rule allows 'rm'"),
    ("B02", "echo $((a[$(rm x)]))", "ask", "no rule allows 'rm'"),
    ("B03", "echo x > .git/config", "deny", "it is protected"),
    ("B03", "echo x >> .haft/config.toml", "deny", "it is protected"),
    ("B04", "sh <<< 'rm x'", "ask", "no rule allows 'sh'"),
    ("B04", "python3 <<E\nimport os\nE", "ask", "no rule allows 'python3'"),
    ("B05", "{rm,x}", "ask", "its effects are not known"),
    ("B05", "$x y", "ask", "its effects are not known"),
    ("B05", "r? x", "ask", "its effects are not known"),
    ("B06", "env -S 'rm x'", "ask", "'env' is not unwrapped"),
    ("B06", "env A=b rm x", "ask", "no rule allows 'rm'"),
    ("B06", "echo x | xargs rm", "ask", "xargs"),
    ("B06", "find . -exec rm {} ;", "ask", "no rule allows 'find'"),
    ("B06", "timeout 5 nice nohup rm x", "ask", "no rule allows 'rm'"),
    ("B06", "sudo git status", "ask", "'sudo' is not unwrapped"),
    ("B06", "doas git status", "ask", "its effects are not known"),
    ("B06", "busybox sh -c 'rm x'", "ask", "no rule allows 'rm'"),
    ("B06", "script -c 'rm x'", "ask", "no rule allows 'script'"),
    ("B06", "watch rm x", "ask", "no rule allows 'watch'"),
    ("B06", "ssh host rm x", "ask", "no rule allows 'ssh'"),
    ("B06", "git -c alias.status='!rm x' status", "ask", "can run another program"),
    ("B06", "timeout 5 git push origin", "deny", "git push *"),
    ("B08", "sort --compress-prog=x f", "ask", "its effects are not known"),
    ("B08", "git pus origin", "ask", "no rule allows 'git'"),
    ("B09", "git log --output=x", "ask", "no rule allows 'git'"),
    ("B09", "git -c core.sshCommand=x log", "ask", "can run another program"),
    ("B09", "git fetch --upload-pack=x", "ask", "its effects are not known"),
    ("B09", "git clone ext::sh", "ask", "no rule allows 'git'"),
    ("B09", "GIT_SSH_COMMAND=x git log", "ask", "its effects are not known"),
    ("B10", "tar --checkpoint-action=exec=sh", "ask", "can run another program"),
    ("B10", "rg --pre x y", "ask", "can run another program"),
    ("B10", "sort --compress-program=x f", "ask", "can run another program"),
    ("B10", "sed e f", "ask", "no rule allows 'sed'"),
    ("B10", "awk 'BEGIN{system(\"x\")}'", "ask", "no rule allows 'awk'"),
    ("B10", "man -P x y", "ask", "no rule allows 'man'"),
    ("B10", "vim -c '!x'", "ask", "no rule allows 'vim'"),
    ("B10", "make", "ask", "no rule allows 'make'"),
    ("B10", "npm run x", "ask", "no rule allows 'npm'"),
    ("B11", "export PATH=.; git status", "ask", "which chooses the programs"),
    ("B11", "alias git=rm; git status", "ask", "its effects are not known"),
    ("B11", "declare -x LD_PRELOAD=x; git status", "ask", "its effects are not known"),
    ("B11", "hash -p ./x git; git status", "ask", "its effects are not known"),
    ("B11", "trap 'rm x' EXIT; git status", "ask", "its effects are not known"),
    ("B11", "BASH_ENV=x git status", "ask", "its effects are not known"),
    ("B12", "./git status", "ask", "no rule allows './git'"),
    ("B17", "git status \u{202e}x", "ask", "its effects are not known"),
    ("B17", "git\u{200b} status", "ask", "its effects are not known"),
    ("B21", "sed -i s/a/b/ .haft/config.toml", "deny", "it is protected"),
];

/// Cases that no single line shows, and where each is shown instead.
const OTHERWISE: &[(&str, &str)] = &[
    ("B07", "b07_what_is_too_much_is_refused_and_nobody_is_asked"),
    ("B13", "b13_no_folder_outside; after the approval: crates/host/tests/lines/running.rs"),
    ("B14", "crates/host/tests/lines/running.rs: b14_a_script_that_was_edited"),
    ("B15", "crates/engine/tests: an approval is bound to its plan and used once"),
    ("B16", "crates/shell/tests/suite/differential.rs, against real shells"),
    ("B18", "crates/shell/tests/suite/bounds.rs, and the question wraps instead of cutting: cli terminal/question.rs"),
    ("B19", "b19_b20_a_broken_or_foreign_policy_never_widens"),
    ("B20", "b19_b20_a_broken_or_foreign_policy_never_widens"),
    ("B22", "crates/policy/tests/steps: a sub-agent has what its parent and its type have; hooks only tighten: tests/hooks.rs"),
    ("B23", "crates/engine/tests: a second tool of a name is refused"),
    ("B24", "b24_a_hidden_tool_does_not_run"),
];

#[test]
fn every_line_gets_its_verdict_and_its_reason() {
    let world = World::with_config(CONFIG);
    let mut wrong = Vec::new();
    for (id, line, verdict, words) in LINES {
        let ran = world.run(&["explain", "exec", &json!({ "command": line }).to_string(), "--json"]);
        let explained = ran.json();
        if explained["verdict"] != *verdict || !explained["trace"].to_string().contains(words) {
            wrong.push(format!("{id} {line:?}: wanted {verdict} ({words}), got {explained}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_is_in_one_of_the_tables() {
    for number in 1..=24 {
        let id = format!("B{number:02}");
        let elsewhere = OTHERWISE.iter().find(|(case, _)| *case == id);
        assert!(elsewhere.is_some() || LINES.iter().any(|(case, ..)| *case == id), "{id} is missing");
        if let Some((_, place)) = elsewhere {
            println!("{id}: {place}");
        }
    }
}

#[test]
fn b07_what_is_too_much_is_refused_and_nobody_is_asked() {
    let world = World::with_config(CONFIG);
    let nested = format!("{}rm x", "timeout 5 ".repeat(40));
    for line in ["true;".repeat(60), format!("echo {}", "x".repeat(70_000)), nested] {
        let (code, result) = world.call("exec", &json!({ "command": line }));
        assert_eq!((code, &result["error_type"]), (1, &json!("permission_denied")), "{}: {result}", &line[..20]);
        assert!(result["message"].as_str().unwrap().starts_with("The command was refused"), "{result}");
    }
}

#[test]
fn b12_a_program_planted_in_the_workspace_is_not_run_by_its_name() {
    let world = World::new();
    for name in ["git", "bwrap", "rg", "sort"] {
        world.write(&format!("bin/{name}"), "#!/bin/sh\necho planted >> planted\n");
        fs::set_permissions(world.file(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink(world.file("bin"), world.path("link")).unwrap();
    let path = format!("{}:{}:.:bin:{}", world.file("bin").display(), world.path("link").display(), std::env::var("PATH").unwrap());
    for line in ["git --version", "echo x | sort"] {
        let ran = world.run_with(&[("PATH", &path)], &["call", "exec", &json!({ "command": line }).to_string(), "--json"]);
        assert_eq!((ran.code, &ran.json()["details"]["exit_code"]), (0, &json!(0)), "{ran:?}");
        assert!(!world.file("planted").exists(), "{line}");
    }
}

#[test]
fn b13_no_folder_outside() {
    let world = World::new();
    symlink("/etc", world.file("link")).unwrap();
    for folder in ["/etc", "..", "link"] {
        let (_, result) = world.call("exec", &json!({ "command": "touch ran", "workdir": folder }));
        let kind = result["error_type"].as_str().unwrap_or_default();
        assert!(matches!(kind, "path_not_allowed" | "permission_denied"), "{folder}: {result}");
    }
}

#[test]
fn b19_b20_a_broken_or_foreign_policy_never_widens() {
    let broken = World::with_config("rules.deny = ['exec(git push *)'\n");
    let code = broken.run(&["call", "exec", r#"{"command":"touch ran"}"#]).code;
    assert!(code != 0 && !broken.file("ran").exists(), "nothing runs with a file that cannot be read");
    let world = World::with_config("rules.deny = ['exec(touch *)']\n");
    world.write(
        ".haft/config.toml",
        "access = 'full-access'\nrules.allow = ['exec(touch *)']\nsandbox.mode = 'off'\nexec.security = 'full'\n",
    );
    let (_, result) = world.call("exec", &json!({ "command": "touch ran" }));
    assert_eq!(result["error_type"], "permission_denied", "{result}");
    assert!(!world.file("ran").exists());
}

#[test]
fn b24_a_hidden_tool_does_not_run() {
    let world = World::with_config("tools.deny = ['exec']\n");
    for name in ["exec", "bash", "EXEC", " exec "] {
        let (_, result) = world.call(name, &json!({ "command": "touch ran" }));
        assert_eq!(result["error_type"], "tool_not_available", "{name}: {result}");
    }
    let (_, off) = World::with_config("tools.disabled = ['exec']\n").call("exec", &json!({ "command": "touch ran" }));
    assert_eq!(off["error_type"], "tool_globally_disabled", "{off}");
    assert!(!world.file("ran").exists());
}

/// C14: what a confined command plants is not followed by the tools outside.
#[test]
fn c14_a_planted_link_leads_nowhere() {
    let world = World::new();
    let outside = world.path("outside.txt");
    fs::write(&outside, "private\n").unwrap();
    let line = format!("ln -s {} link; ln -s {} folder", outside.display(), world.path("").display());
    assert_eq!(world.call("exec", &json!({ "command": line })).0, 0);
    assert!(world.file("link").is_symlink(), "it was planted");
    for (tool, arguments) in [
        ("read_file", json!({ "path": "link" })),
        ("write_file", json!({ "path": "link", "content": "evil" })),
        ("read_file", json!({ "path": "folder/outside.txt" })),
        ("write_file", json!({ "path": "folder/new.txt", "content": "evil" })),
    ] {
        let (_, result) = world.call(tool, &arguments);
        assert_eq!(result["error_type"], "path_not_allowed", "{tool} {arguments}: {result}");
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "private\n");
    assert!(!world.path("new.txt").exists());
}

/// C12: a job in the background and one at a terminal are behind the same walls.
#[test]
fn c12_every_way_to_start_a_command_has_the_same_walls() {
    for more in [json!({}), json!({ "pty": true }), json!({ "yield_ms": 10 }), json!({ "background": true })] {
        let world = World::new();
        world.write(".env", "PASSWORD=hunter2\n");
        world.write("attack", "cat .env > stolen; touch ../escaped; (: </dev/tcp/127.0.0.1/22) && touch connected; touch done\n");
        let mut arguments = json!({ "command": "bash attack; while :; do sleep 0.1; done", "timeout": 2 });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (_, result) = world.call("exec", &arguments);
        // What goes to the background ends with the call here, and may not have come so far.
        let went_on = more["background"] == true || more["yield_ms"] == 10;
        assert!(world.file("done").exists() || went_on, "{more}: {result}");
        assert!(!world.path("escaped").exists() && !world.file("connected").exists(), "{more}: {result}");
        assert_eq!(fs::read_to_string(world.file("stolen")).unwrap_or_default(), "", "{more}: {result}");
    }
}
