//! Ways out of the workspace that need no race.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{ErrorKind, FileKind, FileSystem, WriteMode, Zone};
use haft_host::LocalFiles;

use crate::support::{BOTH, Disk, Kept, SECRET, kind_and_message, may_read, open, read, tree, write};

fn located(files: &LocalFiles, path: impl AsRef<Path>) -> (Zone, PathBuf) {
    let at = files.locate(path.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()));
    assert_eq!(at.requested, path.as_ref());
    (at.zone, at.path)
}

#[test]
fn a01_dots_lead_to_where_they_say_and_outside_is_outside() {
    let disk = Disk::new();
    disk.put("a/b/file", "x");
    for way in BOTH {
        let files = disk.files(way);
        let secret = disk.outside.join("secret");
        for (path, zone, expected) in [
            ("a/b/file", Zone::Workspace, disk.ws.join("a/b/file")),
            ("./a/.//b/./file", Zone::Workspace, disk.ws.join("a/b/file")),
            ("a/../a/b/file", Zone::Workspace, disk.ws.join("a/b/file")),
            (".", Zone::Workspace, disk.ws.clone()),
            ("a/..", Zone::Workspace, disk.ws.clone()),
            ("../ws/a", Zone::Workspace, disk.ws.join("a")),
            ("..", Zone::Outside, disk.base.clone()),
            ("../outside/secret", Zone::Outside, secret.clone()),
            ("a/../../outside/secret", Zone::Outside, secret.clone()),
            ("./..//./outside//secret", Zone::Outside, secret.clone()),
            ("missing/../../outside/secret", Zone::Outside, secret.clone()),
            ("missing/deep/../../../outside/secret", Zone::Outside, secret.clone()),
            ("../../../../../../../../../../etc/hostname-of-nobody", Zone::Outside, "/etc/hostname-of-nobody".into()),
            ("missing/new/file", Zone::Workspace, disk.ws.join("missing/new/file")),
            ("missing/../a/b", Zone::Workspace, disk.ws.join("a/b")),
        ] {
            assert_eq!(located(&files, path), (zone, expected), "{path}");
        }
    }
}

#[test]
fn a02_a_sibling_that_starts_with_the_same_letters_is_outside() {
    let disk = Disk::new();
    let evil = disk.base.join("ws-evil");
    std::fs::create_dir(&evil).unwrap();
    for way in BOTH {
        let files = disk.files(way);
        assert_eq!(located(&files, evil.join("x")), (Zone::Outside, evil.join("x")));
        assert_eq!(located(&files, "../ws-evil/x"), (Zone::Outside, evil.join("x")));
        assert_eq!(located(&files, disk.ws.join("x")), (Zone::Workspace, disk.ws.join("x")));
    }
}

#[test]
fn a03_absolute_paths_outside_are_outside_and_other_spellings_refused() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    assert_eq!(located(&files, disk.outside.join("secret")), (Zone::Outside, disk.outside.join("secret")));
    for path in ["~", "~/x", "$HOME/x", "file:///etc/passwd", r"C:\x", r"\\server\share"] {
        assert_eq!(files.locate(Path::new(path)).unwrap_err().kind(), ErrorKind::PathNotAllowed, "{path}");
    }
}

#[tokio::test]
async fn a04_encoded_dots_are_names_and_stay_inside() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    for path in ["%2e%2e/x", "\u{ff0e}\u{ff0e}/x", "..%2fx", ".../x", "a./x", "a /x"] {
        assert_eq!(located(&files, path), (Zone::Workspace, disk.ws.join(path)), "{path}");
        write(&files, path, "inside").await.unwrap();
        assert_eq!(disk.get(path), "inside", "{path}");
    }
    assert_eq!(tree(&disk.outside).len(), 1);
}

#[test]
fn a05_control_bytes_are_refused_also_in_a_links_target() {
    let disk = Disk::new();
    disk.link("a\nb", "link");
    let files = disk.files(BOTH[0]);
    for path in ["", "a\0b", "a\nb", "link", "link/x"] {
        assert_eq!(files.locate(Path::new(path)).unwrap_err().kind(), ErrorKind::ValidationError, "{path:?}");
    }
}

#[test]
fn a06_a07_links_are_judged_by_what_they_mean() {
    let disk = Disk::new();
    disk.put("real/file", "x");
    let secret = disk.outside.join("secret");
    disk.link(&secret, "to_file");
    disk.link("../outside", "to_folder");
    disk.link("to_folder", "to_link");
    disk.link("real/../../outside", "real/through");
    disk.link("/", "to_root");
    disk.link("real", "inside");
    disk.link(disk.ws.join("real/file"), "inside_absolute");
    disk.link("nowhere/yet", "dangling");
    disk.link("../outside/new", "dangling_out");
    for way in BOTH {
        let files = disk.files(way);
        for (path, zone, expected) in [
            ("to_file", Zone::Outside, secret.clone()),
            ("to_folder/secret", Zone::Outside, secret.clone()),
            ("to_link/secret", Zone::Outside, secret.clone()),
            ("to_link/../outside/secret", Zone::Outside, secret.clone()),
            ("to_root/etc/nothing-here", Zone::Outside, "/etc/nothing-here".into()),
            ("inside/file", Zone::Workspace, disk.ws.join("real/file")),
            ("inside_absolute", Zone::Workspace, disk.ws.join("real/file")),
            ("dangling", Zone::Workspace, disk.ws.join("nowhere/yet")),
            ("dangling_out", Zone::Outside, disk.outside.join("new")),
            ("missing/../to_file", Zone::Outside, secret.clone()),
        ] {
            assert_eq!(located(&files, path), (zone, expected), "{path}");
        }
        let back = format!("to_root{}", disk.ws.join("real/file").display());
        assert_eq!(located(&files, back), (Zone::Workspace, disk.ws.join("real/file")));
    }
}

#[tokio::test]
async fn a08_loops_and_long_chains_end_in_an_error_that_says_so() {
    let disk = Disk::new();
    disk.put("end", "x");
    disk.link("loop_b", "loop_a");
    disk.link("loop_a", "loop_b");
    disk.link("self/x", "self");
    disk.link("end", "chain0");
    for next in 1..60 {
        disk.link(format!("chain{}", next - 1), &format!("chain{next}"));
    }
    // Each link doubles what is left to walk.
    disk.put("folder/x", "x");
    disk.link("folder", "bomb0");
    for next in 1..40 {
        let half = format!("bomb{}", next - 1);
        disk.link(format!("{half}/../{half}"), &format!("bomb{next}"));
    }
    for way in BOTH {
        let files = disk.files(way);
        for path in ["loop_a", "loop_a/x", "self", "chain59", "chain40", "bomb39/x"] {
            let error = files.locate(Path::new(path)).unwrap_err();
            let expected = format!(
                "The path '{path}' passes more than 40 symbolic links, a loop or too long a chain: give the path of the real file."
            );
            assert_eq!(kind_and_message(&error), (ErrorKind::PathNotAllowed, expected.as_str()));
        }
        assert_eq!(read(&files, &files.locate(Path::new("chain39")).unwrap()).await.unwrap(), "x");
    }
}

#[tokio::test]
async fn a11_a_link_that_points_outside_is_neither_followed_nor_replaced() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        disk.put("victim", "mine");
        let planned = files.locate(Path::new("victim")).unwrap();
        std::fs::remove_file(disk.ws.join("victim")).unwrap();
        disk.link(disk.outside.join("secret"), "victim");
        let before = tree(&disk.base);
        let message = "A part of 'victim' changed into a symbolic link while the call was being prepared, so nothing was done. Look at the path again, then retry.";
        let journal = Kept::default();
        for error in [
            files.write(&planned, "x".into(), WriteMode::Overwrite, &journal).await.unwrap_err(),
            files.write(&planned, "x".into(), WriteMode::Append, &journal).await.unwrap_err(),
            files.delete(&planned, &journal).await.unwrap_err(),
            files.open(&planned).await.err().unwrap(),
            files.info(&planned).await.unwrap_err(),
            files.fingerprint(&planned).await.unwrap_err(),
            files.restore(&planned, crate::support::Image::default().back()).await.unwrap_err(),
        ] {
            assert_eq!(kind_and_message(&error), (ErrorKind::PathNotAllowed, message), "{way:?}");
        }
        assert_eq!(tree(&disk.base), before);
        assert_eq!(journal.images(), []);
    }
}

#[tokio::test]
async fn a12_a_hard_link_to_an_outside_file_is_copied_on_write() {
    for way in BOTH {
        let disk = Disk::new();
        let files = disk.files(way);
        std::fs::hard_link(disk.outside.join("secret"), disk.ws.join("hard")).unwrap();
        write(&files, "hard", "mine").await.unwrap();
        assert_eq!(disk.get("hard"), "mine");
        assert_eq!(std::fs::read_to_string(disk.outside.join("secret")).unwrap(), SECRET);
    }
}

#[tokio::test]
async fn a13_pipes_sockets_devices_and_directories_are_refused_without_waiting() {
    let disk = Disk::new();
    disk.put("folder/x", "x");
    let directory = std::fs::File::open(&disk.ws).unwrap();
    rustix::fs::mknodat(&directory, "pipe", rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(disk.ws.join("socket")).unwrap();
    for way in BOTH {
        let files = disk.files(way);
        for (path, kind, message) in [
            ("pipe", ErrorKind::PathNotAllowed, "'pipe' is a named pipe: only ordinary files can be read or written."),
            ("socket", ErrorKind::PathNotAllowed, "'socket' is a socket: only ordinary files can be read or written."),
            ("folder", ErrorKind::ValidationError, "Path is a directory, not a file: folder"),
            (".", ErrorKind::ValidationError, "Path is a directory, not a file: ."),
        ] {
            let at = files.locate(Path::new(path)).unwrap();
            let journal = Kept::default();
            let all = async {
                [
                    files.open(&at).await.err().unwrap(),
                    files.fingerprint(&at).await.unwrap_err(),
                    files.write(&at, "x".into(), WriteMode::Overwrite, &journal).await.unwrap_err(),
                    files.write(&at, "x".into(), WriteMode::Append, &journal).await.unwrap_err(),
                    files.delete(&at, &journal).await.unwrap_err(),
                ]
            };
            let errors = tokio::time::timeout(Duration::from_secs(20), all).await.expect("no hang");
            for error in errors {
                assert_eq!(kind_and_message(&error), (kind, message), "{way:?}");
            }
        }
        let special = files.info(&files.locate(Path::new("pipe")).unwrap()).await.unwrap();
        assert_eq!(special.kind, FileKind::Special);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a13_a14_what_the_kernel_shows_as_files_is_refused_wherever_it_is_reached_from() {
    let disk = Disk::new();
    disk.put("file", "x");
    disk.link("/proc/self/environ", "env");
    disk.link("/proc/self", "me");
    disk.link("/dev/zero", "zero");
    disk.link("/proc/self/root", "root");
    for way in BOTH {
        let files = disk.files(way);
        let own = format!("/proc/self/root{}", disk.ws.join("file").display());
        let cwd = format!("/proc/{}/cwd", std::process::id());
        for path in [
            "/proc/self/mem",
            "/proc/self/environ",
            "/proc/self/root/etc/passwd",
            "/proc/self/fd/0",
            "/proc/thread-self/environ",
            "/sys/kernel",
            "/dev/zero",
            "/dev/stdin",
            "/dev/fd/0",
            "env",
            "me/environ",
            "zero",
            "root/etc/passwd",
            &own,
            &cwd,
        ] {
            let at = files.locate(Path::new(path)).unwrap();
            for why in [&at.no_read, &at.no_write] {
                assert!(why.as_ref().is_some_and(|why| why.contains("/proc, /sys or /dev")), "{path}: {why:?}");
            }
            assert!(files.open(&at).await.is_err_and(|error| error.kind() == ErrorKind::PathNotAllowed), "{path}");
            assert!(write(&files, path, "x").await.is_err_and(|error| error.kind() == ErrorKind::PathNotAllowed), "{path}");
        }
    }
}

#[tokio::test]
async fn a29_the_session_stays_with_the_directory_it_opened() {
    for way in BOTH {
        let disk = Disk::new();
        disk.put("f", "first");
        let link = disk.base.join("link");
        std::os::unix::fs::symlink(&disk.ws, &link).unwrap();
        let files = open(haft_host::WorkspaceOptions::new(&link), way);
        assert_eq!(files.root(), disk.ws);
        assert_eq!(located(&files, link.join("f")), (Zone::Workspace, disk.ws.join("f")));

        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&disk.outside, &link).unwrap();
        assert_eq!(located(&files, link.join("secret")), (Zone::Outside, disk.outside.join("secret")));
        assert_eq!(read(&files, &files.locate(Path::new("f")).unwrap()).await.unwrap(), "first");

        // The directory moves away, and a link to something else takes its name.
        let moved = disk.base.join("moved");
        std::fs::rename(&disk.ws, &moved).unwrap();
        std::os::unix::fs::symlink(&disk.outside, &disk.ws).unwrap();
        assert!(files.locate(&disk.ws.join("secret")).is_ok_and(|at| may_read(&at)));
        let error = read(&files, &files.locate(Path::new("secret")).unwrap()).await.unwrap_err();
        assert_eq!(kind_and_message(&error), (ErrorKind::FileNotFound, "File not found: secret"));
        write(&files, "g", "second").await.unwrap();
        assert_eq!(std::fs::read_to_string(moved.join("g")).unwrap(), "second");
        assert_eq!(tree(&disk.outside).len(), 1);
    }
}

#[test]
fn a_path_beneath_several_roots_belongs_to_the_most_specific() {
    let disk = Disk::new();
    disk.put("vendor/lib/x", "x");
    disk.put("vendor/own/x", "x");
    let mut options = disk.options();
    options.read_only_roots = vec![disk.ws.join("vendor"), disk.outside.clone()];
    options.writable_roots = vec![disk.ws.join("vendor/own"), disk.outside.clone()];
    disk.link(&disk.outside, "way_out");
    for way in BOTH {
        let files = open(options.clone(), way);
        for (path, zone, display) in [
            ("a", Zone::Workspace, "a"),
            ("vendor", Zone::ReadOnlyRoot, "vendor"),
            ("vendor/lib/x", Zone::ReadOnlyRoot, "vendor/lib/x"),
            ("vendor/own/x", Zone::Workspace, "vendor/own/x"),
            ("vendor/own/../lib/x", Zone::ReadOnlyRoot, "vendor/lib/x"),
            ("vendor/../b", Zone::Workspace, "b"),
            // Named as both, a folder is what the stricter says.
            ("way_out/secret", Zone::ReadOnlyRoot, disk.outside.join("secret").to_str().unwrap()),
            (".", Zone::Workspace, "."),
        ] {
            let at = files.locate(Path::new(path)).unwrap();
            assert_eq!((at.zone, at.display.as_str()), (zone, display), "{path}");
        }
        let mut whole = disk.options();
        whole.read_only_roots = vec![disk.ws.clone()];
        assert_eq!(located(&open(whole, way), "a"), (Zone::ReadOnlyRoot, disk.ws.join("a")));
    }
}

#[test]
fn a_file_in_the_middle_of_a_path_is_named() {
    let disk = Disk::new();
    disk.put("file", "x");
    let error = disk.files(BOTH[0]).locate(Path::new("file/x")).unwrap_err();
    let expected =
        format!("'{}' is a file, not a directory, so nothing can be beneath it: 'file/x' cannot be.", disk.ws.join("file").display());
    assert_eq!(kind_and_message(&error), (ErrorKind::ValidationError, expected.as_str()));
}

#[test]
fn a_workspace_must_be_a_folder_of_files() {
    let disk = Disk::new();
    disk.put("file", "x");
    for (root, word) in
        [(disk.ws.join("none"), "cannot be opened"), (disk.ws.join("file"), "cannot be opened"), ("/dev".into(), "the kernel")]
    {
        let error = LocalFiles::open(haft_host::WorkspaceOptions::new(&root)).unwrap_err();
        assert!(error.message().contains(word) && error.message().contains(root.to_str().unwrap()), "{error}");
    }
}
