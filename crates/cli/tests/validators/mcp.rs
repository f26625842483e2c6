//! `haft mcp`, driven by clients that other people wrote: the SDKs of Python and TypeScript, and the inspector, over both transports.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::installed;
use crate::harness::{World, haft};

const CONFIG: &str = "[rules]\nask = [\"write(new.txt)\"]\n";

fn world() -> World {
    let world = World::with_config(CONFIG);
    world.write("hello.txt", "hello\n");
    let skill = world.path("config/haft/skills/greet");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n").unwrap();
    world
}

/// The server over HTTP, until it is dropped.
struct HttpWorld {
    world: World,
    server: Child,
    url: String,
    token: String,
}

impl HttpWorld {
    fn start() -> Self {
        let world = world();
        let mut command = world.command(&["mcp", "--http", "127.0.0.1:0", "--json"]);
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| said[key].as_str().unwrap().to_owned();
        Self { url: text("url"), token: text("token"), world, server }
    }
}

impl Drop for HttpWorld {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

fn folder() -> PathBuf {
    installed::mcp_folder().to_owned()
}

/// Runs a driver in the world of the server, and gives its report.
fn driven(world: &World, driver: &[PathBuf], words: &[&str]) -> Value {
    let mut command = world.command(&[] as &[&str]);
    let mut driving = Command::new(&driver[0]);
    driving.args(&driver[1..]).args(words).current_dir(world.path("workspace")).env_clear();
    for (name, value) in command.get_envs() {
        driving.env(name, value.unwrap());
    }
    command.stdin(Stdio::null());
    let output = driving.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{words:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

fn check(report: &Value, world: &World, content: &str) {
    let names: Vec<&str> = report["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for name in ["read_file", "write_file", "exec", "grep_search", "web_fetch"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for name in ["agent", "sessions_list", "structured_output", "tool_search"] {
        assert!(!names.contains(&name), "{names:?}");
    }
    let read_only = report["read_only"].as_array().unwrap();
    assert!(read_only.contains(&json!("read_file")) && !read_only.contains(&json!("write_file")), "{read_only:?}");
    assert_eq!(report["read"], json!(["hello\n"]));
    assert_eq!(report["written"][0], false, "{report}");
    assert_eq!(world.read("new.txt"), content);
    assert_eq!(report["missing"][0], true);
    assert!(!report["structured"].as_array().unwrap().is_empty(), "{report}");
    assert_eq!(report["page"], "1\n2\n3\n", "{report}");
    assert_eq!(report["prompts"], json!(["greet"]));
    let questions = report["questions"].as_array().unwrap();
    assert!(questions.len() == 1 && questions[0].as_str().unwrap().contains("new.txt"), "{questions:?}");
}

#[test]
fn python_sdk_drives_both_transports_in_both_lifecycles() {
    let driver = [folder().join("python/bin/python"), installed::source("mcp/drive.py")];
    for mode in ["legacy", "auto"] {
        let (world, program) = (world(), haft());
        let report = driven(&world, &driver, &[mode, program.to_str().unwrap(), "mcp"]);
        check(&report, &world, "by python");
        let http = HttpWorld::start();
        let report = driven(&http.world, &driver, &[mode, "--url", &http.url, &http.token]);
        check(&report, &http.world, "by python");
        assert_eq!(report["version"] == "2026-07-28", mode == "auto", "{report}");
    }
}

#[test]
fn typescript_sdk_drives_both_transports() {
    let driver = [folder().join("bin/node"), installed::source("mcp/drive.mjs"), folder()];
    let (world, program) = (world(), haft());
    let report = driven(&world, &driver, &[program.to_str().unwrap(), "mcp"]);
    check(&report, &world, "by typescript");
    assert_eq!(report["cancelled"], "cancelled");
    let http = HttpWorld::start();
    let report = driven(&http.world, &driver, &["--url", &http.url, &http.token]);
    check(&report, &http.world, "by typescript");
}

#[test]
fn inspector_lists_and_calls_over_both_transports() {
    let inspector = folder().join("node_modules/@modelcontextprotocol/inspector/cli/build/cli.js");
    let driver = [folder().join("bin/node"), inspector, "--cli".into()];
    let call = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=hello.txt"];
    let (world, program) = (world(), haft());
    let stdio = [program.to_str().unwrap(), "mcp"];
    let listed = driven(&world, &driver, &[&stdio[..], &["--method", "tools/list"]].concat());
    assert!(listed["tools"].as_array().unwrap().len() > 20, "{listed}");
    let called = driven(&world, &driver, &[&stdio[..], &call].concat());
    assert_eq!(called["content"][0]["text"], "hello\n", "{called}");
    let http = HttpWorld::start();
    let header = format!("Authorization: Bearer {}", http.token);
    let target = [http.url.as_str(), "--transport", "http", "--header", &header];
    let called = driven(&http.world, &driver, &[&target[..], &call].concat());
    assert_eq!(called["content"][0]["text"], "hello\n", "{called}");
}
