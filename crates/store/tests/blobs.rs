//! What is the file blobs' own: private files, names, leftovers.
#![allow(clippy::unwrap_used, reason = "helpers are part of the tests")]

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Cursor;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_store::{Blobs, FileBlobs, StoreError};
use tempfile::tempdir;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn spill(blobs: &FileBlobs) -> std::path::PathBuf {
    blobs.spill("txt").await.unwrap().finish().await.unwrap()
}

#[tokio::test]
async fn folders_and_files_are_private() {
    let outer = tempdir().unwrap();
    let home = outer.path().join("home");
    for folder in ["", "spills", "pre-images"] {
        fs::create_dir(home.join(folder)).unwrap();
        fs::set_permissions(home.join(folder), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let blobs = FileBlobs::open(&home).unwrap();
    let writer = blobs.spill("txt").await.unwrap();
    let unfinished = home.join("spills").join(&names(&home.join("spills"))[0]);
    assert_eq!(mode(&unfinished), 0o600);
    let finished = writer.finish().await.unwrap();
    let image = home.join("pre-images").join(blobs.keep(Box::new(Cursor::new("x"))).await.unwrap().0);
    assert_eq!([&home, &home.join("spills"), &home.join("pre-images")].map(|path| mode(path)), [0o700; 3]);
    assert_eq!([&finished, &image].map(|path| mode(path)), [0o600; 2]);
    assert_eq!(blobs.spill_folder(), home.canonicalize().unwrap().join("spills"));
}

#[tokio::test]
async fn names_are_unpredictable() {
    let home = tempdir().unwrap();
    let blobs = FileBlobs::open(home.path()).unwrap();
    let mut random_parts = HashSet::new();
    for _ in 0..100 {
        let name = spill(&blobs).await.file_stem().unwrap().to_str().unwrap().to_owned();
        // All that is not the time: 62 bits that must never count up.
        random_parts.insert(name[19..].to_owned());
        assert_eq!(name.len(), 36);
    }
    let mut prefixes: Vec<_> = random_parts.iter().map(|part| &part[..4]).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    assert_eq!(random_parts.len(), 100);
    assert!(prefixes.len() > 50, "the random parts resemble each other: {random_parts:?}");
}

#[tokio::test]
async fn a_blob_has_its_name_only_when_it_is_whole() {
    let home = tempdir().unwrap();
    let blobs = FileBlobs::open(home.path()).unwrap();
    let mut writer = blobs.spill("json").await.unwrap();
    writer.write(&vec![b'x'; 100_000]).await.unwrap();
    let during = names(blobs.spill_folder());
    let path = writer.finish().await.unwrap();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(during, [format!("{name}.part")]);
    assert_eq!(names(blobs.spill_folder()), [name]);
}

#[tokio::test]
async fn what_is_not_finished_leaves_nothing() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("gone"))
        }
    }
    let home = tempdir().unwrap();
    let blobs = FileBlobs::open(home.path()).unwrap();
    let mut writer = blobs.spill("txt").await.unwrap();
    writer.write(&vec![b'x'; 100_000]).await.unwrap();
    assert_eq!(names(blobs.spill_folder()).len(), 1);
    drop(writer);
    assert_eq!(names(blobs.spill_folder()), [""; 0]);

    blobs.keep(Box::new(Broken)).await.unwrap_err();
    assert_eq!(names(&home.path().join("pre-images")), [""; 0]);
}

#[test]
fn a_write_that_was_given_up_ends_the_spill() {
    let home = tempdir().unwrap();
    let blobs = FileBlobs::open(home.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let mut writer = blobs.spill("txt").await.unwrap();
        // While the only thread for disk work is taken, the write cannot end.
        let (release, taken) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || taken.recv());
        let large = vec![b'x'; 1 << 20];
        let mut write = writer.write(&large);
        assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(write.as_mut().poll(cx).is_pending())).await);
        drop(write);
        release.send(()).unwrap();
        busy.await.unwrap().unwrap();

        let expected = "the store is closed: an earlier write to this spill failed or was given up";
        assert_eq!(writer.write(&large).await.unwrap_err().to_string(), expected);
        assert_eq!(writer.finish().await.unwrap_err().to_string(), expected);
        assert_eq!(names(blobs.spill_folder()), [""; 0]);
    });
}

#[test]
fn folders_that_are_links_are_refused() {
    for linked in ["", "spills", "pre-images"] {
        let outer = tempdir().unwrap();
        let (home, target) = (outer.path().join("home"), outer.path().join("target"));
        fs::create_dir(&target).unwrap();
        let link = if linked.is_empty() { home.clone() } else { home.join(linked) };
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&target, &link).unwrap();
        let error = FileBlobs::open(&home).unwrap_err();
        assert!(matches!(&error, StoreError::Untrusted { path, .. } if *path == link), "{error}");
        assert_eq!(names(&target), [""; 0]);
    }
}

#[tokio::test]
async fn a_folder_that_is_swapped_later_gets_nothing() {
    let outer = tempdir().unwrap();
    let (home, target) = (outer.path().join("home"), outer.path().join("target"));
    fs::create_dir(&target).unwrap();
    let blobs = FileBlobs::open(&home).unwrap();
    fs::rename(home.join("spills"), home.join("moved")).unwrap();
    symlink(&target, home.join("spills")).unwrap();
    spill(&blobs).await;
    assert_eq!((names(&home.join("moved")).len(), names(&target).len()), (1, 0));
}

#[tokio::test]
async fn an_extension_is_alphanumeric() {
    let home = tempdir().unwrap();
    let blobs = FileBlobs::open(home.path()).unwrap();
    for extension in ["", "../x", "a.b", "a/b", "é"] {
        let error = blobs.spill(extension).await.err().unwrap();
        let folder = blobs.spill_folder().display();
        assert_eq!(error.to_string(), format!("{folder}: '{extension}' is no file extension: use a-z, A-Z and 0-9, such as 'txt'"));
    }
    assert_eq!(names(blobs.spill_folder()), [""; 0]);
}

#[tokio::test]
async fn pruning_removes_what_a_crash_left_after_a_day() {
    let home = tempdir().unwrap();
    let blobs = FileBlobs::open(home.path()).unwrap();
    let hours = |hours: u64| Duration::from_hours(hours);
    for (folder, name, age) in [
        ("spills", "a.txt", 30),
        ("spills", "b.txt.part", 30),
        ("spills", "c.txt", 2),
        ("spills", "d.txt.part", 2),
        ("pre-images", "e", 1000),
        ("pre-images", "f.part", 1000),
        ("pre-images", "g.part", 2),
    ] {
        let file = File::create(home.path().join(folder).join(name)).unwrap();
        file.set_modified(SystemTime::now() - hours(age)).unwrap();
    }
    fs::create_dir(home.path().join("spills/folder")).unwrap();
    let left = || (names(&home.path().join("spills")).join(" "), names(&home.path().join("pre-images")).join(" "));
    assert_eq!(blobs.prune(hours(10_000)).await.unwrap(), 0);
    assert_eq!(left(), ("a.txt b.txt.part c.txt d.txt.part folder".into(), "e f.part g.part".into()));
    assert_eq!(blobs.prune(hours(1)).await.unwrap(), 3);
    assert_eq!(left(), ("d.txt.part folder".into(), "e g.part".into()));
}

#[tokio::test]
async fn sessions_have_spill_folders_of_their_own_and_pruning_covers_them_all() {
    let home = tempdir().unwrap();
    let of = |session: &str| FileBlobs::open(home.path()).unwrap().of_session(session).unwrap();
    let (one, other) = (of("one"), of("../o\u{308}ther"));
    spill(&one).await;
    spill(&other).await;
    assert_eq!(one.spill_folder(), home.path().canonicalize().unwrap().join("spills/one"));
    assert_eq!((names(one.spill_folder()).len(), names(other.spill_folder()).len()), (1, 1));
    assert_eq!(other.spill_folder().parent(), one.spill_folder().parent(), "no name leads out of the folder of spills");
    assert_eq!(one.prune(Duration::ZERO).await.unwrap(), 2);
    assert_eq!(names(&home.path().join("spills")), [""; 0]);
}

#[tokio::test]
async fn a_spill_is_replaced_whole_and_nothing_outside_its_folder_is() {
    let folder = tempdir().unwrap();
    let blobs = FileBlobs::open(folder.path()).unwrap().of_session("s1").unwrap();
    let mut spill = blobs.spill("txt").await.unwrap();
    spill.write(b"a secret").await.unwrap();
    let path = spill.finish().await.unwrap();
    blobs.replace_spill(&path, b"nothing").await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"nothing");
    let other = folder.path().join("haft.db");
    fs::write(&other, "x").unwrap();
    for foreign in [other.clone(), path.parent().unwrap().join("../../haft.db")] {
        blobs.replace_spill(&foreign, b"y").await.unwrap_err();
    }
    assert_eq!(fs::read(&other).unwrap(), b"x");
}
