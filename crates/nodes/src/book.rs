//! The machines that are paired with this gateway: a private file, changed as a whole.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::ToolError;
use haft_contract::ports::NodeSummary;
use serde::{Deserialize, Serialize};

use crate::handshake::clean_name;
use crate::keys::PeerKey;
use crate::resolve;

/// A larger file is none of ours.
const MAX_BYTES: u64 = 1 << 20;
/// Machines that may be paired.
const MAX_NODES: usize = 1000;
const VERSION: u32 = 1;

/// A paired machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedNode {
    /// Made from its key.
    pub id: String,
    /// The name that rules know it by; no other has it.
    pub name: String,
    /// Its public key, in hexadecimal.
    pub key: String,
    /// When it was paired, in seconds since 1970.
    pub paired_at: u64,
}

impl PairedNode {
    /// What is known of it without a connection.
    pub fn summary(&self) -> NodeSummary {
        NodeSummary { id: self.id.clone(), name: self.name.clone(), ..NodeSummary::default() }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct BookFile {
    version: u32,
    nodes: Vec<PairedNode>,
}

/// The list of paired machines.
#[derive(Debug, Clone)]
pub struct PairingBook {
    path: PathBuf,
    /// What was read last, and of which file: every call asks.
    last: Arc<Mutex<Option<StampedNodes>>>,
}

/// A file is replaced as a whole, so another content is another file: inode, size and time of change.
type FileStamp = (u64, u64, i64, i64);
type StampedNodes = (FileStamp, Arc<[PairedNode]>);

impl PairingBook {
    /// The list in this folder, which need not exist.
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join("paired.json"), last: Arc::default() }
    }

    /// All of them. A file that cannot be read is an error: nobody is paired then.
    pub fn nodes(&self) -> io::Result<Arc<[PairedNode]>> {
        let stamp = fs::metadata(&self.path).ok().map(|file| (file.ino(), file.len(), file.mtime(), file.mtime_nsec()));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, nodes)) = last.as_ref().filter(|(known, _)| Some(*known) == stamp) {
            return Ok(Arc::clone(nodes));
        }
        let nodes: Arc<[PairedNode]> = self.read()?.nodes.into();
        *last = stamp.map(|stamp| (stamp, Arc::clone(&nodes)));
        Ok(nodes)
    }

    /// The machine with this key.
    pub fn find(&self, key: &PeerKey) -> io::Result<Option<PairedNode>> {
        let key = key.to_hex();
        Ok(self.nodes()?.iter().find(|node| node.key == key).cloned())
    }

    /// The machine that a text names.
    pub fn resolve(&self, wanted: &str) -> Result<PairedNode, ToolError> {
        let nodes = self.nodes().map_err(|error| ToolError::execution(error.to_string()))?;
        resolve::find(&nodes, wanted).cloned()
    }

    /// Adds a machine under the name that it wants, or a similar one that is free. One that is paired already keeps its name.
    pub fn add(&self, key: &PeerKey, wanted: &str, now: u64) -> io::Result<PairedNode> {
        self.change(|nodes| {
            let known = nodes.iter().find(|node| node.key == key.to_hex());
            if let Some(known) = known {
                return Ok(known.clone());
            }
            if nodes.len() >= MAX_NODES {
                return Err(io::Error::other(format!("{MAX_NODES} machines are paired, and no more can be. Revoke one first.")));
            }
            let node = PairedNode { id: key.id(), name: free_name(nodes, wanted), key: key.to_hex(), paired_at: now };
            nodes.push(node.clone());
            Ok(node)
        })
    }

    /// Removes a machine.
    pub fn remove(&self, id: &str) -> io::Result<()> {
        self.change(|nodes| {
            nodes.retain(|node| node.id != id);
            Ok(())
        })
    }

    /// Gives a machine another name, which no other may have.
    pub fn rename(&self, id: &str, name: &str) -> io::Result<String> {
        let name = clean_name(name);
        self.change(|nodes| {
            if nodes.iter().any(|node| node.name == name && node.id != id) {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("Another machine is called '{name}'.")));
            }
            nodes.iter_mut().filter(|node| node.id == id).for_each(|node| node.name.clone_from(&name));
            Ok(name.clone())
        })
    }

    fn change<T>(&self, edit: impl FnOnce(&mut Vec<PairedNode>) -> io::Result<T>) -> io::Result<T> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // One change at a time, also of several processes.
        let lock = File::options().write(true).create(true).truncate(false).mode(0o600).open(self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut file = self.read()?;
        let result = edit(&mut file.nodes)?;
        file.version = VERSION;
        let temporary = self.path.with_extension("new");
        let mut written = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        written.write_all(&serde_json::to_vec_pretty(&file)?)?;
        written.sync_all()?;
        fs::rename(&temporary, &self.path)?;
        Ok(result)
    }

    fn read(&self) -> io::Result<BookFile> {
        let unusable = |why: &dyn std::fmt::Display| {
            io::Error::other(format!("the list of paired machines cannot be read ({}): {why}. Repair or remove it.", self.path.display()))
        };
        let size = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BookFile::default()),
            metadata => metadata.map_err(|error| unusable(&error))?.len(),
        };
        if size > MAX_BYTES {
            return Err(unusable(&"it is too large"));
        }
        let file: BookFile = serde_json::from_slice(&fs::read(&self.path)?).map_err(|error| unusable(&error))?;
        if file.version > VERSION { Err(unusable(&"a newer Haft wrote it")) } else { Ok(file) }
    }
}

/// The wanted name, or the first of `NAME-2`, `NAME-3`, … that is free.
fn free_name(nodes: &[PairedNode], wanted: &str) -> String {
    let wanted = clean_name(wanted);
    let is_free = |name: &String| nodes.iter().all(|node| node.name != *name);
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    std::iter::once(wanted.clone()).chain(numbered).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> PeerKey {
        PeerKey::new(vec![byte; 32]).unwrap()
    }

    #[test]
    fn machines_are_added_renamed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let book = PairingBook::new(&folder.path().join("nodes"));
        assert_eq!(*book.nodes().unwrap(), []);
        let first = book.add(&key(1), "Laptop", 5).unwrap();
        assert_eq!((first.name.as_str(), first.id.len()), ("laptop", 16));
        assert_eq!(book.add(&key(1), "other", 9).unwrap(), first, "a machine that is paired keeps its name");
        assert_eq!(book.add(&key(2), "laptop", 6).unwrap().name, "laptop-2");
        assert_eq!(book.rename(&first.id, "laptop-2").unwrap_err().to_string(), "Another machine is called 'laptop-2'.");
        assert_eq!(book.rename(&first.id, "Stu dio").unwrap(), "stu-dio");
        book.remove(&first.id).unwrap();
        assert_eq!(book.nodes().unwrap().iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["laptop-2"]);
        assert_eq!(book.find(&key(1)).unwrap(), None);
    }

    #[test]
    fn file_is_private_and_a_broken_one_pairs_nobody() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (nodes, book) = (folder.path().join("nodes"), PairingBook::new(&folder.path().join("nodes")));
        book.add(&key(1), "a", 0).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&nodes), mode(&nodes.join("paired.json"))), (0o700, 0o600));
        for broken in ["", "[]", "{\"version\":2,\"nodes\":[]}", "{\"version\":1,\"nodes\":[{}]}"] {
            fs::write(nodes.join("paired.json"), broken).unwrap();
            assert!(book.nodes().is_err(), "{broken}");
            assert!(book.add(&key(2), "b", 0).is_err(), "{broken}");
            assert_eq!(fs::read_to_string(nodes.join("paired.json")).unwrap(), broken, "it is not overwritten");
        }
    }
}
