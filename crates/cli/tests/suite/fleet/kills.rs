//! Scripted turns while servers and workers are killed at random points: every call has one result or is said to be unknown, and no
//! effect happens twice. `HAFT_FLEET_KILLS` (12 by default) and `HAFT_FLEET_SEED` choose the run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Fleet, PATIENCE, Worker};
use crate::suite::gateway::{PageClient, Served};
use crate::suite::harness::World;

/// Each is appended to a file of its turn by a call of its own: by a tool, whose changes can be found out afterwards, and by a command in turns.
const STEPS: [&str; 4] = ["one", "two", "three", "four"];
/// A kill comes no later than this after a turn was begun.
const LATEST: u64 = 600;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// The next number of a sequence that depends on its seed alone.
fn roll(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Begins a turn; returns its session and the file of its effects.
fn begin(page: &PageClient, number: u64) -> (String, String) {
    let (session, file) = (page.create(), format!("turn-{number}.txt"));
    let [one, two, three, four] = STEPS;
    let prompt = format!(
        "append '{one}' to {file} then run `sleep 0.05; echo {two} >> {file}` then append '{three}' to {file} then run `sleep 0.05; echo {four} >> {file}`"
    );
    let sent = page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": prompt }));
    assert_eq!(sent.status, 202, "{}", sent.body);
    (session, file)
}

fn wait_until_settled(fleet: &Fleet, world: &World) -> Value {
    let until = Instant::now() + PATIENCE * 3;
    loop {
        let status = fleet.status(world);
        if status["queues"] == json!([]) && status["leases"] == json!([]) {
            return status;
        }
        assert!(Instant::now() < until, "not all is settled: {status:#}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Every sentence is something that must not be; and how many calls have an unknown outcome.
fn check(fleet: &Fleet, history: &[Value], (session, file): &(String, String)) -> (Vec<String>, usize) {
    let calls: Vec<&Value> = history.iter().filter(|call| call["session"] == session.as_str()).collect();
    let effects = std::fs::read_to_string(fleet.shared.file(file)).unwrap_or_default();
    let mut faults = Vec::new();
    for step in STEPS {
        let count = effects.lines().filter(|line| *line == step).count();
        let text = |call: &Value, name: &str| call["arguments"][name].as_str().unwrap_or_default().to_owned();
        let is_of_step = |call: &&&Value| text(call, "content").trim() == step || text(call, "command").contains(&format!("echo {step} "));
        let of_step = calls.iter().filter(is_of_step);
        let states: Vec<&str> = of_step.map(|call| call["status"].as_str().unwrap()).collect();
        let done = states.iter().filter(|state| **state == "success").count();
        if count > 1 || done > count || (count > 0 && states.is_empty()) {
            faults.push(format!("{file}: '{step}' happened {count} times, its calls are {states:?}"));
        }
    }
    (faults, calls.iter().filter(|call| call["status"] == "unfinished").count())
}

#[test]
fn calls_of_turns_have_one_result_or_are_unknown_when_processes_are_killed() {
    let fleet = Fleet::new();
    let (kills, mut dice) = (number("HAFT_FLEET_KILLS", 12), number("HAFT_FLEET_SEED", 25));
    let (one, two, machines) = (fleet.machine(""), fleet.machine(""), [fleet.machine(""), fleet.machine("")]);
    let mut served: [Served; 2] = [fleet.server(&one), fleet.server(&two)];
    let mut pages = [served[0].page(), served[1].page()];
    let start = |number: usize| -> Worker { fleet.worker(&machines[number], &["--capacity", "2"]) };
    let mut workers = [start(0), start(1)];
    let (mut turns, mut killed) = (Vec::new(), [0; 2]);
    for round in 0..kills {
        let giver = usize::try_from(round % 2).unwrap();
        turns.push(begin(&pages[giver], round));
        std::thread::sleep(Duration::from_millis(roll(&mut dice, LATEST)));
        let victim = usize::try_from(roll(&mut dice, 2)).unwrap();
        if roll(&mut dice, 3) == 0 {
            // The server that has just given a turn away, or the other one.
            served[victim].kill();
            served[victim] = fleet.server([&one, &two][victim]);
            pages[victim] = served[victim].page();
            killed[0] += 1;
        } else {
            workers[victim].signal(rustix::process::Signal::KILL);
            workers[victim] = start(victim);
            killed[1] += 1;
        }
    }
    let status = wait_until_settled(&fleet, &one);
    let history = fleet.run(&one, &["history", "--json", "--limit", "100000"]).json();
    let (mut faults, mut unknown) = (Vec::new(), 0);
    for turn in &turns {
        let (found, cut) = check(&fleet, history.as_array().unwrap(), turn);
        faults.extend(found);
        unknown += cut;
    }
    println!(
        "{} turns, {} servers and {} workers killed, {unknown} calls of {} unknown",
        turns.len(),
        killed[0],
        killed[1],
        history.as_array().unwrap().len()
    );
    assert!(faults.is_empty(), "{faults:#?}");
    let is_poison = |work: &Value| work["attempts"].as_u64().unwrap() >= 5;
    assert!(status["aside"].as_array().unwrap().iter().all(is_poison), "{status:#}");
    assert!(killed[0] > 0 && killed[1] > 0, "the run was one");
}
