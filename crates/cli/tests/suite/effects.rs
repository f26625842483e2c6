//! What the tables of attacks and of ordinary lines share: a user with something to lose, a toolchain below home, calls whose
//! result is the effect on disk and network, and the user's own Git outside.

mod server;
mod toolchain;
mod trees;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_testkit::{ModelServer, Round};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use self::server::{Answer, Server};
pub(crate) use self::toolchain::link_toolchain;
pub(crate) use self::trees::{Entry, Tree, base64, restore, reveals, tree, tree_reveals};
use super::harness::{haft, is_root};
use super::processes::{end_processes_in, wait_for_processes_in};
use super::sent::results;

/// Every secret of a test begins with this, so that one search finds each of them.
pub(crate) const CANARY: &str = "CANARY-7f3a91";
/// Folders of programs that every Linux has.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A user's home with an identity for Git and with secrets; below it their projects, one of which is the workspace; and a folder that
/// nobody opened. For root it is below `/home`, because a sandbox hides `/tmp` anyway. Each call is a process of its own.
#[derive(Debug)]
pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with_config("")
    }

    pub(crate) fn with_config(config: &str) -> Self {
        let usual = Path::new("/home");
        let within = if is_root() && usual.is_dir() { usual.to_owned() } else { std::env::temp_dir() };
        let scene = Self { folder: tempfile::Builder::new().prefix("haft-scene-").tempdir_in(within).unwrap() };
        for (name, text) in [
            ("home/.gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n".to_owned()),
            ("home/.bashrc", "# as it was\n".to_owned()),
            ("home/private.txt", format!("{CANARY}-private\n")),
            ("home/.ssh/id_ed25519", format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}-ssh\n-----END OPENSSH PRIVATE KEY-----\n")),
            ("home/projects/other/key.txt", format!("{CANARY}-other\n")),
            ("outside/canary.txt", format!("{CANARY}-outside\n")),
        ] {
            let path = scene.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(scene.file("")).unwrap();
        scene.configure(config);
        scene
    }

    /// The user's own file, from now on.
    pub(crate) fn configure(&self, text: &str) {
        fs::create_dir_all(self.path("home/.config/haft")).unwrap();
        fs::write(self.path("home/.config/haft/config.toml"), text).unwrap();
    }

    /// A path beside or below the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the workspace.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path("home/projects/workspace").join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// A program in the workspace, with the user's PATH and nothing else of the surrounding environment.
    pub(crate) fn program(&self, name: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.file("")).env_clear().stdin(Stdio::null());
        command
            .env("HOME", self.path("home"))
            .env("PATH", search_path(self))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("HAFT_NO_RESOLVE", "1");
        command
    }

    /// `haft` with these words.
    pub(crate) fn haft(&self, words: &[&str]) -> Command {
        let mut command = self.program(haft());
        command.args(words);
        command
    }

    /// What is neither the workspace nor Haft's own: what no command may change.
    pub(crate) fn untouched(&self) -> Tree {
        let mut all = tree(&self.path("home"), &[".local", ".cache", ".cargo", ".rustup", "projects"]);
        for name in ["home/projects/other", "outside"] {
            all.extend(tree(&self.path(name), &[]).into_iter().map(|(path, content)| (Path::new(name).join(path), content)));
        }
        all
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        end_processes_in(self.folder.path());
    }
}

/// The user's PATH: cargo below home, then the system.
pub(crate) fn search_path(scene: &Scene) -> String {
    format!("{}:{SYSTEM_PATH}", scene.path("home/.cargo/bin").display())
}

/// Whether the user has this program.
pub(crate) fn has_program(scene: &Scene, name: &str) -> bool {
    search_path(scene).split(':').any(|folder| Path::new(folder).join(name).is_file())
}

/// What came of one call of a tool.
#[derive(Debug)]
pub(crate) struct CallResult {
    pub(crate) value: Value,
}

impl CallResult {
    /// The exit code of the command. There is none where it was refused, or asked about.
    pub(crate) fn exit(&self) -> Option<i64> {
        self.value["details"]["exit_code"].as_i64()
    }

    /// All that it gives to the model.
    pub(crate) fn text(&self) -> String {
        let part = |name: &str| self.value[name].as_str().unwrap_or_default();
        format!("{}\n{}", part("result"), part("message"))
    }

    /// In one line of a report.
    pub(crate) fn brief(&self) -> String {
        let text = self.text().trim().replace('\n', " / ");
        let start: String = text.chars().take(220).collect();
        format!("exit {:?}, {}: {start}", self.exit(), self.value["error_type"].as_str().unwrap_or("no error"))
    }
}

/// Calls a tool with the user's PATH, with a limit of time.
pub(crate) fn call(scene: &Scene, tool: &str, arguments: &Value) -> CallResult {
    let output = scene.haft(&["call", tool, &arguments.to_string(), "--json"]).output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| json!({ "status": "error", "message": format!("{output:?}") }));
    CallResult { value }
}

/// Runs a line in the sandbox.
pub(crate) fn run_line(scene: &Scene, line: &str) -> CallResult {
    call(scene, "exec", &json!({ "command": line, "timeout": 60 }))
}

/// Runs a line as a job in the background, and waits until the job has ended.
pub(crate) fn run_in_background(scene: &Scene, line: &str) -> CallResult {
    let result = call(scene, "exec", &json!({ "command": line, "timeout": 60, "background": true }));
    wait_for_processes_in(&scene.path(""));
    result
}

/// One session in which a model makes these calls one after the other; what came of each. More can be in the configuration.
pub(crate) fn run_session(scene: &Scene, config: &str, calls: &[(&str, Value)]) -> Vec<CallResult> {
    let rounds = calls.iter().enumerate().map(|(at, (tool, arguments))| Round::call(&format!("call-{at}"), tool, arguments.clone()));
    let server = ModelServer::start(rounds.chain([Round::Text("Done.".to_owned())]).collect()).unwrap();
    let provider = format!("[providers.work]\nprotocol = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"WORK_KEY\"\n", server.url());
    scene.configure(&format!("model = \"work/m1\"\n{config}\n{provider}"));
    let output = scene.haft(&["run", "--json", "go"]).env("WORK_KEY", "k-1234567890").output().unwrap();
    let asked = server.asked();
    let last = asked.last().unwrap_or_else(|| panic!("no request: {output:?}"));
    let found: Vec<CallResult> = results(&last.body).into_iter().map(|(_, value)| CallResult { value }).collect();
    assert_eq!(found.len(), calls.len(), "{output:?}");
    found
}

/// Runs a line with plain bash, as if there were no sandbox: what an attack does when nothing stops it.
pub(crate) fn run_unsandboxed(scene: &Scene, line: &str) -> Output {
    let temporary = scene.path("tmp");
    fs::create_dir_all(&temporary).unwrap();
    scene.program("bash").args(["-c", line]).env("TMPDIR", temporary).output().unwrap()
}

/// Git as the user runs it, outside, in a folder of the workspace.
pub(crate) fn user_git(scene: &Scene, folder: &str, words: &[&str]) -> Output {
    let mut command = scene.program("git");
    command
        .args(words)
        .current_dir(scene.file(folder))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("EDITOR", "true");
    command.output().unwrap()
}

/// The same, where it must succeed; what it printed.
pub(crate) fn user_git_text(scene: &Scene, folder: &str, words: &[&str]) -> String {
    let output = user_git(scene, folder, words);
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs jobs on a few threads, for they mostly wait.
pub(crate) fn on_threads<T: Sync>(count: usize, items: &[T], job: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::SeqCst)) {
                    job(item);
                }
            });
        }
    });
}
