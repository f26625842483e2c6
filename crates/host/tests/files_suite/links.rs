//! Symbolic and hard links, planted before anything is asked.

use std::path::Path;

use haft_contract::{ErrorKind, WriteMode, Zone, ports::FileSystem};

use crate::support::{BOTH, Disk, Image, Kept, SECRET, kind_and_message, located, may_read, open, read, tree, write};

#[test]
fn a06_a07_links_are_checked_by_what_they_mean() {
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

/// A rule on a link's name must be able to find it, whichever way around leads there.
#[test]
fn every_way_to_a_link_tells_its_name() {
    let disk = Disk::new();
    disk.put("releases/5/secret", "x");
    disk.put("sub/file", "x");
    disk.link("releases/5", "current");
    disk.link(&disk.ws, "sub/home");
    disk.link("current", "latest");
    let whole = disk.ws.join("current/secret").display().to_string();
    let round = format!("{}/../ws/./current/secret", disk.ws.display());
    for way in BOTH {
        let files = disk.files(way);
        for path in [
            "current/secret",
            "./current//secret",
            "sub/../current/secret",
            "nowhere/../current/secret",
            "sub/home/current/secret",
            "latest/secret",
            "sub/home/sub/../latest/secret",
            &whole,
            &round,
        ] {
            let location = files.locate(Path::new(path)).unwrap();
            let told: Vec<_> = location.spellings().iter().filter_map(|spelled| spelled.in_workspace.as_deref()).collect();
            assert!(told.contains(&"current/secret"), "{path}: {told:?}");
            assert!(location.spellings().iter().any(|spelled| spelled.absolute == disk.ws.join("current/secret")), "{path}");
            assert_eq!(location.display(), "releases/5/secret", "{path}");
        }
        assert_eq!(files.locate(Path::new("sub/../releases/5/secret")).unwrap().spellings(), []);
        let outside = files.locate(&disk.outside.join("../outside/secret")).unwrap();
        assert_eq!((outside.spellings(), outside.path()), (&[][..], &*disk.outside.join("secret")));
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
            files.restore(&planned, Image::default().back(), &journal).await.unwrap_err(),
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
