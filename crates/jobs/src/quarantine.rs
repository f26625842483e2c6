//! Quarantine: what a command wrote and may not stay where it was, kept until the user restores or removes it.
//!
//! Each entry has a private folder with a record and the entry itself, which no program finds by its name there.

mod guard;
mod moving;
mod restore;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::{EntryKind, QuarantineRecord, RetentionLimit};
use ring::rand::{SecureRandom, SystemRandom};

pub(crate) use self::guard::{FolderCache, Guard, WalkExtent, find_existing};
pub use self::restore::RestoreError;
use crate::CommandRetention;
use crate::changes::{remove_folder, write_private};
use crate::git::Tree;

/// Above this, the oldest are removed.
const MAX_ENTRIES: usize = 256;
const RECORD: &str = "record.json";
const ENTRY: &str = "entry";
const ID_PREFIX: &str = "q-";

/// The run whose changes are refused.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The session of the command.
    pub session: String,
    /// The id of the call.
    pub call: Option<String>,
    /// The command.
    pub command: String,
}

/// The entries in quarantine, in a private folder outside every workspace.
#[derive(Debug, Clone)]
pub struct Quarantine {
    folder: PathBuf,
    retention: RetentionLimit,
}

impl Quarantine {
    /// In this folder, which is created with the first entry.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), retention: CommandRetention::STANDARD.quarantine }
    }

    /// With other limits on how long entries stay.
    #[must_use]
    pub fn with_retention(self, retention: RetentionLimit) -> Self {
        Self { retention, ..self }
    }

    /// The folder of an entry.
    pub(crate) fn folder_of(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// The folder that holds this one: Haft's data.
    pub(crate) fn data_folder(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// Moves an entry here, without following a link on the way to it, and returns its id.
    pub fn put(&self, path: &Path, why: &str, origin: &Origin) -> io::Result<String> {
        let relative = path.strip_prefix("/").map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.put_from(&Tree::open(Path::new("/"))?, relative, path, why, origin)
    }

    /// Moves an entry of a tree here, which was or would have been at `path`.
    pub(crate) fn put_from(&self, tree: &Tree, entry: &Path, path: &Path, why: &str, origin: &Origin) -> io::Result<String> {
        let metadata = tree.entry(entry)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let (id, folder) = self.make_folder()?;
        let stored = self.store_record(&id, &metadata, path, why, origin);
        let moved = stored.and_then(|()| moving::move_entry(tree, entry, &Tree::open(&folder)?, Path::new(ENTRY)));
        match moved.and_then(|()| moving::close(&folder.join(ENTRY))) {
            Ok(()) => Ok(id),
            Err(error) => {
                // A half copy is no entry; the original is still where it was, unless it was moved whole.
                if tree.entry(entry).is_ok_and(|still| still.is_some()) {
                    remove_folder(&folder);
                }
                Err(error)
            }
        }
    }

    fn store_record(&self, id: &str, metadata: &fs::Metadata, path: &Path, why: &str, origin: &Origin) -> io::Result<()> {
        let Origin { session, call, command } = origin.clone();
        let entry = match metadata.file_type() {
            kind if kind.is_dir() => EntryKind::Directory,
            kind if kind.is_symlink() => EntryKind::Link,
            kind if kind.is_file() => EntryKind::File,
            _ => EntryKind::Special,
        };
        let record = QuarantineRecord {
            id: id.to_owned(),
            path: path.to_owned(),
            entry,
            mode: metadata.mode() & 0o777,
            size: if metadata.is_file() { metadata.len() } else { 0 },
            why: why.to_owned(),
            session,
            call,
            command,
            made: SystemTime::now(),
        };
        write_private(&self.folder.join(id).join(RECORD), &serde_json::to_vec(&record)?)
    }

    fn make_folder(&self) -> io::Result<(String, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.prune();
        let mut random = [0; 5];
        SystemRandom::new().fill(&mut random).map_err(|_| io::Error::other("the machine has no random numbers"))?;
        let id = format!("{ID_PREFIX}{}", haft_text::hex::encode(random));
        let folder = self.folder.join(&id);
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok((id, folder))
    }

    /// Every entry, newest first.
    pub fn list(&self) -> Vec<QuarantineRecord> {
        let mut records: Vec<_> = self.ids().filter_map(|id| self.read(&id)).collect();
        records.sort_by(|one, other| other.made.cmp(&one.made).then_with(|| one.id.cmp(&other.id)));
        records
    }

    /// The entry whose id begins with this text, if there is one and no other.
    pub fn find(&self, id: &str) -> Option<QuarantineRecord> {
        let prefix = id.strip_prefix(ID_PREFIX).unwrap_or(id);
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut found = self.ids().filter(|known| known[ID_PREFIX.len()..].starts_with(prefix));
        let (first, second) = (found.next()?, found.next());
        if second.is_some() { None } else { self.read(&first) }
    }

    /// The first bytes of a file in quarantine.
    pub fn content(&self, record: &QuarantineRecord, most: u64) -> io::Result<Vec<u8>> {
        use io::Read;
        let mut bytes = Vec::new();
        Tree::open(&self.folder.join(&record.id))?.open_file(Path::new(ENTRY))?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes an entry for good.
    pub fn remove(&self, id: &str) {
        remove_folder(&self.folder.join(id));
    }

    fn read(&self, id: &str) -> Option<QuarantineRecord> {
        let record: QuarantineRecord = serde_json::from_slice(&fs::read(self.folder.join(id).join(RECORD)).ok()?).ok()?;
        (record.id == id).then_some(record)
    }

    fn ids(&self) -> impl Iterator<Item = String> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with(ID_PREFIX))
    }

    /// Removes expired and excess entries.
    fn prune(&self) {
        let now = SystemTime::now();
        for (index, record) in self.list().into_iter().enumerate() {
            let is_old = self.retention.is_expired(record.made, now);
            // One is about to be added.
            if is_old || index + 1 >= MAX_ENTRIES {
                self.remove(&record.id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
