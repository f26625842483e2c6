//! Disks that are full, read-only or not ours, for real: each test runs itself again in a world of its own, whose
//! mounts and lack of rights end with it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use haft_contract::{ErrorKind, WriteMode, ports::FileSystem};
use haft_host::WorkspaceOptions;

use crate::support::{BOTH, Disk, Kept, kind_and_message, names, open, read, tree, write};

const WORLD: &str = "HAFT_TEST_WORLD";

/// The folder that the other world has prepared, if this is the other world.
fn world() -> Option<PathBuf> {
    std::env::var_os(WORLD).map(PathBuf::from)
}

/// Runs a test of this binary again, after a script has prepared `$HAFT_TEST_WORLD` where mounts are nobody else's business.
fn run_again(test: &str, script: &str) {
    let Some(unshare) = [["-m", "--"], ["-rm", "--"]].into_iter().find(|flags| succeeds(Command::new("unshare").args(flags).arg("true")))
    else {
        println!("{test}: this machine gives no mounts of one's own; what the disk says is only tested by table");
        return;
    };
    let folder = tempfile::TempDir::new().unwrap();
    let script = format!("set -e; cd \"${WORLD}\"; {script}\nexec \"$0\" --exact {test}");
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-c", &script]).arg(std::env::current_exe().unwrap()).env(WORLD, folder.path());
    assert!(succeeds(&mut command), "{test} failed in its own world");
}

/// Runs a test of this binary again without some of the superuser's powers.
fn run_without(powers: &str, test: &str, folder: &Path) {
    if !succeeds(Command::new("setpriv").arg("--version")) {
        return println!("{test}: this machine has no setpriv; what the disk says is only tested by table");
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", powers, "--inh-caps", powers]).arg(std::env::current_exe().unwrap());
    assert!(succeeds(command.args(["--exact", test]).env(WORLD, folder)), "{test} failed without {powers}");
}

fn succeeds(command: &mut Command) -> bool {
    let Ok(output) = command.output() else { return false };
    if !output.status.success() {
        println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

#[test]
fn a_full_disk_leaves_the_file_whole_and_nothing_behind() {
    let Some(world) = world() else {
        return run_again("faults::a_full_disk_leaves_the_file_whole_and_nothing_behind", "mount -t tmpfs -o size=64k tmpfs .");
    };
    block_on(async {
        for way in BOTH {
            let files = open(WorkspaceOptions::new(&world), way);
            write(&files, "file", "old").await.unwrap();
            let before = tree(&world);
            for path in ["file", "new", "a/b/new"] {
                let at = files.locate(Path::new(path)).unwrap();
                for mode in [WriteMode::Overwrite, WriteMode::Append] {
                    let journal = Kept::default();
                    let error = files.write(&at, vec![b'x'; 200_000], mode, &journal).await.unwrap_err();
                    let expected =
                        format!("The disk is full: cannot write to {path}; the file is unchanged. Free some space, then try again.");
                    assert_eq!(kind_and_message(&error), (ErrorKind::ExecutionError, expected.as_str()));
                    assert_eq!(journal.images(), []);
                    assert_eq!(tree(&world), before, "{path}");
                }
            }
        }
    });
}

#[test]
fn a_read_only_disk_is_read_and_says_why_it_is_not_written() {
    let Some(world) = world() else {
        return run_again(
            "faults::a_read_only_disk_is_read_and_says_why_it_is_not_written",
            "mount -t tmpfs tmpfs .; cd \"$HAFT_TEST_WORLD\"; printf old > file; mount -o remount,bind,ro .",
        );
    };
    block_on(async {
        for way in BOTH {
            let files = open(WorkspaceOptions::new(&world), way);
            let file = files.locate(Path::new("file")).unwrap();
            assert_eq!(read(&files, &file).await.unwrap(), "old");
            let journal = Kept::default();
            for path in ["file", "new", "a/b/new"] {
                let error = write(&files, path, "x").await.unwrap_err();
                let expected = format!("Permission denied: cannot write to {path} (its file system is mounted read-only)");
                assert_eq!(kind_and_message(&error), (ErrorKind::PermissionDenied, expected.as_str()));
            }
            let error = files.delete(&file, &journal).await.unwrap_err();
            assert_eq!(error.message(), "Permission denied: cannot remove file (its file system is mounted read-only)");
            assert_eq!(names(&world), ["file"]);
        }
    });
}

#[test]
fn without_the_kernels_own_folder_files_are_written_all_the_same() {
    let Some(world) = world() else {
        return run_again(
            "faults::without_the_kernels_own_folder_files_are_written_all_the_same",
            "mkdir a; printf old > a/file; mount -t tmpfs tmpfs /proc",
        );
    };
    block_on(async {
        let files = open(WorkspaceOptions::new(&world), BOTH[0]);
        for path in ["a/file", "a/new", "b/new"] {
            let journal = Kept::meanwhile(|image| {
                let drafts = names(image.path.parent().unwrap()).into_iter().filter(|name| name.starts_with(".haft-")).count();
                assert_eq!(drafts, 1, "a file without a name could get none here");
                Ok(())
            });
            files.write(&files.locate(Path::new(path)).unwrap(), "new".into(), WriteMode::Overwrite, &journal).await.unwrap();
            assert_eq!(std::fs::read_to_string(world.join(path)).unwrap(), "new");
        }
        assert_eq!((names(&world.join("a")), names(&world.join("b"))), (vec!["file".into(), "new".into()], vec!["new".into()]));
    });
}

#[test]
fn a30_mounts_inside_the_workspace_are_contained() {
    let Some(world) = world() else {
        return run_again(
            "faults::a30_mounts_inside_the_workspace_are_contained",
            "mkdir ws ws/kernel ws/mount other; printf theirs > other/file; mount --rbind /proc ws/kernel; mount --bind other ws/mount",
        );
    };
    block_on(async {
        for way in BOTH {
            let files = open(WorkspaceOptions::new(world.join("ws")), way);
            // A mount is a folder of the workspace like any other.
            assert_eq!(read(&files, &files.locate(Path::new("mount/file")).unwrap()).await.unwrap(), "theirs");
            write(&files, "mount/file", "ours").await.unwrap();
            write(&files, "mount/file", "theirs").await.unwrap();
            // The kernel's files are not, under whatever name.
            for path in ["kernel/version", "kernel/self/environ", "kernel/sys/kernel/hostname"] {
                let at = files.locate(Path::new(path)).unwrap();
                let error = files.open(&at).await.err().unwrap();
                assert_eq!(error.kind(), ErrorKind::PathNotAllowed, "{path}");
                let error = write(&files, path, "x").await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PathNotAllowed, "{path}");
            }
        }
    });
}

#[test]
fn files_that_are_not_ours_are_refused_in_the_words_of_the_contract() {
    const TEST: &str = "faults::files_that_are_not_ours_are_refused_in_the_words_of_the_contract";
    if rustix::process::geteuid().is_root() && world().is_none() {
        // The rights of files do not bind the superuser, unless it gives up not being bound.
        return run_without("-dac_override,-dac_read_search", TEST, Path::new(""));
    }
    block_on(async {
        for way in BOTH {
            let disk = Disk::new();
            let files = disk.files(way);
            disk.put("secret", "old");
            disk.put("fixed", "old");
            disk.put("folder/file", "old");
            disk.put("closed/file", "old");
            for (path, mode) in [("secret", 0), ("fixed", 0o444), ("folder", 0o555), ("closed", 0)] {
                disk.set_mode(path, mode);
            }
            for path in ["secret", "closed/file"] {
                let error = files.open(&files.locate(Path::new(path)).unwrap()).await.err().unwrap();
                let expected = format!("Permission denied: cannot read {path}");
                assert_eq!(kind_and_message(&error), (ErrorKind::PermissionDenied, expected.as_str()));
            }
            for path in ["secret", "fixed", "folder/file", "folder/new", "folder/a/new", "closed/file", "closed/new"] {
                let error = write(&files, path, "new").await.unwrap_err();
                let expected = format!("Permission denied: cannot write to {path}");
                assert_eq!(kind_and_message(&error), (ErrorKind::PermissionDenied, expected.as_str()));
            }
            let error = files.delete(&files.locate(Path::new("folder/file")).unwrap(), &Kept::default()).await.unwrap_err();
            assert_eq!(kind_and_message(&error), (ErrorKind::PermissionDenied, "Permission denied: cannot remove folder/file"));
            for (path, mode) in [("secret", 0o600), ("closed", 0o700), ("folder", 0o755)] {
                disk.set_mode(path, mode);
            }
            for path in ["secret", "fixed", "folder/file", "closed/file"] {
                assert_eq!(disk.get(path), "old", "{path}");
            }
            assert_eq!(tree(&disk.ws).len(), 6, "{:?}", tree(&disk.ws));
        }
    });
}

#[test]
fn owner_and_group_are_kept_or_the_groups_rights_are_dropped() {
    const TEST: &str = "faults::owner_and_group_are_kept_or_the_groups_rights_are_dropped";
    const STRANGER: u32 = 54_321;
    if let Some(world) = world() {
        block_on(async { write(&open(WorkspaceOptions::new(&world), BOTH[0]), "file", "new").await.map(drop).unwrap() });
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return println!("{TEST}: only the superuser can give files away");
    }
    let disk = Disk::new();
    let facts = || std::fs::metadata(disk.ws.join("file")).map(|file| (file.uid(), file.gid(), disk.mode("file"))).unwrap();
    disk.put("file", "old");
    disk.set_mode("file", 0o664);
    std::os::unix::fs::chown(disk.ws.join("file"), Some(STRANGER), Some(STRANGER)).unwrap();
    block_on(async { write(&disk.files(BOTH[0]), "file", "new").await.map(drop).unwrap() });
    assert_eq!(facts(), (STRANGER, STRANGER, 0o664));
    run_without("-chown", TEST, &disk.ws);
    assert_eq!(facts(), (0, 0, 0o604), "another group does not get what the old one had");
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work);
}
