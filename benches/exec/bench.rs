//! A workspace with a shell, and the tool that uses it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use haft::host::{LocalFiles, LocalHost, LocalProcesses, ShellOptions, WorkspaceOptions};
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{Access, CommandRequest, Engine, ExecHost, JobOptions, Registry, SandboxBackend, Session, ToolCall, ToolSource, ports::Host};
use haft_sandbox::Launcher;
use tempfile::TempDir;

/// The same code as `haft-launcher`, without the rest of its package.
const SMALL: &str = "haft-test-launcher";
const SOURCES: &str = env!("CARGO_MANIFEST_DIR");

/// The namespaces that the launcher makes, as options of bubblewrap.
const NAMESPACES: &str = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --as-pid-1 --new-session \
                          --die-with-parent --cap-drop ALL --hostname haft";

pub(crate) struct Bench {
    host: Arc<LocalHost>,
    engine: Engine,
    session: Session,
    pub(crate) workspace: PathBuf,
    folder: TempDir,
}

impl Bench {
    /// With at most so much kept of what a call writes.
    pub(crate) fn new(spill_bytes: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a workspace");
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&workspace)).expect("an open workspace"));
        let processes = LocalProcesses::default().with_shell(shell(folder.path()), Arc::clone(&files), Arc::default());
        let host = Arc::new(LocalHost::new(files, Arc::default(), Arc::new(processes), folder.path().join("alerts.log")));
        let session = Session::builder(Arc::clone(&host) as _).access(Access::FullAccess).loop_limits(None).build();
        Self { host, engine: engine(folder.path(), spill_bytes), session, workspace, folder }
    }

    /// Where what is spilled is kept.
    pub(crate) fn state(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn plan(&self, line: &str) {
        let request = CommandRequest { command: line.to_owned(), ..CommandRequest::default() };
        drop(self.host.processes().plan(&request).expect("a plan"));
    }

    /// One line to its end.
    pub(crate) async fn run(&self, line: &str, host: ExecHost) {
        let request = CommandRequest { command: line.to_owned(), host: Some(host), ..CommandRequest::default() };
        let planned = self.host.processes().plan(&request).expect("a plan");
        let job = self.host.processes().start(&planned, JobOptions::default()).await.expect("it starts");
        assert_eq!(job.wait().await.code, Some(0), "{}", String::from_utf8_lossy(&job.head()));
    }

    /// Bubblewrap with the mounts of a line like this one, which the launcher has as arguments while it runs.
    pub(crate) async fn bubblewrap(&self) -> Vec<OsString> {
        let request = CommandRequest { command: "sleep 1; touch x".into(), host: Some(ExecHost::Sandbox), ..CommandRequest::default() };
        let planned = self.host.processes().plan(&request).expect("a plan");
        let job = self.host.processes().start(&planned, JobOptions::default()).await.expect("it starts");
        let path = format!("/proc/{}/cmdline", job.status().pid.expect("a process"));
        let words = loop {
            let line = std::fs::read(&path).expect("it runs for a second");
            let mut words: Vec<OsString> = line.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect();
            if let Some(at) = words.iter().position(|word| word == "__haft_sandbox_namespaces") {
                break words.split_off(at + 1);
            }
            tokio::task::yield_now().await;
        };
        job.wait().await;
        let program = ["/usr/bin/bwrap"].into_iter().chain(NAMESPACES.split(' ')).map(OsString::from);
        program.chain(words).collect()
    }

    /// One line as a model has it run.
    pub(crate) async fn call(&self, line: &str) {
        let arguments = serde_json::json!({ "command": line }).to_string();
        let result = self.engine.run(ToolCall::new("1", "exec", arguments), &self.session).await;
        assert!(result.is_success(), "{}", result.to_json());
    }
}

fn engine(folder: &Path, spill_bytes: u64) -> Engine {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).expect("every tool registers");
    }
    let blobs = FileBlobs::open(&folder.join("state")).expect("a blob folder");
    let mut limits = haft::CallLimits::default();
    limits.spill_bytes = spill_bytes;
    Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).limits(limits).build()
}

fn shell(folder: &Path) -> ShellOptions {
    ShellOptions { sandbox: SandboxBackend::Bubblewrap, wait_for_exit: true, ..ShellOptions::new(launcher(), folder) }
}

/// The small launcher, as it is installed beside `haft`: a large program such as this one costs milliseconds at each start. It is
/// built now, so that it is never one of another version.
fn launcher() -> Launcher {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        let own = Launcher::current().expect("this program");
        // Of `<target>/release/deps/exec-…`.
        let release = own.path().ancestors().nth(2).expect("a folder of builds").to_owned();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments = ["build", "--quiet", "--release", "--package", "haft-sandbox", "--bin", SMALL, "--target-dir"];
        let built = Command::new(cargo).args(arguments).arg(release.parent().expect("a target folder")).current_dir(SOURCES).status();
        assert!(built.is_ok_and(|status| status.success()), "the launcher is built");
        release.join(SMALL)
    });
    Launcher::at(path)
}

/// The most memory that this process had at a time, in kilobytes.
pub(crate) fn own_peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0.0)
}
