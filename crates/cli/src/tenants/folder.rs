//! The folders of tenants, beneath the data folder of the operator.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_text::display;

use super::TenantRecord;
use crate::failure::Failure;

/// The folder of all of them.
const FOLDER: &str = "tenants";
/// The longest name: it is part of the path of a socket.
const MOST_NAME: usize = 32;

/// All tenants of an operator.
#[derive(Debug, Clone)]
pub(crate) struct TenantsFolder(PathBuf);

/// The folder of one.
#[derive(Debug, Clone)]
pub(crate) struct TenantFolder(PathBuf);

impl TenantsFolder {
    /// Those of this data folder.
    pub(crate) fn new(data_folder: &Path) -> Self {
        Self(data_folder.join(FOLDER))
    }

    /// All tenants, by name.
    pub(crate) fn list(&self) -> Vec<TenantFolder> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| TenantFolder(entry.path()));
        let mut found: Vec<TenantFolder> = entries.filter(TenantFolder::exists).collect();
        found.sort_by_key(TenantFolder::name);
        found
    }

    /// When a tenant was added or removed.
    pub(crate) fn changed(&self) -> Option<SystemTime> {
        self.0.metadata().and_then(|facts| facts.modified()).ok()
    }

    /// One that there is.
    pub(crate) fn find(&self, name: &str) -> Result<TenantFolder, Failure> {
        let tenant = self.folder_for(name)?;
        if tenant.exists() {
            return Ok(tenant);
        }
        let names: Vec<String> = self.list().iter().map(TenantFolder::name).collect();
        let near = haft_text::suggest::nearest(name, names.iter().map(String::as_str));
        let help = near.first().map_or_else(
            || format!("`haft tenants list` shows them, and `haft tenants add {name}` makes it"),
            |near| format!("did you mean '{near}'?"),
        );
        Err(Failure::failed("not_found", format!("there is no tenant '{name}'")).help(help))
    }

    /// The folder for a name, whether it is there or not.
    pub(crate) fn folder_for(&self, name: &str) -> Result<TenantFolder, Failure> {
        let is_plain = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit();
        let is_name = name.len() <= MOST_NAME && name.starts_with(is_plain) && name.chars().all(|ch| is_plain(ch) || ch == '-');
        if is_name {
            return Ok(TenantFolder(self.0.join(name)));
        }
        Err(Failure::usage(format!("'{}' is no name of a tenant", display::escape_line(name)))
            .help(format!("use lower-case letters, digits and '-', at most {MOST_NAME}, and begin with a letter or a digit")))
    }

    /// Keeps other commands from changing tenants until the file is closed.
    pub(crate) fn lock(&self) -> Result<File, Failure> {
        let file = self.lock_file("lock")?;
        file.lock().map_err(|error| failed(&self.0, &error))?;
        Ok(file)
    }

    /// For the one server that serves them; `None` if there is one already.
    pub(crate) fn serve(&self) -> Result<Option<File>, Failure> {
        let file = self.lock_file("serving")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(failed(&self.0, &error)),
        }
    }

    fn lock_file(&self, name: &str) -> Result<File, Failure> {
        make_private(&self.0)?;
        let path = self.0.join(format!(".{name}"));
        let opened = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path);
        opened.map_err(|error| failed(&path, &error))
    }
}

impl TenantFolder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The folder of a tenant of this name on a worker. The name becomes part of a path.
    #[cfg(feature = "postgres")]
    pub(crate) fn beneath(folder: &Path, name: &str) -> Result<Self, Failure> {
        TenantsFolder(folder.to_owned()).folder_for(name)
    }

    pub(crate) fn name(&self) -> String {
        self.0.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Whether it is a tenant: its record is written last, and removed first.
    pub(crate) fn exists(&self) -> bool {
        self.record_file().is_file()
    }

    pub(crate) fn record_file(&self) -> PathBuf {
        self.0.join("tenant.json")
    }

    /// The data folder of its process.
    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// The home folder of its process: nothing of the operator's is in it.
    pub(crate) fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    /// The workspace, if the operator names no other.
    pub(crate) fn own_workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    /// Where its process listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("http.sock")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn record(&self) -> Result<TenantRecord, Failure> {
        let path = self.record_file();
        let bytes = fs::read(&path).map_err(|error| failed(&path, &error))?;
        serde_json::from_slice(&bytes).map_err(|error| failed(&path, &error.into()))
    }

    /// Makes the folders that are missing.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        for folder in [self.0.clone(), self.state(), self.home()] {
            make_private(&folder)?;
        }
        Ok(())
    }

    /// Replaces the record as a whole.
    pub(crate) fn write(&self, record: &TenantRecord) -> Result<(), Failure> {
        let (path, temporary) = (self.record_file(), self.0.join("tenant.new"));
        let write = || {
            fs::remove_file(&temporary).ok();
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(&serde_json::to_vec_pretty(record)?)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error| failed(&path, &error))
    }

    /// Removes everything of it: from then on nobody is let in.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        fs::remove_file(self.record_file()).map_err(|error| failed(&self.record_file(), &error))?;
        fs::remove_dir_all(&self.0).map_err(|error| failed(&self.0, &error))
    }
}

/// Makes a folder that nobody else reads.
pub(crate) fn make_private(folder: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed(folder, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed("execution_error", format!("{} cannot be used: {error}", path.display()))
}
