//! The processes of the demo. Each is ended when it is dropped, and by the system when this process is killed.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// The database refuses to run as root; this is `nobody`.
const DATABASE_USER: u32 = 65534;
/// What does not start in this time does not start.
const START: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(20);
/// How long a process may take to end by itself.
const END: Duration = Duration::from_secs(5);

/// A process of the demo.
pub(super) struct DemoProcess {
    child: Child,
}

/// What a process left.
pub(super) struct DemoEnd {
    pub(super) code: i32,
    pub(super) stdout: String,
}

impl DemoProcess {
    fn start(mut command: Command) -> Result<Self, Failure> {
        let named = command.get_program().to_string_lossy().into_owned();
        Ok(Self { child: command.stdin(Stdio::null()).spawn().map_err(|error| failed(&named, &error))? })
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(process) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(process, signal).ok();
        }
    }

    /// The next line of its output, as JSON.
    fn line(&mut self) -> Result<Value, Failure> {
        let mut line = String::new();
        let Some(stdout) = self.child.stdout.as_mut() else { return Ok(Value::Null) };
        BufReader::with_capacity(1, stdout).read_line(&mut line).map_err(|error| failed("haft", &error))?;
        serde_json::from_str(&line).map_err(|error| failed("haft", &std::io::Error::other(format!("it did not start: {error}"))))
    }

    /// Waits for its end.
    pub(super) fn wait(&mut self, patience: Duration, stop: &CancellationToken) -> Result<DemoEnd, Failure> {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait().map_err(|error| failed("haft", &error))? {
                Some(status) => {
                    let mut stdout = String::new();
                    if let Some(mut output) = self.child.stdout.take() {
                        output.read_to_string(&mut stdout).map_err(|error| failed("haft", &error))?;
                    }
                    return Ok(DemoEnd { code: status.code().unwrap_or(-1), stdout });
                }
                None if stop.is_cancelled() => return Err(stopped()),
                None if Instant::now() > until => return Err(failed("haft", &std::io::Error::other("the turn takes too long"))),
                None => std::thread::sleep(LOOK),
            }
        }
    }
}

impl Drop for DemoProcess {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::TERM);
        let until = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The fleet. Fields are dropped from the top down: the database last.
pub(super) struct DemoFleet {
    workers: Vec<DemoProcess>,
    servers: Vec<DemoProcess>,
    _queue: DemoProcess,
    _database: DemoProcess,
    folder: DemoFolder,
    environment: [(&'static str, String); 2],
    stop: CancellationToken,
}

struct DemoFolder(PathBuf);

impl Drop for DemoFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

impl DemoFleet {
    pub(super) fn start(stop: CancellationToken) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("haft-fleet-{}", &uuid::Uuid::new_v4().simple().to_string()[..12]));
        // The user of the database has to come through.
        fs::DirBuilder::new().mode(0o711).create(&folder).map_err(|error| failed("the folder of the demo", &error))?;
        let folder = DemoFolder(folder);
        fs::create_dir(folder.0.join("project")).map_err(|error| failed("the folder of the demo", &error))?;
        fs::write(folder.0.join("config.toml"), "").map_err(|error| failed("the folder of the demo", &error))?;
        let (database, address) = start_database(&folder.0.join("database"), &stop)?;
        let (queue, queue_address) = start_queue(&folder.0.join("queue"), &stop)?;
        let environment = [("HAFT_STORE", address), ("HAFT_QUEUE", queue_address)];
        let mut fleet = Self { workers: Vec::new(), servers: Vec::new(), _queue: queue, _database: database, folder, environment, stop };
        for number in 1..=2 {
            let server = fleet.haft(&format!("server-{number}"), &["serve", "--listen", "127.0.0.1:0", "--json"], true)?;
            fleet.servers.push(server);
        }
        for number in 1..=3 {
            let name = format!("worker-{number}");
            let worker =
                fleet.haft(&name, &["worker", "--name", &name, "--capacity", "2", "--lease", "3", "--grace", "2", "--json"], true)?;
            fleet.workers.push(worker);
        }
        Ok(fleet)
    }

    /// Starts haft on a machine of this name, and waits until it is ready.
    fn haft(&self, machine: &str, words: &[&str], is_ready: bool) -> Result<DemoProcess, Failure> {
        if self.stop.is_cancelled() {
            return Err(stopped());
        }
        let program = std::env::current_exe().map_err(|error| failed("haft", &error))?;
        let home = self.folder.0.join(machine);
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program).args(words).arg("--workspace").arg(self.folder.0.join("project"));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("HAFT_") || name.ends_with("_API_KEY")) {
                command.env_remove(&name);
            }
        }
        command.env("HAFT_HOME", &home).env("HAFT_CONFIG", self.folder.0.join("config.toml")).env("HAFT_LOCAL_MODELS", "");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = DemoProcess::start(command)?;
        if is_ready {
            process.line()?;
        }
        Ok(process)
    }

    /// Asks one of the servers.
    pub(super) fn turn(&self, server: usize, prompt: &str) -> Result<DemoProcess, Failure> {
        self.haft(&format!("server-{}", server + 1), &["run", prompt, "--server"], false)
    }

    pub(super) fn kill_worker(&self) {
        if let Some(worker) = self.workers.first() {
            worker.signal(rustix::process::Signal::KILL);
        }
    }

    pub(super) fn status(&self) -> Result<Value, Failure> {
        let end = self.haft("server-1", &["fleet", "status", "--json"], false)?.wait(START, &self.stop)?;
        serde_json::from_str(&end.stdout).map_err(|error| failed("haft fleet status", &std::io::Error::other(error)))
    }
}

fn stopped() -> Failure {
    Failure::failed("cancelled", "the demo was stopped")
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    let help = "install PostgreSQL and nats-server (Debian: apt install postgresql nats-server) and setpriv (util-linux)";
    Failure::failed("execution_error", format!("{what} cannot be used: {error}")).help(help)
}

/// A server on a Unix socket in this folder.
fn start_database(folder: &Path, stop: &CancellationToken) -> Result<(DemoProcess, String), Failure> {
    let broken = |error: std::io::Error| failed("PostgreSQL", &error);
    fs::create_dir(folder).map_err(broken)?;
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(folder, Some(DATABASE_USER), Some(DATABASE_USER)).map_err(broken)?;
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(broken)?;
    let command = |program: &str| {
        let mut command = Command::new("setpriv");
        let user = DATABASE_USER.to_string();
        if is_root {
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
        }
        command.args(["--pdeathsig", "QUIT"]).arg(database_programs().join(program));
        command.current_dir(folder).env("HOME", folder).env("LC_ALL", "C").stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        command
    };
    let data = folder.join("data");
    let mut initdb = command("initdb");
    initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata"]).arg(&data);
    if !initdb.status().map_err(broken)?.success() {
        return Err(broken(std::io::Error::other("initdb failed")));
    }
    let mut server = command("postgres");
    server.arg("-D").arg(&data).arg("-k").arg(folder).args(["-p", "5432", "-c", "listen_addresses=", "-c", "fsync=off"]);
    let process = DemoProcess::start(server)?;
    let is_ready = || {
        let mut probe = Command::new(database_programs().join("pg_isready"));
        probe.args(["-q", "-p", "5432", "-h"]).arg(folder).status().is_ok_and(|status| status.success())
    };
    wait_for(is_ready, stop).map_err(broken)?;
    let host = folder.display().to_string().replace('/', "%2F");
    Ok((process, format!("postgres://postgres@{host}:5432/postgres")))
}

/// Where Debian and others put the programs of the server, which are not on the path.
fn database_programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    versions.filter(|folder| folder.join("postgres").exists()).max().unwrap_or_default()
}

fn start_queue(folder: &Path, stop: &CancellationToken) -> Result<(DemoProcess, String), Failure> {
    let broken = |error: std::io::Error| failed("nats-server", &error);
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(broken)?.port();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "nats-server", "-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(folder);
    command.env("PATH", format!("{path}:/usr/sbin:/usr/local/bin")).stdout(Stdio::null()).stderr(Stdio::null());
    let process = DemoProcess::start(command)?;
    wait_for(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok(), stop).map_err(broken)?;
    Ok((process, format!("nats://127.0.0.1:{port}")))
}

fn wait_for(is_ready: impl Fn() -> bool, stop: &CancellationToken) -> Result<(), std::io::Error> {
    let until = Instant::now() + START;
    while !is_ready() {
        if stop.is_cancelled() || Instant::now() > until {
            return Err(std::io::Error::other("it does not start"));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
