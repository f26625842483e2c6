//! Moving staged entries to their places.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_contract::ports::{FileSystem, StagedEntry};
use haft_host::LocalFiles;

use crate::support::{BOTH, Disk, Kept, names, tree};

/// A staged folder with a file that has two names, a link and a folder.
fn stage(disk: &Disk) -> PathBuf {
    let staged = disk.base.join("staged");
    fs::create_dir_all(staged.join("new/deep")).unwrap();
    fs::write(staged.join("new/deep/a"), "one").unwrap();
    fs::hard_link(staged.join("new/deep/a"), staged.join("new/deep/b")).unwrap();
    std::os::unix::fs::symlink("deep/a", staged.join("new/link")).unwrap();
    fs::File::open(staged.join("new/deep/a")).unwrap().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
    staged
}

fn entry(files: &LocalFiles, staged: &Path, name: &str, inside: &[&str]) -> StagedEntry {
    let location = files.locate_entry(Path::new(name)).unwrap();
    StagedEntry { location, source: staged.join(name), inside: inside.iter().map(PathBuf::from).collect() }
}

const INSIDE: [&str; 4] = ["deep", "deep/a", "deep/b", "link"];

#[tokio::test]
async fn folder_is_moved_whole_and_every_path_is_on_record() {
    for way in BOTH {
        let disk = Disk::new();
        let (files, staged, journal) = (disk.files(way), stage(&disk), Kept::default());
        let moved = files.adopt(vec![entry(&files, &staged, "new", &INSIDE)], &journal).await.unwrap();
        assert_eq!((moved, names(&staged)), (vec![disk.ws.join("new")], Vec::new()));
        let found = fs::metadata(disk.ws.join("new/deep/a")).unwrap();
        assert_eq!((found.nlink(), found.mtime(), disk.get("new/link")), (2, 1_000_000, "one".to_owned()));
        let images = journal.images();
        assert_eq!(images.len(), 5);
        // All of it is taken back, the last first.
        for image in images.into_iter().rev() {
            let at = files.locate_entry(&image.path).unwrap();
            files.restore(&at, image.back(), &Kept::default()).await.unwrap();
        }
        assert_eq!(names(&disk.ws), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_was_not_checked_is_not_moved() {
    for (what, spoil) in [
        ("an entry that is not listed", (|staged| fs::write(staged.join("new/deep/c"), "more").unwrap()) as fn(&Path)),
        ("a file with special bits", |staged| fs::set_permissions(staged.join("new/deep/a"), PermissionsExt::from_mode(0o4755)).unwrap()),
        ("a pipe", |staged| {
            fs::remove_file(staged.join("new/deep/b")).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, staged.join("new/deep/b"), rustix::fs::Mode::RUSR).unwrap();
        }),
        ("a folder that is gone", |staged| fs::rename(staged.join("new"), staged.join("other")).unwrap()),
    ] {
        let disk = Disk::new();
        let (files, staged, journal) = (disk.files(BOTH[0]), stage(&disk), Kept::default());
        spoil(&staged);
        let moved = files.adopt(vec![entry(&files, &staged, "new", &INSIDE)], &journal).await.unwrap();
        assert_eq!((moved, journal.images().len(), names(&disk.ws)), (Vec::new(), 0, Vec::new()), "{what}");
    }
}

#[tokio::test]
async fn entry_that_appears_meanwhile_is_not_replaced() {
    let disk = Disk::new();
    let (files, staged) = (disk.files(BOTH[0]), stage(&disk));
    let journal = Kept::meanwhile(|_| {
        disk.put("new", "the user's");
        Ok(())
    });
    let error = files.adopt(vec![entry(&files, &staged, "new", &INSIDE)], &journal).await.unwrap_err();
    assert!(error.message().contains("'new' was changed since"), "{error:?}");
    assert_eq!((disk.get("new"), journal.images().len(), tree(&staged).len()), ("the user's".to_owned(), 0, 5));
}

#[tokio::test]
async fn protected_name_is_not_moved() {
    let disk = Disk::new();
    let (files, staged, journal) = (disk.files(BOTH[0]), stage(&disk), Kept::default());
    fs::write(staged.join(".envrc"), "evil").unwrap();
    let moved = files.adopt(vec![entry(&files, &staged, ".envrc", &[])], &journal).await.unwrap();
    assert_eq!((moved, names(&disk.ws)), (Vec::new(), Vec::<String>::new()));
}
