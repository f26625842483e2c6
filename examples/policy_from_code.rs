//! A policy from code: lists of tools, and rules on what calls do, without a configuration file.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::sync::Arc;

use haft::catalog::Vocabulary;
use haft::{PolicySpec, StandardPolicy, Toolbox};

fn policy() -> Result<StandardPolicy, String> {
    let mut spec = PolicySpec::default();
    spec.tools.deny = vec!["web_*".into(), "http_request".into()];
    spec.rules.deny = vec!["write(secrets/**)".into()];
    let compiled = StandardPolicy::compile(&spec, Vocabulary::of_core(haft::builtin::metas()));
    compiled.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// The kinds of the refusals, and what was written.
pub(crate) async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let toolbox = Toolbox::builder().workspace(folder.path()).policy(Arc::new(policy()?)).build()?;
    let mut shown = String::new();
    for (tool, arguments) in [
        ("write_file", serde_json::json!({"path": "notes.txt", "content": "x"})),
        ("write_file", serde_json::json!({"path": "secrets/key", "content": "x"})),
        ("web_fetch", serde_json::json!({"url": "https://example.org"})),
    ] {
        let outcome = toolbox.call(tool, arguments).await.outcome;
        shown += &outcome.map_or_else(|error| format!("{tool}: {}\n", error.kind()), |_| format!("{tool}: done\n"));
    }
    Ok(shown)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", run().await?);
    Ok(())
}
