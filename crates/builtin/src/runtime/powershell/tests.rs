use std::sync::Arc;
use std::time::Duration;

use haft_contract::{DynTool, Erased, ErrorKind, Exec};
use haft_testkit::{FakeHost, Script, Trial, expect_error, expect_text, run_tool};
use serde_json::{Value, json};

use super::*;

async fn scripted(script: Script, arguments: Value) -> Result<ToolOutput, ToolError> {
    let host = FakeHost::new();
    host.processes.script(script);
    run_tool(&Erased::new(Powershell), arguments, host).await
}

#[test]
fn a_line_is_the_last_argument_and_never_known_beforehand() {
    let host = FakeHost::new();
    let arguments = json!({"command": "Get-Item a; rm b", "workdir": "sub"});
    let prepared = Erased::new(Powershell).prepare(arguments, &PlanContext::new(&*host)).unwrap();
    let [Effect::Contained { why, read_only: false }, Effect::Exec(checked)] = prepared.plan().effects() else {
        panic!("{:?}", prepared.plan())
    };
    let words = ["-NoProfile", "-NonInteractive", "-Command", "Get-Item a; rm b"].map(str::to_owned).to_vec();
    let mut expected = Exec::new("/usr/bin/pwsh", words, "/workspace/sub");
    expected.host = haft_contract::ExecHost::Sandbox;
    assert_eq!(why, "the effects of a PowerShell command are known only when it runs");
    assert_eq!((checked, prepared.plan().planned_command().unwrap().shell()), (&expected, &expected));
    host.processes.set_exec_host(haft_contract::ExecHost::Host);
    let outside = Erased::new(Powershell).prepare(json!({"command": "x"}), &PlanContext::new(&*host)).unwrap();
    assert!(matches!(outside.plan().effects(), [Effect::Unknown { .. }, Effect::Exec(_)]), "{:?}", outside.plan());
}

#[tokio::test(start_paused = true)]
async fn it_runs_like_any_other_line() {
    let hour = Duration::from_hours(1);
    let failed = (ErrorKind::ExecutionError, "Exit code: 2\n\n3".to_owned());
    assert_eq!(expect_error(scripted(Script::says("3\n").exits(2), json!({"command": "x"})).await), failed);
    let text = expect_text(scripted(Script::says("a\n").waits(hour), json!({"command": "x"})).await);
    assert!(text.starts_with("The command continues in the background as job 'job-1' (pid 101). Its timeout is 1800 s"), "{text}");
    let text = expect_text(scripted(Script::says("").waits(hour), json!({"command": "x", "background": true})).await);
    assert!(text.starts_with("The command continues in the background as job 'job-1' (pid 101). Follow it"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_said_in_the_words_and_units_of_the_dialect() {
    let host = FakeHost::new();
    host.processes.script(Script::says("").waits(Duration::from_hours(1)));
    let tool = Erased::new(Powershell);
    let (plan, start) = tool.prepare(json!({"command": "x", "timeout": 2}), &PlanContext::new(&*host)).unwrap().into_parts();
    let form = tool.definition().form(Dialect::Claw).copied();
    let error = start(Trial::new(Arc::clone(&host)).context("powershell", plan).called_as(Dialect::Claw, form)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("such as timeout=4000, or put it into the background (run_in_background=true)"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_run_is_refused_with_what_to_do() {
    for (arguments, message) in [
        (json!({"command": " "}), "Parameter 'command' is empty. Give a command, such as 'Get-ChildItem'."),
        (json!({"command": "a\0"}), "Parameter 'command' has a NUL character, which no shell can read. Leave it out."),
        (
            json!({"command": "a", "timeout": 0}),
            "Parameter 'timeout' must be more than 0, not 0. Leave it out for 1800 seconds, or give 'background' for no end.",
        ),
    ] {
        assert_eq!(expect_error(scripted(Script::says(""), arguments).await), (ErrorKind::ValidationError, message.to_owned()));
    }
}
