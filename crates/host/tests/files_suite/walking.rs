//! Walking through trees of every kind: what is visited, what is passed over, and that it ends.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime};

use haft_contract::{ErrorKind, ToolError, TreeEntry, TreeOptions, TreeVisitor, Visit, WalkSummary, ports::FileSystem};
use haft_host::{LocalFiles, WorkspaceOptions};

use crate::support::{BOTH, Disk, SECRET, Way, kind_and_message, open};

/// Writes down every path, with what could be read there.
#[derive(Default)]
pub(crate) struct Seen(Mutex<BTreeMap<Vec<u8>, String>>);

impl TreeVisitor for Seen {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        let mut content = String::new();
        let read = if entry.is_directory() {
            assert!(entry.open().is_err(), "a directory was opened");
            content.push('/');
            Ok(0)
        } else {
            entry.open().and_then(|mut file| file.read_to_string(&mut content))
        };
        if let Err(error) = read {
            content = format!("{error}");
        }
        let before = self.0.lock().unwrap().insert(entry.path().as_os_str().as_bytes().to_vec(), content);
        assert_eq!(before, None, "{} was visited twice", entry.path().display());
        Visit::On
    }
}

impl Seen {
    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }
}

pub(crate) async fn walk(
    files: &LocalFiles,
    path: impl AsRef<Path>,
    options: TreeOptions,
) -> Result<(Vec<String>, WalkSummary), ToolError> {
    let seen = Arc::new(Seen::default());
    let walked = files.walk(&files.locate(path.as_ref())?, options, Arc::clone(&seen) as _).await?;
    let entries = seen.0.lock().unwrap().len() as u64;
    assert_eq!(walked.entries, entries);
    Ok((seen.paths(), walked))
}

async fn paths(files: &LocalFiles, path: &str, options: TreeOptions) -> Vec<String> {
    walk(files, path, options).await.unwrap().0
}

fn all() -> TreeOptions {
    TreeOptions::default().with_hidden(true).with_ignored(true)
}

#[tokio::test]
async fn every_file_is_visited_once_with_its_content() {
    let disk = Disk::new();
    for number in 0..300 {
        disk.put(&format!("d{}/e{}/f{number}", number % 7, number % 11), &format!("content {number}"));
    }
    for way in BOTH {
        let files = disk.files(way);
        let seen = Arc::new(Seen::default());
        files.walk(&files.locate(Path::new(".")).unwrap(), TreeOptions::default(), Arc::clone(&seen) as _).await.unwrap();
        let expected: BTreeMap<Vec<u8>, String> = (0..300)
            .map(|number| (format!("d{}/e{}/f{number}", number % 7, number % 11).into_bytes(), format!("content {number}")))
            .collect();
        assert_eq!(*seen.0.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn the_root_may_be_any_folder_or_a_file() {
    let disk = Disk::new();
    disk.put("a/b/c", "x");
    disk.put("a/.hidden", "x");
    disk.put(".gitignore", "c\n.hidden\n");
    let files = disk.files(BOTH[0]);
    let outside = disk.outside.display().to_string();
    for (path, options, expected) in [
        ("a", all(), &[".hidden", "b/c"][..]),
        ("a/b", all(), &["c"]),
        ("a/b", TreeOptions::default(), &[]),
        // A file that was named itself is visited, hidden or ignored as it may be.
        ("a/b/c", TreeOptions::default(), &["c"]),
        ("a/.hidden", TreeOptions::default(), &[".hidden"]),
        (&outside, TreeOptions::default(), &["secret"]),
    ] {
        assert_eq!(paths(&files, path, options).await, expected, "{path}");
    }
}

#[tokio::test]
async fn what_cannot_be_walked_is_refused() {
    let disk = Disk::new();
    disk.put("secrets/a", "x");
    rustix::fs::mknodat(rustix::fs::CWD, disk.ws.join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let files = open(WorkspaceOptions { deny_read: vec!["secrets".into()], ..disk.options() }, BOTH[0]);
    for (path, kind, message) in [
        ("nowhere", ErrorKind::FileNotFound, "File not found: nowhere"),
        ("pipe", ErrorKind::PathNotAllowed, "'pipe' is not an ordinary file: only ordinary files can be read or written."),
        (
            "secrets",
            ErrorKind::PathNotAllowed,
            "'secrets' may not be read: workspace.deny_read has 'secrets'. Ask the user for what you need of it.",
        ),
    ] {
        let error = walk(&files, path, all()).await.unwrap_err();
        assert_eq!(kind_and_message(&error), (kind, message));
    }
}

#[tokio::test]
async fn hidden_files_directories_and_depth_are_as_asked() {
    let disk = Disk::new();
    for path in ["a", ".b", "d/e", "d/.f/g", "d/h/i/j", ".git/config", "d/.git/HEAD"] {
        disk.put(path, "x");
    }
    let files = disk.files(BOTH[0]);
    let default = TreeOptions::default;
    for (options, expected) in [
        (default(), &["a", "d/e", "d/h/i/j"][..]),
        (default().with_hidden(true), &[".b", "a", "d/.f/g", "d/e", "d/h/i/j"]),
        (default().with_directories(true), &["a", "d", "d/e", "d/h", "d/h/i", "d/h/i/j"]),
        (default().to_depth(0), &[]),
        (default().to_depth(1), &["a"]),
        (default().to_depth(2), &["a", "d/e"]),
        (default().to_depth(2).with_directories(true), &["a", "d", "d/e", "d/h"]),
    ] {
        assert_eq!(paths(&files, ".", options.clone()).await, expected, "{options:?}");
    }
    assert_eq!(paths(&files, ".git", default()).await, ["config"], "it was named itself");
}

#[tokio::test]
async fn a06_links_are_passed_over_wherever_they_lead() {
    let disk = Disk::new();
    disk.put("real/file", "x");
    disk.link("/etc", "out");
    disk.link(disk.outside.join("secret"), "out_file");
    disk.link("real", "in");
    disk.link("real/file", "in_file");
    disk.link(".", "loop");
    disk.link("..", "real/up");
    disk.link("nowhere", "dangling");
    disk.link("self", "self");
    for way in BOTH {
        let (paths, walked) = walk(&disk.files(way), ".", all()).await.unwrap();
        assert_eq!((paths, walked.troubles), (vec!["real/file".to_owned()], vec![]));
        // A link that was named itself leads where it leads, and is checked there.
        assert_eq!(walk(&disk.files(way), "in", all()).await.unwrap().0, ["file"]);
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_passed_over_and_counted() {
    let disk = Disk::new();
    for path in ["a.rs", "b.key", "B.KEY", "secrets/deep/c.rs", "d/secrets/e.rs", "d/.env", "d/f.rs", "d/.e\u{200c}nv"] {
        disk.put(path, SECRET);
    }
    let options = WorkspaceOptions { deny_read: vec!["**/*.key".into(), "secrets".into(), ".env".into()], ..disk.options() };
    for way in BOTH {
        let files = open(options.clone(), way);
        let (paths, walked) = walk(&files, ".", all()).await.unwrap();
        assert_eq!((paths, walked.denied), (vec!["a.rs".to_owned(), "d/f.rs".into()], 6));
        let (paths, walked) = walk(&files, "d", TreeOptions::default()).await.unwrap();
        assert_eq!((paths, walked.denied), (vec!["f.rs".to_owned()], 1), "what is hidden is not looked at");
    }
}

#[tokio::test]
async fn the_kernels_folders_are_not_entered() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    let (paths, _) = walk(&files, "/", TreeOptions::default().with_directories(true).to_depth(1)).await.unwrap();
    assert!(paths.contains(&"etc".to_owned()), "{paths:?}");
    for folder in ["proc", "sys", "dev"] {
        assert!(!paths.contains(&folder.to_owned()), "{folder}");
    }
    assert_eq!(walk(&files, "/proc/self", all()).await.unwrap_err().kind(), ErrorKind::PathNotAllowed);
}

#[tokio::test]
async fn names_of_every_kind_are_visited_as_they_are() {
    let disk = Disk::new();
    let long = "x".repeat(255);
    let names: [&[u8]; 8] =
        [b"plain", b"not \xff\xfe utf-8", b"two\nlines", b"tab\tbell\x07", b"-rf", b" blank ", "日本".as_bytes(), long.as_bytes()];
    for name in names {
        std::fs::write(disk.ws.join(OsStr::from_bytes(name)), "x").unwrap();
    }
    // As deep as the system allows, and a little.
    let mut deep = disk.ws.clone();
    while deep.as_os_str().len() < 3800 {
        deep.push("d".repeat(200));
        std::fs::create_dir(&deep).unwrap();
    }
    std::fs::write(deep.join("bottom"), "x").unwrap();
    for way in BOTH {
        let files = disk.files(way);
        let seen = Arc::new(Seen::default());
        let walked = files.walk(&files.locate(Path::new(".")).unwrap(), all(), Arc::clone(&seen) as _).await.unwrap();
        let seen = seen.0.lock().unwrap();
        for name in names {
            assert_eq!(seen.get(name).map(String::as_str), Some("x"), "{}", String::from_utf8_lossy(name));
        }
        let bottom = deep.join("bottom");
        assert!(seen.contains_key(bottom.strip_prefix(&disk.ws).unwrap().as_os_str().as_bytes()));
        assert_eq!((seen.len(), walked.troubles), (names.len() + 1, vec![]));
    }
}

#[tokio::test]
async fn special_files_are_never_opened() {
    let disk = Disk::new();
    disk.put("file", "x");
    rustix::fs::mknodat(rustix::fs::CWD, disk.ws.join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(disk.ws.join("socket")).unwrap();
    assert_eq!(paths(&disk.files(BOTH[0]), ".", all()).await, ["file"]);
}

#[tokio::test]
async fn a_file_that_was_swapped_for_a_link_is_not_opened() {
    struct Swap(Disk, AtomicUsize);
    impl TreeVisitor for Swap {
        fn visit(&self, entry: &dyn TreeEntry) -> Visit {
            let path = self.0.ws.join(entry.path());
            std::fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(self.0.outside.join("secret"), &path).unwrap();
            assert!(entry.open().is_err() && entry.facts().is_err(), "{} led out", path.display());
            self.1.fetch_add(1, Ordering::Relaxed);
            Visit::On
        }
    }
    for way in BOTH {
        let disk = Disk::new();
        disk.put("a", "x");
        disk.put("d/b", "x");
        let files = disk.files(way);
        let swap = Arc::new(Swap(disk, AtomicUsize::new(0)));
        files.walk(&files.locate(Path::new(".")).unwrap(), all(), Arc::clone(&swap) as _).await.unwrap();
        assert_eq!(swap.1.load(Ordering::Relaxed), 2);
    }
}

/// Folders change into links to the outside and back while the tree is walked: nothing from there is ever seen.
#[tokio::test]
async fn a08_a_folder_that_keeps_changing_into_a_link_never_leads_out() {
    let disk = Disk::new();
    for number in 0..20 {
        disk.put(&format!("d/e{number}/inside"), "x");
    }
    std::fs::create_dir(disk.outside.join("e3")).unwrap();
    std::fs::write(disk.outside.join("e3/inside"), SECRET).unwrap();
    std::fs::write(disk.outside.join("e3/other"), SECRET).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let flipping = {
        let (over, ws, outside) = (Arc::clone(&over), disk.ws.clone(), disk.outside.clone());
        std::thread::spawn(move || {
            let (folder, aside) = (ws.join("d"), ws.join(".aside"));
            while !over.load(Ordering::Relaxed) {
                std::fs::rename(&folder, &aside).unwrap();
                std::os::unix::fs::symlink(&outside, &folder).unwrap();
                std::fs::remove_file(&folder).unwrap();
                std::fs::rename(&aside, &folder).unwrap();
            }
        })
    };
    for way in BOTH {
        let files = disk.files(way);
        for _ in 0..100 {
            let seen = Arc::new(Seen::default());
            let at = files.locate(Path::new(".")).unwrap();
            files.walk(&at, TreeOptions::default(), Arc::clone(&seen) as _).await.unwrap();
            for (path, content) in &*seen.0.lock().unwrap() {
                assert!(path.ends_with(b"/inside") && content != SECRET, "{}: {content}", String::from_utf8_lossy(path));
            }
        }
    }
    over.store(true, Ordering::Relaxed);
    flipping.join().unwrap();
}

#[tokio::test]
async fn what_cannot_be_looked_into_is_told_and_the_rest_is_walked() {
    if rustix::process::geteuid().is_root() {
        // Root may look into everything, so this needs another pair of eyes: a name that is too long for the system is as good.
        let disk = Disk::new();
        disk.put("a", "x");
        let mut deep = rustix::fs::open(&disk.ws, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
        for _ in 0..25 {
            let name = "d".repeat(200);
            rustix::fs::mkdirat(&deep, &name, rustix::fs::Mode::RWXU).unwrap();
            deep = rustix::fs::openat(&deep, &name, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
        }
        let (paths, walked) = walk(&disk.files(BOTH[0]), ".", all()).await.unwrap();
        assert_eq!((paths, walked.troubles.len()), (vec!["a".to_owned()], 1));
        assert_eq!(walked.troubles[0].1, "the path is longer than the system allows");
        return;
    }
    let disk = Disk::new();
    for number in 0..30 {
        disk.put(&format!("locked{number:02}/a"), "x");
        disk.set_mode(&format!("locked{number:02}"), 0o000);
    }
    disk.put("open/a", "x");
    let (paths, walked) = walk(&disk.files(BOTH[0]), ".", all()).await.unwrap();
    assert_eq!((paths, walked.troubles.len()), (vec!["open/a".to_owned()], 20));
    assert!(walked.troubles.iter().all(|(path, why)| path.starts_with("locked") && why == "permission denied"), "{walked:?}");
    for number in 0..30 {
        disk.set_mode(&format!("locked{number:02}"), 0o755);
    }
}

#[tokio::test]
async fn a_visitor_that_has_seen_enough_ends_the_walk() {
    struct First(AtomicUsize);
    impl TreeVisitor for First {
        fn visit(&self, _: &dyn TreeEntry) -> Visit {
            self.0.fetch_add(1, Ordering::Relaxed);
            Visit::Enough
        }
    }
    let disk = Disk::new();
    for number in 0..500 {
        disk.put(&format!("d{}/f{number}", number % 50), "x");
    }
    let files = disk.files(BOTH[0]);
    let first = Arc::new(First(AtomicUsize::new(0)));
    let walked = files.walk(&files.locate(Path::new(".")).unwrap(), all(), Arc::clone(&first) as _).await.unwrap();
    // Each thread may have been looking at one.
    assert!(walked.stopped && (1..=8).contains(&first.0.load(Ordering::Relaxed)), "{walked:?}");
    let (_, walked) = walk(&files, ".", all()).await.unwrap();
    assert!(!walked.stopped);
}

/// Waits at the first entry until it is told to continue, then reads.
#[derive(Default)]
struct Waiting {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
    visits: AtomicUsize,
    read: Mutex<Option<std::io::Result<usize>>>,
}

impl TreeVisitor for Waiting {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        self.visits.fetch_add(1, Ordering::Relaxed);
        let mut file = entry.open().unwrap();
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        while !state.1 {
            state = self.changed.wait(state).unwrap();
        }
        *self.read.lock().unwrap() = Some(file.read(&mut [0; 10]));
        Visit::On
    }
}

#[test]
fn a_walk_that_is_dropped_stops_soon_even_while_it_reads() {
    let disk = Disk::new();
    for number in 0..1000 {
        disk.put(&format!("{}/{number}", number % 10), "x");
    }
    let files = disk.files(BOTH[0]);
    let waiting = Arc::new(Waiting::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let at = files.locate(Path::new(".")).unwrap();
        let mut walking = files.walk(&at, all(), Arc::clone(&waiting) as _);
        let begun = async {
            while !waiting.state.lock().unwrap().0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = &mut walking => panic!("it waits for the visitor"),
            () = begun => {}
        }
        drop(walking);
    });
    waiting.state.lock().unwrap().1 = true;
    waiting.changed.notify_all();
    // Waits for the work on other threads.
    drop(runtime);
    let visits = waiting.visits.load(Ordering::Relaxed);
    assert!((1..=8).contains(&visits), "{visits} visits");
    assert!(waiting.read.lock().unwrap().take().unwrap().is_err(), "reading continued");
}

#[tokio::test]
async fn a_visitor_that_panics_ends_the_walk_and_nothing_hangs() {
    struct Panics;
    impl TreeVisitor for Panics {
        fn visit(&self, _: &dyn TreeEntry) -> Visit {
            panic!("a fault of the tool");
        }
    }
    let disk = Disk::new();
    for number in 0..100 {
        disk.put(&format!("{}/{number}", number % 10), "x");
    }
    let files = disk.files(BOTH[0]);
    let error = files.walk(&files.locate(Path::new(".")).unwrap(), all(), Arc::new(Panics)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ExecutionError);
}

#[tokio::test]
async fn facts_are_those_of_the_file() {
    struct Facts(Mutex<BTreeMap<String, (u64, Option<SystemTime>)>>);
    impl TreeVisitor for Facts {
        fn visit(&self, entry: &dyn TreeEntry) -> Visit {
            self.0.lock().unwrap().insert(entry.path().display().to_string(), entry.facts().unwrap());
            Visit::On
        }
    }
    let disk = Disk::new();
    let then = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_000_000);
    for (path, content) in [("a", "1"), ("d/b", "22")] {
        disk.put(path, content);
        std::fs::File::options().write(true).open(disk.ws.join(path)).unwrap().set_modified(then).unwrap();
    }
    let files = disk.files(BOTH[0]);
    let facts = Arc::new(Facts(Mutex::default()));
    files.walk(&files.locate(Path::new(".")).unwrap(), all(), Arc::clone(&facts) as _).await.unwrap();
    let expected = [("a".to_owned(), (1, Some(then))), ("d/b".to_owned(), (2, Some(then)))];
    assert_eq!(*facts.0.lock().unwrap(), BTreeMap::from(expected));
}

#[tokio::test]
async fn many_walks_at_once_all_end() {
    let disk = Disk::new();
    for number in 0..200 {
        disk.put(&format!("{}/{number}", number % 20), "x");
    }
    let files = Arc::new(disk.files(Way::Kernel));
    let walks: Vec<_> = (0..50)
        .map(|_| {
            let files = Arc::clone(&files);
            tokio::spawn(async move { walk(&files, ".", all()).await.unwrap().1.entries })
        })
        .collect();
    for walk in walks {
        assert_eq!(walk.await.unwrap(), 200);
    }
}
