//! Whatever was changed, all the way back: every byte, every permission, and what there is at all.

use haft::UndoError;
use proptest::prelude::*;
use serde_json::json;

use crate::changing::{Worked, calls, hold, prepare, start};
use crate::world::{Entry, Tree, World, assert_all_worked, numbered};

const CASES: u32 = 40;
const CALLS: usize = 10;

/// The files alone: of calls that run at once, either may have made a directory, and only the last undo could know that it
/// is nobody's any more.
fn files(mut tree: Tree) -> Tree {
    tree.retain(|_, entry| *entry != Entry::Directory);
    tree
}

/// Takes everything back: the session at once, or the newest call again and again.
async fn undo(world: &World, at_once: bool) {
    if at_once {
        return undo_session(world).await;
    }
    loop {
        match world.undo().await {
            Ok(_) => {}
            Err(UndoError::Nothing) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn undo_session(world: &World) {
    match world.undo_session().await {
        Ok(_) | Err(UndoError::NothingIn(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn any_calls_one_after_the_other_are_undone_call_by_call_and_at_once() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let worked = Worked::default();
    hold(CASES, &(start(), calls(CALLS), any::<bool>()), |(start, calls, at_once)| {
        let world = World::new();
        prepare(&world, &start);
        let before = world.tree();
        runtime.block_on(async {
            let results = world.one_by_one(numbered(calls)).await;
            worked.count(&results);
            undo(&world, at_once).await;
        });
        assert_eq!(world.tree(), before);
    });
    worked.assert_each();
}

#[test]
fn any_calls_of_one_response_are_undone_call_by_call_and_at_once() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let worked = Worked::default();
    hold(CASES, &(start(), calls(CALLS), any::<bool>()), |(start, calls, at_once)| {
        let world = World::new();
        prepare(&world, &start);
        let before = world.tree();
        let results = runtime.block_on(async {
            let results = world.together(numbered(calls)).await;
            undo(&world, at_once).await;
            results
        });
        worked.count(&results);
        if at_once {
            assert_eq!(world.tree(), before);
        } else {
            assert_eq!(files(world.tree()), files(before));
        }
    });
    worked.assert_each();
}

/// Each file ends with what it held at the start, or as nothing, and still something is left to do.
#[tokio::test]
async fn permissions_and_directories_of_files_that_are_as_before_go_back_too() {
    let patch = |body: &str| ("apply_patch", json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")}));
    let write = |path: &str| ("write_file", json!({"path": path, "content": "one\n"}));
    for (what, calls) in [
        ("removed and made anew", vec![patch("*** Delete File: a\n"), write("a")]),
        ("made, and removed again", vec![write("d/e/b"), patch("*** Delete File: d/e/b\n")]),
        (
            "moved from one new directory to another",
            vec![write("d/e/b"), patch("*** Update File: d/e/b\n*** Move to: f/b\n@@\n-one\n+two\n"), write("d/c")],
        ),
    ] {
        let world = World::new();
        world.put("a", "one\n", 0o600);
        let before = world.tree();
        assert_all_worked(&world.one_by_one(numbered(calls)).await);
        assert_ne!(world.tree(), before, "{what}");
        world.undo_session().await.unwrap();
        assert_eq!(world.tree(), before, "{what}");
    }
}
