//! From the handshake to the end, and everything between.

use serde_json::{Value, json};

use super::wire_client::WireClient;

#[tokio::test]
async fn every_version_with_a_handshake_is_spoken() {
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let (mut client, hello) = WireClient::start(asked, json!({})).await;
        assert_eq!(hello["protocolVersion"], expected);
        assert_eq!(hello["serverInfo"]["name"], "haft");
        assert_eq!(client.request(1, "ping", json!({})).await["result"], json!({}));
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn request_of_2026_needs_no_handshake() {
    let mut client = WireClient::connect();
    let meta = |capabilities: Value| {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        })
    };
    let call = |arguments: Value, more: Value| {
        let mut params = json!({"name": "test_elicitation", "arguments": arguments, "_meta": meta(json!({"elicitation": {"form": {}}}))});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let listed = client.request(1, "tools/list", json!({"_meta": meta(json!({}))})).await;
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 10, "{listed}");
    // Without a way to ask, the call is denied.
    let denied = json!({"name": "test_elicitation", "arguments": {"message": "m"}, "_meta": meta(json!({}))});
    let denied = client.request(2, "tools/call", denied).await;
    assert_eq!((&denied["result"]["isError"], &denied["result"]["_meta"]["haft/error_type"]), (&json!(true), &json!("permission_denied")));
    // With one, the result is the question; the answer comes with the repeated call.
    let asked = client.request(3, "tools/call", call(json!({"message": "m"}), json!({}))).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let state = asked["requestState"].clone();
    let answer = |decision: &str| json!({"approval": {"action": "accept", "content": {"decision": decision}}});
    for (arguments, state, responses) in [
        (json!({"message": "m"}), json!("forged"), answer("allow once")),
        (json!({"message": "other"}), state.clone(), answer("allow once")),
        (json!({"message": "m"}), state.clone(), json!({})),
    ] {
        let params = call(arguments, json!({"requestState": state, "inputResponses": responses}));
        let refused = client.request(4, "tools/call", params).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let params = call(json!({"message": "m"}), json!({"requestState": state, "inputResponses": answer("allow once")}));
    let allowed = client.request(5, "tools/call", params.clone()).await;
    assert_eq!(allowed["result"]["content"][0]["text"], "The user allowed it.", "{allowed}");
    // An answer counts once.
    assert_eq!(client.request(6, "tools/call", params).await["error"]["code"], -32602);
    client.close().await.unwrap();
}

#[tokio::test]
async fn user_is_asked_by_elicitation() {
    for (answer, expected) in [
        (json!({"action": "accept", "content": {"decision": "allow once"}}), "The user allowed it."),
        (json!({"action": "accept", "content": {"decision": "deny", "comment": "not today"}}), "The user said no: not today"),
        (json!({"action": "decline"}), "no"),
        (json!({"action": "accept", "content": {}}), "no"),
        (json!("nonsense"), "no"),
    ] {
        let (mut client, _) = WireClient::start("2025-06-18", json!({"elicitation": {}})).await;
        client
            .send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "test_elicitation", "arguments": {"message": "m"}}}))
            .await;
        let question = client.next().await.unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert!(question["params"]["message"].as_str().unwrap().contains("test_elicitation"));
        client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
        let result = client.answer(1).await.0;
        let text = result["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(expected), "{answer}: {text}");
        assert_eq!(result["result"]["isError"], text != "The user allowed it.");
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn client_without_elicitation_gets_a_denial_that_says_why() {
    let mut client = WireClient::plain().await;
    let denied = client.call(1, "test_elicitation", json!({"message": "m"})).await;
    let text = denied["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("needs approval") && text.contains("ask test_elicitation"), "{text}");
    let advice = &denied["result"]["content"][1];
    assert_eq!(advice["annotations"]["audience"], json!(["user"]), "{denied}");
    client.close().await.unwrap();
}

#[tokio::test]
async fn progress_comes_before_the_result_and_grows() {
    let mut client = WireClient::plain().await;
    let params = json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}});
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    let (_, notices) = client.answer(1).await;
    let progress: Vec<(f64, f64)> = notices
        .iter()
        .map(|notice| (notice["params"]["progress"].as_f64().unwrap(), notice["params"]["total"].as_f64().unwrap()))
        .collect();
    assert_eq!(progress, [(0.0, 100.0), (50.0, 100.0), (100.0, 100.0)]);
    // Without a token there is no progress, and with a level there are messages.
    client.request(2, "logging/setLevel", json!({"level": "info"})).await;
    client.send(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "test_tool_with_progress"}})).await;
    let (_, notices) = client.answer(3).await;
    let logged: Vec<&str> = notices.iter().map(|notice| notice["params"]["data"].as_str().unwrap()).collect();
    assert_eq!(logged, ["0 of 100", "50 of 100", "100 of 100"]);
    client.close().await.unwrap();
}

#[tokio::test]
async fn cut_output_is_a_resource_with_pages() {
    let mut client = WireClient::plain().await;
    let result = client.call(1, "large_output", json!({})).await["result"].clone();
    let link = result["content"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&link["type"], &link["size"]), (&json!("resource_link"), &json!(320_000)), "{link}");
    let mut uri = link["uri"].as_str().unwrap().to_owned();
    assert!(uri.starts_with("haft://spill/"), "{uri}");
    let listed = client.request(2, "resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"][0]["uri"], uri.as_str());
    for (id, line) in [(3, 6), (4, 11)] {
        let page = client.request(id, "resources/read", json!({"uri": uri})).await["result"]["contents"][0].clone();
        assert_eq!(page["text"], "0123456789abcde\n".repeat(5), "{page}");
        uri = page["_meta"]["haft/next"].as_str().unwrap().to_owned();
        assert!(uri.ends_with(&format!("?line={line}")), "{uri}");
    }
    // Neither files of the machine nor of other sessions have an address.
    for uri in
        ["haft://spill/../../secret", "haft://spill/..%2f..%2fx", "haft://spill/", "haft://file/etc/passwd", "file:///etc/passwd", "x"]
    {
        let refused = client.request(5, "resources/read", json!({"uri": uri})).await;
        assert_eq!((&refused["error"]["code"], &refused["error"]["data"]["uri"]), (&json!(-32002), &json!(uri)), "{refused}");
    }
    let mut other = WireClient::plain().await;
    assert_eq!(other.request(1, "resources/read", json!({"uri": link["uri"]})).await["error"]["code"], -32002);
    client.close().await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test]
async fn tools_that_come_later_are_announced() {
    let mut client = WireClient::plain().await;
    // The answer to a later request shows that the server listens for changes by now.
    client.request(1, "ping", json!({})).await;
    let late = haft_testkit::ScriptedTool::new("late").shared();
    client.backend.registry.register(late, haft_contract::ToolSource::BuiltIn).unwrap();
    assert_eq!(client.next().await.unwrap()["method"], "notifications/tools/list_changed");
    let listed = client.request(2, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().last().unwrap()["name"], "late");
    assert_eq!(client.call(3, "late", json!({})).await["result"]["isError"], false);
    client.close().await.unwrap();
}

#[tokio::test]
async fn structured_results_follow_their_schema_and_unknown_tools_are_errors() {
    let mut client = WireClient::plain().await;
    assert_eq!(client.call(1, "structured", json!({})).await["result"]["structuredContent"], json!({"count": 2}));
    let of_another_server = client.call(5, "mcp__hub__structured", json!({})).await;
    assert_eq!(of_another_server["result"]["structuredContent"], json!({"count": 2}), "its schema is that server's own");
    assert_eq!(client.call(2, "test_simple_text", json!({})).await["result"].get("structuredContent"), None);
    let unknown = client.call(3, "test_simple_txt", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("test_simple_text"), "{unknown}");
    let invalid = client.call(4, "test_sampling", json!({})).await;
    assert_eq!(invalid["result"]["_meta"]["haft/error_type"], "validation_error", "{invalid}");
    client.close().await.unwrap();
}

#[tokio::test]
async fn prompts_and_completions_are_answered() {
    let mut client = WireClient::plain().await;
    let arguments = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}});
    let prompt = client.request(1, "prompts/get", arguments).await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Prompt with arguments: arg1='a', arg2='b'");
    assert_eq!(client.request(2, "prompts/get", json!({"name": "nope"})).await["error"]["code"], -32602);
    let wrong = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": 1}});
    assert_eq!(client.request(3, "prompts/get", wrong).await["error"]["code"], -32602);
    let params = json!({"ref": {"type": "ref/resource", "uri": "test://{name}"}, "argument": {"name": "name", "value": "test://static-t"}});
    let completion = client.request(4, "completion/complete", params).await;
    assert_eq!(completion["result"]["completion"]["values"], json!(["test://static-text"]), "{completion}");
    client.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn changed_prompts_are_announced_to_clients_that_have_listed_them() {
    let (mut lists, mut never) = (WireClient::plain().await, WireClient::plain().await);
    let hello = lists.request(1, "prompts/list", json!({})).await;
    assert_eq!(hello["result"]["prompts"].as_array().unwrap().len(), 4);
    never.request(1, "prompts/get", json!({"name": "test_simple_prompt"})).await;
    for client in [&lists, &never] {
        client.backend.prompts.store(1, std::sync::atomic::Ordering::SeqCst);
    }
    assert_eq!(lists.next().await.unwrap()["method"], "notifications/prompts/list_changed");
    let listed = lists.request(2, "prompts/list", json!({})).await;
    assert_eq!(listed["result"]["prompts"].as_array().unwrap().last().unwrap()["name"], "late_prompt");
    // Nothing has changed since, and the other client has no list that is wrong.
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    for client in [&mut lists, &mut never] {
        client.send(json!({"jsonrpc": "2.0", "id": 3, "method": "ping"})).await;
        assert_eq!(client.answer(3).await.1, [] as [Value; 0]);
    }
    lists.close().await.unwrap();
    never.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn listener_is_told_of_changed_prompts_if_it_asked() {
    for asked in [true, false] {
        let mut client = WireClient::connect();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let filter = json!({"promptsListChanged": asked, "toolsListChanged": true});
        let listen =
            json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": filter, "_meta": meta}});
        client.send(listen).await;
        let acknowledged = client.next().await.unwrap();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
        assert_eq!(acknowledged["params"]["notifications"]["promptsListChanged"] == true, asked, "{acknowledged}");
        client.backend.wait_for_opened(1).await;
        client.backend.prompts.store(1, std::sync::atomic::Ordering::SeqCst);
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        let late = haft_testkit::ScriptedTool::new("late").shared();
        client.backend.registry.register(late, haft_contract::ToolSource::BuiltIn).unwrap();
        let expected = if asked { "notifications/prompts/list_changed" } else { "notifications/tools/list_changed" };
        assert_eq!(client.next().await.unwrap()["method"], expected);
        client.vanish().await.ok();
    }
}
