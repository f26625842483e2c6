use std::path::{Path, PathBuf};

use haft_contract::CommandLimits;
use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::overlay::Overlay;

/// What a command may access. It can read the rest of the file system, and write nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Directories (or files) it may change. They must exist.
    pub writable: Vec<PathBuf>,
    /// Paths it may read inside folders that are private in the sandbox: `/tmp`, `/var/tmp`, `/run`, `/dev/shm`.
    pub read_only: Vec<PathBuf>,
    /// Paths inside writable ones that it may neither change nor create.
    pub protected: Vec<PathBuf>,
    /// Secrets: paths it may not even read.
    pub masked: Vec<PathBuf>,
    /// Network access.
    pub network: NetworkAccess,
    /// Resource limits.
    pub limits: CommandLimits,
    /// Standard input is a terminal, which becomes the controlling terminal of the command, if the backend supports it.
    pub terminal: bool,
    /// Where its file changes go, if the writable paths must stay unchanged.
    pub overlay: Option<Overlay>,
}

impl Default for SandboxPolicy {
    /// No access beyond reading, with [`CommandLimits::STANDARD`].
    fn default() -> Self {
        Self {
            writable: Vec::new(),
            read_only: Vec::new(),
            protected: Vec::new(),
            masked: Vec::new(),
            network: NetworkAccess::default(),
            limits: CommandLimits::STANDARD,
            terminal: false,
            overlay: None,
        }
    }
}

impl SandboxPolicy {
    /// Bytes of each private temporary directory.
    pub(crate) fn tmp_size(&self) -> u64 {
        self.limits.tmp_size.or(CommandLimits::STANDARD.tmp_size).unwrap_or_default()
    }
    /// For backends without overlays: a command with staged changes never runs on the real files instead.
    pub(crate) fn refuse_overlay(&self, backend: &'static str) -> Result<(), SandboxError> {
        if self.overlay.is_none() {
            return Ok(());
        }
        let remedy = "use bubblewrap, or run without an overlay (no dry run, exec.changes = \"direct\")";
        Err(SandboxError::unsupported(backend, "it has no overlay for staged changes", remedy))
    }
}

/// Network access of a confined command. It never includes Unix sockets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum NetworkAccess {
    /// Only itself.
    #[default]
    Off,
    /// Our proxy, at `127.0.0.1:port`.
    Proxy {
        /// Socket of the proxy on the host.
        socket: PathBuf,
        /// Port inside the sandbox.
        port: u16,
    },
    /// Everything that the host can reach.
    Host,
}

/// Usual paths of credentials, for `SandboxPolicy::masked`.
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
    const SYSTEM: &[&str] = &["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private"];
    let mut paths: Vec<PathBuf> = AT_HOME.iter().map(|name| home.join(name)).collect();
    paths.extend(SYSTEM.iter().map(PathBuf::from));
    paths
}
