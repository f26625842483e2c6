//! A PostgreSQL server of the test's own, on a Unix socket in a temporary folder. It ends with the test in every case.
#![allow(clippy::expect_used, reason = "a test without its server ends")]

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The server refuses to run as root; this is `nobody`.
const SERVER_USER: u32 = 65534;
/// A server that takes longer to start does not start.
const START: Duration = Duration::from_mins(1);
/// Only the file of the socket has a number; nothing listens on a port, unless a test wants that.
const PORT: u16 = 5432;

/// Nothing in these tests survives a crash of the machine, and memory is small.
const SETTINGS: [&str; 12] = [
    "listen_addresses=",
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=24MB",
    "max_connections=80",
    "max_wal_senders=4",
    "autovacuum=off",
    "jit=off",
    "log_min_messages=fatal",
    "max_wal_size=256MB",
    "dynamic_shared_memory_type=mmap",
    "timezone=UTC",
];

/// A server, stopped and removed when it is dropped.
#[derive(Debug)]
pub struct PostgresServer {
    folder: TempDir,
    running: Option<Running>,
    settings: Vec<String>,
    databases: AtomicU32,
    /// Bytes of a disk that only the server sees.
    disk: Option<u64>,
    port: u16,
}

/// What fills the disk of a server, until it is dropped.
#[derive(Debug)]
pub struct DiskFiller(PathBuf);

impl Drop for DiskFiller {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// The process. A thread of its own is its parent: the system ends the server when that thread ends, so also when the test is killed.
#[derive(Debug)]
struct Running {
    child: Child,
    _parent: mpsc::Sender<()>,
}

impl PostgresServer {
    /// Starts a new server.
    ///
    /// # Panics
    /// If it cannot: PostgreSQL must be installed (`./check` does).
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a new server with more settings, such as `max_connections=10`.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_with(settings: &[&str]) -> Self {
        Self::make(Self::folder(settings))
    }

    /// Starts a new server whose tables are on a disk of this size, in memory and mounted for the server alone. `None` if this user may
    /// not mount.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_on_small_disk(bytes: u64) -> Option<Self> {
        let may_mount = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).stderr(Stdio::null()).status();
        if !may_mount.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut server = Self::folder(&[]);
        server.disk = Some(bytes);
        fs::create_dir(server.disk_folder()).expect("a folder for the disk");
        let server = Self::make(server);
        let location = server.disk_folder();
        server.sql("postgres", &format!("CREATE TABLESPACE small LOCATION '{}'", location.display()));
        server.sql("postgres", "ALTER ROLE postgres SET default_tablespace = small");
        Some(server)
    }

    /// Starts a new server that is also reached over TLS, on a port of 127.0.0.1 that is free now, with a certificate and its key in PEM.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_encrypted(certificate: &str, key: &str) -> Self {
        let mut server = Self::folder(&["listen_addresses=127.0.0.1", "ssl=on"]);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        server.port = listener.expect("a free port").port();
        for (name, content) in [("server.crt", certificate), ("server.key", key)] {
            let path = server.path().join(name);
            fs::write(&path, content).expect("a file for the server");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode can be set");
            if rustix::process::geteuid().is_root() {
                chown(&path, Some(SERVER_USER), Some(SERVER_USER)).expect("it can be given to the server");
            }
            let setting = if name.ends_with("crt") { "ssl_cert_file" } else { "ssl_key_file" };
            server.settings.push(format!("{setting}={}", path.display()));
        }
        Self::make(server)
    }

    /// The port of a server that is reached over TLS.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn disk_folder(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// Fills the disk of the server.
    ///
    /// # Panics
    /// If the server has no disk of its own.
    pub fn fill_disk(&self) -> DiskFiller {
        let server = self.running.as_ref().expect("a server that runs").child.id();
        let inside = self.disk_folder().strip_prefix("/").expect("an absolute path").join("filler");
        let filler = DiskFiller(PathBuf::from(format!("/proc/{server}/root")).join(inside));
        let mut file = fs::File::create(&filler.0).expect("the disk of the server");
        let zeros = vec![0_u8; 64 << 10];
        while io::Write::write_all(&mut file, &zeros).is_ok() {}
        filler
    }

    fn make(mut server: Self) -> Self {
        let mut initdb = server.as_server_user("initdb");
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata"]);
        run(initdb.arg(server.data()));
        server.resume();
        server
    }

    /// A standby that follows this server. It takes over with [`promote`](Self::promote).
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn standby(&self) -> Self {
        let mut standby = Self::folder(&[]);
        let mut backup = standby.as_server_user("pg_basebackup");
        backup.args(["--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--username=postgres", "--host"]).arg(self.folder.path());
        run(backup.arg("--pgdata").arg(standby.data()));
        standby.resume();
        standby
    }

    fn folder(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the server");
        if rustix::process::geteuid().is_root() {
            chown(folder.path(), Some(SERVER_USER), Some(SERVER_USER)).expect("the folder can be given to the server");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode can be set");
        let settings = SETTINGS.iter().chain(settings).map(ToString::to_string).collect();
        Self { folder, running: None, settings, databases: AtomicU32::new(0), disk: None, port: PORT }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder of the server, which its user may write to.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn as_server_user(&self, program: &str) -> Command {
        let program = programs().join(program);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            let user = SERVER_USER.to_string();
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--pdeathsig", "QUIT"]).arg(program);
            command
        } else {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "QUIT"]).arg(program);
            command
        };
        command.current_dir(self.folder.path()).env("HOME", self.folder.path()).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    fn server_command(&self) -> Command {
        let postgres = self.as_server_user("postgres");
        let Some(bytes) = self.disk else { return postgres };
        let mount = format!("mount -t tmpfs -o size={bytes},uid={SERVER_USER},gid={SERVER_USER},mode=700 tmpfs \"$0\" && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &mount]).arg(self.disk_folder()).arg(postgres.get_program()).args(postgres.get_args());
        command.current_dir(self.folder.path()).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Starts it again after [`stop`](Self::stop) or [`kill`](Self::kill).
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn resume(&mut self) {
        let mut command = self.server_command();
        command.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path()).arg("-p").arg(self.port.to_string());
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join("log")).expect("a log");
        command.stdout(Stdio::null()).stderr(log);
        let (parent, alive) = mpsc::channel::<()>();
        let (started, child) = mpsc::channel();
        std::thread::spawn(move || {
            started.send(command.spawn()).ok();
            // Until the server is dropped.
            alive.recv().ok();
        });
        let child = child.recv().expect("the thread has started it").expect("postgres can be run");
        self.running = Some(Running { child, _parent: parent });
        let deadline = Instant::now() + START;
        while !self.is_ready() {
            let ended = self.running.as_mut().and_then(|running| running.child.try_wait().ok().flatten());
            assert!(ended.is_none() && Instant::now() < deadline, "the server does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_ready(&self) -> bool {
        let probe =
            Command::new(programs().join("pg_isready")).args(["-q", "-p", &self.port.to_string(), "-h"]).arg(self.folder.path()).status();
        probe.is_ok_and(|status| status.success())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Stops it as an administrator does: connections are ended, nothing is lost.
    pub fn stop(&mut self) {
        self.end(rustix::process::Signal::INT);
    }

    /// Ends it at once, as a crash does.
    pub fn kill(&mut self) {
        self.end(rustix::process::Signal::QUIT);
    }

    fn end(&mut self, signal: rustix::process::Signal) {
        let Some(mut running) = self.running.take() else { return };
        if let Some(process) = i32::try_from(running.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(process, signal).ok();
        }
        running.child.wait().ok();
    }

    /// Makes a standby the primary.
    ///
    /// # Panics
    /// If it cannot.
    pub fn promote(&self) {
        run(self.as_server_user("pg_ctl").args(["promote", "--wait", "--pgdata"]).arg(self.data()));
    }

    /// Runs a statement in a database; returns its rows, columns separated by `|`.
    ///
    /// # Panics
    /// If the server refuses it.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database]);
        psql.args(["-p", &self.port.to_string(), "-h"]).arg(self.folder.path());
        run(psql.args(["-c", statement])).trim_end().to_owned()
    }

    /// The same as another user, with a password; or why the server refuses it.
    ///
    /// # Panics
    /// If psql cannot be run.
    pub fn try_sql(&self, (user, password): (&str, &str), database: &str, statement: &str) -> Result<String, String> {
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", user, "-d", database]).env("PGPASSWORD", password);
        psql.args(["-w", "-p", &self.port.to_string(), "-h"]).arg(self.folder.path());
        let output = psql.args(["-c", statement]).output().expect("psql can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Sets who may come in, and how: lines of `pg_hba.conf`.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn admit(&self, lines: &[&str]) {
        fs::write(self.data().join("pg_hba.conf"), lines.join("\n") + "\n").expect("a file of the server");
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Makes an empty database and returns its name.
    pub fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Makes an empty schema in a database and returns the address of both: much faster than a database of its own.
    pub fn schema(&self, database: &str) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql(database, &format!("CREATE SCHEMA {name}"));
        format!("{}?options=-csearch_path%3D{name}", self.address(database))
    }

    /// The address of a database.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://postgres@{}:{}/{database}", self.host(), self.port)
    }

    /// The host as it is written in an address.
    pub fn host(&self) -> String {
        self.folder.path().display().to_string().replace('/', "%2F")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where Debian and others put the programs of the server, which are not on the path.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    let newest = versions.filter(|folder| folder.join("postgres").exists()).max();
    newest.unwrap_or_default()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error: io::Error| panic!("{command:?}: {error} (is PostgreSQL installed?)"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
