//! Every change is found by the next search, however it was made and however much the search looks at.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use haft_contract::ports::{FileSystem, Journal, MemoryIndex, MemoryQuery, MemoryScope, PreImage, Services};
use haft_contract::{
    BoxFuture, FileInfo, FileReader, Location, ToolError, TreeOptions, TreeVisitor, TreeWatch, WalkSummary, WriteMode, WriteOutcome,
};
use haft_host::LocalFiles;

use super::world::World;

/// The files of this machine, which count the entries that are looked at.
struct CountingFiles {
    inner: LocalFiles,
    entries: Arc<AtomicU64>,
}

impl CountingFiles {
    fn new(world: &World) -> Self {
        Self { inner: world.files(), entries: Arc::default() }
    }

    fn take_count(&self) -> u64 {
        self.entries.swap(0, Ordering::Relaxed)
    }
}

/// An answer of a file system.
type Answer<'a, T> = BoxFuture<'a, Result<T, ToolError>>;

impl FileSystem for CountingFiles {
    fn locate(&self, path: &Path) -> Result<Location, ToolError> {
        self.inner.locate(path)
    }
    fn info<'a>(&'a self, at: &'a Location) -> Answer<'a, FileInfo> {
        self.inner.info(at)
    }
    fn open<'a>(&'a self, at: &'a Location) -> Answer<'a, Box<dyn FileReader>> {
        self.inner.open(at)
    }
    fn write<'a>(&'a self, at: &'a Location, content: Vec<u8>, mode: WriteMode, journal: &'a dyn Journal) -> Answer<'a, WriteOutcome> {
        self.inner.write(at, content, mode, journal)
    }
    fn replace<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        expected: Option<&'a str>,
        journal: &'a dyn Journal,
    ) -> Answer<'a, WriteOutcome> {
        self.inner.replace(at, content, expected, journal)
    }
    fn delete<'a>(&'a self, at: &'a Location, journal: &'a dyn Journal) -> Answer<'a, ()> {
        self.inner.delete(at, journal)
    }
    fn walk<'a>(&'a self, at: &'a Location, options: TreeOptions, visitor: Arc<dyn TreeVisitor>) -> Answer<'a, WalkSummary> {
        Box::pin(async move {
            let walked = self.inner.walk(at, options, visitor).await?;
            self.entries.fetch_add(walked.entries, Ordering::Relaxed);
            Ok(walked)
        })
    }
    fn view(&self) -> Option<u64> {
        self.inner.view()
    }
    fn watch(&self) -> Option<Arc<dyn TreeWatch>> {
        self.inner.watch()
    }
    fn fingerprint<'a>(&'a self, at: &'a Location) -> Answer<'a, Option<String>> {
        self.inner.fingerprint(at)
    }
    fn fingerprint_of(&self, content: Box<dyn std::io::Read + Send>) -> Answer<'_, String> {
        self.inner.fingerprint_of(content)
    }
    fn restore<'a>(&'a self, at: &'a Location, image: PreImage, journal: &'a dyn Journal) -> Answer<'a, ()> {
        self.inner.restore(at, image, journal)
    }
}

async fn found_in(world: &World, files: &CountingFiles, query: &str) -> Vec<String> {
    let answer = world.search_in(files, World::roots(files), query).await.unwrap();
    let mut found: Vec<String> = answer.hits.iter().map(haft_contract::ports::MemoryHit::citation).collect();
    found.sort();
    found
}

/// Writes in place, and gives the file the time that it had.
fn overwrite_unseen(path: &Path, text: &str) {
    let modified = path.metadata().unwrap().modified().unwrap();
    assert_eq!(path.metadata().unwrap().len(), text.len() as u64, "the size is as it was");
    fs::write(path, text).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

/// What is done to files between two searches.
type Change = fn(&World);

/// Each with what finds `needle` after it; before it nothing does.
const CHANGES: &[(&str, Change, &[&str])] = &[
    ("overwritten with the same size and time", |world| overwrite_unseen(&world.path("memory/a.md"), "needle\n"), &["memory/a.md#L1"]),
    ("overwritten", |world| world.write("memory/a.md", "a longer needle\n"), &["memory/a.md#L1"]),
    (
        "appended to",
        |world| {
            use std::io::Write;
            fs::File::options().append(true).open(world.path("memory/deep/er/b.md")).unwrap().write_all(b"\n# N\nneedle\n").unwrap();
        },
        &["memory/deep/er/b.md#L3-L4"],
    ),
    (
        "replaced by a rename",
        |world| {
            world.write("memory/.new", "needle\n");
            fs::rename(world.path("memory/.new"), world.path("memory/a.md")).unwrap();
        },
        &["memory/a.md#L1"],
    ),
    (
        "replaced by an older file of the same size",
        |world| {
            fs::write(world.path("old"), "needle\n").unwrap();
            fs::File::options().write(true).open(world.path("old")).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
            fs::rename(world.path("old"), world.path("memory/a.md")).unwrap();
        },
        &["memory/a.md#L1"],
    ),
    ("made in a new folder", |world| world.write("memory/x/y/z/n.md", "needle\n"), &["memory/x/y/z/n.md#L1"]),
    (
        "moved in with its folder",
        |world| {
            world.write("elsewhere/x/n.md", "needle\n");
            fs::rename(world.path("elsewhere"), world.path("memory/moved")).unwrap();
        },
        &["memory/moved/x/n.md#L1"],
    ),
    (
        "of another memory folder",
        |world| {
            world.write("other/n.md", "needle\n");
            fs::rename(world.path("memory"), world.path("former")).unwrap();
            fs::rename(world.path("other"), world.path("memory")).unwrap();
        },
        &["memory/n.md#L1"],
    ),
    ("changed by another name of it", |world| fs::write(world.path("linked.txt"), "needle\n").unwrap(), &["memory/linked.md#L1"]),
    ("changed in the one file", |world| world.write("MEMORY.md", "needle\n"), &["MEMORY.md#L1"]),
    (
        "replaced in the one file",
        |world| {
            world.write("new", "needle\n");
            fs::rename(world.path("new"), world.path("MEMORY.md")).unwrap();
        },
        &["MEMORY.md#L1"],
    ),
    (
        "made where nothing may be found",
        |world| {
            let outside = world.path("../outside");
            fs::create_dir(&outside).unwrap();
            fs::write(outside.join("n.md"), "needle\n").unwrap();
            symlink(outside.join("n.md"), world.path("memory/link.md")).unwrap();
            symlink(&outside, world.path("memory/folder")).unwrap();
            fs::remove_file(world.path("memory/a.md")).unwrap();
            symlink(outside.join("n.md"), world.path("memory/a.md")).unwrap();
            world.write("memory/.hidden.md", "needle\n");
            world.write("memory/n.txt", "needle\n");
            world.write("memory/denied.md", "needle\n");
        },
        &[],
    ),
];

fn world() -> World {
    let mut world = World::new(&[("MEMORY.md", "one\n"), ("memory/a.md", "former\n"), ("memory/deep/er/b.md", "two\n")]);
    world.write("linked.txt", "three\n");
    fs::hard_link(world.path("linked.txt"), world.path("memory/linked.md")).unwrap();
    world.deny_read = vec!["memory/denied.md".into()];
    world
}

#[tokio::test]
async fn every_kind_of_change_is_found_by_the_next_search_of_a_conversation() {
    for (what, change, expected) in CHANGES {
        let world = world();
        let files = CountingFiles::new(&world);
        assert_eq!(found_in(&world, &files, "needle").await, Vec::<String>::new(), "{what}");
        change(&world);
        assert_eq!(found_in(&world, &files, "needle").await, *expected, "{what}");
        assert_eq!(found_in(&world, &files, "needle").await, *expected, "{what}, again");
    }
}

#[tokio::test]
async fn every_kind_of_change_is_found_by_the_next_search_of_another_process() {
    for (what, change, expected) in CHANGES {
        let world = world();
        world.search("needle").await;
        change(&world);
        let mut found = world.restart(None).found("needle").await;
        found.sort();
        assert_eq!(found, *expected, "{what}");
    }
}

/// Each with what of `needle` is left after it.
const REMOVALS: &[(&str, Change, &[&str])] = &[
    ("a file", |world| fs::remove_file(world.path("memory/a.md")).unwrap(), &["MEMORY.md#L1", "memory/b/c.md#L1"]),
    ("its text", |world| world.write("memory/a.md", ""), &["MEMORY.md#L1", "memory/b/c.md#L1"]),
    ("a folder", |world| fs::remove_dir_all(world.path("memory/b")).unwrap(), &["MEMORY.md#L1", "memory/a.md#L1"]),
    ("all folders", |world| fs::remove_dir_all(world.path("memory")).unwrap(), &["MEMORY.md#L1"]),
    ("the one file", |world| fs::remove_file(world.path("MEMORY.md")).unwrap(), &["memory/a.md#L1", "memory/b/c.md#L1"]),
    (
        "a name that is memory's",
        |world| fs::rename(world.path("memory/a.md"), world.path("memory/a.txt")).unwrap(),
        &["MEMORY.md#L1", "memory/b/c.md#L1"],
    ),
    (
        "a folder, for a link",
        |world| {
            fs::rename(world.path("memory/b"), world.path("outside")).unwrap();
            symlink(world.path("outside"), world.path("memory/b")).unwrap();
        },
        &["MEMORY.md#L1", "memory/a.md#L1"],
    ),
];

#[tokio::test]
async fn what_is_removed_is_not_found_by_the_next_search() {
    for (what, change, expected) in REMOVALS {
        let world = World::new(&[("MEMORY.md", "needle\n"), ("memory/a.md", "needle\n"), ("memory/b/c.md", "needle\n")]);
        let files = CountingFiles::new(&world);
        assert_eq!(found_in(&world, &files, "needle").await.len(), 3, "{what}");
        change(&world);
        assert_eq!(found_in(&world, &files, "needle").await, *expected, "{what}");
        let mut found = world.restart(None).found("needle").await;
        found.sort();
        assert_eq!(found, *expected, "{what}, in another process");
    }
}

#[tokio::test]
async fn a_search_looks_only_at_what_changed() {
    let world = World::new(&[("MEMORY.md", "alpha\n")]);
    for number in 0..300 {
        world.write(&format!("memory/{}/{number}.md", number % 3), format!("note{number}\n"));
    }
    let files = CountingFiles::new(&world);
    found_in(&world, &files, "note7").await;
    assert_eq!(files.take_count(), 304, "the first search compares all files and folders");
    assert_eq!(found_in(&world, &files, "note7").await, ["memory/1/7.md#L1"]);
    assert_eq!(files.take_count(), 0, "then nothing has changed");
    world.write("memory/2/5.md", "changed\n");
    assert_eq!(found_in(&world, &files, "changed").await, ["memory/2/5.md#L1"]);
    assert_eq!(files.take_count(), 1);
    world.write("MEMORY.md", "bravo\n");
    assert_eq!(found_in(&world, &files, "bravo").await, ["MEMORY.md#L1"]);
    assert_eq!(files.take_count(), 1);
    world.write("memory/new/1.md", "fresh\n");
    assert_eq!(found_in(&world, &files, "fresh").await, ["memory/new/1.md#L1"]);
    assert!(files.take_count() > 300, "a new folder is found by comparing all");
    found_in(&world, &files, "fresh").await;
    assert_eq!(files.take_count(), 0, "and is watched from then on");
    let other = CountingFiles::new(&world);
    found_in(&world, &other, "fresh").await;
    assert!(other.take_count() > 300, "what one view showed holds for no other");
}

#[tokio::test]
async fn another_process_that_changes_the_index_makes_all_files_count_again() {
    let world = World::new(&[("memory/a.md", "alpha\n"), ("memory/b.md", "bravo\n")]);
    let files = CountingFiles::new(&world);
    found_in(&world, &files, "alpha").await;
    let other = rusqlite::Connection::open(world.index()).unwrap();
    other.execute_batch("DELETE FROM chunks; DELETE FROM files").unwrap();
    assert_eq!(found_in(&world, &files, "alpha").await, ["memory/a.md#L1"]);
}

#[tokio::test]
async fn a_change_is_indexed_without_a_search_when_it_has_settled() {
    let world = World::new(&[("memory/a.md", "alpha\n")]);
    let service = Arc::new(haft_memory::MemoryService::new(super::world::settings(world.data()), None, None));
    let mut services = Services::default();
    services.memory = Some(Arc::clone(&service) as _);
    let host = haft_host::LocalHost::with_parts(Arc::new(world.files()), world.path("alerts"), || unreachable!("only files are used"));
    let following = tokio::spawn(Arc::clone(&service).follow(Arc::new(host.with_services(services))));
    let files = world.files();
    let scope = MemoryScope { files: &files, roots: World::roots(&files), sessions: None };
    service.search(MemoryQuery { query: "alpha".into(), max_results: 6, min_score: 0.0 }, scope).await.unwrap();
    let index = rusqlite::Connection::open(world.index()).unwrap();
    let size = || index.query_row("SELECT size FROM files WHERE path = 'memory/a.md'", [], |row| row.get::<_, i64>(0)).unwrap();
    for text in ["a change\n", "another change, which is longer\n"] {
        world.write("memory/a.md", text);
        let indexed = async {
            while size() != i64::try_from(text.len()).unwrap() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), indexed).await.expect("the change is indexed");
    }
    following.abort();
}
