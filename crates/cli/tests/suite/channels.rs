//! Channels from the command line and in `haft serve`, with services on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::gateway::Served;
use super::harness::World;

/// A service that takes every request, and answers each with the same.
struct Service {
    url: String,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Service {
    fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bodies: Arc<Mutex<Vec<Value>>> = Arc::default();
        let log = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = BufReader::new(stream);
                let mut length = 0;
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                    let value = line.to_ascii_lowercase().strip_prefix("content-length:").map(|value| value.trim().to_owned());
                    length = value.map_or(length, |value| value.parse().unwrap());
                    line.clear();
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).ok();
                log.lock().unwrap().push(serde_json::from_slice(&body).unwrap_or_default());
                let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
                stream.get_mut().write_all(head.as_bytes()).ok();
            }
        });
        Self { url, bodies }
    }

    fn wait_for(&self, number: usize) -> Vec<Value> {
        let end = Instant::now() + Duration::from_secs(30);
        while self.bodies.lock().unwrap().len() < number {
            assert!(Instant::now() < end, "the service was not asked: {:?}", self.bodies.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.bodies.lock().unwrap().clone()
    }
}

fn slack(service: &Service) -> String {
    format!("[channels.slack]\nkind = \"slack\"\nbase_url = \"{}\"\ntoken_env = \"TEST_SLACK\"\nto = \"#ops\"\n", service.url)
}

#[test]
fn webhook_that_was_not_tried_is_not_said_to_work() {
    let world = World::with_config("[channels.hook]\nkind = \"webhook\"\nsecret_env = \"HOME\"\nbase_url = \"http://127.0.0.1:9/in\"\n");
    let tested = world.run(&["channels", "test", "hook"]);
    assert_eq!((tested.code, tested.stdout.as_str()), (0, "hook is complete, and was not tried: http://127.0.0.1:9/in\n"), "{tested:?}");
    assert_eq!(world.run(&["channels", "test", "hook", "--json"]).json()["works"], Value::Null);
}

#[test]
fn message_needs_full_access_obeys_rules_on_its_recipient_and_is_recorded() {
    let service = Service::start(r#"{"ok":true,"ts":"1.2"}"#);
    let world = World::with_config(&format!("{}\n[rules]\ndeny = [\"send(slack:#dev)\"]\n", slack(&service)));
    let token = [("TEST_SLACK", "xoxb-secret")];
    let call_with = |access: &str, arguments: &Value| {
        world.run_with(&token, &["call", "message", &arguments.to_string(), "--json", "--access", access])
    };
    let call = |arguments: &Value| call_with("full-access", arguments);
    let refused = call_with("workspace-write", &json!({"message": "deployed"}));
    assert_eq!(refused.json()["error_type"], "permission_denied", "{}", refused.all());
    let sent = call(&json!({"message": "deployed"}));
    assert_eq!(sent.json()["status"], "success", "{}", sent.all());
    assert_eq!(service.wait_for(1)[0], json!({"channel": "#ops", "text": "deployed", "unfurl_links": false, "unfurl_media": false}));
    // A rule forbids another recipient.
    let other = call(&json!({"to": "#dev", "message": "deployed"}));
    assert_eq!(other.json()["error_type"], "permission_denied", "{}", other.all());
    assert_eq!(service.bodies.lock().unwrap().len(), 1);
    let listed = world.run_with(&token, &["channels", "sent", "--json"]).json();
    assert_eq!((&listed[0]["outcome"], &listed[0]["to"]), (&json!("delivered"), &json!("#ops")), "{listed}");
    assert!(!world.run_with(&token, &["channels", "list"]).all().contains("xoxb"));
}

#[test]
fn tool_is_absent_with_its_reason_where_no_channel_can_be_used() {
    let world = World::new();
    let explained = world.run(&["explain", "message"]).all();
    assert!(explained.contains("no channel is configured"), "{explained}");
    world.configure("[channels.slack]\nkind = \"slack\"\ntoken_env = \"TEST_NOWHERE\"\n");
    let explained = world.run(&["explain", "message"]).all();
    assert!(explained.contains("no channel can be used: slack: the variable TEST_NOWHERE is not set"), "{explained}");
    let doctor = world.run(&["doctor", "--json"]).json();
    let check = doctor.as_array().unwrap().iter().find(|check| check["check"] == "channels").unwrap().clone();
    assert_eq!((&check["status"], &check["details"][0]["usable"]), (&json!("warning"), &json!(false)), "{check}");
}

/// The headers of a request that is signed as Standard Webhooks has it.
fn signed(id: &str, body: &str) -> [(&'static str, String); 3] {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"key");
    let tag = ring::hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
    let signature = format!("v1,{}", haft_text::base64::encode(tag.as_ref()));
    [("webhook-id", id.to_owned()), ("webhook-timestamp", seconds.to_string()), ("webhook-signature", signature)]
}

#[test]
fn message_of_a_channel_is_answered_by_a_session_of_the_server_with_the_rights_of_its_sender() {
    let service = Service::start("{}");
    let channel = format!(
        "[channels.hook]\nkind = \"webhook\"\nbase_url = \"{}\"\nsecret_env = \"TEST_HOOK\"\nreceive = true\nallow_from = [\"ci\"]\n\n\
         [channels.hook.senders.\"id:ci\"]\ndeny = [\"write_file\"]\n",
        service.url
    );
    let world = World::with_config(&channel);
    world.write("a.txt", "hello from a file\n");
    let served = Served::start_with_variables(&world, &[("TEST_HOOK", "key")]);
    let post = |id: &str, text: &str, sender: &str| {
        let body = json!({"sender": sender, "text": text}).to_string();
        let client = signed(id, &body).into_iter().fold(served.stranger(), |client, (name, value)| client.with(name, &value));
        client.send("POST", "/hooks/hook", body.as_bytes()).status
    };
    assert_eq!(served.stranger().send("POST", "/hooks/hook", b"{}").status, 401);
    assert_eq!(post("m0", "read a.txt", "eve"), 200, "who is not let in learns nothing");
    assert_eq!(post("m1", "read a.txt", "ci"), 200);
    assert_eq!(post("m1", "read a.txt", "ci"), 200, "a replay");
    let answers = service.wait_for(1);
    assert!(answers[0]["text"].as_str().unwrap().contains("hello from a file"), "{answers:?}");
    assert_eq!(post("m2", "create b.txt with 'x'", "ci"), 200);
    let refused = service.wait_for(2)[1]["text"].to_string();
    assert!(refused.contains("write_file"), "the model has tried: {refused}");
    assert!(!world.file("b.txt").exists(), "the sender may not write");
    assert_eq!(service.bodies.lock().unwrap().len(), 2);
    // One session, which the page shows.
    let page = served.page();
    let sessions = page.read("/api/sessions");
    let titles: Vec<&Value> = sessions["sessions"].as_array().unwrap().iter().map(|session| &session["title"]).collect();
    assert_eq!(titles, [&json!("hook: ci")], "{sessions}");
    let connections = page.read("/api/connections");
    assert_eq!(connections["channels"][0]["name"], "hook", "{connections}");
}

#[test]
fn kill_of_the_server_neither_loses_nor_doubles_the_answer_to_a_message() {
    let service = Service::start("{}");
    let world = World::with_config(&format!(
        "[channels.hook]\nkind = \"webhook\"\nbase_url = \"{}\"\nsecret_env = \"TEST_HOOK\"\nreceive = true\nallow_from = [\"ci\"]\n",
        service.url
    ));
    let post = |served: &Served, id: &str, text: &str| {
        let body = json!({"sender": "ci", "text": text}).to_string();
        let client = signed(id, &body).into_iter().fold(served.stranger(), |client, (name, value)| client.with(name, &value));
        client.send("POST", "/hooks/hook", body.as_bytes()).status
    };
    let start = || Served::start_with_variables(&world, &[("TEST_HOOK", "key")]);
    let slow = "run `echo begun >> done.txt; sleep 3; echo ended`";
    {
        let served = start();
        assert_eq!(post(&served, "m1", slow), 200);
        let end = Instant::now() + Duration::from_mins(1);
        while !world.file("done.txt").exists() {
            assert!(Instant::now() < end, "the command does not begin: {}", served.page().read("/api/history"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(service.bodies.lock().unwrap().len(), 0);
    let served = start();
    let answers = service.wait_for(1);
    assert!(answers[0]["text"].is_string(), "{answers:?}");
    assert_eq!(post(&served, "m1", slow), 200, "the service sends it again, as it got no answer in time");
    assert_eq!(post(&served, "m2", "what time is it"), 200);
    service.wait_for(2);
    // The service has the answer before the server has recorded that it does.
    delivered(&served, 2);
    drop(served);
    // A third server has nothing left to answer.
    let served = start();
    assert_eq!(post(&served, "m3", "what time is it"), 200);
    let answers = service.wait_for(3);
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(std::fs::read_to_string(world.file("done.txt")).unwrap(), "begun\n", "the command ran once");
    delivered(&served, 3);
}

/// Waits until so many messages were sent, and all of them are recorded as delivered.
fn delivered(served: &Served, count: usize) {
    let page = served.page();
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let sent = page.read("/api/connections")["sent"].as_array().unwrap().clone();
        assert!(sent.len() <= count, "{sent:#?}");
        if sent.len() == count && sent.iter().all(|sent| sent["outcome"] == "delivered") {
            return;
        }
        assert!(Instant::now() < end, "{sent:#?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
