use std::sync::Arc;

use haft_contract::Erased;
use haft_testkit::{FakeHost, FileOperation, expect_error, run_tool};
use serde_json::Value;

use super::*;
use crate::shared::utf16::Utf16;

async fn run(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(EditFile), arguments, Arc::clone(host)).await
}

async fn edited(content: &str, arguments: Value) -> (String, String) {
    let host = FakeHost::new();
    host.files.put("f", content);
    let mut arguments = arguments;
    arguments["path"] = "f".into();
    let output = run(&host, arguments).await.unwrap();
    (host.files.text("f").unwrap(), output.texts().next().unwrap().to_owned())
}

#[tokio::test]
async fn one_place_or_all_of_them() {
    for (content, arguments, expected, told) in [
        (
            "one two\n",
            json!({"old_string": "two", "new_string": "2"}),
            "one 2\n",
            "Edited f: 1 replacement (line 1)\n(1 added, 1 removed)\n",
        ),
        ("x\ny\nx\n", json!({"old_string": "x", "new_string": "z", "replace_all": true}), "z\ny\nz\n", "2 replacements (lines 1, 3)"),
        (
            "a\nb\n",
            json!({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]}),
            "b\nc\n",
            "2 replacements (lines 1, 2)",
        ),
        ("a\r\nb\r\n", json!({"old_string": "a\nb", "new_string": "1\n2"}), "1\r\n2\r\n", "matched with differences: "),
        ("gone\nstays\n", json!({"old_string": "gone\n", "new_string": ""}), "stays\n", "-gone\n"),
    ] {
        let (content, text) = edited(content, arguments.clone()).await;
        assert_eq!(content, expected, "{arguments}");
        assert!(text.contains(told), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn what_does_not_fit_changes_nothing() {
    let host = FakeHost::new();
    host.files.put("f", "x\ny\nx\n");
    host.files.put("full", "x\n");
    host.files.fail(FileOperation::Write, "full", ErrorKind::ExecutionError, "No space left");
    for (arguments, kind, words) in [
        (json!({"path": "f", "old_string": "x", "new_string": "z"}), ErrorKind::ValidationError, "1, 3"),
        (json!({"path": "f", "old_string": "q", "new_string": "z"}), ErrorKind::ValidationError, "not"),
        (json!({"path": "f", "old_string": "y", "new_string": "y"}), ErrorKind::ValidationError, "same"),
        (
            json!({"path": "f", "edits": [{"old_string": "y", "new_string": "1"}, {"old_string": "q", "new_string": "2"}]}),
            ErrorKind::ValidationError,
            "2",
        ),
        (json!({"path": "f", "old_string": "y"}), ErrorKind::ValidationError, "Missing required parameter: 'new_string'"),
        (json!({"path": "f", "new_string": "y"}), ErrorKind::ValidationError, "Missing required parameter: 'old_string'"),
        (json!({"path": "f", "edits": []}), ErrorKind::ValidationError, "Missing required parameter: 'old_string'"),
        (
            json!({"path": "f", "old_string": "y", "new_string": "z", "edits": [{"old_string": "y", "new_string": "1"}]}),
            ErrorKind::ValidationError,
            "not both",
        ),
        (json!({"path": "none", "old_string": "y", "new_string": "z"}), ErrorKind::FileNotFound, "File not found: none"),
        (json!({"path": "full", "old_string": "x", "new_string": "z"}), ErrorKind::ExecutionError, "No space left"),
    ] {
        let (found, message) = expect_error(run(&host, arguments.clone()).await);
        assert!(found == kind && message.contains(words), "{arguments}: {found:?} {message}");
    }
    assert_eq!((host.files.text("f").unwrap(), host.files.text("full").unwrap()), ("x\ny\nx\n".into(), "x\n".into()));
}

#[tokio::test]
async fn nothing_replaced_makes_a_file_where_none_is() {
    let host = FakeHost::new();
    let arguments = json!({"path": "new/f", "old_string": "", "new_string": "hello\n"});
    let output = run(&host, arguments.clone()).await.unwrap();
    assert_eq!(output.texts().next(), Some("Created new/f"));
    assert_eq!(host.files.text("new/f").unwrap(), "hello\n");
    assert_eq!(expect_error(run(&host, arguments).await).0, ErrorKind::ValidationError, "a file that is there is not replaced so");
}

#[tokio::test]
async fn utf_16_is_edited_as_the_text_it_is_and_stays_utf_16() {
    for utf16 in [Utf16::Little, Utf16::Big] {
        for mark in ["\u{feff}", ""] {
            let host = FakeHost::new();
            host.files.put("f", utf16.encode(&format!("{mark}one, two and three\r\ncafé\r\n")));
            let arguments = json!({"path": "f", "old_string": "three\ncafé", "new_string": "three\n𝄞\nbar"});
            let output = run(&host, arguments).await.unwrap();
            let text = output.texts().next().unwrap();
            assert!(text.contains("(lines 1-2)") && text.contains("-café\n+𝄞\n+bar"), "{text}");
            assert_eq!(host.files.get("f"), Some(utf16.encode(&format!("{mark}one, two and three\r\n𝄞\r\nbar\r\n"))));
        }
    }
    let host = FakeHost::new();
    host.files.put("half", b"\xff\xfea\0\x00\xd8".to_vec());
    let refused = expect_error(run(&host, json!({"path": "half", "old_string": "a", "new_string": "bc"})).await);
    assert_eq!(refused.0, ErrorKind::NotText, "{}", refused.1);
    assert_eq!(host.files.get("half"), Some(b"\xff\xfea\0\x00\xd8".to_vec()));
}

#[tokio::test]
async fn files_of_another_encoding_get_no_utf_8() {
    let host = FakeHost::new();
    host.files.put("f", b"caf\xe9 one\n".to_vec());
    let (kind, message) = expect_error(run(&host, json!({"path": "f", "old_string": "one", "new_string": "\u{fc}"})).await);
    assert!(kind == ErrorKind::NotText && message.starts_with("f is not UTF-8"), "{message}");
    assert_eq!(host.files.get("f"), Some(b"caf\xe9 one\n".to_vec()));
    run(&host, json!({"path": "f", "old_string": "one", "new_string": "two"})).await.unwrap();
    assert_eq!(host.files.get("f"), Some(b"caf\xe9 two\n".to_vec()));
}

#[tokio::test]
async fn a_large_file_is_edited_in_place() {
    let content = "0123456789abcdef\n".repeat(40_000) + "here\n";
    let (after, text) = edited(&content, json!({"old_string": "here", "new_string": "there"})).await;
    assert!(after == content.replace("here", "there") && text.contains("(line 40001)"), "{text}");
}
