//! What the tables of attacks and of ordinary lines share: a user with something to lose, a toolchain below home, calls whose
//! result is the effect on disk and network, and the user's own Git outside.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use haft_testkit::{ModelServer, Round};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::harness::{haft, is_root};
use super::sent::results;

/// Every secret of a test begins with this, so that one search finds each of them.
pub(crate) const CANARY: &str = "CANARY-7f3a91";
/// Folders of programs that every Linux has.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// No call of a table takes longer, on a busy machine either.
const PATIENCE: Duration = Duration::from_secs(60);

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
        command.env("HOME", self.path("home")).env("PATH", search_path(self)).env("LANG", "C.UTF-8").env("TZ", "UTC");
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

/// The user's PATH: cargo below home, then the system.
pub(crate) fn search_path(scene: &Scene) -> String {
    format!("{}:{SYSTEM_PATH}", scene.path("home/.cargo/bin").display())
}

/// Whether the user has this program.
pub(crate) fn has_program(scene: &Scene, name: &str) -> bool {
    search_path(scene).split(':').any(|folder| Path::new(folder).join(name).is_file())
}

/// Gives this home the Rust toolchain that builds the tests, as rustup lays it out. Files are linked, because there are
/// 300 MB of them; without rustup, or with it on another file system, there is the toolchain of the system or none.
pub(crate) fn link_toolchain(scene: &Scene) {
    let Some((sysroot, rustup)) = installed_toolchain() else { return };
    let toolchain = scene.path("home/.rustup/toolchains/test");
    let libraries = fs::read_dir(sysroot.join("lib/rustlib")).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let targets = libraries.flat_map(|name| ["lib", "bin", "bin/gcc-ld"].map(|part| Path::new("lib/rustlib").join(&name).join(part)));
    for folder in [PathBuf::from("bin"), PathBuf::from("lib")].into_iter().chain(targets) {
        link_files(&sysroot.join(&folder), &toolchain.join(&folder));
    }
    let programs = scene.path("home/.cargo/bin");
    fs::create_dir_all(&programs).unwrap();
    if ["cargo", "rustc", "rustdoc"].iter().all(|name| fs::hard_link(&rustup, programs.join(name)).is_ok()) {
        fs::write(scene.path("home/.rustup/settings.toml"), "version = \"12\"\ndefault_toolchain = \"test\"\nprofile = \"minimal\"\n")
            .unwrap();
    }
}

fn installed_toolchain() -> Option<(PathBuf, PathBuf)> {
    let printed = Command::new("rustc").args(["--print", "sysroot"]).stderr(Stdio::null()).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8(printed.stdout).ok()?.trim()).canonicalize().ok()?;
    let folders = std::env::split_paths(&std::env::var_os("PATH")?).collect::<Vec<_>>();
    let rustup = folders.iter().find_map(|folder| folder.join("rustup").canonicalize().ok())?;
    Some((sysroot, rustup))
}

/// Links the files of one folder, and none of those below it.
fn link_files(from: &Path, to: &Path) {
    let files = fs::read_dir(from).into_iter().flatten().flatten().filter(|entry| entry.path().is_file());
    for file in files {
        fs::create_dir_all(to).unwrap();
        if fs::hard_link(file.path().canonicalize().unwrap(), to.join(file.file_name())).is_err() {
            return;
        }
    }
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
    wait_for_jobs(scene);
    result
}

/// Waits until no process that knows this scene is left.
pub(crate) fn wait_for_jobs(scene: &Scene) {
    let folder = scene.path("").to_string_lossy().trim_end_matches('/').as_bytes().to_owned();
    let has = |entry: &fs::DirEntry| {
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        variables.windows(folder.len()).any(|part| part == folder)
    };
    let began = Instant::now();
    while fs::read_dir("/proc").unwrap().flatten().any(|entry| has(&entry)) {
        assert!(began.elapsed() < PATIENCE, "a job does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
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
    scene.program("bash").args(["-c", line]).output().unwrap()
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

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
    Special,
}

impl Entry {
    fn of(path: &Path) -> Option<Self> {
        let kind = fs::symlink_metadata(path).ok()?.file_type();
        Some(match kind {
            _ if kind.is_symlink() => Self::Link(fs::read_link(path).ok()?),
            _ if kind.is_dir() => Self::Folder,
            _ if kind.is_file() => Self::File(fs::read(path).unwrap_or_default()),
            _ => Self::Special,
        })
    }

    fn make(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            Self::Folder => fs::create_dir_all(path).unwrap(),
            Self::File(content) => fs::write(path, content).unwrap(),
            Self::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            Self::Special => {}
        }
    }
}

pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

/// Everything below a folder, without direct entries of these names.
pub(crate) fn tree(root: &Path, excluded: &[&str]) -> Tree {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(root).unwrap().to_owned();
            if excluded.iter().any(|excluded| name == Path::new(excluded)) {
                continue;
            }
            let Some(entry) = Entry::of(&path) else { continue };
            if entry == Entry::Folder {
                folders.push(path);
            }
            found.insert(name, entry);
        }
    }
    found
}

/// Makes a folder hold this again, and leaves direct entries of the excluded names as they are.
pub(crate) fn restore(root: &Path, wanted: &Tree, excluded: &[&str]) {
    let remove = |path: &Path| fs::remove_dir_all(path).or_else(|_| fs::remove_file(path)).ok();
    for (name, entry) in tree(root, excluded) {
        if wanted.get(&name) != Some(&entry) {
            remove(&root.join(name));
        }
    }
    for (name, entry) in wanted {
        let path = root.join(name);
        if Entry::of(&path).as_ref() != Some(entry) {
            remove(&path);
            entry.make(&path);
        }
    }
}

/// Whether a file of the tree has this secret, plain or encoded.
pub(crate) fn tree_reveals(files: &Tree, secret: &str) -> bool {
    files.values().any(|entry| matches!(entry, Entry::File(content) if reveals(content, secret)))
}

/// Whether this text, or what `base64` and `xxd` make of it, is among these bytes.
pub(crate) fn reveals(bytes: &[u8], secret: &str) -> bool {
    let hexadecimal: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    // Three bytes are four signs: whatever precedes the secret, one of three offsets is its own.
    let encoded = (0..3).map(|skipped| base64(&secret.as_bytes()[skipped..]));
    let encoded = encoded.map(|text| text[..text.len() / 4 * 4 - 4].to_owned());
    let reversed: String = secret.chars().rev().collect();
    let found = |needle: &str| bytes.windows(needle.len()).any(|part| part == needle.as_bytes());
    [secret.to_owned(), hexadecimal, reversed].into_iter().chain(encoded).any(|needle| found(&needle))
}

/// Standard base64 without padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        (0..=three.len()).map(|at| char::from(SIGNS[(number >> (18 - 6 * at)) as usize & 63])).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// The name and the loopback address of this machine that a command reaches through the proxy alone: `127.0.0.1` and `localhost` are
/// the sandbox's own.
pub(crate) fn outside_host() -> (String, IpAddr) {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let resolved = (name.as_str(), 0).to_socket_addrs().ok().and_then(|mut found| found.find(|address| address.is_ipv4()));
    match resolved {
        Some(address) if address.ip().is_loopback() && !name.is_empty() => (name, address.ip()),
        _ => ("127.0.0.2".to_owned(), IpAddr::from([127, 0, 0, 2])),
    }
}

/// The path of a request, and the answer: status, headers, body.
pub(crate) type Answer = (u16, Vec<(String, String)>, Vec<u8>);

/// An HTTP server on loopback, outside the sandbox, which counts who connects. It ends with the test.
pub(crate) struct Server {
    pub(crate) host: String,
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// One that answers every request with this text.
    pub(crate) fn start(text: &'static str) -> Self {
        Self::with(move |_, _| (200, Vec::new(), text.as_bytes().to_vec()))
    }

    /// One that answers with what this makes of the path and of the server's own `host:port`.
    pub(crate) fn with(answer: impl Fn(&str, &str) -> Answer + Send + 'static) -> Self {
        let (name, address) = outside_host();
        let listener = TcpListener::bind((address, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let host = format!("{name}:{}", address.port());
        let (connections, requests, closing): (Arc<AtomicUsize>, Arc<Mutex<Vec<String>>>, Arc<AtomicBool>) = Default::default();
        let (counted, heard, ends, own) = (Arc::clone(&connections), Arc::clone(&requests), Arc::clone(&closing), host.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                // A client that went away, or says nothing, gets no answer.
                serve(stream, &own, &heard, &answer).ok();
            }
        });
        Self { host, address, connections, requests, closing, thread: Some(thread) }
    }

    /// Its host without the port.
    pub(crate) fn name(&self) -> &str {
        self.host.split(':').next().unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The paths that were asked for.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // A connection wakes the listener; without one it would be waited for in vain.
        if TcpStream::connect(self.address).is_ok() {
            self.thread.take().map(JoinHandle::join);
        }
    }
}

fn serve(mut stream: TcpStream, own: &str, heard: &Mutex<Vec<String>>, answer: impl Fn(&str, &str) -> Answer) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !request.windows(4).any(|part| part == b"\r\n\r\n") {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..count]);
    }
    let text = String::from_utf8_lossy(&request);
    let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
    heard.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    let (status, headers, body) = answer(&path, own);
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len())?;
    stream.write_all(&body)
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
