//! The dependency arrows between our crates are law: a new one is drawn here on purpose, or not at all.
#![allow(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Who may depend on whom, in code that ships. Test-only dependencies are checked apart.
const ARROWS: &[(&str, &[&str])] = &[
    ("contract", &[]),
    ("macros", &[]),
    ("patch", &[]),
    ("shell", &[]),
    ("sandbox", &[]),
    ("store", &["contract"]),
    ("policy", &["contract"]),
    ("engine", &["contract", "policy", "store"]),
    ("provider", &["contract"]),
    ("agent", &["contract", "engine", "provider", "store"]),
    ("builtin", &["contract", "macros", "patch"]),
    ("host", &["contract", "sandbox", "shell"]),
    ("config", &["contract"]),
    ("compat", &["contract"]),
    ("testkit", &["contract"]),
    ("cli", &["agent", "builtin", "config", "contract", "engine", "host", "provider", "store"]),
    ("haft", &["builtin", "compat", "contract", "engine", "host", "macros", "policy", "store"]),
];

/// Everything that the contract may pull in: authors of tools pay for each.
const CONTRACT_NEEDS: &[&str] = &["schemars", "serde", "serde_json", "tokio-util"];

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

#[test]
fn nothing_that_ships_depends_on_the_testkit() {
    for (from, to) in arrows(false) {
        assert!(!to.contains("testkit"), "{from} ships the testkit");
    }
    // And tests go upward only to the engine, so that a tool's tests need no machine.
    for (from, to) in arrows(true) {
        // The benchmarks of the whole measure all of it.
        let measured: &[&str] = if from == "haft" { &["agent", "provider", "shell"] } else { &[] };
        let allowed: BTreeSet<String> =
            ["contract", "testkit", "engine", "store"].iter().chain(measured).map(ToString::to_string).collect();
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
}
