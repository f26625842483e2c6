//! The index of a root on disk: what is known of each file. It is only a cache, so one that cannot be read is made anew.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use haft_contract::EntryKind;

use super::snapshot::{Entry, Hash, Snapshot, Stamp};

const MAGIC: &[u8; 8] = b"haftcp01";
/// Bytes of an entry besides its path.
const FIXED: usize = 2 + 1 + 1 + 4 + 4 * 8 + 32;
const HAS_HASH: u8 = 1;
const RACY: u8 = 2;

/// Reads an index; `None` if there is none, or none that can be used.
pub(super) fn read(path: &Path) -> Option<Snapshot> {
    let bytes = fs::read(path).ok()?;
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let count = u64::from_le_bytes(take(&mut rest)?);
    let mut snapshot = Snapshot::default();
    snapshot.entries.reserve(usize::try_from(count).ok()?.min(rest.len() / FIXED));
    for _ in 0..count {
        let (path, entry) = read_entry(&mut rest)?;
        snapshot.entries.insert(path, entry);
    }
    rest.is_empty().then_some(snapshot)
}

fn read_entry(rest: &mut &[u8]) -> Option<(Box<[u8]>, Entry)> {
    let length = usize::from(u16::from_le_bytes(take(rest)?));
    let [kind] = take(rest)?;
    let [flags] = take(rest)?;
    let kind = match kind {
        0 => EntryKind::File,
        1 => EntryKind::Link,
        2 => EntryKind::Directory,
        _ => return None,
    };
    let mode = u32::from_le_bytes(take(rest)?);
    let stamp = Stamp {
        size: u64::from_le_bytes(take(rest)?),
        modified: i64::from_le_bytes(take(rest)?),
        changed: i64::from_le_bytes(take(rest)?),
        inode: u64::from_le_bytes(take(rest)?),
    };
    let hash: Hash = take(rest)?;
    let (path, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    let hash = (flags & HAS_HASH != 0).then_some(hash);
    Some((path.into(), Entry { kind, mode, stamp, hash, is_racy: flags & RACY != 0 }))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*taken)
}

/// Replaces the index.
pub(super) fn write(path: &Path, snapshot: &Snapshot) -> io::Result<()> {
    let kept = || snapshot.entries.iter().filter(|(path, entry)| entry.kind != EntryKind::Special && u16::try_from(path.len()).is_ok());
    let mut bytes = Vec::with_capacity(16 + snapshot.entries.len() * (FIXED + 40));
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(kept().count() as u64).to_le_bytes());
    for (path, entry) in kept() {
        write_entry(&mut bytes, path, entry);
    }
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&bytes)?;
    fs::rename(&draft, path)
}

fn write_entry(bytes: &mut Vec<u8>, path: &[u8], entry: &Entry) {
    let kind = match entry.kind {
        EntryKind::File | EntryKind::Special => 0,
        EntryKind::Link => 1,
        EntryKind::Directory => 2,
    };
    let flags = if entry.hash.is_some() { HAS_HASH } else { 0 } | if entry.is_racy { RACY } else { 0 };
    bytes.extend_from_slice(&u16::try_from(path.len()).unwrap_or(0).to_le_bytes());
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&entry.mode.to_le_bytes());
    bytes.extend_from_slice(&entry.stamp.size.to_le_bytes());
    bytes.extend_from_slice(&entry.stamp.modified.to_le_bytes());
    bytes.extend_from_slice(&entry.stamp.changed.to_le_bytes());
    bytes.extend_from_slice(&entry.stamp.inode.to_le_bytes());
    bytes.extend_from_slice(&entry.hash.unwrap_or_default());
    bytes.extend_from_slice(path);
}
