use std::time::Duration;

use haft_contract::{DynTool, Effect, Erased, ErrorKind, ExecHost, ExecNature};
use haft_testkit::{FakeHost, Script, Trial, expect_error, expect_text, run_tool};
use serde_json::{Value, json};

use super::*;

fn python(code: &str) -> Value {
    json!({"language": "python", "code": code})
}

#[test]
fn every_call_plans_its_code_and_starts_the_driver_of_its_language() {
    let (host, tool) = (FakeHost::new(), Erased::new(Repl::new()));
    for (language, program, part) in
        [("py", "/usr/bin/python3", "compile("), ("js", "/usr/bin/node", "Runtime.evaluate"), ("shell", "/usr/bin/bash", "eval ")]
    {
        let prepared = tool.prepare(json!({"language": language, "code": "1+1"}), &PlanContext::new(&*host)).unwrap();
        let request = host.processes.planned().pop().unwrap();
        let [Effect::Exec(exec)] = prepared.plan().effects() else { panic!("{:?}", prepared.plan()) };
        assert_eq!((&*exec.program.to_string_lossy(), exec.host, exec.nature), (program, ExecHost::Sandbox, ExecNature::Any));
        assert_eq!((request.command.as_str(), request.directory, request.allow_hosts), ("1+1", None, Vec::new()));
        assert!(request.interpreter.unwrap().arguments.last().unwrap().contains(part), "{language}");
    }
}

#[tokio::test]
async fn wrong_calls_are_told_what_is_wrong() {
    let long = "x".repeat(1024 * 1024 + 1);
    for (arguments, message) in [
        (python(" \n"), "Parameter 'code' is empty. Give the code to run, or reset=true to start afresh."),
        (python("a\0"), "Parameter 'code' has a NUL character, which no interpreter can read. Leave it out."),
        (
            python(&long),
            "Parameter 'code' has 1048577 bytes; 1048576 are the most. Put it into a file with write_file, and run or import that.",
        ),
        (
            json!({"language": "python", "code": "1", "timeout_ms": 0}),
            "Parameter 'timeout_ms' must be more than 0. Leave it out for 30000.",
        ),
        (
            json!({"language": "python", "code": "1", "session": "n".repeat(65)}),
            "Parameter 'session' is too long: 64 characters are the most.",
        ),
    ] {
        let outcome = run_tool(&Erased::new(Repl::new()), arguments, FakeHost::new()).await;
        assert_eq!(expect_error(outcome), (ErrorKind::ValidationError, message.to_owned()));
    }
}

/// An interpreter that reads its code and never answers.
fn silent() -> Script {
    Script::says("").reads().waits(Duration::from_hours(9))
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_stop_is_ended_and_not_used_again() {
    let (host, tool) = (FakeHost::new(), Erased::new(Repl::new()));
    for job in 1..=2 {
        host.processes.script(silent());
        let (kind, message) = expect_error(run_tool(&tool, python("1"), std::sync::Arc::clone(&host)).await);
        assert!(kind == ErrorKind::Timeout && message.contains("after 30000 ms, its timeout, so its interpreter was ended"), "{message}");
        let lines = host.processes.lines();
        assert!(lines.len() == job && lines.iter().all(|line| line.end.is_some() && line.input && line.timeout.is_none()), "{lines:?}");
    }
    assert!(host.processes.lines()[0].written.ends_with(b" 1 30000\n1"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_ends_its_interpreter() {
    let (host, tool) = (FakeHost::new(), Erased::new(Repl::new()));
    host.processes.script(silent());
    let trial = Trial::new(std::sync::Arc::clone(&host));
    let call = tokio::time::timeout(Duration::from_secs(1), trial.run(&tool, python("1")));
    assert!(call.await.is_err(), "it continues");
    assert!(host.processes.lines()[0].end.is_none());
    // The job hears of it when it is polled next.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(host.processes.lines()[0].end.as_ref().is_some_and(|end| end.killed));
}

#[tokio::test]
async fn one_that_cannot_start_says_why() {
    let host = FakeHost::new();
    host.processes.script(Script::says("haft-sandbox: no python\n").exits(127));
    let (kind, message) = expect_error(run_tool(&Erased::new(Repl::new()), python("1"), host).await);
    let expected = "The interpreter has ended, and everything in it is lost; the next call starts a new one. Exit code: 127. \
                    It had written:\n\nhaft-sandbox: no python";
    assert_eq!((kind, &*message), (ErrorKind::ExecutionError, expected));
}

#[tokio::test]
async fn resetting_what_never_ran_starts_nothing() {
    let host = FakeHost::new();
    let arguments = json!({"language": "bash", "code": "", "reset": true});
    let text = expect_text(run_tool(&Erased::new(Repl::new()), arguments, std::sync::Arc::clone(&host)).await);
    assert_eq!((&*text, host.processes.lines().len()), ("The bash interpreter had not been started; there is nothing to forget.", 0));
}

#[tokio::test(start_paused = true)]
async fn one_that_nobody_uses_is_ended_and_the_next_call_is_told() {
    let (host, interpreters) = (FakeHost::new(), InterpreterPool::default());
    let key = InterpreterKey { session: "session-1".into(), language: language::Language::Bash, name: String::new() };
    let prepared = Erased::new(Repl::new()).prepare(python("1"), &PlanContext::new(&*host)).unwrap();
    let cx = Trial::new(std::sync::Arc::clone(&host)).context("repl", prepared.into_parts().0);
    let mut anew = Vec::new();
    for _ in 0..2 {
        host.processes.script(silent());
        let interpreter = Arc::new(Interpreter::start(key.language, &cx).await.unwrap());
        anew.push(interpreters.keep(&key, interpreter));
        tokio::time::sleep(Duration::from_mins(29)).await;
        assert!(interpreters.find(&key, &cx).is_some());
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert!(interpreters.find(&key, &cx).is_none());
    }
    assert_eq!(anew, [false, true]);
    assert!(host.processes.lines().iter().all(|line| line.end.as_ref().is_some_and(|end| end.killed)));
}
