//! Changes that are stopped on the way: nothing has happened.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};

use haft_contract::{
    BoxFuture, SpillWriter, ToolError, WriteMode,
    ports::{FileSystem, Journal, PreImage},
};
use tokio::sync::Notify;

use crate::support::{BOTH, Disk, Image, Kept, Way, names, tree};

#[tokio::test]
async fn a_journal_that_fails_leaves_everything_as_it_was() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "old");
        let before = tree(&disk.ws);
        let journal = Kept::meanwhile(|_| Err(ToolError::execution("no space")));
        for path in ["file", "new", "a/b/new"] {
            let at = files.locate(Path::new(path)).unwrap();
            let error = files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap_err();
            assert_eq!(error.message(), "no space");
        }
        let at = files.locate(Path::new("file")).unwrap();
        assert_eq!(files.delete(&at, &journal).await.unwrap_err().message(), "no space");
        assert_eq!(tree(&disk.ws), before);
    }
}

/// A journal that says when it is asked about a file, and never answers.
#[derive(Default)]
struct Never(Notify);

impl Journal for Never {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        if Image::of(image).is_of_directories_alone() {
            return Box::pin(async { Ok(()) });
        }
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
    fn withdraw<'a>(&'a self, _path: &'a Path, _after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(std::future::pending())
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_write_that_is_dropped_while_it_waits_leaves_everything_as_it_was() {
    for (way, path) in BOTH.into_iter().flat_map(|way| ["file", "a/b/new"].map(|path| (way, path))) {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("file", "old");
        let before = tree(&disk.ws);
        let at = files.locate(Path::new(path)).unwrap();
        let never = Never::default();
        let mut writing = files.write(&at, "new".into(), WriteMode::Overwrite, &never);
        tokio::select! {
            _ = &mut writing => panic!("written without the journal"),
            () = never.0.notified() => {}
        }
        let has_draft = tree(&disk.ws).values().any(|content| content == "new");
        assert!(has_draft || way == Way::Kernel, "the draft is there");
        drop(writing);
        assert_eq!(tree(&disk.ws), before);
    }
}

/// Of two calls that write into a new directory, the one that made it gives up while the other is about to write: that one
/// makes the directory again, and says so.
#[tokio::test]
async fn a_directory_that_goes_while_a_write_waits_is_made_again_and_journalled() {
    for (way, path) in BOTH.into_iter().flat_map(|way| ["d/new", "d/e/new"].map(|path| (way, path))) {
        let disk = Disk::new();
        let files = disk.files(way);
        let directory = disk.ws.join(path).parent().unwrap().to_owned();
        let removals = Mutex::new(0);
        let losing = Kept::meanwhile(|_| {
            let mut removals = removals.lock().unwrap();
            // With a named draft in it, the directory cannot go.
            if *removals < 2 && std::fs::remove_dir(&directory).is_ok() {
                *removals += 1;
            }
            Ok(())
        });
        let at = files.locate(Path::new(path)).unwrap();
        files.write(&at, "new".into(), WriteMode::Overwrite, &losing).await.unwrap();
        assert_eq!(disk.get(path), "new");
        let images = losing.images();
        assert_eq!(images.len(), 1, "what did not happen was withdrawn");
        let made: Vec<_> =
            ["d", "d/e"].into_iter().filter(|made| path.starts_with(&format!("{made}/"))).map(|made| disk.ws.join(made)).collect();
        assert_eq!(images[0].created_directories, made);
        files.restore(&at, images[0].clone().back(), &Kept::default()).await.unwrap();
        assert_eq!(names(&disk.ws), Vec::<String>::new(), "{way:?}");
    }
}

/// A journal that stores what is kept, with whether the first directory was there by then.
#[derive(Default)]
struct Ordered {
    kept: Mutex<Vec<(Image, bool)>>,
}

impl Journal for Ordered {
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        let image = Image::of(image);
        let is_there = image.created_directories[0].exists();
        self.kept.lock().unwrap().push((image, is_there));
        Box::pin(async { Ok(()) })
    }
    fn withdraw<'a>(&'a self, _path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        assert_eq!(after, None, "only the record of the directories is superseded");
        Box::pin(async { Ok(()) })
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn new_directories_are_recorded_before_they_are_made() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        std::fs::create_dir(disk.ws.join("there")).unwrap();
        let at = files.locate(Path::new("there/a/b/new")).unwrap();
        let journal = Ordered::default();
        files.write(&at, "new".into(), WriteMode::Overwrite, &journal).await.unwrap();
        let kept = journal.kept.into_inner().unwrap();
        let directories = ["there/a", "there/a/b"].map(|path| disk.ws.join(path));
        let shown: Vec<_> =
            kept.iter().map(|(image, is_there)| (image.is_of_directories_alone(), *is_there, &image.created_directories[..])).collect();
        assert_eq!(shown, [(true, false, &directories[..]), (false, true, &directories[..])]);
        // Killed before the file was written, the first record alone takes the directories back.
        std::fs::remove_file(disk.ws.join("there/a/b/new")).unwrap();
        files.restore(&at, kept[0].0.clone().back(), &Kept::default()).await.unwrap();
        assert_eq!(names(&disk.ws.join("there")), Vec::<String>::new());
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
        let image = PreImage {
            path: at.path().to_owned(),
            content: Some(Box::new(content)),
            mode: None,
            after: None,
            created_directories: vec![],
            metadata_from: None,
            modified: None,
        };
        let journal = Kept::default();
        let mut restoring = files.restore(&at, image, &journal);
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
