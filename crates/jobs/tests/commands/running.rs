use std::sync::Arc;
use std::time::Duration;

use haft_contract::{CommandRequest, ErrorKind, Job, JobEnd, JobOptions, ports::ProcessRunner};

use crate::support::{World, request};

async fn start(world: &World, command: &str, options: JobOptions) -> Arc<dyn Job> {
    world.processes.start(&world.command(command), options).await.unwrap()
}

async fn wait(job: &Arc<dyn Job>) -> JobEnd {
    tokio::time::timeout(Duration::from_secs(30), job.wait()).await.expect("the job hangs")
}

fn text(job: &Arc<dyn Job>) -> String {
    String::from_utf8(job.output(0, usize::MAX).1).unwrap()
}

/// An argument of `sleep` that no other process of tests has: they also run at the same time as another user.
pub(crate) fn unique_seconds(seconds: u32) -> String {
    format!("{seconds}.{}", std::process::id())
}

/// Whether any process has this text in its command line.
pub(crate) fn is_alive(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let command = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
    processes.map(command).any(|arguments| String::from_utf8_lossy(&arguments).contains(text))
}

#[tokio::test]
async fn job_output_keeps_the_order_of_both_streams() {
    let world = World::new();
    let job = start(&world, "echo one; echo two >&2; echo three; exit 3", JobOptions::default()).await;
    let end = wait(&job).await;
    assert_eq!((end.code, end.signal, end.timed_out, end.killed), (Some(3), None, false, false));
    assert_eq!(text(&job), "one\ntwo\nthree\n");
    assert_eq!(job.head(), b"one\ntwo\nthree\n");
    let status = job.status();
    assert_eq!((status.command.as_str(), status.bytes, status.kept_from), ("echo one; echo two >&2; echo three; exit 3", 14, 0));
    assert_eq!((status.directory, status.sandbox.as_str()), (world.root(), "none"));
}

/// Takes what is written, and notes its end.
struct Receiver(Arc<std::sync::Mutex<String>>);

impl haft_contract::SpillWriter for Receiver {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> haft_contract::BoxFuture<'a, Result<(), haft_contract::ToolError>> {
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Box::pin(std::future::ready(Ok(())))
    }
    fn finish(self: Box<Self>) -> haft_contract::BoxFuture<'static, Result<haft_contract::SpillFile, haft_contract::ToolError>> {
        self.0.lock().unwrap().push_str("(end)");
        Box::pin(std::future::ready(Err(haft_contract::ToolError::execution("no file"))))
    }
}

#[tokio::test]
async fn standard_error_goes_to_its_own_receiver() {
    let world = World::new();
    let errors = Arc::new(std::sync::Mutex::new(String::new()));
    let options = JobOptions { error_output: Some(Box::new(Receiver(Arc::clone(&errors)))), ..JobOptions::default() };
    let job = start(&world, "echo one; echo two >&2; echo three; printf four >&2", options).await;
    assert_eq!(wait(&job).await.code, Some(0));
    assert_eq!((text(&job).as_str(), errors.lock().unwrap().as_str()), ("one\nthree\n", "two\nfour(end)"));
    let many = Arc::new(std::sync::Mutex::new(String::new()));
    let options = JobOptions { error_output: Some(Box::new(Receiver(Arc::clone(&many)))), ..JobOptions::default() };
    let job = start(&world, "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; echo done", options).await;
    assert_eq!((wait(&job).await.code, job.status().bytes, many.lock().unwrap().len()), (Some(0), 300_005, 300_005));
}

#[tokio::test]
async fn environment_of_a_job_is_clean() {
    let world = World::new();
    let job = start(&world, "env | cut -d= -f1 | sort", JobOptions::default()).await;
    wait(&job).await;
    // _HAFT_JOB is the env tag by which orphans are found outside the sandbox.
    let known = ["HOME", "LANG", "PATH", "PWD", "SHLVL", "TERM", "TZ", "_", "_HAFT_JOB"];
    let text = text(&job);
    assert!(text.lines().all(|name| known.contains(&name)) && text.contains("PATH"), "{text}");
}

#[tokio::test]
async fn timeout_ends_a_job_with_its_descendants_and_keeps_its_output() {
    let world = World::new();
    let seconds = unique_seconds(4711);
    let command = format!("echo said; (sleep {seconds} &) ; sleep {seconds}");
    let job = start(&world, &command, JobOptions { timeout: Some(Duration::from_millis(300)), ..JobOptions::default() }).await;
    let end = wait(&job).await;
    assert!(end.timed_out && end.code.is_none(), "{end:?}");
    assert_eq!(text(&job), "said\n");
    assert!(!is_alive(&format!("sleep\0{seconds}")), "a process is still running after the job");
}

#[tokio::test]
async fn dropped_job_ends_and_a_kept_one_continues() {
    let world = World::new();
    let processes = &world.processes;
    let seconds = unique_seconds(4712);
    let arguments = format!("sleep\0{seconds}");
    let dropped = start(&world, &format!("sleep {seconds}"), JobOptions::default()).await;
    while !is_alive(&arguments) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let kept = start(&world, "read x; echo got $x", JobOptions { session: "s".into(), input: true, ..JobOptions::default() }).await;
    processes.keep(Arc::clone(&kept)).await;
    let id = kept.status().id;
    drop((kept, dropped));
    for _ in 0..500 {
        if !is_alive(&arguments) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!is_alive(&arguments), "a dropped job still runs");
    assert!(processes.jobs("other").is_empty(), "another session's job is listed");
    let job = processes.jobs("s").pop().unwrap();
    assert_eq!(job.status().id, id);
    job.write(b"it\n", true).await.unwrap();
    assert_eq!((wait(&job).await.code, text(&job).as_str()), (Some(0), "got it\n"));
    let refused = job.write(b"more", false).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ExecutionError, "{}", refused.message());
    processes.forget("s", &id).await;
    assert!(processes.jobs("s").is_empty());
}

#[tokio::test]
async fn job_that_closes_its_output_or_leaves_a_child_with_the_pipe_does_not_hang() {
    let world = World::new();
    let job = start(&world, "echo a; exec >&- 2>&-; sleep 0.2; exit 4", JobOptions::default()).await;
    assert_eq!((wait(&job).await.code, text(&job).as_str()), (Some(4), "a\n"));
    // The same test runs as another user at the same time.
    let seconds = format!("4713.{}", std::process::id());
    let job = start(&world, &format!("sleep {seconds} & echo b"), JobOptions::default()).await;
    assert_eq!((wait(&job).await.code, text(&job).as_str()), (Some(0), "b\n"));
    assert!(!is_alive(&format!("sleep\0{seconds}")), "the child that held the pipe lives");
}

#[tokio::test]
async fn large_output_is_counted_and_its_beginning_and_end_are_kept() {
    let world = World::new();
    let job = start(&world, "head -c 300000000 /dev/zero", JobOptions::default()).await;
    assert_eq!(wait(&job).await.code, Some(0));
    let status = job.status();
    assert_eq!((status.bytes, status.kept_from), (300_000_000, 300_000_000 - 256 * 1024));
    assert_eq!(job.head().len(), 64 * 1024);
    assert_eq!(job.output(200_000_000, 10), (status.kept_from, vec![0; 10]));
}

#[tokio::test]
async fn output_is_available_while_the_job_runs() {
    let world = World::new();
    let options = JobOptions { session: "s".into(), input: true, ..JobOptions::default() };
    let job = start(&world, "echo ready; read x; echo done", options).await;
    job.wait_for_output(0).await;
    assert_eq!((text(&job).as_str(), job.status().end), ("ready\n", None));
    job.write(b"go\n", false).await.unwrap();
    job.wait_for_output(6).await;
    wait(&job).await;
    assert_eq!(text(&job), "ready\ndone\n");
    job.kill().await;
    assert!(!job.status().end.unwrap().killed, "it had ended on its own");
}

#[tokio::test]
async fn c10_command_does_not_run_without_a_sandbox() {
    let world = World::new();
    let mut request = crate::support::request("touch ran");
    request.host = Some(haft_contract::ExecHost::Sandbox);
    let command = world.plan(&request).unwrap();
    let refused = world.processes.start(&command, JobOptions::default()).await.err().expect("no launcher, no sandbox");
    assert_eq!(refused.kind(), ErrorKind::SandboxUnavailable, "{}", refused.message());
    assert!(refused.message().starts_with("The command was not run: "), "{}", refused.message());
    assert!(!world.root().join("ran").exists());
}

#[tokio::test]
async fn b13_working_directory_replaced_by_a_link_after_planning_is_refused() {
    let world = World::new();
    let (folder, elsewhere) = (world.root().join("sub"), tempfile::tempdir().unwrap());
    std::fs::create_dir(&folder).unwrap();
    let command = world.plan(&CommandRequest { directory: Some("sub".into()), ..request("touch ran") }).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    for (swap, kind, words) in
        [(true, ErrorKind::PathNotAllowed, "was not when it was checked"), (false, ErrorKind::FileNotFound, "is gone")]
    {
        if swap {
            std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
        } else {
            std::fs::remove_file(&folder).unwrap();
        }
        let error = world.processes.start(&command, JobOptions::default()).await.err().unwrap();
        assert_eq!(error.kind(), kind, "{}", error.message());
        assert!(error.message().contains(words), "{}", error.message());
    }
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn b14_script_edited_after_planning_is_not_run() {
    for script in ["sh ./script", "bash script", "script", "./script", "timeout 9 ./script", "true && . ./script"] {
        let world = World::new();
        world.write("script", "touch good\n");
        let path = world.root().join("script");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let command = world.command(script);
        if script == "script" {
            assert_eq!(command.scripts(), [], "a bare name is looked up outside the workspace");
            continue;
        }
        std::fs::write(&path, "touch evil\n").unwrap();
        let error = world.processes.start(&command, JobOptions::default()).await.err().expect(script);
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{script}");
        assert!(error.message().contains("was changed after the command was checked"), "{}", error.message());
        let job = start(&world, script, JobOptions::default()).await;
        wait(&job).await;
        assert!(world.root().join("evil").exists() && !world.root().join("good").exists(), "requested again, {script} runs");
    }
}
