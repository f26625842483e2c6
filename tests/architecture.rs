//! The dependency arrows between our crates are law: a new one is drawn here on purpose, or not at all.
#![allow(clippy::expect_used, reason = "a test that cannot continue has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Who may depend on whom, in code that ships. Test-only dependencies are checked separately.
const ARROWS: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("redact", &[]),
    ("extract", &["text"]),
    ("contract", &["text"]),
    ("macros", &["text"]),
    ("patch", &["text"]),
    ("pattern", &[]),
    ("programs", &[]),
    ("shell", &["programs", "text"]),
    ("sandbox", &["contract", "text"]),
    ("store", &["contract"]),
    ("channels", &["contract", "extract", "store", "text", "websocket"]),
    ("cron", &["contract", "store", "text"]),
    ("fleet", &["contract", "store", "text"]),
    ("memory", &["contract", "patch", "store", "text"]),
    ("policy", &["contract", "pattern", "programs", "text"]),
    ("engine", &["contract", "policy", "redact", "store", "text"]),
    ("provider", &["contract", "redact", "text"]),
    ("agent", &["contract", "engine", "pattern", "policy", "provider", "redact", "store", "text"]),
    ("builtin", &["contract", "extract", "macros", "patch", "pattern", "text"]),
    ("host", &["contract", "pattern", "text"]),
    ("browser", &["contract", "jobs", "text"]),
    ("jobs", &["contract", "host", "pattern", "programs", "sandbox", "shell", "text"]),
    ("config", &["contract", "programs", "text"]),
    ("prompts", &["config", "contract", "text"]),
    ("plugins", &["contract", "text"]),
    ("compat", &["contract", "text"]),
    ("testkit", &["contract", "text"]),
    ("listen", &[]),
    ("websocket", &["text"]),
    ("mcp", &["contract", "engine", "listen", "pattern", "text"]),
    ("gateway", &["agent", "contract", "engine", "listen", "nodes", "provider", "store", "text", "tui", "websocket"]),
    ("nodes", &["contract", "macros", "policy", "shell", "text", "websocket"]),
    ("tui", &["agent", "contract", "engine", "patch", "policy", "provider", "redact", "store", "text"]),
    (
        "cli",
        &[
            "agent", "browser", "builtin", "channels", "config", "contract", "cron", "engine", "fleet", "gateway", "host", "jobs", "mcp",
            "memory", "nodes", "patch", "pattern", "plugins", "policy", "prompts", "provider", "redact", "sandbox", "store", "text", "tui",
        ],
    ),
    (
        "haft",
        &["agent", "builtin", "compat", "contract", "engine", "host", "jobs", "macros", "mcp", "policy", "provider", "sandbox", "store"],
    ),
];

/// Everything that the contract may pull in: authors of tools pay for each. `haft-text` has no dependencies by default.
const CONTRACT_NEEDS: &[&str] = &["haft-text", "schemars", "serde", "serde_json", "tokio-util"];

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("a list of packages").clone()
}

/// `cargo run` in README names no binary, and there are two.
#[test]
fn cargo_run_starts_haft() {
    let packages = packages();
    let cli = packages.iter().find(|package| package["name"] == "haft-cli").expect("the package of the binary");
    assert_eq!(cli["default_run"], "haft");
}

fn short(name: &str) -> &str {
    name.strip_prefix("haft-").unwrap_or(name)
}

/// The crates of ours that each of ours depends on, by kind of dependency.
fn arrows(development: bool) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    for package in packages() {
        let ours = package["dependencies"].as_array().expect("a list").iter().filter(|dependency| {
            let name = dependency["name"].as_str().unwrap_or_default();
            (name == "haft" || name.starts_with("haft-")) && (dependency["kind"] == "dev") == development
        });
        let names = ours.map(|dependency| short(dependency["name"].as_str().unwrap_or_default()).to_owned()).collect();
        found.insert(short(package["name"].as_str().unwrap_or_default()).to_owned(), names);
    }
    found
}

#[test]
fn crates_depend_only_on_what_the_design_draws() {
    let drawn: BTreeMap<String, BTreeSet<String>> =
        ARROWS.iter().map(|(from, to)| ((*from).to_owned(), to.iter().map(|name| (*name).to_owned()).collect())).collect();
    assert_eq!(arrows(false), drawn);
}

/// Public items of a source text that hand on another crate of ours: `pub use haft_policy::…`, `pub type X = haft_policy::…`,
/// `pub extern crate haft_policy`. Items that are visible in their own crate alone do not match.
fn re_exports(source: &str) -> Vec<String> {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or_default().trim()).collect::<Vec<_>>().join(" ");
    let is_ours =
        |item: &&str| item.split(|ch: char| !ch.is_alphanumeric() && ch != '_').any(|word| word == "haft" || word.starts_with("haft_"));
    let public = |text: &str| {
        let starts = ["pub use ", "pub type ", "pub extern crate "].iter().filter_map(|start| text.rfind(start));
        starts.map(|at| text[at..].to_owned()).collect::<Vec<_>>()
    };
    code.split(';').flat_map(public).filter(|item| is_ours(&item.as_str())).collect()
}

#[test]
fn only_the_facade_re_exports_another_crate() {
    for (source, expected) in [
        ("pub use haft_policy::{Verdict,\n    nearest};", 1),
        ("pub use ::haft_sandbox as sandbox;", 1),
        ("mod inner {\n    pub use haft::Plan;\n}", 1),
        ("pub type Verdict = haft_policy::Verdict;", 1),
        ("pub extern crate haft_policy;", 1),
        ("use haft_policy::Verdict;\npub(crate) use haft_policy::nearest;\npub use self::inner::Thing;\n// pub use haft_policy::*;", 0),
    ] {
        assert_eq!(re_exports(source).len(), expected, "{source}: {:?}", re_exports(source));
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("crates")];
    let mut faults = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && path.components().any(|part| part.as_os_str() == "src")
            {
                let found = re_exports(&std::fs::read_to_string(&path).expect("a source file"));
                faults.extend(found.into_iter().map(|text| format!("{}: {text}", path.strip_prefix(root).unwrap_or(&path).display())));
            }
        }
    }
    assert!(faults.is_empty(), "the crate below must be named by its users, with an arrow of their own:\n{}", faults.join("\n"));
}

#[test]
fn nothing_that_ships_depends_on_the_testkit() {
    for (from, to) in arrows(false) {
        assert!(!to.contains("testkit"), "{from} ships the testkit");
    }
    // And tests go upward only to the engine, so that a tool's tests need no machine.
    for (from, to) in arrows(true) {
        // The benchmarks of the whole measure all of it.
        let more: &[&str] = match from.as_str() {
            "haft" => &["agent", "haft", "memory", "nodes", "provider", "shell", "websocket"],
            // Rules and lists are tried on the names of the real tools, and how many messages pass with the real tool.
            "policy" | "engine" | "channels" => &["builtin"],
            // Which lines run without a question is tried with the real decision.
            "jobs" => &["builtin", "policy"],
            // A call that needs approval is tried with the real decision.
            "mcp" => &["policy"],
            // Links and roots are tried on real files.
            "prompts" | "memory" => &["host"],
            // A real browser is tried in the real sandbox, behind the real proxy.
            "browser" => &["host", "sandbox"],
            _ => &[],
        };
        let allowed: BTreeSet<String> = ["contract", "testkit", "engine", "store"].iter().chain(more).map(ToString::to_string).collect();
        assert!(to.is_subset(&allowed), "{from} tests with {to:?}");
    }
}

#[test]
fn the_contract_stays_small() {
    let contract = packages().into_iter().find(|package| package["name"] == "haft-contract").expect("the contract crate");
    let needs: BTreeSet<String> = contract["dependencies"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| dependency["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(needs, CONTRACT_NEEDS.iter().map(|name| (*name).to_owned()).collect());
    let text = packages().into_iter().find(|package| package["name"] == "haft-text").expect("the text crate");
    let dependencies = text["dependencies"].as_array().expect("a list").clone();
    assert!(dependencies.iter().all(|dependency| dependency["optional"] == true || dependency["kind"] == "dev"), "{dependencies:?}");
}
