//! Scheduled jobs in the real program: as a user asks for them, over kills of the server, and to a webhook.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use haft_testkit::Round;
use serde_json::{Value, json};

use super::gateway::{PageClient, Served};
use super::harness::World;
use super::model::{KEY, Talk};

const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until a run of a job has ended, and its delivery.
fn ended_runs(page: &PageClient, name: &str, count: usize) -> Vec<Value> {
    let end = Instant::now() + PATIENCE;
    loop {
        let runs = page.read("/api/automation")["runs"].as_array().unwrap().clone();
        let runs: Vec<Value> = runs.into_iter().filter(|run| run["name"] == name).collect();
        let is_open = |run: &Value| {
            ["running", "waiting"].contains(&run["state"].as_str().unwrap())
                || ["pending", "sending"].contains(&run["delivery"].as_str().unwrap())
        };
        if runs.len() >= count && !runs.iter().any(is_open) {
            return runs;
        }
        assert!(Instant::now() < end, "{runs:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn job<'a>(listed: &'a Value, name: &str) -> &'a Value {
    listed["jobs"].as_array().unwrap().iter().find(|job| job["name"] == name).unwrap_or_else(|| panic!("{listed:#}"))
}

#[test]
fn user_asks_for_a_reminder_sees_it_runs_it_now_and_turns_it_off() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    page.turn(&session, "remind me every weekday at 9 to water the plants");
    let listed = page.read("/api/automation");
    let reminder = job(&listed, "water the plants");
    assert!(reminder["words"].as_str().unwrap().starts_with("every weekday at 09:00 ("), "{reminder:#}");
    assert_eq!(
        (reminder["next_runs"].as_array().unwrap().len(), &reminder["enabled"], &listed["running"]),
        (3, &json!(true), &json!(true))
    );

    let path = format!("/api/automation/{}", reminder["id"].as_str().unwrap());
    assert_eq!(page.post(&format!("{path}/run"), &json!({})).status, 200);
    let runs = ended_runs(&page, "water the plants", 1);
    assert_eq!(
        (&runs[0]["state"], &runs[0]["trigger"], &runs[0]["session"]),
        (&json!("ok"), &json!("manual"), &json!(session)),
        "{runs:#?}"
    );
    let items = page.read(&format!("/api/sessions/{session}/items")).to_string();
    assert!(items.contains("Reminder: water the plants"), "{items}");

    assert_eq!(page.send("PATCH", &path, json!({"enabled": false}).to_string().as_bytes()).status, 200);
    let listed = page.read("/api/automation");
    assert_eq!((&job(&listed, "water the plants")["enabled"], &listed["next"]), (&json!(false), &Value::Null));
}

#[test]
fn reminder_is_listed_and_turned_off_in_words_as_well() {
    let world = World::new();
    for (text, answer) in [
        ("remind me every day 9am to water the plants", "every day at 09:00"),
        ("show my reminders", "'water the plants'"),
        ("turn off the reminder", "It is off"),
        ("turn off the reminder", "No reminder is on."),
    ] {
        let answered = world.run(&["run", text]);
        assert!(answered.stdout.contains(answer), "{text}: {}", answered.all());
    }
}

#[test]
fn command_of_people_names_the_channel_and_the_agent_of_a_job() {
    let world = World::with_config("[channels.screen]\nkind = \"desktop\"\nto = \"me\"\n[agents.gardener]\nmodel = \"demo\"\n");
    let add = |more: &[&str]| world.run(&[&["cron", "add", "water", "--every", "1h", "--json"], more].concat());
    let added = add(&["--channel", "screen", "--agent", "gardener"]).json();
    assert_eq!(
        (&added["agent"], &added["delivery"]["channel"], &added["delivery"]["to"]),
        (&json!("gardener"), &json!("screen"), &json!("me")),
        "{added:#}"
    );
    for (more, words) in [
        (["--channel", "dsk"], "no channel 'dsk' can send"),
        (["--to", "#ops"], "'to' needs a 'channel'"),
        (["--agent", "gardner"], "there is no agent 'gardner'"),
        (["--model", "sonnet"], "'sonnet' is not a model"),
    ] {
        let refused = add(&more);
        assert!(refused.all().contains(words), "{}", refused.all());
    }
}

#[test]
fn message_with_a_time_is_a_job_also_without_an_action() {
    let world = World::new();
    let added = world.run(&["call", "cron", &json!({"message": "water", "cron": "0 9 * * 1-5"}).to_string()]);
    assert!(added.stdout.starts_with("Added 'water'"), "{}", added.all());
    // A job names a channel that is there, also when it is changed.
    for arguments in
        [json!({"message": "x", "every": "1h", "channel": "fax", "to": "1"}), json!({"action": "update", "id": "water", "to": "#dev"})]
    {
        let refused = world.run(&["call", "cron", &arguments.to_string(), "--json"]);
        assert_eq!(refused.json()["error_type"], "validation_error", "{}", refused.all());
    }
    // And an agent and a model that are configured.
    for (name, value) in [("agent", "gardener"), ("model", "sonnet")] {
        let arguments = json!({"message": "x", "every": "1h", "session": "isolated", name: value}).to_string();
        let refused = world.run(&["call", "cron", &arguments, "--json"]);
        assert_eq!(refused.json()["error_type"], "validation_error", "{}", refused.all());
        assert!(refused.stdout.contains(value), "{}", refused.all());
    }
}

#[test]
fn result_of_an_isolated_job_is_announced_where_it_was_scheduled() {
    let world = World::new();
    world.write("a.txt", "sharpen the axe\n");
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    page.turn(&session, "what time is it");
    let added = page.post("/api/automation", &json!({"name": "look", "at": "1s", "message": "read a.txt", "session": session}));
    assert_eq!(added.status, 200, "{}", added.body);
    let runs = ended_runs(&page, "look", 1);
    assert_eq!((&runs[0]["state"], &runs[0]["delivery"]), (&json!("ok"), &json!("delivered")), "{runs:#?}");
    assert!(runs[0]["session"] != json!(session), "it has a conversation of its own");
    let items = page.read(&format!("/api/sessions/{session}/items")).to_string();
    assert!(items.contains("[Scheduled job 'look']") && items.contains("sharpen the axe"), "{items}");
    // The conversation continues with it.
    let events = page.turn(&session, "what time is it");
    assert!(events.iter().any(|(name, data)| name == "item" && data["item"]["reason"] == "done"), "{events:?}");
}

#[test]
fn kills_of_the_server_neither_lose_nor_double_a_run() {
    let world = World::new();
    // Before its time: it runs when the next server starts.
    {
        let served = Served::start(&world);
        let page = served.page();
        assert_eq!(page.post("/api/automation", &json!({"name": "later", "at": "1s", "message": "what time is it"})).status, 200);
    }
    std::thread::sleep(Duration::from_millis(1200));
    // In the middle of a run, whose command writes a line: the next server continues it.
    {
        let served = Served::start(&world);
        let page = served.page();
        ended_runs(&page, "later", 1);
        let body = json!({"name": "slow", "at": "1s", "message": "run `echo begun >> done.txt; sleep 3`"});
        assert_eq!(page.post("/api/automation", &body).status, 200);
        let end = Instant::now() + PATIENCE;
        while !world.file("done.txt").exists() {
            assert!(Instant::now() < end, "{}", page.read("/api/automation"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let served = Served::start(&world);
    let page = served.page();
    let slow = ended_runs(&page, "slow", 1);
    assert_eq!((slow.len(), &slow[0]["attempts"]), (1, &json!(2)), "{slow:#?}");
    assert_eq!(ended_runs(&page, "later", 1).len(), 1);
    assert_eq!(std::fs::read_to_string(world.file("done.txt")).unwrap(), "begun\n", "the command ran once");
}

#[test]
fn second_server_takes_over_the_jobs_and_the_run_of_one_that_is_killed() {
    let world = World::new();
    let first = Served::start(&world);
    let second = Served::start(&world);
    let page = second.page();
    let add = |name: &str, message: &str| {
        assert_eq!(page.post("/api/automation", &json!({"name": name, "at": "1s", "message": message})).status, 200);
    };
    add("before", "what time is it");
    assert_eq!(ended_runs(&page, "before", 1).len(), 1, "one of the two runs it");
    add("slow", "run `echo begun >> done.txt; sleep 3`");
    let end = Instant::now() + PATIENCE;
    while !world.file("done.txt").exists() {
        assert!(Instant::now() < end, "{}", page.read("/api/automation"));
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(first);
    let slow = ended_runs(&page, "slow", 1);
    assert_eq!((slow.len(), &slow[0]["attempts"]), (1, &json!(2)), "{slow:#?}");
    assert_eq!(std::fs::read_to_string(world.file("done.txt")).unwrap(), "begun\n", "the command ran once");
    add("after", "what time is it");
    assert_eq!(ended_runs(&page, "after", 1)[0]["state"], "ok");
    assert_eq!(page.read("/api/automation")["running"], json!(true));
}

/// A model that works slowly if it is told to, asks for a restart if it is told to, and says so when it is continued.
fn restarting_model(request: &Value) -> Round {
    let text = request["messages"].to_string();
    let call = |name: &str, arguments: Value| Round::Calls(vec![("c1".to_owned(), name.to_owned(), arguments)]);
    if text.contains("Your turn was cut off") {
        Round::Text("I continued.".into())
    } else if text.contains("The server restarts when") || text.contains("begun-and-ended") {
        Round::Text("Ended.".into())
    } else if text.contains("please restart") {
        call("gateway", json!({"action": "restart", "reason": "an update", "wait_seconds": 1}))
    } else {
        call("exec", json!({"command": "echo begun >> done.txt; sleep 30; echo begun-and-ended"}))
    }
}

#[test]
fn restart_that_a_model_asks_for_hands_over_what_runs() {
    let talk = Talk::new("openai", (0..20).map(|_| Round::Made(restarting_model)).collect());
    let served = Served::start_with_variables(&talk.world, &[KEY]);
    let (pid, page) = (served.pid(), served.page());
    let (slow, asking) = (page.create(), page.create());
    let started = page.read("/api/me")["started"].clone();
    let send = |session: &str, text: &str| {
        let sent = page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text }));
        assert_eq!(sent.status, 202, "{}", sent.body);
    };
    send(&slow, "work slowly");
    let wait = |what: &str, is_done: &dyn Fn() -> bool| {
        let end = Instant::now() + PATIENCE;
        while !is_done() {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(30));
        }
    };
    wait("the command does not begin", &|| talk.world.file("done.txt").exists());
    // A reminder for this second is due while nothing listens.
    assert_eq!(page.post("/api/automation", &json!({"name": "soon", "at": "3s", "message": "say begun-and-ended"})).status, 200);
    send(&asking, "please restart");
    let question = || page.read("/api/approvals")["approvals"].as_array().unwrap().first().cloned();
    wait("nobody is asked", &|| question().is_some());
    let question = question().unwrap();
    assert_eq!(question["tool"], "gateway", "{question:#}");
    let answer = json!({"fingerprint": question["fingerprint"], "answer": "once"});
    assert_eq!(page.post(&format!("/api/approvals/{}", question["id"].as_str().unwrap()), &answer).status, 200);
    // One question for both: the server may end between two.
    let answer =
        || std::net::TcpStream::connect(&served.address).is_ok().then(|| page.get("/api/me")).filter(|answer| answer.status == 200);
    wait("the server does not start again", &|| answer().is_some_and(|answer| answer.json()["started"] != started));
    let items = |session: &str| page.read(&format!("/api/sessions/{session}/items")).to_string();
    wait("the turn is not continued", &|| items(&slow).contains("I continued."));
    wait("the conversation is not told", &|| items(&asking).contains("[The server was restarted: an update]"));
    assert_eq!(std::fs::read_to_string(talk.world.file("done.txt")).unwrap(), "begun\n", "the command ran once");
    assert_eq!(ended_runs(&page, "soon", 1).len(), 1);
    assert_eq!(served.pid(), pid);
}

#[test]
fn other_processes_change_jobs_of_a_running_server() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let added = world.run(&["cron", "add", "what time is it", "--at", "1s", "--name", "clock", "--delivery", "none", "--json"]);
    assert_eq!(added.code, 0, "{added:?}");
    let runs = ended_runs(&page, "clock", 1);
    assert_eq!((&runs[0]["state"], &runs[0]["delivery"]), (&json!("ok"), &json!("not_requested")));
    let listed = world.run(&["cron", "runs"]);
    assert!(listed.stdout.contains("clock: ok after"), "{listed:?}");
}

/// A server that takes one request; the request as text.
fn receiver(status: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        (&stream).write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
        head + &String::from_utf8_lossy(&body)
    });
    (port, received)
}

#[test]
fn webhook_gets_the_result_once_and_only_where_the_address_guard_lets_it() {
    let (port, received) = receiver("204 No Content");
    let world = World::with_config(&format!("[network]\nallow = [\"127.0.0.1:{port}\"]\n"));
    let served = Served::start(&world);
    let page = served.page();
    let add = |name: &str, to: String| {
        let body = json!({"name": name, "at": "1s", "message": "what time is it", "delivery": "webhook", "to": to});
        let added = page.post("/api/automation", &body);
        assert_eq!(added.status, 200, "{}", added.body);
    };
    add("allowed", format!("http://127.0.0.1:{port}/hook"));
    add("refused", "http://127.0.0.1:1/hook".into());
    let allowed = ended_runs(&page, "allowed", 1);
    assert_eq!((&allowed[0]["delivery"], &allowed[0]["delivery_note"]), (&json!("delivered"), &json!("the webhook answered 204")));
    let request = received.join().unwrap();
    let run = allowed[0]["id"].as_str().unwrap();
    assert!(request.starts_with("POST /hook") && request.contains(&format!("idempotency-key: {run}")), "{request}");
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&body["name"], &body["state"], &body["run"]), (&json!("allowed"), &json!("ok"), &json!(run)));
    let refused = ended_runs(&page, "refused", 1);
    assert_eq!(refused[0]["delivery"], "not_delivered", "{refused:#?}");
    let notices = page.read("/api/automation")["notices"].clone();
    assert!(notices[0]["text"].as_str().unwrap().contains("The result of 'refused' was not delivered"), "{notices:#}");
    let doctor = world.run(&["doctor", "--json"]);
    let checks = doctor.json();
    let check = checks.as_array().unwrap().iter().find(|check| check["check"] == "scheduled jobs").unwrap();
    assert_eq!((&check["status"], &check["message"]), (&json!("warning"), &json!("1 result not delivered, or perhaps not")));
}
