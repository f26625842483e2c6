//! Tools that hand something to each other.

use std::sync::Arc;

use haft_contract::DynTool;
use haft_testkit::{FakeHost, Reply, expect_text, run_tool};
use serde_json::{Value, json};

fn tool(name: &str) -> Arc<dyn DynTool> {
    let found = haft_builtin::all().into_iter().find(|tool| tool.definition().name == name);
    found.unwrap_or_else(|| panic!("there is no tool '{name}'"))
}

#[tokio::test]
async fn what_was_written_is_read_back_by_both_at_once() {
    let host = FakeHost::new();
    run_tool(&*tool("write_file"), json!({"path": "a", "content": "one\ntwo"}), Arc::clone(&host)).await.unwrap();
    let read_file = tool("read_file");
    let (one, two) = tokio::join!(
        run_tool(&*read_file, json!({"path": "a"}), Arc::clone(&host)),
        run_tool(&*read_file, json!({"path": "/workspace/a", "offset": 2}), Arc::clone(&host))
    );
    assert_eq!((expect_text(one), expect_text(two)), ("one\ntwo".into(), "two\n\n(Showing lines 2-2, up to the end of the file.)".into()));
}

/// A minified answer is one endless line: the model must be able to read all of it all the same.
#[tokio::test]
async fn a_spilled_response_can_be_read_to_its_end() {
    let host = FakeHost::new();
    let body = format!("[{}0]", "\"é\",".repeat(60_000));
    host.http.answer("GET", "http://api.test/", Reply::ok("application/json", body.as_str()));
    let response = run_tool(&*tool("http_request"), json!({"url": "http://api.test/"}), Arc::clone(&host)).await.unwrap();
    let spill = response.details.unwrap()["spill"].clone();

    let (mut read, mut arguments) = (String::new(), json!({"path": spill}));
    while arguments["offset"] != json!("end") {
        let page = run_tool(&*tool("read_file"), arguments.clone(), Arc::clone(&host)).await.unwrap();
        read.push_str(page.texts().next().unwrap().split("\n\n(Showing ").next().unwrap());
        let details = page.details.unwrap();
        let next = if details["next_offset"].is_null() { json!("end") } else { details["next_offset"].clone() };
        arguments["offset"] = next;
        arguments["column"] = details["next_column"].clone();
    }
    assert!(read == body, "{} of {} bytes", read.len(), body.len());
    assert_eq!(serde_json::from_str::<Vec<Value>>(&read).unwrap().len(), 60_001);
}
