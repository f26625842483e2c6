//! `haft models`: what is configured, where the keys come from, and who answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::harness::{Ran, World};

const KEY: &str = "sk-test-0123456789abcdef";
/// Without servers of this machine.
const ALONE: (&str, &str) = ("HAFT_LOCAL_MODELS", "");

/// A server on loopback that gives every request the same answer, or none at all.
pub(super) struct Listener {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub(super) fn answering(status: u16, body: &str) -> Self {
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        Self::start(Some(answer))
    }

    fn silent() -> Self {
        Self::start(None)
    }

    fn start(answer: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, over) = (Arc::clone(&requests), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let mut stream = stream.unwrap();
                log.lock().unwrap().extend(head(&stream));
                match &answer {
                    // The client may have gone already.
                    Some(answer) => drop(stream.write_all(answer.as_bytes())),
                    None => open.push(stream),
                }
            }
        });
        Self { address, requests, ended, thread: Some(thread) }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

/// The head of a request; what follows is read as far as it is announced.
fn head(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok()).unwrap_or(0);
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(head)
}

fn rows(ran: &Ran) -> Vec<(String, String)> {
    let rows = ran.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(|row| (text(&row["model"]), text(&row["message"]))).collect()
}

fn pair(model: &str, message: impl Into<String>) -> (String, String) {
    (model.to_owned(), message.into())
}

fn list(names: &[&str]) -> String {
    json!({ "object": "list", "data": names.iter().map(|name| json!({ "id": name })).collect::<Vec<_>>() }).to_string()
}

#[test]
fn without_anything_there_is_the_demo_model() {
    let ran = World::new().run_with(&[ALONE], &["models", "--json"]);
    let reason = "no model is configured, no key is set, and no model server answers on this machine";
    let demo = json!([{
        "model": "demo", "protocol": null, "key": null, "context_window": null, "max_output": null, "price": null,
        "status": "built_in", "message": "built in", "active": true, "reason": reason,
    }]);
    assert_eq!((ran.code, ran.json()), (0, demo));
}

#[test]
fn a_key_in_the_environment_is_seen_and_not_shown_and_nobody_is_asked() {
    let world = World::new();
    let ran = world.run_with(&[ALONE, ("ANTHROPIC_API_KEY", KEY)], &["models", "--json"]);
    let expected = json!({
        "model": "anthropic/claude-sonnet-4-5", "protocol": "anthropic",
        "key": { "from": "variable", "name": "ANTHROPIC_API_KEY", "set": true },
        "context_window": 200_000, "max_output": 32_000,
        "price": { "input": 3, "output": 15, "cached": 0.3, "cache_writes": 3.75 },
        "status": "not_asked", "message": "not asked", "active": true, "reason": "ANTHROPIC_API_KEY is set",
    });
    assert_eq!(ran.json()[0], expected);
    assert_eq!(rows(&ran).len(), 2, "{ran:?}");
    let shown = world.run_with(&[ALONE, ("ANTHROPIC_API_KEY", KEY)], &["models"]);
    for ran in [&ran, &shown] {
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
    }
}

#[test]
fn servers_on_this_machine_are_found_with_each_of_their_models() {
    let (first, second) = (Listener::answering(200, &list(&[])), Listener::answering(200, &list(&["qwen3:8b", "llama"])));
    let other = Listener::answering(404, "{}");
    let addresses = format!("{},{}, {}", first.address, other.address, second.address);
    let ran = World::new().run_with(&[("HAFT_LOCAL_MODELS", &addresses)], &["models", "--json"]);
    assert_eq!(rows(&ran), [pair("local3/qwen3:8b", "ok"), pair("local3/llama", "ok"), pair("demo", "built in")]);
    assert_eq!(ran.json()[0]["reason"], format!("a model server answers at {}", second.address));
    assert_eq!(second.requests().len(), 1);
}

#[test]
fn name_that_the_user_gave_to_another_server_is_theirs() {
    let (found, own) = (Listener::answering(200, &list(&["a"])), Listener::answering(200, &list(&["b"])));
    let world = World::with_config(&format!("[providers.local]\nbase_url = \"{}\"\nmodels = [\"b\"]\n", own.url()));
    let ran = world.run_with(&[("HAFT_LOCAL_MODELS", &found.address.to_string())], &["models", "--json"]);
    assert_eq!(rows(&ran), [pair("local/b", "ok"), pair("demo", "built in")]);
}

/// One provider for each thing that can be the matter.
fn configured(good: &Listener, refusing: &Listener, other: &Listener) -> String {
    format!(
        r#"
model = "good/a"
[providers.good]
base_url = "{}"
api_key_env = "GOOD_KEY"
models = ["a", "b"]
[providers.refusing]
protocol = "anthropic"
base_url = "{}"
api_key_env = "GOOD_KEY"
models = ["a"]
[providers.unlisted]
base_url = "{}"
models = ["a"]
[providers.gone]
base_url = "http://127.0.0.1:9/v1"
models = ["a"]
[providers.keyless]
base_url = "http://127.0.0.1:9/v1"
api_key_env = "NOT_SET"
models = ["a"]
[providers.nowhere]
models = ["a"]
[agents.odd]
model = "nobody/a"
"#,
        good.url(),
        refusing.url(),
        other.url()
    )
}

#[test]
fn each_provider_is_asked_once_and_what_is_wrong_is_said() {
    let good = Listener::answering(200, &list(&["a", "c"]));
    let refusing = Listener::answering(401, &json!({ "error": { "message": format!("invalid x-api-key {KEY}") } }).to_string());
    let other = Listener::answering(404, "{}");
    let world = World::with_config(&configured(&good, &refusing, &other));
    let ran = world.run_with(&[ALONE, ("GOOD_KEY", KEY)], &["models", "--check", "--json"]);
    assert_eq!(
        rows(&ran),
        [
            pair("good/a", "ok"),
            pair("nobody/a", "misconfigured: there is no provider 'nobody'"),
            pair("good/b", "ok, but this model is not in its list"),
            pair("refusing/a", "wrong key (401)"),
            pair("unlisted/a", "answers, but has no list of models (404)"),
            pair("gone/a", "unreachable: Nothing listens at 127.0.0.1:9"),
            pair("keyless/a", "no key"),
            pair("nowhere/a", "misconfigured: the provider 'nowhere' has no address"),
            pair("demo", "built in"),
        ]
    );
    assert_eq!((ran.code, ran.json()[0]["active"].as_bool()), (0, Some(true)));
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
    let asked = good.requests();
    assert!(asked.len() == 1 && asked[0].contains(&format!("authorization: Bearer {KEY}")), "{asked:?}");
    assert_eq!((refusing.requests().len(), other.requests().len()), (1, 1));
}

#[test]
fn a_check_fails_if_the_model_in_use_does() {
    let world = World::with_config("model = \"gone/a\"\n[providers.gone]\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    assert_eq!(world.run_with(&[ALONE], &["models", "--check"]).code, 1);
    assert_eq!(world.run_with(&[ALONE], &["models"]).code, 0);
}

#[test]
fn providers_elsewhere_are_not_asked_unless_all_are() {
    // Only numbers, so that not even a name is looked up if this fails.
    let config = "[providers.far]\nbase_url = \"https://192.0.2.1/v1\"\nmodels = [\"a\"]\n";
    let ran = World::with_config(config).run_with(&[ALONE], &["models", "--json"]);
    assert_eq!(rows(&ran), [pair("far/a", "not asked"), pair("demo", "built in")]);
    assert_eq!(ran.json()[0]["reason"], "it is the first of providers.far.models");
}

#[test]
fn every_line_fits_forty_columns() {
    let (good, refusing, other) = (Listener::answering(200, &list(&["a"])), Listener::answering(401, "{}"), Listener::answering(404, "{}"));
    let world = World::with_config(&configured(&good, &refusing, &other));
    for columns in ["40", "80", "120"] {
        let variables = [ALONE, ("GOOD_KEY", KEY), ("OPENAI_API_KEY", KEY), ("COLUMNS", columns)];
        let ran = world.run_with(&variables, &["models"]);
        let most: usize = columns.parse().unwrap();
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= most), "{columns}:\n{}", ran.stdout);
        for words in ["* good/a", "openai/gpt-5.1", "OPENAI_API_KEY", "wrong key (401)", "not asked"] {
            assert!(ran.stdout.contains(words), "{columns}: {words} in\n{}", ran.stdout);
        }
    }
}

#[test]
fn a_command_gives_the_key_when_it_is_asked_for() {
    let server = Listener::answering(200, &list(&["a"]));
    let world = World::new();
    let config =
        |command: &str| format!("[providers.work]\nbase_url = \"{}\"\nmodels = [\"a\"]\napi_key_command = {command:?}\n", server.url());
    let marker = world.path("home/ran");
    let command = format!("sh -c 'touch {}; echo {KEY}; echo more'", marker.display());
    std::fs::write(world.path("config/haft/config.toml"), config(&command)).unwrap();
    let ran = world.run_with(&[ALONE], &["models", "--json"]);
    assert_eq!((rows(&ran)[0].clone(), marker.exists()), (pair("work/a", "not asked"), false));
    assert_eq!(ran.json()[0]["key"], json!({ "from": "command", "name": "sh" }));
    let ran = world.run_with(&[ALONE], &["models", "--check", "--json"]);
    assert_eq!((rows(&ran)[0].clone(), marker.exists()), (pair("work/a", "ok"), true));
    assert!(server.requests()[0].contains(&format!("authorization: Bearer {KEY}\r\n")), "{:?}", server.requests());
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
    for (command, why) in [
        (format!("sh -c 'echo {KEY}; echo {KEY} >&2; exit 3'"), "'sh' ended with exit code 3"),
        ("sh -c 'echo; echo x'".into(), "the first line of the output of 'sh' is empty"),
        ("no-such-program-at-all x".into(), "'no-such-program-at-all' cannot be run: No such file or directory (os error 2)"),
        ("pass | head".into(), "api_key_command has '|', but is run without a shell; quote it, or write sh -c '…'"),
    ] {
        std::fs::write(world.path("config/haft/config.toml"), config(&command)).unwrap();
        let ran = world.run_with(&[ALONE], &["run", "hello", "--json"]);
        let said = json!({
            "status": "error", "error_type": "config_error",
            "message": format!("there is no key for the provider 'work': {why}"),
            "help": "it is api_key_command in [providers.work]; run it yourself to see its output",
        });
        assert_eq!((ran.code, ran.json()), (2, said), "{command}");
        assert!(!ran.stderr.contains(KEY), "{ran:?}");
        let listed = world.run_with(&[ALONE], &["models", "--check", "--json"]);
        assert_eq!((listed.code, &listed.json()[0]["status"]), (1, &json!("no_key")), "{command}");
        assert!(!listed.stdout.contains(KEY) && !listed.stderr.contains(KEY), "{listed:?}");
    }
}

#[test]
fn a_key_cannot_come_from_two_places() {
    let config =
        "model = \"work/a\"\n[providers.work]\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"A\"\napi_key_command = \"b\"\n";
    let ran = World::with_config(config).run_with(&[ALONE], &["run", "hello"]);
    assert!(ran.code == 2 && ran.stderr.contains("the provider 'work' has both api_key_env and api_key_command"), "{ran:?}");
}

#[test]
fn settings_of_a_model_and_prices_hold() {
    let config = r#"
[providers.work]
base_url = "http://127.0.0.1:9/v1"
models = ["small", "large", "plain"]
[models."work/small"]
context_window = 8_000
[models."work/large"]
context_window = 500_000
max_output = 100_000
[prices."work/*"]
input = 0.25
output = 2
[prices."work/large"]
input = 1
output = 4
cached = 0.125
"#;
    let models = World::with_config(config).run_with(&[ALONE], &["models", "--json"]).json();
    let price =
        |input: Value, output: u64, cached: Value| json!({ "input": input, "output": output, "cached": cached, "cache_writes": null });
    let of = |place: usize| {
        let model = &models[place];
        (model["context_window"].clone(), model["max_output"].clone(), model["price"].clone())
    };
    assert_eq!(of(0), (json!(8_000), json!(2_000), price(json!(0.25), 2, Value::Null)));
    assert_eq!(of(1), (json!(500_000), json!(100_000), price(json!(1), 4, json!(0.125))));
    assert_eq!(of(2), (json!(128_000), json!(8_192), price(json!(0.25), 2, Value::Null)));
}

#[test]
fn retries_and_times_of_a_provider_hold() {
    let failing = Listener::answering(503, "{}");
    let silent = Listener::silent();
    for (server, setting, words) in [(&failing, "retries = 0", "sent once"), (&silent, "total_seconds = 1", "within 1s")] {
        let config = format!("model = \"work/a\"\n[providers.work]\nbase_url = \"{}\"\n{setting}\n", server.url());
        let ran = World::with_config(&config).run_with(&[ALONE], &["run", "hello"]);
        assert!(ran.code == 1 && ran.stderr.contains(words), "{setting}: {ran:?}");
    }
}

#[test]
fn the_configuration_never_shows_a_key() {
    let world = World::with_config("[providers.work]\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"WORK_KEY\"\n");
    for words in [&["config", "show"][..], &["config", "show", "--json"], &["models", "-v"]] {
        let ran = world.run_with(&[ALONE, ("WORK_KEY", KEY)], words);
        assert!(ran.code == 0 && !ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{words:?}: {ran:?}");
    }
}
