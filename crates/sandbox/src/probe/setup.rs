use std::fs::{self, DirBuilder};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::CommandLimits;
use serde::{Deserialize, Serialize};

use super::{Finding, ProbeOutcome};
use crate::command::ProcessSpec;
use crate::error::SandboxError;
use crate::launcher::Launcher;
use crate::policy::{SandboxPolicy, SocketAccess};

/// Paths, sockets and processes that the attempts target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProbeTarget {
    pub(super) workspace: PathBuf,
    pub(super) outside: PathBuf,
    pub(super) secret: PathBuf,
    /// Entries of the user's home, of the folder with all homes, and of private folders of the host.
    pub(super) home: Vec<PathBuf>,
    pub(super) homes: Vec<PathBuf>,
    pub(super) data: Vec<PathBuf>,
    pub(super) socket: PathBuf,
    pub(super) port: u16,
    /// The probing process and its start time: PIDs are reused, the pair is not.
    pub(super) host: u32,
    pub(super) host_start: String,
}

pub(super) const LIMITS: CommandLimits = CommandLimits {
    memory: Some(128 << 20),
    processes: Some(64),
    cpu_seconds: Some(20),
    file_size: Some(8 << 20),
    open_files: Some(64),
    tmp_size: Some(4 << 20),
};
pub(super) const EXISTING: &str = "protected";
/// Entries of a private folder that are looked for; they are passed as an argument.
const MOST_ENTRIES: usize = 200;
const SECRET: &str = "the secret of the probe";

/// A workspace, and around it what must stay out of reach; removed on drop.
#[derive(Debug)]
pub(super) struct ProbeSetup {
    folder: PathBuf,
    launcher: Launcher,
    target: ProbeTarget,
    tcp: TcpListener,
    unix: UnixListener,
}

impl ProbeSetup {
    /// `private` are folders of the host that no command may see.
    pub(super) fn new(launcher: &Launcher, private: &[PathBuf]) -> Result<Self, SandboxError> {
        let folder = make_folder()?;
        let failed = |error| SandboxError::io("prepare the probes in", &folder, error);
        let (workspace, outside, secret, socket) =
            (folder.join("workspace"), folder.join("outside"), folder.join("secret"), folder.join("outside/socket"));
        fs::create_dir_all(workspace.join(EXISTING)).and_then(|()| fs::create_dir(&outside)).map_err(failed)?;
        fs::write(&secret, SECRET).map_err(failed)?;
        let tcp = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let unix = UnixListener::bind(&socket).map_err(failed)?;
        tcp.set_nonblocking(true).and_then(|()| unix.set_nonblocking(true)).map_err(failed)?;
        let port = tcp.local_addr().map_err(failed)?.port();
        let host = std::process::id();
        // What leads to the launcher is in the view.
        let absent = |path: &PathBuf| !launcher.path().starts_with(path) && !folder.starts_with(path);
        let entries = |path: &Path| entries(path).into_iter().filter(absent).collect::<Vec<_>>();
        let target = ProbeTarget {
            home: std::env::home_dir().map(|home| entries(&home)).unwrap_or_default(),
            homes: entries(Path::new("/home")),
            data: private.iter().flat_map(|folder| entries(folder)).collect(),
            workspace,
            outside,
            secret,
            socket,
            port,
            host,
            host_start: start_time(host).unwrap_or_default(),
        };
        Ok(Self { folder, launcher: launcher.clone(), target, tcp, unix })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn policy(&self) -> SandboxPolicy {
        let ProbeTarget { workspace, outside, secret, socket, .. } = &self.target;
        SandboxPolicy {
            writable: vec![workspace.clone()],
            read_only: vec![outside.clone(), self.launcher.path().to_owned()],
            protected: vec![workspace.join(EXISTING)],
            masked: vec![secret.clone(), socket.clone()],
            limits: LIMITS,
            sockets: SocketAccess::Programs,
            ..SandboxPolicy::default()
        }
    }

    pub(super) fn command(&self, attempt: &str) -> ProcessSpec {
        let target = serde_json::to_string(&self.target).unwrap_or_default();
        ProcessSpec::new(self.launcher.path(), &self.target.workspace)
            .argument(crate::launcher::step::PROBE)
            .argument(attempt)
            .argument(target)
    }

    /// Checks from the host whether an attempt succeeded, independently of its own report.
    pub(super) fn observe_host(&self) -> Finding {
        let reached = self.tcp.accept().is_ok() || self.unix.accept().is_ok();
        let written =
            fs::read_dir(&self.target.outside).map_or(1, Iterator::count) != 1 || self.target.workspace.join(EXISTING).join("x").exists();
        let outcome = if reached || written { ProbeOutcome::Escaped } else { ProbeOutcome::Blocked };
        Finding::new("seen_from_outside", outcome, format!("connection arrived: {reached}, something was written: {written}"))
    }
}

impl Drop for ProbeSetup {
    fn drop(&mut self) {
        // In the folder for temporary files, which the system also cleans.
        fs::remove_dir_all(&self.folder).ok();
    }
}

fn make_folder() -> Result<PathBuf, SandboxError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("haft-probe-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let parent = std::env::temp_dir();
    let folder = parent.canonicalize().unwrap_or(parent).join(name);
    DirBuilder::new().mode(0o700).create(&folder).map_err(|error| SandboxError::io("prepare the probes in", &folder, error))?;
    Ok(folder)
}

/// Some entries of a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES).map(|entry| entry.path()).collect()
}

/// Start time of a process, in ticks since boot.
pub(super) fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}
