//! Writing: whole or not at all, and never without its pre-image.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haft_contract::{ErrorKind, WriteMode, WriteOutcome, ports::FileSystem};

use crate::support::{BOTH, Disk, Image, Kept, Way, kind_and_message, names, tree, write};

const HASH_OF_NEW: &str = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437";
const HASH_OF_OLD_NEW: &str = "76ecdaec0cc05ceaf5781f2731926d291107c1c2f2f9a2e229a89db2f2080ab3";

#[tokio::test]
async fn a_write_hands_over_the_pre_image_then_replaces_the_file_whole() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "old");
        disk.set_mode("file", 0o640);
        let at = files.locate(Path::new("file")).unwrap();
        let journal = Kept::meanwhile(|_| {
            assert_eq!(disk.get("file"), "old", "the journal comes first");
            Ok(())
        });
        let written = files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap();
        assert_eq!(written, WriteOutcome { bytes: 3, created: false, fingerprint: HASH_OF_NEW.into() });
        let expected = Image {
            path: disk.ws.join("file"),
            content: Some("old".into()),
            mode: Some(0o640),
            after: Some(HASH_OF_NEW.into()),
            created_directories: vec![],
            modified: None,
        };
        assert_eq!(journal.images(), [expected]);
        assert_eq!((disk.get("file").as_str(), disk.mode("file")), ("new", 0o640));
        assert_eq!(files.fingerprint(&at).await.unwrap().as_deref(), Some(HASH_OF_NEW));
        assert_eq!(names(&disk.ws), ["file"]);
    }
}

#[tokio::test]
async fn appending_keeps_what_was_there_and_fingerprints_the_whole() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("file", "old");
    let at = files.locate(Path::new("file")).unwrap();
    let journal = Kept::default();
    let written = files.write(&at, "new".into(), WriteMode::Append, &journal).await.unwrap();
    assert_eq!(written, WriteOutcome { bytes: 3, created: false, fingerprint: HASH_OF_OLD_NEW.into() });
    assert_eq!(disk.get("file"), "oldnew");
    let images = journal.images();
    assert_eq!(images[0].content.as_deref(), Some("old"));
    assert_eq!(images[0].after, files.fingerprint(&at).await.unwrap());
    assert_eq!(images[0].after.as_deref(), Some(HASH_OF_OLD_NEW));

    let fresh = files.locate(Path::new("fresh")).unwrap();
    let written = files.write(&fresh, "new".into(), WriteMode::Append, &journal).await.unwrap();
    assert_eq!(written, WriteOutcome { bytes: 3, created: true, fingerprint: HASH_OF_NEW.into() });
    assert_eq!(disk.get("fresh"), "new");
}

#[tokio::test]
async fn a_file_is_replaced_only_if_it_is_still_what_it_was() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        let journal = Kept::default();
        disk.put("file", "new");
        let (file, none) = (files.locate(Path::new("file")).unwrap(), files.locate(Path::new("none")).unwrap());
        for (at, expected) in [(&file, None), (&file, Some(HASH_OF_OLD_NEW)), (&none, Some(HASH_OF_NEW))] {
            let refused = files.replace(at, "x".into(), expected, &journal).await.unwrap_err();
            assert!(refused.message().contains("changed"), "{refused}");
        }
        assert_eq!((disk.get("file").as_str(), journal.images().len()), ("new", 0), "nothing was touched");
        let written = files.replace(&file, "oldnew".into(), Some(HASH_OF_NEW), &journal).await.unwrap();
        assert_eq!(written, WriteOutcome { bytes: 6, created: false, fingerprint: HASH_OF_OLD_NEW.into() });
        assert!(files.replace(&none, "new".into(), None, &journal).await.unwrap().created);
        assert_eq!((disk.get("file").as_str(), disk.get("none").as_str()), ("oldnew", "new"));
    }
}

#[tokio::test]
async fn large_file_is_compared_beside_its_new_content_and_replaced_only_if_it_is_what_it_was() {
    for way in BOTH {
        let disk = Disk::new();
        let (files, journal) = (disk.files(way), Kept::default());
        let (old, new) = ("old line\n".repeat(300_000), "new line\n".repeat(300_000));
        disk.put("file", &old);
        let (at, before) = (files.locate(Path::new("file")).unwrap(), tree(&disk.ws));
        let refused = files.replace(&at, new.clone().into(), Some(HASH_OF_NEW), &journal).await.unwrap_err();
        assert!(refused.message().contains("changed"), "{refused}");
        assert!(tree(&disk.ws) == before && journal.images().is_empty(), "nothing is left of it");
        let expected = files.fingerprint(&at).await.unwrap();
        let written = files.replace(&at, new.clone().into(), expected.as_deref(), &journal).await.unwrap();
        assert_eq!(Some(written.fingerprint), files.fingerprint(&at).await.unwrap());
        assert!(disk.get("file") == new && journal.images()[0].content.as_deref() == Some(old.as_str()));
    }
}

#[tokio::test]
async fn a_new_file_has_the_permissions_that_new_files_have_here() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("by_others", "x");
    write(&files, "by_us", "x").await.unwrap();
    assert_eq!(disk.mode("by_us"), disk.mode("by_others"));
}

#[tokio::test]
async fn new_content_keeps_the_owner_the_bits_and_the_attributes_of_the_file() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("program", "old");
        let path = disk.ws.join("program");
        // Another owner can be given only by root; without that, the owner is the one who runs the test.
        std::os::unix::fs::chown(&path, Some(4321), Some(4321)).ok();
        let owner = |path: &Path| std::fs::metadata(path).map(|metadata| (metadata.uid(), metadata.gid())).unwrap();
        let before = owner(&path);
        rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty()).unwrap();
        disk.set_mode("program", 0o6755);
        write(&files, "program", "new").await.unwrap();
        let mut note = [0; 16];
        let length = rustix::fs::getxattr(&path, "user.note", &mut note[..]).unwrap();
        assert_eq!((disk.get("program").as_str(), disk.mode("program"), owner(&path)), ("new", 0o6755, before));
        assert_eq!(&note[..length], b"kept");
    }
}

#[tokio::test]
async fn an_addition_goes_behind_what_another_program_adds_meanwhile() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("log", "one\n");
        let (times, at) = (AtomicUsize::new(0), files.locate(Path::new("log")).unwrap());
        let journal = Kept::meanwhile(|_| {
            if times.fetch_add(1, Ordering::SeqCst) < 2 {
                let all = disk.get("log") + "theirs\n";
                disk.put("log", &all);
            }
            Ok(())
        });
        files.write(&at, "ours\n".into(), WriteMode::Append, &journal).await.unwrap();
        assert_eq!(disk.get("log"), "one\ntheirs\ntheirs\nours\n");
        assert_eq!(journal.images().len(), 1, "only the change that was made has a pre-image");
    }
}

#[tokio::test]
async fn a_path_that_ends_in_a_slash_is_no_file() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("x", "old");
        for path in ["x/", "x/."] {
            let at = files.locate(Path::new(path)).unwrap();
            let opened = files.open(&at).await.map(drop).unwrap_err();
            assert_eq!(opened.message(), format!("A part of the path is a file, not a directory: {path}"));
            for error in [
                files.write(&at, "new".into(), WriteMode::Overwrite, &Kept::default()).await.unwrap_err(),
                write(&files, "new/", "new").await.unwrap_err(),
            ] {
                assert!(error.kind() == ErrorKind::ValidationError && error.message().contains("names a folder"), "{error}");
            }
            files.delete(&at, &Kept::default()).await.unwrap_err();
        }
        assert_eq!((names(&disk.ws), disk.get("x").as_str()), (vec!["x".to_owned()], "old"));
    }
}

#[tokio::test]
async fn a28_temporaries_cannot_be_guessed_or_read_and_are_gone_afterwards() {
    let disk = Disk::new();
    let files = disk.files(Way::Walk);
    let seen = Mutex::new(Vec::new());
    let look = |_: &Image| {
        let temporary = names(&disk.ws).into_iter().find(|name| name.starts_with(".haft-")).unwrap();
        seen.lock().unwrap().push((disk.mode(&temporary), temporary));
        Ok(())
    };
    disk.put("private", "x");
    disk.set_mode("private", 0o600);
    for path in ["private", "new1", "new2"] {
        let at = files.locate(Path::new(path)).unwrap();
        files.write(&at, "new".into(), WriteMode::Overwrite, &Kept::meanwhile(look)).await.unwrap();
    }
    let seen = seen.into_inner().unwrap();
    let mut distinct: Vec<_> = seen.iter().map(|(_, name)| name).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 3);
    assert!(distinct.iter().all(|name| name.len() == ".haft-".len() + 32), "{distinct:?}");
    assert_eq!(seen[0].0, 0o600, "a private file's content is never readable by others");
    assert_eq!(names(&disk.ws), ["new1", "new2", "private"]);
}

#[tokio::test]
async fn a_file_that_changes_meanwhile_is_not_overwritten() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        let changed = |path: &str| format!("'{path}' was changed while being written, so nothing was done. Read it again, then retry.");
        disk.put("file", "old");
        let replace = Kept::meanwhile(|_| {
            disk.put("file", "theirs");
            Ok(())
        });
        let at = files.locate(Path::new("file")).unwrap();
        for error in [files.write(&at, "new".into(), WriteMode::Overwrite, &replace).await.unwrap_err(), {
            disk.put("file", "old");
            files.delete(&at, &replace).await.unwrap_err()
        }] {
            assert_eq!(kind_and_message(&error), (ErrorKind::ExecutionError, changed("file").as_str()));
            assert_eq!(disk.get("file"), "theirs");
            assert_eq!(replace.images(), [], "what did not happen needs no pre-image");
        }
        let remove = Kept::meanwhile(|_| {
            std::fs::remove_file(disk.ws.join("file")).unwrap();
            Ok(())
        });
        assert_eq!(files.write(&at, "new".into(), WriteMode::Overwrite, &remove).await.unwrap_err().message(), changed("file"));
        let create = Kept::meanwhile(|_| {
            disk.put("fresh", "theirs");
            Ok(())
        });
        let fresh = files.locate(Path::new("fresh")).unwrap();
        assert_eq!(files.write(&fresh, "new".into(), WriteMode::Overwrite, &create).await.unwrap_err().message(), changed("fresh"));
        assert_eq!(disk.get("fresh"), "theirs");
        assert_eq!((remove.images(), create.images()), (vec![], vec![]));
        assert_eq!(names(&disk.ws), ["fresh"]);
    }
}

#[tokio::test]
async fn a11_a_target_that_becomes_a_link_before_the_last_step_is_refused() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "old");
        let swap = Kept::meanwhile(|_| {
            let _ = std::fs::remove_file(disk.ws.join("file"));
            disk.link(disk.outside.join("secret"), "file");
            Ok(())
        });
        let at = files.locate(Path::new("file")).unwrap();
        let error = files.write(&at, "new".into(), WriteMode::Overwrite, &swap).await.unwrap_err();
        assert!(error.message().starts_with("A part of 'file' changed into a symbolic link"), "{error}");
        assert_eq!(std::fs::read_to_string(disk.outside.join("secret")).unwrap(), crate::support::SECRET);
        assert!(disk.ws.join("file").is_symlink());
        assert_eq!(names(&disk.ws), ["file"]);
    }
}

#[test]
fn a_directory_that_another_call_takes_back_is_made_again() {
    const WRITES: usize = 300;
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    let folder = disk.ws.join("a");
    let (over, allowed, done) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if done.load(Ordering::Relaxed) < allowed.load(Ordering::Relaxed) && std::fs::remove_dir(&folder).is_ok() {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        for _ in 0..WRITES {
            // Fewer than a write has attempts, so that it must succeed.
            allowed.store(done.load(Ordering::Relaxed) + 3, Ordering::Relaxed);
            failures.extend(runtime.block_on(write(&files, "a/file", "new")).err());
            allowed.store(0, Ordering::Relaxed);
            // Either may be gone already, and then there is nothing to do.
            let _ = std::fs::remove_file(folder.join("file"));
            let _ = std::fs::remove_dir(&folder);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(failures.is_empty(), "{} of {WRITES}: {}", failures.len(), failures[0]);
}
