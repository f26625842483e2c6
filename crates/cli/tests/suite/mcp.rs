//! `haft mcp` as a client sees it: folders, processes, the end, and the files of clients.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::harness::World;
use super::mcp_servers::{table, wait};
use super::processes::processes_with;

/// A client on the pipes of the server; the server ends with it.
struct PipeClient {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    roots: Vec<String>,
    next: i64,
}

impl PipeClient {
    /// A client that works in these folders of the world.
    fn start(world: &World, roots: &[&str]) -> Self {
        let mut server = world.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let roots = roots.iter().map(|root| format!("file://{}", world.path(root).display())).collect();
        let mut client = Self { server, input, output, roots, next: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "t", "version": "1"}});
        client.request("initialize", &hello);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "roots/list" {
                let roots: Vec<Value> = self.roots.iter().map(|uri| json!({ "uri": uri })).collect();
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": roots}}));
            } else if message["id"] == self.next {
                return message;
            }
        }
    }

    /// The address of the next resource that the server says has changed.
    fn next_update(&mut self) -> String {
        self.next_notice("notifications/resources/updated")["uri"].as_str().unwrap().to_owned()
    }

    /// The next notification of this kind.
    fn next_notice(&mut self, method: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == method {
                return message["params"].clone();
            }
        }
    }

    /// The text of a result, or of an error.
    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let text = answer["error"]["message"].as_str().or_else(|| answer["result"]["content"][0]["text"].as_str());
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.server.wait().unwrap().code()
    }
}

impl Drop for PipeClient {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

fn world() -> World {
    let world = World::new();
    world.write("sub/in.txt", "inside\n");
    world.write("out.txt", "outside\n");
    world
}

#[test]
fn roots_narrow_the_workspace_and_never_widen_it() {
    for (roots, reads_outer, reads_inner) in [
        (&["workspace/sub"][..], false, true),
        (&["workspace"], true, true),
        (&["", "workspace/sub"], true, true),
        (&["home"], false, false),
        (&["workspace/missing"], false, false),
        (&[], true, true),
    ] {
        let world = world();
        fs::write(world.path("home/other.txt"), "other\n").unwrap();
        let mut client = PipeClient::start(&world, roots);
        assert_eq!(client.call("read_file", &json!({"path": "out.txt"})) == "outside\n", reads_outer, "{roots:?}");
        assert_eq!(client.call("read_file", &json!({"path": "sub/in.txt"})) == "inside\n", reads_inner, "{roots:?}");
        client.call("write_file", &json!({"path": "new.txt", "content": "x"}));
        assert_eq!(world.file("new.txt").exists(), reads_outer, "{roots:?}");
        client.call("write_file", &json!({"path": "sub/new.txt", "content": "x"}));
        assert_eq!(world.file("sub/new.txt").exists(), reads_inner, "{roots:?}");
        let other = world.path("home/other.txt");
        assert_ne!(client.call("read_file", &json!({"path": other})), "other\n", "{roots:?}");
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn calls_are_in_the_history_and_can_be_undone() {
    let world = world();
    let mut client = PipeClient::start(&world, &[]);
    client.call("write_file", &json!({"path": "out.txt", "content": "changed"}));
    assert_eq!(client.end(), Some(0));
    let calls = world.run(&["history", "--json"]).json();
    assert_eq!((&calls[0]["tool"], calls.as_array().unwrap().len()), (&json!("write_file"), 1), "{calls}");
    let id = calls[0]["id"].as_str().unwrap();
    assert_eq!(world.run(&["undo", id]).code, 0);
    assert_eq!(world.read("out.txt"), "outside\n");
}

#[test]
fn client_is_told_when_a_resource_that_it_watches_changes() {
    let world = world();
    let mut client = PipeClient::start(&world, &[]);
    for path in ["out.txt", "sub/in.txt"] {
        client.call("read_file", &json!({"path": path}));
        client.request("resources/subscribe", &json!({"uri": format!("haft://file/{path}")}));
    }
    // Never read by this session: watching it tells nothing.
    world.write("unseen.txt", "x");
    client.request("resources/subscribe", &json!({"uri": "haft://file/unseen.txt"}));
    world.write("unseen.txt", "y");
    world.write("out.txt", "by an editor\n");
    assert_eq!(client.next_update(), "haft://file/out.txt");
    client.call("write_file", &json!({"path": "sub/in.txt", "content": "by a call\n"}));
    assert_eq!(client.next_update(), "haft://file/sub/in.txt");
    client.request("resources/unsubscribe", &json!({"uri": "haft://file/out.txt"}));
    world.write("out.txt", "not watched\n");
    fs::remove_file(world.file("sub/in.txt")).unwrap();
    assert_eq!(client.next_update(), "haft://file/sub/in.txt");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn commands_of_a_client_end_when_it_goes() {
    let world = world();
    let mut client = PipeClient::start(&world, &[]);
    // Arguments that no other test uses.
    let seconds = format!("300.{}", std::process::id());
    let params = json!({"name": "exec", "arguments": {"command": format!("sleep {seconds}")}});
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params}));
    wait("the command runs", || !processes_with(&seconds).is_empty());
    assert_eq!(client.end(), Some(0));
    wait("the command has ended", || processes_with(&seconds).is_empty());
    let calls = world.run(&["history", "--json"]).json();
    assert_eq!(calls[0]["error_type"], "cancelled", "{calls}");
}

#[test]
fn entry_of_a_client_is_shown_asked_about_and_written_with_a_copy() {
    let world = World::new();
    let file = world.path("config/zed/settings.json");
    let printed = world.run(&["mcp", "install", "zed", "--print", "--access", "read-only"]);
    assert_eq!(printed.code, 0, "{printed:?}");
    assert!(printed.stdout.contains("+    \"haft\": {") && printed.stdout.contains("read-only"), "{printed:?}");
    assert!(!file.exists());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "{\n  // mine\n  \"theme\": \"dark\",\n}\n";
    fs::write(&file, before).unwrap();
    for (answer, code, is_written) in [("n\n", 1, false), ("", 1, false), ("y\n", 0, true)] {
        let ran = world.run_fed(answer.as_bytes(), &["mcp", "install", "zed"]);
        assert_eq!((ran.code, fs::read_to_string(&file).unwrap() != before), (code, is_written), "{answer:?}: {ran:?}");
    }
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.contains("// mine") && after.contains("\"context_servers\""), "{after}");
    assert_eq!(fs::read_to_string(file.with_added_extension("backup-1")).unwrap(), before);
    let again = world.run(&["mcp", "install", "zed", "--yes"]);
    assert!(again.code == 0 && again.stdout.contains("has this entry already"), "{again:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    // The link of who keeps such files elsewhere leads to a file that is not there yet.
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("../kept.json", &file).unwrap();
    assert_eq!(world.run(&["mcp", "install", "zed", "--yes"]).code, 0);
    assert!(file.is_symlink() && fs::read_to_string(world.path("config/kept.json")).unwrap().contains("context_servers"));
    fs::write(&file, "[]").unwrap();
    let refused = world.run(&["mcp", "install", "zed", "--yes"]);
    assert_eq!((refused.code, fs::read_to_string(&file).unwrap().as_str()), (1, "[]"), "{refused:?}");
}

#[test]
fn addresses_of_other_machines_and_short_tokens_are_refused() {
    let world = World::new();
    let refused = world.run(&["mcp", "--http", "0.0.0.0:0"]);
    assert!(refused.code == 2 && refused.stderr.contains("--allow-remote"), "{refused:?}");
    for address in ["7333", "somewhere:7333", "127.0.0.1:99999", "localhost:"] {
        let refused = world.run(&["mcp", "--http", address]);
        assert!(refused.code == 2 && refused.stderr.contains("such as 127.0.0.1:7333"), "{address}: {refused:?}");
    }
    let token = world.run(&["mcp", "token", "new", "localhost:7333", "--json"]).json();
    assert_eq!(token["address"], "127.0.0.1:7333", "{token}");
    let refused = world.run_with(&[("HAFT_MCP_TOKEN", "short")], &["mcp", "--http", "127.0.0.1:0"]);
    assert!(refused.code == 2 && refused.stderr.contains("HAFT_MCP_TOKEN"), "{refused:?}");
}

#[test]
fn skills_that_change_are_announced_as_prompts() {
    let world = world();
    assert_eq!(world.run(&["skills", "new", "first", "--description", "One"]).code, 0);
    let mut client = PipeClient::start(&world, &["workspace"]);
    let names = |client: &mut PipeClient| -> Vec<String> {
        let listed = client.request("prompts/list", &json!({}));
        listed["result"]["prompts"].as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&mut client), ["first"]);
    assert_eq!(world.run(&["skills", "new", "second", "--description", "Two"]).code, 0);
    client.next_notice("notifications/prompts/list_changed");
    assert_eq!(names(&mut client), ["first", "second"]);
    let prompt = client.request("prompts/get", &json!({"name": "second", "arguments": {"task": "now"}}));
    assert_eq!(prompt["result"]["messages"][1]["content"]["text"], "now", "{prompt}");
    fs::remove_dir_all(world.path("config/haft/skills/first")).unwrap();
    client.next_notice("notifications/prompts/list_changed");
    assert_eq!(names(&mut client), ["second"]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn tools_of_a_server_that_nobody_started_before_are_offered_too() {
    let world = World::new();
    world.configure(&table(&world, "good", ""));
    let mut client = PipeClient::start(&world, &["workspace"]);
    wait("its tools are listed", || {
        let listed = client.request("tools/list", &json!({}));
        listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "mcp__hub__work")
    });
    assert!(client.call("mcp__hub__work", &json!({ "n": 1 })).contains("done {'n': 1}"));
    assert_eq!(client.end(), Some(0));
}

/// The status of a request to a server over HTTP.
fn status(address: &str, token: &str) -> u16 {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let body = body.to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let accept = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\nConnection: close";
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{accept}");
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn e04_tokens_are_listed_made_and_revoked_while_the_server_runs() {
    let world = world();
    let mut server =
        world.command(&["mcp", "--http", "127.0.0.1:0", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let address = said["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let made = world.run(&["mcp", "token", "new", &address, "--days", "1", "--json"]).json();
    let tokens = [(&said["token_id"], &said["token"]), (&made["id"], &made["token"])];
    let listed = world.run(&["mcp", "token", "list", "--json"]).json();
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|token| &token["id"]).collect();
    assert_eq!(ids, tokens.map(|(id, _)| id), "{listed}");
    assert!(!listed.to_string().contains(made["token"].as_str().unwrap()));
    for (id, token) in tokens {
        assert_eq!(status(&address, token.as_str().unwrap()), 200);
        assert_eq!(world.run(&["mcp", "token", "revoke", id.as_str().unwrap()]).code, 0);
        assert_eq!(status(&address, token.as_str().unwrap()), 401);
    }
    let unknown = world.run(&["mcp", "token", "revoke", "00000000"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("haft mcp token list"), "{unknown:?}");
    server.kill().unwrap();
    server.wait().unwrap();
}
