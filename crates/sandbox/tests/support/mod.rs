//! What the tests of this crate share: a workspace with everything an attacker wants, and the end of a run.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and says why; not each file uses all"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use haft_sandbox::{Bubblewrap, Command, Guard, Launcher, Limits, Policy, Sandbox, Wrapped, launcher};

/// Set where the tests run again as an ordinary person, who may not reach the folder of the build.
pub(crate) const LAUNCHER: &str = "HAFT_TEST_LAUNCHER";

pub(crate) fn launcher() -> Launcher {
    Launcher::at(std::env::var_os(LAUNCHER).map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_haft-launcher")), PathBuf::from))
}

pub(crate) fn bubblewrap() -> Bubblewrap {
    Bubblewrap::detect(launcher()).unwrap()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder of its own for each test, with a workspace and a secret in it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) secret: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let place = Self { workspace: root.join("workspace"), outside: root.join("outside"), secret: root.join("outside/secret"), folder };
        fs::create_dir_all(place.workspace.join(".git/hooks")).unwrap();
        fs::create_dir_all(place.workspace.join("keys")).unwrap();
        fs::create_dir(&place.outside).unwrap();
        fs::write(place.workspace.join("keys/id"), "private").unwrap();
        fs::write(place.workspace.join(".env"), "KEY=private").unwrap();
        fs::write(place.workspace.join("settings"), "mine").unwrap();
        fs::write(&place.secret, "private").unwrap();
        place
    }

    pub(crate) fn policy(&self) -> Policy {
        let inside = |name: &str| self.workspace.join(name);
        Policy {
            writable: vec![self.workspace.clone()],
            read_only: vec![self.outside.clone()],
            protected: vec![inside(".git/hooks"), inside("settings"), inside(".haft"), inside("deep/er/missing")],
            masked: vec![self.secret.clone(), inside("keys"), inside(".env")],
            limits: Limits { cpu_seconds: Some(60), ..Limits::default() },
            ..Policy::default()
        }
    }

    pub(crate) fn shell(&self, script: &str) -> Command {
        let command = Command::new("/bin/bash", &self.workspace).argument("-c").argument(script);
        command.variable("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").variable("OUT", &self.outside).variable("LC_ALL", "C")
    }

    /// Every path of the workspace, to see whether a run leaves anything.
    pub(crate) fn listing(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path.clone());
                }
                found.push(path);
            }
        }
        found.sort();
        found
    }
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    pub(crate) fn setup_failure(&self) -> Option<String> {
        launcher::setup_failure(self.code, self.stderr.as_bytes())
    }
}

pub(crate) fn run(sandbox: &dyn Sandbox, command: Command, policy: &Policy) -> Ran {
    let Wrapped { command, guard } = sandbox.wrap(command, policy).unwrap();
    let output = command.to_std().stdin(Stdio::null()).output().unwrap();
    drop(guard);
    output.into()
}

/// A run that goes on, and is killed at the latest when the test ends.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) guard: Guard,
}

impl Running {
    pub(crate) fn start(sandbox: &dyn Sandbox, command: Command, policy: &Policy) -> Self {
        let Wrapped { command, guard } = sandbox.wrap(command, policy).unwrap();
        let child = command.to_std().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, guard }
    }

    pub(crate) fn kill(mut self) {
        self.guard.kill(self.child.id()).unwrap();
        self.child.wait().unwrap();
    }
}

/// The processes of the machine that have this word among their arguments.
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

/// Looks again and again until it is so, for at most 20 seconds.
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < Duration::from_secs(20), "not within 20 seconds: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A number that names the sleeping processes of one test.
pub(crate) fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 10_000 + std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn exists(path: impl AsRef<Path>) -> bool {
    path.as_ref().symlink_metadata().is_ok()
}

/// Runs all tests of this file again without any rights. Programs are copied: that person may not reach the folder of the build.
pub(crate) fn again_as_an_ordinary_person() {
    if !is_root() {
        println!("not run again: this is an ordinary person already");
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
    let ran = Ran::from(again.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}
