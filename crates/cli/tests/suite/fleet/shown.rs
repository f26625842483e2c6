//! The canvas and the browser of turns on workers: the pages of all servers show them and answer, whatever is killed meanwhile.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use haft_testkit::{Hold, ModelServer, Moment, Round};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Fleet, is_end, wait_until_idle};
use crate::suite::gateway::{EventReader, PageClient};
use crate::suite::harness::World;
use crate::suite::tenants::{TwoTenants, wait_until};

fn canvas(id: &str, arguments: Value) -> Round {
    Round::call(id, "canvas", arguments)
}

fn eval(id: &str) -> Round {
    canvas(id, json!({ "action": "eval", "java_script": "6 * 7" }))
}

fn done() -> Round {
    Round::Text("Done.".to_owned())
}

/// A model that does this.
fn model(rounds: Vec<Round>) -> (ModelServer, String) {
    let model = ModelServer::start(rounds).unwrap();
    let config = format!("model = \"work/m1\"\n[providers.work]\nprotocol = \"openai\"\nbase_url = \"{}\"\n", model.url());
    (model, config)
}

fn send(page: &PageClient, session: &str) {
    let sent = page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "go" }));
    assert_eq!(sent.status, 202, "{}", sent.body);
}

/// The next command for a canvas that is this one.
fn command(events: &mut EventReader, operation: &str) -> Value {
    let is_it = |name: &str, data: &Value| name == "canvas" && data["op"] == operation;
    events.until(is_it).pop().unwrap().1
}

fn answer(page: &PageClient, command: &Value, answer: &Value) {
    let answered = page.post(&format!("/api/canvas/answers/{}", command["request"]), &json!({ "answer": answer }));
    assert_eq!(answered.status, 200, "{}", answered.body);
}

/// What calls of the tool in a session gave, as the page has them.
fn calls(page: &PageClient, session: &str) -> String {
    wait_until_idle(page, session)["items"].to_string()
}

#[test]
fn canvas_of_a_worker_is_on_the_pages_of_all_servers_and_any_of_them_answers() {
    let fleet = Fleet::new();
    fleet.shared.write("a.html", "<p>hello</p>");
    let present = canvas("c1", json!({ "action": "present", "url": "a.html" }));
    let (model, config) = model(vec![present, eval("c2"), eval("c3"), canvas("c4", json!({ "action": "hide" })), eval("c5"), done()]);
    let (one, two, machine) = (fleet.machine(&config), fleet.machine(&config), fleet.machine(&config));
    let (first, second) = (fleet.server(&one), fleet.server(&two));
    let _worker = fleet.worker(&machine, &[]);
    let (page, other) = (first.page(), second.page());
    let (mut own, mut seen) = (page.events(""), other.events(""));
    let session = page.create();
    send(&page, &session);
    for (page, events) in [(&page, &mut own), (&other, &mut seen)] {
        let shown = command(events, "show");
        assert_eq!((&shown["session"], &shown["source"]), (&json!(session), &json!("a.html")));
        let document = page.get(&format!("/canvas/{}", shown["key"].as_str().unwrap()));
        assert!(document.status == 200 && document.body.contains("<p>hello</p>"), "{}", document.body);
        assert_eq!(page.read(&format!("/api/sessions/{session}/canvas"))["shown"], true);
        answer(page, &shown, &json!({}));
    }
    // The page of the server that has nothing to do with the turn is the first to answer.
    let (asked, also) = (command(&mut seen, "eval"), command(&mut own, "eval"));
    assert_eq!((&asked["code"], &also["code"]), (&json!("6 * 7"), &json!("6 * 7")));
    answer(&other, &asked, &json!({ "value": "forty-two" }));
    let again = command(&mut own, "eval");
    answer(&page, &also, &json!({ "value": "too late" }));
    answer(&page, &again, &json!({ "error": "it is broken" }));
    own.until(is_end);
    let calls = calls(&page, &session);
    assert!(calls.contains("forty-two") && !calls.contains("too late"), "{calls}");
    assert!(calls.contains("it is broken"), "{calls}");
    assert!(calls.contains("The canvas is not shown. Show it with the action 'present' first."), "no server shows it: {calls}");
    assert_eq!(other.read(&format!("/api/sessions/{session}/canvas"))["shown"], false);
    drop(model);
}

#[test]
fn canvas_outlives_its_worker_and_a_server_that_begins_later_asks_nothing_again() {
    let fleet = Fleet::new();
    let push = canvas("c1", json!({ "action": "a2ui_push", "jsonl": r#"{"deleteSurface":{"surfaceId":"first"}}"# }));
    let more = canvas("c3", json!({ "action": "a2ui_push", "jsonl": r#"{"deleteSurface":{"surfaceId":"second"}}"# }));
    let (_model, config) = model(vec![push, eval("c2"), more, eval("c4"), done()]);
    let (one, two, machine) = (fleet.machine(&config), fleet.machine(&config), fleet.machine(&config));
    let first = fleet.server(&one);
    let worker = fleet.worker(&machine, &["--name", "first"]);
    let page = first.page();
    let (mut events, session) = (page.events(""), page.create());
    send(&page, &session);
    command(&mut events, "show");
    // The worker is killed while it waits for the page: another one continues with the same canvas.
    command(&mut events, "eval");
    worker.signal(Signal::KILL);
    let other = fleet.machine(&config);
    let _next = fleet.worker(&other, &["--name", "next"]);
    let pushed = command(&mut events, "push");
    assert_eq!(pushed["messages"], json!([{ "deleteSurface": { "surfaceId": "second" } }]), "it is the same canvas");
    answer(&page, &pushed, &json!({}));
    let asked = command(&mut events, "eval");
    // A server that begins now shows all of it, and its pages are not asked what others were asked.
    let second = fleet.server(&two);
    let late = second.page();
    let path = format!("/api/sessions/{session}/canvas");
    wait_until("it is shown", || late.read(&path)["messages"].as_array().is_some_and(|messages| messages.len() == 2));
    assert_eq!(late.read(&path)["messages"], page.read(&path)["messages"]);
    answer(&page, &asked, &json!({ "value": "forty-two" }));
    events.until(is_end);
    assert!(calls(&page, &session).contains("forty-two"));
}

#[test]
fn canvas_of_a_tenant_is_on_its_pages_alone() {
    let fleet = Fleet::new();
    let push = canvas("c1", json!({ "action": "a2ui_push", "jsonl": r#"{"deleteSurface":{"surfaceId":"of-beta"}}"# }));
    let (_model, config) = model(vec![push, eval("c2"), done()]);
    let two = TwoTenants::start_with_config(&config, &fleet.variables(), &[]);
    let machine = World::with_config(&config);
    let _worker = fleet.tenant_worker(&machine, "w1", "2");
    let (mut events, session) = (two.beta.events(""), two.beta.create());
    send(&two.beta, &session);
    let shown = command(&mut events, "show");
    let asked = command(&mut events, "eval");
    let path = format!("/api/sessions/{session}/canvas");
    assert_eq!((two.beta.read(&path)["shown"].clone(), two.alpha.read(&path)["shown"].clone()), (json!(true), json!(false)));
    let document = format!("/canvas/{}", shown["key"].as_str().unwrap());
    assert_eq!((two.beta.get(&document).status, two.alpha.get(&document).status), (200, 404));
    answer(&two.alpha, &asked, &json!({ "value": "of another tenant" }));
    answer(&two.beta, &asked, &json!({ "value": "forty-two" }));
    events.until(is_end);
    let calls = calls(&two.beta, &session);
    assert!(calls.contains("forty-two") && !calls.contains("of another tenant"), "{calls}");
}

/// Answers every request with a page, and knows their paths; ends with the process of the test.
fn site() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let (address, seen) = (listener.local_addr().unwrap().to_string(), Arc::new(Mutex::new(Vec::new())));
    let asked = Arc::clone(&seen);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or_default();
            let line = String::from_utf8_lossy(&request[..length]).lines().next().unwrap_or_default().to_owned();
            asked.lock().unwrap().extend(line.split(' ').nth(1).map(str::to_owned));
            let body = "<!DOCTYPE html><button style='position:fixed;inset:0' onclick=\"fetch('/clicked')\">Buy</button>";
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).ok();
        }
    });
    (address, seen)
}

#[test]
fn browser_of_a_worker_is_seen_and_taken_over_on_the_pages_of_all_servers() {
    let (fleet, (site, seen), held) = (Fleet::new(), site(), Hold::default());
    let open = Round::call("b1", "browser", json!({ "action": "open", "target_url": format!("http://{site}/") }));
    let (_model, config) = model(vec![open, done().held(Moment::Start, &held), done()]);
    let config = format!("network.allow = [\"127.0.0.2\"]\nrules.allow = [\"browser(domain:{site})\"]\n{config}");
    let (one, two, machine) = (fleet.machine(&config), fleet.machine(&config), fleet.machine(&config));
    let (first, second) = (fleet.server(&one), fleet.server(&two));
    let worker = fleet.worker(&machine, &[]);
    let (page, other) = (first.page(), second.page());
    let (mut events, session) = (page.events(""), page.create());
    send(&page, &session);
    assert!(held.reached(), "the browser is open, and the model thinks");
    let path = format!("/api/sessions/{session}/browser");
    let view = |page: &PageClient, query: &str| page.read(&format!("{path}{query}"));
    for page in [&page, &other] {
        wait_until("a picture", || view(page, "?viewer=v")["picture"].is_string());
        let shown = view(page, "");
        assert_eq!((&shown["url"], &shown["control"]), (&json!(format!("http://{site}/")), &json!("model")), "{shown}");
        let listed = page.read("/api/browsers")["browsers"].clone();
        assert_eq!((&listed[0]["session"], listed.as_array().unwrap().len()), (&json!(session), 1));
    }
    // One page has it at a time, whichever server it is of.
    let take = |page: &PageClient, viewer: &str| page.post(&format!("{path}/control"), &json!({ "take": true, "viewer": viewer }));
    let click = |page: &PageClient, viewer: &str| {
        let mouse = |step: &str| json!({ "type": "mouse", "step": step, "x": 0.5, "y": 0.5, "button": "left", "clicks": 1 });
        page.post(&format!("{path}/input"), &json!({ "viewer": viewer, "events": [mouse("press"), mouse("release")] })).status
    };
    assert_eq!(click(&other, "there"), 409);
    assert_eq!((take(&other, "there").status, take(&page, "here").status), (200, 409));
    let control = |page: &PageClient, viewer: &str| view(page, &format!("?viewer={viewer}"))["control"].clone();
    assert_eq!((control(&other, "there"), control(&page, "here")), ("yours".into(), "other".into()));
    assert_eq!((click(&page, "here"), click(&other, "there")), (409, 200));
    wait_until("the click was done", || seen.lock().unwrap().iter().any(|path| path == "/clicked"));
    let hand = other.post(&format!("{path}/control"), &json!({ "take": false, "viewer": "there" }));
    assert_eq!((hand.status, control(&page, "here")), (200, json!("model")));
    // It is gone with its worker, and with the turn.
    worker.signal(Signal::KILL);
    held.release();
    let machine = fleet.machine(&config);
    let _next = fleet.worker(&machine, &["--name", "next"]);
    events.until(is_end);
    wait_until("it has ended", || [&page, &other].iter().all(|page| view(page, "") == json!({ "running": false })));
    assert_eq!(other.read("/api/browsers")["browsers"], json!([]));
}
