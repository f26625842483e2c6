//! Calls that are refused while they are planned: protected names, secrets, paths outside, addresses, Haft's own files.

use haft_policy::Verdict;
use serde_json::{Value, json};
use toml::{Table, Value as Toml};

use super::following::{edit, put};
use super::generated::Dice;
use super::{Call, Layers, World};
use crate::arguments::CallerArgs;

/// How many refusals are looked at.
const REFUSED: usize = 400;

const PATHS: &[&str] = &[
    ".git/config",
    ".git/hooks/pre-commit",
    ".haft/config.toml",
    ".envrc",
    ".vscode/settings.json",
    ".bashrc",
    ".env",
    "keys/id_rsa",
    "keys/server.pem",
    ".npmrc",
    "docs/a.txt",
    "secret/x",
    "out-link",
    "../out/b.txt",
    "../loose.txt",
    "../data/haft.db",
    "../home/.config/haft/config.toml",
    "../home/.ssh/id_ed25519",
    "/etc/hosts",
    "/etc/shadow",
    "/proc/self/environ",
    "/dev/sda",
    "~/.bashrc",
    "missing/../../out/b.txt",
];

const URLS: &[&str] = &[
    "http://localhost:3000/",
    "http://127.0.0.1/",
    "http://10.1.2.3/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]:8080/",
    "http://[fe80::1]/",
    "http://0.0.0.0/",
    "http://2130706433/",
    "https://denied.example.org/",
    "http://metadata.google.internal/",
];

const COMMANDS: &[&str] = &[
    "cat .env",
    "cat keys/id_rsa",
    "echo x > .git/hooks/pre-commit",
    "echo x > .haft/config.toml",
    "rm -rf .git",
    "cat ../out/b.txt",
    "echo x > ../loose.txt",
    "cat secret/x",
    "cat /etc/shadow",
    "$cmd x",
    "sudo ls",
];

fn call(dice: &mut Dice) -> Call {
    let (tool, arguments): (&'static str, Value) = match dice.below(7) {
        0 | 1 => ("read_file", json!({ "path": dice.pick(PATHS) })),
        2 => ("write_file", json!({ "path": dice.pick(PATHS), "content": "x" })),
        3 => ("edit_file", json!({ "path": dice.pick(PATHS), "old_string": "text", "new_string": "x" })),
        4 => ("web_fetch", json!({ "url": dice.pick(URLS) })),
        5 => ("http_request", json!({ "url": dice.pick(URLS), "method": dice.pick(&["GET", "POST"]) })),
        _ => ("exec", json!({ "command": dice.pick(COMMANDS) })),
    };
    Call { tool, arguments, agent: "main", who: CallerArgs::default() }
}

/// Settings that refuse while a call is planned.
fn layers(dice: &mut Dice) -> Layers {
    let mut own = Table::new();
    let access = dice.pick(&["read-only", "workspace-write", "workspace-write", "full-access"]);
    put(&mut own, &["access"], Toml::from(access));
    if dice.one_in(3) {
        put(&mut own, &["ask"], Toml::from(dice.pick(&["never", "beyond", "always"])));
    }
    if dice.one_in(3) {
        let denied = dice.some(&["secret/**", "**/*.txt", "/etc", "keys"], 2);
        put(&mut own, &["workspace", "deny_read"], denied);
    }
    if dice.one_in(3) {
        let denied = dice.some(&["read(secret/**)", "write(docs/**)", "read(**/*.pem)", "connect(domain:*.example.org)"], 2);
        put(&mut own, &["rules", "deny"], denied);
    }
    if dice.one_in(3) {
        let hosts = dice.some(&["*.example.org", "10.0.0.0/8", "localhost"], 2);
        put(&mut own, &["network", "deny"], hosts);
    }
    Layers { own, ..Layers::default() }
}

/// Whether advice without an edit says that the user does it, or why nobody can.
fn says_why(advice: &str) -> bool {
    ["only you can", "by hand", "because", "each time"].iter().any(|word| advice.contains(word))
}

#[test]
fn refusal_in_planning_is_lifted_by_its_advice_or_left_to_the_users_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (world, mut dice) = (World::new(folder.path()), Dice(5));
    world.add_files(&["work/keys/id_rsa", "work/keys/server.pem", "work/.npmrc", "work/.envrc", "loose.txt", "home/.ssh/id_ed25519"]);
    let (mut followed, mut by_hand, mut broken) = (0, 0, Vec::new());
    while followed + by_hand < REFUSED {
        let (before, call) = (layers(&mut dice), call(&mut dice));
        let shown = format!("{} {} with {:?}", call.tool, call.arguments, before.own.to_string());
        let explained = world.explain(&before, &call).unwrap_or_else(|error| panic!("{shown}: no verdict: {error}"));
        if explained.verdict == Verdict::Allow {
            continue;
        }
        let advice = &explained.advice;
        if advice.edits.is_empty() {
            by_hand += 1;
            if !says_why(&advice.to_string()) {
                broken.push(format!("{shown}: {:?}: {advice}", explained.verdict));
            }
            continue;
        }
        followed += 1;
        let mut after = before.clone();
        advice.edits.iter().for_each(|one| edit(&mut after, one));
        let verdict = world.explain(&after, &call).map(|explained| explained.verdict);
        if verdict != Ok(advice.then) {
            broken.push(format!("{shown}: {advice}\n  gave {verdict:?}"));
        }
    }
    assert!(broken.is_empty(), "{} of {followed} followed and {by_hand} by hand\n{}", broken.len(), broken.join("\n"));
    assert!(by_hand >= 20 && followed >= 100, "{followed} followed, {by_hand} by hand");
}
