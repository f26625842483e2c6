//! Random layers of configuration, and random calls.

use serde_json::json;
use toml::{Table, Value as Toml};

use super::following::put;
use super::{Call, Layers, World};
use crate::arguments::CallerArgs;

/// Random numbers that are the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
    pub(super) fn one_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }
    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
    pub(super) fn some(&mut self, from: &[&str], most: usize) -> Toml {
        let count = 1 + self.below(most);
        Toml::Array((0..count).map(|_| Toml::from(self.pick(from))).collect())
    }
}

const TOOLS: &[&str] =
    &["read_file", "write_file", "Edit", "exec", "bash", "web_*", "*_file", "group:fs", "group:runtime", "notify", "http_request"];
const RULES: &[&str] = &[
    "read(secret/**)",
    "read(**/*.txt)",
    "write(docs/**)",
    "write",
    "write_file(docs/a.txt)",
    "exec",
    "exec(git push *)",
    "exec(git *)",
    "connect(domain:*.example.org)",
    "connect(method:POST)",
    "web_fetch",
    "web_*",
    "read_file",
    "write(docs/**) except write(docs/a.txt)",
];
const ALLOWED: &[&str] = &["write_file(docs/a.txt)", "exec(git status)", "web_fetch(domain:example.org)", "read_file"];
const ONLY: &[&str] = &["write(docs/**)", "connect(domain:*.example.org)", "exec(git *)", "read(docs/**)"];

fn lists(dice: &mut Dice, table: &mut Table, path: &[&str]) {
    for (name, sides) in [("allow", 8), ("also_allow", 6), ("deny", 3)] {
        if dice.one_in(sides) {
            let entries = dice.some(TOOLS, 3);
            put(table, &[path, &[name]].concat(), entries);
        }
    }
}

fn rules(dice: &mut Dice, table: &mut Table, path: &[&str], of_user: bool) {
    for (name, from, sides) in [("deny", RULES, 2), ("ask", RULES, 3), ("only", ONLY, 10)] {
        if dice.one_in(sides) {
            let entries = dice.some(from, 2);
            put(table, &[path, &[name]].concat(), entries);
        }
    }
    if of_user && dice.one_in(3) {
        let entries = dice.some(ALLOWED, 2);
        put(table, &[path, &["allow"]].concat(), entries);
    }
}

fn settings(dice: &mut Dice, table: &mut Table, sides: usize) {
    for (path, words) in [
        (&["access"][..], &["read-only", "workspace-write", "full-access"][..]),
        (&["ask"], &["never", "beyond", "rules", "changes", "always"]),
        (&["exec", "security"], &["full", "safe-bin", "paranoid"]),
        (&["exec", "ask"], &["auto", "smart", "always"]),
    ] {
        if dice.one_in(sides) {
            let word = dice.pick(words);
            put(table, path, Toml::from(word));
        }
    }
}

fn own_and_project(dice: &mut Dice, world: &World) -> Layers {
    let (mut own, mut project) = (Table::new(), Table::new());
    settings(dice, &mut own, 2);
    rules(dice, &mut own, &["rules"], true);
    lists(dice, &mut own, &["tools"]);
    put(&mut own, &["agents", "helper", "prompt"], Toml::from("help"));
    for (sides, path) in [
        (3, &["agents", "helper", "tools"][..]),
        (4, &["tools", "by_provider", "acme"]),
        (3, &["channels", "chat", "tools"]),
        (4, &["channels", "chat", "senders", "id:7"]),
        (4, &["subagents", "tools"]),
        (6, &["sandbox", "tools"]),
    ] {
        if dice.one_in(sides) {
            lists(dice, &mut own, path);
        }
    }
    if dice.one_in(3) {
        let level = dice.pick(&["read-only", "workspace-write", "full-access"]);
        put(&mut own, &["agents", "helper", "access"], Toml::from(level));
        rules(dice, &mut own, &["agents", "helper", "rules"], true);
    }
    if dice.one_in(4) {
        let profile = dice.pick(&["minimal", "messaging", "coding", "full"]);
        put(&mut own, &["tools", "profile"], Toml::from(profile));
    }
    if dice.one_in(6) {
        let disabled = dice.some(TOOLS, 2);
        put(&mut own, &["tools", "disabled"], disabled);
    }
    if dice.one_in(3) {
        let denied = dice.some(&["**/*.txt", "docs", "out/b.txt", "/etc"], 2);
        put(&mut own, &["workspace", "deny_read"], denied);
    }
    if dice.one_in(4) {
        put(&mut own, &["workspace", "secrets"], Toml::from("allow"));
    }
    if dice.one_in(3) {
        let mut root = Table::new();
        root.insert("path".into(), Toml::from(world.folder.join("roots").display().to_string()));
        root.insert("access".into(), Toml::from(dice.pick(&["read-only", "workspace-write"])));
        put(&mut own, &["workspace", "roots"], Toml::Array(vec![Toml::Table(root)]));
    }
    if dice.one_in(3) {
        let hosts = dice.some(&["*.example.org", "10.0.0.0/8", "localhost"], 2);
        put(&mut own, &["network", "deny"], hosts);
    }
    if dice.one_in(4) {
        rules(dice, &mut project, &["rules"], false);
        lists(dice, &mut project, &["tools"]);
        settings(dice, &mut project, 3);
        project.get_mut("tools").and_then(Toml::as_table_mut).map(|tools| tools.remove("also_allow"));
    }
    Layers { own, project, ..Layers::default() }
}

/// A word of a key, as a variable has it.
const WORDS: &[(&str, &[&str])] = &[
    ("HAFT_ACCESS", &["read-only", "workspace-write", "full-access"]),
    ("HAFT_ASK", &["never", "beyond", "rules", "changes", "always"]),
    ("HAFT_EXEC_SECURITY", &["full", "safe-bin", "paranoid"]),
    ("HAFT_EXEC_ASK", &["auto", "smart", "always"]),
    ("HAFT_PRESET", PRESETS),
    ("HAFT_WORKSPACE_SECRETS", &["allow", "deny"]),
];
const PRESETS: &[&str] = &["careful", "default", "auto", "trusted", "readonly", "full"];

/// A list of a key, as a variable has it.
const LISTS: &[(&str, &[&str])] = &[
    ("HAFT_TOOLS_DENY", TOOLS),
    ("HAFT_TOOLS_ALLOW", TOOLS),
    ("HAFT_TOOLS_DISABLED", TOOLS),
    ("HAFT_RULES_DENY", RULES),
    ("HAFT_RULES_ASK", RULES),
    ("HAFT_RULES_ONLY", ONLY),
    ("HAFT_WORKSPACE_DENY_READ", &["**/*.txt", "docs"]),
    ("HAFT_NETWORK_DENY", &["*.example.org", "localhost"]),
    ("HAFT_NETWORK_ALLOW", &["10.9.0.0/16", "localhost:1"]),
];

/// All layers of a configuration.
pub(super) fn layers(dice: &mut Dice, world: &World) -> Layers {
    let mut layers = own_and_project(dice, world);
    if dice.one_in(2) {
        return layers;
    }
    for (name, words) in WORDS {
        if dice.one_in(8) {
            layers.variables.insert((*name).to_owned(), dice.pick(words).to_owned());
        }
    }
    for (name, entries) in LISTS {
        if dice.one_in(10) {
            layers.variables.insert((*name).to_owned(), dice.some(entries, 2).to_string());
        }
    }
    if dice.one_in(10) {
        let root = format!("[{{ path = {:?}, access = \"read-only\" }}]", world.folder.join("roots").display().to_string());
        layers.variables.insert("HAFT_WORKSPACE_ROOTS".to_owned(), root);
    }
    for (name, words) in [
        ("--preset", PRESETS),
        ("--access", &["read-only", "workspace-write", "full-access"]),
        ("--profile", &["minimal", "messaging", "coding", "full"]),
    ] {
        if dice.one_in(8) {
            layers.flags.insert(name, dice.pick(words).to_owned());
        }
    }
    layers
}

pub(super) fn call(dice: &mut Dice, world: &World) -> Call {
    let out = |name: &str| world.folder.join(name).display().to_string();
    let path = dice.pick(&[
        "docs/a.txt".to_owned(),
        "src/new.rs".to_owned(),
        ".env".to_owned(),
        "secret/x".to_owned(),
        ".git/config".to_owned(),
        out("out/b.txt"),
        out("roots/c.txt"),
        "/etc/hosts".to_owned(),
    ]);
    let url = dice.pick(&[
        "https://example.org/",
        "https://api.example.org/",
        "http://localhost:3000/",
        "http://10.1.2.3/",
        "http://169.254.169.254/",
    ]);
    let command = dice.pick(&["git status", "git push origin", "ls", "make all", "echo x > docs/a.txt", "cat .env", "bash x.sh", "git $x"]);
    let (tool, arguments) = match dice.below(9) {
        0 | 1 => ("read_file", json!({"path": path})),
        2 | 3 => ("write_file", json!({"path": path, "content": "x"})),
        4 | 5 => ("exec", json!({"command": command})),
        6 => ("web_fetch", json!({"url": url})),
        7 => ("http_request", json!({"url": url, "method": dice.pick(&["GET", "POST"])})),
        _ => dice.pick(&[("notify", json!({"message": "hi"})), ("get_current_time", json!({})), ("list_dir", json!({"path": "secret"}))]),
    };
    let who = CallerArgs {
        provider: dice.one_in(4).then(|| "acme/small".to_owned()),
        channel: dice.one_in(4).then(|| "chat".to_owned()),
        sender: dice.one_in(6).then(|| "id:7".to_owned()),
        depth: u32::from(dice.one_in(6)),
        as_subagent: None,
        sandboxed: dice.one_in(8),
        guest: false,
    };
    Call { tool, arguments, agent: dice.pick(&["main", "helper"]), who }
}
