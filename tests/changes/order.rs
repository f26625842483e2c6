//! Many calls of one response: on one file in call order, on different files at once.

use std::sync::Arc;

use haft::store::SqliteCallLog;
use serde_json::{Value, json};

use crate::changing::NOTEBOOK;
use crate::meeting::Meeting;
use crate::world::{World, assert_all_worked, numbered, outcomes};

const CALLS: usize = 50;

/// Finds its place only in what the edit before it left.
fn link_of_a_chain(path: &str, number: usize) -> (&'static str, Value) {
    let arguments = json!({"path": path, "old_string": format!("<{number}>"), "new_string": format!("{number},<{}>", number + 1)});
    ("edit_file", arguments)
}

fn chain(length: usize) -> String {
    let numbers: Vec<_> = (0..length).map(|number| number.to_string()).chain([format!("<{length}>\n")]).collect();
    numbers.join(",")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_edits_of_one_file_in_one_response_lose_none_and_keep_their_order() {
    let state = tempfile::tempdir().unwrap();
    let world = World::with_log(Arc::new(SqliteCallLog::open(state.path()).unwrap().log));
    world.put("file", &chain(0), 0o640);
    let before = world.tree();
    let results = world.together(numbered((0..CALLS).map(|number| link_of_a_chain("file", number)))).await;
    assert_all_worked(&results);
    let ids: Vec<_> = results.iter().map(|result| result.call_id.clone()).collect();
    assert_eq!(ids, (0..CALLS).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(world.text("file"), chain(CALLS));
    let undone = world.undo_session().await.unwrap();
    assert_eq!((undone.calls.len(), undone.files, world.tree()), (CALLS, vec![world.path("file").canonicalize().unwrap()], before));
}

#[tokio::test]
async fn edits_of_different_files_are_under_way_at_once() {
    const FILES: usize = 8;
    let meeting = Arc::new(Meeting::of(FILES));
    let world = World::with_log(Arc::clone(&meeting) as _);
    let names: Vec<_> = (0..FILES).map(|number| format!("file {number}")).collect();
    for name in &names {
        world.put(name, &chain(0), 0o644);
    }
    // Three links of every chain, one file after the other: the second waits for the first of its own file and no other.
    let calls = (0..3).flat_map(|link| names.iter().map(move |name| link_of_a_chain(name, link)));
    assert_all_worked(&world.together(numbered(calls)).await);
    assert_eq!(meeting.seen(), (true, Vec::new()));
    for name in &names {
        assert_eq!(world.text(name), chain(3), "{name}");
    }
}

#[tokio::test]
async fn calls_of_one_file_are_never_under_way_at_once() {
    let meeting = Arc::new(Meeting::of(1));
    let world = World::with_log(Arc::clone(&meeting) as _);
    world.put("file", &chain(0), 0o644);
    std::os::unix::fs::symlink("file", world.path("link")).unwrap();
    let path = |number: usize| ["file", "./file", "link"][number % 3];
    assert_all_worked(&world.together(numbered((0..CALLS).map(|number| link_of_a_chain(path(number), number)))).await);
    assert_eq!((meeting.seen(), world.text("file")), ((true, Vec::new()), chain(CALLS)));
}

/// Five files, each of which several tools change; every change needs the one before.
fn mixed() -> Vec<(&'static str, Value)> {
    let patch = |body: &str| ("apply_patch", json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")}));
    let write = |path: &str, content: &str, mode: &str| ("write_file", json!({"path": path, "content": content, "mode": mode}));
    let edit = |path: &str, old: &str, new: &str| ("edit_file", json!({"path": path, "old_string": old, "new_string": new}));
    let cell = |cell: &str, source: &str, mode: &str| {
        ("notebook_edit", json!({"notebook_path": "n.ipynb", "cell_id": cell, "new_source": source, "edit_mode": mode}))
    };
    vec![
        write("a", "one\ntwo\n", "overwrite"),
        cell("0", "2", "replace"),
        patch("*** Update File: b\n*** Move to: moved/b\n@@\n-old\n+new\n"),
        write("c", "1\n", "append"),
        edit("d", "start", "middle"),
        edit("a", "two", "three"),
        write("c", "2\n", "append"),
        edit("moved/b", "new", "newer"),
        cell("0", "3", "insert"),
        patch("*** Update File: a\n@@\n one\n-three\n+four\n*** Update File: c\n@@\n 1\n-2\n+3\n"),
        edit("n.ipynb", "\"3\"", "\"4\""),
        patch("*** Delete File: d\n"),
        write("a", "five\n", "append"),
        edit("moved/b", "newer", "newest"),
        write("d", "end\n", "overwrite"),
    ]
}

#[tokio::test]
async fn different_tools_keep_their_order_on_one_file_and_meet_on_different_ones() {
    let meeting = Arc::new(Meeting::of(5));
    let worlds = [World::with_log(Arc::clone(&meeting) as _), World::new()];
    for world in &worlds {
        for (name, content) in [("b", "old\n"), ("c", "0\n"), ("d", "start\n"), ("n.ipynb", NOTEBOOK)] {
            world.put(name, content, 0o644);
        }
    }
    let [at_once, in_turn] = &worlds;
    let results = at_once.together(numbered(mixed())).await;
    assert_all_worked(&results);
    assert_eq!(meeting.seen(), (true, Vec::new()));
    let texts = ["a", "moved/b", "c", "d"].map(|name| at_once.text(name));
    assert_eq!(texts, ["one\nfour\nfive\n", "newest\n", "0\n1\n3\n", "end\n"]);
    assert!(!at_once.path("b").exists());
    let expected = in_turn.one_by_one(numbered(mixed())).await;
    assert_eq!((outcomes(&results), at_once.tree()), (outcomes(&expected), in_turn.tree()));
}
