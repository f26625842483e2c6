//! MCP servers that nobody here wrote, used by the binary, and the conformance suite of the protocol, which drives it as a client.
//! `tests/validators/setup mcp` installs them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "suite/harness.rs"]
mod harness;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "suite/processes.rs"]
mod processes;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use harness::{World, haft};

/// A file of `tests/validators/mcp` in the repository.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/validators/mcp").join(name)
}

/// The folder of the servers, from `HAFT_VALIDATORS_MCP`; installs them if it is not set.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        std::env::var_os("HAFT_VALIDATORS_MCP").map_or_else(
            || {
                let output = Command::new(source("../setup")).arg("mcp").stderr(Stdio::inherit()).output().unwrap();
                assert!(output.status.success(), "the servers cannot be installed; see the output of tests/validators/setup");
                PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
            },
            PathBuf::from,
        )
    })
}

fn node() -> String {
    folder().join("bin/node").display().to_string()
}

fn package(name: &str) -> String {
    folder().join("node_modules/@modelcontextprotocol").join(name).join("dist/index.js").display().to_string()
}

/// A world with this server as `hub`, whose tools are learned.
fn world(name: &str, arguments: &[&str], more: &str) -> World {
    let world = World::new();
    let arguments: Vec<String> = [&[package(name).as_str()], arguments].concat().into_iter().map(str::to_owned).collect();
    world.configure(&format!("{more}\n[mcp.servers.hub]\ncommand = {:?}\nargs = {arguments:?}\n", node()));
    let tested = world.run(&["mcp", "test", "hub"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    world
}

fn text(result: &Value) -> String {
    result["result"].as_str().or_else(|| result["message"].as_str()).map_or_else(|| result.to_string(), str::to_owned)
}

#[test]
fn server_filesystem_reads_and_asks_before_it_writes() {
    let world = world("server-filesystem", &["."], "");
    world.write("notes.txt", "sharpen the axe");
    let path = world.file("notes.txt").canonicalize().unwrap();
    let (code, read) = world.call("mcp__hub__read_text_file", &json!({ "path": path }));
    assert!(code == 0 && text(&read).contains("sharpen the axe"), "{read}");
    let (_, outside) = world.call("mcp__hub__read_text_file", &json!({ "path": "/etc/hostname" }));
    assert_eq!(outside["status"], "error", "the server's own refusal is an error: {outside}");
    let (_, written) = world.call("mcp__hub__write_file", &json!({ "path": path, "content": "x" }));
    assert_eq!(written["error_type"], "permission_denied", "{written}");
    assert_eq!(world.read("notes.txt"), "sharpen the axe");
}

#[test]
fn server_everything_gives_images_resources_prompts_and_progress() {
    let world = world("server-everything", &[], "access = \"full-access\"\nrules.allow = [\"mcp__hub__*\"]\n");
    let listed = world.run(&["mcp", "list", "--json"]).json();
    assert!(listed[0]["tools"].as_array().unwrap().len() >= 8, "{listed}");
    let (code, echoed) = world.call("mcp__hub__echo", &json!({ "message": "hello" }));
    assert!(code == 0 && text(&echoed).contains("hello"), "{echoed}");
    let (_, image) = world.call("mcp__hub__get_tiny_image", &json!({}));
    assert!(image["content"].as_array().unwrap().iter().any(|block| block["type"] == "image"), "{image}");
    let (code, slow) = world.call("mcp__hub__trigger_long_running_operation", &json!({ "duration": 1, "steps": 2 }));
    assert!(code == 0 && text(&slow).contains("completed"), "{slow}");
    let (code, resources) = world.call("mcp_resources", &json!({ "server": "hub" }));
    let uri = resources["details"]["list"][0]["uri"].as_str().unwrap_or_else(|| panic!("{resources}")).to_owned();
    assert_eq!(code, 0);
    let (code, resource) = world.call("mcp_resources", &json!({ "server": "hub", "action": "read_resource", "uri": uri }));
    assert!(code == 0 && text(&resource).contains("from the MCP server 'hub'"), "{resource}");
    let (code, prompts) = world.call("mcp_resources", &json!({ "server": "hub", "action": "list_prompts" }));
    assert!(code == 0 && text(&prompts).contains("[prompt "), "{prompts}");
}

#[test]
fn conformance_suite_passes_but_for_the_listed_scenarios() {
    let haft = haft().display().to_string();
    for version in ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let suite = folder().join("node_modules/.bin/conformance");
        let output = Command::new(node())
            .arg(suite)
            .args(["client", "--command", &format!("{} {haft}", source("client").display()), "--suite", "all"])
            .args(["--spec-version", version, "--timeout", "120000"])
            .arg("--expected-failures")
            .arg(source(&format!("client-failures-{version}.yaml")))
            .env("PATH", std::env::var_os("PATH").unwrap())
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{version}:\n{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
