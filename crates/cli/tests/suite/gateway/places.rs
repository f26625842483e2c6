//! The other places of the page: tools, history, undo, agents, usage, settings, policy.

use serde_json::{Value, json};

use super::Served;
use crate::suite::harness::World;

fn named<'v>(list: &'v Value, key: &str, name: &str) -> &'v Value {
    let found = list.as_array().unwrap().iter().find(|entry| entry[key] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list:#}"))
}

#[test]
fn tools_are_listed_with_reasons_and_explained() {
    let world = World::with_config("[tools]\ndeny = [\"write_file\"]\n");
    let served = Served::start(&world);
    let page = served.page();
    let tools = page.read("/api/tools");
    let (read, write) = (named(&tools["tools"], "name", "read_file"), named(&tools["tools"], "name", "write_file"));
    assert_eq!((&read["offered"], &read["source"], &read["offered_to"]), (&json!(true), &json!("built-in"), &json!(["main"])));
    assert_eq!((&write["offered"], write["reason"].as_str().unwrap().contains("tools.deny")), (&json!(false), true));
    assert_eq!(named(&tools["tools"], "name", "exec")["invocable"], false);
    assert!(read["parameters"].is_null(), "{read:#}");
    let shown = page.read("/api/tools/read?provider=anthropic");
    assert_eq!((&shown["canonical"], &shown["parameters"]["properties"]["path"]["type"]), (&json!("read_file"), &json!("string")));
    assert!(shown["projected"]["parameters"].is_object(), "{shown:#}");
    assert_eq!(page.get("/api/tools/no_such_tool").status, 404);

    let explained = page.post("/api/tools/write_file/explain", &json!({ "arguments": { "path": "b.txt", "content": "x" } })).json();
    assert_eq!(explained["verdict"], "deny");
    assert!(explained["trace"].as_array().unwrap().iter().any(|step| step["outcome"] == "deny"), "{explained:#}");
    let allowed = page.post("/api/tools/read_file/explain", &json!({ "arguments": { "path": "a.txt" } })).json();
    assert_eq!((&allowed["verdict"], &allowed["effects"][0]["target"]), (&json!("allow"), &json!("a.txt")));
    let table = page.read("/api/policy");
    assert_eq!(named(&table["tools"], "tool", "write_file")["deciding"], "global");
    let cells = &named(&table["tools"], "tool", "write_file")["cells"];
    assert_eq!((&cells["global"]["outcome"], &cells["profile"]), (&json!("deny"), &json!(null)), "{cells:#}");
}

#[test]
fn history_is_filtered_and_a_call_is_undone_after_a_look() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    page.turn(&session, "write \"two\" to a.txt and read a.txt");
    page.turn(&session, "read missing.txt");
    let all = page.read("/api/history");
    assert_eq!(all["calls"].as_array().unwrap().len(), 3, "{all:#}");
    for (query, tools) in [
        ("tool=write_file", 1),
        ("status=failed", 1),
        ("status=success", 2),
        ("text=missing", 1),
        ("path=a.txt&tool=read_file", 1),
        ("verdict=deny", 0),
        ("since=2100-01-01T00:00:00Z", 0),
        ("agent=main", 3),
    ] {
        let found = page.read(&format!("/api/history?{query}"));
        assert_eq!(found["calls"].as_array().unwrap().len(), tools, "{query}: {found:#}");
    }
    let first = page.read("/api/history?limit=2");
    let rest = page.read(&format!("/api/history?limit=2&before={}", first["before"].as_str().unwrap()));
    assert_eq!((rest["calls"].as_array().unwrap().len(), &rest["before"]), (1, &Value::Null));
    assert_eq!(page.get("/api/history?since=yesterday").status, 400);

    let written = page.read("/api/history?tool=write_file")["calls"][0].clone();
    assert_eq!((&written["can_undo"], &written["arguments_html"]), (&json!(true), &Value::Null));
    let whole = page.read(&format!("/api/history/{}", written["record"].as_str().unwrap()));
    assert!(whole["arguments_html"].as_str().unwrap().contains("a.txt"), "{whole:#}");
    let path = format!("/api/history/{}/undo", written["record"].as_str().unwrap());
    let look = page.read(&path);
    assert_eq!((&look["files"][0]["action"], &look["files"][0]["conflict"]), (&json!("restore"), &Value::Null), "{look:#}");
    assert!(look["files"][0]["diff_html"].as_str().unwrap().contains("+one"), "{look:#}");
    assert_eq!(world.read("a.txt"), "two\n");
    let undone = page.post(&path, &json!({}));
    assert_eq!(undone.status, 200, "{}", undone.body);
    assert_eq!(world.read("a.txt"), "one\n");
    assert_eq!(page.post(&path, &json!({})).status, 409, "once");
    let unknown = "/api/history/01a1e0fc-507f-7000-8000-551430c2edcf/undo";
    assert_eq!((page.get(unknown).status, page.post(unknown, &json!({})).status), (404, 404));
    let usage = page.read("/api/usage");
    assert_eq!(named(&usage["tools"], "tool", "read_file")["calls"], 2);
    assert_eq!(page.read(&format!("/api/sessions/{session}/files"))["files"], json!([]), "nothing is left of its changes");
}

#[test]
fn agent_is_edited_by_ticking_tools() {
    let world = World::with_config("# mine\n");
    let served = Served::start(&world);
    let page = served.page();
    assert_eq!(page.read("/api/agents")["agents"][0]["name"], "main");
    assert_eq!(named(&page.read("/api/agents/main")["tools"], "name", "exec")["offered"], true);
    let change = json!({ "off": ["exec"] });
    let preview = page.post("/api/agents/main/preview", &change).json();
    assert!(preview["diff_html"].as_str().unwrap().contains("exec"), "{preview:#}");
    assert_eq!(named(&preview["tools"], "name", "exec")["offered"], false);
    assert_eq!(std::fs::read_to_string(world.path("config/haft/config.toml")).unwrap(), "# mine\n");
    let saved = page.send("PUT", "/api/agents/main", change.to_string().as_bytes());
    assert_eq!(saved.status, 200, "{}", saved.body);
    assert!(std::fs::read_to_string(world.path("config/haft/config.toml")).unwrap().starts_with("# mine\n"));
    assert_eq!(named(&page.read("/api/tools")["tools"], "name", "exec")["offered"], false);
    assert_eq!(page.get("/api/agents/nobody").status, 404);
}

#[test]
fn settings_policy_and_the_rest_answer() {
    let world = World::with_config("access = \"read-only\"\n");
    let served = Served::start(&world);
    let page = served.page();
    let settings = page.read("/api/settings");
    let access = named(&settings["settings"], "key", "access");
    assert_eq!((&access["value"], &access["source"]["layer"]), (&json!("read-only"), &json!("user")));
    assert_eq!(page.read("/api/me")["access"], "read-only");
    page.post("/api/tools/get_current_time/invoke", &json!({}));
    let simulated = page.post("/api/policy/simulate", &json!({ "config": "[tools]\ndeny = [\"get_current_time\"]\n" })).json();
    assert_eq!((&simulated["differences"][0]["tool"], &simulated["differences"][0]["now"]), (&json!("get_current_time"), &json!("deny")));
    let wrong = page.post("/api/policy/simulate", &json!({ "config": "acess = 1\n" })).json();
    assert!(!wrong["problems"].as_array().unwrap().is_empty());
    assert_eq!(page.read("/api/jobs")["jobs"], json!([]));
    assert_eq!(page.read("/api/quarantine")["entries"], json!([]));
    assert!(page.read("/api/connections")["servers"].is_array());
    let html = page.post("/api/render", &json!({ "text": "*a* <script>", "as": "markdown" })).json();
    assert!(html["html"].as_str().unwrap().starts_with("<p><em>a</em>"), "{html}");
    let document = page.read("/api/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    // Every path of the document is there: none is "no such path".
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|method| *method == "get" && path.as_str() != "/api/events") {
            let answer = page.send(&method.to_uppercase(), &path.replace(['{', '}'], ""), b"");
            assert!(!answer.body.contains("There is no such path"), "{method} {path}");
        }
    }
}

#[test]
fn advice_on_a_refusal_is_carried_out_and_holds_from_the_next_message() {
    let world = World::with_config("# mine\nrules.deny = ['write(notes.txt)'] # for now\n");
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let events = page.turn(&session, "write \"hello\" to notes.txt");
    let denied = events.iter().filter(|(name, _)| name == "call").map(|(_, data)| &data["call"]).find(|call| call["state"] == "denied");
    let denied = denied.unwrap_or_else(|| panic!("{events:#?}"));
    let edits = json!({ "edits": denied["advice"]["edits"] });
    assert_eq!(edits["edits"][0]["edit"], "remove", "{denied:#}");
    let preview = page.post("/api/settings/preview", &edits).json();
    assert_eq!((&preview["changed"], &preview["written"]), (&json!(true), &json!(false)), "{preview:#}");
    assert!(preview["diff_html"].as_str().unwrap().contains("notes.txt"), "{preview:#}");
    let file = || std::fs::read_to_string(world.path("config/haft/config.toml")).unwrap();
    assert!(file().contains("write(notes.txt)"), "a look changes nothing");
    // Only an admin saves.
    let minted = page.post("/api/tokens", &json!({ "scopes": ["view", "chat", "approve"] })).json();
    let other = served.stranger().bearer(minted["token"].as_str().unwrap());
    assert_eq!(other.send("PUT", "/api/settings", edits.to_string().as_bytes()).status, 403);
    let saved = page.send("PUT", "/api/settings", edits.to_string().as_bytes());
    assert_eq!((saved.status, &saved.json()["written"]), (200, &json!(true)), "{}", saved.body);
    assert_eq!(file(), "# mine\nrules.deny = [] # for now\n");
    page.turn(&session, "write \"hello\" to notes.txt");
    assert_eq!(world.read("notes.txt"), "hello\n", "the same session has the new settings");
}

/// What a page that only looks must not read, in every shape that a file has room for it.
const SECRETS: &str = "hooks = [{ event = \"before_tool_call\", command = \"./hook --token tok-hook\" }]\n\
     access = \"read-only\" # was tok-comment\n\
     agents = { coder = { access = \"read-only\" }, other = { prompt = \"say tok-prompt\" } }\n\
     mcp.servers.hub = { command = \"hub-tok-command\", args = [\"--token=tok-argument\"], env = { KEY = \"tok-env\" } }\n\
     mcp.servers.far = { url = \"https://me:tok-password@far.invalid/mcp?key=tok-query\", headers = { Authorization = \"tok-header\" } }\n\
     providers.work = { protocol = \"openai\", base_url = \"http://127.0.0.1:9/v1\", api_key_command = \"echo tok-key\" }\n";

#[test]
fn secrets_beside_a_changed_key_are_in_no_answer_to_a_page_that_looks() {
    let world = World::with_config(SECRETS);
    let served = Served::start(&world);
    let admin = served.page();
    let minted = admin.post("/api/tokens", &json!({ "scopes": ["view"] })).json();
    let viewer = served.stranger().bearer(minted["token"].as_str().unwrap());
    let set = |key: &str, value: &str| json!({ "edits": [{ "edit": "set", "key": key, "value": value }] });
    for (path, body, shown) in [
        ("/api/settings/preview", set("access", "workspace-write"), "+access = &quot;workspace-write&quot;"),
        ("/api/settings/preview", set("agents.coder.access", "workspace-write"), "+agents.coder.access = &quot;workspace-write&quot;"),
        ("/api/agents/coder/preview", json!({ "access": "workspace-write" }), "+agents.coder.access = &quot;workspace-write&quot;"),
        ("/api/agents/coder/preview", json!({ "prompt": "Be kind.\n\"Now\"" }), "Be kind."),
    ] {
        let answer = viewer.post(path, &body);
        assert_eq!(answer.status, 200, "{path} {body}: {}", answer.body);
        let html = answer.json()["diff_html"].as_str().unwrap().to_owned();
        assert!(html.contains(shown), "{path} {body}: {html}");
        assert!(!answer.body.contains("tok-"), "{path} {body}: {}", answer.body);
    }
    let settings = viewer.get("/api/settings");
    assert!(!settings.body.replace("say tok-prompt", "").contains("tok-"), "{}", settings.body);
    assert!(settings.body.contains("far.invalid/mcp") && settings.body.contains("(not shown)"), "what is no secret is shown");
    for path in ["/api/connections", "/api/trust", "/api/agents/other", "/api/doctor", "/api/tools", "/api/policy"] {
        // An admin asks first: what is kept of that answer is not for others.
        let (whole, seen) = (admin.get(path), viewer.get(path));
        assert_eq!((whole.status, seen.status), (200, 200), "{path}");
        assert!(!seen.body.replace("say tok-prompt", "").contains("tok-"), "{path}: {}", seen.body);
    }
    assert!(admin.get("/api/connections").body.contains("hub-tok-command --token=tok-argument"), "who may change it sees it");
    assert_eq!(std::fs::read_to_string(world.path("config/haft/config.toml")).unwrap(), SECRETS);
}

#[test]
fn background_process_is_listed_with_the_memory_that_it_holds_until_it_is_killed() {
    let world = World::with_config("[gateway]\ninvoke_allow = [\"exec\"]\n");
    let served = Served::start(&world);
    let page = served.page();
    // A shell with a child of its own.
    let command = "sleep 1; echo on; sleep 300; true";
    let arguments = json!({ "command": command, "background": true });
    let started = page.post("/api/tools/exec/invoke", &json!({ "arguments": arguments }));
    assert_eq!(started.status, 200, "{}", started.body);
    let mut jobs = page.read("/api/jobs");
    // It continues after its call.
    while jobs["jobs"][0]["tail"] == "" && jobs["jobs"][0]["state"] == "running" {
        std::thread::sleep(std::time::Duration::from_millis(50));
        jobs = page.read("/api/jobs");
    }
    let job = &jobs["jobs"][0];
    let shown = (&job["state"], &job["command"], &job["tail"]);
    assert_eq!(shown, (&json!("running"), &json!(command), &json!("on\n")), "{jobs:#} {}", started.body);
    assert!(job["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 100_000), "{job:#}");
    assert_eq!(page.send("DELETE", &format!("/api/jobs/{}", job["id"].as_str().unwrap()), b"").status, 200);
    let jobs = page.read("/api/jobs");
    assert_eq!((&jobs["jobs"][0]["state"], &jobs["jobs"][0]["memory_bytes"]), (&json!("ended"), &Value::Null), "{jobs:#}");
}

#[test]
fn page_cannot_change_what_runs_or_break_the_file() {
    let world = World::with_config("# mine\n");
    let served = Served::start(&world);
    let page = served.page();
    for edits in [
        json!([{ "edit": "set", "key": "gateway.invoke_allow", "value": ["exec"] }]),
        json!([{ "edit": "add", "key": "gateway.invoke_allow", "entry": "exec" }]),
        json!([{ "edit": "set", "key": "mcp.servers.x.command", "value": "/bin/sh" }]),
        json!([{ "edit": "set", "key": "ask", "value": "changes" }, { "edit": "set", "key": "exec.host", "value": "host" }]),
        json!([{ "edit": "set", "key": "ask", "value": "sometimes" }]),
        json!([{ "edit": "set", "key": "ask", "value": 1 }]),
        json!([{ "edit": "add", "key": "rules.allow", "entry": "no rule(" }]),
        json!([{ "edit": "set", "key": "tools.unknown", "value": "x" }]),
        json!([{ "edit": "by hand", "what": "x" }]),
    ] {
        let refused = page.send("PUT", "/api/settings", json!({ "edits": edits }).to_string().as_bytes());
        assert_eq!(refused.status, 400, "{edits}: {}", refused.body);
    }
    let file = || std::fs::read_to_string(world.path("config/haft/config.toml")).unwrap();
    assert_eq!(file(), "# mine\n");
    let saved = page.send("PUT", "/api/settings", br#"{"edits":[{"edit":"set","key":"ask","value":"changes"}]}"#);
    assert_eq!((saved.status, file()), (200, "ask = \"changes\"\n# mine\n".to_owned()), "{}", saved.body);
    assert_eq!(page.read("/api/me")["ask"], "changes");
}
