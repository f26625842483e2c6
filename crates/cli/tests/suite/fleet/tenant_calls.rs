//! Calls of tools by the API of a tenant: on workers that take the tool, in a process of the tenant, with its limits of the moment.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Fleet, is_end};
use crate::suite::gateway::PageClient;
use crate::suite::harness::World;
use crate::suite::tenants::{CANARY, CONFIG, TwoTenants, processes_of_process, wait_until};

const CALLS: &str = "SELECT tenant || ' ' || state || ' ' || coalesce(worker, 'nobody') || ' ' || topic FROM work \
     WHERE body LIKE '%tenant_call%' ORDER BY made";

fn invoke(page: &PageClient, tool: &str, arguments: &Value) -> Value {
    let answer = page.post(&format!("/api/tools/{tool}/invoke"), &json!({ "arguments": arguments }));
    answer.json()
}

fn set(fleet: &Fleet, two: &TwoTenants, setting: &str) {
    let ran = fleet.run(&two.world, &["tenants", "set", "beta", setting]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn call_of_a_tenant_runs_on_a_worker_that_takes_the_tool() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    std::fs::write(two.workspace("alpha").join("secret.txt"), format!("{CANARY} of alpha")).unwrap();
    std::fs::write(two.workspace("beta").join("secret.txt"), "of beta").unwrap();
    let read = json!({ "path": "secret.txt" });
    let _plain = fleet.worker(&machine, &["--name", "plain"]);
    let own = invoke(&two.beta, "read_file", &read);
    assert!(own.to_string().contains("of beta"), "without a worker for it the tenant's server makes the call: {own}");
    assert_eq!(fleet.rows(CALLS), Vec::<String>::new());
    let schema = fleet.rows("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'tenant_') ORDER BY 1");
    for schema in &schema {
        let left = fleet.rows(&format!("SELECT count(*) FROM {schema}.work"));
        assert_eq!(left, ["0"], "and it leaves nothing for workers");
    }
    let machine = World::with_config(CONFIG);
    let _worker = fleet.worker(&machine, &["--name", "w1", "--tools", "read_file,write_file"]);
    for (name, page) in [("alpha", &two.alpha), ("beta", &two.beta)] {
        let called = invoke(page, "read_file", &read);
        assert!(called["state"] == "success" && called.to_string().contains(&format!("of {name}")), "{called}");
        let listed = page.read("/api/history")["calls"].clone();
        assert_eq!(listed[0]["id"], called["id"], "it is in the history of its tenant: {listed}");
    }
    let expected = ["alpha done w1 call.any.read_file", "beta done w1 call.any.read_file"];
    assert_eq!(fleet.rows(CALLS), expected);
    let content = format!("SELECT count(*) FROM work WHERE concat(body, outcome, story, topic) LIKE '%{CANARY}%'");
    assert_eq!(fleet.rows(&content), ["0"], "what is asked and answered is in the schema of the tenant alone");
    assert!(!two.beta.read("/api/history").to_string().contains(CANARY));
    // Paths of another tenant are refused as the server of the tenant refuses them.
    let foreign = two.workspace("alpha").join("secret.txt");
    let refused = invoke(&two.beta, "read_file", &json!({ "path": foreign }));
    assert!(refused["state"] != "success" && !refused.to_string().contains(CANARY), "{refused}");
}

#[test]
fn question_of_a_call_of_a_tenant_on_a_worker_is_answered_on_its_page() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    let _worker = fleet.worker(&machine, &["--name", "w1", "--tools", "write_file"]);
    let (mut events, other, page) = (two.beta.events(""), two.alpha.clone(), two.beta.clone());
    let call = std::thread::spawn(move || invoke(&page, "write_file", &json!({ "path": "asked/a.txt", "content": "yes" })));
    let (_, asked) = events.until(|name, _| name == "approval").pop().unwrap();
    let approval = &asked["approval"];
    let (path, answer) = (
        format!("/api/approvals/{}", approval["id"].as_str().unwrap()),
        json!({ "fingerprint": approval["fingerprint"], "answer": "once" }),
    );
    assert_eq!(other.post(&path, &answer).status, 404, "it is not the other tenant's");
    assert!(!two.workspace("beta").join("asked/a.txt").exists());
    assert_eq!(two.beta.post(&path, &answer).status, 200);
    let called = call.join().unwrap();
    assert_eq!(called["state"], "success", "{called}");
    assert_eq!(std::fs::read_to_string(two.workspace("beta").join("asked/a.txt")).unwrap(), "yes");
    assert_eq!(fleet.rows(CALLS), ["beta done w1 call.any.write_file"]);
}

#[test]
fn limits_and_quotas_of_a_tenant_hold_for_its_calls_on_workers() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    let _worker = fleet.worker(&machine, &["--name", "w1", "--tools", "write_file,get_current_time"]);
    let write = |page: &PageClient, name: &str| invoke(page, "write_file", &json!({ "path": name, "content": "x" }));
    assert_eq!(write(&two.beta, "a.txt")["state"], "success");
    set(&fleet, &two, "access=read-only");
    let refused = write(&two.beta, "b.txt");
    assert!(refused["state"] != "success" && !two.workspace("beta").join("b.txt").exists(), "{refused}");
    assert_eq!(write(&two.alpha, "b.txt")["state"], "success", "the other tenant has its own limits");
    set(&fleet, &two, "access=");
    set(&fleet, &two, "quota.calls=2");
    let answers: Vec<String> = (0..3).map(|_| invoke(&two.beta, "get_current_time", &json!({})).to_string()).collect();
    assert!(answers[2].contains("the quota of 2 calls for one day is used up"), "{answers:?}");
    assert!(!invoke(&two.alpha, "get_current_time", &json!({})).to_string().contains("quota."));
}

/// The process of the only tenant that a worker has.
fn kill_tenant_process(worker: u32) {
    let children = processes_of_process(worker);
    assert_eq!(children.len(), 1, "{children:?}");
    let child: i32 = children[0].file_name().unwrap().to_str().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn call_of_a_tenant_that_is_cut_off_is_not_made_twice_and_said_to_be_unknown() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    let arguments = json!({ "path": "asked/a.txt", "content": "yes" });
    for kills_worker in [false, true] {
        let worker = fleet.worker(&machine, &["--name", "w1", "--tools", "write_file"]);
        let (mut events, page, arguments) = (two.beta.events(""), two.beta.clone(), arguments.clone());
        let call = std::thread::spawn(move || invoke(&page, "write_file", &arguments).to_string());
        events.until(|name, _| name == "approval");
        if kills_worker {
            worker.signal(Signal::KILL);
        } else {
            kill_tenant_process(worker.child.id());
        }
        let said = call.join().unwrap();
        assert!(said.contains("ended without an outcome"), "{said}");
        assert!(!two.workspace("beta").join("asked/a.txt").exists());
    }
    let attempts = fleet.rows("SELECT attempts FROM work WHERE body LIKE '%tenant_call%'");
    assert_eq!(attempts, ["1", "1"], "no other worker made them");
}

#[test]
fn call_of_a_tenant_whose_folder_is_not_on_the_worker_is_refused_and_says_so() {
    let fleet = Fleet::new();
    let (two, machine) = (fleet.tenants(), World::with_config(CONFIG));
    let worker = fleet.worker(&machine, &["--name", "w1", "--tools", "write_file"]);
    let workspace = two.workspace("beta");
    let away = workspace.with_extension("away");
    let page = two.beta;
    let call = move |name: &str| invoke(&page, "write_file", &json!({ "path": name, "content": "x" }));
    assert_eq!(call("a.txt")["state"], "success");
    let machine = World::with_config(CONFIG);
    drop(worker);
    let other = fleet.worker(&machine, &["--name", "w2", "--tools", "write_file"]);
    // The server has the folder, and the worker does not find it, as on a machine that does not share it.
    other.signal(Signal::STOP);
    let refused = std::thread::spawn({
        let call = call.clone();
        move || call("b.txt")
    });
    wait_until("the call waits", || fleet.rows("SELECT count(*) FROM work WHERE state = 'queued'") == ["1"]);
    std::fs::rename(&workspace, &away).unwrap();
    other.signal(Signal::CONT);
    let refused = refused.join().unwrap();
    std::fs::rename(&away, &workspace).unwrap();
    assert!(refused.to_string().contains("the folder of this tenant is not on the worker"), "{refused}");
    assert!(!find(&machine.path("."), "b.txt"), "nor is it written anywhere else");
    assert_eq!(call("c.txt")["state"], "success");
    assert!(workspace.join("c.txt").exists());
}

fn find(folder: &Path, name: &str) -> bool {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name() == name || (entry.file_type().is_ok_and(|kind| kind.is_dir()) && find(&entry.path(), name)))
}

#[test]
fn turn_that_waits_begins_under_the_limits_of_the_moment() {
    let fleet = Fleet::new();
    let mut two = fleet.tenants();
    let done = |count: usize| {
        let done = || fleet.rows("SELECT count(*) FROM work WHERE state = 'done'") == [count.to_string()];
        wait_until("the turns are done", done);
    };
    // The operator's command tells the database itself; where it does not know it, the server sees what it has changed.
    for (number, knows_database) in [(0, true), (1, false)] {
        let sessions = [two.alpha.create(), two.beta.create()];
        for (page, session) in [&two.alpha, &two.beta].into_iter().zip(&sessions) {
            let text = format!("create late-{number}.txt with 'x'");
            assert_eq!(page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text })).status, 202);
        }
        wait_until("both wait", || fleet.rows("SELECT count(*) FROM work WHERE state = 'queued'") == ["2"]);
        if knows_database {
            set(&fleet, &two, "access=read-only");
        } else {
            let ran = two.world.run(&["tenants", "set", "beta", "access=read-only"]);
            assert_eq!(ran.code, 0, "{ran:?}");
        }
        let limits = "SELECT count(*) FROM work WHERE state = 'queued' AND tenant = 'beta' AND body LIKE '%read-only%'";
        if knows_database {
            assert_eq!(fleet.rows(limits), ["1"], "at once");
        }
        wait_until("it has the limits of now", || fleet.rows(limits) == ["1"]);
        let machine = World::with_config(CONFIG);
        let _worker = fleet.tenant_worker(&machine, "w1", "2");
        done(2 + 3 * number);
        let written = |name: &str| two.workspace(name).join(format!("late-{number}.txt")).exists();
        assert_eq!([written("alpha"), written("beta")], [true, false], "the other tenant's turn is as it was");
        // What allows more holds from the next turn on.
        set(&fleet, &two, "access=");
        let events = two.beta.turn(&two.beta.create(), &format!("create next-{number}.txt with 'x'"));
        assert!(events.iter().any(|(name, data)| is_end(name, data)), "{events:?}");
        assert!(two.workspace("beta").join(format!("next-{number}.txt")).exists(), "{events:?}");
        done(3 + 3 * number);
    }
    // Also when no server is there.
    let session = two.beta.create();
    let text = json!({ "text": "create last.txt with 'x'" });
    assert_eq!(two.beta.post(&format!("/api/sessions/{session}/messages"), &text).status, 202);
    wait_until("it waits", || fleet.rows("SELECT count(*) FROM work WHERE state = 'queued'") == ["1"]);
    two.served.kill();
    set(&fleet, &two, "access=read-only");
    let machine = World::with_config(CONFIG);
    let _worker = fleet.tenant_worker(&machine, "w1", "2");
    done(7);
    assert!(!two.workspace("beta").join("last.txt").exists());
}
