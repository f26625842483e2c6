//! MCP servers that Haft uses: configured, trusted, called, confined and ended.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::harness::World;
use super::network::server;

/// The server that misbehaves in the way that its first argument names.
fn script() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/hostile/server.py").canonicalize().unwrap().display().to_string()
}

/// The table of a server in this mode, with a folder of its own.
pub(super) fn table(world: &World, mode: &str, keys: &str) -> String {
    let folder = world.path(&format!("servers/{mode}"));
    fs::create_dir_all(&folder).unwrap();
    let (script, folder) = (script(), folder.display().to_string());
    format!("[mcp.servers.hub]\ncommand = \"/usr/bin/python3\"\nargs = [\"-B\", {script:?}, {mode:?}, {folder:?}]\n{keys}")
}

fn world(mode: &str, keys: &str) -> World {
    let world = World::new();
    world.configure(&table(&world, mode, keys));
    world
}

/// The text of a result.
fn text(result: &Value) -> &str {
    result["result"].as_str().or_else(|| result["message"].as_str()).unwrap_or_else(|| panic!("no text: {result}"))
}

#[test]
fn server_is_added_listed_called_and_removed() {
    let world = World::with_config("# mine\naccess = \"read-only\"\n");
    let folder = world.path("servers/good");
    fs::create_dir_all(&folder).unwrap();
    let (script, folder) = (script(), folder.display().to_string());
    let added = world.run(&["mcp", "add", "Hub", "--json", "--", "/usr/bin/python3", "-B", &script, "good", &folder]);
    assert_eq!(added.json()["tools"], json!(["mcp__hub__stable", "mcp__hub__work"]), "{added:?}");
    let own = fs::read_to_string(world.path("config/haft/config.toml")).unwrap();
    assert!(own.starts_with("# mine\naccess = \"read-only\"\n") && own.contains("[mcp.servers.hub]"), "{own}");
    let again = world.run(&["mcp", "add", "hub", "--", "true"]);
    assert_eq!(again.code, 2, "{again:?}");

    let listed = world.run(&["mcp", "list", "--json"]).json();
    assert_eq!((&listed[0]["server"], &listed[0]["state"], listed[0]["tools"].as_array().unwrap().len()), (&json!("hub"), &json!("on"), 2));
    let (code, result) = world.call("mcp__hub__work", &json!({"n": 1}));
    assert!(code == 0 && text(&result).contains("done {'n': 1}"), "{result}");
    // Flags come from the server's own schema.
    let flagged = world.run(&["call", "mcp__hub__work", "--n", "5", "--json"]);
    assert!(text(&flagged.json()).contains("done {'n': 5}"), "{flagged:?}");
    let wrong = world.call("mcp__hub__work", &json!({"n": "many"})).1;
    assert_eq!(wrong["error_type"], "validation_error", "our engine checks the arguments: {wrong}");

    let removed = world.run(&["mcp", "remove", "hub"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(world.run(&["mcp", "list", "--json"]).json(), json!([]));
    assert_eq!(world.call("mcp__hub__work", &json!({})).1["error_type"], "tool_not_found");
}

#[test]
fn arguments_reach_a_server_as_they_were_given() {
    let world = world("texts", "");
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    for (given, sent) in [
        (json!({"text": "  two lines\n\n", "null": "x"}), json!({"text": "  two lines\n\n", "null": "x"})),
        (json!({"text": "", "null": " "}), json!({"text": "", "null": " "})),
        // What may be null and must be there is null where it is left out.
        (json!({"text": "a", "null": null}), json!({"text": "a", "null": null})),
        (json!({"text": "a"}), json!({"text": "a", "null": null})),
        // An optional null within an object says no more than its absence.
        (
            json!({"text": "a", "null": "x", "item": {"name": "n", "parent": null}}),
            json!({"text": "a", "null": "x", "item": {"name": "n"}}),
        ),
        // Not every provider of models takes the name.
        (json!({"text": "a", "null": "x", "top": 3}), json!({"text": "a", "null": "x", "$top": 3})),
        (json!({"text": "a", "null": "x", "$top": 3}), json!({"text": "a", "null": "x", "$top": 3})),
        // Its pattern is none that this machine knows: the server checks it.
        (json!({"text": "a", "null": "x", "code": "any"}), json!({"text": "a", "null": "x", "code": "any"})),
    ] {
        let (code, result) = world.call("mcp__hub__work", &given);
        let got = text(&result).lines().find(|line| line.starts_with('{')).map(serde_json::from_str::<Value>);
        assert!(code == 0 && got.is_some_and(|got| got.unwrap() == sent), "{given}: {result}");
    }
    assert_eq!(world.call("mcp__hub__work", &json!({"null": "x"})).1["error_type"], "validation_error");
}

#[test]
fn help_of_a_tool_of_a_server_lists_its_parameters() {
    let world = world("texts", "");
    // The server was never started: its tools are learned for it.
    for (tool, parameter) in [("mcp__hub__work", "--code"), ("mcp_resources", "--server")] {
        for flag in ["--help", "-h"] {
            let help = world.run(&["call", tool, flag]);
            assert!(help.code == 0 && help.stdout.contains(parameter), "{tool} {flag}: {help:?}");
        }
    }
    let unknown = world.run(&["call", "mcp__hub__gone", "--help"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("there is no tool 'mcp__hub__gone'"), "{unknown:?}");
    let explained = world.run(&["explain", "mcp__hub__work", "--help"]);
    assert!(explained.code == 0 && explained.stdout.contains("--code"), "{explained:?}");
}

#[test]
fn server_that_cannot_start_is_not_added() {
    let world = World::new();
    let refused = world.run(&["mcp", "add", "gone", "--", "/no/such/program"]);
    assert!(refused.code == 1 && refused.stderr.contains("nothing was written"), "{refused:?}");
    let closed = world.run(&["mcp", "add", "gone", "--url", "http://127.0.0.1:1/mcp"]);
    assert!(closed.code == 1 && closed.stderr.contains("'gone' cannot be used: it cannot be reached: Connection refused"), "{closed:?}");
    assert!(!closed.stderr.contains("rmcp::"), "{closed:?}");
    assert!(!world.path("config/haft/config.toml").exists());
    assert_eq!(world.run(&["mcp", "add", "gone", "--no-test", "--", "/no/such/program", "--quiet", ""]).code, 0);
    let tested = world.run(&["mcp", "test", "gone"]);
    assert!(tested.code == 1 && tested.stderr.contains("its program was not found"), "{tested:?}");
}

#[test]
fn annotations_decide_and_what_is_not_said_needs_approval() {
    let world = world("open", "");
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    let (_, refused) = world.call("mcp__hub__change", &json!({}));
    assert_eq!(refused["error_type"], "permission_denied", "{refused}");
    let needs =
        "needs the access level full-access (what the MCP server 'hub' does is not known before), and this session has workspace-write.";
    assert!(refused["message"].as_str().unwrap().contains(needs), "{refused}");
    let (code, looked) = world.call("mcp__hub__look", &json!({}));
    assert!(code == 0 && text(&looked).contains("look was called"), "{looked}");
    let asked = world.run(&["call", "mcp__hub__change", "{}", "--access", "full-access", "--json"]);
    assert_eq!(asked.json()["error_type"], "permission_denied", "with full access it still asks: {asked:?}");
    let explained = world.run(&["explain", "mcp__hub__change", "{}", "--access", "full-access", "--json"]).json();
    assert_eq!((&explained["verdict"], &explained["effects"][0]["effect"]), (&json!("ask"), &json!("unknown")), "{explained}");
    // The advice works.
    world.configure(&format!("access = \"full-access\"\nrules.allow = [\"mcp__hub__change\"]\n{}", table(&world, "open", "")));
    let (code, allowed) = world.call("mcp__hub__change", &json!({}));
    assert!(code == 0 && text(&allowed).contains("change was called"), "{allowed}");
}

#[test]
fn rules_and_lists_name_servers_that_do_not_run() {
    let lists = "[tools]\ndeny = [\"mcp__hub__*\"]\n[rules]\ndeny = [\"mcp__hub__work\"]\n";
    let world = World::new();
    world.configure(&format!("[mcp.servers.hub]\ncommand = \"/no/such/program\"\n{lists}"));
    let checked = world.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    world.configure(lists);
    let checked = world.run(&["config", "check"]);
    assert!(
        checked.code == 2 && checked.stdout.contains("hub") || checked.stderr.contains("hub"),
        "an unknown server is still an error: {checked:?}"
    );
    let world = self::world("good", lists);
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    assert_eq!(world.call("mcp__hub__work", &json!({})).1["error_type"], "tool_not_available");
}

#[test]
fn changed_tools_wait_until_the_user_trusts_them() {
    let world = world("good", "");
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    fs::write(world.path("servers/good/changed"), "").unwrap();
    let (_, refused) = world.call("mcp__hub__work", &json!({}));
    assert_eq!(refused["error_type"], "permission_denied", "{refused}");
    assert!(text(&refused).contains("haft mcp trust hub"), "{refused}");
    let shown = world.run(&["mcp", "trust", "hub", "--show"]);
    for part in ["work", "-  \"description\": \"Works.\"", "+  \"description\": \"Works differently.\"", "added"] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    // Nobody is there to be asked.
    let unasked = world.run(&["mcp", "trust", "hub", "--json"]);
    assert_eq!((unasked.code, &unasked.json()["approved"]), (1, &json!(false)), "nobody can be asked");
    assert_eq!(world.call("mcp__hub__added", &json!({})).1["error_type"], "tool_not_found");
    assert_eq!(world.run(&["mcp", "trust", "hub", "--yes", "--json"]).json()["approved"], json!(true));
    assert!(text(&world.call("mcp__hub__work", &json!({})).1).contains("done"));
}

#[test]
fn project_server_starts_only_after_the_folder_is_trusted() {
    let world = World::new();
    let server = table(&world, "good", "");
    world.write(".haft/config.toml", &server);
    let starts = world.path("servers/good/starts");
    for words in
        [&["mcp", "list"][..], &["tools"], &["call", "mcp__hub__work", "{}"], &["mcp", "test", "hub"], &["run", "what time is it?"]]
    {
        world.run(words);
        assert!(!starts.exists(), "{words:?} started a server of an untrusted folder");
    }
    let shown = world.run(&["trust", "--show"]);
    assert!(shown.stdout.contains("MCP server 'hub'") && shown.stdout.contains("/usr/bin/python3"), "{shown:?}");
    assert_eq!(world.run(&["trust"]).code, 0);
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    assert!(starts.exists());
    // Another content is not what was trusted.
    fs::remove_file(&starts).unwrap();
    world.write(".haft/config.toml", format!("{server}\n# changed\n"));
    world.run(&["mcp", "test", "hub"]);
    assert!(!starts.exists());
}

/// F08: files of a project that set variables set none of Haft's.
#[test]
fn f08_environment_files_of_a_project_redirect_nothing() {
    let world = World::new();
    let evil = world.file("evil");
    fs::create_dir_all(evil.join("haft")).unwrap();
    fs::write(evil.join("haft/config.toml"), table(&world, "good", "")).unwrap();
    let lines: String = ["HAFT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "HAFT_CONFIG", "HAFT_MCP_TOKEN"]
        .iter()
        .flat_map(|name| [*name, "=", evil.to_str().unwrap(), "\n"])
        .collect();
    for name in [".env", ".env.local", ".envrc", ".haft/.env", ".haft/env"] {
        world.write(name, &lines);
    }
    assert_eq!(world.run(&["mcp", "list", "--json"]).json(), json!([]));
    assert_eq!(world.call("get_current_time", &json!({})).0, 0);
    let files: Vec<_> = fs::read_dir(&evil).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["haft"], "nothing was written there");
    assert!(!world.path("servers/good/starts").exists());
}

#[test]
fn project_cannot_replace_a_server_of_the_user() {
    let world = world("good", "");
    world.write(".haft/config.toml", "[mcp.servers.hub]\ncommand = \"/no/such/program\"\n");
    assert_eq!(world.run(&["trust"]).code, 0);
    let tested = world.run(&["mcp", "test", "hub"]);
    assert_eq!(tested.code, 0, "{tested:?}");
}

#[test]
fn server_gets_named_variables_only() {
    let world = world("environment", "pass_env = [\"PASSED\"]\nenv = { GIVEN = \"1\" }\n");
    let variables = [("PASSED", "x"), ("OPENAI_API_KEY", "sk-secret"), ("OTHER", "y")];
    assert_eq!(world.run_with(&variables, &["mcp", "test", "hub"]).code, 0);
    let ran = world.run_with(&variables, &["call", "mcp__hub__work", "{}", "--json"]);
    let result = ran.json();
    let names = text(&result);
    for name in ["\"PASSED\"", "\"GIVEN\"", "\"PATH\"", "\"HOME\""] {
        assert!(names.contains(name), "{name}: {names}");
    }
    for name in ["OPENAI_API_KEY", "OTHER", "HAFT_"] {
        assert!(!names.contains(name), "{name}: {names}");
    }
}

#[test]
fn sandboxed_server_reads_the_workspace_and_writes_named_folders_alone() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for (name, content) in [("out/.keep", ""), ("here.txt", "public"), (".env", "KEY=1")] {
        world.write(name, content);
    }
    fs::write(world.path("home/private.txt"), "private").unwrap();
    let script = world.file("server.py");
    fs::copy(self::script(), &script).unwrap();
    // The server keeps its notes in the folder that it may write.
    let more = "sandbox = true\nfolders = [\"out\"]\n";
    let (script, out) = (script.display().to_string(), world.file("out").display().to_string());
    world.configure(&format!("[mcp.servers.hub]\ncommand = \"/usr/bin/python3\"\nargs = [\"-B\", {script:?}, \"probe\", {out:?}]\n{more}"));
    let tested = world.run(&["mcp", "test", "hub"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    let path = |name: &str| world.path(name).display().to_string();
    let cases = [
        (path("workspace/here.txt"), "done"),
        (format!("w:{}", path("workspace/out/new.txt")), "done"),
        (format!("w:{}", path("workspace/new.txt")), "refused"),
        (path("workspace/.env"), "refused"),
        (path("home/private.txt"), "refused"),
        (path("config/haft/config.toml"), "refused"),
        (format!("c:{port}"), "refused"),
    ];
    let paths: Vec<&String> = cases.iter().map(|(path, _)| path).collect();
    let (_, result) = world.call("mcp__hub__work", &json!({ "paths": paths }));
    let folder = world.path("").display().to_string();
    for (path, expected) in &cases {
        let shown = path.replace(folder.trim_end_matches('/'), "[world]");
        let wanted = format!("{}: {}", json!(shown), json!(expected));
        assert!(text(&result).contains(&wanted), "{path} should be {expected}: {result}");
    }
    assert!(world.file("out/new.txt").exists() && !world.file("new.txt").exists());
}

#[test]
fn sandboxed_server_reaches_named_hosts_alone() {
    let world = World::new();
    let ((named, reached), (other, attacked)) = (server("named"), server("other"));
    world.write("out/.keep", "");
    let script = world.file("server.py");
    fs::copy(self::script(), &script).unwrap();
    let (script, out) = (script.display().to_string(), world.file("out").display().to_string());
    // Addresses of this machine need network.allow besides; here both have it, and one of them is named.
    let more = format!(
        "sandbox = true\nfolders = [\"out\"]\nhosts = [\"127.0.0.2:{named}\"]\n[network]\nallow = [\"127.0.0.2:{named}\", \"127.0.0.2:{other}\"]\n"
    );
    world.configure(&format!("[mcp.servers.hub]\ncommand = \"/usr/bin/python3\"\nargs = [\"-B\", {script:?}, \"probe\", {out:?}]\n{more}"));
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    let cases = [
        (format!("h:127.0.0.2:{named}"), "done"),
        (format!("h:127.0.0.2:{other}"), "refused"),
        // Past the proxy there is no network.
        (format!("d:127.0.0.2:{named}"), "refused"),
        (format!("d:127.0.0.2:{other}"), "refused"),
    ];
    let paths: Vec<&String> = cases.iter().map(|(path, _)| path).collect();
    let (_, result) = world.call("mcp__hub__work", &json!({ "paths": paths }));
    for (path, expected) in &cases {
        assert!(text(&result).contains(&format!("{}: {}", json!(path), json!(expected))), "{path} should be {expected}: {result}");
    }
    assert_eq!((reached.load(Ordering::SeqCst), attacked.load(Ordering::SeqCst)), (1, 0));
}

#[test]
fn server_and_its_children_end_even_when_haft_is_killed() {
    let world = world("stubborn", "");
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    let folder = world.path("servers/stubborn");
    let pid = |name: &str| fs::read_to_string(folder.join(name)).ok().and_then(|text| text.lines().last()?.trim().parse::<u32>().ok());
    let is_gone = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    let all_gone = || [pid("starts"), pid("child")].into_iter().flatten().all(is_gone);
    wait("the server of the test ends", all_gone);
    let mut haft = world.command(&["call", "mcp__hub__work", "{}"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait("the server is called", || folder.join("called").exists());
    assert!(!all_gone());
    haft.kill().unwrap();
    haft.wait().unwrap();
    wait("all processes of the server end", all_gone);
}

pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
