//! From the upper layer of an overlay to what it changes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_contract::{ChangeDeed, EntryKind, FileChange, FileSystem, PreImage};
use haft_sandbox::Layer;
use ring::digest::{Context, SHA256};

use super::super::super::files::{directory_state, link_state};
use crate::LocalFiles;

/// How many paths a set holds; with more it cannot be committed.
const MOST_CHANGES: usize = 20_000;
/// How much content is looked at to know what was there.
const MOST_BYTES: u64 = 4 << 30;
const PIECE: usize = 64 * 1024;
/// What stands for something that was changed while the command ran: no file is ever like it.
const RACED: &str = "changed while the command ran";
/// The mark of a directory that hides what lies beneath, as root and as anybody else writes it.
const OPAQUE: [&str; 2] = ["trusted.overlay.opaque", "user.overlay.opaque"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) changes: Vec<FileChange>,
    /// Why it cannot be committed.
    pub(super) refused: Option<String>,
}

/// Reads what a run left in its layers.
pub(super) fn read(layers: &[Layer], files: &LocalFiles, started: SystemTime) -> Found {
    let mut reading = Reading { files, started, found: Found::default(), bytes: 0 };
    for layer in layers {
        reading.directory(&layer.upper, &layer.lower);
    }
    let mut found = reading.found;
    found.changes.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

struct Reading<'a> {
    files: &'a LocalFiles,
    started: SystemTime,
    found: Found,
    bytes: u64,
}

impl Reading<'_> {
    /// What differs between a directory of the upper layer and the one beneath it.
    fn directory(&mut self, upper: &Path, lower: &Path) {
        let names = match names(upper) {
            Ok(names) => names,
            Err(error) => return self.refuse(format!("'{}' cannot be listed: {error}", lower.display())),
        };
        if is_opaque(upper) && is_directory(lower) {
            for name in names_of(lower).into_iter().filter(|name| !names.contains(name)) {
                self.deleted(&lower.join(name));
            }
        }
        for name in &names {
            if self.is_full() {
                return;
            }
            self.entry(&upper.join(name), &lower.join(name));
        }
    }

    fn entry(&mut self, upper: &Path, lower: &Path) {
        let now = match fs::symlink_metadata(upper) {
            Ok(now) => now,
            Err(error) => return self.refuse(format!("'{}' cannot be looked at: {error}", lower.display())),
        };
        let before = fs::symlink_metadata(lower).ok();
        if is_whiteout(&now) {
            if before.is_some() {
                self.deleted(lower);
            }
        } else if !Layer::is_placeholder(&now) {
            self.compared(upper, &now, lower, before.as_ref());
        }
    }

    fn compared(&mut self, upper: &Path, now: &Metadata, lower: &Path, before: Option<&Metadata>) {
        let was_directory = before.is_some_and(Metadata::is_dir);
        if was_directory && !now.is_dir() {
            for name in names_of(lower) {
                self.deleted(&lower.join(name));
            }
        }
        let state = self.state(lower, before);
        let is_same = before.is_some_and(|before| kind(before) == kind(now) && same_mode(before, now));
        if !(is_same && (now.is_dir() || self.state(upper, Some(now)) == state)) {
            let deed = if before.is_some() { ChangeDeed::Changed } else { ChangeDeed::Created };
            let mode_before = before.filter(|before| kind(before) == kind(now) && !same_mode(before, now)).map(mode);
            let target = now.is_symlink().then(|| fs::read_link(upper).ok()).flatten();
            self.push(FileChange { target, mode_before, mode: Some(mode(now)), ..self.change(lower, deed, now) }, state, before);
        }
        if now.is_dir() {
            self.directory(upper, lower);
        }
    }

    /// A path that is gone, with all that was beneath it.
    fn deleted(&mut self, lower: &Path) {
        let Ok(before) = fs::symlink_metadata(lower) else { return };
        if before.is_dir() {
            for name in names_of(lower) {
                if self.is_full() {
                    return;
                }
                self.deleted(&lower.join(name));
            }
        }
        let state = self.state(lower, Some(&before));
        self.push(self.change(lower, ChangeDeed::Deleted, &before), state, Some(&before));
    }

    fn change(&self, path: &Path, deed: ChangeDeed, about: &Metadata) -> FileChange {
        // A path that cannot be meant is not shown either.
        let hidden = self.files.locate_entry(path).map_or(true, |at| at.no_read().is_some());
        let size = if about.is_file() { about.len() } else { 0 };
        let entry = kind(about);
        FileChange { path: path.to_owned(), deed, entry, size, mode: None, mode_before: None, target: None, before: None, hidden }
    }

    fn push(&mut self, mut change: FileChange, before: Option<String>, below: Option<&Metadata>) {
        let is_raced = below.is_some_and(|below| !below.is_dir() && changed(below) > self.started);
        change.before = if is_raced { Some(RACED.to_owned()) } else { before };
        self.found.changes.push(change);
    }

    /// What is at a path, in the word that a commit compares.
    fn state(&mut self, path: &Path, metadata: Option<&Metadata>) -> Option<String> {
        let metadata = metadata?;
        match kind(metadata) {
            EntryKind::Directory => directory_state(mode(metadata)),
            EntryKind::Link => fs::read_link(path).ok().and_then(|target| link_state(&target)),
            EntryKind::Special => Some("special".to_owned()),
            EntryKind::File => {
                self.bytes += metadata.len();
                if self.bytes > MOST_BYTES {
                    self.refuse("it touches more than 4 GB of content".to_owned());
                    return None;
                }
                match fingerprint(path) {
                    Ok(fingerprint) => Some(fingerprint),
                    Err(error) => {
                        self.refuse(format!("'{}' cannot be read: {error}", path.display()));
                        None
                    }
                }
            }
        }
    }

    fn is_full(&mut self) -> bool {
        let is_full = self.found.changes.len() >= MOST_CHANGES;
        if is_full {
            self.refuse(format!("it changes more than {MOST_CHANGES} paths, of which the rest is not listed"));
        }
        is_full
    }

    /// The first reason is the one that is told.
    fn refuse(&mut self, why: String) {
        self.found.refused.get_or_insert(why);
    }
}

fn names_of(folder: &Path) -> BTreeSet<OsString> {
    names(folder).unwrap_or_default()
}

/// A command may have shut its own directories; in the upper layer they are ours to open.
fn names(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    let list = || fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect();
    match list() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => with_access(folder, 0o700, list),
        listed => listed,
    }
}

/// Does something with a path that its owner has shut, and shuts it again.
fn with_access<T>(path: &Path, access: u32, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = fs::symlink_metadata(path)?.permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(before.mode() | access))?;
    let done = work();
    fs::set_permissions(path, before)?;
    done
}

/// Opens a file of the upper layer, even if its own permissions forbid it.
pub(super) fn open(path: &Path) -> io::Result<fs::File> {
    match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => with_access(path, 0o400, || fs::File::open(path)),
        opened => opened,
    }
}

fn fingerprint(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut buffer) = (open(path)?, Context::new(&SHA256), vec![0; PIECE]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(crate::files::hex(&hash.finish())),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

fn is_opaque(path: &Path) -> bool {
    let mut value = [0; 2];
    OPAQUE.iter().any(|name| rustix::fs::lgetxattr(path, *name, &mut value[..]).is_ok_and(|length| value[..length] == *b"y"))
}

fn kind(metadata: &Metadata) -> EntryKind {
    match metadata.file_type() {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_symlink() => EntryKind::Link,
        kind if kind.is_dir() => EntryKind::Directory,
        _ => EntryKind::Special,
    }
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & if metadata.is_dir() { PreImage::KEPT } else { 0o777 }
}

fn same_mode(one: &Metadata, other: &Metadata) -> bool {
    one.is_symlink() || mode(one) == mode(other)
}

fn changed(metadata: &Metadata) -> SystemTime {
    let (seconds, nanoseconds) = (metadata.ctime().try_into().unwrap_or(0), metadata.ctime_nsec().try_into().unwrap_or(0));
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

/// Where a path of a root lies in the upper layer.
pub(super) fn above(layers: &[(PathBuf, PathBuf)], path: &Path) -> Option<PathBuf> {
    let deepest = layers.iter().filter(|(lower, _)| path.starts_with(lower)).max_by_key(|(lower, _)| lower.components().count());
    deepest.and_then(|(lower, upper)| path.strip_prefix(lower).ok().map(|rest| upper.join(rest)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use haft_sandbox::Overlay;
    use rustix::fs::{FileType, Mode, XattrFlags};

    use super::*;
    use crate::WorkspaceOptions;

    struct Layers {
        folder: tempfile::TempDir,
        files: LocalFiles,
        overlay: Overlay,
    }

    impl Layers {
        fn new(below: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let lower = root.join("w");
            fs::create_dir(&lower).unwrap();
            fs::create_dir(root.join("apart")).unwrap();
            for (name, content) in below {
                fs::create_dir_all(lower.join(name).parent().unwrap()).unwrap();
                fs::write(lower.join(name), content).unwrap();
            }
            let files = LocalFiles::open(WorkspaceOptions::new(&lower)).unwrap();
            let overlay = Overlay::prepare(&root.join("apart"), &[lower]).unwrap();
            Self { folder, files, overlay }
        }
        fn upper(&self, name: &str) -> PathBuf {
            self.overlay.layers()[0].upper.join(name)
        }
        fn put(&self, name: &str, content: &str) {
            fs::create_dir_all(self.upper(name).parent().unwrap()).unwrap();
            fs::write(self.upper(name), content).unwrap();
        }
        fn whiteout(&self, name: &str) {
            fs::create_dir_all(self.upper(name).parent().unwrap()).unwrap();
            rustix::fs::mknodat(rustix::fs::CWD, self.upper(name), FileType::CharacterDevice, Mode::empty(), 0).unwrap();
        }
        fn opaque(&self, name: &str) {
            fs::create_dir_all(self.upper(name)).unwrap();
            rustix::fs::setxattr(self.upper(name), OPAQUE[1], b"y", XattrFlags::empty()).unwrap();
        }
        fn found(&self) -> Found {
            read(self.overlay.layers(), &self.files, SystemTime::now() + Duration::from_mins(1))
        }
        /// Every change in short: `M a.txt`, with `@`, `/` and `!` behind links, directories and what is special.
        fn told(&self) -> Vec<String> {
            let root = self.folder.path().canonicalize().unwrap().join("w");
            let short = |change: &FileChange| {
                let deed = match change.deed {
                    ChangeDeed::Created => 'A',
                    ChangeDeed::Changed => 'M',
                    ChangeDeed::Deleted => 'D',
                };
                let kind = match change.entry {
                    EntryKind::File => "",
                    EntryKind::Link => "@",
                    EntryKind::Directory => "/",
                    EntryKind::Special => "!",
                };
                format!("{deed} {}{kind}", change.path.strip_prefix(&root).unwrap().to_string_lossy())
            };
            let found = self.found();
            assert_eq!(found.refused, None);
            found.changes.iter().map(short).collect()
        }
    }

    type Made = fn(&Layers);

    #[test]
    fn every_mark_of_an_upper_layer_is_read() {
        let below = [("a", "1"), ("d/x", "2"), ("d/e/y", "3"), ("f", "4")];
        let cases: [(&str, Made, &[&str]); 14] = [
            ("nothing", |_| {}, &[]),
            ("a new file", |layers| layers.put("new", "x"), &["A new"]),
            ("a new file in new folders", |layers| layers.put("n/o/new", "x"), &["A n/", "A n/o/", "A n/o/new"]),
            ("other content", |layers| layers.put("a", "other"), &["M a"]),
            ("the same content again", |layers| layers.put("a", "1"), &[]),
            ("a file that is gone", |layers| layers.whiteout("a"), &["D a"]),
            ("a mark for what was never there", |layers| layers.whiteout("never"), &[]),
            ("a folder that is gone", |layers| layers.whiteout("d"), &["D d/", "D d/e/", "D d/e/y", "D d/x"]),
            (
                "another folder in its place",
                |layers| {
                    layers.opaque("d");
                    layers.put("d/z", "5");
                },
                &["D d/e/", "D d/e/y", "D d/x", "A d/z"],
            ),
            ("a file in place of a folder", |layers| layers.put("d", "x"), &["M d", "D d/e/", "D d/e/y", "D d/x"]),
            ("a folder in place of a file", |layers| layers.put("f/x", "x"), &["M f/", "A f/x"]),
            (
                "links",
                |layers| {
                    symlink("a", layers.upper("l")).unwrap();
                    symlink("/etc/passwd", layers.upper("a")).unwrap();
                },
                &["M a@", "A l@"],
            ),
            ("a pipe", |layers| rustix::fs::mknodat(rustix::fs::CWD, layers.upper("p"), FileType::Fifo, Mode::RWXU, 0).unwrap(), &["A p!"]),
            (
                "what holds a protected name",
                |layers| {
                    fs::create_dir(layers.upper(".haft")).unwrap();
                    fs::set_permissions(layers.upper(".haft"), fs::Permissions::from_mode(0o1500)).unwrap();
                },
                &[],
            ),
        ];
        for (name, make, expected) in cases {
            let layers = Layers::new(&below);
            make(&layers);
            assert_eq!(layers.told(), expected, "{name}");
        }
    }

    #[test]
    fn permissions_alone_are_a_change_and_shut_files_are_read() {
        let layers = Layers::new(&[("a", "1"), ("d/x", "2")]);
        layers.put("a", "1");
        layers.put("d/secret", "3");
        fs::set_permissions(layers.upper("a"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(layers.upper("d"), fs::Permissions::from_mode(0o300)).unwrap();
        assert_eq!(layers.told(), ["M a", "M d/", "A d/secret"]);
        let modes: Vec<_> = layers.found().changes.iter().map(|change| (change.mode_before, change.mode)).collect();
        assert_eq!(modes, [(Some(0o644), Some(0)), (Some(0o755), Some(0o300)), (None, Some(0o644))]);
    }

    #[test]
    fn names_need_not_be_text_and_what_may_not_be_read_is_marked() {
        let layers = Layers::new(&[]);
        let odd = OsStr::from_bytes(b"caf\xe9");
        fs::write(layers.overlay.layers()[0].upper.join(odd), "x").unwrap();
        layers.put(".env", "KEY=1");
        let found = layers.found();
        let told: Vec<_> = found.changes.iter().map(|change| (change.path.file_name().unwrap().to_owned(), change.hidden)).collect();
        assert_eq!(told, [(".env".into(), true), (odd.to_owned(), false)]);
        let stored = serde_json::to_string(&found.changes).unwrap();
        assert_eq!(serde_json::from_str::<Vec<FileChange>>(&stored).unwrap(), found.changes);
    }

    #[test]
    fn what_was_changed_while_the_command_ran_is_never_as_it_was() {
        let layers = Layers::new(&[("a", "1")]);
        layers.put("a", "2");
        let early = read(layers.overlay.layers(), &layers.files, SystemTime::UNIX_EPOCH);
        assert_eq!(early.changes[0].before.as_deref(), Some(RACED));
        assert_ne!(layers.found().changes[0].before.as_deref(), Some(RACED));
    }
}
