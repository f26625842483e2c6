//! Writing, removing and putting back: whole or not at all, and never without its pre-image.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};

use haft_contract::{BoxFuture, ErrorKind, FileSystem, Journal, PreImage, SpillWriter, ToolError, WriteMode, Written};
use tokio::sync::Notify;

use crate::support::{BOTH, Disk, Image, Kept, kind_and_message, names, tree, write};

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
        assert_eq!(written, Written { bytes: 3, created: false });
        let expected = Image {
            path: disk.ws.join("file"),
            content: Some("old".into()),
            mode: Some(0o640),
            after: Some(HASH_OF_NEW.into()),
            created_directories: vec![],
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
    assert_eq!(written, Written { bytes: 3, created: false });
    assert_eq!(disk.get("file"), "oldnew");
    let images = journal.images();
    assert_eq!(images[0].content.as_deref(), Some("old"));
    assert_eq!(images[0].after, files.fingerprint(&at).await.unwrap());
    assert_eq!(images[0].after.as_deref(), Some(HASH_OF_OLD_NEW));

    let fresh = files.locate(Path::new("fresh")).unwrap();
    assert_eq!(files.write(&fresh, "new".into(), WriteMode::Append, &journal).await.unwrap(), Written { bytes: 3, created: true });
    assert_eq!(disk.get("fresh"), "new");
}

#[tokio::test]
async fn missing_parents_are_made_named_and_taken_back() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("a/here", "x");
        let before = tree(&disk.ws);
        let at = files.locate(Path::new("a/b/c/file")).unwrap();
        let journal = Kept::default();
        assert_eq!(files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap(), Written { bytes: 3, created: true });
        let image = Image {
            path: disk.ws.join("a/b/c/file"),
            content: None,
            mode: None,
            after: Some(HASH_OF_NEW.into()),
            created_directories: vec![disk.ws.join("a/b"), disk.ws.join("a/b/c")],
        };
        assert_eq!(journal.images(), std::slice::from_ref(&image));
        assert_eq!(disk.get("a/b/c/file"), "new");

        files.restore(&at, image.clone().back()).await.unwrap();
        assert_eq!(tree(&disk.ws), before);
        // Once more changes nothing.
        files.restore(&at, image.clone().back()).await.unwrap();
        assert_eq!(tree(&disk.ws), before);

        // A directory that holds something else by now stays.
        files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap();
        disk.put("a/b/other", "x");
        files.restore(&at, image.back()).await.unwrap();
        assert_eq!(names(&disk.ws.join("a/b")), ["other"]);
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
async fn the_bits_that_lend_power_do_not_survive_new_content() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("program", "old");
    disk.set_mode("program", 0o4755);
    write(&files, "program", "new").await.unwrap();
    assert_eq!(disk.mode("program"), 0o755);
}

#[tokio::test]
async fn a28_temporaries_cannot_be_guessed_or_read_and_are_gone_afterwards() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
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
async fn a_journal_that_fails_leaves_everything_as_it_was() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "old");
        let before = tree(&disk.ws);
        let journal = Kept::meanwhile(|_| Err(ToolError::execution("no room")));
        for path in ["file", "new", "a/b/new"] {
            let at = files.locate(Path::new(path)).unwrap();
            let error = files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap_err();
            assert_eq!(error.message(), "no room");
        }
        let at = files.locate(Path::new("file")).unwrap();
        assert_eq!(files.delete(&at, &journal).await.unwrap_err().message(), "no room");
        assert_eq!(tree(&disk.ws), before);
    }
}

/// A journal that says when it is asked, and never answers.
#[derive(Default)]
struct Never(Notify);

impl Journal for Never {
    fn keep(&self, _image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_write_that_is_dropped_while_it_waits_leaves_everything_as_it_was() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("file", "old");
    let before = tree(&disk.ws);
    for path in ["file", "a/b/new"] {
        let at = files.locate(Path::new(path)).unwrap();
        let never = Never::default();
        let mut writing = files.write(&at, "new".into(), WriteMode::Overwrite, &never);
        tokio::select! {
            _ = &mut writing => panic!("written without the journal"),
            () = never.0.notified() => {}
        }
        assert!(tree(&disk.ws).values().any(|content| content == "new"), "the draft is there");
        drop(writing);
        assert_eq!(tree(&disk.ws), before);
    }
}

#[test]
fn a_write_that_is_dropped_at_once_never_happens() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    // With one thread for such work, what is asked for later begins when the write's work has ended.
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let at = files.locate(Path::new("a/file")).unwrap();
        let never = Never::default();
        let mut writing = files.write(&at, vec![b'x'; 1 << 20], WriteMode::Overwrite, &never);
        assert!(writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(writing);
        tokio::task::spawn_blocking(|| {}).await.unwrap();
    });
    assert_eq!(names(&disk.ws), Vec::<String>::new());
}

#[test]
fn a_write_that_is_dropped_before_its_last_step_never_happens() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("file", "old");
    let (release, held) = mpsc::channel::<()>();
    let (held, asked) = (Mutex::new(Some(held)), Notify::new());
    let journal = Kept::meanwhile(|_| {
        // Keeps the only thread for such work busy, so that the last step is asked for but has to wait.
        let held = held.lock().unwrap().take().unwrap();
        tokio::task::spawn_blocking(move || held.recv());
        asked.notify_one();
        Ok(())
    });
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let at = files.locate(Path::new("file")).unwrap();
        let mut writing = files.write(&at, "new".into(), WriteMode::Overwrite, &journal);
        tokio::select! {
            biased;
            _ = &mut writing => panic!("written while the thread was busy"),
            () = asked.notified() => {}
        }
        drop(writing);
        release.send(()).unwrap();
        tokio::task::spawn_blocking(|| {}).await.unwrap();
    });
    assert_eq!(tree(&disk.ws).into_iter().collect::<Vec<_>>(), [("file".into(), "old".into())]);
}

/// Kept content that has no end, and waits in the middle of its first piece.
struct Endless {
    asked: Arc<Notify>,
    go: mpsc::Receiver<()>,
    pieces: Arc<AtomicUsize>,
}

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.pieces.fetch_add(1, Ordering::Relaxed) == 0 {
            self.asked.notify_one();
            self.go.recv().unwrap();
        }
        Ok(if self.pieces.load(Ordering::Relaxed) < 100 { buffer.len() } else { 0 })
    }
}

#[test]
fn putting_back_stops_when_nobody_waits_for_it() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    let (release, go) = mpsc::channel();
    let (asked, pieces) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let content = Endless { asked: Arc::clone(&asked), go, pieces: Arc::clone(&pieces) };
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let at = files.locate(Path::new("a/file")).unwrap();
        let image =
            PreImage { path: at.path.clone(), content: Some(Box::new(content)), mode: None, after: None, created_directories: vec![] };
        let mut restoring = files.restore(&at, image);
        tokio::select! {
            _ = &mut restoring => panic!("there is no end to it"),
            () = asked.notified() => {}
        }
        drop(restoring);
        release.send(()).unwrap();
        tokio::task::spawn_blocking(|| {}).await.unwrap();
    });
    assert_eq!(pieces.load(Ordering::Relaxed), 1);
    assert_eq!(names(&disk.ws), Vec::<String>::new());
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
        };
        assert_eq!(image, expected);

        std::fs::remove_dir(disk.ws.join("a")).unwrap();
        files.restore(&at, image.back()).await.unwrap();
        assert_eq!((disk.get("a/file").as_str(), disk.mode("a/file")), ("old", 0o700));

        let gone = files.locate(Path::new("none")).unwrap();
        let error = files.delete(&gone, &journal).await.unwrap_err();
        assert_eq!(kind_and_message(&error), (ErrorKind::FileNotFound, "File not found: none"));
    }
}

#[tokio::test]
async fn restoring_replaces_what_is_there_now() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("file", "now");
    let at = files.locate(Path::new("file")).unwrap();
    let image = Image { content: Some("then".into()), mode: Some(0o4750), ..Image::default() };
    files.restore(&at, image.back()).await.unwrap();
    assert_eq!((disk.get("file").as_str(), disk.mode("file")), ("then", 0o750));
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
    let image = PreImage { path: at.path.clone(), content: Some(Box::new(Damaged)), mode: None, after: None, created_directories: vec![] };
    let error = files.restore(&at, image).await.unwrap_err();
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
    files.restore(&at, image.back()).await.unwrap();
    assert_eq!(names(&disk.ws), ["a", "empty"]);
}

#[test]
fn a_directory_that_another_call_takes_back_is_made_again() {
    const WRITES: usize = 300;
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    let folder = disk.ws.join("a");
    let (over, removals) = (AtomicBool::new(false), AtomicUsize::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if removals.load(Ordering::Relaxed) > 0 && std::fs::remove_dir(&folder).is_ok() {
                    removals.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
        for _ in 0..WRITES {
            // Fewer than a write has attempts, so that it must succeed.
            removals.store(3, Ordering::Relaxed);
            failures.extend(runtime.block_on(write(&files, "a/file", "new")).err());
            removals.store(0, Ordering::Relaxed);
            // Either may be gone already, and then there is nothing to do.
            let _ = std::fs::remove_file(folder.join("file"));
            let _ = std::fs::remove_dir(&folder);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(failures.is_empty(), "{} of {WRITES}: {}", failures.len(), failures[0]);
}
