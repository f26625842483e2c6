//! The file that keeps a sign-in: who we are for the authorization server, and what the user has granted.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::challenge::AuthChallenge;
use super::registration::StoredClient;
use crate::client::record;
use crate::client::settings::ServerSettings;

/// The form of the file; another is not read.
const VERSION: u32 = 1;
/// A larger file is not one of ours.
const MAX_BYTES: u64 = 256 * 1024;
/// How long another process may hold the file.
const LOCK_TIME: Duration = Duration::from_secs(30);
const LOCK_POLL: Duration = Duration::from_millis(50);
/// A token that ends sooner is renewed before it is used.
const MARGIN: u64 = 30;

/// What the user has granted. Holds secrets.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct TokenGrant {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) resource: String,
    pub(super) client: StoredClient,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// The rights that were asked for.
    pub(super) scopes: Vec<String>,
}

haft_contract::opaque_debug!(TokenGrant: issuer = issuer, scopes = scopes);

impl TokenGrant {
    pub(super) fn has_expired(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= now() + MARGIN)
    }
}

/// What is kept of a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct StoredSignIn {
    version: u32,
    /// The client that was registered for us.
    pub(super) client: Option<StoredClient>,
    pub(super) grant: Option<TokenGrant>,
    /// What the last refusal asked for.
    pub(super) challenge: Option<AuthChallenge>,
    /// How often more rights were granted since the first sign-in.
    pub(super) step_ups: u32,
}

/// Where the sign-in of a server is kept.
#[derive(Debug, Clone)]
pub(super) struct SignInFile {
    path: PathBuf,
}

impl SignInFile {
    pub(super) fn new(data_folder: &Path, server: &ServerSettings) -> Self {
        Self { path: record::path(data_folder, server).with_extension("oauth") }
    }

    /// What is kept; nothing if there is no file, or none that can be read.
    pub(super) fn read(&self) -> StoredSignIn {
        let is_small = self.path.metadata().is_ok_and(|metadata| metadata.len() <= MAX_BYTES);
        let bytes = if is_small { std::fs::read(&self.path).unwrap_or_default() } else { Vec::new() };
        let stored: StoredSignIn = serde_json::from_slice(&bytes).unwrap_or_default();
        if stored.version == VERSION { stored } else { StoredSignIn::default() }
    }

    pub(super) fn write(&self, mut stored: StoredSignIn) -> Result<(), String> {
        stored.version = VERSION;
        let written = serde_json::to_vec(&stored).map_err(Into::into).and_then(|bytes| record::replace_private(&self.path, &bytes));
        written.map_err(|error: std::io::Error| format!("the sign-in cannot be stored: {error}"))
    }

    /// Changes what is kept, while no other process does.
    pub(super) async fn update(&self, change: impl FnOnce(&mut StoredSignIn)) -> Result<(), String> {
        let _lock = self.lock().await?;
        let mut stored = self.read();
        change(&mut stored);
        self.write(stored)
    }

    /// Removes it; says whether there was one.
    pub(super) fn remove(&self) -> Result<bool, String> {
        drop(std::fs::remove_file(self.lock_path()));
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(format!("the sign-in cannot be removed: {error}")),
        }
    }

    /// Waits until no other process uses the file. A token to renew with can often be used only once.
    pub(super) async fn lock(&self) -> Result<File, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the file of the sign-in cannot be locked: {error}");
        if let Some(folder) = self.path.parent().and_then(Path::parent) {
            record::make_folder(folder).map_err(|error| failed(&error))?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.lock_path()).map_err(|error| failed(&error))?;
        let tries = LOCK_TIME.as_millis() / LOCK_POLL.as_millis();
        for _ in 0..tries {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL).await,
                Err(std::fs::TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
        Err(failed(&"another process holds it"))
    }

    fn lock_path(&self) -> PathBuf {
        self.path.with_extension("oauth-lock")
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
