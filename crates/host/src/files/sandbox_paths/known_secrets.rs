//! Secrets that searches have found. A command cannot read or rename one, but it can move the folder around it to where its name alone
//! tells nothing: into a generated folder. There it is known by what it is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use haft_contract::FileIdentity;

use super::super::folder_stamp::FolderStamp;

/// Ends a record: no path holds it.
const END: u8 = 0;
/// A file with more bytes than this is written anew.
const MOST_BYTES: u64 = 1 << 20;

/// By what they are, with the path where each was last.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    file: Option<PathBuf>,
    /// The file as it was read or written last: other processes add to it.
    seen: Option<(FolderStamp, u64)>,
    known: BTreeMap<FileIdentity, PathBuf>,
}

impl KnownSecrets {
    pub(super) fn in_file(file: PathBuf) -> Self {
        Self { file: Some(file), ..Self::default() }
    }

    pub(super) fn contain(&self, identity: Option<FileIdentity>) -> bool {
        identity.is_some_and(|identity| self.known.contains_key(&identity))
    }

    /// Whether one that was in these roots is not among those that were found.
    pub(super) fn are_missing_in(&self, found: &BTreeMap<FileIdentity, PathBuf>, roots: &[PathBuf]) -> bool {
        self.missing(found, roots).next().is_some()
    }

    fn missing<'a>(&'a self, found: &'a BTreeMap<FileIdentity, PathBuf>, roots: &'a [PathBuf]) -> impl Iterator<Item = FileIdentity> + 'a {
        let is_inside = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        self.known.iter().filter(move |(identity, path)| !found.contains_key(identity) && is_inside(path)).map(|(identity, _)| *identity)
    }

    /// Reads what other processes have added.
    pub(super) fn refresh(&mut self) {
        let Some(file) = &self.file else { return };
        let now = fs::metadata(file).ok().map(|metadata| version(&metadata));
        if now.is_some() && now != self.seen {
            // A file that cannot be read tells nothing.
            self.known = parse(&fs::read(file).unwrap_or_default());
            self.seen = now;
        }
    }

    /// Keeps what a whole search has found in these roots, and forgets what it has not.
    pub(super) fn update(&mut self, found: &BTreeMap<FileIdentity, PathBuf>, roots: &[PathBuf]) {
        let gone: Vec<FileIdentity> = self.missing(found, roots).collect();
        let new = found.iter().filter(|(identity, path)| self.known.get(identity) != Some(path));
        let new: Vec<(FileIdentity, PathBuf)> = new.map(|(identity, path)| (*identity, path.clone())).collect();
        if gone.is_empty() && new.is_empty() {
            return;
        }
        let mut records = Vec::new();
        for identity in gone {
            self.known.remove(&identity);
            add_record(&mut records, identity, None);
        }
        for (identity, path) in new {
            add_record(&mut records, identity, Some(&path));
            self.known.insert(identity, path);
        }
        if let Some(file) = &self.file {
            // Of what cannot be written only this process knows.
            write(file, &records, &self.known).ok();
            // Another process may have added something just before.
            self.seen = None;
        }
    }
}

fn version(file: &Metadata) -> (FolderStamp, u64) {
    (FolderStamp::from_metadata(file), file.len())
}

/// Adds records at the end, as other processes do at the same time; one that became long is written anew.
fn write(file: &Path, records: &[u8], all: &BTreeMap<FileIdentity, PathBuf>) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
    }
    let mut options = OpenOptions::new();
    let mut opened = options.append(true).create(true).mode(0o600).open(file)?;
    if opened.metadata()?.len() > MOST_BYTES {
        let mut whole = Vec::new();
        for (identity, path) in all {
            add_record(&mut whole, *identity, Some(path));
        }
        opened.set_len(0)?;
        return opened.write_all(&whole);
    }
    opened.write_all(records)
}

/// `device inode kind path`, without the path for one that is gone.
fn add_record(records: &mut Vec<u8>, identity: FileIdentity, path: Option<&Path>) {
    let FileIdentity { device, inode, is_folder } = identity;
    let kind = if is_folder { 'd' } else { 'f' };
    records.extend_from_slice(format!("{device} {inode} {kind} ").as_bytes());
    records.extend_from_slice(path.map_or(&[][..], |path| path.as_os_str().as_bytes()));
    records.push(END);
}

/// The records in their order; what is none is left out.
fn parse(records: &[u8]) -> BTreeMap<FileIdentity, PathBuf> {
    let mut known = BTreeMap::new();
    for record in records.split(|byte| *byte == END) {
        let mut parts = record.splitn(4, |byte| *byte == b' ');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
        let (Some(device), Some(inode)) = (number(), number()) else { continue };
        let (Some(kind), Some(path)) = (parts.next(), parts.next()) else { continue };
        let identity = FileIdentity { device, inode, is_folder: kind == b"d" };
        if path.is_empty() {
            known.remove(&identity);
        } else {
            known.insert(identity, PathBuf::from(OsStr::from_bytes(path)));
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(inode: u64) -> FileIdentity {
        FileIdentity { device: 7, inode, is_folder: inode.is_multiple_of(2) }
    }

    #[test]
    fn secrets_of_other_processes_are_known_and_those_that_are_gone_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/secrets");
        let roots = [PathBuf::from("/w")];
        let all = |pairs: &[(u64, &str)]| -> BTreeMap<_, _> { pairs.iter().map(|(inode, path)| (identity(*inode), path.into())).collect() };
        let (mut one, mut other) = (KnownSecrets::in_file(file.clone()), KnownSecrets::in_file(file.clone()));
        one.update(&all(&[(1, "/w/a b\n/.env"), (2, "/w/.ssh")]), &roots);
        other.update(&all(&[(3, "/elsewhere/.env")]), &["/elsewhere".into()]);
        for secrets in [&mut one, &mut other] {
            secrets.refresh();
            assert_eq!(secrets.known, all(&[(1, "/w/a b\n/.env"), (2, "/w/.ssh"), (3, "/elsewhere/.env")]));
        }
        assert!(one.are_missing_in(&all(&[(1, "/w/moved/.env")]), &roots));
        assert!(!one.are_missing_in(&all(&[(1, "/w/moved/.env"), (2, "/w/.ssh")]), &roots), "that of another root does not count");
        one.update(&all(&[(1, "/w/moved/.env")]), &roots);
        other.refresh();
        assert_eq!(other.known, all(&[(1, "/w/moved/.env"), (3, "/elsewhere/.env")]));
        let size = || fs::metadata(&file).unwrap().len();
        let before = size();
        one.update(&all(&[(1, "/w/moved/.env")]), &roots);
        assert_eq!(size(), before, "nothing new is not written");
        assert_eq!(parse(b"x\x001 2\x001 2 f\0- 1 f /a\0"), BTreeMap::new());
    }
}
