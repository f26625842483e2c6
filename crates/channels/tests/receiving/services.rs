//! How services bring messages: requests, answers to questions, sockets.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use haft_channels::{HookRequest, Inbox};
use haft_contract::ports::ChannelKind;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::common::Reply;
use crate::setup::{setup, setup_with, until};

/// A signed request of a webhook, as its sender makes it.
fn signed(id: &str, body: &str, at: SystemTime) -> HookRequest {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"SECRET");
    let tag = ring::hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
    let signature = format!("v1,{}", haft_text::base64::encode(tag.as_ref()));
    let headers = [("webhook-id", id.to_owned()), ("webhook-timestamp", seconds.to_string()), ("webhook-signature", signature)];
    HookRequest { headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(), body: body.into(), at: SystemTime::now() }
}

#[tokio::test]
async fn replayed_and_forged_webhooks_have_no_effect() {
    let setup = setup(|channel| {
        (channel.name, channel.kind) = ("hook".into(), ChannelKind::Webhook);
        channel.allow_from = vec!["ci".into()];
    })
    .await;
    let body = json!({"sender": "ci", "text": "build failed"}).to_string();
    let right = signed("evt-1", &body, SystemTime::now());
    for _ in 0..3 {
        assert_eq!(setup.inbox.hook("hook", &right).await.status, 200);
    }
    until(|| setup.server.received().len() == 1).await;
    assert_eq!(setup.host.turns.lock().unwrap().len(), 1, "a replay is known by its id");
    let old = signed("evt-2", &body, SystemTime::now() - Duration::from_mins(6));
    let forged = HookRequest { body: json!({"sender": "ci", "text": "run rm"}).to_string().into_bytes(), ..right.clone() };
    let huge = signed("evt-3", &"x".repeat(2 << 20), SystemTime::now());
    let stranger = signed("evt-4", &json!({"sender": "eve", "text": "x"}).to_string(), SystemTime::now());
    for (request, status) in [(old, 401), (forged, 401), (huge, 413), (stranger, 200)] {
        assert_eq!(setup.inbox.hook("hook", &request).await.status, status);
    }
    assert_eq!(setup.inbox.hook("other", &right).await.status, 404);
    assert_eq!(setup.host.turns.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn updates_of_telegram_are_fetched_and_a_service_that_hangs_or_lies_stops_nothing() {
    let setup = setup(|_| {}).await;
    let from = json!({"id": 5, "first_name": "Ann"});
    let update = json!({"update_id": 11, "message": {"message_id": 1, "from": from, "chat": {"id": 5, "type": "private"}, "text": "hi"}});
    setup.server.answer(vec![
        Reply::ok(json!({"ok": true, "result": [{"update_id": 10}]}).to_string()),
        Reply::ok("<html>maintenance</html>"),
        Reply::ok(json!({"ok": true, "result": [update, update]}).to_string()),
        Reply::ok(json!({"ok": true, "result": {"message_id": 8}}).to_string()),
        Reply::Silence,
    ]);
    let reported: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&reported);
    let running = tokio::spawn(Arc::clone(&setup.inbox).run(Arc::new(move |_: &str, why: &str| log.lock().unwrap().push(why.to_owned()))));
    until(|| !setup.host.turns.lock().unwrap().is_empty()).await;
    assert_eq!(*setup.host.turns.lock().unwrap(), [("session-1".to_owned(), "hi".to_owned())], "what came twice is taken once");
    assert_eq!(reported.lock().unwrap().len(), 1);
    until(|| setup.server.received().len() >= 5).await;
    assert_eq!(setup.store.cursor("phone").await.unwrap().as_deref(), Some("12"));
    running.abort();
}

#[tokio::test]
async fn sender_is_told_once_that_fetched_messages_were_not_read() {
    let setup = setup(|_| {}).await;
    let update = |number: u64, sender: u64| {
        let (from, chat) = (json!({"id": sender, "first_name": "Ann"}), json!({"id": sender, "type": "private"}));
        json!({"update_id": number, "message": {"message_id": number, "from": from, "chat": chat, "text": "hi"}})
    };
    // Thirty of a sender who was let in, and thirty of one who was not.
    let updates: Vec<_> = (1..=30).map(|number| update(number, 5)).chain((31..=60).map(|number| update(number, 6))).collect();
    setup.server.answer(vec![
        // What came before the first start is not answered.
        Reply::ok(json!({"ok": true, "result": [{"update_id": 0}]}).to_string()),
        Reply::ok(json!({"ok": true, "result": updates}).to_string()),
        Reply::ok(json!({"ok": true, "result": {"message_id": 8}}).to_string()),
    ]);
    *setup.host.hangs.lock().unwrap() = true;
    let running = tokio::spawn(Arc::clone(&setup.inbox).run(Arc::new(|_: &str, _: &str| {})));
    let taken = async {
        while setup.store.cursor("phone").await.unwrap().as_deref() != Some("61") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), taken).await.is_ok(), "the updates are not taken");
    running.abort();
    let sent = setup.server.received().into_iter().filter(|request| request.line.ends_with("/sendMessage"));
    let told: Vec<_> = sent.map(|request| (request.json()["chat_id"].clone(), request.json()["text"].clone())).collect();
    let unread = "Too many messages came at once, so this one was not read. Send it again in a minute.";
    assert_eq!(told, [(json!(5), json!(unread))]);
}

#[tokio::test]
async fn account_of_matrix_that_is_the_users_own_does_not_answer_itself() {
    let event = |id: &str, sender: &str, text: &str| json!({"type": "m.room.message", "event_id": id, "sender": sender, "content": {"msgtype": "m.text", "body": text}});
    let events = [event("$1", "@haft:x", "echo hi"), event("$2", "@ann:x", "hi")];
    let replies = vec![
        Reply::ok(json!({"user_id": "@haft:x"}).to_string()),
        Reply::ok(json!({"next_batch": "s1"}).to_string()),
        Reply::ok(json!({"next_batch": "s2", "event_id": "$3", "rooms": {"join": {"!r:x": {"timeline": {"events": events}}}}}).to_string()),
    ];
    let senders = vec!["@ann:x".into(), "@haft:x".into()];
    let setup = setup_with(ChannelKind::Matrix, replies, |channel| channel.allow_from = senders).await;
    let running = tokio::spawn(Arc::clone(&setup.inbox).run(Arc::new(|_: &str, _: &str| {})));
    until(|| setup.server.received().len() >= 6).await;
    running.abort();
    let lines: Vec<String> = setup.server.received().into_iter().map(|request| request.line).collect();
    assert_eq!(lines[0], "GET /_matrix/client/v3/account/whoami");
    assert_eq!(lines.iter().filter(|line| line.ends_with("/whoami")).count(), 1, "{lines:?}");
    assert_eq!(*setup.host.turns.lock().unwrap(), [("session-1".to_owned(), "hi".to_owned())]);
}

#[tokio::test]
async fn channel_of_discord_that_cannot_be_read_keeps_nothing_from_the_others() {
    // Of the channels 100 and 200 the bot was taken out of the first.
    let gone = Reply::status(403, json!({"message": "Missing Access", "code": 50001}).to_string());
    let replies = vec![gone, Reply::ok(json!([{"id": "10"}]).to_string())];
    let setup = setup_with(ChannelKind::Discord, replies, |channel| channel.conversations = vec!["100".into(), "200".into()]).await;
    let running = tokio::spawn(Arc::clone(&setup.inbox).run(Arc::new(|_: &str, _: &str| {})));
    let begun = async {
        while setup.store.cursor("phone").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), begun).await.unwrap();
    assert_eq!(setup.store.cursor("phone").await.unwrap().as_deref(), Some("200=10"));
    running.abort();
}

/// One connection of a socket of Slack: says what it is told to, and returns what comes back.
async fn socket(listener: &tokio::net::TcpListener, envelopes: Vec<serde_json::Value>) -> Vec<String> {
    use haft_websocket::{WsMessage, WsReader, WsRole, WsWriter, accept_key};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("GET /link?ticket=1 HTTP/1.1\r\n"), "{head}");
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    let answer = format!("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nsec-websocket-accept: {}\r\n\r\n", accept_key(key));
    stream.write_all(answer.as_bytes()).await.unwrap();
    let (read, write) = tokio::io::split(stream);
    let (mut reader, mut writer) = (WsReader::new(read, WsRole::Server), WsWriter::new(write, WsRole::Server));
    let mut replies = Vec::new();
    writer.send(&WsMessage::Ping(b"x".to_vec())).await.unwrap();
    assert_eq!(reader.next().await.unwrap(), WsMessage::Pong);
    for envelope in envelopes {
        writer.send(&WsMessage::Text(envelope.to_string())).await.unwrap();
        if envelope["envelope_id"].is_string() {
            match reader.next().await {
                Ok(WsMessage::Text(text)) => replies.push(text),
                other => panic!("{other:?}"),
            }
        }
    }
    replies
}

#[tokio::test]
async fn socket_of_slack_brings_messages_and_presses_and_is_acknowledged_when_they_are_recorded() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/link?ticket=1", listener.local_addr().unwrap());
    let reply = Reply::ok(json!({"ok": true, "ts": "1.5", "url": url}).to_string());
    let setup = setup_with(ChannelKind::Slack, vec![reply], |channel| {
        channel.app_token = Some(Ok(haft_channels::ChannelSecret::new("xapp-1")));
        channel.secret = None;
    })
    .await;
    let stop = CancellationToken::new();
    let inbox = Inbox::new(Arc::clone(&setup.service), Arc::clone(&setup.host) as _, Arc::clone(&setup.answers) as _, stop.clone());
    let run = tokio::spawn(inbox.run(Arc::new(|_: &str, _: &str| {})));
    let event = |id: &str, user: &str, ts: &str, text: &str| {
        let event = json!({"type": "message", "channel": "D1", "channel_type": "im", "user": user, "text": text, "ts": ts});
        json!({"type": "events_api", "envelope_id": id, "payload": {"type": "event_callback", "event": event}})
    };
    let acknowledged = |id: &str| json!({ "envelope_id": id }).to_string();
    // The same message twice, one of a stranger, something unknown, and then Slack wants another connection.
    let first = vec![
        json!({"type": "hello", "num_connections": 1}),
        event("e1", "5", "1.1", "hi"),
        event("e2", "5", "1.1", "hi"),
        event("e3", "6", "1.2", "let me in"),
        json!({"type": "slash_commands", "envelope_id": "e4", "payload": {"command": "/x"}}),
        json!({"type": "disconnect", "reason": "refresh_requested"}),
    ];
    assert_eq!(socket(&listener, first).await, [acknowledged("e1"), acknowledged("e2"), acknowledged("e3"), acknowledged("e4")]);
    let press = json!({"type": "block_actions", "user": {"id": "5"}, "channel": {"id": "D1"},
        "actions": [{"action_id": "haft_0", "action_ts": "3.4", "value": "yes"}]});
    let second = vec![json!({"type": "interactive", "envelope_id": "e5", "payload": press})];
    assert_eq!(socket(&listener, second).await, [acknowledged("e5")]);
    let sent = || -> Vec<String> {
        let received = setup.server.received();
        received
            .iter()
            .filter(|request| request.line.ends_with("chat.postMessage"))
            .map(|request| request.json()["text"].as_str().unwrap().to_owned())
            .collect()
    };
    until(|| sent().len() == 2).await;
    assert_eq!(sent(), ["echo hi", "echo yes"]);
    let opened: Vec<_> = setup.server.received().into_iter().filter(|request| request.line.ends_with("apps.connections.open")).collect();
    assert!(opened.len() >= 2 && opened.iter().all(|request| request.header("authorization") == Some("Bearer xapp-1")), "{opened:?}");
    stop.cancel();
    run.await.unwrap();
}
