//! Reading in pieces, and looking.

use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::{ErrorKind, FileInfo, FileKind, Location, WriteMode, Zone, ports::FileSystem};

use crate::support::{BOTH, Disk, Image, Kept, kind_and_message, read, tree};

#[tokio::test]
async fn any_piece_of_a_file_can_be_read_whatever_its_size() {
    let disk = Disk::new();
    // Around what is read at once with opening (64 KiB) and per step (256 KiB).
    for size in [0_usize, 1, 65_535, 65_536, 65_537, 262_144, 600_000] {
        let content: String = (0..size).map(|index| char::from(b'a' + u8::try_from(index % 26).unwrap())).collect();
        disk.put("file", &content);
        for way in BOTH {
            let files = disk.files(way);
            let reader = files.open(&files.locate(Path::new("file")).unwrap()).await.unwrap();
            assert_eq!(reader.size(), size as u64);
            for (offset, length) in
                [(0, 10), (0, size), (0, size + 10), (size / 2, 70_000), (65_530, 20), (size, 5), (size + 100, 5), (3, 0)]
            {
                let expected = &content[offset.min(size)..(offset + length).min(size).max(offset.min(size))];
                let bytes = reader.read_at(offset as u64, length).await.unwrap();
                assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{length} from {offset} of {size}");
            }
            assert_eq!(reader.read_at(u64::MAX, 1).await.map_or(0, |bytes| bytes.len()), 0);
        }
    }
}

/// Whatever else blocks: a file that the kernel has in memory is read without a thread for blocking work. On file systems that cannot
/// say what they have in memory there is nothing to test.
#[test]
#[cfg(target_os = "linux")]
fn a_file_in_memory_needs_no_thread() {
    let disk = Disk::new();
    if !knows_its_cache(&disk) {
        return;
    }
    for (name, size) in [("empty", 0), ("small", 4096), ("head", 65_536), ("large", 300_000)] {
        disk.put(name, &"x".repeat(size));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (release, wait) = std::sync::mpsc::channel::<()>();
    runtime.spawn_blocking(move || wait.recv().ok());
    let files = disk.files(BOTH[0]);
    for name in ["empty", "small", "head", "large"] {
        let reading = async {
            let reader = files.open(&files.locate(Path::new(name)).unwrap()).await.unwrap();
            let middle = reader.size() / 2;
            (reader.size(), reader.read_at(middle, 10_000).await.unwrap().len() as u64)
        };
        let (size, read) = runtime.block_on(async { tokio::time::timeout(Duration::from_mins(1), reading).await }).expect(name);
        assert_eq!(read, (size - size / 2).min(10_000), "{name}");
    }
    drop(release);
}

#[cfg(target_os = "linux")]
fn knows_its_cache(disk: &Disk) -> bool {
    disk.put("probe", "x");
    let file = std::fs::File::open(disk.ws.join("probe")).unwrap();
    let flags = rustix::fs::ResolveFlags::CACHED;
    let opened = rustix::fs::openat2(rustix::fs::CWD, disk.ws.join("probe"), rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty(), flags);
    let buffer = &mut [0; 1];
    let read = rustix::io::preadv2(&file, &mut [std::io::IoSliceMut::new(buffer)], 0, rustix::io::ReadWriteFlags::NOWAIT);
    let known = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];
    opened.is_ok() && read.is_ok() && rustix::fs::fstatfs(&file).is_ok_and(|system| known.contains(&system.f_type))
}

#[tokio::test]
async fn an_open_file_stays_the_file_it_was() {
    let disk = Disk::new();
    let old = "o".repeat(200_000);
    disk.put("file", &old);
    let files = disk.files(BOTH[0]);
    let reader = files.open(&files.locate(Path::new("file")).unwrap()).await.unwrap();
    crate::support::write(&files, "file", "new").await.unwrap();
    assert_eq!(reader.read_at(0, 200_000).await.unwrap(), old.into_bytes());
}

#[tokio::test]
async fn an_open_file_has_the_fingerprint_of_the_bytes_it_shows() {
    let disk = Disk::new();
    for size in [0_usize, 10, 65_536, 200_000] {
        let (old, new) = ("o".repeat(size), "n".repeat(size + 1));
        disk.put("file", &old);
        let files = disk.files(BOTH[0]);
        let at = files.locate(Path::new("file")).unwrap();
        let before = files.fingerprint(&at).await.unwrap().unwrap();
        let reader = files.open(&at).await.unwrap();
        // Another file takes its name.
        crate::support::write(&files, "file", &new).await.unwrap();
        assert_eq!((reader.fingerprint().await.unwrap(), reader.read_at(0, size).await.unwrap()), (before, old.into_bytes()));
        let reader = files.open(&at).await.unwrap();
        // The same file is written in place: its first bytes were read when it was opened.
        disk.put("file", &"i".repeat(size + 1));
        let shown = reader.read_at(0, size.min(10)).await.unwrap();
        assert!(shown.iter().all(|byte| *byte == b'n'), "{size}");
        assert_ne!(reader.fingerprint().await.unwrap(), files.fingerprint(&at).await.unwrap().unwrap(), "{size}");
    }
}

#[tokio::test]
async fn what_is_missing_is_named_as_it_was_asked_for() {
    let disk = Disk::new();
    disk.put("a/file", "x");
    for way in BOTH {
        let files = disk.files(way);
        for path in ["none", "./none", "a/../none/x", "a/none", "none/deep/x"] {
            let at = files.locate(Path::new(path)).unwrap();
            let expected = format!("File not found: {path}");
            for error in [files.open(&at).await.err().unwrap(), files.info(&at).await.unwrap_err(), read(&files, &at).await.unwrap_err()] {
                assert_eq!(kind_and_message(&error), (ErrorKind::FileNotFound, expected.as_str()));
            }
            assert_eq!(files.fingerprint(&at).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn looking_tells_kind_size_and_time() {
    let disk = Disk::new();
    disk.put("a/file", "12345");
    let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234_567_890_123);
    std::fs::File::options().write(true).open(disk.ws.join("a/file")).unwrap().set_modified(modified).unwrap();
    for way in BOTH {
        let files = disk.files(way);
        let file = files.info(&files.locate(Path::new("a/file")).unwrap()).await.unwrap();
        assert_eq!(file, FileInfo { kind: FileKind::File, size: 5, modified: Some(modified) });
        for path in ["a", "."] {
            let info = files.info(&files.locate(Path::new(path)).unwrap()).await.unwrap();
            assert_eq!(info.kind, FileKind::Directory, "{path}");
        }
    }
}

#[tokio::test]
async fn a_location_of_another_file_system_is_refused() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("file", "x");
    let made_up =
        Location::new("file".into(), disk.ws.join("file"), "file".into(), Zone::Workspace, std::sync::Arc::new(disk.ws.join("file")));
    // The same folder, but another session with other rules.
    let theirs = disk.files(BOTH[0]).locate(Path::new("file")).unwrap();
    let before = tree(&disk.base);
    for at in [made_up, theirs] {
        let journal = Kept::default();
        for error in [
            files.info(&at).await.unwrap_err(),
            files.open(&at).await.err().unwrap(),
            files.fingerprint(&at).await.unwrap_err(),
            files.write(&at, "x".into(), WriteMode::Overwrite, &journal).await.unwrap_err(),
            files.delete(&at, &journal).await.unwrap_err(),
            files.restore(&at, Image::default().back(), &journal).await.unwrap_err(),
        ] {
            let expected = "The location of 'file' was not made by this workspace. This is a fault of the tool; nothing was done.";
            assert_eq!(kind_and_message(&error), (ErrorKind::PermissionDenied, expected));
        }
        assert_eq!((journal.images(), tree(&disk.base)), (vec![], before.clone()));
    }
}
