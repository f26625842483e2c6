use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_contract::{CommandLimits, FileIdentity};
use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::overlay::{Overlay, OverlayLayer};
use crate::session_network::NetworkNamespace;

/// What a command may access, besides the folders of the system, which it can read. Everything else is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Directories (or files) it may change. They must exist.
    pub writable: Vec<PathBuf>,
    /// Paths it may read.
    pub read_only: Vec<PathBuf>,
    /// Existing paths inside writable ones that it may not change. A missing one is not reserved.
    pub protected: Vec<PathBuf>,
    /// Secrets: paths it may not even read.
    pub masked: Vec<PathBuf>,
    /// Paths above which no folder of a writable root may be renamed or removed: rules know them by their place.
    pub pinned: Vec<PathBuf>,
    /// What was found at roots, masked and protected paths and lower layers of overlays. If something else is there when they are
    /// mounted, the command does not run. Of other paths, those that are missing then are left out.
    pub identities: BTreeMap<PathBuf, FileIdentity>,
    /// A FIFO that is told when everything is mounted, right before the command starts; by the launcher alone.
    pub setup_report: Option<PathBuf>,
    /// Network access.
    pub network: NetworkAccess,
    /// Resource limits.
    pub limits: CommandLimits,
    /// Standard input is a terminal, which becomes the controlling terminal of the command, if the backend supports it.
    pub terminal: bool,
    /// Where its file changes go, if the writable paths must stay unchanged.
    pub overlay: Option<Overlay>,
    /// Further overlays, each for a folder of its own, such as `.git`.
    pub layers: Vec<OverlayLayer>,
    /// Its home, temporary folders and toolchains, for backends that can mount them.
    pub view: SandboxView,
    /// The socket at which the host is asked to remove repositories, for backends that mount them.
    pub removals: Option<PathBuf>,
    /// The network namespace that it shares with other commands; without, it has its own. Not with `NetworkAccess::Host`.
    pub shared_network: Option<NetworkNamespace>,
    /// Which sockets it may make besides TCP.
    pub sockets: SocketAccess,
}

impl Default for SandboxPolicy {
    /// No access beyond reading, with [`CommandLimits::STANDARD`].
    fn default() -> Self {
        Self {
            writable: Vec::new(),
            read_only: Vec::new(),
            protected: Vec::new(),
            masked: Vec::new(),
            pinned: Vec::new(),
            identities: BTreeMap::new(),
            setup_report: None,
            network: NetworkAccess::default(),
            limits: CommandLimits::STANDARD,
            terminal: false,
            overlay: None,
            layers: Vec::new(),
            view: SandboxView::default(),
            removals: None,
            shared_network: None,
            sockets: SocketAccess::default(),
        }
    }
}

/// Sockets besides TCP, where the command has a network of its own. A Unix socket in a shared folder may lead out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SocketAccess {
    /// None.
    #[default]
    Tcp,
    /// Unix sockets: for a program that sees no file of the user.
    Unix,
    /// What programs use among themselves: UDP, Unix sockets, questions about interfaces, and debuggers. Sockets of other programs
    /// that lie in folders of the system are hidden; those in the roots must be `masked`.
    Programs,
}

/// The private part of what a command sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxView {
    /// Its home folder, which it may change.
    pub home: Option<Bind>,
    /// Folder on the host with its `/tmp` and `/var/tmp`, which stay after the run; without, both are in memory and end with it.
    pub tmp: Option<PathBuf>,
    /// Read-only files and folders besides the roots: toolchains, generated settings.
    pub read_only: Vec<Bind>,
}

/// A file or folder of the host, and the path where a command sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// On the host.
    pub source: PathBuf,
    /// In the sandbox.
    pub at: PathBuf,
}

impl Bind {
    /// At its own path.
    pub fn same(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { source: path.clone(), at: path }
    }
}

impl SandboxPolicy {
    /// Bytes of each private temporary directory.
    pub(crate) fn tmp_size(&self) -> u64 {
        self.limits.tmp_size.or(CommandLimits::STANDARD.tmp_size).unwrap_or_default()
    }
    /// Protected paths for backends without overlays: what would be an overlay must not change at all.
    pub(crate) fn protected_without_layers(&self) -> impl Iterator<Item = &PathBuf> {
        self.protected.iter().chain(self.layers.iter().filter(|layer| !layer.is_cache()).map(|layer| &layer.lower))
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
