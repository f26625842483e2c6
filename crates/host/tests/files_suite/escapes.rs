//! Ways out of the workspace that need no race.

use std::path::Path;
use std::time::Duration;

use haft_contract::{ErrorKind, FileKind, WriteMode, Zone, ports::FileSystem};
use haft_host::LocalFiles;

use crate::support::{BOTH, Disk, Kept, kind_and_message, located, open, read, tree, write};

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
fn a02_sibling_with_the_same_prefix_is_outside() {
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
            for why in [at.no_read(), at.no_write()] {
                assert!(why.is_some_and(|why| why.contains("/proc, /sys or /dev")), "{path}: {why:?}");
            }
            assert!(files.open(&at).await.is_err_and(|error| error.kind() == ErrorKind::PathNotAllowed), "{path}");
            assert!(write(&files, path, "x").await.is_err_and(|error| error.kind() == ErrorKind::PathNotAllowed), "{path}");
        }
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
    disk.link(&disk.outside, "exit");
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
            ("exit/secret", Zone::ReadOnlyRoot, disk.outside.join("secret").to_str().unwrap()),
            (".", Zone::Workspace, "."),
        ] {
            let at = files.locate(Path::new(path)).unwrap();
            assert_eq!((at.zone(), at.display()), (zone, display), "{path}");
        }
        let mut whole = disk.options();
        whole.read_only_roots = vec![disk.ws.clone()];
        assert_eq!(located(&open(whole, way), "a"), (Zone::ReadOnlyRoot, disk.ws.join("a")));
    }
}

#[tokio::test]
async fn a_file_in_the_middle_of_a_path_shows_only_when_it_is_opened() {
    let disk = Disk::new();
    disk.put("file", "x");
    disk.link("file", "link");
    let before = tree(&disk.base);
    for way in BOTH {
        let files = disk.files(way);
        for (path, zone, expected) in [
            ("file/x", Zone::Workspace, disk.ws.join("file/x")),
            ("link/x/y", Zone::Workspace, disk.ws.join("file/x/y")),
            ("none/x", Zone::Workspace, disk.ws.join("none/x")),
            ("file/../file", Zone::Workspace, disk.ws.join("file")),
            ("file/../../outside/secret", Zone::Outside, disk.outside.join("secret")),
            ("../outside/secret/x", Zone::Outside, disk.outside.join("secret/x")),
            ("../outside/secret/x/../y", Zone::Outside, disk.outside.join("secret/y")),
            ("../outside/none/x", Zone::Outside, disk.outside.join("none/x")),
        ] {
            assert_eq!(located(&files, path), (zone, expected), "{path}");
        }
        for path in ["file/x", "link/x/y", "../outside/secret/x"] {
            let at = files.locate(Path::new(path)).unwrap();
            for error in [
                files.info(&at).await.unwrap_err(),
                read(&files, &at).await.unwrap_err(),
                files.write(&at, "x".into(), WriteMode::Overwrite, &Kept::default()).await.unwrap_err(),
                files.delete(&at, &Kept::default()).await.unwrap_err(),
            ] {
                let expected = format!("A part of the path is a file, not a directory: {path}");
                assert_eq!(kind_and_message(&error), (ErrorKind::ValidationError, expected.as_str()), "{way:?}");
            }
        }
    }
    assert_eq!(tree(&disk.base), before);
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
