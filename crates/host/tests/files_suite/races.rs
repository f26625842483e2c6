//! Something swaps names as fast as it can while files are read and written: nothing may get out.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use haft_contract::{ErrorKind, ToolError, WriteMode, Zone, ports::FileSystem};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{BOTH, Disk, Kept, SECRET, Way, kind_and_message, names, read, tree};

const TRIES: usize = 10_000;

/// Exchanges two names until dropped.
struct Swapper<'scope> {
    over: &'scope AtomicBool,
}

impl<'scope> Swapper<'scope> {
    fn start<'env>(scope: &'scope std::thread::Scope<'scope, 'env>, over: &'scope AtomicBool, one: PathBuf, other: PathBuf) -> Self {
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        Self { over }
    }
}

impl Drop for Swapper<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// How the tries of a race ended.
#[derive(Debug, Default)]
struct Tally {
    done: usize,
    /// Checked to lie outside, so that the policy refuses it.
    outside: usize,
    /// Refused on opening, because the check was overtaken.
    overtaken: usize,
}

impl Tally {
    fn refused(&mut self, error: &ToolError) {
        // A name that is swapped twice within one lookup can seem to be a loop or a file in the middle; it is never followed.
        assert!(matches!(error.kind(), ErrorKind::PathNotAllowed | ErrorKind::FileNotFound | ErrorKind::ExecutionError), "{error}");
        self.overtaken += 1;
    }
    fn check(&self, way: Way) {
        assert_eq!(self.done + self.outside + self.overtaken, TRIES, "{way:?}");
        assert!(self.done > 0, "{way:?}: nothing was ever done: {self:?}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Reads `path` over and over while `one` and `other` are exchanged.
fn race_reads(disk: &Disk, way: Way, path: &str, one: &str, other: &str) -> Tally {
    let files = disk.files(way);
    let (runtime, over) = (runtime(), AtomicBool::new(false));
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let _swapper = Swapper::start(scope, &over, disk.ws.join(one), disk.ws.join(other));
        for _ in 0..TRIES {
            match files.locate(Path::new(path)) {
                Ok(at) if at.zone() == Zone::Outside => tally.outside += 1,
                Ok(at) => match runtime.block_on(read(&files, &at)) {
                    Ok(content) => {
                        assert_eq!(content, "inside", "{way:?}: escaped");
                        tally.done += 1;
                    }
                    Err(error) => tally.refused(&error),
                },
                Err(error) => tally.refused(&error),
            }
        }
    });
    tally
}

#[test]
fn a09_file_swapped_for_link_10_000_tries() {
    for way in BOTH {
        let disk = Disk::new();
        disk.put("file", "inside");
        disk.link(disk.outside.join("secret"), "link");
        race_reads(&disk, way, "file", "file", "link").check(way);
    }
}

#[test]
fn a10_parent_swapped_for_link_while_reading_10_000_tries() {
    for way in BOTH {
        let disk = Disk::new();
        std::fs::write(disk.outside.join("file"), SECRET).unwrap();
        disk.put("a/folder/b/file", "inside");
        disk.put("a/folder/file", "inside");
        disk.link(&disk.outside, "a/link");
        std::fs::create_dir(disk.outside.join("b")).unwrap();
        std::fs::write(disk.outside.join("b/file"), SECRET).unwrap();
        race_reads(&disk, way, "a/folder/b/file", "a/folder", "a/link").check(way);
    }
}

#[test]
fn a10_parent_swapped_for_link_while_writing_10_000_tries() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("folder/file", "inside");
        disk.link(&disk.outside, "link");
        let outside = tree(&disk.outside);
        let (runtime, over) = (runtime(), AtomicBool::new(false));
        let mut tally = Tally::default();
        std::thread::scope(|scope| {
            let _swapper = Swapper::start(scope, &over, disk.ws.join("folder"), disk.ws.join("link"));
            for _ in 0..TRIES {
                match files.locate(Path::new("folder/file")) {
                    Ok(at) if at.zone() == Zone::Outside => tally.outside += 1,
                    Ok(at) => match runtime.block_on(files.write(&at, "new".into(), WriteMode::Overwrite, &Kept::default())) {
                        Ok(_) => tally.done += 1,
                        Err(error) => tally.refused(&error),
                    },
                    Err(error) => tally.refused(&error),
                }
            }
        });
        tally.check(way);
        assert_eq!(tree(&disk.outside), outside, "{way:?}: escaped");
        let real = if disk.ws.join("folder").is_symlink() { "link" } else { "folder" };
        assert_eq!(names(&disk.ws.join(real)), ["file"], "{way:?}: something was left behind");
        assert_eq!(disk.get(&format!("{real}/file")), "new");
    }
}

#[tokio::test]
async fn a09_a10_a_swap_between_checking_and_opening_is_refused_for_certain() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("folder/file", "inside");
        disk.put("file", "inside");
        let located = ["file", "folder/file", "folder/new/file"].map(|path| files.locate(Path::new(path)).unwrap());
        std::fs::remove_file(disk.ws.join("file")).unwrap();
        disk.link(disk.outside.join("secret"), "file");
        std::fs::rename(disk.ws.join("folder"), disk.ws.join("moved")).unwrap();
        disk.link(&disk.outside, "folder");
        let before = tree(&disk.base);
        for at in &located {
            let path = at.requested().display();
            let expected = format!(
                "A part of '{path}' changed into a symbolic link while the call was being prepared, so nothing was done. Look at the path again, then retry."
            );
            let opened = files.open(at).await.err().unwrap();
            let written = files.write(at, "x".into(), WriteMode::Overwrite, &Kept::default()).await.unwrap_err();
            for error in [opened, written] {
                assert_eq!(kind_and_message(&error), (ErrorKind::PathNotAllowed, expected.as_str()), "{way:?}");
            }
        }
        assert_eq!(tree(&disk.base), before);
    }
}
