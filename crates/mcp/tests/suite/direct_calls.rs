//! Calls over HTTP that are answered without the SDK, and those that continue under it.

use std::sync::Arc;

use haft_store::{CallFilter, CallLog, CallStatus};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::http::{Reply, TestServer, token};
use super::wire_client::WireClient;

fn call(id: impl Into<Value>, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

/// The tools of all recorded calls.
async fn calls_of(server: &TestServer) -> Vec<String> {
    let recorded = server.backend.log.list(CallFilter::default()).await.unwrap();
    recorded.into_iter().map(|call| call.tool).collect()
}

/// A client whose agent is open: its calls are begun without the SDK.
async fn warm(server: &TestServer, version: &str, capabilities: Value) -> String {
    let session = server.open_with(version, capabilities).await;
    assert_eq!(server.call(&session, "test_simple_text").await.status(), 200);
    session
}

#[tokio::test]
async fn call_that_is_done_at_once_is_one_json_text_in_every_version() {
    let server = TestServer::start(Some(token())).await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = warm(&server, version, json!({})).await;
        let headers = [("Mcp-Session-Id", session.as_str()), ("Mcp-Protocol-Version", version)];
        for id in [json!(7), json!("seven")] {
            let reply = server.post(&headers, &call(id.clone(), "test_simple_text")).await;
            assert_eq!(reply.header("content-type").as_deref(), Some("application/json"), "{}", reply.0);
            let content = json!([{"type": "text", "text": "This is a simple text response for testing."}]);
            assert_eq!(reply.json(), Some(json!({"jsonrpc": "2.0", "id": id, "result": {"content": content, "isError": false}})));
        }
        let failed = server.post(&headers, &call(8, "test_error_handling")).await.json().unwrap();
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        let unknown = server.post(&headers, &call(9, "no_such_tool")).await.json().unwrap();
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
    // The call that opened each agent, and four after it; one of them of a tool that there is not.
    let calls = calls_of(&server).await.into_iter().filter(|tool| tool == "test_simple_text").count();
    assert_eq!(calls, 4 * 3, "each is recorded");
    server.end().await;
}

#[tokio::test]
async fn request_that_only_the_sdk_may_check_is_checked_by_it() {
    let server = TestServer::start(Some(token())).await;
    let session = warm(&server, "2025-11-25", json!({})).await;
    let own = ("Mcp-Session-Id", session.as_str());
    let before = calls_of(&server).await.len();
    for (headers, status) in [
        (&[own, ("Authorization", "Bearer wrong")][..], 401),
        (&[own, ("Authorization", "")], 401),
        (&[own, ("Host", "evil.example")], 403),
        (&[own, ("Origin", "https://evil.example")], 403),
        (&[own, ("Origin", "null")], 403),
        (&[own, ("Accept", "application/json")], 406),
        (&[own, ("Content-Type", "text/plain")], 415),
        (&[own, ("Mcp-Protocol-Version", "1999-01-01")], 400),
        (&[own, ("Mcp-Protocol-Version", "2026-07-28")], 400),
        (&[("Mcp-Session-Id", "00000000-0000-0000-0000-000000000000")], 404),
        (&[("Mcp-Session-Id", "../../etc")], 404),
        (&[("Mcp-Session-Id", "é")], 400),
        (&[], 400),
    ] {
        let reply = server.post(headers, &call(2, "test_simple_text")).await;
        assert_eq!(reply.status(), status, "{headers:?}\n{}", reply.0);
    }
    let twice = server.post(&[own, ("Origin", "https://evil.example"), ("Origin", "null")], &call(2, "test_simple_text")).await;
    assert_eq!(twice.status(), 403);
    assert_eq!(calls_of(&server).await.len(), before, "none of them ran");
    let deleted = server.send("DELETE", &[own], "").await;
    assert!((200..300).contains(&deleted.status()), "{}", deleted.0);
    assert_eq!(server.call(&session, "test_simple_text").await.status(), 404);
    assert_eq!(calls_of(&server).await.len(), before);
    server.end().await;
}

#[tokio::test]
async fn bodies_are_read_strictly_and_batches_refused() {
    let server = TestServer::start(Some(token())).await;
    let session = warm(&server, "2025-03-26", json!({})).await;
    let batch = json!([call(2, "test_simple_text"), call(3, "test_simple_text")]).to_string();
    let twice = r#"{"jsonrpc":"2.0","id":2,"id":3,"method":"tools/call","params":{"name":"test_simple_text"}}"#;
    let long = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{}"}}}}"#, "x".repeat(33 << 20));
    let before = calls_of(&server).await.len();
    for (body, statuses) in [(batch.as_str(), 400..=422), (twice, 400..=400), (&long, 413..=413), ("", 400..=400), ("{", 400..=400)] {
        let reply = server.send("POST", &[("Mcp-Session-Id", &session)], body).await;
        assert!(statuses.contains(&reply.status()), "{}: {}", &body[..body.len().min(60)], reply.0);
        assert!(reply.0.len() < 10_000);
    }
    assert_eq!(calls_of(&server).await.len(), before);
    server.end().await;
}

#[tokio::test]
async fn id_of_a_request_that_runs_is_refused_and_then_free() {
    let server = TestServer::start(Some(token())).await;
    let session = warm(&server, "2025-11-25", json!({})).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    // It runs until it is cancelled; its stream begins with a priming event.
    let mut running = BufReader::new(server.connect("POST", &own, &call(5, "wait_for_cancel").to_string()).await);
    let mut line = String::new();
    while !line.starts_with("retry:") {
        line.clear();
        assert!(running.read_line(&mut line).await.unwrap() > 0);
    }
    for again in [call(5, "test_simple_text"), json!({"jsonrpc": "2.0", "id": 5, "method": "ping"})] {
        let refused = server.post(&own, &again).await;
        assert_eq!((refused.status(), refused.json().unwrap()["error"]["code"].clone()), (400, json!(-32600)), "{}", refused.0);
    }
    assert_eq!(server.post(&own, &call(6, "test_simple_text")).await.json().unwrap()["result"]["isError"], false);
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(server.post(&own, &cancelled).await.status(), 202);
    let mut rest = String::new();
    running.read_to_string(&mut rest).await.unwrap();
    assert!(!rest.contains("isError"), "a cancelled call has no answer: {rest}");
    let again = async {
        while server.post(&own, &call(5, "test_simple_text")).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), again).await.expect("the id is free when the call has ended");
    server.end().await;
}

/// A client that is cut off may come back for its stream; one that is cancelled, or whose session ends, does not.
#[tokio::test]
async fn call_of_a_client_that_has_gone_ends_with_its_session() {
    let server = TestServer::start(Some(token())).await;
    let session = warm(&server, "2025-11-25", json!({})).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    let mut gone = server.connect("POST", &own, &call(2, "wait_for_cancel").to_string()).await;
    let mut first = [0; 64];
    gone.read_exact(&mut first).await.unwrap();
    drop(gone);
    let log = Arc::clone(&server.backend.log);
    assert!((200..300).contains(&server.send("DELETE", &own, "").await.status()));
    server.backend.wait_for_ends(1).await;
    let recorded = log.list(CallFilter::default()).await.unwrap();
    let ended = recorded.into_iter().find(|call| call.tool == "wait_for_cancel").unwrap();
    assert_eq!(ended.status, CallStatus::Error("cancelled".into()), "{ended:?}");
    server.end().await;
}

#[tokio::test]
async fn progress_and_questions_of_a_call_come_before_its_result_in_its_own_stream() {
    let server = TestServer::start(Some(token())).await;
    let session = warm(&server, "2025-11-25", json!({"elicitation": {}, "sampling": {}})).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    let mut of_session = BufReader::new(server.connect("GET", &[own[0], ("Accept", "text/event-stream")], "").await);
    let mut with_token = call(2, "test_tool_with_progress");
    with_token["params"]["_meta"] = json!({"progressToken": "t"});
    let told = server.post(&own, &with_token).await.events();
    let progress: Vec<&Value> = told.iter().filter(|message| message["method"] == "notifications/progress").collect();
    assert_eq!(progress.iter().map(|message| &message["params"]["progress"]).collect::<Vec<_>>(), [0.0, 50.0, 100.0], "{told:?}");
    assert_eq!(told.last().unwrap()["result"]["content"][0]["text"], "done");
    for (tool, arguments, method, answer, expected) in [
        (
            "test_elicitation",
            json!({"message": "m"}),
            "elicitation/create",
            json!({"action": "accept", "content": {"decision": "allow once"}}),
            "The user allowed it.",
        ),
        (
            "test_sampling",
            json!({"prompt": "p"}),
            "sampling/createMessage",
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "four"}}),
            "LLM response: four",
        ),
    ] {
        let mut asking = call(3, tool);
        asking["params"]["arguments"] = arguments;
        let mut stream = BufReader::new(server.connect("POST", &own, &asking.to_string()).await);
        // The body of a tool that changes something runs on a task of its own, and asks in the stream of the session.
        let asked = if tool == "test_sampling" { next_message(&mut of_session).await } else { next_message(&mut stream).await };
        assert_eq!(asked["method"], method, "{asked}");
        let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer});
        assert_eq!(server.post(&own, &reply).await.status(), 202);
        let result = next_message(&mut stream).await;
        assert_eq!(result["result"]["content"][0]["text"], expected, "{result}");
    }
    server.end().await;
}

async fn next_message(stream: &mut BufReader<tokio::net::TcpStream>) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).await.unwrap() > 0, "the stream ended");
        if let Some(message) = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok()) {
            return message;
        }
    }
}

#[tokio::test]
async fn result_that_was_cut_names_its_resource_and_says_that_there_is_one() {
    let server = TestServer::start(Some(token())).await;
    let session = warm(&server, "2025-11-25", json!({})).await;
    let own = [("Mcp-Session-Id", session.as_str())];
    let mut changes = BufReader::new(server.connect("GET", &[own[0], ("Accept", "text/event-stream")], "").await);
    let reply = server.post(&own, &call(2, "large_output")).await;
    let result = reply.events().pop().unwrap();
    let link = result["result"]["content"].as_array().unwrap().iter().find(|block| block["type"] == "resource_link");
    assert!(link.is_some_and(|link| link["uri"].as_str().unwrap().starts_with("haft://spill/")), "{}", reply.0.len());
    assert_eq!(next_message(&mut changes).await["method"], "notifications/resources/list_changed");
    server.end().await;
}

#[tokio::test]
async fn requests_that_follow_each_other_on_one_connection_are_answered_in_order() {
    let server = TestServer::start(Some(token())).await;
    let session = warm(&server, "2025-11-25", json!({})).await;
    let own = [("Mcp-Session-Id", session.as_str()), ("Connection", "keep-alive")];
    let mut stream = server.connect("POST", &own, &call(0, "test_simple_text").to_string()).await;
    let host = server.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let bearer = server.bearer();
    for id in 1..40 {
        let body = call(id, "test_simple_text").to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\nMcp-Session-Id: {session}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n",
            body.len(),
            if id == 39 { "Connection: close\r\n" } else { "" },
        );
        stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).await.unwrap();
    }
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    let bodies = all.split("HTTP/1.1 200 OK").skip(1).map(|answer| Reply(answer.to_owned()).json().unwrap()["id"].clone());
    assert_eq!(bodies.collect::<Vec<_>>(), (0..40).map(Value::from).collect::<Vec<_>>());
    server.end().await;
}

#[tokio::test]
async fn list_on_a_pipe_is_the_list_that_the_sdk_makes() {
    let server = TestServer::start(Some(token())).await;
    let session = server.open().await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let of_sdk = server.post(&[("Mcp-Session-Id", &session)], &list).await.events().pop().unwrap();
    let (mut client, _) = WireClient::start("2025-11-25", json!({})).await;
    let direct = client.request(2, "tools/list", json!({})).await;
    assert_eq!(direct, of_sdk);
    assert!(direct["result"]["tools"].as_array().unwrap().iter().any(|tool| tool.get("outputSchema").is_some()));
    client.close().await.unwrap();
    server.end().await;
}
