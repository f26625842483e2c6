//! `kill -9` at many points of a patch over many files: the next start finishes it or takes it back, and prints that.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::harness::World;

const FILES: usize = 16;

fn name(number: usize) -> String {
    format!("dir/f{number:02}.txt")
}

/// Changes most files, deletes one and adds one in a new folder.
fn patch() -> String {
    let update = |number| format!("*** Update File: {}\n@@\n-old {number}\n+new {number}\n", name(number));
    let updates: String = (1..FILES).map(update).collect();
    format!("*** Begin Patch\n{updates}*** Delete File: dir/f00.txt\n*** Add File: made/here/n.txt\n+made\n*** End Patch\n")
}

fn prepared() -> World {
    let world = World::new();
    for number in 0..FILES {
        world.write(&name(number), format!("old {number}\n"));
    }
    world
}

/// How many of the changes are there.
fn changes(world: &World) -> usize {
    let changed = (1..FILES).filter(|number| world.read(&name(*number)) == format!("new {number}\n")).count();
    changed + usize::from(!world.file("dir/f00.txt").exists()) + usize::from(world.file("made/here/n.txt").exists())
}

/// Kills the call when so many changes are there; says how many there are then.
fn killed_after(world: &World, wanted: usize) -> usize {
    let arguments = json!({ "input": patch() }).to_string();
    let mut child = world.command(&["call", "apply_patch", &arguments]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while changes(world) < wanted && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_mins(1));
    }
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    assert!(ended.signal() == Some(9) || ended.success(), "{ended:?}");
    changes(world)
}

#[test]
fn patch_that_was_cut_off_is_finished_or_taken_back_at_the_next_start() {
    let mut partial = 0;
    for wanted in (1..FILES + 2).chain([2, 5, 9]) {
        let world = prepared();
        let left = killed_after(&world, wanted);
        let ran = world.run(&["call", "noop"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "noop executed with 0 params\n"));
        let now = changes(&world);
        assert!(now == 0 || now == FILES + 1, "killed with {left} changes, {now} after the repair: {ran:?}");
        assert_eq!(world.file("made").exists(), now > 0, "new folders are taken back with the patch");
        if left > 0 && left < FILES + 1 {
            partial += 1;
            assert_eq!(now, 0);
            assert!(ran.stderr.contains("was cut off when its process ended: its changes were incomplete and were taken back"), "{ran:?}");
            let history = world.run(&["history", "--tool", "apply_patch", "--json"]).json();
            assert_eq!((&history[0]["error_type"], &history[0]["undone"]), (&json!("interrupted"), &json!(true)), "{history}");
        }
        let again = world.run(&["call", "noop"]);
        assert_eq!((again.code, again.stderr.as_str()), (0, ""), "it is said once");
        assert_eq!(changes(&world), now);
    }
    assert!(partial >= 3, "only {partial} of the kills came in the middle");
}

#[test]
fn patch_that_was_cut_off_and_changed_by_others_since_stays_and_says_how_to_take_it_back() {
    for wanted in 2..12 {
        let world = prepared();
        let left = killed_after(&world, wanted);
        if left == 0 || left > FILES {
            continue;
        }
        let changed = (1..FILES).find(|number| world.read(&name(*number)).starts_with("new")).unwrap();
        world.write(&name(changed), "by the user");
        let ran = world.run(&["call", "noop"]);
        assert!(
            ran.stderr.contains("stay, because these files were changed since: ") && ran.stderr.contains("--force` takes them"),
            "{ran:?}"
        );
        assert_eq!(world.read(&name(changed)), "by the user");
        let id = ran.stderr.split("`haft undo ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        assert_eq!(world.run(&["undo", &id, "--force"]).code, 0);
        assert_eq!(changes(&world), 0);
        return;
    }
    panic!("no kill came in the middle");
}

#[test]
fn patch_whose_process_still_runs_is_left_alone() {
    let world = prepared();
    let arguments = json!({ "input": patch() }).to_string();
    let mut child = world.command(&["call", "apply_patch", &arguments]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let others: Vec<String> = (0..3).map(|_| world.run(&["call", "noop"]).stderr).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!((others, changes(&world)), (vec![String::new(); 3], FILES + 1));
    assert_eq!(fs::read_to_string(world.file("made/here/n.txt")).unwrap(), "made\n");
}
