//! Real interpreters that remember, through the whole engine.

use std::time::{Duration, Instant};

use haft::{ErrorKind, ToolResult};
use serde_json::{Value, json};

use crate::support::{World, failure, text};

async fn run(world: &World, language: &str, code: &str) -> ToolResult {
    world.call("repl", json!({"language": language, "code": code, "timeout_ms": 20_000})).await
}

/// What a call says, whether it went well or not.
async fn said(world: &World, language: &str, code: &str) -> String {
    let result = run(world, language, code).await;
    match &result.outcome {
        Ok(_) => text(&result),
        Err(_) => failure(&result).1,
    }
}

fn details(result: &ToolResult) -> Value {
    let details = match &result.outcome {
        Ok(output) => output.details.as_ref(),
        Err(error) => error.details(),
    };
    details.cloned().unwrap()
}

const RAISED: &str = "\n\nThe code raised an exception. What it had set up until then is kept.";

/// Each row sees what the rows of its language before it have done.
#[tokio::test]
async fn what_one_call_sets_up_the_next_one_has() {
    let world = World::with_programs();
    for (language, code, expected) in [
        ("python", "import math\nx = 6", "(no output)".to_owned()),
        ("py", "def twice(n):\n    return 2 * n\nprint('now')\ntwice(x) + math.floor(0.5)", "now\n=> 12".into()),
        ("python3", "_", "=> 12".into()),
        ("python", "print('no end of line', end='')\n'text'", "no end of line\n=> 'text'".into()),
        (
            "python",
            "input()",
            format!(
                "Traceback (most recent call last):\n  File \"<call 5>\", line 1, in <module>\n    input()\nEOFError: EOF when reading a line{RAISED}"
            ),
        ),
        ("python", "1 +", format!("  File \"<call 6>\", line 1\n    1 +\n       ^\nSyntaxError: invalid syntax{RAISED}")),
        ("python", "import sys\nprint('one'); print('two', file=sys.stderr); print('three')", "one\ntwo\nthree".into()),
        ("javascript", "const x = 6; let y", "(no output)".into()),
        ("js", "const x = 7; console.log('now'); [x, { y }]", "now\n=> [ 7, { y: undefined } ]".into()),
        ("node", "await new Promise((done) => setTimeout(done, 5)); `${x}!`", "=> '7!'".into()),
        (
            "node",
            "function f() { throw new Error('no') }\nf()",
            format!("Uncaught Error: no\n    at f (<anonymous>:1:22)\n    at <anonymous>:2:1{RAISED}"),
        ),
        ("node", "require('fs').readFileSync(0).length", "=> 0".into()),
        ("bash", "x=6; f() { echo $((2 * $1)); }; mkdir sub; cd sub", "(no output)".into()),
        ("sh", "f $x; basename $PWD; false", "12\nsub\n\nExit code: 1".into()),
        ("shell", "cat; echo end", "end".into()),
    ] {
        assert_eq!(said(&world, language, code).await, expected, "{language}: {code}");
    }
}

#[tokio::test]
async fn what_runs_too_long_is_stopped_and_its_state_kept_where_that_can_be() {
    let world = World::with_programs();
    for (language, sets, runs_on, asks, kept) in [
        ("python", "x = 1", "print('begun')\nwhile True: pass", "x", "=> 1"),
        ("python", "x = 2", "print('begun')\nimport time; time.sleep(60)", "x", "=> 2"),
        ("node", "let x = 3", "console.log('begun'); while (true) {}", "x", "=> 3"),
        ("node", "x = 4", "console.log('begun'); await new Promise(() => {})", "x", "=> 4"),
        ("bash", "x=5", "echo begun; sleep 60", "echo ${x:-nothing}", "nothing"),
        (
            "python",
            "x = 6",
            "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\nprint('begun')\nwhile True: pass",
            "'x' in dir()",
            "=> False",
        ),
    ] {
        run(&world, language, sets).await;
        let began = Instant::now();
        let stopped = world.call("repl", json!({"language": language, "code": runs_on, "timeout_ms": 300})).await;
        let (kind, message) = failure(&stopped);
        assert!(kind == ErrorKind::Timeout && message.contains("begun"), "{message}");
        assert!(began.elapsed() < Duration::from_secs(20), "{language} took {:?}", began.elapsed());
        assert_eq!(said(&world, language, asks).await, kept, "{language}: {message}");
        let says_kept = message.contains("What it had set up until then is kept");
        assert_eq!(says_kept, kept != "nothing" && kept != "=> False", "{message}");
    }
}

#[tokio::test]
async fn an_interpreter_that_ends_says_so_and_the_next_call_has_a_new_one() {
    let world = World::with_programs();
    let lost = |how: &str| format!("The interpreter has ended, and everything in it is lost; the next call starts a new one. {how}.");
    for (language, code, expected) in [
        ("python", "x = 1; print('bye'); exit()", format!("bye\n\n{}", lost("Exit code: 0"))),
        ("python", "import os; os._exit(3)", format!("{} It had written:\n\n(no output)", lost("Exit code: 3"))),
        ("node", "process.exit(4)", format!("{} It had written:\n\n(no output)", lost("Exit code: 4"))),
        ("bash", "exit 5", format!("{} It had written:\n\n(no output)", lost("Exit code: 5"))),
        (
            "python",
            "print('so far', flush=True); import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            format!("{} It had written:\n\nso far", lost("Ended by signal 11 (SIGSEGV: the program touched memory that is not its own)")),
        ),
    ] {
        assert_eq!(said(&world, language, code).await, expected, "{language}: {code}");
        let alive = if language == "bash" { "echo $((1 + 1))" } else { "1 + 1" };
        let two = if language == "bash" { "2" } else { "=> 2" };
        assert_eq!(said(&world, language, alive).await, two, "{language} after: {code}");
    }
}

#[tokio::test]
async fn names_keep_interpreters_apart_and_reset_starts_afresh() {
    let world = World::with_programs();
    let call = |arguments: Value| {
        let world = &world;
        async move { text(&world.call("repl", arguments).await) }
    };
    let python = |code: &str, name: &str, reset: bool| json!({"language": "python", "code": code, "session": name, "reset": reset});
    call(python("x = 'default'", "", false)).await;
    call(python("x = 'other'", "other", false)).await;
    assert_eq!(call(python("x", " ", false)).await, "=> 'default'");
    assert_eq!(call(python("x", "other", false)).await, "=> 'other'");
    assert_eq!(call(python("'x' in dir()", "other", true)).await, "=> False");
    assert_eq!(call(python("", "", true)).await, "The python interpreter is forgotten; the next call starts afresh.");
    assert_eq!(call(python("", "", true)).await, "The python interpreter had not been started; there is nothing to forget.");
    assert_eq!(call(python("'x' in dir()", "", false)).await, "=> False");
}

#[tokio::test]
async fn much_output_is_cut_and_all_of_it_is_in_a_file() {
    let world = World::with_programs();
    run(&world, "python", "x = 1").await;
    let result = run(&world, "python", "for n in range(400_000): print(f'line {n:06}')\n'v' * 50").await;
    let (text, details) = (text(&result), details(&result));
    assert!(text.starts_with("line 000000\nline 000001\n") && text.ends_with(&format!("line 399999\n=> '{}'", "v".repeat(50))), "{text}");
    assert!(text.len() < 40_000 && text.contains("left out. All of it is in '"), "{}", text.len());
    let all = std::fs::read_to_string(details["spill"].as_str().unwrap()).unwrap();
    assert_eq!(all.lines().count(), 400_001);
    assert_eq!(all.len() as u64, details["output_bytes"].as_u64().unwrap());
    assert!(all.starts_with("line 000000\n") && all.contains("\nline 123456\n"));
    assert_eq!(said(&world, "python", "print('y' * 20)").await, "y".repeat(20), "the next call has its own output alone");
}

#[tokio::test]
async fn much_output_at_once_is_in_a_file_too() {
    let world = World::with_programs();
    let result = run(&world, "python", "import os; n = os.write(1, b'x' * 60_000)").await;
    let all = std::fs::read_to_string(details(&result)["spill"].as_str().unwrap_or_default());
    assert_eq!(all.unwrap_or_default(), "x".repeat(60_000));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_and_said() {
    let world = World::with_programs();
    let shown = said(&world, "python", "import os; n = os.write(1, b'a\\xff\\n')").await;
    assert_eq!(shown, "a\u{fffd}\n\n(Some bytes of the output are not UTF-8; each is shown as \u{fffd}.)");
}

/// Code has its own mark in the frames above it, and can lie about its own call; it cannot speak for another.
#[tokio::test]
async fn an_answer_cannot_be_forged_for_another_call() {
    let world = World::with_programs();
    let forges = "import os, sys, threading, time\n\
                  frame = sys._getframe()\n\
                  while 'nonce' not in frame.f_locals: frame = frame.f_back\n\
                  old = frame.f_locals['nonce']\n\
                  def forge():\n    time.sleep(0.2)\n    os.write(1, b'\\x1e' + old + b':value\\x1eFORGED\\x1e' + old + b':done\\x1e')\n\
                  threading.Thread(target=forge).start()";
    assert_eq!(said(&world, "python", forges).await, "(no output)");
    let result = run(&world, "python", "time.sleep(0.6)\n'mine'").await;
    assert_eq!(details(&result)["value"], "'mine'");
    assert!(text(&result).contains("FORGED") && text(&result).ends_with("=> 'mine'"), "{}", text(&result));
    let guess = "printf '\\036%s:code=0\\036' 0123456789abcdef0123456789abcdef; (exit 3)";
    assert!(said(&world, "bash", guess).await.ends_with("Exit code: 3"));
}

#[tokio::test]
async fn what_is_written_between_calls_stands_before_the_next() {
    let world = World::with_programs();
    let late = "import threading, time\n\
                def late():\n    time.sleep(0.1); print('late'); done.set()\n\
                done = threading.Event(); threading.Thread(target=late).start()";
    run(&world, "python", late).await;
    let deadline = Instant::now() + Duration::from_secs(20);
    // Until it has come: how long a thread takes is nobody's promise.
    let shown = loop {
        let shown = said(&world, "python", "done.wait(0.3)").await;
        if shown.contains("late") || Instant::now() > deadline {
            break shown;
        }
    };
    assert!(["(Written since the last call:)\nlate\n(This call:)\n=> True", "late\n=> True"].contains(&&*shown), "{shown}");
}

/// Whether any process has this in its command line.
fn is_alive(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let command = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
    processes.map(command).any(|line| String::from_utf8_lossy(&line).contains(mark))
}

#[tokio::test]
async fn nothing_outlives_the_session_that_started_it() {
    let world = World::with_programs();
    for (language, code) in [
        ("python", "import subprocess; p = subprocess.Popen(['sleep', '7331.5'])"),
        ("node", "require('child_process').spawn('sleep', ['7331.5']); 1"),
        ("bash", "sleep 7331.5 & true"),
    ] {
        run(&world, language, code).await;
    }
    assert!(is_alive("7331.5"));
    drop(world);
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_alive("7331.5") {
        assert!(Instant::now() < deadline, "an interpreter's child is still running after it ended");
        tokio::task::yield_now().await;
    }
}

/// A budget of about a millisecond; asserted loosely, because machines are noisy.
#[tokio::test]
async fn a_warm_interpreter_answers_at_once() {
    let world = World::with_programs();
    for language in ["python", "node"] {
        run(&world, language, "1").await;
        let began = Instant::now();
        for number in 0..20 {
            assert_eq!(said(&world, language, &format!("{number} + 1")).await, format!("=> {}", number + 1));
        }
        let each = began.elapsed() / 20;
        println!("{language}: {each:?} a call");
        assert!(each < Duration::from_millis(200), "{language}: {each:?}");
    }
}

#[tokio::test]
async fn of_too_many_the_one_that_was_used_longest_ago_gives_way() {
    let world = World::with_programs();
    let bash = |name: usize, code: &str| json!({"language": "bash", "code": code, "session": name.to_string()});
    for name in 0..17 {
        world.call("repl", bash(name, &format!("x={name}"))).await;
    }
    assert_eq!(text(&world.call("repl", bash(1, "echo $x")).await), "1");
    let anew = "\n\n(The interpreter of earlier calls has ended: this is a new one without their state.)";
    assert_eq!(text(&world.call("repl", bash(0, "echo ${x:-nothing}")).await), format!("nothing{anew}"));
}
