use std::time::{Duration, Instant};

use haft_contract::ProcessOutput;
use haft_sandbox::Launcher;

use super::*;

const LIMITS: AsideLimits = AsideLimits { memory: 256 << 20, time: Duration::from_secs(30), output: 64 * 1024 };

fn helpers(launcher: &str, sandbox: Choice, required: bool, hidden: Vec<PathBuf>) -> Arc<Helpers> {
    let usual = ShellOptions::new(Launcher::at(launcher), Path::new("/nowhere"));
    Arc::new(Helpers::new(&ShellOptions { sandbox, required, ..usual }, hidden))
}

/// Runs a helper without a sandbox: what is started is a shell, and its stages are scripts.
async fn run(script: &str, input: &str, limits: AsideLimits, cancel: CancellationToken) -> Result<ProcessOutput, ToolError> {
    let folder = tempfile::tempdir().unwrap();
    let stage = folder.path().join("stage");
    std::fs::write(&stage, script).unwrap();
    let stage: &'static str = Box::leak(stage.to_str().unwrap().into());
    let helped = helpers("/bin/sh", Choice::None, false, Vec::new()).run(stage, input.into(), limits, cancel).await?;
    assert_eq!((helped.walls.as_str(), helped.lacks), ("none", Vec::<String>::new()));
    Ok(helped.output)
}

fn output(code: Option<i32>, signal: Option<i32>, stdout: &str) -> ProcessOutput {
    ProcessOutput { code, signal, stdout: stdout.into(), stderr: Vec::new(), truncated: false, timed_out: false }
}

fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[tokio::test]
async fn data_goes_in_and_an_answer_comes_out_whatever_the_end() {
    let cut = ProcessOutput { truncated: true, ..output(Some(0), None, "12345678") };
    for (script, most, expected) in [
        ("cat; pwd", 64, output(Some(0), None, "the data/\n")),
        ("kill -SEGV $$", 64, output(None, Some(11), "")),
        ("echo some; exit 3", 64, output(Some(3), None, "some\n")),
        ("printf 123456789", 8, cut),
        ("env | grep -v -e ^PWD= -e ^OLDPWD= -e ^SHLVL= -e ^_=", 64, output(Some(1), None, "")),
    ] {
        let limits = AsideLimits { output: most, ..LIMITS };
        assert_eq!(run(script, "the data", limits, CancellationToken::new()).await.unwrap(), expected, "{script}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn without_a_sandbox_the_limits_are_those_of_the_process() {
    // The data comes when the limits are there.
    let script = "read -r word; cat /proc/$$/limits";
    let ran = run(script, "go\n", LIMITS, CancellationToken::new()).await.unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    let limit = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next());
    let names = ["Max data size", "Max cpu time", "Max file size", "Max open files", "Max core file size"];
    assert_eq!(names.map(limit), [Some("268435456"), Some("31"), Some("0"), Some("64"), Some("0")]);
}

#[tokio::test]
async fn when_its_time_is_up_all_that_it_started_is_ended() {
    let limits = AsideLimits { time: Duration::from_millis(300), ..LIMITS };
    let ran = run("sleep 600 & echo $$ $!; wait", "", limits, CancellationToken::new()).await.unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert_eq!((ran.timed_out, said.split_whitespace().count()), (true, 2));
    // What was killed takes a moment to be gone.
    let begun = Instant::now();
    while said.split_whitespace().any(is_alive) {
        assert!(begun.elapsed() < LIMITS.time, "{said}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn who_cancels_does_not_wait() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = run("echo", "", LIMITS, cancel).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "A helper was cancelled, and ended."));
    let (cancel, begun) = (CancellationToken::new(), Instant::now());
    let soon = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(run("sleep 600", "", LIMITS, cancel.clone()), soon);
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(begun.elapsed() < LIMITS.time);
}

#[tokio::test]
async fn what_cannot_be_started_says_so() {
    let nowhere = helpers("/nowhere/at all", Choice::None, false, Vec::new());
    let error = nowhere.run("stage", Vec::new(), LIMITS, CancellationToken::new()).await.unwrap_err();
    let message = "A helper could not be started: No such file or directory (os error 2).";
    assert_eq!((error.kind(), error.message()), (ErrorKind::SandboxUnavailable, message));
}

#[tokio::test]
async fn c10_without_walls_nothing_is_started_unless_the_person_wants_none() {
    let folder = tempfile::tempdir().unwrap();
    let stage = folder.path().join("stage");
    std::fs::write(&stage, format!("touch {}", folder.path().join("ran").display())).unwrap();
    let stage: &'static str = Box::leak(stage.to_str().unwrap().into());
    // No sandbox can be started from a shell.
    for (sandbox, required) in [(Choice::Auto, true), (Choice::Auto, false), (Choice::Container, false)] {
        let helpers = helpers("/bin/sh", sandbox, required, Vec::new());
        let told = match helpers.run(stage, Vec::new(), LIMITS, CancellationToken::new()).await {
            Err(error) if error.kind() == ErrorKind::SandboxUnavailable => error.message().to_owned(),
            // Where the kernel has it, that needs nothing to start from.
            Ok(Helped { walls, lacks, .. }) if walls == "landlock" && !required => lacks.join("; "),
            other => panic!("{sandbox} {required}: {other:?}"),
        };
        assert!(told.contains("'bubblewrap' cannot be used"), "{told}");
        assert!(!folder.path().join("ran").exists(), "{sandbox} {required}");
    }
}

#[test]
fn each_tree_is_hidden_once_and_no_program_goes_without_its_system() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir(root.join("a-b")).unwrap();
    let wanted = ["a-b", "a/b", "a", "missing", "a-b"].map(|name| root.join(name));
    let wanted = wanted.into_iter().chain(["/", "/usr", "/usr/lib"].map(PathBuf::from)).collect();
    let helpers = helpers("/bin/sh", Choice::Auto, true, wanted);
    let here: Vec<PathBuf> = helpers.hidden().into_iter().filter(|path| path.starts_with(&root)).collect();
    assert_eq!(here, ["a", "a-b"].map(|name| root.join(name)));
    assert!(helpers.hidden().iter().all(|path| can_be_hidden(path)));
}
