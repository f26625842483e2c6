use std::sync::Arc;
use std::time::Duration;

use haft_contract::{DynTool, Effect, Erased, ErrorKind, ToolDefinition, ports::ProcessRunner};
use haft_testkit::{FakeHost, Script, Trial, expect_error, expect_text};
use serde_json::{Value, json};

use super::*;
use crate::runtime::exec::ExecTool;

/// A session whose calls go to the same two tools.
struct Session {
    host: Arc<FakeHost>,
    process: Erased<Process>,
}

impl Session {
    fn new() -> Self {
        Self { host: FakeHost::new(), process: Erased::new(Process::new()) }
    }

    /// Puts a line into the background.
    async fn start(&self, arguments: Value, script: Script) {
        self.host.processes.script(script);
        let mut full = json!({"command": "serve", "background": true});
        full.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        Trial::new(Arc::clone(&self.host)).run(&Erased::new(ExecTool::new()), full).await.unwrap();
    }

    async fn call(&self, action: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let mut full = json!({"action": action, "job": "job-1"});
        full.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        Trial::new(Arc::clone(&self.host)).run(&self.process, full).await
    }

    async fn text(&self, action: &str, arguments: Value) -> String {
        expect_text(self.call(action, arguments).await)
    }
}

fn minutes(count: u64) -> Duration {
    Duration::from_mins(count)
}

#[tokio::test(start_paused = true)]
async fn the_list_is_newest_first_and_aligned() {
    let session = Session::new();
    assert_eq!(
        session.call("list", json!({})).await.unwrap(),
        ToolOutput::text("There are no jobs in this session.").with_details(json!({"jobs": []}))
    );
    session.start(json!({"command": "npm run dev"}), Script::says("up\n").waits(minutes(600))).await;
    session.start(json!({"command": "A=1 ./build --fast all"}), Script::says("").waits(minutes(3)).exits(2)).await;
    tokio::time::sleep(minutes(5)).await;
    session.host.clock.advance(minutes(125));
    let output = session.call("list", json!({})).await.unwrap();
    let text = "job-2  failed   3 min      build all\njob-1  running  2 h 5 min  npm run";
    let facts = |status, code: Value, duration: u64, number: usize, bytes, command, name| {
        json!({
            "status": status, "exit_code": code, "signal": null, "timed_out": false, "duration_ms": duration, "cwd": "/workspace",
            "pid": 100 + number, "job": format!("job-{number}"), "sandbox": "sandbox", "output_bytes": bytes, "spill": null,
            "command": command, "name": name
        })
    };
    let jobs = [
        facts("failed", json!(2), 180_000, 2, 0, "A=1 ./build --fast all", "build all"),
        facts("running", Value::Null, 7_500_000, 1, 3, "npm run dev", "npm run"),
    ];
    assert_eq!(output, ToolOutput::text(text).with_details(json!({"jobs": jobs})));
}

#[tokio::test(start_paused = true)]
async fn of_very_many_jobs_the_newest_are_listed() {
    let session = Session::new();
    for _ in 0..102 {
        session.start(json!({}), Script::says("").waits(minutes(1))).await;
    }
    let output = session.call("list", json!({})).await.unwrap();
    let text: String = output.texts().collect();
    assert!(text.starts_with("job-102  running  less than a minute  serve\n"), "{text}");
    assert!(text.ends_with("\njob-3    running  less than a minute  serve\n\n(2 older ones are not shown.)"), "{text}");
    assert_eq!(output.details.unwrap()["jobs"].as_array().unwrap().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_poll_returns_only_what_is_new_and_waits_for_it() {
    let session = Session::new();
    let script =
        Script::says("one\n").waits(Duration::from_secs(30)).then_says("two\n").waits(Duration::from_millis(100)).then_says("three\n");
    session.start(json!({}), script.waits(minutes(3)).then_says("four\n").exits(1)).await;
    let began = tokio::time::Instant::now();
    let after = |text: &str, elapsed: Duration| (text.to_owned(), elapsed);
    let mut seen = Vec::new();
    for wait in [1_000, 1_000, 0, 60_000, 600_000, 60_000, 60_000] {
        let text = session.text("poll", json!({"timeout_ms": wait})).await;
        seen.push((text, began.elapsed()));
    }
    let nothing = "(no new output)\n\nStill running, for less than a minute. Ask again in";
    assert_eq!(
        seen,
        [
            after("one\n\nStill running, for less than a minute.", Duration::from_millis(200)),
            after(&format!("{nothing} 5 s, or wait for output with timeout_ms=5000."), Duration::from_millis(1_200)),
            after(&format!("{nothing} 10 s, or wait for output with timeout_ms=10000."), Duration::from_millis(1_200)),
            after("two\nthree\n\nStill running, for less than a minute.", Duration::from_millis(30_200)),
            after(&format!("{nothing} 5 s, or wait for output with timeout_ms=5000."), Duration::from_millis(150_200)),
            after("four\n\nExit code: 1", Duration::from_millis(210_100)),
            after("(no new output)\n\nExit code: 1", Duration::from_millis(210_100)),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn advice_backs_off_and_starts_anew_with_output() {
    let session = Session::new();
    session.start(json!({}), Script::says("").waits(minutes(1)).then_says("x").waits(minutes(10))).await;
    let mut advice = Vec::new();
    for _ in 0..6 {
        advice.push(session.call("poll", json!({})).await.unwrap().details.unwrap()["retry_in_ms"].clone());
    }
    tokio::time::sleep(minutes(2)).await;
    for _ in 0..2 {
        advice.push(session.call("poll", json!({})).await.unwrap().details.unwrap()["retry_in_ms"].clone());
    }
    assert_eq!(json!(advice), json!([5_000, 10_000, 30_000, 60_000, 60_000, 60_000, null, 5_000]));
}

#[tokio::test(start_paused = true)]
async fn a_poll_has_everything_for_programs() {
    let session = Session::new();
    session.start(json!({}), Script::says("one\n")).await;
    let output = session.call("poll", json!({"timeout_ms": 10})).await.unwrap();
    let details = json!({
        "status": "completed", "exit_code": 0, "signal": null, "timed_out": false, "duration_ms": 0, "cwd": "/workspace", "pid": 101,
        "job": "job-1", "sandbox": "sandbox", "output_bytes": 4, "spill": "/spills/1.txt", "new_bytes": 4, "retry_in_ms": null
    });
    assert_eq!(output, ToolOutput::text("one\n\nExit code: 0").with_details(details));
}

#[tokio::test(start_paused = true)]
async fn the_log_is_paged_by_lines() {
    let session = Session::new();
    let lines = |range: std::ops::Range<usize>| range.map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
    session.start(json!({}), Script::says(lines(0..500) + "\n")).await;
    tokio::time::sleep(minutes(1)).await;
    for (arguments, text) in [
        (json!({}), format!("{}\n\n(Lines 300-499 of 500, counted from 0; offset=100 shows those before.)", lines(300..500))),
        (json!({"limit": 2}), format!("{}\n\n(Lines 498-499 of 500, counted from 0; offset=496 shows those before.)", lines(498..500))),
        (json!({"offset": 0, "limit": 3}), format!("{}\n\n(Lines 0-2 of 500, counted from 0; offset=3 continues.)", lines(0..3))),
        (json!({"offset": 400}), format!("{}\n\n(Lines 400-499 of 500, counted from 0; offset=300 shows those before.)", lines(400..500))),
        (json!({"limit": 1_000}), lines(0..500)),
        (json!({"offset": 500}), "(no lines here)\n\n(There are 500 lines, counted from 0.)".into()),
    ] {
        assert_eq!(session.text("log", arguments.clone()).await, text, "{arguments}");
    }
    let output = session.call("log", json!({"offset": 10, "limit": 5})).await.unwrap();
    let details = json!({"job": "job-1", "first_line": 10, "lines": 5, "total_lines": 500, "output_bytes": 4_390, "kept_from": 0});
    assert_eq!(output.details, Some(details));
}

#[tokio::test(start_paused = true)]
async fn a_page_of_the_log_is_bounded_and_says_what_is_gone() {
    let session = Session::new();
    let long = format!("{}\n{}\nlast\n", "a".repeat(20_000), "b".repeat(40_000));
    session.start(json!({}), Script::says(long)).await;
    session.start(json!({}), Script::says("0123456789\n".repeat(100)).keeping(22, 44)).await;
    session.start(json!({}), Script::says("0123456789\n".repeat(100)).keeping(22, 44).waits(minutes(10))).await;
    session.start(json!({}), Script::says("")).await;
    tokio::time::sleep(minutes(1)).await;
    let shown = "b".repeat(30_000);
    for (job, arguments, text) in [
        ("job-1", json!({}), "last\n\n(Lines 2-2 of 3, counted from 0; offset=1 shows those before.)".to_owned()),
        ("job-1", json!({"offset": 1}), format!("{shown}… (9.8 KB more)\n\n(Lines 1-1 of 3, counted from 0; offset=2 continues.)")),
        (
            "job-2",
            json!({"limit": 9}),
            "0123456789\n0123456789\n0123456789\n0123456789\n\n\
             (The first 1.0 KB are no longer here, and lines are counted after them: all of it is in '/spills/2.txt'.)"
                .to_owned(),
        ),
        (
            "job-3",
            json!({"limit": 1}),
            "0123456789\n\n(The first 1.0 KB are no longer here, and lines are counted after them: \
             all of it can be read when the job has ended.)\n(Lines 3-3 of 4, counted from 0; offset=2 shows those before.)"
                .to_owned(),
        ),
        ("job-4", json!({}), "(no output)".to_owned()),
    ] {
        let mut arguments = arguments;
        arguments["job"] = job.into();
        assert_eq!(session.text("log", arguments.clone()).await, text, "{arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn input_is_given_as_each_action_has_it() {
    for (action, arguments, terminal, written, said) in [
        ("write", json!({"data": " a\n"}), false, " a\n", "Gave job 'job-1' 3 bytes."),
        ("write", json!({"data": "a", "eof": true}), false, "a", "Gave job 'job-1' 1 byte, and closed its input."),
        ("write", json!({"eof": true}), false, "", "Gave job 'job-1' 0 bytes, and closed its input."),
        ("submit", json!({}), false, "\n", "Gave job 'job-1' 1 byte."),
        ("submit", json!({"data": "yes", "eof": true}), true, "yes\r", "Gave job 'job-1' 4 bytes."),
        ("paste", json!({"text": "a\nb"}), false, "a\nb", "Gave job 'job-1' 3 bytes."),
        ("paste", json!({"text": "a\u{1b}[201~b"}), true, "\u{1b}[200~ab\u{1b}[201~", "Gave job 'job-1' 14 bytes."),
        ("paste", json!({"text": "a", "bracketed": false}), true, "a", "Gave job 'job-1' 1 byte."),
        ("paste", json!({"text": "a", "bracketed": true}), false, "\u{1b}[200~a\u{1b}[201~", "Gave job 'job-1' 13 bytes."),
        ("send-keys", json!({"keys": ["C-c"]}), false, "\u{3}", "Gave job 'job-1' 1 byte."),
        ("send-keys", json!({"literal": "x ", "hex": ["41"], "keys": ["up", "enter"]}), true, "x A\u{1b}[A\r", "Gave job 'job-1' 7 bytes."),
    ] {
        let session = Session::new();
        session.start(json!({"pty": terminal}), Script::says("").waits(minutes(10))).await;
        let text = session.text(action, arguments.clone()).await;
        assert_eq!(text, format!("{said} 'poll' shows its output."), "{action} {arguments}");
        assert_eq!(String::from_utf8(session.host.processes.lines()[0].written.clone()).unwrap(), written, "{action} {arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_read_and_answered() {
    let session = Session::new();
    session.start(json!({}), Script::says("Name? ").reads().then_says("Hello\n")).await;
    assert_eq!(session.text("poll", json!({"timeout_ms": 1_000})).await, "Name? \n\nStill running, for less than a minute.");
    session.text("submit", json!({"data": "Ada"})).await;
    assert_eq!(session.text("poll", json!({"timeout_ms": 1_000})).await, "Hello\n\nExit code: 0");
    let refused = expect_error(session.call("write", json!({"data": "x"})).await);
    assert_eq!(refused, (ErrorKind::ExecutionError, "Job 'job-1' reads no input: it has ended. Exit code: 0".into()));
}

#[tokio::test(start_paused = true)]
async fn unknown_keys_are_warned_about() {
    let session = Session::new();
    session.start(json!({}), Script::says("").waits(minutes(10))).await;
    let output = session.call("send-keys", json!({"keys": ["hyper"]})).await.unwrap();
    let warning = "Unknown key 'hyper': it was typed as text.";
    let text = format!("Gave job 'job-1' 5 bytes. 'poll' shows its output.\n\n({warning})");
    let details = json!({"job": "job-1", "bytes": 5, "closed": false, "warnings": [warning]});
    assert_eq!(output, ToolOutput::text(text).with_details(details));
}

#[tokio::test(start_paused = true)]
async fn jobs_are_killed_cleared_and_removed() {
    let session = Session::new();
    for _ in 0..3 {
        session.start(json!({}), Script::says("").waits(minutes(600))).await;
    }
    let still_runs = "Job 'job-1' still runs. End it with 'kill', or use 'remove' for both at once.";
    assert_eq!(expect_error(session.call("clear", json!({})).await), (ErrorKind::ValidationError, still_runs.into()));
    for (action, job, text) in [
        ("kill", "job-1", "Ended job 'job-1' and all processes that it started."),
        ("kill", "job-1", "Job 'job-1' has ended already. Ended because it was killed"),
        ("poll", "job-1", "(no new output)\n\nEnded because it was killed"),
        ("clear", "job-1", "Forgot job 'job-1'."),
        ("remove", "job-2", "Forgot job 'job-2'. It still ran, and was ended."),
    ] {
        assert_eq!(session.text(action, json!({"job": job})).await, text);
    }
    let killed: Vec<bool> = session.host.processes.lines().iter().map(|line| line.end.as_ref().is_some_and(|end| end.killed)).collect();
    assert_eq!(killed, [true, true, false]);
    let left: Vec<String> = session.host.processes.jobs("session-1").iter().map(|job| job.status().id).collect();
    assert_eq!(left, ["job-3"]);
}

#[tokio::test(start_paused = true)]
async fn wrong_calls_are_told_what_is_missing() {
    let session = Session::new();
    session.start(json!({}), Script::says("").waits(minutes(10))).await;
    session.start(json!({}), Script::says("")).await;
    tokio::time::sleep(minutes(1)).await;
    let no_job = "Parameter 'job' is needed for 'poll': the name that exec gave the job; 'list' shows them.";
    for (action, arguments, message) in [
        ("poll", json!({"job": null}), no_job),
        ("poll", json!({"job": "zebra"}), "There is no job 'zebra' in this session. Running are: job-1. 'list' shows them all."),
        ("write", json!({}), "Parameter 'data' is needed for 'write': the input of the job, or eof=true."),
        ("write", json!({"data": ""}), "Parameter 'data' is needed for 'write': the input of the job, or eof=true."),
        ("paste", json!({}), "Parameter 'text' is needed for 'paste': the text to paste."),
        (
            "send-keys",
            json!({"keys": []}),
            "Parameter 'keys' is needed for 'send-keys': such as ['C-c'] or ['down', 'enter']; or 'literal' or 'hex'.",
        ),
    ] {
        assert_eq!(expect_error(session.call(action, arguments).await), (ErrorKind::ValidationError, message.into()));
    }
    let alone = Session::new();
    let message = "There is no job 'job-1' in this session. No job is running. 'list' shows them all.";
    assert_eq!(expect_error(alone.call("log", json!({})).await), (ErrorKind::ValidationError, message.into()));
}

#[tokio::test(start_paused = true)]
async fn one_session_does_not_see_the_jobs_of_another() {
    let session = Session::new();
    session.start(json!({}), Script::says("").waits(minutes(10))).await;
    assert_eq!(session.host.processes.jobs("session-2").len(), 0);
    assert_eq!(session.host.processes.jobs("session-1").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn input_outside_the_sandbox_is_an_effect_of_its_own() {
    for (host, expected) in
        [("sandbox", &[][..]), ("host", &["the effects of the input 'rm' on job 'job-1' (python3 -i) outside the sandbox"])]
    {
        let session = Session::new();
        session.start(json!({"command": "python3 -i", "host": host}), Script::says("").waits(minutes(10))).await;
        for (action, key) in [("write", "data"), ("submit", "data"), ("paste", "text"), ("send-keys", "literal"), ("poll", "data")] {
            let arguments = json!({"action": action, "job": "job-1", key: "rm"});
            let context = PlanContext::new(&*session.host).in_session("session-1");
            let (plan, _) = session.process.prepare(arguments, &context).unwrap().into_parts();
            let effects: Vec<String> = plan.effects().iter().map(Effect::target).collect();
            let expected = if action == "poll" { &[] } else { expected };
            assert_eq!(effects, expected, "{host} {action}");
        }
    }
    let arguments = json!({"action": "write", "job": "job-9", "data": "x"});
    let refused = Erased::new(Process::new()).prepare(arguments, &PlanContext::new(&*FakeHost::new())).map(drop);
    let message = "There is no job 'job-9' in this session. No job is running. 'list' shows them all.";
    assert_eq!(expect_error(refused), (ErrorKind::ValidationError, message.into()));
}

#[test]
fn each_dialects_spelling_is_known() {
    let definition = ToolDefinition::for_tool::<Process>();
    let form = definition.form(Dialect::OpenClaw).unwrap();
    let named = |name: &str| form.find_by_name(name).map(|parameter| parameter.canonical);
    assert_eq!((named("sessionId"), named("timeout")), (Some("job"), Some("timeout_ms")));
    for name in ["action", "data", "eof", "keys", "hex", "literal", "text", "bracketed", "offset", "limit"] {
        assert!(definition.parameters["properties"].get(name).is_some(), "{name}");
    }
    let aliases: Vec<&str> = definition.parameters.hints().aliases.iter().map(|(alias, _)| alias.as_str()).collect();
    assert_eq!(aliases, ["session_id", "job_id", "id", "timeout"]);
}
