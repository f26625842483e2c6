//! The plugins that the user has looked at: a record of each, and a copy of its files under their fingerprint.
//!
//! ```text
//! <data>/plugins/approved.json
//!               /content/<fingerprint>/…     what runs
//! ```

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{PluginFault, PluginFiles, PluginManifest};

const FILE: &str = "approved.json";
const CONTENT: &str = "content";

/// Where a plugin came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "workspace")]
pub enum PluginOrigin {
    /// Added by the user: its copy counts, whatever becomes of the folder.
    User,
    /// Linked by the user: it runs only while the folder is as it was.
    Linked,
    /// Of this workspace, which the user trusted: it runs only there, and while the folder is as it was.
    Project(PathBuf),
}

impl PluginOrigin {
    /// The name in listings.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Linked => "link",
            Self::Project(_) => "project",
        }
    }

    /// Whether it counts in a workspace.
    pub(crate) fn counts_in(&self, workspace: Option<&Path>) -> bool {
        match self {
            Self::User | Self::Linked => true,
            Self::Project(own) => Some(own.as_path()) == workspace,
        }
    }
}

/// A plugin that the user has looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginRecord {
    /// The name of the plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The fingerprint of its files.
    pub fingerprint: String,
    /// The names of its tools, which stay known while it does not run.
    pub tools: Vec<String>,
    /// The folder that it was read from.
    pub source: PathBuf,
    /// Where it came from.
    pub origin: PluginOrigin,
}

impl PluginRecord {
    /// The record of these files, as read from a folder.
    pub fn new(files: &PluginFiles, manifest: &PluginManifest, source: &Path, origin: PluginOrigin) -> Self {
        Self {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            fingerprint: files.fingerprint(),
            tools: manifest.tools.iter().map(|tool| tool.name.clone()).collect(),
            source: source.to_owned(),
            origin,
        }
    }

    /// Whether another record takes the place of this one.
    fn is_same(&self, other: &Self) -> bool {
        let is_project = |record: &Self| matches!(record.origin, PluginOrigin::Project(_));
        self.name == other.name && is_project(self) == is_project(other) && (!is_project(self) || self.origin == other.origin)
    }
}

/// The plugins of a user.
#[derive(Debug, Clone)]
pub struct PluginStore {
    folder: PathBuf,
}

impl PluginStore {
    /// Those in a data folder, which need not exist.
    pub fn new(data_folder: &Path) -> Self {
        Self { folder: data_folder.join("plugins") }
    }

    /// The folder with the copy of these files.
    pub(crate) fn content(&self, fingerprint: &str) -> PathBuf {
        self.folder.join(CONTENT).join(fingerprint)
    }

    /// Every record, in the order in which they were added.
    pub fn records(&self) -> Result<Vec<PluginRecord>, PluginFault> {
        let file = self.folder.join(FILE);
        let broken = |why: String| PluginFault::new(format!("the list of plugins, {}, cannot be read: {why}", file.display()));
        match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(broken(error.to_string())),
        }
    }

    /// When the user looked at it: its copy is made then.
    pub fn approved_at(&self, record: &PluginRecord) -> Option<std::time::SystemTime> {
        self.content(&record.fingerprint).metadata().and_then(|folder| folder.modified()).ok()
    }

    /// Copies the files, and records that the user has looked at them. A record of the same name is replaced.
    pub fn approve(&self, files: &PluginFiles, record: PluginRecord) -> Result<(), PluginFault> {
        let failed = |error: io::Error| PluginFault::new(format!("the plugin cannot be stored in {}: {error}", self.folder.display()));
        self.copy(files, &record.fingerprint).map_err(failed)?;
        let mut records = self.records()?;
        match records.iter_mut().find(|known| known.is_same(&record)) {
            Some(known) => *known = record,
            None => records.push(record),
        }
        self.write(&records).map_err(failed)
    }

    /// Removes the records that are selected, and copies that no record needs; returns the removed ones.
    pub fn remove(&self, select: impl Fn(&PluginRecord) -> bool) -> Result<Vec<PluginRecord>, PluginFault> {
        let (removed, kept): (Vec<_>, Vec<_>) = self.records()?.into_iter().partition(select);
        if removed.is_empty() {
            return Ok(removed);
        }
        self.write(&kept).map_err(|error| PluginFault::new(format!("the list of plugins cannot be written: {error}")))?;
        Ok(removed)
    }

    /// The paths whose content differs from that of the copy of a record.
    pub fn differences(&self, files: &PluginFiles, before: &PluginRecord) -> Vec<String> {
        let before = PluginFiles::read(&self.content(&before.fingerprint)).unwrap_or_default();
        files.differences(&before)
    }

    /// A copy that is there already is written again: someone may have changed it.
    fn copy(&self, files: &PluginFiles, fingerprint: &str) -> io::Result<()> {
        let (content, draft) = (self.content(fingerprint), self.content(&format!(".draft-{}", std::process::id())));
        remove_tree(&draft)?;
        files.write(&draft)?;
        remove_tree(&content)?;
        fs::rename(&draft, &content)
    }

    fn write(&self, records: &[PluginRecord]) -> io::Result<()> {
        DirBuilder::new().mode(0o700).recursive(true).create(&self.folder)?;
        let (file, draft) = (self.folder.join(FILE), self.folder.join(format!("{FILE}.{}", std::process::id())));
        let text = serde_json::to_string_pretty(records)?;
        let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&draft, &file)?;
        self.remove_unused(records);
        Ok(())
    }

    /// Removes copies without a record. One that cannot be removed does no harm: nothing names it.
    fn remove_unused(&self, records: &[PluginRecord]) {
        let entries = fs::read_dir(self.folder.join(CONTENT)).into_iter().flatten().flatten();
        let is_unused = |name: &str| !name.starts_with('.') && records.iter().all(|record| record.fingerprint != name);
        entries.filter(|entry| entry.file_name().to_str().is_some_and(is_unused)).for_each(|entry| {
            remove_tree(&entry.path()).ok();
        });
    }
}

fn remove_tree(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
