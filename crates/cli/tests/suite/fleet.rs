//! Servers and workers as processes of their own, on a real database and a real queue.

mod kills;
mod said;
mod shown;
mod sub_agents;
mod tenant_calls;
mod tenants;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use haft_testkit::{NatsServer, PostgresServer};
use serde_json::{Value, json};

use super::gateway::{PageClient, Served};
use super::harness::{Ran, World};

/// Every write is asked about.
const ASKS: &str = "[rules]\nask = [\"write(**)\"]\n";
const PATIENCE: Duration = Duration::from_mins(1);

/// A database and a queue, and the workspace that all machines share.
struct Fleet {
    database: PostgresServer,
    name: String,
    _queue: NatsServer,
    variables: [(&'static str, String); 3],
    shared: World,
}

impl Fleet {
    fn new() -> Self {
        let (database, queue) = (PostgresServer::start(), NatsServer::start());
        let name = database.database();
        let address = database.address(&name);
        let variables = [("HAFT_STORE", address), ("HAFT_QUEUE", queue.address()), ("HAFT_LOCAL_MODELS", String::new())];
        Self { database, name, _queue: queue, variables, shared: World::new() }
    }

    fn variables(&self) -> Vec<(&str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    /// A machine of its own, with this configuration.
    fn machine(&self, config: &str) -> World {
        let world = World::with_config(config);
        std::fs::remove_dir(world.path("workspace")).unwrap();
        std::os::unix::fs::symlink(self.shared.path("workspace"), world.path("workspace")).unwrap();
        world
    }

    fn server(&self, world: &World) -> Served {
        Served::start_with_variables(world, &self.variables())
    }

    fn worker(&self, world: &World, words: &[&str]) -> Worker {
        let mut command = world.command(&["worker", "--json", "--lease", "2", "--grace", "1"]);
        command.args(words).envs(self.variables()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the worker does not start: {line}"));
        assert_eq!(ready["event"], "ready");
        Worker { child, lines, ready }
    }

    fn run(&self, world: &World, words: &[&str]) -> Ran {
        world.run_with(&self.variables(), words)
    }

    fn status(&self, world: &World) -> Value {
        self.run(world, &["fleet", "status", "--json"]).json()
    }
}

/// A worker; ended with the test.
struct Worker {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    ready: Value,
}

impl Worker {
    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it has begun work.
    fn wait_for(&mut self, event: &str) {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the worker ended before '{event}'");
            if serde_json::from_str::<Value>(&line).is_ok_and(|told| told["event"] == event) {
                return;
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn wait_until_idle(page: &PageClient, session: &str) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let view = page.read(&format!("/api/sessions/{session}"));
        if view["state"] == "idle" && view["messages"].as_u64().unwrap() > 1 {
            return page.read(&format!("/api/sessions/{session}/items"));
        }
        assert!(Instant::now() < until, "the turn does not end: {view}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_end(name: &str, data: &Value) -> bool {
    name == "item" && data["item"]["type"] == "turn_end"
}

#[test]
fn turn_of_one_server_runs_on_a_worker_and_the_pages_of_all_servers_show_it() {
    let fleet = Fleet::new();
    let (one, two, machine) = (fleet.machine(""), fleet.machine(""), fleet.machine(""));
    let (first, second) = (fleet.server(&one), fleet.server(&two));
    let worker = fleet.worker(&machine, &["--name", "w1", "--capacity", "3"]);
    assert_eq!(worker.ready["topics"], json!(["turn.any.main"]));
    fleet.shared.write("a.txt", "hello *world*\n");
    let (page, other) = (first.page(), second.page());
    let mut events = other.events("");
    let session = page.create();
    let (_, listed) = events.until(|name, _| name == "session").pop().unwrap();
    assert_eq!((&listed["session"]["id"], &listed["session"]["messages"]), (&json!(session), &json!(0)), "it has no turn yet");
    let own = page.turn(&session, "read a.txt");
    let seen = events.until(is_end);
    for events in [&own, &seen] {
        let text: String = events.iter().filter(|(name, _)| name == "text").map(|(_, data)| data["delta"].as_str().unwrap()).collect();
        assert!(text.contains("read_file: hello"), "{text}");
        assert!(events.iter().any(|(name, data)| name == "call" && data["call"]["state"] == "success"), "{events:?}");
        assert!(events.iter().any(|(name, data)| name == "item" && data["item"]["text"] == "read a.txt"), "{events:?}");
    }
    // The store has the same for both.
    let stored = wait_until_idle(&page, &session);
    assert_eq!(stored["items"], wait_until_idle(&other, &session)["items"]);
    let kinds: Vec<&str> = stored["items"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "call", "assistant"]);
    // The other server continues the conversation.
    let again = other.turn(&session, "what time is it?");
    assert!(again.iter().any(|(name, data)| is_end(name, data) && data["item"]["reason"] == "done"), "{again:?}");
    let status = fleet.status(&one);
    assert_eq!((&status["workers"][0]["name"], &status["workers"][0]["capacity"]), (&json!("w1"), &json!(3)), "{status}");
    assert_eq!((&status["leases"], &status["aside"]), (&json!([]), &json!([])), "{status}");
    let ran = fleet.run(&one, &["run", "what time is it?", "--server"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn what_a_worker_or_its_server_refuses_is_refused() {
    let fleet = Fleet::new();
    let denies = "[tools]\ndeny = [\"write_file\"]\n";
    let forbids = "[rules]\ndeny = [\"write(**)\"]\n";
    for (number, (server, worker)) in [("", denies), (denies, ""), (forbids, ""), ("access = \"read-only\"\n", "")].into_iter().enumerate()
    {
        let (machine, other) = (fleet.machine(server), fleet.machine(worker));
        let served = fleet.server(&machine);
        let _worker = fleet.worker(&other, &[]);
        let page = served.page();
        let events = page.turn(&page.create(), &format!("write \"hi\" to file-{number}.txt"));
        assert!(events.iter().any(|(name, data)| is_end(name, data)), "{events:?}");
        assert!(!fleet.shared.file(&format!("file-{number}.txt")).exists(), "case {number}: {events:?}");
    }
    let (machine, other) = (fleet.machine(""), fleet.machine(""));
    let (served, _worker) = (fleet.server(&machine), fleet.worker(&other, &[]));
    let page = served.page();
    page.turn(&page.create(), "write \"hi\" to allowed.txt");
    assert_eq!(fleet.shared.read("allowed.txt"), "hi\n", "without a refusal it is written");
}

#[test]
fn question_of_a_worker_is_answered_on_the_page_of_any_server() {
    let fleet = Fleet::new();
    let (one, two, machine) = (fleet.machine(""), fleet.machine(""), fleet.machine(ASKS));
    let (first, second) = (fleet.server(&one), fleet.server(&two));
    let _worker = fleet.worker(&machine, &[]);
    let (page, other) = (first.page(), second.page());
    let session = page.create();
    let (mut events, mut seen) = (page.events(""), other.events(""));
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to b.txt" }));
    let (_, asked) = seen.until(|name, _| name == "approval").pop().unwrap();
    let approval = &asked["approval"];
    assert_eq!((&approval["tool"], &approval["session"]), (&json!("write_file"), &json!(session)));
    assert_eq!(other.read("/api/approvals")["approvals"][0]["id"], approval["id"]);
    let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
    let answer = |fingerprint: &Value| other.post(&path, &json!({ "fingerprint": fingerprint, "answer": "once" })).status;
    assert_eq!(answer(&json!("0000")), 409, "an answer for another call");
    assert!(!fleet.shared.file("b.txt").exists());
    assert_eq!(answer(&approval["fingerprint"]), 200);
    for reader in [&mut events, &mut seen] {
        let (_, closed) = reader.until(|name, _| name == "approval_closed").pop().unwrap();
        assert_eq!((&closed["answer"], &closed["by"]), (&json!("once"), &json!("page 'link'")));
        reader.until(is_end);
    }
    assert_eq!(fleet.shared.read("b.txt"), "hi\n");
    assert_eq!(other.read("/api/approvals")["approvals"], json!([]));
}

#[test]
fn server_that_is_killed_in_a_turn_shows_it_again_and_takes_its_answers() {
    let fleet = Fleet::new();
    let (one, asks) = (fleet.machine(""), fleet.machine(ASKS));
    let mut served = fleet.server(&one);
    let mut worker = fleet.worker(&asks, &[]);
    let page = served.page();
    let session = page.create();
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to d.txt" }));
    events.until(|name, _| name == "approval");
    served.kill();
    let served = fleet.server(&one);
    let page = served.page();
    // The turn still runs and asks, and the server that gave it away is gone.
    let until = Instant::now() + PATIENCE;
    let approval = loop {
        let approvals = page.read("/api/approvals")["approvals"].clone();
        if let Some(approval) = approvals.as_array().unwrap().first() {
            break approval.clone();
        }
        assert!(Instant::now() < until, "the question is not shown again");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(page.read(&format!("/api/sessions/{session}"))["state"], "waiting");
    let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(page.post(&path, &json!({ "fingerprint": approval["fingerprint"], "answer": "once" })).status, 200);
    worker.wait_for("done");
    let stored = wait_until_idle(&page, &session);
    let kinds: Vec<&str> = stored["items"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!((kinds, fleet.shared.read("d.txt").as_str()), (vec!["user", "call", "assistant"], "hi\n"));
}

#[test]
fn message_and_stop_before_a_worker_has_the_turn_reach_it() {
    let fleet = Fleet::new();
    let (one, machine) = (fleet.machine(""), fleet.machine(""));
    let served = fleet.server(&one);
    let page = served.page();
    let send = |session: &str, text: &str| page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text }));
    // Nobody works yet.
    let (said, stopped) = (page.create(), page.create());
    for (session, text) in [(&said, "what time is it?"), (&said, "how much memory is there?"), (&stopped, "write \"hi\" to e.txt")] {
        assert_eq!(send(session, text).status, 202);
    }
    assert_eq!(page.post(&format!("/api/sessions/{stopped}/cancel"), &json!({})).status, 200);
    let _worker = fleet.worker(&machine, &["--capacity", "2"]);
    let until = Instant::now() + PATIENCE;
    // A turn that ended before its worker heard the message is followed by one for it: between the two nothing runs.
    loop {
        let stored = wait_until_idle(&page, &said)["items"].to_string();
        if stored.contains("how much memory is there?") {
            break;
        }
        assert!(Instant::now() < until, "{stored}");
        std::thread::sleep(Duration::from_millis(50));
    }
    while page.read(&format!("/api/sessions/{stopped}"))["state"] != "idle" {
        assert!(Instant::now() < until, "the turn does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!fleet.shared.file("e.txt").exists());
}

#[test]
fn worker_that_is_killed_or_stopped_in_a_turn_is_followed_by_another_one() {
    let fleet = Fleet::new();
    let (one, asks, machine) = (fleet.machine(""), fleet.machine(ASKS), fleet.machine(""));
    let served = fleet.server(&one);
    let page = served.page();
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::TERM] {
        let mut first = fleet.worker(&asks, &["--name", "first"]);
        let session = page.create();
        let mut events = page.events("");
        page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to c.txt" }));
        first.wait_for("started");
        // It waits for an answer that nobody gives.
        events.until(|name, _| name == "approval");
        first.signal(signal);
        let second = fleet.worker(&machine, &["--name", "second"]);
        let (_, end) = events.until(is_end).pop().unwrap();
        assert_eq!(end["item"]["reason"], "done", "{end}");
        let stored = wait_until_idle(&page, &session);
        // The model learns what happened, and the call that nobody allowed was not made.
        let said = stored["items"].as_array().unwrap().iter().filter(|item| item["type"] == "user").map(|item| item["text"].to_string());
        let said: Vec<String> = said.collect();
        assert!(said.len() == 2 && said[1].contains("Your turn was cut off"), "{signal:?}: {stored:#}");
        assert!(!fleet.shared.file("c.txt").exists(), "{signal:?}");
        assert_eq!(page.read("/api/approvals")["approvals"], json!([]), "nobody waits for the answer any more");
        let status = fleet.status(&one);
        assert_eq!((&status["leases"], &status["aside"]), (&json!([]), &json!([])), "{status}");
        drop(second);
    }
}

fn git(folder: &std::path::Path, words: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "init.defaultBranch=main"]).args(words);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn session_has_a_clone_on_each_worker_and_each_turn_is_pushed() {
    let fleet = Fleet::new();
    let remote = fleet.shared.path("remote");
    std::fs::create_dir(&remote).unwrap();
    git(&remote, &["init", "--quiet"]);
    std::fs::write(remote.join("README.md"), "of the remote").unwrap();
    git(&remote, &["add", "."]);
    git(&remote, &["commit", "--quiet", "-m", "first"]);
    let (one, machine) = (fleet.machine(""), fleet.machine(""));
    let served = fleet.server(&one);
    let page = served.page();
    let session = page.create();
    for (volumes, prompt, expected) in
        [("v1", "write \"hi\" to note.txt", "write_file"), ("v2", "read note.txt and README.md", "of the remote")]
    {
        let (volumes, remote) = (machine.path(volumes), remote.display().to_string());
        let mut worker = fleet.worker(&machine, &["--volumes", volumes.to_str().unwrap(), "--git", &remote]);
        let events = page.turn(&session, prompt);
        assert!(events.iter().any(|(_, data)| data.to_string().contains(expected)), "{expected}: {events:?}");
        worker.wait_for("done");
        wait_until_idle(&page, &session);
    }
    assert_eq!(git(&remote, &["show", &format!("haft/{session}:note.txt")]), "hi\n");
    assert!(!fleet.shared.file("note.txt").exists());
}

#[test]
fn agent_states_the_label_of_its_workers_and_the_kind_of_its_folders() {
    let fleet = Fleet::new();
    let config = "[agents.artist.worker]\nlabel = \"gpu\"\nfolder = \"volume\"\n[agents.main.worker]\nfolder = \"shared\"\n";
    let (one, plain, gpu) = (fleet.machine(config), fleet.machine(config), fleet.machine(config));
    let served = fleet.server(&one);
    let page = served.page();
    let ran = fleet.run(&plain, &["worker"]);
    assert!(ran.code == 2 && ran.stderr.contains("--volumes DIR"), "{ran:?}");
    let volumes = plain.path("volumes");
    let words = ["--volumes", volumes.to_str().unwrap()];
    let _plain = fleet.worker(&plain, &words);
    let create = |agent: &str| page.post("/api/sessions", &json!({ "agent": agent })).json()["id"].as_str().unwrap().to_owned();
    let (artist, main) = (create("artist"), create("main"));
    let sent = page.post(&format!("/api/sessions/{artist}/messages"), &json!({ "text": "write \"hi\" to f.txt" }));
    assert_eq!(sent.status, 202, "{}", sent.body);
    // The worker without the label does other work meanwhile.
    page.turn(&main, "write \"hi\" to f.txt");
    let status = fleet.status(&one);
    assert_eq!((&status["queues"][0]["topic"], &status["queues"][0]["queued"]), (&json!("turn.gpu.artist"), &json!(1)), "{status}");
    let mut worker = fleet.worker(&gpu, &[&words[..], &["--labels", "gpu"]].concat());
    worker.wait_for("done");
    wait_until_idle(&page, &artist);
    let file = |session: &str| std::fs::read_to_string(volumes.join(session).join("f.txt")).ok();
    assert_eq!((file(&artist).as_deref(), file(&main), fleet.shared.read("f.txt").as_str()), (Some("hi\n"), None, "hi\n"));
}

#[test]
fn call_of_a_tool_runs_on_a_worker_that_offers_it() {
    let fleet = Fleet::new();
    let (one, machine) = (fleet.machine(""), fleet.machine(""));
    let served = fleet.server(&one);
    let mut worker = fleet.worker(&machine, &["--tools", "system_info", "--labels", "gpu"]);
    let topics = worker.ready["topics"].as_array().unwrap().iter().map(|topic| topic.as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(topics, ["turn.any.main", "turn.gpu.main", "call.any.system_info", "call.gpu.system_info"]);
    let answer = served.page().post("/api/tools/system_info/invoke", &json!({}));
    assert_eq!(answer.status, 200, "{}", answer.body);
    worker.wait_for("done");
    let listed = fleet.run(&one, &["history", "--json"]).json();
    assert_eq!(listed[0]["tool"], "system_info");
    // Without a worker the server makes it itself.
    drop(worker);
    let answer = fleet.server(&fleet.machine("")).page().post("/api/tools/get_current_time/invoke", &json!({}));
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// What a newer program does when it starts: it adds, with values for programs that do not know of it.
const NEWER: &str = "ALTER TABLE work ADD COLUMN newer TEXT NOT NULL DEFAULT ''; ALTER TABLE sessions ADD COLUMN newer TEXT NOT NULL DEFAULT ''; \
     UPDATE haft_server_schema SET version = version + 1; UPDATE haft_schema SET version = version + 1";

#[test]
fn processes_of_two_versions_share_a_schema_until_something_is_taken_away() {
    let fleet = Fleet::new();
    let (one, machine) = (fleet.machine(""), fleet.machine(""));
    let (served, worker) = (fleet.server(&one), fleet.worker(&machine, &[]));
    let page = served.page();
    let session = page.create();
    let is_done = || {
        let events = page.turn(&session, "what time is it?");
        events.iter().any(|(name, data)| is_end(name, data) && data["item"]["reason"] == "done")
    };
    assert!(is_done());
    fleet.database.sql(&fleet.name, NEWER);
    assert!(is_done(), "what runs continues");
    // One after the other is replaced; an older one may still start.
    drop(worker);
    let _worker = fleet.worker(&machine, &[]);
    assert!(is_done());
    // The second step, when no process needs what is old: an older one does not start any more.
    fleet.database.sql(&fleet.name, "UPDATE haft_server_schema SET oldest = version");
    let refused = fleet.run(&fleet.machine(""), &["worker"]);
    assert!(refused.code != 0 && refused.stderr.contains("use a newer haft"), "{refused:?}");
}

#[test]
fn worker_without_a_queue_or_with_a_wrong_one_says_what_to_do() {
    let world = World::new();
    let ran = world.run(&["worker"]);
    assert!(ran.code == 2 && ran.stderr.contains("HAFT_QUEUE"), "{ran:?}");
    let ran = world.run_with(&[("HAFT_QUEUE", "nats://127.0.0.1:1")], &["serve", "--listen", "127.0.0.1:0"]);
    assert!(ran.code == 2 && ran.stderr.contains("HAFT_STORE"), "{ran:?}");
    let ran = world.run(&["serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    assert!(ran.code == 2 && ran.stderr.contains("HAFT_QUEUE"), "{ran:?}");
}

#[test]
fn worker_that_could_do_no_work_as_it_is_told_does_not_start() {
    let world = World::new();
    let file = world.path("workspace").join("file");
    std::fs::write(&file, "").unwrap();
    for (words, why) in [
        (["--name", ""], "use 1 to 64 visible characters"),
        (["--name", "a\u{1b}[31mb"], "use 1 to 64 visible characters"),
        (["--labels", "gpu,"], "use 1 to 64 visible characters"),
    ] {
        let ran = world.run(&[&["worker"][..], &words].concat());
        assert!(ran.code == 2 && ran.stderr.contains(why), "{words:?}: {ran:?}");
    }
    let fleet = Fleet::new();
    let ran = fleet.run(&world, &["worker", "--volumes", file.to_str().unwrap()]);
    assert!(ran.code == 2 && ran.stderr.contains("--volumes cannot be") && ran.stdout.is_empty(), "{ran:?}");
}

#[test]
fn demo_runs_a_fleet_and_leaves_nothing_behind() {
    let world = World::new();
    let folder = world.path("tmp");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(world.path("."), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = world.run_with(&[("TMPDIR", folder.to_str().unwrap())], &["fleet", "demo", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let done = ran.json();
    assert_eq!((done["turns"].as_array().unwrap().len(), &done["aside"]), (9, &json!([])), "{done:#}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn demo_that_is_stopped_leaves_nothing_behind_either() {
    let world = World::new();
    let folder = world.path("tmp");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(world.path("."), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = world.command(&["fleet", "demo"]);
    let mut demo = command.env("TMPDIR", &folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let own_folder = || std::fs::read_dir(&folder).unwrap().flatten().next().map(|entry| entry.path());
    let until = Instant::now() + PATIENCE;
    // Its database, its queue and one of its servers run.
    while !own_folder().is_some_and(|folder| folder.join("server-1").exists()) {
        assert!(Instant::now() < until && demo.try_wait().unwrap().is_none(), "the demo does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    let children = super::tenants::processes_of_process(demo.id());
    rustix::process::kill_process(rustix::process::Pid::from_child(&demo), rustix::process::Signal::INT).unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(130));
    assert_eq!(own_folder(), None);
    assert!(children.len() >= 3 && children.iter().all(|child| !child.join("exe").exists()), "{children:?}");
}
