//! The official conformance suite, against our server with the suite's fixtures.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::http::TestServer;

/// Nothing takes longer, unless it hangs.
const PATIENCE: Duration = Duration::from_mins(5);

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/validators").join(name)
}

/// Where the suite is installed; installs it if need be.
async fn installed() -> PathBuf {
    if let Some(folder) = std::env::var_os("HAFT_VALIDATORS_MCP") {
        return folder.into();
    }
    let output = Command::new(source("setup")).arg("mcp").stderr(Stdio::inherit()).output().await.unwrap();
    assert!(output.status.success(), "the suite cannot be installed; see the output of tests/validators/setup");
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
}

/// Runs the scenarios of a version. The suite fails if one fails that is not listed, and if one is listed that does not fail.
async fn check(version: &str) {
    let folder = installed().await;
    let server = TestServer::start(None).await;
    let output = tempfile::tempdir().unwrap();
    let mut command = Command::new(folder.join("bin/node"));
    command
        .arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--suite", "all", "--spec-version", version, "--url", &server.url, "--expected-failures"])
        .arg(source(&format!("mcp/server-failures-{version}.yaml")))
        .arg("--output-dir")
        .arg(output.path())
        .current_dir(output.path())
        .kill_on_drop(true);
    let ran = tokio::time::timeout(PATIENCE, command.output()).await.expect("an end in time").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{version}:\n{}\n{}", text(&ran.stdout), text(&ran.stderr));
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_conforms_to_2025_03_26() {
    check("2025-03-26").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_conforms_to_2025_06_18() {
    check("2025-06-18").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_conforms_to_2025_11_25() {
    check("2025-11-25").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_conforms_to_2026_07_28_as_far_as_listed() {
    check("2026-07-28").await;
}
