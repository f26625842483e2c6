//! What the crate costs a program that depends on it.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that a build of this crate needs with these features, as `cargo tree` lists them.
fn crates(features: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "-p", "haft", "--no-default-features", "--features", features])
        .args(["-e", "normal,build", "--prefix", "none", "--no-dedupe", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty()).collect()
}

#[test]
fn without_features_it_needs_at_most_sixty_crates() {
    let needed = crates("");
    assert!(needed.len() <= 60, "{}: {needed:?}", needed.len());
    let has = |name: &str| needed.iter().any(|line| line.starts_with(&format!("{name} ")));
    for heavy in ["jsonschema", "reqwest", "rusqlite", "ring", "url", "mio"] {
        assert!(!has(heavy), "{heavy}");
    }
}

#[test]
fn features_bring_what_they_name() {
    for (features, crate_name, is_there) in [
        ("tools", "haft-builtin", true),
        ("tools", "haft-jobs", false),
        ("exec", "haft-sandbox", true),
        ("agent", "haft-agent", true),
        ("agent", "reqwest", false),
        ("providers", "reqwest", true),
        ("providers", "haft-agent", false),
        ("sqlite", "rusqlite", true),
        ("mcp", "rmcp", true),
    ] {
        let has = crates(features).iter().any(|line| line.starts_with(&format!("{crate_name} ")));
        assert_eq!(has, is_there, "{features}: {crate_name}");
    }
}
