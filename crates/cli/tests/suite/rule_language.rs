//! Rules that say what people mean: `only` lists, exceptions, rules of agents; also where only the effect on disk tells.

use std::fs;
use std::time::{Duration, Instant};

use haft_testkit::Round;
use serde_json::{Value, json};

use super::harness::World;
use super::model::{Talk, done};

/// A program that no analysis sees through: it writes everywhere that it can.
const WRITER: &str = "import os, sys\nfor path in ['docs/new', 'docs/old', 'src/new', 'src/old', 'top', '/tmp/x', os.path.expanduser('~/y')]:\n    try:\n        open(path, 'w').write('written')\n    except OSError:\n        print('refused', path)\n";

fn world() -> World {
    let world = World::with_config("[agents.docs.rules]\nonly = [\"write(docs/**)\", \"connect(domain:*.example.org)\"]\n");
    for path in ["docs/old", "src/old"] {
        world.write(path, "old");
    }
    world.write("writer.py", WRITER);
    world
}

/// The files of the workspace and their content.
fn files(world: &World) -> Vec<(String, String)> {
    let folders = ["docs", "src", "."].map(|folder| fs::read_dir(world.file(folder)).unwrap().map(|entry| entry.unwrap().path()));
    let mut found: Vec<_> = folders.into_iter().flatten().filter(|path| path.is_file() && !path.ends_with("writer.py")).collect();
    found.sort();
    let name = |path: &std::path::Path| path.strip_prefix(world.file("")).unwrap().to_string_lossy().into_owned();
    found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn expected(docs: &str) -> Vec<(String, String)> {
    [("docs/new", docs), ("docs/old", docs), ("src/old", "old")].map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec()
}

#[test]
fn an_only_list_on_writes_stops_what_a_command_does_elsewhere_on_disk() {
    let world = world();
    let ran = world.run(&["call", "exec", "--agent", "docs", "--command", "python3 writer.py; cat /tmp/x ~/y"]);
    assert_eq!(files(&world), expected("written"), "{}", ran.all());
    assert!(ran.all().contains("writtenwritten"), "home and /tmp stay writable: {}", ran.all());
    assert!(ran.all().contains("Not changed: 'src/old'"), "{}", ran.all());
    world.run(&["call", "exec", "--command", "python3 writer.py"]);
    assert_eq!(fs::read_to_string(world.file("src/new")).unwrap(), "written", "another agent is free");
}

#[test]
fn an_only_list_on_writes_holds_for_a_job_in_the_background() {
    let world = world();
    let line = "python3 writer.py; touch docs/done; sleep 1";
    let ran = world.run(&["call", "exec", "--agent", "docs", "--background", "true", "--command", line]);
    let end = Instant::now() + Duration::from_secs(30);
    while !world.file("docs/done").exists() {
        assert!(Instant::now() < end, "{}", ran.all());
        std::thread::sleep(Duration::from_millis(50));
    }
    // What is new is taken back while it runs, or when it has ended.
    while world.file("src/new").exists() || world.file("top").exists() {
        assert!(Instant::now() < end, "{:?}", files(&world));
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::remove_file(world.file("docs/done")).unwrap();
    assert_eq!(files(&world), expected("written"));
}

#[test]
fn an_only_list_on_connections_stops_the_proxy_of_commands_and_every_tool() {
    let world = world();
    let line = "curl -sS -m 5 https://example.com; true";
    let ran = world.run(&["call", "exec", "--agent", "docs", "--command", line]);
    assert!(ran.all().contains("the rule 'only connect(domain:*.example.org)' refuses it"), "{}", ran.all());
    let fetched = world.run(&["call", "web_fetch", "--agent", "docs", "--url", "https://example.com/"]);
    assert!(fetched.all().contains("the rule 'only connect(domain:*.example.org)' refuses it"), "{}", fetched.all());
}

#[test]
fn a_denied_folder_is_left_out_of_searches_and_commands() {
    let world = World::with_config("[rules]\ndeny = [\"read(secret/**)\"]\n");
    world.write("secret/a", "needle");
    world.write("open/a", "needle");
    for (tool, arguments) in [("grep_search", json!({"pattern": "needle"})), ("glob_search", json!({"pattern": "**/a"}))] {
        let (code, result) = world.call(tool, &arguments);
        let text = result.to_string();
        assert_eq!((code, text.contains("open/a"), text.contains("secret")), (0, true, false), "{tool}: {text}");
    }
    let (code, result) = world.call("read_file", &json!({"path": "secret/a"}));
    assert_eq!(code, 1, "{result}");
    let (_, result) = world.call("exec", &json!({"command": "python3 -c 'import os; print(os.listdir(\"secret\"))'; cat open/a"}));
    assert!(!result.to_string().contains("'a'"), "{result}");
}

#[test]
fn an_only_list_on_reading_hides_the_rest_from_commands() {
    let world = World::with_config("[rules]\nonly = [\"read(open/**)\"]\n");
    world.write("closed/a", "needle");
    world.write("open/a", "found");
    world.write("top", "needle");
    let script = "import os; print([os.path.join(folder, name) for folder, _, names in os.walk('.') for name in names])";
    let (code, result) = world.call("exec", &json!({"command": format!("python3 -c \"{script}\"; cat open/a")}));
    let text = result.to_string();
    assert_eq!((code, text.contains("found"), text.contains("closed/a")), (0, true, false), "{text}");
    let (code, result) = world.call("exec", &json!({"command": "python3 -c \"print(open('top').read())\""}));
    assert!(code != 0 && !result.to_string().contains("needle"), "{result}");
    assert_eq!(world.call("read_file", &json!({"path": "open/a"})).0, 0);
    assert_eq!(world.call("read_file", &json!({"path": "top"})).0, 1);
}

#[test]
fn an_only_list_on_reading_hides_files_that_appear_in_the_session() {
    let call = |id: &str, tool: &str, arguments: Value| (id.to_owned(), tool.to_owned(), arguments);
    let read = json!({"command": "python3 -c \"print(open('later').read())\" 2>&1; true"});
    let rounds = vec![
        Round::Calls(vec![call("1", "exec", json!({"command": "true"}))]),
        Round::Calls(vec![call("2", "write_file", json!({"path": "later", "content": "needle"}))]),
        Round::Calls(vec![call("3", "exec", read)]),
        done(),
    ];
    let talk = Talk::with("openai", "[rules]\nonly = [\"read(open/**)\"]\n", rounds);
    let ran = talk.says(&["go"]);
    assert_eq!(talk.world.read("later"), "needle");
    let history = talk.world.run(&["history", "--json"]).json();
    assert_eq!(history.as_array().unwrap().len(), 3, "{ran:?}");
    let last = history[0]["summary"].as_str().unwrap();
    assert!(history[0]["tool"] == "exec" && !last.contains("needle") && last.contains("later"), "{last}");
}

#[test]
fn rules_say_what_people_mean() {
    let world = World::with_config(
        "[rules]\ndeny = [\"write(gen/**) except write(gen/keep/**)\"]\nask = [\"exec(npm *) except exec(npm test *)\", \"connect(method:POST)\"]\n",
    );
    for (tool, arguments, verdict) in [
        ("write_file", json!({"path": "gen/a", "content": ""}), "deny"),
        ("write_file", json!({"path": "gen/keep/a", "content": ""}), "allow"),
        ("exec", json!({"command": "npm install"}), "ask"),
        ("exec", json!({"command": "npm test -- --watch"}), "allow"),
        ("http_request", json!({"url": "https://8.8.8.8/", "method": "POST"}), "ask"),
    ] {
        assert_eq!(explained(&world, tool, &arguments)["verdict"], verdict, "{tool} {arguments}");
    }
    let world = World::with_config("[rules]\nallow = [\"exec(cargo build *)\"]\n[exec]\nsecurity = \"safe-bin\"\n");
    for (command, verdict) in [("cargo build --release", "allow"), ("cargo build --config a=b", "ask"), ("cargo run", "ask")] {
        assert_eq!(explained(&world, "exec", &json!({"command": command}))["verdict"], verdict, "{command}");
    }
}

fn explained(world: &World, tool: &str, arguments: &Value) -> Value {
    world.run(&["explain", "--json", tool, &arguments.to_string()]).json()
}
