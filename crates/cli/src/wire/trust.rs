//! Which project files the person trusts: folder by folder, each bound to the file's content.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::open_blobs;
use crate::failure::Failure;

const FILE: &str = "trusted.json";

/// The folders that are trusted, with the fingerprint of the file that was seen.
#[derive(Debug, Default)]
pub(crate) struct Trusted {
    file: PathBuf,
    folders: BTreeMap<String, String>,
}

impl Trusted {
    /// Reads what was trusted. A list that cannot be read trusts nothing, and says so when it is to be changed.
    pub(crate) fn read(data_folder: &Path) -> Result<Self, Failure> {
        let file = data_folder.join(FILE);
        let folders = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| broken(&file, &error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(broken(&file, &error.to_string())),
        };
        Ok(Self { file, folders })
    }

    /// Whether this very file of this folder is trusted.
    pub(crate) fn holds(&self, workspace: &Path, fingerprint: &str) -> bool {
        self.folders.get(&key(workspace)).is_some_and(|known| known == fingerprint)
    }

    pub(crate) fn add(&mut self, workspace: &Path, fingerprint: String) -> Result<(), Failure> {
        self.folders.insert(key(workspace), fingerprint);
        self.write()
    }

    /// Takes the trust back; says whether there was any.
    pub(crate) fn remove(&mut self, workspace: &Path) -> Result<bool, Failure> {
        let there = self.folders.remove(&key(workspace)).is_some();
        self.write()?;
        Ok(there)
    }

    /// Beside, then in place: whoever reads it sees the old list or the new one. The folder is made and judged as by all
    /// others that write there.
    fn write(&self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::failed("execution_error", format!("{}: {error}", self.file.display()));
        if let Some(folder) = self.file.parent() {
            open_blobs(folder)?;
        }
        let draft = self.file.with_extension(format!("json.{}", std::process::id()));
        let mut out = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft).map_err(failed)?;
        let text = serde_json::to_string_pretty(&self.folders).unwrap_or_default();
        out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).and_then(|()| std::fs::rename(&draft, &self.file)).map_err(failed)
    }
}

/// Paths that are not UTF-8 must not be taken for one another.
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
        let mut trusted = Trusted::read(&folder).unwrap();
        trusted.add(Path::new("/a"), "1".into()).unwrap();
        let mut again = Trusted::read(&folder).unwrap();
        let held = |trusted: &Trusted| [("/a", "1"), ("/a", "2"), ("/b", "1")].map(|(path, print)| trusted.holds(Path::new(path), print));
        assert_eq!(held(&again), [true, false, false]);
        assert!(again.remove(Path::new("/a")).unwrap() && !again.remove(Path::new("/a")).unwrap());
        assert_eq!(held(&Trusted::read(&folder).unwrap()), [false; 3]);
    }

    #[test]
    fn a_broken_list_is_not_taken_for_an_empty_one() {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join(FILE), "{").unwrap();
        let message = format!("{:?}", Trusted::read(data.path()).unwrap_err());
        assert!(message.contains("trusted.json, cannot be read"), "{message}");
    }
}
