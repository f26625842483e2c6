//! Trusted project files: each folder is bound to the content of its file.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::open_blobs;
use crate::failure::Failure;

const FILE: &str = "trusted.json";

/// Trusted folders with the fingerprints of their files.
#[derive(Debug, Default)]
pub(crate) struct TrustedFolders {
    file: PathBuf,
    folders: BTreeMap<String, String>,
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
        self.folders.get(&key(workspace)).is_some_and(|known| known == fingerprint)
    }

    /// Whether the user trusted a file of this folder once, whatever it holds now.
    pub(crate) fn knows(&self, workspace: &Path) -> bool {
        self.folders.contains_key(&key(workspace))
    }

    pub(crate) fn add(&mut self, workspace: &Path, fingerprint: String) -> Result<(), Failure> {
        self.folders.insert(key(workspace), fingerprint);
        self.write()
    }

    /// Revokes the trust; false if there was none.
    pub(crate) fn remove(&mut self, workspace: &Path) -> Result<bool, Failure> {
        let removed = self.folders.remove(&key(workspace)).is_some();
        self.write()?;
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
        trusted.add(Path::new("/a"), "1".into()).unwrap();
        let mut again = TrustedFolders::read(&folder).unwrap();
        let contained = |trusted: &TrustedFolders| {
            [("/a", "1"), ("/a", "2"), ("/b", "1")].map(|(path, print)| trusted.contains(Path::new(path), print))
        };
        assert_eq!(contained(&again), [true, false, false]);
        assert!(again.remove(Path::new("/a")).unwrap() && !again.remove(Path::new("/a")).unwrap());
        assert_eq!(contained(&TrustedFolders::read(&folder).unwrap()), [false; 3]);
    }

    #[test]
    fn broken_trust_list_is_an_error() {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join(FILE), "{").unwrap();
        let message = format!("{:?}", TrustedFolders::read(data.path()).unwrap_err());
        assert!(message.contains("trusted.json, cannot be read"), "{message}");
    }
}
