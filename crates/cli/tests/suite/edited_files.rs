//! Files that several processes edit, that are links, and whose bits and times matter: through the whole program.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::harness::World;

/// How many processes change one file at once.
const PROCESSES: usize = 6;

/// Runs a call in each of so many processes at once; every one must work.
fn at_once(world: &World, tool: &str, arguments: impl Fn(usize) -> serde_json::Value + Sync) {
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..PROCESSES)
            .map(|number| {
                scope.spawn({
                    let arguments = &arguments;
                    move || world.call(tool, &arguments(number))
                })
            })
            .collect();
        for call in calls {
            let (code, result) = call.join().unwrap();
            assert_eq!(code, 0, "{result}");
        }
    });
}

#[test]
fn processes_that_change_different_parts_of_a_file_all_succeed() {
    let world = World::new();
    let lines = (0..600).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
    world.write("f", &lines);
    at_once(
        &world,
        "edit_file",
        |number| json!({"path": "f", "old_string": format!("line {}\n", number * 100), "new_string": format!("part {number}\n")}),
    );
    let expected =
        (0..PROCESSES).fold(lines, |text, number| text.replace(&format!("line {}\n", number * 100), &format!("part {number}\n")));
    assert_eq!(world.read("f"), expected);
    at_once(&world, "apply_patch", |number| {
        let patch = format!("*** Begin Patch\n*** Update File: f\n@@\n-part {number}\n+patched {number}\n*** End Patch\n");
        json!({ "input": patch })
    });
    assert_eq!(world.read("f"), expected.replace("part ", "patched "));
    at_once(&world, "write_file", |number| json!({"path": "log", "content": format!("{number}\n"), "mode": "append"}));
    let mut added: Vec<String> = world.read("log").lines().map(str::to_owned).collect();
    added.sort();
    assert_eq!(added, (0..PROCESSES).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_patch_deletes_and_moves_links_not_what_they_lead_to() {
    let world = World::new();
    let patch = |text: &str| world.call("apply_patch", &json!({"input": format!("*** Begin Patch\n{text}*** End Patch\n")}));
    world.write("target", "old\n");
    let link = world.file("link");
    symlink("target", &link).unwrap();
    let (code, result) = patch("*** Delete File: link\n");
    assert_eq!((code, link.symlink_metadata().is_err(), world.read("target").as_str()), (0, true, "old\n"), "{result}");
    assert_eq!(world.run(&["undo", "last"]).code, 0);
    assert_eq!(fs::read_link(&link).unwrap().to_str(), Some("target"));
    let (code, result) = patch("*** Update File: link\n*** Move to: sub/moved\n");
    assert_eq!((code, link.symlink_metadata().is_err()), (0, true), "{result}");
    assert_eq!(fs::read_link(world.file("sub/moved")).unwrap().to_str(), Some("target"));
    assert_eq!(world.run(&["undo", "last"]).code, 0);
    assert!(fs::read_link(&link).is_ok() && !world.file("sub").exists());
    let (code, result) = patch("*** Update File: link\n*** Move to: copy\n@@\n-old\n+new\n");
    assert_eq!((code, world.read("copy").as_str(), world.read("target").as_str()), (0, "new\n", "old\n"), "{result}");
    assert!(link.symlink_metadata().is_err() && !world.file("copy").is_symlink());
    // A link that leads out of the workspace is as forbidden as what it leads to.
    fs::write(world.path("outside"), "safe").unwrap();
    symlink(world.path("outside"), &link).unwrap();
    let (code, result) = patch("*** Delete File: link\n");
    assert_eq!((code, fs::read_to_string(world.path("outside")).unwrap().as_str()), (1, "safe"), "{result}");
    assert!(link.is_symlink(), "{result}");
}

#[test]
fn undo_brings_back_the_bits_and_the_time_of_a_file() {
    let world = World::new();
    world.write("program", "one\n");
    let (path, then) = (world.file("program"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    let facts = || fs::metadata(&path).map(|metadata| (metadata.permissions().mode() & 0o7777, metadata.modified().unwrap())).unwrap();
    let (code, result) = world.call("edit_file", &json!({"path": "program", "old_string": "one", "new_string": "two"}));
    assert_eq!((code, facts().0), (0, 0o6755), "{result}");
    assert!(facts().1 > then);
    assert_eq!(world.run(&["undo", "last"]).code, 0);
    assert_eq!((world.read("program").as_str(), facts()), ("one\n", (0o6755, then)));
}

#[test]
fn ends_of_lines_are_before_their_carriage_returns() {
    let world = World::new();
    world.write("crlf", "foo\r\nbar foo\r\n");
    for pattern in ["foo$", "^foo$", "bar.*$"] {
        let (code, result) = world.call("grep_search", &json!({"pattern": pattern, "output_mode": "content"}));
        assert!(code == 0 && result["result"].as_str().is_some_and(|text| text.contains("crlf")), "{pattern}: {result}");
    }
}
