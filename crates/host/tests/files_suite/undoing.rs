//! Removing, and putting back.

use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::{
    ErrorKind, WriteMode,
    ports::{FileSystem, PreImage},
};

use crate::support::{BOTH, Disk, Image, Kept, kind_and_message, names, tree};

const HASH_OF_NEW: &str = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437";

#[tokio::test]
async fn missing_parents_are_made_named_and_taken_back() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("a/here", "x");
        let before = tree(&disk.ws);
        let at = files.locate(Path::new("a/b/c/file")).unwrap();
        let journal = Kept::default();
        let written = files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap();
        assert_eq!((written.bytes, written.created), (3, true));
        let image = Image {
            path: disk.ws.join("a/b/c/file"),
            content: None,
            mode: None,
            after: Some(HASH_OF_NEW.into()),
            created_directories: vec![disk.ws.join("a/b"), disk.ws.join("a/b/c")],
            modified: None,
        };
        assert_eq!(journal.images(), std::slice::from_ref(&image));
        assert_eq!(disk.get("a/b/c/file"), "new");

        files.restore(&at, image.clone().back(), &journal).await.unwrap();
        assert_eq!(tree(&disk.ws), before);
        // Not once more: what the change left is not there.
        let error = files.restore(&at, image.clone().back(), &journal).await.unwrap_err();
        assert_eq!(error.message(), "'a/b/c/file' was changed since, so it was not put back. Look at it, then decide again.");
        assert_eq!(tree(&disk.ws), before);

        // A directory that holds something else by now stays.
        files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap();
        disk.put("a/b/other", "x");
        files.restore(&at, image.back(), &journal).await.unwrap();
        assert_eq!(names(&disk.ws.join("a/b")), ["other"]);
    }
}

#[tokio::test]
async fn a_removal_hands_over_the_pre_image_and_can_be_taken_back() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("a/file", "old");
        disk.set_mode("a/file", 0o700);
        let at = files.locate(Path::new("a/file")).unwrap();
        let journal = Kept::default();
        files.delete(&at, &journal).await.unwrap();
        assert_eq!(names(&disk.ws.join("a")), Vec::<String>::new());
        assert_eq!(files.fingerprint(&at).await.unwrap(), None);
        let image = journal.images().remove(0);
        let expected = Image {
            path: disk.ws.join("a/file"),
            content: Some("old".into()),
            mode: Some(0o700),
            after: None,
            created_directories: vec![],
            modified: None,
        };
        assert_eq!(image, expected);

        std::fs::remove_dir(disk.ws.join("a")).unwrap();
        files.restore(&at, image.back(), &journal).await.unwrap();
        assert_eq!((disk.get("a/file").as_str(), disk.mode("a/file")), ("old", 0o700));

        let gone = files.locate(Path::new("none")).unwrap();
        let error = files.delete(&gone, &journal).await.unwrap_err();
        assert_eq!(kind_and_message(&error), (ErrorKind::FileNotFound, "File not found: none"));
    }
}

#[tokio::test]
async fn what_is_replaced_goes_to_the_journal_and_can_be_had_again() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "now");
        disk.set_mode("file", 0o640);
        let at = files.locate(Path::new("file")).unwrap();
        let (now, journal) = (files.fingerprint(&at).await.unwrap(), Kept::default());
        let then = Image { content: Some("then".into()), mode: Some(0o4750), after: now.clone(), ..Image::default() };
        files.restore(&at, then.back(), &journal).await.unwrap();
        assert_eq!((disk.get("file").as_str(), disk.mode("file")), ("then", 0o4750));
        let expected = |after| Image {
            path: disk.ws.join("file"),
            content: Some("now".into()),
            mode: Some(0o640),
            after,
            created_directories: vec![],
            modified: None,
        };
        let then = files.fingerprint(&at).await.unwrap();
        assert_eq!(journal.images(), [expected(then)]);

        files.restore(&at, journal.images().remove(0).back(), &Kept::default()).await.unwrap();
        assert_eq!((disk.get("file").as_str(), disk.mode("file")), ("now", 0o640));
        let journal = Kept::default();
        files.restore(&at, Image { after: now, ..Image::default() }.back(), &journal).await.unwrap();
        assert_eq!((names(&disk.ws), journal.images()), (vec![], vec![expected(None)]));
    }
}

#[tokio::test]
async fn a_file_that_is_put_back_is_as_old_as_it_was() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "old");
        let (path, then) = (disk.ws.join("file"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000));
        let modified = || std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        let at = files.locate(Path::new("file")).unwrap();
        let journal = Kept::default();
        files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap();
        assert!(modified() > then);
        let image = journal.images().remove(0);
        assert_eq!(image.modified, Some(then));
        files.restore(&at, image.back(), &Kept::default()).await.unwrap();
        assert_eq!((disk.get("file").as_str(), modified()), ("old", then));
    }
}

#[tokio::test]
async fn a_file_that_was_changed_since_is_not_put_back() {
    const HASH_OF_OTHER: &str = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";
    let image = |content: Option<&str>, after: Option<&str>| Image {
        content: content.map(Into::into),
        after: after.map(Into::into),
        ..Image::default()
    };
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "new");
        let before = tree(&disk.ws);
        for (path, image) in [
            ("file", image(Some("old"), Some(HASH_OF_OTHER))),
            ("file", image(Some("old"), None)),
            ("file", image(None, Some(HASH_OF_OTHER))),
            ("file", image(None, None)),
            ("gone", image(Some("old"), Some(HASH_OF_NEW))),
            ("gone", image(None, Some(HASH_OF_NEW))),
            ("a/gone", image(Some("old"), Some(HASH_OF_NEW))),
        ] {
            let (at, journal) = (files.locate(Path::new(path)).unwrap(), Kept::default());
            let error = files.restore(&at, image.clone().back(), &journal).await.unwrap_err();
            let expected = format!("'{path}' was changed since, so it was not put back. Look at it, then decide again.");
            assert_eq!(kind_and_message(&error), (ErrorKind::ExecutionError, expected.as_str()), "{image:?}");
            assert_eq!((tree(&disk.ws), journal.images()), (before.clone(), vec![]));
        }
    }
}

#[tokio::test]
async fn a_file_that_changes_at_the_last_moment_is_not_put_back() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        let journal = Kept::meanwhile(|_| {
            disk.put("file", "theirs");
            Ok(())
        });
        for content in [Some("old".to_owned()), None] {
            disk.put("file", "new");
            let at = files.locate(Path::new("file")).unwrap();
            let image = Image { content, after: Some(HASH_OF_NEW.into()), ..Image::default() };
            let error = files.restore(&at, image.back(), &journal).await.unwrap_err();
            assert_eq!(error.message(), "'file' was changed while being written, so nothing was done. Read it again, then retry.");
            assert_eq!((tree(&disk.ws).into_values().collect::<Vec<_>>(), journal.images()), (vec!["theirs".to_owned()], vec![]));
        }
    }
}

#[tokio::test]
async fn kept_content_has_the_fingerprint_of_the_file_it_was() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    assert_eq!(files.fingerprint_of(Box::new(&b"new"[..])).await.unwrap(), HASH_OF_NEW);
    let error = files.fingerprint_of(Box::new(Damaged)).await.unwrap_err();
    assert_eq!(error.message(), "What was kept cannot be read: damaged.");
}

/// Kept content that turns out to be damaged.
struct Damaged;

impl std::io::Read for Damaged {
    fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("damaged"))
    }
}

#[tokio::test]
async fn what_cannot_be_read_back_changes_nothing() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("file", "now");
    let at = files.locate(Path::new("file")).unwrap();
    let after = files.fingerprint(&at).await.unwrap();
    let image = PreImage { content: Some(Box::new(Damaged)), ..Image { after, ..Image::default() }.back() };
    let error = files.restore(&at, image, &Kept::default()).await.unwrap_err();
    assert_eq!(error.message(), "What was kept of 'file' cannot be read: damaged; the file is unchanged.");
    assert_eq!(tree(&disk.ws).into_iter().collect::<Vec<_>>(), [("file".into(), "now".into())]);
}

#[tokio::test]
async fn directories_that_a_change_did_not_make_are_never_removed() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    std::fs::create_dir_all(disk.ws.join("a/b")).unwrap();
    std::fs::create_dir(disk.ws.join("empty")).unwrap();
    let at = files.locate(Path::new("a/b/file")).unwrap();
    let image =
        Image { created_directories: vec![disk.ws.join("empty"), disk.outside.join("x"), disk.ws.join("a/b/file")], ..Image::default() };
    files.restore(&at, image.back(), &Kept::default()).await.unwrap();
    assert_eq!(names(&disk.ws), ["a", "empty"]);
}
