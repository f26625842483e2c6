//! Nothing the disk holds makes memory or time grow without bound.

use std::path::Path;
use std::time::{Duration, Instant};

use haft_contract::{ErrorKind, ports::FileSystem};

use crate::support::{BOTH, Disk, read, write};

const HUNDRED_GIGABYTES: u64 = 100 * 1024 * 1024 * 1024;

#[tokio::test]
async fn a27_a_page_of_a_huge_file_costs_a_page() {
    let disk = Disk::new();
    let file = std::fs::File::create(disk.ws.join("huge")).unwrap();
    file.set_len(HUNDRED_GIGABYTES).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"the end", HUNDRED_GIGABYTES - 7).unwrap();
    for way in BOTH {
        let started = Instant::now();
        let files = disk.files(way);
        let at = files.locate(Path::new("huge")).unwrap();
        assert_eq!(files.info(&at).await.unwrap().size, HUNDRED_GIGABYTES);
        let reader = files.open(&at).await.unwrap();
        assert_eq!(reader.size(), HUNDRED_GIGABYTES);
        assert_eq!(reader.read_at(0, 4096).await.unwrap(), [0; 4096]);
        // One endless line: the piece that was asked for comes, and no more.
        assert_eq!(reader.read_at(HUNDRED_GIGABYTES / 2, 100_000).await.unwrap(), vec![0; 100_000]);
        // Asking for more than there is reserves no memory for it.
        assert_eq!(reader.read_at(HUNDRED_GIGABYTES - 7, usize::MAX).await.unwrap(), b"the end");
        assert!(started.elapsed() < Duration::from_secs(10), "{way:?}");
    }
}

#[tokio::test]
async fn a27_a_file_that_is_too_large_to_keep_is_not_changed() {
    let disk = Disk::new();
    std::fs::File::create(disk.ws.join("huge")).unwrap().set_len(HUNDRED_GIGABYTES).unwrap();
    for way in BOTH {
        let started = Instant::now();
        let error = write(&disk.files(way), "huge", "x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge, "{error}");
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(std::fs::metadata(disk.ws.join("huge")).unwrap().len(), HUNDRED_GIGABYTES);
    }
}

#[test]
fn a27_work_on_a_huge_file_stops_when_nobody_waits_for_it() {
    let disk = Disk::new();
    std::fs::File::create(disk.ws.join("huge")).unwrap().set_len(HUNDRED_GIGABYTES).unwrap();
    let files = disk.files(BOTH[0]);
    let at = files.locate(Path::new("huge")).unwrap();
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        assert!(tokio::time::timeout(Duration::from_millis(50), files.fingerprint(&at)).await.is_err());
        // Begins when the work before it has ended.
        tokio::task::spawn_blocking(|| {}).await.unwrap();
    });
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a27_deep_nesting_works_up_to_the_limit_and_is_refused_beyond() {
    let disk = Disk::new();
    let folders = |depth: usize| "d/".repeat(depth);
    std::fs::create_dir_all(disk.ws.join(folders(1000))).unwrap();
    for way in BOTH {
        let files = disk.files(way);
        let path = format!("{}file", folders(255));
        write(&files, &path, "deep").await.unwrap();
        assert_eq!(read(&files, &files.locate(Path::new(&path)).unwrap()).await.unwrap(), "deep");
        let error = files.locate(Path::new(&format!("{}file", folders(1000)))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ValidationError);
        assert_eq!(error.message(), "The path is 1001 names deep, and 256 is the most: give a shorter one.");
    }
    std::fs::remove_file(disk.ws.join(format!("{}file", folders(255)))).unwrap();
    // From the inside: what removes the folder afterwards holds a handle for every level.
    for depth in (1..=1000).rev() {
        std::fs::remove_dir(disk.ws.join(folders(depth))).unwrap();
    }
}

#[test]
fn a27_links_cannot_lead_deeper_than_a_path_may_be() {
    let disk = Disk::new();
    disk.link(["."; 10].join("/") + &"/x".repeat(200), "long");
    let files = disk.files(BOTH[0]);
    assert!(files.locate(Path::new("long/y")).is_ok());
    let error = files.locate(Path::new(&format!("long{}", "/y".repeat(100)))).unwrap_err();
    assert!(error.message().contains("leads more than 256 names deep"), "{error}");
}

#[tokio::test]
async fn a27_a_name_too_long_is_refused() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    assert_eq!(files.locate(Path::new(&"n".repeat(256))).unwrap_err().kind(), ErrorKind::ValidationError);
    write(&files, &"n".repeat(255), "x").await.unwrap();
}
