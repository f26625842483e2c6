//! The file in which tokens survive a restart: hashes alone, so that a reader of it can sign in nowhere.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Scope;

/// A larger file is none of ours.
const MOST_BYTES: u64 = 1 << 20;

/// A token as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredToken {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) scopes: Vec<Scope>,
    pub(super) parent: Option<u64>,
    /// The user of a tenant whose token it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    pub(super) created: String,
    pub(super) last_used: Option<String>,
    /// In hexadecimal.
    pub(super) secrets: Vec<String>,
    pub(super) link: Option<String>,
}

/// The tokens of the servers of one workspace, one server at a time.
#[derive(Debug)]
pub(crate) struct TokenFile {
    path: PathBuf,
    /// Keeps other servers of the workspace out: each would overwrite the tokens of the other.
    _lock: File,
}

impl TokenFile {
    /// Opens the file with this path; `None` if another server uses it.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let lock = File::options().write(true).create(true).truncate(false).mode(0o600).open(path.with_extension("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { path: path.to_owned(), _lock: lock })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// What it has; nothing if it is missing.
    pub(super) fn read(&self) -> io::Result<Vec<StoredToken>> {
        let size = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            metadata => metadata?.len(),
        };
        if size > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(serde_json::from_slice(&fs::read(&self.path)?)?)
    }

    /// Replaces what it has, durably: a token that was revoked must not come back.
    pub(super) fn write(&self, tokens: &[StoredToken]) -> io::Result<()> {
        let temporary = self.path.with_extension("new");
        fs::remove_file(&temporary).ok();
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(&serde_json::to_vec(tokens)?)?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn file_is_private_belongs_to_one_server_and_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway/tokens.json");
        let file = TokenFile::open(&path).unwrap().unwrap();
        assert!(TokenFile::open(&path).unwrap().is_none() && file.read().unwrap().is_empty());
        let token = StoredToken {
            id: 3,
            name: "phone".into(),
            scopes: vec![Scope::View],
            parent: None,
            user: None,
            created: "2026-11-17T10:00:00Z".into(),
            last_used: None,
            secrets: vec!["00".into()],
            link: None,
        };
        file.write(std::slice::from_ref(&token)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(file);
        assert_eq!(TokenFile::open(&path).unwrap().unwrap().read().unwrap(), [token]);
        fs::write(&path, "not json").unwrap();
        assert!(TokenFile::open(&path).unwrap().unwrap().read().is_err());
    }
}
