//! The file tools on a real disk.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use haft::store::CallStatus;
use haft::{Access, ErrorKind};
use serde_json::json;

use crate::support::{World, failure, text};

#[tokio::test]
async fn what_was_written_is_on_disk_is_read_back_and_is_taken_back() {
    let world = World::new();
    for (mode, content, said, after) in [
        ("overwrite", "héllo\n", "Successfully wrote 7 bytes to a/b/notes.txt (mode: overwrite)", "héllo\n"),
        ("append", "more\n", "Successfully wrote 5 bytes to a/b/notes.txt (mode: append)", "héllo\nmore\n"),
        ("overwrite", "new", "Successfully wrote 3 bytes to a/b/notes.txt (mode: overwrite)\n(1 added, 2 removed)", "new"),
    ] {
        let arguments = json!({"path": "a/b/notes.txt", "content": content, "mode": mode});
        assert_eq!(text(&world.call("write_file", arguments).await), said);
        assert_eq!(world.content("a/b/notes.txt"), after);
        assert_eq!(text(&world.call("read_file", json!({"path": "a/b/notes.txt"})).await), after);
    }
    for before in ["héllo\nmore\n", "héllo\n"] {
        world.toolbox.undo_last().await.unwrap();
        assert_eq!(world.content("a/b/notes.txt"), before);
    }
    world.toolbox.undo_last().await.unwrap();
    assert!(!world.file("a").exists(), "the folders went with the file they were made for");
}

#[tokio::test]
async fn every_refusal_has_its_type_and_words_and_the_next_call_works() {
    let world = World::new();
    std::fs::write(world.file("binary"), [0_u8, 159, 146, 150]).unwrap();
    std::fs::write(world.file("text"), "hello world").unwrap();
    let outside = world.file("..").join("secret").display().to_string();
    std::fs::write(&outside, "S3CRET").unwrap();
    for (path, kind, said) in [
        ("nope.txt", ErrorKind::FileNotFound, "File not found: nope.txt"),
        ("binary", ErrorKind::NotText, "Not a text file: binary"),
        ("../secret", ErrorKind::PathNotAllowed, "Access denied: path is outside the workspace"),
        (outside.as_str(), ErrorKind::PathNotAllowed, "Access denied: path is outside the workspace"),
        ("/etc/passwd", ErrorKind::PathNotAllowed, "Access denied: path is outside the workspace"),
        ("/proc/self/environ", ErrorKind::PathNotAllowed, "Access denied: '/proc/self/environ' may not be read"),
    ] {
        let (found, message) = failure(&world.call("read_file", json!({"path": path})).await);
        assert!(found == kind && message.starts_with(said) && !message.contains("S3CRET"), "{path}: {found} {message}");
    }
    assert_eq!(text(&world.call("read_file", json!({"path": "text"})).await), "hello world");
}

/// Seed 000: "file tools cannot access app-internal storage".
#[tokio::test]
async fn tools_cannot_reach_their_own_records() {
    let world = World::new();
    world.call("noop", json!({})).await;
    let database = world.state("haft.db");
    let read = world.call("read_file", json!({"path": database})).await;
    assert_eq!(failure(&read).0, ErrorKind::PathNotAllowed);

    let trusted = World::with(&[], |session| session.access(Access::FullAccess));
    trusted.call("noop", json!({})).await;
    let write = trusted.call("write_file", json!({"path": trusted.state("haft.db"), "content": ""})).await;
    let (kind, message) = failure(&write);
    assert!(
        kind == ErrorKind::PathNotAllowed && message.contains("Haft keeps its settings and records there, or one of its hooks runs it"),
        "{message}"
    );
    assert_eq!(trusted.history().await.len(), 2, "the history is whole");
}

/// Seed 000: results are stored with the same security as messages, and the log can be viewed.
#[tokio::test]
async fn every_call_is_in_a_private_history_with_its_duration() {
    let world = World::new();
    let calls = [
        ("write_file", json!({"path": "a", "content": "x"})),
        ("read_file", json!({"path": "nope"})),
        ("no_such_tool", json!({})),
        ("get_current_time", json!({})),
    ];
    let mut expected = Vec::new();
    for (tool, arguments) in calls {
        let result = world.call(tool, arguments).await;
        let status = result.outcome.as_ref().map_or_else(|error| CallStatus::Error(error.kind().to_string()), |_| CallStatus::Success);
        expected.push((tool.to_owned(), status, result.elapsed));
    }
    expected.reverse();
    let kept: Vec<_> = world.history().await.into_iter().map(|call| (call.tool, call.status, call.elapsed)).collect();
    assert_eq!(
        kept.iter().map(|(tool, status, _)| (tool, status)).collect::<Vec<_>>(),
        expected.iter().map(|(tool, status, _)| (tool, status)).collect::<Vec<_>>()
    );
    for ((.., kept), (.., measured)) in kept.iter().zip(&expected) {
        assert_eq!(kept.as_micros(), measured.as_micros());
    }
    assert!(files_beneath(&world.state("")) >= 2, "the database and a pre-image at least");
}

/// How many files there are; each must be private.
fn files_beneath(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = 0;
    for path in entries {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is open to others: {mode:o}", path.display());
        files += if path.is_dir() { files_beneath(&path) } else { 1 };
    }
    files
}

#[tokio::test]
async fn a_file_that_a_patch_moves_keeps_its_permissions() {
    let world = World::new();
    std::fs::write(world.file("run.sh"), "#!/bin/sh\necho one\n").unwrap();
    std::fs::set_permissions(world.file("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let patch = "*** Begin Patch\n*** Update File: run.sh\n*** Move to: bin/go.sh\n@@\n-echo one\n+echo two\n*** End Patch";
    text(&world.call("apply_patch", json!({ "input": patch })).await);
    let mode = std::fs::metadata(world.file("bin/go.sh")).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, world.content("bin/go.sh").as_str()), (0o750, "#!/bin/sh\necho two\n"));
    assert!(!world.file("run.sh").exists());
}
