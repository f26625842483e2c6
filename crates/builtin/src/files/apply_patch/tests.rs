use haft_contract::{DynTool, Erased};
use haft_testkit::{FakeHost, FileOperation, expect_error, run_tool};
use serde_json::{Value, json};

use super::*;

const PATCH: &str = "*** Begin Patch\n*** Add File: new/n.txt\n+hello\n*** Update File: a\n@@\n one\n-two\n+2\n*** Delete File: d\n\
                     *** Update File: m\n*** Move to: n\n@@\n-x\n+y\n*** End Patch\n";

fn host() -> Arc<FakeHost> {
    let host = FakeHost::new();
    for (path, content) in [("a", "one\ntwo\n"), ("d", "gone\n"), ("m", "x\n")] {
        host.files.put(path, content);
    }
    host
}

async fn run(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(ApplyPatch), arguments, Arc::clone(host)).await
}

#[tokio::test]
async fn files_are_made_changed_moved_and_removed() {
    let host = host();
    let output = run(&host, json!({"input": PATCH})).await.unwrap();
    let expected = "Success. Changed:\nA new/n.txt\nM a\nD d\nM m -> n\n(3 lines added, 3 removed)";
    assert_eq!(output.texts().next(), Some(expected));
    let summary = json!({"added": ["new/n.txt"], "modified": ["a", "n"], "deleted": ["d"]});
    assert_eq!(output.details.unwrap()["summary"], summary);
    let texts = ["new/n.txt", "a", "d", "m", "n"].map(|path| host.files.text(path));
    assert_eq!(texts, [Some("hello\n".into()), Some("one\n2\n".into()), None, None, Some("y\n".into())]);
}

#[tokio::test]
async fn files_of_utf_16_are_changed_moved_and_removed_in_their_encoding() {
    for utf16 in [Utf16::Little, Utf16::Big] {
        let host = FakeHost::new();
        for (path, content) in [("a", "one\r\ntwo é\r\n"), ("d", "gone\n"), ("m", "x\n")] {
            host.files.put(path, utf16.encode(&format!("\u{feff}{content}")));
        }
        let patch = PATCH.replace("-two\n", "-two é\n");
        let output = run(&host, json!({"input": patch})).await.unwrap();
        assert_eq!(output.texts().next(), Some("Success. Changed:\nA new/n.txt\nM a\nD d\nM m -> n\n(3 lines added, 3 removed)"));
        let expected =
            [("a", utf16.encode("\u{feff}one\r\n2\r\n")), ("n", utf16.encode("\u{feff}y\n")), ("new/n.txt", b"hello\n".to_vec())];
        assert_eq!(host.files.paths().len(), expected.len());
        for (path, content) in expected {
            assert_eq!(host.files.get(path), Some(content), "{path}");
        }
    }
}

#[tokio::test]
async fn a_dry_run_reads_and_says_what_would_be() {
    let host = host();
    let output = run(&host, json!({"input": PATCH, "dry_run": true})).await.unwrap();
    let text = output.texts().next().unwrap();
    assert!(text.starts_with("The patch fits. It would change:\nA new/n.txt\n") && text.contains("-two\n+2\n"), "{text}");
    assert_eq!(host.files.paths().len(), 3);
    let arguments = json!({"input": PATCH, "dry_run": true});
    let planned = Erased::new(ApplyPatch).prepare(arguments, &PlanContext::new(&*host)).unwrap();
    assert!(!planned.plan().changes_something());
}

#[tokio::test]
async fn whatever_does_not_fit_is_told_at_once_and_nothing_is_changed() {
    let host = host();
    host.files.put("a", "one\nTWO\n");
    host.files.put("new/n.txt", "there\n");
    let (kind, message) = expect_error(run(&host, json!({"input": PATCH})).await);
    assert_eq!(kind, ErrorKind::ValidationError);
    for words in ["a: ", "Nothing was changed."] {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert_eq!((host.files.paths().len(), host.files.text("a").unwrap()), (4, "one\nTWO\n".into()));
    for (patch, words) in [
        ("no patch", "Begin Patch"),
        ("*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Update File: ./a\n@@\n-two\n+2\n*** End Patch\n", "more than once"),
    ] {
        let (kind, message) = expect_error(run(&host, json!({"input": patch})).await);
        assert!(kind == ErrorKind::ValidationError && message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn files_of_another_encoding_get_no_utf_8() {
    let host = host();
    host.files.put("m", b"x\ncaf\xe9\n".to_vec());
    let (kind, message) = expect_error(run(&host, json!({"input": PATCH.replace("+y", "+\u{fc}")})).await);
    assert!(kind == ErrorKind::NotText && message.starts_with("m is not UTF-8"), "{message}");
    assert_eq!(host.files.paths().len(), 3);
    run(&host, json!({"input": PATCH})).await.unwrap();
    assert_eq!(host.files.get("n"), Some(b"y\ncaf\xe9\n".to_vec()));
}

#[tokio::test]
async fn a_failure_in_the_middle_is_the_calls_failure() {
    let host = host();
    host.files.fail(FileOperation::Delete, "d", ErrorKind::ExecutionError, "not yours");
    assert_eq!(expect_error(run(&host, json!({"input": PATCH})).await), (ErrorKind::ExecutionError, "not yours".into()));
}
