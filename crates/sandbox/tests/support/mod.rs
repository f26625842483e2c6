//! Shared by the tests: a workspace with the targets of an attacker, and runs of commands.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue has failed, and says why; not every file uses everything"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use haft_contract::CommandLimits;
use haft_sandbox::{Bubblewrap, ConfinedCommand, Launcher, ProcessSpec, Sandbox, SandboxGuard, SandboxPolicy, launcher};

/// Set where the tests run again as an unprivileged user, who cannot access the build folder.
pub(crate) const LAUNCHER: &str = "HAFT_TEST_LAUNCHER";

pub(crate) fn launcher() -> Launcher {
    Launcher::at(std::env::var_os(LAUNCHER).map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_haft-test-launcher")), PathBuf::from))
}

pub(crate) fn bubblewrap() -> Bubblewrap {
    Bubblewrap::detect(launcher()).unwrap()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A temporary folder with a workspace and a secret.
pub(crate) struct TestWorkspace {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) secret: PathBuf,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let ws = Self { workspace: root.join("workspace"), outside: root.join("outside"), secret: root.join("outside/secret"), folder };
        fs::create_dir_all(ws.workspace.join(".git/hooks")).unwrap();
        fs::create_dir_all(ws.workspace.join("keys")).unwrap();
        fs::create_dir(&ws.outside).unwrap();
        fs::write(ws.workspace.join("keys/id"), "private").unwrap();
        fs::write(ws.workspace.join(".env"), "KEY=private").unwrap();
        fs::write(ws.workspace.join("settings"), "mine").unwrap();
        fs::write(&ws.secret, "private").unwrap();
        ws
    }

    pub(crate) fn policy(&self) -> SandboxPolicy {
        let inside = |name: &str| self.workspace.join(name);
        SandboxPolicy {
            writable: vec![self.workspace.clone()],
            read_only: vec![self.outside.clone()],
            protected: vec![inside(".git/hooks"), inside("settings"), inside(".haft")],
            masked: vec![self.secret.clone(), inside("keys"), inside(".env")],
            limits: CommandLimits { cpu_seconds: Some(60), ..CommandLimits::STANDARD },
            ..SandboxPolicy::default()
        }
    }

    pub(crate) fn shell(&self, script: &str) -> ProcessSpec {
        let command = ProcessSpec::new("/bin/bash", &self.workspace).argument("-c").argument(script);
        command.variable("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").variable("OUT", &self.outside).variable("LC_ALL", "C")
    }

    /// Every path of the folder, to detect leftovers of a run.
    pub(crate) fn listing(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path.clone());
                }
                paths.push(path);
            }
        }
        paths.sort();
        paths
    }
}

/// Exit code and output of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for RunOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl RunOutput {
    pub(crate) fn setup_failure(&self) -> Option<String> {
        launcher::setup_failure(self.code, self.stderr.as_bytes())
    }
}

pub(crate) fn run(sandbox: &dyn Sandbox, command: ProcessSpec, policy: &SandboxPolicy) -> RunOutput {
    let ConfinedCommand { command, guard } = sandbox.wrap(command, policy).unwrap();
    let output = command.to_std().stdin(Stdio::null()).output().unwrap();
    drop(guard);
    output.into()
}

/// A run in the background.
pub(crate) struct RunningCommand {
    pub(crate) child: Child,
    pub(crate) guard: SandboxGuard,
}

impl RunningCommand {
    pub(crate) fn start(sandbox: &dyn Sandbox, command: ProcessSpec, policy: &SandboxPolicy) -> Self {
        let ConfinedCommand { command, guard } = sandbox.wrap(command, policy).unwrap();
        let child = command.to_std().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, guard }
    }

    pub(crate) fn kill(mut self) {
        self.guard.kill(self.child.id()).unwrap();
        self.child.wait().unwrap();
    }
}

/// Processes of the machine with this word among their arguments.
pub(crate) fn processes_with(word: &str) -> Vec<String> {
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let named = numbers.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    });
    named.map(|pid| format!("{pid}: {}", state(pid))).filter(|line| !line.ends_with('Z')).collect()
}

fn state(pid: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('Z')
}

/// Polls a condition for at most 20 seconds.
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < Duration::from_secs(20), "not within 20 seconds: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A number that identifies the sleeping processes of one test.
pub(crate) fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 10_000 + std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn exists(path: impl AsRef<Path>) -> bool {
    path.as_ref().symlink_metadata().is_ok()
}

/// Runs all tests of this file again without privileges, with copies of the programs: the user cannot access the build folder.
pub(crate) fn rerun_as_unprivileged_user() {
    if !is_root() {
        println!("not run again: already an unprivileged user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let copy = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).unwrap();
        to
    };
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let launcher = copy(launcher().path(), "launcher");
    let mut again = std::process::Command::new("setpriv");
    again.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(tests).args(["--test-threads", "2"]);
    again.env(LAUNCHER, launcher).env("TMPDIR", folder.path()).current_dir("/");
    let ran = RunOutput::from(again.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}
