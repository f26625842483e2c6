//! Calls of one response and calls that follow from each other.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

use haft::{ErrorKind, ToolCall, ToolContext, ToolError};
use serde_json::json;

use crate::support::{World, failure, text};

/// Seed 002, flow 4-1: the time, from the machine's own clock.
#[tokio::test]
async fn the_time_is_now_in_the_default_and_in_a_named_zone() {
    let world = World::new();
    for (arguments, ending) in [(json!({}), ""), (json!({"timezone": "Asia/Tokyo"}), "+09:00"), (json!({"timezone": "UTC"}), "Z")] {
        let before = millis();
        let result = world.call("get_current_time", arguments).await;
        let told = result.details().unwrap()["unix_ms"].as_u64().unwrap();
        assert!((before..=millis()).contains(&told) && text(&result).ends_with(ending), "{}", text(&result));
    }
}

fn millis() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

/// Seed 002, flow 4-4: two calls of one response, both answered, in their order.
#[tokio::test]
async fn several_calls_of_one_response_are_all_answered_in_their_order() {
    let world = World::new();
    std::fs::write(world.file("test.txt"), "hello world").unwrap();
    let calls = vec![
        ToolCall::new("call_1", "get_current_time", json!({"timezone": "UTC"})),
        ToolCall::new("call_2", "read_file", json!({"path": "test.txt"})),
        ToolCall::new("call_3", "read_file", json!({"path": "nope.txt"})),
        ToolCall::new("call_4", "write_file", json!({"path": "test.txt", "content": "changed"})),
        ToolCall::new("call_5", "read_file", json!({"path": "test.txt"})),
    ];
    let results = world.toolbox.call_all(calls).await;
    let ids: Vec<_> = results.iter().map(|result| result.call_id.as_str()).collect();
    assert_eq!(ids, ["call_1", "call_2", "call_3", "call_4", "call_5"]);
    assert!(text(&results[0]).ends_with('Z'));
    assert_eq!(failure(&results[2]), (ErrorKind::FileNotFound, "File not found: nope.txt".into()));
    // The read before the write sees the old content, the one after it the new.
    assert_eq!((text(&results[1]).as_str(), text(&results[4]).as_str()), ("hello world", "changed"));
}

/// Seed 000: "chained tool calls" and "tool call chain with 10+ rounds": each result names the next call.
#[tokio::test]
async fn a_chain_of_twelve_rounds_comes_to_its_end() {
    let world = World::new();
    for round in 1..12 {
        let (tool, path) = if round % 2 == 0 { ("read_file", round) } else { ("read", round) };
        std::fs::write(world.file(&path.to_string()), format!("{tool} {}", round + 1)).unwrap();
    }
    std::fs::write(world.file("12"), "the end").unwrap();
    let (mut next, mut rounds) = ("read_file 1".to_owned(), 0);
    while let Some((tool, path)) = next.split_once(' ').filter(|(tool, _)| tool.starts_with("read")) {
        let result = world.call(tool, json!({"path": path})).await;
        next = text(&result);
        rounds += 1;
    }
    assert_eq!((next.as_str(), rounds, world.history().await.len()), ("the end", 12, 12));
}

/// Holds its thread until somebody lets it go.
#[haft::tool(timeout_secs = 20)]
async fn hold(cx: &ToolContext) -> Result<String, ToolError> {
    let _ = cx;
    let door = DOOR.lock().unwrap().take();
    door.ok_or_else(|| ToolError::execution("there is no door"))?
        .recv_timeout(Duration::from_secs(15))
        .map_err(|error| ToolError::execution(error.to_string()))
}

static DOOR: Mutex<Option<mpsc::Receiver<String>>> = Mutex::new(None);

/// Seed 000: tools execute in the background and the interface stays responsive. The test has one thread: if the tool
/// held it, nobody would ever open the door.
#[tokio::test(flavor = "current_thread")]
async fn caller_continues_while_a_tool_holds_its_thread() {
    let world = Arc::new(World::new());
    world.toolbox.add(Hold).unwrap();
    let (open, door) = mpsc::channel();
    *DOOR.lock().unwrap() = Some(door);
    let held = tokio::spawn({
        let world = Arc::clone(&world);
        async move { text(&world.call("hold", json!({})).await) }
    });
    while DOOR.lock().unwrap().is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(text(&world.call("noop", json!({})).await), "noop executed with 0 params");
    open.send("let go".to_owned()).unwrap();
    assert_eq!(held.await.unwrap(), "let go");
}
