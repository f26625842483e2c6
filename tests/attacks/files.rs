//! Files that are odd: by their names, their links, their size, or because they change under a call.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use haft::{Dialect, ErrorKind};
use serde_json::{Value, json};

use crate::races::Over;
use crate::snapshot;
use crate::world::{World, everything_of, failure, notebook, plain, put, text};

/// The changes of one file that tools can make.
fn changes(path: &str, book: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("write_file", json!({"path": path, "content": "new\n"})),
        ("write_file", json!({"path": path, "content": "new\n", "mode": "append"})),
        ("edit_file", json!({"path": path, "old_string": "old", "new_string": "new"})),
        ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Update File: {path}\n@@\n-old\n+new\n*** End Patch\n")})),
        ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n")})),
        ("notebook_edit", json!({"notebook_path": book, "cell_id": "c", "new_source": "new"})),
    ]
}

fn linked(base: &Path, ws: &Path) {
    for end in ["txt", "ipynb"] {
        std::fs::hard_link(base.join(format!("vault/canary.{end}")), ws.join(format!("hard.{end}"))).unwrap();
    }
}

/// Every change of a file with other names gives the workspace a file of its own, and the other name keeps the old content.
#[test]
fn a_hard_link_is_broken_by_every_change() {
    let world = World::new(linked);
    for (tool, arguments) in changes("hard.txt", "hard.ipynb") {
        let end = if tool == "notebook_edit" { "ipynb" } else { "txt" };
        let (inside, outside) = (world.ws.join(format!("hard.{end}")), world.base.join(format!("vault/canary.{end}")));
        assert_eq!(inside.metadata().unwrap().ino(), outside.metadata().unwrap().ino());
        let result = world.call(tool, arguments);
        assert!(result.is_success(), "{tool}: {}", everything_of(&result));
        assert_eq!(outside.metadata().unwrap().nlink(), 1, "{tool}: the link is broken");
        assert_ne!(inside.metadata().ok().map(|file| file.ino()), Some(outside.metadata().unwrap().ino()), "{tool}");
        world.reset();
    }
}

/// What a session has seen and somebody else has changed since is not overwritten by anything that would lose their changes.
#[test]
fn what_changed_since_it_was_read_is_not_lost() {
    let world = World::new(plain);
    for (tool, arguments) in changes("file.txt", "file.ipynb").into_iter().filter(|(_, arguments)| arguments["mode"].is_null()) {
        let is_notebook = tool == "notebook_edit";
        let name = if is_notebook { "file.ipynb" } else { "file.txt" };
        let session = world.session(Dialect::Haft);
        world.put(name, if is_notebook { notebook("old\n") } else { "old\n".into() });
        world.call_in(&session, "read_file", json!({"path": name})).outcome.unwrap();
        let theirs = if is_notebook { notebook("theirs\nold\n") } else { "theirs\nold\n".into() };
        world.put(name, &theirs);
        let result = world.call_in(&session, tool, arguments.clone());
        match tool {
            // These would lose it.
            "write_file" | "notebook_edit" => {
                assert_eq!(failure(&result).0, ErrorKind::ExecutionError, "{tool}");
                assert_eq!(world.content(name), theirs.as_bytes(), "{tool}");
            }
            // These make their change in what is there now, or remove what they were told to.
            _ => assert!(result.is_success(), "{tool} {arguments}: {}", everything_of(&result)),
        }
        if world.ws.join(name).exists() {
            assert!(String::from_utf8(world.content(name)).unwrap().contains("theirs"), "{tool} {arguments}");
        }
    }
}

/// Somebody rewrites a file as fast as they can while it is edited: each call either makes its change in what was there, or
/// refuses. No state of the file is ever half of one and half of another.
#[test]
fn a_file_that_changes_during_the_call_is_never_mixed() {
    let world = World::new(plain);
    let (path, over) = (world.ws.join("busy.txt"), std::sync::atomic::AtomicBool::new(false));
    let version = |number: usize| format!("old\n{}", format!("version {number}\n").repeat(2000));
    put(&path, version(0));
    let (mut done, mut refused) = (0, 0);
    let changes = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..).take_while(|_| !over.load(std::sync::atomic::Ordering::Relaxed)) {
                changes.store(number, std::sync::atomic::Ordering::Relaxed);
                let draft = world.base.join("draft");
                std::fs::write(&draft, version(number)).unwrap();
                std::fs::rename(&draft, &path).unwrap();
            }
        });
        let _over = Over(&over);
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(2) {
            let arguments = json!({"path": "busy.txt", "edits": [{"old_string": "old", "new_string": "new"}]});
            let result = world.call_unchecked(&world.session(Dialect::Haft), "edit_file", arguments);
            match result.outcome {
                Ok(_) => done += 1,
                Err(_) => refused += 1,
            }
            let now = std::fs::read_to_string(&path).unwrap();
            let lines: Vec<&str> = now.lines().skip(1).collect();
            assert!(lines.len() == 2000 && lines.iter().all(|line| *line == lines[0]), "mixed: {now:.100}");
        }
    });
    println!("{done} done, {refused} refused");
    let changes = changes.into_inner();
    assert!(done + refused > 0 && changes > 10, "{done} done, {refused} refused, {changes} changes meanwhile");
}

/// Names that are no text, have line ends in them, or are as long as names can be.
#[test]
fn odd_names_are_shown_in_one_line_and_do_no_harm() {
    let world = World::new(plain);
    let longest = format!("{}.txt", "n".repeat(251));
    for name in
        [&b"not-\xff\xfe-utf8.txt"[..], b"two\nlines.txt", b"bell\x07.txt", b"\xe2\x80\xaeback.txt", b" blank .txt", longest.as_bytes()]
    {
        std::fs::write(world.ws.join(OsStr::from_bytes(name)), "needle\n").unwrap();
    }
    let found = text(&world.call("glob_search", json!({"pattern": "*.txt"})));
    let matched = text(&world.call("grep_search", json!({"pattern": "needle"})));
    let listed = text(&world.call("read_file", json!({"path": "."})));
    for shown in [&found, &matched, &listed] {
        assert!(!shown.contains(['\u{7}', '\u{202e}']) && !shown.contains("two\nlines"), "{shown:?}");
        assert!(shown.contains("two\\nlines.txt") && shown.contains("\u{fffd}") && shown.contains(&longest), "{shown}");
    }
    assert_eq!((found.lines().count(), matched.lines().count()), (7, 6));
    assert_eq!(text(&world.call("read_file", json!({"path": longest}))), "needle\n");
    for (tool, arguments) in changes(&longest, "x.ipynb").into_iter().take(2) {
        assert!(world.call(tool, arguments).is_success(), "{tool}: a draft beside it needs no longer name");
    }
    // A name that is no text cannot be said, and what is shown of it is the name of nothing.
    let before = snapshot::of(&world.ws, &[]);
    for (tool, arguments) in changes("not-\u{fffd}\u{fffd}-utf8.txt", "not-\u{fffd}.ipynb").into_iter().skip(2) {
        assert!(!world.call(tool, arguments).is_success(), "{tool}");
    }
    assert_eq!(snapshot::of(&world.ws, &[]), before);
}

/// One line of five hundred megabytes: a page of it costs a page, a search finds what is in it and shows a piece.
#[test]
fn a_line_without_end_is_read_and_searched_in_pieces() {
    let world = World::new(plain);
    let mut file = std::fs::File::create(world.ws.join("line.txt")).unwrap();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..500 {
        file.write_all(&piece).unwrap();
    }
    file.write_all(b"needle").unwrap();
    drop(file);
    for (tool, arguments, expected) in [
        ("read_file", json!({"path": "line.txt"}), "column="),
        ("read_file", json!({"path": "line.txt", "column": 5000, "limit": 1}), "column="),
        ("grep_search", json!({"pattern": "needle", "output_mode": "content"}), "line.txt:1:"),
        ("grep_search", json!({"pattern": "needle$", "path": "line.txt", "output_mode": "count"}), "line.txt:1"),
        ("glob_search", json!({"pattern": "*"}), "line.txt"),
    ] {
        let started = Instant::now();
        let result = world.call_unchecked(&world.session(Dialect::Haft), tool, arguments.clone());
        let told = everything_of(&result);
        assert!(started.elapsed() < Duration::from_secs(25), "{tool} {arguments} took {:?}", started.elapsed());
        assert!(told.len() < 1_100_000 && told.contains(expected), "{tool} {arguments}: {told:.400}");
    }
    for (tool, arguments) in changes("line.txt", "x.ipynb").into_iter().skip(2).take(2) {
        let result = world.call_unchecked(&world.session(Dialect::Haft), tool, arguments);
        assert!(everything_of(&result).contains("too large"), "{tool}: {:.300}", everything_of(&result));
    }
}
