use std::time::{Duration, Instant};

use haft_contract::{ProcessOutput, SandboxBackend};
use haft_sandbox::Launcher;

use super::*;

const LIMITS: HelperLimits = HelperLimits { memory: 256 << 20, time: Duration::from_secs(30), output: 64 * 1024 };

fn helpers(launcher: &str, sandbox: SandboxBackend, required: bool, hidden: Vec<PathBuf>) -> Arc<Helpers> {
    let usual = ShellOptions::new(Launcher::at(launcher), Path::new("/nowhere"));
    Arc::new(Helpers::new(&ShellOptions { sandbox, required, ..usual }, hidden))
}

/// Runs a helper without a sandbox: the program is a shell, and its helpers are scripts.
async fn run(script: &str, input: &str, limits: HelperLimits, cancel: CancellationToken) -> Result<ProcessOutput, ToolError> {
    let folder = tempfile::tempdir().unwrap();
    let script_file = folder.path().join("helper");
    std::fs::write(&script_file, script).unwrap();
    let name: &'static str = Box::leak(script_file.to_str().unwrap().into());
    let helper = helpers("/bin/sh", SandboxBackend::None, false, Vec::new()).run(name, input.into(), limits, cancel).await?;
    assert_eq!((helper.sandbox.as_str(), helper.gaps), ("none", Vec::<String>::new()));
    Ok(helper.output)
}

fn output(code: Option<i32>, signal: Option<i32>, stdout: &str) -> ProcessOutput {
    ProcessOutput { code, signal, stdout: stdout.into(), stderr: Vec::new(), truncated: false, timed_out: false }
}

fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[tokio::test]
async fn helper_output_comes_back_whatever_its_exit() {
    let cut = ProcessOutput { truncated: true, ..output(Some(0), None, "12345678") };
    for (script, most, expected) in [
        ("cat; pwd", 64, output(Some(0), None, "the data/\n")),
        ("kill -SEGV $$", 64, output(None, Some(11), "")),
        ("echo some; exit 3", 64, output(Some(3), None, "some\n")),
        ("printf 123456789", 8, cut),
        ("env | grep -v -e ^PWD= -e ^OLDPWD= -e ^SHLVL= -e ^_=", 64, output(Some(1), None, "")),
    ] {
        let limits = HelperLimits { output: most, ..LIMITS };
        assert_eq!(run(script, "the data", limits, CancellationToken::new()).await.unwrap(), expected, "{script}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn helper_without_a_sandbox_has_process_limits() {
    // The input arrives after the limits are set.
    let script = "read -r word; cat /proc/$$/limits";
    let ran = run(script, "go\n", LIMITS, CancellationToken::new()).await.unwrap();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    let limit = |name: &str| stdout.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next());
    let names = ["Max data size", "Max cpu time", "Max file size", "Max open files", "Max core file size"];
    assert_eq!(names.map(limit), [Some("268435456"), Some("31"), Some("0"), Some("64"), Some("0")]);
}

#[tokio::test]
async fn helper_timeout_ends_all_its_descendants() {
    let limits = HelperLimits { time: Duration::from_millis(300), ..LIMITS };
    let ran = run("sleep 600 & echo $$ $!; wait", "", limits, CancellationToken::new()).await.unwrap();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert_eq!((ran.timed_out, stdout.split_whitespace().count()), (true, 2));
    // A killed process takes a moment to end.
    let begun = Instant::now();
    while stdout.split_whitespace().any(is_alive) {
        assert!(begun.elapsed() < LIMITS.time, "{stdout}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn helper_cancellation_does_not_wait_for_its_end() {
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
async fn helper_that_cannot_start_is_an_error() {
    let nowhere = helpers("/nowhere/at all", SandboxBackend::None, false, Vec::new());
    let error = nowhere.run("helper", Vec::new(), LIMITS, CancellationToken::new()).await.unwrap_err();
    let message = "A helper could not be started: No such file or directory (os error 2).";
    assert_eq!((error.kind(), error.message()), (ErrorKind::SandboxUnavailable, message));
}

#[tokio::test]
async fn c10_helper_does_not_start_without_a_sandbox_unless_the_user_wants_none() {
    let folder = tempfile::tempdir().unwrap();
    let script_file = folder.path().join("helper");
    std::fs::write(&script_file, format!("touch {}", folder.path().join("ran").display())).unwrap();
    let name: &'static str = Box::leak(script_file.to_str().unwrap().into());
    // No sandbox can be started from a shell.
    for (sandbox, required) in [(SandboxBackend::Auto, true), (SandboxBackend::Auto, false), (SandboxBackend::Container, false)] {
        let helpers = helpers("/bin/sh", sandbox, required, Vec::new());
        let message = match helpers.run(name, Vec::new(), LIMITS, CancellationToken::new()).await {
            Err(error) if error.kind() == ErrorKind::SandboxUnavailable => error.message().to_owned(),
            // Landlock needs no launcher.
            Ok(HelperOutput { sandbox, gaps, .. }) if sandbox == "landlock" && !required => gaps.join("; "),
            other => panic!("{sandbox} {required}: {other:?}"),
        };
        assert!(message.contains("'bubblewrap' cannot be used"), "{message}");
        assert!(!folder.path().join("ran").exists(), "{sandbox} {required}");
    }
}

#[test]
fn helper_hides_each_tree_once_and_no_system_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir(root.join("a-b")).unwrap();
    let hidden = ["a-b", "a/b", "a", "missing", "a-b"].map(|name| root.join(name));
    let hidden = hidden.into_iter().chain(["/", "/usr", "/usr/lib"].map(PathBuf::from)).collect();
    let helpers = helpers("/bin/sh", SandboxBackend::Auto, true, hidden);
    let here: Vec<PathBuf> = helpers.hidden_paths().into_iter().filter(|path| path.starts_with(&root)).collect();
    assert_eq!(here, ["a", "a-b"].map(|name| root.join(name)));
    assert!(helpers.hidden_paths().iter().all(|path| can_be_hidden(path)));
}
