//! Attacks on the gateway: other sites, wrong tokens, hostile bodies and texts, slow and many readers.

use std::io::Read;

use serde_json::{Value, json};

use super::Served;
use crate::suite::harness::World;

#[test]
fn e01_pages_of_other_sites_and_rebound_names_are_refused() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let port = served.address.rsplit_once(':').unwrap().1.to_owned();
    for (name, value) in [
        ("origin", "https://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", format!("http://evil.example:{port}")),
        ("origin", format!("https://{}", served.address)),
        ("origin", format!("http://{}.evil.example", served.address)),
        ("host", "evil.example".to_owned()),
        ("host", format!("evil.example:{port}")),
        ("host", "127.0.0.1:1".to_owned()),
        ("sec-fetch-site", "cross-site".to_owned()),
    ] {
        let client = page.with(name, &value);
        assert_eq!(client.get("/api/sessions").status, 403, "{name}: {value}");
        assert_eq!(client.post("/api/sessions", &json!({})).status, 403, "{name}: {value}");
        let events = client.get("/api/events");
        assert_eq!(events.status, 403, "{name}: {value}");
        assert!(events.header("access-control-allow-origin").is_none());
    }
    assert_eq!(page.send("OPTIONS", "/api/sessions", b"").header("access-control-allow-origin"), None);
    // The ordinary neighbours: the page itself, and a program without an origin.
    assert_eq!(page.get("/api/sessions").status, 200);
    assert_eq!(
        page.with("host", &format!("localhost:{port}")).with("origin", &format!("http://localhost:{port}")).get("/api/me").status,
        200
    );
}

#[test]
fn e02_wrong_tokens_are_refused_limited_and_never_in_the_address() {
    let world = World::new();
    let served = Served::start(&world);
    let token = served.link_token().to_owned();
    for path in ["/api/me", "/api/sessions", "/api/events", "/api/openapi.json", "/api/nothing"] {
        assert_eq!(served.stranger().get(path).status, 401, "{path}");
        assert_eq!(served.stranger().get(&format!("{path}?token={token}")).status, 401, "{path}");
    }
    let page = served.page();
    assert_eq!(served.stranger().origin().post("/api/login", &json!({ "token": token })).status, 401, "the link works once");
    let guesses: Vec<u16> = (0..14).map(|n| served.stranger().bearer(&format!("guess{n}")).get("/api/me").status).collect();
    assert!(guesses[..9].iter().all(|status| *status == 401) && guesses[13] == 429, "{guesses:?}");
    assert!(served.stranger().bearer("guess").get("/api/me").header("retry-after").is_some());
    // The right token still passes: nobody is locked out.
    assert_eq!(page.get("/api/me").status, 200);
    assert_eq!(page.post("/api/logout", &json!({})).status, 200);
    // Its cookie is now as wrong as any other.
    assert_eq!(page.get("/api/me").status, 429);
}

#[test]
fn e05_tools_that_start_or_send_cannot_be_invoked_by_any_name() {
    let world = World::with_config("access = \"full-access\"\n");
    world.write("a.txt", "hello\n");
    let served = Served::start(&world);
    let page = served.page();
    for name in
        ["exec", "bash", "EXEC", " exec ", "process", "repl", "REPL", "sessions_spawn", "sessions_send", "agent", "Agent", "subagents"]
    {
        let path = format!("/api/tools/{}/invoke", name.replace(' ', "%20"));
        let answer = page.post(&path, &json!({ "arguments": { "command": "touch owned" } }));
        assert!([403, 404].contains(&answer.status), "{name}: {} {}", answer.status, answer.body);
    }
    assert!(!world.file("owned").exists());
    // A file of the project cannot allow it, whatever the server has read before.
    world.write(".haft/config.toml", "gateway.invoke_allow = [\"exec\"]\n");
    assert_eq!(page.read("/api/tools/exec")["invocable"], json!(false));
    assert_eq!(page.post("/api/tools/exec/invoke", &json!({ "arguments": { "command": "touch owned" } })).status, 403);
    std::fs::remove_file(world.file(".haft/config.toml")).unwrap();
    let mut events = page.events("");
    // What the user allows is called, by any name, and nothing else of the list.
    world.configure("access = \"full-access\"\ngateway.invoke_allow = [\"bash\"]\n");
    let allowing = Served::start(&world);
    let allowed = allowing.page();
    let ran = allowed.post("/api/tools/exec/invoke", &json!({ "arguments": { "command": "echo ran" } })).json();
    assert_eq!((&ran["state"], &ran["result"]), (&json!("success"), &json!("ran")), "{ran:#}");
    assert_eq!(allowed.post("/api/tools/repl/invoke", &json!({ "arguments": {} })).status, 403);
    // A server that runs already takes the changed file as well.
    assert_eq!((&allowed.read("/api/tools/exec")["invocable"], &page.read("/api/tools/exec")["invocable"]), (&json!(true), &json!(true)));
    // It says so to every page, because nobody had to start it again.
    let told = events.until(|name, data| name == "changed" && data["wider"] != Value::Null);
    let wider = &told.last().unwrap().1;
    assert_eq!(wider, &json!({ "what": "settings", "wider": ["gateway.invoke_allow"], "saved": false }));
    drop(allowing);
    // The ordinary neighbour, and the same request twice.
    let read = page.post("/api/tools/read_file/invoke", &json!({ "arguments": { "path": "a.txt" }, "request": "r1" })).json();
    assert_eq!((&read["state"], &read["result"]), (&json!("success"), &json!("hello\n")), "{read:#}");
    let again = page.post("/api/tools/read_file/invoke", &json!({ "arguments": { "path": "a.txt" }, "request": "r1" })).json();
    assert_eq!(read["record"], again["record"]);
    // E06: an address of a gateway among the arguments is no parameter.
    let other = json!({ "arguments": { "path": "a.txt", "gatewayUrl": "http://evil.example", "base_url": "http://evil.example" } });
    assert_eq!(page.post("/api/tools/read_file/invoke", &other).json()["state"], "success");
}

#[test]
fn e07_hostile_json_is_a_bounded_error() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let large = format!("{{\"title\":\"{}\"}}", "x".repeat(10 << 20));
    for (body, status) in [
        ("{\"title\":\"a\",\"title\":\"b\"}", 400),
        ("{\"model\":1e999}", 400),
        ("{\"title\":\"\\ud800\"}", 400),
        ("{\"title\":NaN}", 400),
        ("not json", 400),
        ("[]", 400),
        ("[null,null,\"a\"]", 400),
        (deep.as_str(), 400),
        (large.as_str(), 413),
    ] {
        let answer = page.send("POST", "/api/sessions", body.as_bytes());
        assert_eq!(answer.status, status, "{}: {}", &body[..body.len().min(40)], answer.body);
    }
    assert_eq!(page.send("POST", "/api/sessions", b"{\"title\":\"a\xff\"}").status, 400);
    assert_eq!(page.with("content-type", "text/plain").send("POST", "/api/sessions", b"{\"title\":\"a\"}").status, 415);
    // `__proto__` is a key like any other, and unknown ones are ignored.
    assert_eq!(page.send("POST", "/api/sessions", br#"{"__proto__":{"admin":true}}"#).status, 201);
}

#[test]
fn e09_hostile_texts_are_text_and_answers_are_protected() {
    let world = World::new();
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}]8;;javascript:x\u{7}\u{202e}";
    world.write("a.txt", hostile);
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let events = page.turn(&session, "read a.txt and \"<img src=x onerror=alert(1)>\"");
    let stored = page.read(&format!("/api/sessions/{session}/items"));
    let mut rendered = Vec::new();
    for (_, data) in &events {
        collect_html(data, &mut rendered);
    }
    collect_html(&stored, &mut rendered);
    assert!(rendered.len() > 4, "{rendered:?}");
    for html in &rendered {
        assert!(
            !html.contains("<script") && !html.contains("<img") && !html.contains('\u{202e}') && !html.contains("href=\"javascript:"),
            "{html}"
        );
    }
    for path in ["/", "/api/me", "/api/nothing", "/index.html"] {
        let answer = page.get(path);
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
    }
    // A change with the cookie alone, as a form of another site could send it.
    let form = served.stranger().with("cookie", "haft_token_1=x");
    assert_eq!(form.post("/api/sessions", &json!({})).status, 401);
}

/// Every string that the page inserts as HTML.
fn collect_html(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(html) if name == "html" || name.ends_with("_html") => found.push(html.clone()),
                    Value::Array(blocks) if name == "blocks" => {
                        found.extend(blocks.iter().filter_map(|block| block.as_str().or_else(|| block[1].as_str())).map(str::to_owned));
                    }
                    other => collect_html(other, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect_html(value, found)),
        _ => {}
    }
}

#[test]
fn e10_no_path_leads_out_of_the_page_and_no_message_attaches_a_foreign_file() {
    let world = World::new();
    std::fs::write(world.path("secret.txt"), "top secret").unwrap();
    let served = Served::start(&world);
    let page = served.page();
    for path in
        ["/../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/page/../Cargo.toml", "/Cargo.toml"]
    {
        let answer = page.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("root:") && !answer.body.contains("[package]"), "{path}");
    }
    let session = page.create();
    for file in ["../secret.txt", world.path("secret.txt").to_str().unwrap()] {
        let answer = page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "look", "files": [file] }));
        assert!(answer.status >= 400, "{file}: {} {}", answer.status, answer.body);
        assert!(!answer.body.contains("top secret"));
    }
}

#[test]
fn thousand_streams_cost_little_and_one_that_never_reads_stops_nobody() {
    let world = World::new();
    world.write("a.txt", "x".repeat(20_000));
    let served = Served::start(&world);
    let page = served.page();
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).ok();
    let before = memory(served.pid());
    let mut streams: Vec<_> = (0..1_000).map(|_| page.events("")).collect();
    let grown = memory(served.pid()).saturating_sub(before);
    // One more that never reads.
    let silent = page.connect("GET", "/api/events", b"");
    let session = page.create();
    page.turn(&session, "read a.txt");
    for stream in &mut streams {
        stream.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    }
    drop(silent);
    // A debug build takes about 18 KB for each.
    assert!(grown < 50_000, "1,000 streams took {grown} KB");
}

#[test]
fn reader_that_never_reads_is_dropped_and_memory_stays_bounded() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let mut silent = page.connect("GET", "/api/events", b"");
    rustix::net::sockopt::set_socket_recv_buffer_size(&silent, 65_536).unwrap();
    // More than the log of events and the buffers of the connection take together: each line break is two bytes of an event.
    let long = format!("a{}b", "\n".repeat(1_000_000));
    let mut most = 0;
    for _ in 0..ENOUGH {
        let sent = page.post(&format!("/api/sessions/{}/messages", page.create()), &json!({ "text": long }));
        assert_eq!(sent.status, 202, "{}", sent.body);
        most = most.max(memory(served.pid()));
    }
    let newest = page.read("/api/me")["seq"].as_u64().unwrap();
    let mut bytes = Vec::new();
    silent.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.starts_with("HTTP/1.") && text.contains("event: hello"), "{}", &text[..text.len().min(300)]);
    let last = text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<u64>().ok()).next_back().unwrap();
    assert!(last < newest, "it got all {newest} events although it read nothing");
    // It learns on its next connection that it has to load everything again.
    let mut again = page.events(&format!("?after={last}"));
    assert_eq!(again.next().map(|(name, _)| name).as_deref(), Some("reset"));
    assert!(most < 400_000, "the server took {most} KB");
}

/// Messages of two megabytes.
const ENOUGH: usize = 14;

/// Resident memory of a process in KB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
