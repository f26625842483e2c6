//! Turns of tenants on workers: each in a process of its tenant, seen by nobody else, fair, and continued once when something is killed.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Fleet, PATIENCE, Worker, git, is_end, wait_until_idle};
use crate::suite::gateway::PageClient;
use crate::suite::harness::World;
use crate::suite::tenants::{
    CANARY, CONFIG, TwoTenants, no_route_shows_or_changes_anything_of_another_tenant, processes_of_process, wait_until,
};

impl Fleet {
    pub(super) fn tenants(&self) -> TwoTenants {
        TwoTenants::start_with(&self.variables(), &[])
    }

    /// A worker on a machine of its own.
    pub(super) fn tenant_worker(&self, machine: &World, name: &str, capacity: &str) -> Worker {
        self.worker(machine, &["--name", name, "--capacity", capacity])
    }

    pub(super) fn rows(&self, sql: &str) -> Vec<String> {
        self.database.sql(&self.name, sql).lines().map(str::to_owned).collect()
    }
}

fn send(page: &PageClient, session: &str, text: &str) {
    let sent = page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text }));
    assert_eq!(sent.status, 202, "{}", sent.body);
}

/// Another tenant, and a page of its user.
fn add(fleet: &Fleet, two: &TwoTenants, name: &str) -> PageClient {
    let added = fleet.run(&two.world, &["tenants", "add", name]);
    assert_eq!(added.code, 0, "{added:?}");
    let invited = fleet.run(&two.world, &["tenants", "invite", "--json", name, "cy", "--scopes", "view,chat,approve,admin"]).json();
    PageClient::sign_in(&two.served.address, invited["link"].as_str().unwrap().split_once("#token=").unwrap().1)
}

#[test]
fn turns_of_all_tenants_run_on_workers_and_the_queue_names_them_alone() {
    let fleet = Fleet::new();
    let (two, machines) = (fleet.tenants(), [World::with_config(CONFIG), World::with_config(CONFIG)]);
    let gamma = add(&fleet, &two, "gamma");
    let workers = [fleet.tenant_worker(&machines[0], "w1", "2"), fleet.tenant_worker(&machines[1], "w2", "2")];
    let pages = [("alpha", &two.alpha), ("beta", &two.beta), ("gamma", &gamma)];
    for (name, page) in pages {
        let events = page.turn(&page.create(), &format!("create {name}.txt with '{CANARY} {name}'"));
        assert!(events.iter().any(|(name, data)| is_end(name, data) && data["item"]["reason"] == "done"), "{events:?}");
        let written = std::fs::read_to_string(two.workspace(name).join(format!("{name}.txt"))).unwrap();
        assert_eq!(written.trim(), format!("{CANARY} {name}"));
    }
    assert_eq!(fleet.rows("SELECT tenant || ' ' || state FROM work ORDER BY made"), ["alpha done", "beta done", "gamma done"]);
    let content = format!("SELECT count(*) FROM work WHERE concat(body, outcome, story, topic) LIKE '%{CANARY}%'");
    assert_eq!(fleet.rows(&content), ["0"], "what is said and answered is in the schema of the tenant alone");
    // Each is in a process of its own, which knows neither the queue nor the state of the operator.
    let children: Vec<_> = workers.iter().flat_map(|worker| processes_of_process(worker.child.id())).collect();
    assert!(children.len() >= 3, "{children:?}");
    for child in &children {
        let variables = std::fs::read_to_string(child.join("environ")).unwrap();
        let value = |name: &str| variables.split('\0').find_map(|pair| pair.strip_prefix(&format!("{name}="))).map(str::to_owned);
        assert_eq!(value("HAFT_QUEUE"), None);
        let address = value("HAFT_STORE").unwrap();
        let (role, rest) = address.strip_prefix("postgres://").unwrap().split_once(':').unwrap();
        let schema = format!("search_path%3D{role}");
        assert!(role.starts_with("tenant_") && address.contains(&schema), "{variables}");
        // With what it has, it reaches the state of nobody else.
        let try_sql = |sql: &str| fleet.database.try_sql((role, rest.split('@').next().unwrap()), &fleet.name, sql);
        assert_eq!(try_sql(&format!("SELECT count(*) > 0 FROM {role}.calls")), Ok("t".to_owned()));
        for table in ["public.work".to_owned(), "public.tenant_roles".to_owned()].into_iter().chain(others(&fleet, role)) {
            assert!(try_sql(&format!("SELECT * FROM {table}")).unwrap_err().contains("permission denied"), "{table}");
        }
    }
    let status = fleet.status(&two.world);
    assert_eq!((&status["leases"], &status["aside"]), (&json!([]), &json!([])), "{status}");
}

#[test]
fn routes_of_the_api_keep_tenants_apart_when_workers_run_their_turns() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    let _worker = fleet.tenant_worker(&machine, "w1", "8");
    no_route_shows_or_changes_anything_of_another_tenant(&two);
    let count = fleet.rows("SELECT count(*) FROM work WHERE tenant = 'alpha' AND worker = 'w1'");
    assert!(count[0].parse::<u64>().unwrap() >= 3, "its turns ran on the worker: {count:?}");
    let content = format!("SELECT count(*) FROM work WHERE concat(body, outcome, story, topic) LIKE '%{CANARY}%'");
    assert_eq!(fleet.rows(&content), ["0"]);
}

/// A table of each other tenant.
fn others(fleet: &Fleet, role: &str) -> Vec<String> {
    let roles = fleet.rows("SELECT role FROM tenant_roles");
    assert!(roles.len() > 1, "{roles:?}");
    roles.iter().filter(|other| *other != role).map(|other| format!("{other}.calls")).collect()
}

/// When claims of a tenant came, and when its work was queued: the first two lines of the story of each.
fn times(fleet: &Fleet, tenant: &str) -> (Vec<String>, Vec<String>) {
    let column = |line: u8| {
        let sql = format!("SELECT left(story[{line}], 23) FROM work WHERE tenant = '{tenant}' AND story[{line}] IS NOT NULL ORDER BY 1");
        fleet.rows(&sql)
    };
    (column(1), column(2))
}

#[test]
fn single_turn_of_a_tenant_gets_the_next_free_slot_while_another_one_floods() {
    let fleet = Fleet::new();
    let (two, machines) = (fleet.tenants(), [World::with_config(CONFIG), World::with_config(CONFIG)]);
    let single = two.beta.create();
    for _ in 0..50 {
        send(&two.alpha, &two.alpha.create(), "what time is it?");
    }
    wait_until("all turns wait", || fleet.rows("SELECT count(*) FROM work WHERE tenant = 'alpha' AND state = 'queued'") == ["50"]);
    let _workers = [fleet.tenant_worker(&machines[0], "w1", "1"), fleet.tenant_worker(&machines[1], "w2", "1")];
    wait_until("the flood is worked on", || times(&fleet, "alpha").1.len() >= 3);
    let events = two.beta.turn(&single, "what time is it?");
    assert!(events.iter().any(|(name, data)| is_end(name, data) && data["item"]["reason"] == "done"), "{events:?}");
    let ((queued, claimed), (_, flood)) = (times(&fleet, "beta"), times(&fleet, "alpha"));
    assert_eq!((queued.len(), claimed.len()), (1, 1));
    let before = flood.iter().filter(|time| **time > queued[0] && **time < claimed[0]).count();
    assert!(before <= 2, "{before} turns of the other tenant were begun first: {queued:?} {claimed:?} {flood:?}");
    assert!(flood.len() < 50, "the other tenant still had turns that waited: {}", flood.len());
}

/// Begins a turn that has had an effect and waits for an answer that nobody gives.
fn begin_turn_that_asks(page: &PageClient, number: usize) -> String {
    let session = page.create();
    let mut events = page.events(&format!("?session={session}"));
    send(page, &session, &format!("append 'one' to done-{number}.txt then create asked/{number}.txt with 'two'"));
    events.until(|name, _| name == "approval");
    session
}

fn assert_continued(two: &TwoTenants, session: &str, number: usize) {
    let stored = wait_until_answered(&two.beta, session);
    let said: Vec<String> =
        stored.as_array().unwrap().iter().filter(|item| item["type"] == "user").map(|item| item["text"].to_string()).collect();
    assert!(said.len() == 2 && said[1].contains("Your turn was cut off"), "{stored:#}");
    let folder = two.workspace("beta");
    assert_eq!(std::fs::read_to_string(folder.join(format!("done-{number}.txt"))).unwrap(), "one\n", "not done twice");
    assert!(!folder.join(format!("asked/{number}.txt")).exists(), "nobody allowed it");
    assert_eq!(two.beta.read("/api/approvals")["approvals"], json!([]), "nobody waits for the answer any more");
}

fn wait_until_answered(page: &PageClient, session: &str) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let items = wait_until_idle(page, session)["items"].clone();
        if items.as_array().unwrap().last().is_some_and(|item| item["type"] == "assistant") {
            return items;
        }
        assert!(Instant::now() < until, "there is no answer: {items:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn turn_of_a_tenant_is_continued_once_when_its_process_or_its_worker_is_killed_or_stopped() {
    let fleet = Fleet::new();
    let (two, machines) = (fleet.tenants(), [World::with_config(CONFIG), World::with_config(CONFIG)]);
    let first = fleet.tenant_worker(&machines[0], "first", "2");
    let session = begin_turn_that_asks(&two.beta, 1);
    let children = processes_of_process(first.child.id());
    assert_eq!(children.len(), 1, "{children:?}");
    let child: i32 = children[0].file_name().unwrap().to_str().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
    assert_continued(&two, &session, 1);
    // The same for the worker itself; its process of the tenant ends with it.
    let session = begin_turn_that_asks(&two.beta, 2);
    let children = processes_of_process(first.child.id());
    first.signal(Signal::KILL);
    let second = fleet.tenant_worker(&machines[1], "second", "2");
    assert_continued(&two, &session, 2);
    // One that is stopped hands the turn to another one.
    let session = begin_turn_that_asks(&two.beta, 3);
    second.signal(Signal::TERM);
    let _third = fleet.tenant_worker(&machines[0], "third", "2");
    assert_continued(&two, &session, 3);
    wait_until("the process of the tenant has ended", || children.iter().all(|child| !child.join("exe").exists()));
    let settled = fleet.rows("SELECT tenant || ' ' || state || ' ' || attempts || ' ' || worker FROM work ORDER BY made");
    assert_eq!(settled, ["beta done 2 first", "beta done 2 second", "beta done 2 third"]);
}

#[test]
fn tenant_that_is_removed_in_a_turn_leaves_nothing_on_workers() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    let worker = fleet.tenant_worker(&machine, "w1", "2");
    let session = begin_turn_that_asks(&two.beta, 1);
    assert_eq!(processes_of_process(worker.child.id()).len(), 1);
    // This one waits for the session.
    let removed = fleet.run(&two.world, &["tenants", "remove", "beta", "--yes"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    let schemas = || fleet.rows("SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, 'tenant_')");
    assert_eq!(schemas(), ["1"], "that of the other tenant");
    assert_eq!(fleet.rows("SELECT count(*) FROM tenant_roles JOIN pg_roles ON rolname = role"), ["1"]);
    assert_eq!(fleet.rows("SELECT count(*) FROM work WHERE state IN ('queued', 'claimed', 'started')"), ["0"], "{session}");
    let events = two.alpha.turn(&two.alpha.create(), "what time is it?");
    assert!(events.iter().any(|(name, data)| is_end(name, data) && data["item"]["reason"] == "done"), "{events:?}");
    assert_eq!(schemas(), ["1"], "nothing made it again");
    // Its state on the worker goes as well, at the latest with the next start.
    drop(worker);
    let _worker = fleet.tenant_worker(&machine, "w1", "2");
    let folders = || std::fs::read_dir(machine.state().join("worker-tenants")).unwrap().count();
    wait_until("only that of the other tenant is there", || folders() == 1);
}

#[test]
fn quotas_of_a_tenant_hold_on_workers_and_count_together() {
    let fleet = Fleet::new();
    let (two, machines) = (fleet.tenants(), [World::with_config(CONFIG), World::with_config(CONFIG)]);
    let set = |setting: &str| assert_eq!(fleet.run(&two.world, &["tenants", "set", "beta", setting]).code, 0);
    set("quota.calls=2");
    set("quota.cpu_seconds=1");
    let first = fleet.tenant_worker(&machines[0], "first", "1");
    let turn = |page: &PageClient, text: &str| json!(page.turn(&page.create(), text)).to_string();
    let burn = "run `sh -c 'i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done; echo done'`";
    assert!(!turn(&two.beta, burn).contains("quota."));
    drop(first);
    // Another machine knows what the first one used.
    let _second = fleet.tenant_worker(&machines[1], "second", "1");
    let refused = turn(&two.beta, "run `echo again`");
    assert!(refused.contains("the quota of 1 seconds of processor time for one day is used up (quota.cpu_seconds)"), "{refused}");
    set("quota.cpu_seconds=");
    // The call that was refused does not count.
    let used = turn(&two.beta, "what time is it?");
    let refused = turn(&two.beta, "what time is it?");
    assert!(!used.contains("quota.calls") && refused.contains("the quota of 2 calls for one day is used up"), "{used}\n{refused}");
    assert!(!turn(&two.alpha, "what time is it?").contains("quota."), "the other tenant has its own");
}

#[test]
fn calls_on_several_workers_at_once_are_no_more_than_the_quota() {
    let fleet = Fleet::new();
    let (two, machines) = (fleet.tenants(), [World::with_config(CONFIG), World::with_config(CONFIG)]);
    let _workers = [fleet.tenant_worker(&machines[0], "first", "4"), fleet.tenant_worker(&machines[1], "second", "4")];
    // Each has its own file: of two changes of one file at once the later one counts.
    let lines = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path()).unwrap_or_default().lines().count();
    let made = || std::fs::read_dir(two.workspace("beta")).unwrap().map(|entry| lines(entry.unwrap())).sum::<usize>();
    // What was refused under the first quota does not count under the second.
    for quota in [5, 8] {
        assert_eq!(fleet.run(&two.world, &["tenants", "set", "beta", &format!("quota.calls={quota}")]).code, 0);
        let sessions: Vec<String> = (0..8).map(|_| two.beta.create()).collect();
        for session in &sessions {
            send(&two.beta, session, &format!("append 'a' to {session}.txt then append 'b' to {session}.txt"));
        }
        for session in &sessions {
            wait_until_idle(&two.beta, session);
        }
        assert_eq!(made(), quota);
    }
}

#[test]
fn tenants_have_volumes_and_remotes_of_their_own() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    for name in ["alpha", "beta"] {
        let remote = machine.path(name);
        std::fs::create_dir(&remote).unwrap();
        git(&remote, &["init", "--quiet"]);
        std::fs::write(remote.join("README.md"), name).unwrap();
        git(&remote, &["add", "."]);
        git(&remote, &["commit", "--quiet", "-m", "first"]);
    }
    let (volumes, remotes) = (machine.path("volumes"), format!("{}/{{tenant}}", machine.path(".").display()));
    let worker = fleet.worker(&machine, &["--volumes", volumes.to_str().unwrap(), "--git", &remotes]);
    for (name, page) in [("alpha", &two.alpha), ("beta", &two.beta)] {
        let session = page.create();
        let events = page.turn(&session, "read README.md then create note.txt with 'hi'");
        assert!(json!(events).to_string().contains(name), "{events:?}");
        wait_until("the turn is pushed", || fleet.rows("SELECT count(*) FROM work WHERE state = 'started'") == ["0"]);
        assert_eq!(git(&machine.path(name), &["show", &format!("haft/{session}:note.txt")]), "hi\n");
        assert!(!two.workspace(name).join("note.txt").exists());
    }
    assert_eq!(std::fs::read_dir(&volumes).unwrap().count(), 2, "a folder for each tenant");
    drop(worker);
    // A remote for all would bring the objects of one tenant to the other.
    let shared = machine.path("alpha").display().to_string();
    let _worker = fleet.worker(&machine, &["--volumes", volumes.to_str().unwrap(), "--git", &shared]);
    let session = two.beta.create();
    send(&two.beta, &session, "read README.md");
    let refused = "SELECT count(*) FROM work WHERE story::text LIKE '%lost it: the process of the tenant ended at once%'";
    wait_until("the worker does not run it", || fleet.rows(refused) == ["1"]);
    assert!(!json!(two.beta.read(&format!("/api/sessions/{session}/items"))).to_string().contains("alpha"));
}
