//! A model that knows the tools of another system: shown its names, understood in its units, answered in its words.

use haft::{Dialect, ErrorKind};
use serde_json::json;

use crate::support::{World, failure, text};

fn world(dialect: Dialect) -> World {
    let world = World::with(&[], |session| session.dialect(dialect));
    let lines: Vec<String> = (1..=25).map(|line| format!("line {line}\n")).collect();
    std::fs::write(world.file("poem.txt"), lines.concat()).unwrap();
    world
}

/// The number behind `offset=` in a note.
fn next(text: &str) -> Option<u64> {
    text.split_once("Continue with offset=")?.1.trim_end_matches(".)").parse().ok()
}

/// Page by page, following the notes alone: a unit that went wrong anywhere would lose or repeat a line.
#[tokio::test]
async fn a_file_is_read_to_its_end_by_following_the_notes() {
    for (dialect, name, first) in [(Dialect::Haft, "read_file", 1), (Dialect::Claw, "read_file", 0), (Dialect::OpenClaw, "read", 1)] {
        let world = world(dialect);
        let (mut read, mut offset) = (String::new(), Some(first));
        while let Some(from) = offset {
            let page = text(&world.call(name, json!({"path": "poem.txt", "offset": from, "limit": 10})).await);
            read.push_str(page.split("\n(Showing ").next().unwrap());
            offset = next(&page);
        }
        assert_eq!(read, world.content("poem.txt"), "{dialect}");
    }
}

#[tokio::test]
async fn every_dialect_writes_and_history_keeps_the_canonical_call() {
    for (dialect, name) in [(Dialect::Haft, "file_write"), (Dialect::Claw, "write_file"), (Dialect::OpenClaw, "write")] {
        let world = world(dialect);
        assert!(world.call(name, json!({"file_path": "a", "content": "x"})).await.is_success());
        assert_eq!(world.content("a"), "x");
        let record = &world.history().await[0];
        let arguments = json!({"content": "x", "path": "a", "mode": "overwrite"});
        assert_eq!((record.tool.as_str(), &record.arguments), ("write_file", &arguments), "{dialect}");
    }
}

#[tokio::test]
async fn a_wrong_call_is_answered_with_the_name_that_was_shown() {
    let (kind, message) = failure(&world(Dialect::OpenClaw).call("read", json!({})).await);
    assert_eq!(kind, ErrorKind::ValidationError);
    let expected = "Missing required parameter: 'path'. Expected: read(path: string, offset?: integer, limit?: integer).";
    assert_eq!(message, expected);
}
