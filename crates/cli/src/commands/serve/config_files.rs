//! The files of the configuration: whether another program has changed one.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::wire::{self, Wire};

/// What tells two states of a file apart; `None` if there is no file.
type FileFacts = Option<(u64, u64, i64, i64, u64)>;

/// The files that a configuration was read from, as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigFiles(Vec<(PathBuf, FileFacts)>);

impl ConfigFiles {
    /// The files of a configuration, as they are now.
    pub(super) fn read(wire: &Wire) -> Self {
        let settings = &wire.settings;
        let project = settings.workspace.join(".haft/config.toml");
        let named = || wire::config_file(&settings.common);
        let own = wire.own_file().ok().or_else(named).or_else(|| wire::user_file().ok());
        let tenant = crate::tenants::current().map(crate::tenants::TenantFolder::record_file);
        let paths = own.into_iter().chain([project, settings.data_folder.join("trusted.json")]).chain(tenant);
        Self(paths.map(|path| (path.clone(), facts(&path))).collect())
    }

    /// The same files, as they are now.
    pub(super) fn now(&self) -> Self {
        Self(self.0.iter().map(|(path, _)| (path.clone(), facts(path))).collect())
    }

    pub(super) fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, before)| facts(path) != *before)
    }
}

fn facts(path: &Path) -> FileFacts {
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_creation_and_removal_of_a_file_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let mut files = ConfigFiles(vec![(path.clone(), None)]);
        let mut step = |change: &dyn Fn()| {
            change();
            let (changed, now) = (files.have_changed(), files.now());
            files = now;
            changed
        };
        assert!(!step(&|| {}));
        assert!(step(&|| std::fs::write(&path, "a").unwrap()));
        assert!(!step(&|| {}));
        assert!(step(&|| std::fs::write(&path, "ab").unwrap()));
        assert!(step(&|| std::fs::remove_file(&path).unwrap()));
    }
}
