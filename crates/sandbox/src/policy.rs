use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::overlay::Overlay;

/// What a command may touch. Everything else of the file system it can read, and nothing of it write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Directories (or files) it may change. They must exist.
    pub writable: Vec<PathBuf>,
    /// Paths it may read although they lie where the sandbox has its own: `/tmp`, `/var/tmp`, `/run`, `/dev/shm`.
    pub read_only: Vec<PathBuf>,
    /// Paths inside what is writable that it may not change, nor create where they are missing.
    pub protected: Vec<PathBuf>,
    /// Secrets: paths it may not even read.
    pub masked: Vec<PathBuf>,
    /// What it may connect to.
    pub network: Network,
    /// How much it may use.
    pub limits: Limits,
    /// The standard input is a terminal that is to be the command's own; for a sandbox that can give one.
    pub terminal: bool,
    /// Where its changes go, if what is writable is to stay as it is.
    pub overlay: Option<Overlay>,
}

impl Policy {
    /// For backends that cannot keep changes apart: a command that was to run so never runs on the real files instead.
    pub(crate) fn refuse_overlay(&self, backend: &'static str) -> Result<(), SandboxError> {
        if self.overlay.is_none() {
            return Ok(());
        }
        let remedy = "use bubblewrap, or run without an overlay (no dry run, exec.changes = \"direct\")";
        Err(SandboxError::unsupported(backend, "it cannot keep what a command changes apart from the real files", remedy))
    }
}

/// What a confined command may connect to. In no case does it reach a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Network {
    /// Nothing but itself.
    #[default]
    Off,
    /// A proxy of ours, which it finds at `127.0.0.1:port`.
    Proxy {
        /// Where the proxy listens on the host.
        socket: PathBuf,
        /// Where the command finds it.
        port: u16,
    },
    /// All that the host can reach.
    Host,
}

/// How much a confined command may use; `None` means that the machine's own limits stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory: of all processes together where there are control groups, of each elsewhere.
    pub memory: Option<u64>,
    /// Processes and threads at one time.
    pub processes: Option<u64>,
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of one file that is written.
    pub file_size: Option<u64>,
    /// Descriptors of each process.
    pub open_files: Option<u64>,
    /// Bytes of each of the private temporary directories.
    pub tmp_size: u64,
}

const GIB: u64 = 1 << 30;

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: Some(4 * GIB),
            processes: Some(1024),
            cpu_seconds: Some(3600),
            file_size: Some(8 * GIB),
            open_files: Some(4096),
            tmp_size: 2 * GIB,
        }
    }
}

/// Where people keep their keys: what `Policy::masked` should hold at least.
pub fn usual_secrets(home: &Path) -> Vec<PathBuf> {
    const AT_HOME: &[&str] = &[
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".config/gcloud",
        ".config/gh",
        ".config/hub",
        ".docker/config.json",
        ".local/share/keyrings",
        ".password-store",
        ".netrc",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".cargo/credentials.toml",
        ".cargo/credentials",
        ".mozilla",
        ".config/google-chrome",
        ".config/chromium",
    ];
    const OF_THE_MACHINE: &[&str] = &["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private"];
    let mut paths: Vec<PathBuf> = AT_HOME.iter().map(|name| home.join(name)).collect();
    paths.extend(OF_THE_MACHINE.iter().map(PathBuf::from));
    paths
}
