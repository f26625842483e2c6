use std::fs::{self, DirBuilder};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{Finding, Outcome};
use crate::command::Command;
use crate::error::SandboxError;
use crate::launcher::Launcher;
use crate::policy::{Limits, Policy};

/// What the attempts are made upon.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Target {
    pub(super) workspace: PathBuf,
    pub(super) outside: PathBuf,
    pub(super) secret: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) port: u16,
    /// The process that probes, and since when it runs: numbers of processes repeat, the two together do not.
    pub(super) host: u32,
    pub(super) host_since: String,
}

pub(super) const LIMITS: Limits = Limits {
    memory: Some(128 << 20),
    processes: Some(64),
    cpu_seconds: Some(20),
    file_size: Some(8 << 20),
    open_files: Some(64),
    tmp_size: 4 << 20,
};
pub(super) const EXISTING: &str = "protected";
pub(super) const MISSING: &str = "protected-missing";
const SECRET: &str = "the secret of the probe";

/// A workspace, and around it all that must stay out of reach. It goes when this is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    folder: PathBuf,
    launcher: Launcher,
    target: Target,
    tcp: TcpListener,
    unix: UnixListener,
}

impl Stage {
    pub(super) fn new(launcher: &Launcher) -> Result<Self, SandboxError> {
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
        let target = Target { workspace, outside, secret, socket, port, host, host_since: started(host).unwrap_or_default() };
        Ok(Self { folder, launcher: launcher.clone(), target, tcp, unix })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn policy(&self) -> Policy {
        let Target { workspace, outside, secret, .. } = &self.target;
        Policy {
            writable: vec![workspace.clone()],
            read_only: vec![outside.clone(), self.launcher.path().to_owned()],
            protected: vec![workspace.join(EXISTING), workspace.join(MISSING)],
            masked: vec![secret.clone()],
            limits: LIMITS,
            ..Policy::default()
        }
    }

    pub(super) fn command(&self, attempt: &str) -> Command {
        let target = serde_json::to_string(&self.target).unwrap_or_default();
        Command::new(self.launcher.path(), &self.target.workspace).argument(crate::launcher::PROBE).argument(attempt).argument(target)
    }

    /// The attempts may be wrong about themselves; what happened out here is not.
    pub(super) fn seen_from_outside(&self) -> Finding {
        let reached = self.tcp.accept().is_ok() || self.unix.accept().is_ok();
        let written =
            fs::read_dir(&self.target.outside).map_or(1, Iterator::count) != 1 || self.target.workspace.join(EXISTING).join("x").exists();
        let outcome = if reached || written { Outcome::Escaped } else { Outcome::Held };
        Finding::new("seen_from_outside", outcome, format!("connection arrived: {reached}, something was written: {written}"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // In the directory for temporary files, which is cleaned without us too.
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

/// When a process was started, in ticks since the machine was.
pub(super) fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}
