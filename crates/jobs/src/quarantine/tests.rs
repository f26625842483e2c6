use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    quarantine: Quarantine,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("w")).unwrap();
        let quarantine = Quarantine::new(root.join("data/quarantine"));
        Self { _folder: folder, root, quarantine }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.root.join("w").join(name)
    }
    fn put(&self, name: &str) -> String {
        let origin = Origin { session: "s".into(), call: Some("c".into()), command: "make".into() };
        self.quarantine.put(&self.path(name), "a reason", &origin).unwrap()
    }
    fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.root.join("data/quarantine").join(path)).unwrap().mode() & 0o7777
    }
}

#[test]
fn quarantined_entries_are_moved_listed_and_restored() {
    let place = Place::new();
    fs::write(place.path(".envrc"), "run").unwrap();
    fs::set_permissions(place.path(".envrc"), fs::Permissions::from_mode(0o755)).unwrap();
    let id = place.put(".envrc");
    assert!(!place.path(".envrc").exists());
    let record = place.quarantine.find(&id).unwrap();
    let expected = QuarantineRecord {
        id: id.clone(),
        path: place.path(".envrc"),
        entry: EntryKind::File,
        mode: 0o755,
        size: 3,
        why: "a reason".into(),
        session: "s".into(),
        call: Some("c".into()),
        command: "make".into(),
        made: record.made,
    };
    assert_eq!(record, expected);
    assert_eq!(place.quarantine.list(), [expected]);
    assert_eq!(place.quarantine.find(&id[..6]).unwrap().id, id);
    assert!(["", "q-", "../x", "zz"].iter().all(|id| place.quarantine.find(id).is_none()));
    assert_eq!(
        (place.mode(""), place.mode(&id), place.mode(&format!("{id}/record.json")), place.mode(&format!("{id}/entry"))),
        (0o700, 0o700, 0o600, 0o600)
    );
    assert_eq!(place.quarantine.content(&record, 2).unwrap(), b"ru");
    assert_eq!(place.quarantine.restore(&record, false).unwrap(), None);
    assert_eq!(fs::read(place.path(".envrc")).unwrap(), b"run");
    assert_eq!(fs::metadata(place.path(".envrc")).unwrap().mode() & 0o777, 0o755);
    assert_eq!(place.quarantine.list(), []);
}

#[test]
fn restored_entry_replaces_another_only_by_force_and_that_one_is_kept() {
    let place = Place::new();
    fs::create_dir_all(place.path(".claude/sub")).unwrap();
    fs::write(place.path(".claude/sub/f"), "theirs").unwrap();
    fs::set_permissions(place.path(".claude"), fs::Permissions::from_mode(0o500)).unwrap();
    let id = place.put(".claude");
    assert_eq!(place.mode(&format!("{id}/entry")), 0o600, "no program works in it");
    fs::create_dir(place.path(".claude")).unwrap();
    fs::write(place.path(".claude/mine"), "mine").unwrap();
    let record = place.quarantine.find(&id).unwrap();
    assert!(matches!(place.quarantine.restore(&record, false), Err(RestoreError::Occupied(path)) if path == place.path(".claude")));
    let replaced = place.quarantine.restore(&record, true).unwrap().unwrap();
    assert_eq!(fs::read(place.path(".claude/sub/f")).unwrap(), b"theirs");
    let replaced = place.quarantine.find(&replaced).unwrap();
    fs::set_permissions(place.path(".claude"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::remove_dir_all(place.path(".claude")).unwrap();
    place.quarantine.restore(&replaced, false).unwrap();
    assert_eq!(fs::read(place.path(".claude/mine")).unwrap(), b"mine");
    place.quarantine.remove(&id);
    assert_eq!(place.quarantine.list(), []);
}

#[test]
fn entry_is_not_restored_through_a_link_that_was_not_there() {
    let place = Place::new();
    let outside = place.root.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(place.path("d")).unwrap();
    fs::write(place.path("d/.envrc"), "run").unwrap();
    let record = place.quarantine.find(&place.put("d/.envrc")).unwrap();
    fs::remove_dir(place.path("d")).unwrap();
    symlink(&outside, place.path("d")).unwrap();
    place.quarantine.restore(&record, false).unwrap_err();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(place.path("d")).unwrap();
    place.quarantine.restore(&record, false).unwrap();
    assert_eq!(fs::read_to_string(place.path("d/.envrc")).unwrap(), "run");
}

#[test]
fn links_are_moved_and_never_followed() {
    let place = Place::new();
    let outside = place.root.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("key"), "secret").unwrap();
    symlink(&outside, place.path("l")).unwrap();
    assert!(place.quarantine.put(&place.path("l/key"), "x", &Origin::default()).is_err());
    assert!(outside.join("key").exists());
    let id = place.put("l");
    assert!(outside.join("key").exists() && fs::symlink_metadata(place.path("l")).is_err());
    place.quarantine.restore(&place.quarantine.find(&id).unwrap(), false).unwrap();
    assert_eq!(fs::read_link(place.path("l")).unwrap(), outside);
    assert!(place.quarantine.put(&place.path("missing"), "x", &Origin::default()).is_err());
    assert_eq!(place.quarantine.list(), []);
}

#[test]
fn entries_are_moved_across_file_systems() {
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    let place = Place::new();
    let quarantine = Quarantine::new(other.path().join("q"));
    fs::create_dir_all(place.path("d/e")).unwrap();
    fs::write(place.path("d/e/f"), "text").unwrap();
    symlink("/etc/passwd", place.path("d/l")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, place.path("d/p"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    fs::set_permissions(place.path("d/e"), fs::Permissions::from_mode(0o750)).unwrap();
    let id = quarantine.put(&place.path("d"), "x", &Origin::default()).unwrap();
    assert!(!place.path("d").exists());
    quarantine.restore(&quarantine.find(&id).unwrap(), false).unwrap();
    assert_eq!(fs::read(place.path("d/e/f")).unwrap(), b"text");
    assert_eq!(fs::read_link(place.path("d/l")).unwrap(), Path::new("/etc/passwd"));
    assert_eq!(fs::metadata(place.path("d/e")).unwrap().mode() & 0o777, 0o750);
}

#[test]
fn old_and_excess_entries_are_removed() {
    let place = Place::new();
    let ids: Vec<_> = (0..3)
        .map(|number| {
            fs::write(place.path(&number.to_string()), "x").unwrap();
            place.put(&number.to_string())
        })
        .collect();
    let file = place.root.join("data/quarantine").join(&ids[0]).join(RECORD);
    let mut record: QuarantineRecord = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    record.made = SystemTime::now() - std::time::Duration::from_hours(14 * 24 + 1);
    fs::write(&file, serde_json::to_vec(&record).unwrap()).unwrap();
    for number in 0..MAX_ENTRIES {
        fs::write(place.path("x"), "x").unwrap();
        let last = place.put("x");
        assert!(place.quarantine.find(&last).is_some(), "{number}");
    }
    assert_eq!(place.quarantine.list().len(), MAX_ENTRIES);
    assert!(place.quarantine.find(&ids[0]).is_none() && place.quarantine.find(&ids[1]).is_none());
}
