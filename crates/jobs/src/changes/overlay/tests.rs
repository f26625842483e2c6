use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use haft_host::WorkspaceOptions;
use haft_sandbox::Overlay;
use rustix::fs::{FileType, Mode, XattrFlags};

use super::*;

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
        fs::create_dir(root.join("staged")).unwrap();
        for (name, content) in below {
            fs::create_dir_all(lower.join(name).parent().unwrap()).unwrap();
            fs::write(lower.join(name), content).unwrap();
        }
        let files = LocalFiles::open(WorkspaceOptions::new(&lower)).unwrap();
        let overlay = Overlay::prepare(&root.join("staged"), &[lower]).unwrap();
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
    fn changes(&self) -> OverlayChanges {
        read_changes(self.overlay.layers(), &self.files, SystemTime::now() + Duration::from_mins(1))
    }
    /// Every change as `M a.txt`, with `@`, `/` and `!` after links, directories and special files.
    fn summary(&self) -> Vec<String> {
        let root = self.folder.path().canonicalize().unwrap().join("w");
        let short = |change: &FileChange| {
            let kind = match change.kind {
                ChangeKind::Created => 'A',
                ChangeKind::Changed => 'M',
                ChangeKind::Deleted => 'D',
            };
            let entry = match change.entry {
                EntryKind::File => "",
                EntryKind::Link => "@",
                EntryKind::Directory => "/",
                EntryKind::Special => "!",
            };
            format!("{kind} {}{entry}", change.path.strip_prefix(&root).unwrap().to_string_lossy())
        };
        let found = self.changes();
        assert_eq!(found.refused, None);
        found.changes.iter().map(short).collect()
    }
}

type Change = fn(&Layers);

#[test]
fn overlay_reader_knows_every_kind_of_entry() {
    let below = [("a", "1"), ("d/x", "2"), ("d/e/y", "3"), ("f", "4")];
    let cases: [(&str, Change, &[&str]); 13] = [
        ("nothing", |_| {}, &[]),
        ("a new file", |layers| layers.put("new", "x"), &["A new"]),
        ("a new file in new folders", |layers| layers.put("n/o/new", "x"), &["A n/", "A n/o/", "A n/o/new"]),
        ("other content", |layers| layers.put("a", "other"), &["M a"]),
        ("the same content again", |layers| layers.put("a", "1"), &[]),
        ("a file that is gone", |layers| layers.whiteout("a"), &["D a"]),
        ("a whiteout of a name that was never there", |layers| layers.whiteout("never"), &[]),
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
    ];
    for (name, make, expected) in cases {
        let layers = Layers::new(&below);
        make(&layers);
        assert_eq!(layers.summary(), expected, "{name}");
    }
}

#[test]
fn overlay_reader_takes_permissions_for_a_change_and_reads_inaccessible_files() {
    let layers = Layers::new(&[("a", "1"), ("d/x", "2")]);
    layers.put("a", "1");
    layers.put("d/secret", "3");
    fs::set_permissions(layers.upper("a"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(layers.upper("d"), fs::Permissions::from_mode(0o300)).unwrap();
    assert_eq!(layers.summary(), ["M a", "M d/", "A d/secret"]);
    let modes: Vec<_> = layers.changes().changes.iter().map(|change| (change.mode_before, change.mode)).collect();
    assert_eq!(modes, [(Some(0o644), Some(0)), (Some(0o755), Some(0o300)), (None, Some(0o644))]);
}

#[test]
fn overlay_changes_keep_names_that_are_no_text_and_hide_secrets() {
    let layers = Layers::new(&[]);
    let odd = OsStr::from_bytes(b"caf\xe9");
    fs::write(layers.overlay.layers()[0].upper.join(odd), "x").unwrap();
    layers.put(".env", "KEY=1");
    let found = layers.changes();
    let hidden: Vec<_> = found.changes.iter().map(|change| (change.path.file_name().unwrap().to_owned(), change.hidden)).collect();
    assert_eq!(hidden, [(".env".into(), true), (odd.to_owned(), false)]);
    let stored = serde_json::to_string(&found.changes).unwrap();
    assert_eq!(serde_json::from_str::<Vec<FileChange>>(&stored).unwrap(), found.changes);
}

#[test]
fn overlay_change_of_a_file_changed_meanwhile_matches_no_state() {
    let layers = Layers::new(&[("a", "1")]);
    layers.put("a", "2");
    let early = read_changes(layers.overlay.layers(), &layers.files, SystemTime::UNIX_EPOCH);
    assert_eq!(early.changes[0].before.as_deref(), Some(RACED));
    assert_ne!(layers.changes().changes[0].before.as_deref(), Some(RACED));
}
