#![allow(clippy::unwrap_used, reason = "a test stops at the first failure")]

use serde_json::json;

use super::{Flaw, FlawKind, repair, size, validate};
use crate::{Block, Message, Opaque, Protocol, ResultPart, Role};

fn call(id: &str) -> Block {
    named_call(id, "read_file", "{}")
}

fn named_call(id: &str, name: &str, arguments: &str) -> Block {
    Block::Call { id: id.into(), name: name.into(), arguments: arguments.into(), opaque: None }
}

fn result(id: &str, text: &str) -> Block {
    Block::Result { id: id.into(), name: "read_file".into(), content: vec![ResultPart::Text { text: text.into() }], is_error: false }
}

fn interrupted(id: &str) -> Block {
    let text = r#"{"status":"error","error_type":"cancelled","message":"The call was interrupted before its outcome was known. It may or may not have had an effect; check before repeating it."}"#;
    Block::Result { id: id.into(), name: "read_file".into(), content: vec![ResultPart::Text { text: text.into() }], is_error: true }
}

fn renamed(mut result: Block, tool: &str) -> Block {
    if let Block::Result { name, .. } = &mut result {
        *name = tool.into();
    }
    result
}

fn user(blocks: Vec<Block>) -> Message {
    Message { role: Role::User, blocks }
}

fn model(blocks: Vec<Block>) -> Message {
    Message::assistant(blocks)
}

fn text(text: &str) -> Block {
    Block::text(text)
}

fn thinking() -> Block {
    Block::Thinking { text: "Hm.".into(), opaque: None }
}

/// A signature on a text that is empty, as Gemini sends it.
fn signature() -> Block {
    let opaque = Opaque { protocol: Protocol::Gemini, provider: "google".into(), value: json!("c2ln") };
    Block::Text { text: String::new(), opaque: Some(opaque) }
}

fn image() -> Block {
    Block::Image { mime: "image/png".into(), data: "AAAA".into() }
}

#[test]
fn valid_conversations_are_not_changed() {
    let table = [
        vec![],
        vec![Message::user("hi")],
        vec![user(vec![text("look"), image()]), model(vec![thinking(), text("a cat"), signature()])],
        vec![
            Message::user("hi"),
            model(vec![thinking(), text("let me see"), call("1"), call("2")]),
            user(vec![result("1", "a"), result("2", "b"), text("and hurry")]),
            model(vec![named_call("3", "exec", "{broken")]),
            user(vec![Block::Result { id: "3".into(), name: "exec".into(), content: Vec::new(), is_error: true }]),
        ],
    ];
    for messages in table {
        assert_eq!(validate(&messages), Vec::new(), "{messages:?}");
        assert_eq!(repair(messages.clone()), (messages, Vec::new()));
    }
}

#[test]
fn flaws_are_reported_and_repaired() {
    use FlawKind::{
        Beginning, EmptyBlock, EmptyMessage, HalfCall, Misplaced, Order, Orphan, OtherTool, SameId, SameRole, SecondResult, Unanswered,
    };
    let hi = || Message::user("hi");
    let table = [
        (vec![model(vec![text("hello")]), hi()], vec![(Beginning, 0, None)], vec![hi()]),
        (vec![model(vec![call("1")]), user(vec![result("1", "a"), text("hi")])], vec![(Beginning, 0, None)], vec![hi()]),
        (
            vec![hi(), Message::user("there"), model(vec![text("a")]), model(vec![call("1")]), user(vec![result("1", "r")])],
            vec![(SameRole, 1, None), (SameRole, 3, None)],
            vec![user(vec![text("hi"), text("there")]), model(vec![text("a"), call("1")]), user(vec![result("1", "r")])],
        ),
        (
            vec![hi(), model(vec![thinking(), signature()]), Message::user("there")],
            vec![(EmptyMessage, 1, None)],
            vec![user(vec![text("hi"), text("there")])],
        ),
        (vec![user(vec![text("hi"), text(" \n")]), model(Vec::new())], vec![(EmptyBlock, 0, Some(1)), (EmptyMessage, 1, None)], vec![hi()]),
        (
            vec![user(vec![text("hi"), call("1"), thinking()]), model(vec![text("x"), image()])],
            vec![(Misplaced, 0, Some(1)), (Misplaced, 0, Some(2)), (Misplaced, 1, Some(1))],
            vec![hi(), model(vec![text("x")])],
        ),
        (
            vec![hi(), model(vec![call("1"), call("2")]), user(vec![result("2", "b")]), model(vec![text("x")])],
            vec![(Unanswered, 1, Some(0))],
            vec![hi(), model(vec![call("1"), call("2")]), user(vec![interrupted("1"), result("2", "b")]), model(vec![text("x")])],
        ),
        (
            vec![hi(), model(vec![text("x"), call("1")])],
            vec![(Unanswered, 1, Some(1))],
            vec![hi(), model(vec![text("x"), call("1")]), user(vec![interrupted("1")])],
        ),
        (
            vec![hi(), model(vec![named_call("1", "exec", "{\"command\": \"rm")]), Message::user("continue")],
            vec![(HalfCall, 1, Some(0))],
            vec![user(vec![text("hi"), text("continue")])],
        ),
        (
            vec![user(vec![text("hi"), result("9", "lost")]), model(vec![text("x")]), user(vec![result("8", "lost")])],
            vec![(Orphan, 0, Some(1)), (Orphan, 2, Some(0))],
            vec![hi(), model(vec![text("x")])],
        ),
        (
            vec![hi(), model(vec![call("1")]), user(vec![result("1", "a"), result("1", "b")])],
            vec![(SecondResult, 2, Some(1))],
            vec![hi(), model(vec![call("1")]), user(vec![result("1", "a")])],
        ),
        (
            vec![hi(), model(vec![call("1"), call("2")]), user(vec![text("wait"), result("2", "b"), result("1", "a")])],
            vec![(Order, 2, None)],
            vec![hi(), model(vec![call("1"), call("2")]), user(vec![result("1", "a"), result("2", "b"), text("wait")])],
        ),
        (
            vec![
                hi(),
                model(vec![call("1"), call("1")]),
                user(vec![result("1", "a"), result("1", "b")]),
                model(vec![call("1-2")]),
                user(vec![result("1-2", "c")]),
            ],
            vec![(SameId, 1, Some(1))],
            vec![
                hi(),
                model(vec![call("1"), call("1-3")]),
                user(vec![result("1", "a"), result("1-3", "b")]),
                model(vec![call("1-2")]),
                user(vec![result("1-2", "c")]),
            ],
        ),
        (
            vec![hi(), model(vec![named_call("1", "exec", "")]), user(vec![result("1", "a")])],
            vec![(OtherTool, 2, Some(0))],
            vec![
                hi(),
                model(vec![named_call("1", "exec", "")]),
                user(vec![Block::Result {
                    id: "1".into(),
                    name: "exec".into(),
                    content: vec![ResultPart::Text { text: "a".into() }],
                    is_error: false,
                }]),
            ],
        ),
    ];
    for (messages, flaws, repaired) in table {
        assert_repaired(messages, &flaws, &repaired);
    }
}

#[test]
fn results_move_to_their_calls() {
    use FlawKind::{Misplaced, Orphan, SameId, Unanswered};
    let hi = || Message::user("hi");
    let table = [
        // A result that came late goes to its call, even over other turns.
        (
            vec![
                hi(),
                model(vec![call("1")]),
                Message::user("well?"),
                model(vec![text("x")]),
                user(vec![result("1", "a")]),
                model(vec![text("y")]),
            ],
            vec![(Unanswered, 1, Some(0)), (Orphan, 4, Some(0))],
            vec![hi(), model(vec![call("1")]), user(vec![result("1", "a"), text("well?")]), model(vec![text("x"), text("y")])],
        ),
        // An id that comes again, answered each time.
        (
            vec![hi(), model(vec![call("1")]), user(vec![result("1", "a")]), model(vec![call("1")]), user(vec![result("1", "b")])],
            vec![(SameId, 3, Some(0))],
            vec![hi(), model(vec![call("1")]), user(vec![result("1", "a")]), model(vec![call("1-2")]), user(vec![result("1-2", "b")])],
        ),
        // An id that comes again, answered the second time only.
        (
            vec![hi(), model(vec![call("1")]), Message::user("x"), model(vec![call("1")]), user(vec![result("1", "b")])],
            vec![(Unanswered, 1, Some(0)), (SameId, 3, Some(0))],
            vec![
                hi(),
                model(vec![call("1")]),
                user(vec![interrupted("1"), text("x")]),
                model(vec![call("1-2")]),
                user(vec![result("1-2", "b")]),
            ],
        ),
        // One id for two tools: the names tell the results apart.
        (
            vec![hi(), model(vec![named_call("1", "exec", ""), call("1")]), user(vec![result("1", "of read_file")])],
            vec![(SameId, 1, Some(1)), (Unanswered, 1, Some(0))],
            vec![
                hi(),
                model(vec![named_call("1", "exec", ""), call("1-2")]),
                user(vec![renamed(interrupted("1"), "exec"), result("1-2", "of read_file")]),
            ],
        ),
        // And one that was stored on the wrong side.
        (
            vec![hi(), model(vec![call("1"), result("1", "a")])],
            vec![(Misplaced, 1, Some(1)), (Orphan, 1, Some(1)), (Unanswered, 1, Some(0))],
            vec![hi(), model(vec![call("1")]), user(vec![result("1", "a")])],
        ),
    ];
    for (messages, flaws, repaired) in table {
        assert_repaired(messages, &flaws, &repaired);
    }
}

fn assert_repaired(messages: Vec<Message>, flaws: &[(FlawKind, usize, Option<usize>)], expected: &[Message]) {
    assert_eq!(validate(expected), Vec::new());
    let validated = validate(&messages);
    let (repaired, found) = repair(messages);
    assert_eq!(repaired, expected);
    assert_eq!(found.iter().map(|flaw| (flaw.kind, flaw.message, flaw.block)).collect::<Vec<_>>(), flaws, "{expected:?}");
    assert_eq!(found, validated);
}

#[test]
fn flaw_descriptions_name_call_and_tool() {
    let messages = [Message::user("hi"), model(vec![call("c1"), named_call("c2", "exec", "[1")]), user(vec![result("x", "lost")])];
    let expected = [
        (FlawKind::Orphan, 2, Some(0), "The message before has no call 'x'."),
        (FlawKind::Unanswered, 1, Some(0), "The call 'c1' of read_file has no result."),
        (FlawKind::HalfCall, 1, Some(1), "The call 'c2' of exec was truncated before its arguments were complete."),
    ]
    .map(|(kind, message, block, sentence)| Flaw { kind, message, block, sentence: sentence.into() });
    assert_eq!(validate(&messages), expected);
}

#[test]
fn sizes_are_a_quarter_of_the_bytes() {
    let piece = |text: &str| ResultPart::Text { text: text.into() };
    let picture = ResultPart::Image { mime: "image/png".into(), data: "A".repeat(99_999) };
    let table = [
        (vec![], 0),
        (vec![text("12345678")], 2),
        (vec![text("123456789")], 3),
        (vec![image()], 1_600),
        (vec![signature()], 2),
        (vec![named_call("12", "34", "5678")], 2),
        (vec![Block::Result { id: "12".into(), name: "34".into(), content: vec![piece("12345"), picture], is_error: false }], 1_603),
    ];
    for (blocks, tokens) in table {
        assert_eq!(size(&user(blocks.clone())), tokens, "{blocks:?}");
    }
}
