//! Commands that continue after their calls: each `haft call` is a process of its own, and the next one finds what it left.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::harness::World;

/// The process that runs a background job, which ends with the test however that ends.
struct Runner(Pid);

impl Runner {
    /// The one that started this job.
    fn with(details: &Value) -> Self {
        let status = fs::read_to_string(format!("/proc/{}/status", details["pid"])).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
        Self(Pid::from_raw(parent.trim().parse().unwrap()).unwrap())
    }
    fn kill(&self, signal: Signal) {
        rustix::process::kill_process(self.0, signal).unwrap();
        self.wait();
    }
    fn is_there(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }
    fn wait(&self) {
        let began = Instant::now();
        while self.is_there() {
            assert!(began.elapsed() < Duration::from_secs(20), "the runner never ends");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Gone already, as a rule.
        rustix::process::kill_process(self.0, Signal::KILL).ok();
    }
}

fn background(world: &World, line: &str) -> (Runner, Value) {
    let (code, result) = world.call("exec", &json!({ "command": line, "background": true }));
    assert_eq!((code, &result["status"]), (0, &json!("success")), "{result}");
    (Runner::with(&result["details"]), result)
}

fn process(world: &World, arguments: &Value) -> Value {
    world.call("process", arguments).1
}

fn listed(world: &World) -> Vec<(String, String)> {
    let list = process(world, &json!({"action": "list"}));
    let text = |job: &Value, name: &str| job[name].as_str().unwrap().to_owned();
    list["details"]["jobs"].as_array().unwrap().iter().map(|job| (text(job, "job"), text(job, "status"))).collect()
}

fn leaves_nothing(world: &World) {
    assert_eq!(fs::read_dir(world.state().join("run")).unwrap().count(), 0, "a socket is left");
    let left: Vec<_> = fs::read_dir(world.file("")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "the workspace has {left:?}");
}

#[test]
fn background_command_is_followed_fed_and_ended_by_the_next_call() {
    let world = World::new();
    let (runner, result) = background(&world, "echo ready; read x; echo got $x; sleep 60");
    assert!(result["result"].as_str().unwrap().starts_with("The command continues in the background as job 'job-1'"), "{result}");
    assert_eq!(listed(&world), [("job-1".into(), "running".into())]);
    let written = process(&world, &json!({"action": "submit", "job": "job-1", "data": "it"}));
    assert_eq!(written["status"], "success", "{written}");
    let polled = process(&world, &json!({"action": "poll", "job": "job-1", "timeout_ms": 10_000}));
    assert!(polled["result"].as_str().unwrap().starts_with("ready\ngot it\n"), "{polled}");
    let killed = process(&world, &json!({"action": "kill", "job": "job-1"}));
    assert_eq!(killed["result"], "Ended job 'job-1' and all processes that it started.", "{killed}");
    runner.wait();
    let log = process(&world, &json!({"action": "log", "job": "job-1"}));
    assert!(log["result"].as_str().unwrap().starts_with("ready\ngot it"), "{log}");
    assert_eq!(listed(&world), [("job-1".into(), "failed".into())]);
    process(&world, &json!({"action": "clear", "job": "job-1"}));
    assert_eq!(listed(&world), []);
    leaves_nothing(&world);
}

#[test]
fn what_ended_meanwhile_is_told_with_all_that_it_said() {
    let world = World::new();
    // Not before it is known which process runs it.
    let (runner, _) = background(&world, "until [ -e go ]; do sleep 0.02; done; rm go; seq 20000; exit 3");
    world.write("go", "");
    runner.wait();
    assert_eq!(listed(&world), [("job-1".into(), "failed".into())]);
    let polled = process(&world, &json!({"action": "poll", "job": "job-1"}));
    let (text, details) = (polled["result"].as_str().unwrap(), &polled["details"]);
    assert!(text.starts_with("1\n2\n3\n") && text.contains("\n20000\n\nExit code: 3"), "{text}");
    assert_eq!((details["exit_code"].as_i64(), details["output_bytes"].as_u64()), (Some(3), Some(108_894)), "{details}");
    leaves_nothing(&world);
}

#[test]
fn c07_killed_process_takes_its_command_along_and_the_next_call_reports_it() {
    let world = World::new();
    for (number, signal) in [(1, Signal::KILL), (2, Signal::TERM)] {
        let (runner, result) = background(&world, "(sleep 60 &); sleep 60");
        let inside = result["details"]["pid"].as_u64().unwrap();
        runner.kill(signal);
        let began = Instant::now();
        let is_there = || fs::read_to_string(format!("/proc/{inside}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        while is_there() {
            assert!(began.elapsed() < Duration::from_secs(20), "the command still runs after its supervisor");
            std::thread::sleep(Duration::from_millis(5));
        }
        let polled = process(&world, &json!({"action": "poll", "job": format!("job-{number}")}));
        let text = polled["result"].as_str().unwrap();
        assert!(text.contains("Ended unobserved") || text.contains("Ended because it was killed"), "{signal:?}: {text}");
    }
    assert_eq!(listed(&world).iter().map(|(_, state)| state.as_str()).collect::<Vec<_>>(), ["failed", "failed"]);
}

#[test]
fn a_workspace_does_not_see_the_commands_of_another_and_secrets_are_not_remembered() {
    let world = World::new();
    let secret = format!("sk-ant-api03-{}", "a1B2".repeat(24));
    let (runner, _) = background(&world, &format!("echo {secret} > /dev/null; sleep 60"));
    fs::create_dir(world.path("other")).unwrap();
    let other = world.run(&["call", "process", r#"{"action":"list"}"#, "--workspace", world.path("other").to_str().unwrap()]);
    assert_eq!(other.stdout.trim(), "There are no jobs in this session.", "{other:?}");
    let list = process(&world, &json!({"action": "list"})).to_string();
    assert!(list.contains("sleep 60") && !list.contains(&secret), "{list}");
    runner.kill(Signal::TERM);
}

#[test]
fn the_arguments_may_come_from_standard_input_and_an_end_in_time_is_an_ordinary_end() {
    let world = World::new();
    let ran = world.run_fed(br#"{"command": "echo quick; exit 2", "yield_ms": 60000}"#, &["call", "exec", "-", "--json"]);
    assert_eq!((ran.code, ran.json()["details"]["exit_code"].as_i64()), (1, Some(2)), "{ran:?}");
    let refused = world.run(&["call", "exec", r#"{"command": "", "background": true}"#]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(listed(&world), []);
    leaves_nothing(&world);
}
