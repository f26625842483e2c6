use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Access, DynTool, Effect, Erased, ErrorKind, ExecHost, ExecNature, Job, ToolDefinition};
use haft_testkit::{FakeHost, ProgressRecorder, Script, StartedCommand, Trial, expect_error, expect_text, run_tool};
use serde_json::{Value, json};

use super::*;

async fn run(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(ExecTool::new()), arguments, Arc::clone(host)).await
}

/// The outcome of a line that follows a script.
async fn scripted(script: Script, arguments: Value) -> Result<ToolOutput, ToolError> {
    let host = FakeHost::new();
    host.processes.script(script);
    run(&host, arguments).await
}

fn command(line: &str) -> Value {
    json!({"command": line})
}

fn details(changes: Value) -> Value {
    let mut details = json!({
        "status": "completed", "exit_code": 0, "signal": null, "timed_out": false, "duration_ms": 0, "cwd": "/workspace", "pid": 101,
        "job": "job-1", "sandbox": "sandbox", "output_bytes": 0, "spill": null
    });
    let Value::Object(changes) = changes else { panic!("an object") };
    details.as_object_mut().unwrap().extend(changes);
    details
}

#[tokio::test]
async fn a_line_gives_its_output() {
    let output = scripted(Script::says("hello\n"), json!({"command": "echo hello", "description": "Greets"})).await.unwrap();
    let details = details(json!({"output_bytes": 6, "spill": "/spills/1.txt", "description": "Greets"}));
    assert_eq!(output, ToolOutput::text("hello").with_details(details));
}

#[tokio::test(start_paused = true)]
async fn where_nobody_follows_a_line_it_is_waited_for_unless_the_call_says_otherwise() {
    let slow = || Script::says("begun\n").waits(Duration::from_mins(10)).then_says("done\n");
    for (arguments, expected) in [
        (json!({"command": "make"}), "begun\ndone"),
        (json!({"command": "make", "yield_ms": 1000}), "The command continues in the background as job 'job-1' (pid 101)."),
        (json!({"command": "make", "background": true}), "The command continues in the background as job 'job-1' (pid 101)."),
    ] {
        let host = FakeHost::new();
        host.processes.wait_for_exit_by_default();
        host.processes.script(slow());
        let text = expect_text(run(&host, arguments.clone()).await);
        assert!(text.starts_with(expected), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn codes_that_are_answers_are_results_and_explained() {
    for (line, script, text, changes) in [
        ("true", Script::says(""), "(no output)", json!({})),
        ("grep x a", Script::says("").exits(1), "(no output)\n\nExit code: 1 (grep: nothing was found)", json!({"exit_code": 1})),
    ] {
        let output = scripted(script, command(line)).await.unwrap();
        assert_eq!(output, ToolOutput::text(text).with_details(details(changes)), "{line}");
    }
}

#[tokio::test]
async fn other_codes_and_signals_are_failures_with_the_output_behind_them() {
    for (line, script, text, changes) in [
        ("make", Script::says("no\n").exits(2), "Exit code: 2\n\nno", json!({"exit_code": 2, "output_bytes": 3, "spill": "/spills/1.txt"})),
        (
            "grep x a",
            Script::says("grep: a: No such file\n").exits(2),
            "Exit code: 2\n\ngrep: a: No such file",
            json!({"exit_code": 2, "output_bytes": 22, "spill": "/spills/1.txt"}),
        ),
        (
            "./a",
            Script::says("").falls(11),
            "Ended by signal 11 (SIGSEGV: the program touched memory that is not its own)\n\n(no output)",
            json!({"exit_code": null, "signal": 11}),
        ),
    ] {
        let error = scripted(script, command(line)).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::ExecutionError, text), "{line}");
        let mut expected = details(changes);
        expected["status"] = "failed".into();
        assert_eq!(error.details(), Some(&expected), "{line}");
    }
}

#[tokio::test]
async fn what_is_no_plain_text_is_made_so_and_said() {
    let script = Script::says(b"\x1b[32m1%\r2%\r\x1b[0mall\xff\r\n").noting("The sandbox has no network.");
    let text = "all\u{fffd}\n\n(Some bytes of the output are not UTF-8; each is shown as \u{fffd}.)\n\
                (2 lines were written over by the next, as progress bars do; only the last is shown.)\n(The sandbox has no network.)";
    assert_eq!(expect_text(scripted(script, command("x")).await), text);
}

#[tokio::test(start_paused = true)]
async fn failures_say_what_to_do_and_keep_the_output() {
    let hour = Duration::from_hours(1);
    for (script, arguments, kind, message) in [
        (
            Script::says("sh: foo: not found\n").exits(127),
            command("foo"),
            ErrorKind::ExecutionError,
            "Exit code: 127. A program was not found: check its name with 'command -v NAME', give its path, or install it.\n\n\
             sh: foo: not found",
        ),
        (
            Script::says("").exits(126),
            command("./foo"),
            ErrorKind::ExecutionError,
            "Exit code: 126. A program was found but cannot be run: it may not be executable ('chmod +x'), or the sandbox does not let it run.\n\n\
             (no output)",
        ),
        (
            Script::says("half\n").waits(hour),
            json!({"command": "x", "timeout": 1.5}),
            ErrorKind::Timeout,
            "The command was ended after 1.5 s, its timeout. Give more time, such as timeout=3, or put it into the background \
             (background=true) and follow it with process. It had written:\n\nhalf",
        ),
    ] {
        let error = scripted(script, arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, message));
        assert_eq!(error.details().unwrap()["status"], "failed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_said_in_the_words_and_units_of_the_dialect() {
    let host = FakeHost::new();
    host.processes.script(Script::says("").waits(Duration::from_hours(1)));
    let tool = Erased::new(ExecTool::new());
    let arguments = json!({"command": "x", "timeout": 2});
    let (plan, start) = tool.prepare(arguments, &PlanContext::new(&*host)).unwrap().into_parts();
    let form = tool.definition().form(Dialect::Claw).copied();
    let error = start(Trial::new(host).context("exec", plan).called_as(Dialect::Claw, form)).await.unwrap_err();
    assert!(error.message().contains("such as timeout=4000, or put it into the background (run_in_background=true)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn long_command_continues_in_the_background() {
    let host = FakeHost::new();
    host.processes.script(Script::says("begun\n").waits(Duration::from_mins(1)).then_says("done\n"));
    let output = run(&host, command("make")).await.unwrap();
    let text = "The command continues in the background as job 'job-1' (pid 101). Its timeout is 1800 s. \
                Follow it with process: action=poll, job=job-1 waits for more; log, write and kill are other actions. \
                It has written:\n\nbegun";
    let running = details(json!({"status": "running", "exit_code": null, "output_bytes": 6}));
    assert_eq!(output, ToolOutput::text(text).with_details(running));
    let jobs = kept(&host);
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].wait().await.code, Some(0), "nothing ends it");
}

#[tokio::test(start_paused = true)]
async fn running_command_shows_the_end_of_its_output() {
    let host = FakeHost::new();
    host.processes.script(Script::says("0123456789\n".repeat(1_000)).waits(Duration::from_hours(1)));
    let tool = Erased::new(ExecTool::new());
    let (plan, start) = tool.prepare(json!({"command": "x", "yield_ms": 10}), &PlanContext::new(&*host)).unwrap().into_parts();
    let cx = Trial::new(host).context("exec", plan).called_as(Dialect::OpenClaw, tool.definition().form(Dialect::OpenClaw).copied());
    let text = format!(
        "The command continues in the background as job 'job-1' (pid 101). Follow it with process: action=poll, sessionId=job-1 waits for \
         more; log, write and kill are other actions. It has written 10.7 KB, of which this is the end:\n\n{}",
        "0123456789\n".repeat(181).trim_end()
    );
    assert_eq!(expect_text(start(cx).await), text);
}

#[tokio::test(start_paused = true)]
async fn what_ends_in_time_is_not_kept() {
    let host = FakeHost::new();
    host.processes.script(Script::says("").waits(Duration::from_millis(9_999)).then_says("done"));
    let output = run(&host, command("make")).await.unwrap();
    let expected = details(json!({"duration_ms": 9_999, "output_bytes": 4, "spill": "/spills/1.txt"}));
    assert_eq!(output, ToolOutput::text("done").with_details(expected));
    assert_eq!(kept(&host).len(), 0);
}

fn kept(host: &FakeHost) -> Vec<Arc<dyn Job>> {
    use haft_contract::ports::ProcessRunner;
    host.processes.jobs("session-1")
}

#[tokio::test(start_paused = true)]
async fn patience_timeout_input_and_terminal_are_as_asked() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for (arguments, waited, timeout, terminal, input) in [
        (json!({}), 10_000, seconds(1_800), None, false),
        (json!({"timeout": 60}), 10_000, seconds(60), None, false),
        (json!({"timeout": 1e12}), 10_000, seconds(604_800), None, false),
        (json!({"yield_ms": 500}), 500, None, None, false),
        (json!({"yield_ms": 1}), 10, None, None, false),
        (json!({"yield_ms": 999_999}), 120_000, None, None, false),
        (json!({"yield_ms": 500, "timeout": 7_200}), 500, seconds(7_200), None, false),
        (json!({"background": true}), 0, None, None, true),
        (json!({"background": true, "timeout": 60}), 0, seconds(60), None, true),
        (json!({"pty": true}), 10_000, seconds(1_800), Some((120, 30)), true),
    ] {
        let host = FakeHost::new();
        host.processes.script(Script::says("").waits(Duration::from_hours(10_000)));
        let began = tokio::time::Instant::now();
        let mut full = arguments.clone();
        full["command"] = "serve".into();
        let output = run(&host, full).await.unwrap();
        assert_eq!(
            (began.elapsed(), &output.details.unwrap()["status"]),
            (Duration::from_millis(waited), &json!("running")),
            "{arguments}"
        );
        let (line, session, written) = ("serve".to_owned(), "session-1".to_owned(), Vec::new());
        let expected = StartedCommand { line, session, timeout, terminal, input, spilled: true, written, end: None };
        assert_eq!(host.processes.lines(), [expected], "{arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn output_is_shown_while_it_comes_but_not_too_often() {
    let host = FakeHost::new();
    let script = (0..19).fold(Script::says("line 0\n\n"), |script, number| {
        script.waits(Duration::from_millis(70)).then_says(format!("line {}\n", number + 1))
    });
    host.processes.script(script);
    let progress = Arc::new(ProgressRecorder::default());
    let trial = Trial { progress: Some(Arc::clone(&progress) as _), ..Trial::new(Arc::clone(&host)) };
    trial.run(&Erased::new(ExecTool::new()), command("x")).await.unwrap();
    assert_eq!(progress.messages(), ["line 0", "line 2", "line 5", "line 8", "line 11", "line 14", "line 17"]);
    let second = &progress.seen()[1].1;
    assert_eq!(second.details, Some(json!({"tail": "line 0\n\nline 1\nline 2", "output_bytes": 22})));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_ends_its_line() {
    let host = FakeHost::new();
    host.processes.script(Script::says("").waits(Duration::from_hours(1)));
    let trial = Trial::new(Arc::clone(&host));
    let tool = Erased::new(ExecTool::new());
    let (outcome, ()) = tokio::join!(trial.run(&tool, command("x")), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        trial.cancel.cancel();
    });
    assert_eq!(
        expect_error(outcome),
        (
            ErrorKind::Cancelled,
            "The call was cancelled, and its command ended. It may have had effects: check before you repeat it.".into()
        )
    );
    assert!(host.processes.lines()[0].end.as_ref().is_some_and(|end| end.killed));
}

#[tokio::test]
async fn of_much_output_beginning_and_end_are_shown_and_all_is_kept() {
    let whole = (0..10_000).map(|number| format!("line {number:05}\n")).collect::<Vec<_>>().concat();
    let text = expect_text(scripted(Script::says(whole.as_str()), command("x")).await);
    let cut = "line 00908\n\n(… 78.1 KB left out. All of it is in '/spills/1.txt': read_file with offset=910 continues …)\n\nline 08182\n";
    assert!(text.starts_with("line 00000\n") && text.contains(cut) && text.ends_with("\nline 09999"), "{text}");
    assert!(text.len() < 31_000);
}

#[tokio::test]
async fn a_full_disk_does_not_keep_a_line_from_running() {
    let host = FakeHost::new();
    host.processes.script(Script::says("x".repeat(40_000)));
    host.journal.fail(ErrorKind::ExecutionError, "no space left.");
    let text = expect_text(run(&host, command("rm big")).await);
    assert!(text.contains("\n\n(… 9.8 KB left out, and could not be kept …)\n\n"), "{text}");
    assert!(text.ends_with("\n\n(All of the output could not be kept: no space left.)"), "{text}");
}

#[tokio::test]
async fn a_terminal_that_cannot_be_given_is_said() {
    for (script, text) in [
        (Script::says("x"), "x"),
        (Script::says("x").without_terminals(), "x\n\n(It was given no terminal, because there is none to give here.)"),
    ] {
        assert_eq!(expect_text(scripted(script, json!({"command": "x", "pty": true})).await), text);
    }
}

#[tokio::test]
async fn wrong_calls_are_refused_before_anything_runs() {
    let timeout = "Leave it out for 1800 seconds, or give 'background' for no end.";
    for (arguments, kind, message) in [
        (
            json!({"command": " \n"}),
            ErrorKind::ValidationError,
            "Parameter 'command' is empty. Give a command, such as 'ls -l'.".into(),
        ),
        (
            json!({"command": "a\0b"}),
            ErrorKind::ValidationError,
            "Parameter 'command' has a NUL character, which no shell can read. Leave it out.".into(),
        ),
        (
            json!({"command": "x", "elevated": true}),
            ErrorKind::PermissionDenied,
            "Parameter 'elevated' is not supported: a call cannot give itself more than it has. \
             Only the user can, in their configuration. Leave it out."
                .into(),
        ),
        (
            json!({"command": "x", "commit": "chg-1"}),
            ErrorKind::ValidationError,
            "Parameter 'commit' stands alone: it does what a dry run has shown, and runs nothing. Leave 'command' and 'dry_run' out, or it.".into(),
        ),
        (
            json!({"commit": "chg-1"}),
            ErrorKind::SandboxUnavailable,
            "This host stages no changes, so there is nothing to commit.".into(),
        ),
        (
            json!({"command": "x", "host": "node", "node": "pi"}),
            ErrorKind::ExecutionError,
            "There are no nodes here: this program has no gateway for them. Leave 'node' out, and work on this machine.".into(),
        ),
        (
            json!({"command": "x", "timeout": 0}),
            ErrorKind::ValidationError,
            format!("Parameter 'timeout' must be more than 0, not 0. {timeout}"),
        ),
        (
            json!({"command": "x", "timeout": -3, "background": true}),
            ErrorKind::ValidationError,
            format!("Parameter 'timeout' must be more than 0, not -3. {timeout}"),
        ),
        (
            json!({"command": "x", "env": {"A=B": "x"}}),
            ErrorKind::ValidationError,
            "Invalid name of a variable in 'env': 'A=B'. Use letters, digits and '_' only.".into(),
        ),
        (
            json!({"command": "x", "env": {"A": ["x"]}}),
            ErrorKind::ValidationError,
            r#"Variable 'A' in 'env' must be text without NUL characters, not ["x"]."#.into(),
        ),
        (
            json!({"command": "x", "allow_host": vec!["a.test"; 33]}),
            ErrorKind::ValidationError,
            "Parameter 'allow_host' names 33 hosts; 32 are the most.".into(),
        ),
    ] {
        let host = FakeHost::new();
        host.processes.script(Script::says(""));
        assert_eq!(expect_error(run(&host, arguments).await), (kind, message));
        assert_eq!(host.processes.lines(), []);
    }
}

#[tokio::test]
async fn what_the_host_cannot_plan_is_refused_in_its_words() {
    let host = FakeHost::new();
    host.processes.refuse_commands(ErrorKind::SandboxUnavailable, "There is no sandbox here.");
    assert_eq!(expect_error(run(&host, command("x")).await), (ErrorKind::SandboxUnavailable, "There is no sandbox here.".into()));
}

#[tokio::test]
async fn a_line_is_planned_as_asked() {
    type RequestedLimits = (Option<&'static str>, Vec<(&'static str, &'static str)>, Option<ExecHost>, Vec<&'static str>);
    let cases: [(Value, RequestedLimits); 9] = [
        (json!({}), (None, vec![], None, vec![])),
        (json!({"workdir": "sub"}), (Some("sub"), vec![], None, vec![])),
        (json!({"env": {"B": "x y", "A": 1, "C": true}}), (None, vec![("B", "x y"), ("A", "1"), ("C", "true")], None, vec![])),
        (json!({"allow_host": ["a.test", "b.test:1"]}), (None, vec![], None, vec!["a.test", "b.test:1"])),
        (json!({"allow_host": ["a.test"], "isolate_network": true}), (None, vec![], None, vec![])),
        (json!({"host": "sandbox"}), (None, vec![], Some(ExecHost::Sandbox), vec![])),
        (json!({"host": "gateway"}), (None, vec![], Some(ExecHost::Container), vec![])),
        (json!({"host": "container", "dangerously_disable_sandbox": true}), (None, vec![], Some(ExecHost::Container), vec![])),
        (json!({"dangerously_disable_sandbox": true}), (None, vec![], Some(ExecHost::Host), vec![])),
    ];
    for (arguments, (directory, environment, sandboxed, reach)) in cases {
        let host = FakeHost::new();
        host.processes.script(Script::says(""));
        let mut full = arguments.clone();
        full["command"] = " a\n b ".into();
        run(&host, full).await.unwrap();
        let CommandRequest { command: line, directory: where_to, environment: variables, host: behind, allow_hosts: hosts, .. } =
            host.processes.planned().remove(0);
        let environment: Vec<(String, String)> = environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!((line.as_str(), where_to, variables), (" a\n b ", directory.map(Into::into), environment), "{arguments}");
        assert_eq!((behind, hosts), (sandboxed, reach.into_iter().map(str::to_owned).collect()), "{arguments}");
    }
}

#[tokio::test]
async fn hints_are_given_with_a_failure_alone() {
    for (code, shown) in [(0, false), (1, true), (127, true)] {
        let host = FakeHost::new();
        host.processes.script(Script::says("").exits(code).hinting("open the folder"));
        let text = match run(&host, json!({"command": "x"})).await {
            Ok(output) => expect_text(Ok(output)),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(text.contains("open the folder"), shown, "{code}: {text}");
    }
}

#[test]
fn a_read_only_session_gets_a_read_only_view() {
    for (access, read_only) in [(Access::ReadOnly, true), (Access::WorkspaceWrite, false), (Access::FullAccess, false)] {
        let host = FakeHost::new();
        let context = PlanContext::new(&*host).with_access(access);
        let prepared = Erased::new(ExecTool::new()).prepare(json!({"command": "x"}), &context).unwrap();
        assert_eq!(prepared.plan().planned_command().unwrap().has_read_only_view(), read_only, "{access}");
    }
}

/// A call that leaves the sandbox needs approval, and so does one that asks for it; never less than the command needs.
#[tokio::test]
async fn a_call_can_only_tighten() {
    let asks = |wish: &str| Some(format!("the call itself asks for approval ({wish})"));
    let leaves = |host: &str| Some(format!("the call wants to run outside the sandbox (host={host})"));
    let (any, reads, sandbox, free) = (ExecNature::Any, ExecNature::Reads, ExecHost::Sandbox, ExecHost::Host);
    for (arguments, nature, configured, why) in [
        (json!({}), any, sandbox, None),
        (json!({"security": "full", "ask": "off"}), any, sandbox, None),
        (json!({"ask": "smart"}), any, sandbox, None),
        (json!({"ask": "on-miss"}), any, sandbox, None),
        (json!({"ask": "always"}), reads, sandbox, asks("ask=always")),
        (json!({"security": "paranoid"}), reads, sandbox, asks("security=paranoid")),
        (json!({"security": "deny"}), reads, sandbox, asks("security=paranoid")),
        (json!({"security": "safe-bin"}), any, sandbox, asks("security=safe-bin")),
        (json!({"security": "allowlist"}), any, sandbox, asks("security=safe-bin")),
        (json!({"security": "safe-bin"}), reads, sandbox, None),
        (json!({"host": "host"}), reads, sandbox, leaves("host")),
        (json!({"dangerously_disable_sandbox": true}), reads, sandbox, leaves("host")),
        (json!({"host": "host"}), any, free, None),
        (json!({"host": "container"}), any, free, None),
    ] {
        let host = FakeHost::new();
        host.processes.script(Script::says("").of_nature(nature));
        host.processes.set_exec_host(configured);
        let mut full = arguments.clone();
        full["command"] = "x".into();
        let prepared = Erased::new(ExecTool::new()).prepare(full, &PlanContext::new(&*host)).unwrap();
        let kinds: Vec<&str> = prepared.plan().effects().iter().map(Effect::kind).collect();
        assert_eq!((prepared.plan().required_approval(), kinds), (why.as_deref(), vec!["exec"]), "{arguments}");
    }
}

#[tokio::test]
async fn parameters_that_widen_access_are_ignored_with_a_warning() {
    let ignored = |name: &str, why: &str| json!([format!("'{name}' was ignored: {why}")]);
    for (arguments, warnings) in [
        (json!({}), Value::Null),
        (json!({"namespace_restrictions": true, "isolate_network": true, "filesystem_mode": "workspace-only"}), Value::Null),
        (json!({"dangerously_disable_sandbox": true}), Value::Null),
        (json!({"namespace_restrictions": false}), ignored("namespace_restrictions", "only the user can loosen the sandbox")),
        (json!({"isolate_network": false}), ignored("isolate_network", "hosts to reach go into 'allow_host'")),
        (json!({"isolate_network": true, "allow_host": ["a.test"]}), ignored("allow_host", "'isolate_network' is given as well")),
        (json!({"filesystem_mode": "off"}), ignored("filesystem_mode", "only the user can loosen the sandbox")),
        (json!({"filesystem_mode": "allow-list"}), ignored("filesystem_mode", "only the user can loosen the sandbox")),
        (json!({"allowed_mounts": ["/"]}), ignored("allowed_mounts", "only the user can open more than the workspace")),
        (json!({"security": "full"}), ignored("security", "it can only allow fewer programs than is configured")),
        (json!({"ask": "off"}), ignored("ask", "it can only ask more often than is configured")),
        (json!({"memory_mb": 64, "cpu_seconds": 5, "processes": 9}), Value::Null),
        (json!({"memory_mb": 64, "host": "host"}), ignored("memory_mb", "no sandbox enforces it there")),
        (json!({"cpu_seconds": 5, "host": "host"}), ignored("cpu_seconds", "no sandbox enforces it there")),
        (json!({"processes": 9, "host": "host"}), ignored("processes", "no sandbox enforces it there")),
        (json!({"node": "pi"}), ignored("node", "it is for host 'node' alone")),
        (
            json!({"host": "sandbox", "dangerously_disable_sandbox": true}),
            ignored("dangerously_disable_sandbox", "'host' says where it runs"),
        ),
    ] {
        let mut full = arguments.clone();
        full["command"] = "x".into();
        let output = scripted(Script::says(""), full).await.unwrap();
        assert_eq!(output.details.unwrap().get("warnings").cloned().unwrap_or_default(), warnings, "{arguments}");
    }
}

/// Every parameter that the seeds' systems know reaches one of ours.
#[test]
fn each_dialects_spelling_is_known() {
    let definition = ToolDefinition::for_tool::<ExecTool>();
    let meant = |dialect: Dialect, name: &str| {
        let own = definition.form(dialect).and_then(|form| form.find_by_name(name)).map(|parameter| parameter.canonical.to_owned());
        let alias = || definition.parameters.hints().aliases.iter().find(|(alias, _)| alias == name).map(|(_, of)| of.clone());
        own.or_else(|| definition.parameters["properties"].get(name).map(|_| name.to_owned())).or_else(alias)
    };
    for (dialect, name, canonical) in [
        (Dialect::Claw, "command", "command"),
        (Dialect::Claw, "timeout", "timeout"),
        (Dialect::Claw, "description", "description"),
        (Dialect::Claw, "run_in_background", "background"),
        (Dialect::Claw, "dangerouslyDisableSandbox", "dangerously_disable_sandbox"),
        (Dialect::Claw, "namespaceRestrictions", "namespace_restrictions"),
        (Dialect::Claw, "isolateNetwork", "isolate_network"),
        (Dialect::Claw, "filesystemMode", "filesystem_mode"),
        (Dialect::Claw, "allowedMounts", "allowed_mounts"),
        (Dialect::OpenClaw, "command", "command"),
        (Dialect::OpenClaw, "workdir", "workdir"),
        (Dialect::OpenClaw, "env", "env"),
        (Dialect::OpenClaw, "yieldMs", "yield_ms"),
        (Dialect::OpenClaw, "background", "background"),
        (Dialect::OpenClaw, "timeout", "timeout"),
        (Dialect::OpenClaw, "pty", "pty"),
        (Dialect::OpenClaw, "elevated", "elevated"),
        (Dialect::OpenClaw, "host", "host"),
        (Dialect::OpenClaw, "security", "security"),
        (Dialect::OpenClaw, "ask", "ask"),
        (Dialect::OpenClaw, "node", "node"),
        (Dialect::Haft, "cwd", "workdir"),
        (Dialect::Haft, "directory", "workdir"),
        (Dialect::Haft, "allow_hosts", "allow_host"),
        (Dialect::Haft, "commit", "commit"),
    ] {
        assert_eq!(meant(dialect, name).as_deref(), Some(canonical), "{name} in {dialect}");
    }
    assert_eq!((definition.name_in(Dialect::Claw), definition.name_in(Dialect::OpenClaw)), ("bash", "exec"));
}
