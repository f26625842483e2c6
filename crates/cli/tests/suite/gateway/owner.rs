//! What the owner of a server sees and changes on its page: keys of providers, agents, trust, and what was decided about similar calls.

use std::fs;

use serde_json::{Value, json};

use super::{PageClient, Served};
use crate::suite::harness::World;
use crate::suite::models::Listener;

/// The file of the user.
fn file(world: &World) -> String {
    fs::read_to_string(world.path("config/haft/config.toml")).unwrap()
}

fn put(page: &PageClient, path: &str, body: &Value) -> (u16, Value) {
    let answer = page.send("PUT", path, body.to_string().as_bytes());
    (answer.status, answer.json())
}

fn named<'v>(list: &'v Value, key: &str, name: &str) -> &'v Value {
    let found = list.as_array().unwrap().iter().find(|entry| entry[key] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list:#}"))
}

#[test]
fn providers_say_where_their_keys_come_from_and_one_request_tries_each() {
    let good = Listener::answering(200, r#"{"data": [{"id": "a"}, {"id": "b"}]}"#);
    let bad = Listener::answering(401, "{}");
    let table = |name: &str, server: &Listener, key: &str| {
        format!("[providers.{name}]\nprotocol = \"openai\"\nbase_url = \"{}\"\n{key}\n", server.url())
    };
    let world = World::with_config(&format!(
        "{}{}{}[providers.gone]\nprotocol = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key_command = \"echo x\"\n",
        table("good", &good, "api_key_command = \"echo right-key\""),
        table("bad", &bad, "api_key_command = \"echo wrong-secret\""),
        table("unset", &good, "api_key_env = \"NO_SUCH_KEY\""),
    ));
    let served = Served::start(&world);
    let page = served.page();
    let answer = page.get("/api/connections");
    assert!(!answer.body.contains("right-key") && !answer.body.contains("wrong-secret"), "no value is shown: {}", answer.body);
    let providers = answer.json()["providers"].clone();
    for (name, key, usable, line) in [
        ("good", "output of the command echo", true, 4),
        ("bad", "output of the command echo", true, 8),
        ("unset", "variable NO_SUCH_KEY, not set", false, 12),
    ] {
        let row = named(&providers, "name", name);
        assert_eq!((&row["key"], &row["usable"], &row["line"]), (&json!(key), &json!(usable), &json!(line)), "{row:#}");
        assert!(row["file"].as_str().unwrap().ends_with("config.toml"), "{row:#}");
    }
    let asked = || (good.requests().len(), bad.requests().len());
    let before = asked();
    for (name, ok, text, has_time, has_help) in [
        ("good", true, "answers and lists 2 models", true, false),
        ("bad", false, "wrong key (401)", true, true),
        ("unset", false, "no key", false, true),
        ("gone", false, "unreachable: ", true, true),
    ] {
        let answer = page.post(&format!("/api/providers/{name}/test"), &json!({}));
        assert!(!answer.body.contains("wrong-secret"), "{}", answer.body);
        let trial = answer.json();
        assert_eq!(
            (&trial["ok"], trial["latency_ms"].is_number(), trial["help"].is_string()),
            (&json!(ok), has_time, has_help),
            "{trial:#}"
        );
        assert!(trial["text"].as_str().unwrap().starts_with(text), "{trial:#}");
    }
    assert_eq!(asked(), (before.0 + 1, before.1 + 1), "one request for each test that has a key");
    assert!(good.requests().last().unwrap().contains("right-key"), "the key goes to its provider alone");
    for name in ["nobody", "%3Cimg%20onerror%3D1%3E", "%E2%80%AEx", &"a".repeat(5_000)] {
        let missing = page.post(&format!("/api/providers/{name}/test"), &json!({}));
        assert_eq!(missing.status, 404, "{name}: {}", missing.body);
        assert!(!missing.body.contains('\u{202e}'), "{}", missing.body);
    }
}

#[test]
fn agent_keys_are_changed_saved_and_taken_back_with_the_comments_of_the_file() {
    let text = "# mine\n[agents.coder] # the one\naccess = \"read-only\" # safe\n[providers.own]\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    let world = World::with_config(text);
    let served = Served::start(&world);
    let page = served.page();
    let coder = page.read("/api/agents/coder");
    assert_eq!((&coder["prompt_tokens"], &named(&coder["keys"], "key", "access")["value"]), (&json!(0), &json!("read-only")));
    assert_eq!(named(&coder["keys"], "key", "profile")["choices"], json!(["minimal", "messaging", "coding", "full"]));
    let offered = |answer: &Value| -> Vec<(String, bool)> {
        let tools = answer["tools"].as_array().unwrap().iter();
        tools.map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool["offered"] == true)).collect()
    };
    assert_eq!(offered(&page.post("/api/agents/coder/preview", &json!({})).json()), offered(&coder), "nothing is changed yet");
    let change = json!({ "model": "own/m", "prompt": "Be brief.\nBe kind.", "profile": "minimal", "access": "workspace-write" });
    let preview = page.post("/api/agents/coder/preview", &change).json();
    assert_eq!((&preview["changed"], &preview["written"], &preview["undo"]), (&json!(true), &json!(false), &Value::Null));
    assert!(preview["prompt_tokens"].as_u64().unwrap() > 3 && preview["diff_html"].as_str().unwrap().contains("Be kind."), "{preview:#}");
    assert_eq!(file(&world), text, "a look changes nothing");
    let (status, saved) = put(&page, "/api/agents/coder", &change);
    let now = file(&world);
    assert_eq!((status, &saved["written"]), (200, &json!(true)), "{saved:#}");
    for part in ["# mine\n[agents.coder] # the one\n", "\"workspace-write\" # safe", "own/m", "minimal", "Be brief.\nBe kind."] {
        assert!(now.contains(part), "{part} is not in {now}");
    }
    let coder = page.read("/api/agents/coder");
    assert_eq!((&coder["model"]["value"], &coder["access"]["value"]), (&json!("own/m"), &json!("workspace-write")));
    // An empty text takes a key out of the file.
    let (_, unset) = put(&page, "/api/agents/coder", &json!({ "prompt": "", "model": "", "profile": "" }));
    assert!(!file(&world).contains("prompt") && !file(&world).contains("minimal"), "{}", file(&world));
    // The newest save is taken back first: an older one would overwrite it.
    let undo = |saved: &Value| page.post("/api/settings/undo", &json!({ "undo": saved["undo"] }));
    assert_eq!(undo(&saved).status, 409);
    assert_eq!((undo(&unset).status, file(&world) == now), (200, true));
    assert_eq!(undo(&unset).status, 404, "once");
    for (body, status) in [(json!({ "undo": "none" }), 404), (json!({ "undo": "\u{202e}<b>" }), 404), (json!({}), 400)] {
        assert_eq!(page.post("/api/settings/undo", &body).status, status, "{body}");
    }
    let (_, asked) = put(&page, "/api/settings", &json!({ "edits": [{ "edit": "set", "key": "ask", "value": "changes" }] }));
    assert_eq!((undo(&asked).status, file(&world) == now), (200, true), "settings are taken back the same way");
}

#[test]
fn agent_keys_that_are_wrong_change_nothing() {
    let text = "[agents.coder]\n";
    let world = World::with_config(text);
    let served = Served::start(&world);
    let page = served.page();
    for (change, status) in [
        (json!({ "model": "nonsense" }), 400),
        (json!({ "model": "nobody/m" }), 400),
        (json!({ "access": "everything" }), 400),
        (json!({ "profile": "none such" }), 400),
        (json!({ "prompt": "x".repeat(70_000) }), 400),
        (json!({ "prompt": 7 }), 400),
    ] {
        let (found, answer) = put(&page, "/api/agents/coder", &change);
        assert!(found == status || found == 500, "{found}: {answer:#}");
        assert!(answer["message"].is_string(), "{answer:#}");
    }
    assert_eq!(file(&world), text);
    // Text stays text, whatever it looks like.
    let hostile = "</textarea><img src=x onerror=alert(1)> \u{202e} \"\"\" ''' \\";
    let (status, saved) = put(&page, "/api/agents/coder", &json!({ "prompt": hostile }));
    assert_eq!(status, 200, "{saved:#}");
    assert!(!saved["diff_html"].as_str().unwrap().contains("<img"), "{saved:#}");
    assert_eq!(page.read("/api/agents/coder")["prompt"]["value"], hostile.trim_end());
}

#[test]
fn trust_is_listed_with_its_fingerprint_and_revoked() {
    let world = World::new();
    world.write(".haft/config.toml", "[[hooks]]\nevent = \"before_tool_call\"\ncommand = \"true\"\n");
    assert_eq!(world.run(&["trust", "--json"]).json()["trusted"], true);
    let served = Served::start(&world);
    let page = served.page();
    let listed = page.read("/api/trust")["entries"].clone();
    let folder = named(&listed, "kind", "folder");
    assert_eq!((folder["fingerprint"].as_str().unwrap().len(), folder["since"].is_string()), (64, true), "{folder:#}");
    let hooks = || page.read("/api/settings").to_string().contains("\"hooks[");
    assert!(hooks());
    for (body, status) in [
        (json!({ "kind": "folder", "name": "/no/such" }), 404),
        (json!({ "kind": "plugin", "name": "<img onerror=x>" }), 404),
        (json!({ "kind": "mcp_server", "name": "\u{202e}" }), 404),
        (json!({ "kind": "everything", "name": "x" }), 400),
        (json!({ "kind": "folder" }), 400),
    ] {
        let answer = page.post("/api/trust/revoke", &body);
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
    }
    let body = json!({ "kind": "folder", "name": folder["name"] });
    assert_eq!(page.post("/api/trust/revoke", &body).status, 200);
    assert_eq!(page.post("/api/trust/revoke", &body).status, 404, "once");
    assert_eq!(page.read("/api/trust")["entries"], json!([]));
    assert_eq!(world.run(&["trust", "--show", "--json"]).json()["trusted"], false, "the command sees it, too");
}

#[test]
fn tools_of_a_server_wait_again_when_their_trust_is_revoked() {
    let world = World::new();
    world.configure(&crate::suite::mcp_servers::table(&world, "good", ""));
    assert_eq!(world.run(&["mcp", "test", "hub"]).code, 0);
    let served = Served::start(&world);
    let page = served.page();
    let trusted = named(&page.read("/api/trust")["entries"], "kind", "mcp_server").clone();
    assert!(trusted["what"].as_str().unwrap().starts_with("2 tools: ") && trusted["since"].is_string(), "{trusted:#}");
    assert_eq!(page.post("/api/trust/revoke", &json!({ "kind": "mcp_server", "name": "hub" })).status, 200);
    assert_eq!(page.read("/api/trust")["entries"], json!([]));
    let row = page.read("/api/connections")["servers"][0].clone();
    assert_eq!((&row["tools"], &row["waiting"]), (&json!([]), &json!(2)), "{row:#}");
    let review = page.post("/api/connections/hub/review", &json!({})).json();
    assert_eq!(review["changes"].as_array().unwrap().len(), 2, "a start approves nothing: {review:#}");
    let approved = page.post("/api/connections/hub/approve", &json!({ "fingerprint": review["fingerprint"] }));
    assert_eq!((approved.status, page.read("/api/trust")["entries"].as_array().unwrap().len()), (200, 1), "{}", approved.body);
}

#[test]
fn questions_tell_their_risk_and_what_was_decided_about_similar_calls() {
    let world = World::with_config("rules.ask = [\"write(**)\"]\n");
    world.write("a.txt", "one\n");
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let ask = |text: &str, answer: &str| {
        let mut events = page.events(&format!("?session={session}"));
        assert_eq!(page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text })).status, 202);
        let asked = events.until(|name, _| name == "approval").pop().unwrap().1["approval"].clone();
        let body = json!({ "fingerprint": asked["fingerprint"], "answer": answer });
        assert_eq!(page.post(&format!("/api/approvals/{}", asked["id"].as_str().unwrap()), &body).status, 200);
        events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
        asked
    };
    let first = ask("write \"two\" to a.txt", "once");
    assert_eq!(first["risk"], json!({ "level": "low", "words": "writes" }));
    assert_eq!((&first["similar"]["allowed"], &first["similar"]["denied"]), (&json!(0), &json!(0)), "{first:#}");
    ask("write \"three\" to a.txt", "deny");
    ask("write \"other\" to b.txt", "once");
    let last = ask("write \"four\" to a.txt", "deny");
    assert_eq!((&last["similar"]["allowed"], &last["similar"]["denied"]), (&json!(1), &json!(1)), "{last:#}");
    let encoded = last["similar"]["rule"].as_str().unwrap().replace('(', "%28").replace(')', "%29").replace(' ', "%20");
    let found = page.read(&format!("/api/history?rule={encoded}"));
    let targets: Vec<&str> = found["calls"].as_array().unwrap().iter().map(|call| call["title"].as_str().unwrap()).collect();
    assert_eq!(targets, ["a.txt"; 3], "both, and the last one itself");
    for rule in ["no%20rule(", "%3Cimg%3E", "x%0Ay"] {
        assert_eq!(page.read(&format!("/api/history?rule={rule}"))["calls"], json!([]), "{rule}");
    }
    let files = page.read(&format!("/api/sessions/{session}/files"))["files"].clone();
    let counts: Vec<(&Value, &Value)> = files.as_array().unwrap().iter().map(|file| (&file["added"], &file["removed"])).collect();
    assert_eq!(counts, [(&json!(1), &json!(1)), (&json!(1), &json!(0))], "{files:#}");
}

#[test]
fn hidden_tools_name_the_step_and_agents_that_have_the_others() {
    let world = World::with_config("[agents.coder.tools]\ndeny = [\"exec\"]\n");
    let served = Served::start(&world);
    let page = served.page();
    let tools = page.read("/api/tools?agent=coder")["tools"].clone();
    let exec = named(&tools, "name", "exec");
    assert_eq!((&exec["offered_to"], &exec["hidden_by"]["step"]), (&json!(["main"]), &json!("agent")), "{exec:#}");
    let explained = page.post("/api/tools/exec/explain", &json!({ "agent": "coder" })).json();
    let denied = explained["trace"].as_array().unwrap().iter().position(|entry| entry["outcome"] == "deny").unwrap();
    assert_eq!(exec["hidden_by"]["number"], denied + 1, "{explained:#}");
    assert_eq!(named(&tools, "name", "read_file")["hidden_by"], Value::Null);
    let shown = page.read("/api/tools/read_file?provider=openai");
    for html in [&shown["parameters_html"], &shown["projected"]["html"]] {
        assert!(html.as_str().unwrap().starts_with("<pre>{\n"), "{shown:#}");
    }
}
