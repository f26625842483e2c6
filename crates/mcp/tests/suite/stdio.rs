//! What a client can do wrong on a pipe.

use std::time::Duration;

use serde_json::json;

use super::wire_client::WireClient;

#[tokio::test]
async fn garbage_is_answered_and_the_connection_stays() {
    let mut client = WireClient::plain().await;
    for (line, code) in [
        ("garbage", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32700),
        (&format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}", "x".repeat(2000)), -32600),
        ("\u{202e}", -32700),
    ] {
        client.write(format!("{line}\n").as_bytes()).await;
        assert_eq!(client.next().await.unwrap()["error"]["code"], code, "{line}");
    }
    for (method, params, code) in [
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        ("tools/call", json!({"name": "say", "arguments": []}), -32602),
        ("logging/setLevel", json!({"level": "loud"}), -32602),
        ("resources/read", json!({"uri": []}), -32602),
        ("tools/calls", json!({}), -32601),
        ("constructor", json!({}), -32601),
    ] {
        assert_eq!(client.request(1, method, params).await["error"]["code"], code, "{method}");
    }
    client.write(b"\n\r\n  \n").await;
    client.notify("notifications/unheard_of", json!({"a": 1})).await;
    // An answer to a question that nobody asked.
    client.send(json!({"jsonrpc": "2.0", "id": 77, "result": {}})).await;
    assert_eq!(client.request(1, "ping", json!({})).await["result"], json!({}));
    client.close().await.unwrap();
}

#[tokio::test]
async fn storm_of_garbage_ends_the_connection() {
    let mut client = WireClient::plain().await;
    client.try_write("garbage\n".repeat(200).as_bytes()).await;
    let mut answers = 0;
    while client.next().await.is_some() {
        answers += 1;
    }
    assert!(answers <= 100, "{answers}");
    client.close().await.unwrap();
}

#[tokio::test]
async fn line_that_is_too_long_is_refused_and_not_kept() {
    let mut client = WireClient::plain().await;
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        client.write(&chunk).await;
    }
    client.write(b"\n").await;
    let refused = client.next().await.unwrap();
    assert_eq!(refused["error"]["code"], -32600);
    assert!(refused["error"]["message"].as_str().unwrap().contains("longer than"), "{refused}");
    assert_eq!(client.request(1, "ping", json!({})).await["result"], json!({}));
    client.close().await.unwrap();
}

#[tokio::test]
async fn id_of_a_running_or_cancelled_request_is_refused() {
    let mut client = WireClient::plain().await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait_for_cancel"}})).await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    let refused = client.next().await.unwrap();
    assert_eq!((&refused["error"]["code"], refused.get("id")), (&json!(-32600), None), "{refused}");
    client.notify("notifications/cancelled", json!({"requestId": 1, "reason": "enough"})).await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    assert_eq!(client.next().await.unwrap()["error"]["code"], -32600);
    for _ in 0..2 {
        assert_eq!(client.request(2, "ping", json!({})).await["result"], json!({}));
    }
    client.close().await.unwrap();
}

#[tokio::test]
async fn cancelled_call_ends_and_a_finished_one_stays_as_it_is() {
    let mut client = WireClient::plain().await;
    assert_eq!(client.call(1, "test_simple_text", json!({})).await["result"]["isError"], false);
    for id in [json!(1), json!(99), json!("x")] {
        client.notify("notifications/cancelled", json!({"requestId": id})).await;
    }
    client.send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait_for_cancel"}})).await;
    client.notify("notifications/cancelled", json!({"requestId": 2})).await;
    // No answer to the cancelled one: the next message is that of the ping.
    assert_eq!(client.request(3, "ping", json!({})).await["id"], 3);
    let backend = std::sync::Arc::clone(&client.backend);
    client.close().await.unwrap();
    assert_eq!(*backend.ended.lock().unwrap(), 1);
}

#[tokio::test]
async fn call_in_flight_ends_when_the_client_goes() {
    for vanishes in [true, false] {
        let mut client = WireClient::plain().await;
        client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait_for_cancel"}})).await;
        client.request(2, "ping", json!({})).await;
        let backend = std::sync::Arc::clone(&client.backend);
        if vanishes {
            client.vanish().await.unwrap();
        } else {
            client.close().await.unwrap();
        }
        assert_eq!((backend.opened.lock().unwrap().len(), *backend.ended.lock().unwrap()), (1, 1), "vanishes: {vanishes}");
    }
}

#[tokio::test]
async fn answers_of_a_pipeline_come_before_its_end() {
    let mut client = WireClient::plain().await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test_reconnection"}})).await;
    let backend = std::sync::Arc::clone(&client.backend);
    let answer = tokio::spawn(async move {
        let answer = client.answer(1).await.0;
        client.close().await.unwrap();
        answer
    });
    assert_eq!(answer.await.unwrap()["result"]["content"][0]["text"], "slept");
    assert_eq!(*backend.ended.lock().unwrap(), 1);
}

#[tokio::test]
async fn many_calls_at_once_are_all_answered() {
    let mut client = WireClient::plain().await;
    for id in 0..200 {
        client.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "test_simple_text"}})).await;
    }
    let mut answered = Vec::new();
    while answered.len() < 200 {
        let message = client.next().await.unwrap();
        assert_eq!(message["result"]["isError"], false, "{message}");
        answered.push(message["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..200).collect::<Vec<_>>());
    client.close().await.unwrap();
}

#[tokio::test]
async fn client_that_never_shakes_hands_gets_nothing() {
    let mut client = WireClient::connect();
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert_eq!(client.next().await.unwrap()["error"]["code"], -32602);
    let backend = std::sync::Arc::clone(&client.backend);
    client.close().await.unwrap();
    assert!(backend.opened.lock().unwrap().is_empty());
}

#[tokio::test]
async fn stopped_server_ends_its_calls() {
    let mut client = WireClient::plain().await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait_for_cancel"}})).await;
    client.request(2, "ping", json!({})).await;
    let (backend, stop) = (std::sync::Arc::clone(&client.backend), client.stop.clone());
    stop.cancel();
    client.vanish().await.unwrap();
    assert_eq!(*backend.ended.lock().unwrap(), 1);
}

/// E08: notifications and answers that nobody asked for cost what they weigh, and nothing stays of them.
#[tokio::test]
async fn storm_of_notifications_and_stray_answers_is_survived() {
    let mut client = WireClient::plain().await;
    let lines = [
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "none", "progress": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12_345, "reason": "never sent"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
        json!({"jsonrpc": "2.0", "id": 9999, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}}),
    ];
    for line in lines.iter().cycle().take(10_000) {
        client.send(line.clone()).await;
    }
    let result = client.call(1, "test_simple_text", json!({})).await;
    assert_eq!(result["result"]["isError"], false, "{result}");
    client.close().await.unwrap();
}

#[tokio::test]
async fn client_is_asked_for_its_roots_once_at_a_time_and_only_if_it_has_any() {
    for (capabilities, most) in [(json!({}), 0), (json!({"roots": {}}), 1)] {
        let (mut client, _) = WireClient::start("2025-11-25", capabilities).await;
        for _ in 0..1_000 {
            client.notify("notifications/roots/list_changed", json!({})).await;
        }
        client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
        let (_, others) = client.answer(1).await;
        let asked = others.iter().filter(|message| message["method"] == "roots/list").count();
        assert!(asked <= most, "{asked} questions stand at once");
        client.vanish().await.unwrap();
    }
}

/// The clock stands still unless nobody can do anything, so a write that takes longer than an hour of it is one that nobody reads.
#[tokio::test(start_paused = true)]
async fn client_that_leaves_its_answers_unread_is_not_read_either() {
    let mut client = WireClient::plain().await;
    let call = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "page_of_text"}});
    let mut sent = 0;
    while tokio::time::timeout(Duration::from_hours(1), client.send(call(sent))).await.is_ok() {
        sent += 1;
        assert!(sent < 100_000, "800 MB wait for this client");
    }
    for id in 0..sent {
        assert_eq!(client.next().await.unwrap()["id"], id, "answers come in order, and none is lost");
    }
    client.vanish().await.unwrap();
}

#[tokio::test]
async fn server_ends_when_its_answers_are_read_no_more() {
    let mut client = WireClient::plain().await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait_for_cancel"}})).await;
    client.request(2, "ping", json!({})).await;
    let backend = std::sync::Arc::clone(&client.backend);
    client.stop_reading_and_call("page_of_text").await.unwrap();
    assert_eq!(*backend.ended.lock().unwrap(), 1);
}

#[tokio::test]
async fn later_handshake_does_not_spare_requests_their_metadata() {
    let mut client = WireClient::connect();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.request(1, "tools/list", json!({"_meta": meta})).await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    client.request(2, "initialize", hello).await;
    let refused = client.call(3, "test_simple_text", json!({})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    client.close().await.unwrap();
}

#[tokio::test]
async fn second_handshake_cannot_ask_for_a_version_without_one() {
    let mut client = WireClient::plain().await;
    let hello = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    client.request(1, "initialize", hello).await;
    let answer = client.call(2, "test_simple_text", json!({})).await;
    assert_eq!((answer["result"].get("resultType"), &answer["result"]["isError"]), (None, &json!(false)), "{answer}");
    let listed = client.request(3, "tools/list", json!({})).await;
    assert_eq!(listed["result"].get("resultType"), None, "{listed}");
    client.close().await.unwrap();
}

/// A client that has closed its side gets what it asked for, also where that is that the call was ended.
#[tokio::test]
async fn call_that_outlasts_the_input_is_cancelled_and_answered() {
    let mut client = WireClient::plain().await;
    client.send(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "wait_for_cancel"}})).await;
    client.request(8, "ping", json!({})).await;
    client.end_input().await;
    assert_eq!(client.answer(7).await.0["result"]["isError"], true);
    client.close().await.unwrap();
}
