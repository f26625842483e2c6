//! A private world for one test, and what came of a run in it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::processes::end_processes_in;

/// Set where the tests run again as an ordinary user, who may not reach the folder of the build.
pub(crate) const HAFT: &str = "HAFT_TEST_BINARY";

/// The address of a PostgreSQL server: there each world has its state, in a schema of its own. Else in a file.
const STORE: &str = "HAFT_TEST_STORE";

/// The binary that is tested.
pub(crate) fn haft() -> PathBuf {
    std::env::var_os(HAFT).map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_haft")), PathBuf::from)
}

/// Whether these tests have all rights. Without, a run has no control group where nobody gave the user one: limits then hold
/// for each process, and the machine does not tell that one was met.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A listing without the tools that are not named, so that a golden file of it does not change with every new tool.
pub(crate) fn of_tools(names: &[&str], listing: &str) -> String {
    let mut keeps = true;
    let is_kept = |line: &&str| {
        let entry = line.strip_prefix("[x] ").or_else(|| line.strip_prefix("[ ] ")).unwrap_or(line);
        if !entry.starts_with(' ') {
            let name = entry.split(' ').next().unwrap_or_default();
            keeps = names.contains(&name) || !haft_builtin::metas().any(|meta| meta.name == name);
        }
        keeps
    };
    listing.split_inclusive('\n').filter(is_kept).collect()
}

/// A home, a configuration and a workspace; every run is a fresh process.
#[derive(Debug)]
pub(crate) struct World {
    folder: TempDir,
    store: Option<String>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["workspace", "home", "config/haft"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let server = std::env::var(STORE).ok().filter(|server| !server.is_empty());
        let store = server.map(|server| format!("{server}?options=-csearch_path%3Dworld_{}", haft_store::new_uuid().simple()));
        Self { folder, store }
    }

    pub(crate) fn with_config(text: &str) -> Self {
        let world = Self::new();
        world.configure(text);
        world
    }

    /// The user's own file, from now on.
    pub(crate) fn configure(&self, text: &str) {
        fs::write(self.path("config/haft/config.toml"), text).unwrap();
    }

    /// A path beneath the world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the workspace.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path("workspace").join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// Where the data is.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("home/state")
    }

    /// A command with nothing of the surrounding environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = self.program(haft());
        command.args(words);
        command
    }

    /// Any program, as `command` runs the one that is tested.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("workspace")).env_clear().stdin(Stdio::null());
        for (name, value) in [("HOME", self.path("home")), ("HAFT_HOME", self.state()), ("XDG_CONFIG_HOME", self.path("config"))] {
            command.env(name, value);
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TZ", "UTC").env("LANG", "C.UTF-8");
        command.envs(self.store.iter().map(|store| ("HAFT_STORE", store)));
        // Names that tests write are not looked up: nothing of a test leaves the machine.
        command.env("HAFT_NO_RESOLVE", "1");
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Ran {
        self.ran(&self.command(words).output().unwrap())
    }

    /// With these variables as well.
    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, variables: &[(&str, &str)], words: &[S]) -> Ran {
        self.ran(&self.command(words).envs(variables.iter().copied()).output().unwrap())
    }

    /// With this on standard input.
    pub(crate) fn run_fed(&self, input: &[u8], words: &[&str]) -> Ran {
        let mut child = self.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let input = input.to_owned();
        // A process that reads a bounded part closes the pipe; that is not this test's failure.
        let feeder = std::thread::spawn(move || pipe.write_all(&input).ok());
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        self.ran(&output)
    }

    /// Calls a tool and gives its JSON.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> (i32, Value) {
        let ran = self.run(&["call", tool, &arguments.to_string(), "--json"]);
        (ran.code, ran.json())
    }

    pub(crate) fn ran(&self, output: &Output) -> Ran {
        Ran { code: output.status.code().unwrap_or(-1), stdout: self.neutral(&output.stdout), stderr: self.neutral(&output.stderr) }
    }

    /// Text without what differs from run to run.
    fn neutral(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).expect("all output is UTF-8");
        text.replace(&*self.folder.path().canonicalize().unwrap().to_string_lossy(), "[world]")
            .replace(&*self.folder.path().to_string_lossy(), "[world]")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        end_processes_in(self.folder.path());
    }
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Standard output as JSON: one value and nothing else.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// Everything, for a golden file.
    pub(crate) fn all(&self) -> String {
        let section = |name: &str, text: &str| if text.is_empty() { String::new() } else { format!("--- {name}\n{text}") };
        format!("exit code {}\n{}{}", self.code, section("stdout", &self.stdout), section("stderr", &self.stderr))
    }
}

/// The steps of an explanation that had a say.
pub(crate) fn said(explanation: &Value) -> Vec<Value> {
    let silent = |entry: &&Value| !matches!(entry["entry"].as_str(), Some("nothing configured" | "depends on the arguments"));
    explanation["trace"].as_array().unwrap().iter().filter(silent).cloned().collect()
}

/// The permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}
