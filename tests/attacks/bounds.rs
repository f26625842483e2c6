//! A27: whatever has no end is answered in time, with a result that has one.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use haft::ToolResult;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use serde_json::{Value, json};

use crate::doors::{Does, doors};
use crate::world::{World, everything_of, failure, plain, text};

/// No answer is longer, by the bounds that the tools state.
const LONGEST: usize = 2 << 20;
/// No call takes longer, on a slow and busy machine without optimisation.
const SLOWEST: Duration = Duration::from_secs(25);

pub(crate) fn nothing_is_without_end() {
    let world = World::new(plain);
    a_huge_file(&world);
    a_folder_of_many(&world);
    deep_folders(&world);
    long_paths(&world);
}

fn bounded(world: &World, tool: &str, arguments: Value) -> ToolResult {
    let (said, started) = (format!("{tool} {arguments}"), Instant::now());
    let result = world.call_unchecked(&world.session(haft::Dialect::Haft), tool, arguments);
    assert!(started.elapsed() < SLOWEST, "{said} took {:?}", started.elapsed());
    assert!(everything_of(&result).len() < LONGEST, "{said} said {} bytes", everything_of(&result).len());
    result
}

/// A hundred gigabytes that are not there. Every door gives an answer, and none holds the file.
fn a_huge_file(world: &World) {
    for end in ["txt", "ipynb"] {
        std::fs::File::create(world.ws.join(format!("huge.{end}"))).unwrap().set_len(100 << 30).unwrap();
    }
    for door in doors() {
        let arguments = door.arguments(&format!("huge{}", door.end()));
        // A file that is named itself is searched although it is binary, until the time of the search is up: twenty seconds.
        if door.tool.starts_with("grep") && door.does == Does::Read {
            continue;
        }
        let result = bounded(world, door.tool, arguments);
        let size = world.ws.join(format!("huge{}", door.end())).metadata().map(|file| file.len());
        assert_eq!(size.ok(), Some(100 << 30), "{}: {}", door.name, everything_of(&result));
    }
    for end in ["txt", "ipynb"] {
        std::fs::remove_file(world.ws.join(format!("huge.{end}"))).unwrap();
    }
}

/// Twenty thousand files in one folder.
fn a_folder_of_many(world: &World) {
    let folder = world.ws.join("many");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..20_000 {
        std::fs::File::create(folder.join(format!("file-{number:05}-{}.txt", "x".repeat(20)))).unwrap();
    }
    let listed = text(&bounded(world, "read_file", json!({"path": "many"})));
    assert!(listed.starts_with("many is a directory and has 20000 entries:") && listed.contains("(and 19900 more)"), "{listed:.200}");
    let found = text(&bounded(world, "glob_search", json!({"pattern": "**/*", "path": "many", "limit": 1000})));
    assert!(found.contains("of 20,000") && found.lines().count() < 1010, "{found:.200}");
    let none = text(&bounded(world, "grep_search", json!({"pattern": ".", "path": "many"})));
    assert!(none.starts_with("No "), "{none:.200}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Five thousand folders within each other: deeper than any path can name.
fn deep_folders(world: &World) {
    let mut within: OwnedFd = std::fs::File::open(&world.ws).unwrap().into();
    for _ in 0..5000 {
        mkdirat(&within, "d", Mode::RWXU).unwrap();
        within = openat(&within, "d", OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty()).unwrap();
    }
    let bottom = openat(&within, "found.txt", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
    std::fs::File::from(bottom).write_all(b"found\n").unwrap();
    for (tool, arguments) in [
        ("glob_search", json!({"pattern": "**/*"})),
        ("glob_search", json!({"pattern": "d/d/**"})),
        ("grep_search", json!({"pattern": "found"})),
        ("read_file", json!({"path": "d"})),
    ] {
        let result = bounded(world, tool, arguments);
        assert!(result.is_success(), "{tool}: {}", everything_of(&result));
    }
    remove_deep(&world.ws);
}

/// The standard library would take one handle for each folder.
fn remove_deep(folder: &Path) {
    use rustix::fs::{AtFlags, renameat, unlinkat};
    let top: OwnedFd = std::fs::File::open(folder).unwrap().into();
    for _ in 0..5000 {
        // The folder within takes the place of its own, which is empty then.
        if renameat(&top, "d/d", &top, "e").is_err() {
            break;
        }
        unlinkat(&top, "d", AtFlags::REMOVEDIR).unwrap();
        renameat(&top, "e", &top, "d").unwrap();
    }
    unlinkat(CWD, folder.join("d/found.txt"), AtFlags::empty()).unwrap();
    unlinkat(&top, "d", AtFlags::REMOVEDIR).unwrap();
}

/// Paths that are too long or too deep, through every door.
fn long_paths(world: &World) {
    for door in doors().iter().filter(|door| door.reads() || door.writes()) {
        for path in ["a/".repeat(300), "a".repeat(256), "a/".repeat(2100), format!("sub/{}", "../".repeat(300))] {
            let result = bounded(world, door.tool, door.arguments(&format!("{path}x{}", door.end())));
            let (kind, message) = failure(&result);
            assert_eq!(kind, haft::ErrorKind::ValidationError, "{}: {message}", door.name);
            assert!(message.len() < 5000, "{}: {} bytes", door.name, message.len());
        }
    }
}
