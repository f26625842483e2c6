//! Jobs in the real sandbox and beside it: how they end, and that nothing of them is left.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_contract::{CommandLimits, CommandRequest, ExecHost, Job, JobEnd, JobOptions, SandboxBackend, ports::ProcessRunner};
use haft_host::{LocalFiles, WorkspaceOptions};
use haft_jobs::{LocalProcesses, ShellOptions};
use haft_sandbox::Launcher;
use tempfile::TempDir;

use super::harness::haft;
use super::processes::processes_with;

const PATIENCE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(1);

/// A workspace whose lines run in the sandbox that is started from the `haft` that was built.
pub(crate) struct Shop {
    processes: LocalProcesses,
    folder: TempDir,
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::with_limits(CommandLimits::STANDARD)
    }

    /// Whose lines may use so much.
    pub(crate) fn with_limits(limits: CommandLimits) -> Self {
        Self::with_launcher(limits, |_| haft())
    }

    /// With another program to start from, given the folder of this test.
    fn with_launcher(limits: CommandLimits, launcher: impl FnOnce(&TempDir) -> PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        fs::create_dir(&root).unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
        let usual = ShellOptions::new(Launcher::at(launcher(&folder)), folder.path());
        let shell = ShellOptions { sandbox: SandboxBackend::Bubblewrap, limits, grace: GRACE, ..usual };
        Self { processes: LocalProcesses::default().with_shell(shell, files, Arc::default()), folder }
    }

    /// A path beside the workspace.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.folder.path().join("workspace").join(name), content).unwrap();
    }

    pub(crate) async fn start(&self, line: &str, host: ExecHost, options: JobOptions) -> Arc<dyn Job> {
        let request = CommandRequest { command: line.to_owned(), host: Some(host), ..CommandRequest::default() };
        let line = self.processes.plan(&request).unwrap();
        self.processes.start(&line, options).await.unwrap_or_else(|error| panic!("{}", error.message()))
    }
}

pub(crate) async fn ended(job: &Arc<dyn Job>) -> JobEnd {
    tokio::time::timeout(PATIENCE, job.wait()).await.unwrap_or_else(|_| panic!("it hangs: {:?}", text(job)))
}

pub(crate) fn text(job: &Arc<dyn Job>) -> String {
    String::from_utf8_lossy(&job.output(0, usize::MAX).1).into_owned()
}

/// Waits until a job has written this, behind what was looked at before.
pub(crate) async fn shows(job: &Arc<dyn Job>, wanted: &str) {
    let found = async {
        loop {
            let (bytes, shown) = (job.status().bytes, text(job));
            if shown.contains(wanted) {
                return;
            }
            assert!(job.status().end.is_none(), "it ended without {wanted:?}: {shown:?}");
            job.wait_for_output(bytes).await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{wanted:?} was never shown: {:?}", text(job)));
}

/// A number of seconds that names the sleeping processes of one job.
pub(crate) fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 100_000 + std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Those that have become `sleep` with this word and nothing else.
fn sleeping(word: &str) -> usize {
    let wanted = format!("sleep\0{word}\0");
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes())).count()
}

/// Python that no longer dies with its parent, and sleeps in a session of its own.
const ESCAPER: &str = "import ctypes, os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
os.execvp('sleep', ['sleep', sys.argv[1]])
";

/// What a line starts, and how many sleep then.
const HARD_TO_END: &[(&str, usize)] = &[
    ("sleep N", 1),
    ("sleep N & sleep N", 2),
    ("setsid sleep N & setsid --fork sleep N; sleep N", 3),
    ("(sleep N &) ; nohup sleep N & wait", 2),
    ("python3 escaper.py N; sleep N", 2),
    ("env -i sh -c 'exec sleep N'", 1),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    AtItsTime,
    Killed,
    Dropped,
}

#[tokio::test]
async fn ending_a_job_ends_all_of_it() {
    let shop = Shop::new();
    shop.write("escaper.py", ESCAPER);
    let everywhere = HARD_TO_END.iter().flat_map(|row| [(ExecHost::Sandbox, row), (ExecHost::Host, row)]);
    for (host, (line, count)) in everywhere {
        for ends in [Ends::AtItsTime, Ends::Killed, Ends::Dropped] {
            let marker = marker();
            let timeout = (ends == Ends::AtItsTime).then_some(Duration::from_secs(2));
            let options = JobOptions { timeout, ..JobOptions::default() };
            let job = shop.start(&line.replace('N', &marker), host, options).await;
            let case = format!("{line}, {host:?}, {ends:?}");
            until(&format!("{case}: all sleep"), || sleeping(&marker) == *count).await;
            match ends {
                Ends::AtItsTime => assert!(ended(&job).await.timed_out, "{case}"),
                Ends::Killed => job.kill().await,
                Ends::Dropped => {
                    drop(job);
                    until(&format!("{case}: it ends"), || processes_with(&marker).is_empty()).await;
                }
            }
            assert_eq!(processes_with(&marker), Vec::<String>::new(), "{case}");
        }
    }
}

pub(crate) async fn until(what: &str, so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 30 seconds: {what}");
}

#[tokio::test]
async fn a_sandboxed_job_is_asked_to_end_before_it_is_made_to() {
    let shop = Shop::new();
    shop.write("obeys.sh", "trap 'echo bye; exit 7' TERM\nsleep 9876 & echo ready; wait\n");
    shop.write("child.sh", "(trap 'sleep 0.2; echo cleared; exit' TERM; sleep 9876 & echo ready; wait) & sleep 9876\n");
    shop.write("refuses.sh", "trap '' TERM HUP\necho ready; while :; do sleep 9876; done\n");
    shop.write("stopped.sh", "trap 'echo woken; exit 8' TERM\necho ready; kill -STOP $$\n");
    for (line, code, said) in [
        ("bash obeys.sh", Some(7), "ready\nbye\n"),
        // The command itself is gone at once, and what it started may clear up still.
        ("bash child.sh", Some(143), "ready\ncleared\n"),
        ("bash refuses.sh", Some(137), "ready\n"),
        ("bash stopped.sh", Some(8), "ready\nwoken\n"),
    ] {
        let job = shop.start(line, ExecHost::Sandbox, JobOptions::default()).await;
        shows(&job, "ready\n").await;
        let asked = std::time::Instant::now();
        job.kill().await;
        let end = ended(&job).await;
        assert_eq!((end.code, end.killed, text(&job).as_str()), (code, true, said), "{line}");
        assert!(asked.elapsed() < GRACE + Duration::from_secs(5), "{line}: {:?}", asked.elapsed());
    }
}

#[tokio::test]
async fn what_a_job_used_is_told() {
    let shop = Shop::new();
    shop.write("uses.py", "held = bytearray(300 << 20)\nfor _ in range(3_000_000): pass\n");
    for host in [ExecHost::Sandbox, ExecHost::Host] {
        let job = shop.start("python3 uses.py", host, JobOptions::default()).await;
        let usage = ended(&job).await.usage.unwrap();
        let memory = usage.max_memory.unwrap();
        assert!((300 << 20..500 << 20).contains(&memory), "{host:?}: {memory}");
        assert!(usage.user > Duration::from_millis(10) && usage.user + usage.system < PATIENCE, "{host:?}: {usage:?}");
        assert_eq!(job.status().host, host);
    }
}

#[tokio::test]
async fn c11_command_without_its_sandbox_does_not_run_wherever_set_up_fails() {
    // The launcher is there when the sandbox is tried out, and broken in many ways when a command is to run.
    let shop = Shop::with_launcher(CommandLimits::STANDARD, |folder| {
        let launcher = folder.path().join("launcher");
        fs::copy(haft(), &launcher).unwrap();
        launcher
    });
    let escaped = shop.outside("escaped");
    let line = format!("touch ran; python3 -c \"open('{}', 'w')\"; true", escaped.display());
    let job = shop.start("true", ExecHost::Sandbox, JobOptions::default()).await;
    assert_eq!((ended(&job).await.code, ended(&job).await.not_run), (Some(0), None));

    let launcher = shop.outside("launcher");
    for broken in ["#!/bin/sh\nkill -9 $$\n", "#!/bin/sh\nexit 0\n", "#!/bin/sh\necho 'haft-sandbox: no' >&2; exit 125\n", "no program"] {
        fs::remove_file(&launcher).unwrap();
        fs::write(&launcher, broken).unwrap();
        fs::set_permissions(&launcher, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        // One that cannot even be started is refused before there is a job.
        let request = CommandRequest { command: line.clone(), host: Some(ExecHost::Sandbox), ..CommandRequest::default() };
        let planned = shop.processes.plan(&request).unwrap();
        if let Ok(job) = shop.processes.start(&planned, JobOptions::default()).await {
            let end = ended(&job).await;
            let said = broken.contains("haft-sandbox").then(|| "haft-sandbox: no".to_owned());
            assert_eq!((end.not_run, text(&job).contains("Traceback")), (said, false), "{broken}");
        }
        assert!(!shop.outside("workspace/ran").exists() && !escaped.exists(), "{broken}");
    }
}

#[tokio::test]
async fn c11_a_helper_that_is_killed_at_any_moment_leaves_no_command_outside() {
    let shop = Shop::new();
    let escaped = shop.outside("escaped");
    shop.write("tries.py", &format!("open('ran', 'w')\nopen('{}', 'w')\n", escaped.display()));
    let mut before = 0;
    for step in 0..40 {
        let marker = marker();
        let line = format!("python3 tries.py {marker}");
        let ran = shop.outside("workspace/ran");
        fs::remove_file(&ran).ok();
        let job = shop.start(&line, ExecHost::Sandbox, JobOptions::default()).await;
        let helper = rustix::process::Pid::from_raw(job.status().pid.unwrap().cast_signed()).unwrap();
        tokio::time::sleep(Duration::from_micros(1_500 * step)).await;
        // It may have ended by itself.
        rustix::process::kill_process(helper, rustix::process::Signal::KILL).ok();
        ended(&job).await;
        before += usize::from(!ran.exists());
        assert!(!escaped.exists(), "step {step}");
        until("nothing of it is left", || processes_with(&marker).is_empty()).await;
    }
    assert!(before > 0, "none was killed before it ran");
}
