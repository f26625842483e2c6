//! Trusted project files: each folder is bound to the content of its file.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::open_blobs;
use crate::failure::Failure;

const FILE: &str = "trusted.json";

/// Trusted folders with the fingerprints of their files.
#[derive(Debug, Default)]
pub(crate) struct TrustedFolders {
    file: PathBuf,
    folders: BTreeMap<String, TrustedFolder>,
}

/// What is trusted of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredTrust")]
pub(crate) struct TrustedFolder {
    /// Of the project's file and of what its hooks name; empty for a folder without a file.
    pub(crate) fingerprint: String,
    /// In seconds since 1970; lists of earlier versions do not say it.
    pub(crate) since: Option<u64>,
}

/// Earlier versions stored the fingerprint alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredTrust {
    Fingerprint(String),
    Dated { fingerprint: String, since: Option<u64> },
}

impl From<StoredTrust> for TrustedFolder {
    fn from(stored: StoredTrust) -> Self {
        match stored {
            StoredTrust::Fingerprint(fingerprint) => Self { fingerprint, since: None },
            StoredTrust::Dated { fingerprint, since } => Self { fingerprint, since },
        }
    }
}

impl TrustedFolders {
    /// Reads the list.
    pub(crate) fn read(data_folder: &Path) -> Result<Self, Failure> {
        let file = data_folder.join(FILE);
        let folders = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| broken(&file, &error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(broken(&file, &error.to_string())),
        };
        Ok(Self { file, folders })
    }

    /// Whether this content of the folder's file is trusted.
    pub(crate) fn contains(&self, workspace: &Path, fingerprint: &str) -> bool {
        self.folders.get(&key(workspace)).is_some_and(|known| known.fingerprint == fingerprint)
    }

    /// Whether the user trusted a file of this folder once, whatever it holds now.
    pub(crate) fn knows(&self, workspace: &Path) -> bool {
        self.folders.contains_key(&key(workspace))
    }

    /// Each folder, as its path is written in the list.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &TrustedFolder)> {
        self.folders.iter().map(|(folder, trust)| (folder.as_str(), trust))
    }

    pub(crate) fn add(&mut self, workspace: &Path, fingerprint: String, now: SystemTime) -> Result<(), Failure> {
        let since = now.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
        self.folders.insert(key(workspace), TrustedFolder { fingerprint, since });
        self.write()
    }

    /// Revokes the trust; false if there was none.
    pub(crate) fn remove(&mut self, workspace: &Path) -> Result<bool, Failure> {
        let removed = self.folders.remove(&key(workspace)).is_some();
        self.write()?;
        Ok(removed)
    }

    /// A path as it is written in the list.
    pub(crate) fn name_of(workspace: &Path) -> String {
        key(workspace)
    }

    /// Revokes the trust in a folder that is named as in the list. Without such a folder nothing is written.
    pub(crate) fn remove_known(&mut self, folder: &str) -> Result<bool, Failure> {
        let removed = self.folders.remove(folder).is_some();
        if removed {
            self.write()?;
        }
        Ok(removed)
    }

    /// Writes a temporary file and renames it. Opening the blobs creates the folder with private permissions.
    fn write(&self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::failed("execution_error", format!("{}: {error}", self.file.display()));
        if let Some(folder) = self.file.parent() {
            open_blobs(folder, None)?;
        }
        let draft = self.file.with_extension(format!("json.{}", std::process::id()));
        let mut out = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft).map_err(failed)?;
        let text = serde_json::to_string_pretty(&self.folders).unwrap_or_default();
        out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).and_then(|()| std::fs::rename(&draft, &self.file)).map_err(failed)
    }
}

/// Escaped, so that paths that are not UTF-8 stay distinct.
fn key(workspace: &Path) -> String {
    workspace.as_os_str().as_encoded_bytes().escape_ascii().to_string()
}

fn broken(file: &Path, why: &str) -> Failure {
    Failure::config(format!("the list of trusted folders, {}, cannot be read: {why}", file.display()))
        .help("move it away, and trust the folders again with `haft trust`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_bound_to_the_folder_and_the_content() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("deep");
        let mut trusted = TrustedFolders::read(&folder).unwrap();
        trusted.add(Path::new("/a"), "1".into(), UNIX_EPOCH + std::time::Duration::from_secs(7)).unwrap();
        let mut again = TrustedFolders::read(&folder).unwrap();
        let contained = |trusted: &TrustedFolders| {
            [("/a", "1"), ("/a", "2"), ("/b", "1")].map(|(path, print)| trusted.contains(Path::new(path), print))
        };
        assert_eq!(contained(&again), [true, false, false]);
        let dated = TrustedFolder { fingerprint: "1".into(), since: Some(7) };
        assert_eq!(again.entries().collect::<Vec<_>>(), [("/a", &dated)]);
        assert!(again.remove(Path::new("/a")).unwrap() && !again.remove(Path::new("/a")).unwrap());
        assert_eq!(contained(&TrustedFolders::read(&folder).unwrap()), [false; 3]);
    }

    #[test]
    fn list_of_an_earlier_version_is_read() {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join(FILE), r#"{"/a": "1"}"#).unwrap();
        let trusted = TrustedFolders::read(data.path()).unwrap();
        assert!(trusted.contains(Path::new("/a"), "1"));
        assert_eq!(trusted.entries().next(), Some(("/a", &TrustedFolder { fingerprint: "1".into(), since: None })));
    }

    #[test]
    fn broken_trust_list_is_an_error() {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join(FILE), "{").unwrap();
        let message = format!("{:?}", TrustedFolders::read(data.path()).unwrap_err());
        assert!(message.contains("trusted.json, cannot be read"), "{message}");
    }
}
