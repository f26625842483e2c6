//! Nodes: a real gateway and real machines, in network namespaces where the test may make them, else over loopback.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gateway::Served;
use super::harness::{World, haft, is_root};

const PATIENCE: Duration = Duration::from_secs(30);
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../provider/tests/client/data");

/// A machine that runs `haft node run --json`.
struct NodeProcess {
    child: Child,
    events: Receiver<Value>,
}

impl NodeProcess {
    fn start(world: &World, address: &str, namespace: Option<&str>) -> Self {
        let mut command = match namespace {
            Some(namespace) => {
                let mut command = world.program("ip");
                command.args(["netns", "exec", namespace]).arg(haft());
                command
            }
            None => world.program(haft()),
        };
        command.args(["node", "run", "--json"]).args((!address.is_empty()).then_some(address));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, events) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                send.send(serde_json::from_str(&line).unwrap()).ok();
            }
        });
        Self { child, events }
    }

    /// Waits for an event of this name.
    fn event(&self, name: &str) -> Value {
        loop {
            let event = self.events.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("no '{name}': {error}"));
            if event["event"] == name {
                return event;
            }
        }
    }

    fn pair(&self, gateway: &World) -> String {
        let code = self.event("waiting")["code"].as_str().unwrap().to_owned();
        until(|| gateway.run(&["node", "list", "--json"]).json()["pending"].as_array().is_some_and(|pending| !pending.is_empty()));
        let approved = gateway.run(&["node", "approve", &code, "--json"]);
        assert_eq!(approved.code, 0, "{}", approved.all());
        self.event("connected");
        let name = approved.json()["name"].as_str().unwrap().to_owned();
        until(|| is_connected(gateway, &name));
        name
    }

    /// Its exit code, and what it printed on standard error.
    fn ended(&mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "it did not happen in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_connected(gateway: &World, name: &str) -> bool {
    let list = gateway.run(&["node", "list", "--json"]).json();
    list["nodes"].as_array().is_some_and(|nodes| nodes.iter().any(|node| node["name"] == name && node["connected"] == true))
}

/// A gateway whose model may do everything.
fn gateway() -> World {
    World::with_config("access = 'full-access'\nexec.security = 'full'")
}

/// The address that `haft node pair` prints.
fn pair_address(gateway: &World) -> String {
    let opened = gateway.run(&["node", "pair", "--json"]);
    assert_eq!(opened.code, 0, "{}", opened.all());
    opened.json()["address"].as_str().unwrap().to_owned()
}

fn start(gateway: &World, node: &World) -> (Served, NodeProcess, String) {
    let served = Served::start(gateway);
    let process = NodeProcess::start(node, &pair_address(gateway), None);
    let name = process.pair(gateway);
    (served, process, name)
}

/// The message of a call that failed.
fn refused(gateway: &World, tool: &str, arguments: &Value) -> (String, String) {
    let (code, answer) = gateway.call(tool, arguments);
    assert_eq!(code, 1, "{answer}");
    (answer["error_type"].as_str().unwrap().to_owned(), answer["message"].as_str().unwrap().to_owned())
}

/// Three namespaces: a gateway and two machines, each with its own cable to it. Removed at the end.
struct Cables {
    names: Vec<String>,
}

impl Cables {
    /// None where this user may not make them.
    fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let id = std::process::id();
        let names: Vec<String> = ["g", "a", "b"].iter().map(|end| format!("haft{id}{end}")).collect();
        let cables = Self { names };
        let [gateway, first, second] = &cables.names[..] else { return None };
        let mut made = cables.names.iter().all(|name| ip(&["netns", "add", name]) && ip(&["-n", name, "link", "set", "lo", "up"]));
        for (node, net) in [(first, 1), (second, 2)] {
            let (near, far) = (format!("hg{id}{net}"), format!("hn{id}{net}"));
            made = made
                && ip(&["-n", gateway, "link", "add", &near, "type", "veth", "peer", "name", &far, "netns", node])
                && ip(&["-n", gateway, "addr", "add", &format!("10.231.{net}.1/24"), "dev", &near])
                && ip(&["-n", node, "addr", "add", &format!("10.231.{net}.2/24"), "dev", &far])
                && ip(&["-n", gateway, "link", "set", &near, "up"])
                && ip(&["-n", node, "link", "set", &far, "up"]);
        }
        made.then_some(cables)
    }
}

impl Drop for Cables {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&["netns", "del", name]);
        }
    }
}

fn ip(words: &[&str]) -> bool {
    Command::new("ip").args(words).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The certificate of the tests of the providers, for `secure.example`: nobody the node knows has signed it.
fn tls_flags(world: &World) -> Vec<String> {
    let key = haft_text::base64::encode(&std::fs::read(Path::new(CERTIFICATES).join("key.der")).unwrap());
    let kind = "PRIVATE";
    std::fs::write(world.path("key.pem"), format!("-----BEGIN {kind} KEY-----\n{key}\n-----END {kind} KEY-----\n")).unwrap();
    let key = world.path("key.pem").to_str().unwrap().to_owned();
    ["--tls-certificate".to_owned(), format!("{CERTIFICATES}/certificate.pem"), "--tls-key".to_owned(), key].into()
}

/// The gateway in its namespace, where other machines reach it with TLS alone.
struct FarGateway(Child);

impl FarGateway {
    fn start(world: &World, namespace: &str) -> Self {
        let mut command = world.program("ip");
        command.args(["netns", "exec", namespace]).arg(haft()).args(["serve", "--json", "--listen", "0.0.0.0:7318"]);
        command.args(["--host-name", "10.231.1.1", "--host-name", "10.231.2.1"]).args(tls_flags(world));
        let mut child = command.env("HAFT_LOCAL_MODELS", "").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("https://10.231.1.1:7318"), "{line}");
        Self(child)
    }
}

impl Drop for FarGateway {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn two_machines_work_for_a_gateway_each_under_its_own_policy() {
    let (gateway, first, second) =
        (gateway(), World::new(), World::with_config("rules.deny = ['write(secret/**)']\naccess = 'workspace-write'"));
    let cables = Cables::new();
    if cables.is_none() {
        eprintln!("no network namespaces can be made here: the machines are paired over loopback");
    }
    let names = cables.as_ref().map(|cables| cables.names.clone());
    let (mut far, mut near) = (None, None);
    match &names {
        Some(names) => far = Some(FarGateway::start(&gateway, &names[0])),
        None => near = Some(Served::start(&gateway)),
    }
    let address = |net: u8| {
        let address = pair_address(&gateway);
        let fingerprint = address.split_once('#').unwrap().1.to_owned();
        if names.is_some() { format!("wss://10.231.{net}.1:7318#{fingerprint}") } else { address }
    };
    let namespace = |index: usize| names.as_ref().map(|names| names[index].as_str());
    first.write("notes/today.md", "Buy milk\n");
    let one = NodeProcess::start(&first, &address(1), namespace(1));
    let one_name = one.pair(&gateway);
    let two = NodeProcess::start(&second, &address(2), namespace(2));
    let two_name = two.pair(&gateway);
    assert_ne!(one_name, two_name);

    let (code, read) = gateway.call("nodes", &json!({"action": "read", "node": one_name, "path": "notes/today.md"}));
    assert_eq!((code, read["result"].as_str()), (0, Some("Buy milk\n")), "{read}");
    let (code, wrote) = gateway.call("nodes", &json!({"action": "write", "node": two_name, "path": "new/a.txt", "content": "from afar"}));
    assert_eq!(code, 0, "{wrote}");
    assert_eq!(second.read("new/a.txt"), "from afar");
    let (code, ran) = gateway.call("exec", &json!({"command": "echo hello > made.txt; cat made.txt", "host": "node", "node": one_name}));
    assert_eq!(code, 0, "{ran}");
    assert_eq!(first.read("made.txt"), "hello\n", "{ran}");
    assert!(ran["result"].as_str().unwrap().contains("hello"), "{ran}");
    assert!(!gateway.file("made.txt").exists() && !second.file("made.txt").exists());

    // What the gateway allows, the second machine denies.
    let (kind, why) = refused(&gateway, "nodes", &json!({"action": "write", "node": two_name, "path": "secret/x", "content": "no"}));
    assert_eq!(kind, "permission_denied", "{why}");
    assert!(why.starts_with(&format!("On the node '{two_name}': ")), "{why}");
    assert!(!second.file("secret").exists());
    let (_, outside) = refused(&gateway, "nodes", &json!({"action": "read", "node": two_name, "path": "/etc/hostname"}));
    assert!(outside.contains("full-access") || outside.contains("outside"), "{outside}");
    let ambiguous = refused(&gateway, "nodes", &json!({"action": "read", "path": "x"})).1;
    assert!(ambiguous.starts_with("Several machines are paired: name one in 'node'."), "{ambiguous}");
    drop((far.take(), near.take()));
}

#[test]
fn link_that_leads_elsewhere_is_not_what_was_permitted() {
    let (gateway, node) = (gateway(), World::new());
    let (_served, _process, name) = start(&gateway, &node);
    node.write("private/key.txt", "hidden");
    std::os::unix::fs::symlink("private", node.file("notes")).unwrap();
    let (kind, why) = refused(&gateway, "nodes", &json!({"action": "read", "node": name, "path": "notes/key.txt"}));
    assert_eq!(kind, "permission_denied");
    assert!(why.contains("which is not what was permitted at the gateway"), "{why}");
    let written = refused(&gateway, "nodes", &json!({"action": "write", "node": name, "path": "notes/key.txt", "content": "changed"}));
    assert_eq!((written.0.as_str(), node.read("private/key.txt").as_str()), ("permission_denied", "hidden"));
    let (code, direct) = gateway.call("nodes", &json!({"action": "read", "node": name, "path": "private/key.txt"}));
    assert_eq!((code, direct["result"].as_str()), (0, Some("hidden")), "{direct}");
}

#[test]
fn devices_are_off_until_the_machine_shares_them_and_absent_ones_are_said() {
    let (gateway, node) =
        (gateway(), World::with_config("[node]\nname = 'Studio PC'\nscreen = true\n[node.commands]\nbackup = ['/bin/cat']"));
    let (_served, _process, name) = start(&gateway, &node);
    assert_eq!(name, "studio-pc");
    let call = |arguments: Value| gateway.call("nodes", &arguments).1;
    let off = call(json!({"action": "camera_list"}));
    let message = off["message"].as_str().unwrap();
    assert!(message.contains("its configuration has node.camera = false") && !message.contains("no setting"), "{off}");
    let absent = call(json!({"action": "screen_record", "out_path": "film.mp4"}));
    assert!(absent["message"].as_str().unwrap().contains("screen"), "{absent}");
    assert!(!gateway.file("film.mp4").exists());
    let invoked = call(json!({"action": "invoke", "invoke_command": "backup", "invoke_params_json": "{\"a\":1}"}));
    assert_eq!(invoked["result"], "{\"a\":1}", "{invoked}");
    let unknown = call(json!({"action": "invoke", "invoke_command": "backups"}));
    assert!(unknown["message"].as_str().unwrap().ends_with("Did you mean 'backup'?"), "{unknown}");
    let status = call(json!({"action": "device_status"}));
    assert_eq!(status["status"], "success", "{status}");
    let described = call(json!({"action": "describe"}));
    assert!(described["result"].as_str().unwrap().contains("invoke backup"), "{described}");
}

#[test]
fn rules_of_the_gateway_name_the_machine_and_what_it_does() {
    let gateway = World::with_config(
        "rules.allow = ['node(pi:read notes/*)']\nrules.deny = ['node(*:camera_snap*)', 'node(pi:read private/*)', 'exec(git push *)']\n[node]",
    );
    let node = World::with_config("[node]\nname = 'pi'");
    node.write("notes/a.md", "A");
    let (_served, _process, name) = start(&gateway, &node);
    assert_eq!(name, "pi");
    assert_eq!(gateway.call("nodes", &json!({"action": "read", "path": "notes/a.md"})).0, 0);
    assert_eq!(gateway.call("nodes", &json!({"action": "read", "path": "./x/../notes/a.md"})).0, 0);
    node.write("other.md", "O");
    for path in ["other.md", "notes/../other.md"] {
        assert_eq!(refused(&gateway, "nodes", &json!({"action": "read", "path": path})).0, "permission_denied", "{path}");
    }
    node.write("private/key", "K");
    let absolute = node.file("private/key").canonicalize().unwrap();
    for (path, expected) in [
        ("private/key", "permission_denied"),
        ("./x/../private/key", "permission_denied"),
        (absolute.to_str().unwrap(), "validation_error"),
    ] {
        let arguments = json!({"action": "read", "path": path}).to_string();
        let answer = gateway.run(&["call", "nodes", &arguments, "--json", "--access", "full-access"]).json();
        assert_eq!(answer["error_type"], expected, "{path}: {answer}");
    }
    let camera = refused(&gateway, "nodes", &json!({"action": "camera_snap"}));
    assert_eq!(camera.0, "permission_denied");
    let explained = gateway.run(&["explain", "exec", "{\"command\":\"git push origin\",\"host\":\"node\"}", "--json"]).json();
    assert_eq!(explained["verdict"], "deny", "{explained}");
    let kinds: Vec<&str> = explained["effects"].as_array().unwrap().iter().filter_map(|effect| effect["effect"].as_str()).collect();
    assert!(kinds.starts_with(&["node", "exec"]), "{explained}");
}

/// Processes of a command line that has this in it.
fn running(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_it = |entry: &std::fs::DirEntry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
    };
    entries.filter(is_it).count()
}

/// Runs a command on the node that takes long, and waits until it runs there.
fn long_command(gateway: &World, mark: &str) -> Child {
    let arguments = json!({"action": "run", "command": format!("sleep {mark}")}).to_string();
    let child = gateway.command(&["call", "nodes", &arguments, "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until(|| running(mark) > 0);
    child
}

fn answer(child: Child) -> Value {
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn killed_node_leaves_the_outcome_unknown_and_comes_back() {
    let (gateway, node) = (gateway(), World::new());
    let (_served, mut process, name) = start(&gateway, &node);
    let call = long_command(&gateway, "611.25");
    process.child.kill().unwrap();
    process.child.wait().unwrap();
    let lost = answer(call);
    assert!(lost["message"].as_str().unwrap().starts_with("Outcome unknown"), "{lost}");
    until(|| running("611.25") == 0);
    assert!(!is_connected(&gateway, &name));
    let again = NodeProcess::start(&node, "", None);
    again.event("connected");
    until(|| is_connected(&gateway, &name));
}

#[test]
fn killed_gateway_leaves_nothing_running_on_the_node() {
    let (gateway, node) = (gateway(), World::new());
    let (mut served, process, name) = start(&gateway, &node);
    let address = served.address.clone();
    let call = long_command(&gateway, "612.25");
    rustix::process::kill_process(rustix::process::Pid::from_raw(served.pid().cast_signed()).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    until(|| running("612.25") == 0);
    let lost = answer(call);
    assert!(lost["message"].as_str().unwrap().starts_with("Outcome unknown"), "{lost}");
    process.event("lost");
    served = Served::start_with(&gateway, &["--listen", &address]);
    process.event("connected");
    until(|| is_connected(&gateway, &name));
    drop(served);
}

#[test]
fn revoked_node_is_cut_off_at_once_and_cannot_come_back() {
    let (gateway, node) = (gateway(), World::new());
    let (_served, mut process, name) = start(&gateway, &node);
    let call = long_command(&gateway, "613.25");
    assert_eq!(gateway.run(&["node", "revoke", &name]).code, 0);
    assert!(answer(call)["message"].as_str().unwrap().starts_with("Outcome unknown"));
    until(|| running("613.25") == 0);
    let (code, why) = process.ended();
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains("has revoked this machine"), "{why}");
    let gone = refused(&gateway, "nodes", &json!({"action": "read", "node": name, "path": "x"})).1;
    assert!(gone.starts_with("No machine is paired."), "{gone}");
    let again = node.run(&["node", "run"]);
    assert!(again.code == 2 && again.stderr.contains("this machine is not paired"), "{}", again.all());
}

#[test]
fn pairing_needs_the_user_at_both_machines() {
    let (gateway, node) = (gateway(), World::new());
    let _served = Served::start(&gateway);
    let address = pair_address(&gateway);
    let process = NodeProcess::start(&node, &address, None);
    process.event("waiting");
    until(|| gateway.run(&["node", "list", "--json"]).json()["pending"].as_array().is_some_and(|pending| pending.len() == 1));
    let asking = gateway.call("nodes", &json!({"action": "pending"})).1;
    assert!(asking["result"].as_str().unwrap().contains("haft node approve CODE"), "{asking}");
    assert_eq!(refused(&gateway, "nodes", &json!({"action": "approve", "request_id": "x"})).0, "permission_denied");
    for _ in 0..5 {
        assert_eq!(gateway.run(&["node", "approve", "0000-0000"]).code, 1);
    }
    let closed = gateway.run(&["node", "approve", "0000-0000"]);
    assert!(closed.stderr.contains("No machine may ask to be paired now"), "{}", closed.all());
    let listed = gateway.run(&["nodes", "list", "--json"]).json();
    assert_eq!(listed, json!({"nodes": [], "pending": []}));
}

#[test]
fn machine_is_paired_listed_and_revoked_on_the_page() {
    let (gateway, node) = (gateway(), World::new());
    let served = Served::start(&gateway);
    let page = served.page();
    assert_eq!(page.read("/api/nodes"), json!({"nodes": [], "pending": []}));
    let viewer = page.post("/api/tokens", &json!({"name": "viewer", "scopes": ["view"]})).json();
    let viewer = served.stranger().bearer(viewer["token"].as_str().unwrap());
    assert_eq!(viewer.post("/api/nodes/pair", &json!({})).status, 403);
    let opened = page.post("/api/nodes/pair", &json!({})).json();
    let address = opened["address"].as_str().unwrap();
    assert_eq!(opened["command"], json!(format!("haft node run {address}")));
    let process = NodeProcess::start(&node, address, None);
    let code = process.event("waiting")["code"].as_str().unwrap().to_owned();
    until(|| page.read("/api/nodes")["pending"].as_array().is_some_and(|pending| pending.len() == 1));
    assert_eq!(page.post("/api/nodes/approve", &json!({"code": "0000-0000"})).status, 400);
    let paired = page.post("/api/nodes/approve", &json!({ "code": code }));
    assert_eq!(paired.status, 200, "{}", paired.body);
    process.event("connected");
    let id = paired.json()["id"].as_str().unwrap().to_owned();
    until(|| page.read("/api/nodes")["nodes"][0]["connected"] == json!(true));
    assert_eq!(viewer.send("DELETE", &format!("/api/nodes/{id}"), b"").status, 403);
    assert_eq!(page.send("DELETE", &format!("/api/nodes/{id}"), b"").status, 200);
    assert_eq!(page.read("/api/nodes")["nodes"], json!([]));
    assert_eq!(page.send("DELETE", &format!("/api/nodes/{id}"), b"").status, 404);
}
