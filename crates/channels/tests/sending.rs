//! Each channel against a server that speaks its wire format: right answers, limits, errors, nonsense, silence.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod common;

use std::time::{Duration, SystemTime};

use common::{Received, Reply, Server, service, settings};
use haft_channels::{AnnouncementOutcome, ChannelSecret, ChannelSettings};
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelFile, ChannelKind, MessageChannels, SendOutcome};
use haft_store::{IntentAnswer, SendIntent};
use serde_json::json;

fn recipient(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Matrix => "!room:example.org",
        ChannelKind::Slack => "#ops",
        _ => "42",
    }
}

fn success(kind: ChannelKind) -> String {
    let body = match kind {
        ChannelKind::Telegram => json!({"ok": true, "result": {"message_id": 7}}),
        ChannelKind::Slack => json!({"ok": true, "ts": "7"}),
        ChannelKind::Discord => json!({"id": "7"}),
        ChannelKind::Matrix => json!({"event_id": "7"}),
        _ => json!({}),
    };
    body.to_string()
}

fn limited(kind: ChannelKind) -> Reply {
    match kind {
        ChannelKind::Telegram => Reply::status(
            429,
            json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 1}}).to_string(),
        ),
        ChannelKind::Slack => Reply::Answer(429, "retry-after: 1\r\n", json!({"ok": false, "error": "ratelimited"}).to_string()),
        ChannelKind::Discord => Reply::status(429, json!({"message": "limited", "retry_after": 0.5}).to_string()),
        ChannelKind::Matrix => Reply::status(429, json!({"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 500}).to_string()),
        _ => Reply::Answer(429, "retry-after: 1\r\n", String::new()),
    }
}

const HTTP_KINDS: [ChannelKind; 5] =
    [ChannelKind::Telegram, ChannelKind::Slack, ChannelKind::Discord, ChannelKind::Matrix, ChannelKind::Webhook];

/// Services that recognise a message that comes twice.
fn has_keys(kind: ChannelKind) -> bool {
    matches!(kind, ChannelKind::Discord | ChannelKind::Matrix)
}

fn is_json_needed(kind: ChannelKind) -> bool {
    kind != ChannelKind::Webhook
}

#[tokio::test]
async fn every_service_gets_its_wire_format_once_and_its_answer_is_read() {
    for kind in HTTP_KINDS {
        let server = Server::start(vec![Reply::ok(success(kind))]).await;
        let (_folder, service, store) = service(vec![settings(kind, &server.url)]);
        let command = ChannelCommand::new(kind.as_str(), recipient(kind), ChannelAction::Send, "Hello");
        let receipt = service.perform(&command, "s", "c").await.unwrap();
        assert_eq!(receipt.outcome, SendOutcome::Delivered, "{kind}: {receipt:?}");
        let received = server.received();
        let [Received { line, .. }] = received.as_slice() else { panic!("{kind}: {received:?}") };
        let request = &received[0];
        let key = receipt.message_id.clone().unwrap_or_default();
        match kind {
            ChannelKind::Telegram => {
                assert_eq!(line, "POST /botTOKEN/sendMessage");
                assert_eq!(request.json(), json!({"chat_id": 42, "text": "Hello", "link_preview_options": {"is_disabled": true}}));
            }
            ChannelKind::Slack => {
                assert_eq!((line.as_str(), request.header("authorization")), ("POST /chat.postMessage", Some("Bearer TOKEN")));
                assert_eq!(request.json(), json!({"channel": "#ops", "text": "Hello", "unfurl_links": false, "unfurl_media": false}));
            }
            ChannelKind::Discord => {
                assert_eq!((line.as_str(), request.header("authorization")), ("POST /channels/42/messages", Some("Bot TOKEN")));
                // Discord blocks others.
                assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("DiscordBot (haft, ")));
                assert_eq!(request.json()["enforce_nonce"], true);
            }
            ChannelKind::Matrix => {
                assert!(line.starts_with("PUT /_matrix/client/v3/rooms/%21room%3Aexample.org/send/m.room.message/"), "{line}");
                assert_eq!(request.json(), json!({"msgtype": "m.text", "body": "Hello", "m.mentions": {}}));
            }
            _ => {
                assert_eq!((line.as_str(), request.header("webhook-id")), ("POST /", Some(key.as_str())));
                assert!(request.header("webhook-signature").is_some_and(|signature| signature.starts_with("v1,")));
            }
        }
        let sent = store.outgoing(None, 10, SystemTime::now()).await.unwrap();
        let found: Vec<_> =
            sent.iter().map(|record| (record.outcome, record.intent.excerpt.as_str(), record.intent.origin.clone())).collect();
        assert_eq!(found, [(Some(SendOutcome::Delivered), "Hello", Some(("s".into(), "c".into())))], "{kind}");
    }
}

#[tokio::test]
async fn limits_are_respected_and_nothing_uncertain_is_sent_twice() {
    for kind in HTTP_KINDS {
        let refused = Reply::status(403, json!({"ok": false, "error": "no", "description": "no", "message": "no"}).to_string());
        // What the service does, how often it is asked, and what is known then.
        let mut cases = vec![
            (vec![limited(kind), Reply::ok(success(kind))], 2, SendOutcome::Delivered),
            (vec![refused], 1, SendOutcome::NotDelivered),
            (vec![Reply::Answer(302, "location: http://127.0.0.1:1/\r\n", String::new())], 1, SendOutcome::NotDelivered),
        ];
        let (tries, outcome) = if has_keys(kind) { (2, SendOutcome::Delivered) } else { (1, SendOutcome::Unknown) };
        cases.push((vec![Reply::Hangup, Reply::ok(success(kind))], tries, outcome));
        cases.push((vec![Reply::status(502, "<html>bad gateway</html>"), Reply::ok(success(kind))], tries, outcome));
        if is_json_needed(kind) {
            cases.push((vec![Reply::ok("<!doctype html>"), Reply::ok(success(kind))], tries, outcome));
            cases.push((vec![Reply::ok("{\"x\":"), Reply::ok(success(kind))], tries, outcome));
        }
        let server = Server::start(Vec::new()).await;
        let (_folder, service, _store) = service(vec![settings(kind, &server.url)]);
        for (number, (replies, tries, outcome)) in cases.into_iter().enumerate() {
            server.answer(replies.clone());
            let text = format!("message {number}");
            let command = ChannelCommand::new(kind.as_str(), recipient(kind), ChannelAction::Send, text);
            let receipt = service.perform(&command, "s", "c").await.unwrap();
            let found = (server.received().len(), receipt.outcome);
            assert_eq!(found, (tries, outcome), "{kind} with {replies:?}: {receipt:?}");
            if has_keys(kind) && tries == 2 {
                let keys: Vec<_> =
                    server.received().iter().map(|request| (request.line.clone(), request.json()["nonce"].clone())).collect();
                assert_eq!(keys[0], keys[1], "{kind} uses one key for both tries");
            }
        }
    }
}

#[tokio::test]
async fn unreachable_service_is_not_delivered_and_no_token_is_in_the_message() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let (_folder, service, _store) = service(vec![settings(ChannelKind::Telegram, &url)]);
    let command = ChannelCommand::new("telegram", "42", ChannelAction::Send, "x");
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    assert_eq!(receipt.outcome, SendOutcome::NotDelivered);
    let reason = receipt.reason.unwrap();
    assert!(reason.starts_with("the service cannot be reached") && !reason.contains("TOKEN"), "{reason}");
}

#[tokio::test]
async fn service_that_repeats_the_token_does_not_show_it() {
    let server = Server::start(Vec::new()).await;
    for kind in HTTP_KINDS.into_iter().filter(|kind| *kind != ChannelKind::Webhook) {
        let token = "4242:AAsecret-secret_secret";
        let with_token = ChannelSettings { token: Ok(ChannelSecret::new(token)), ..settings(kind, &server.url) };
        let (_folder, service, store) = service(vec![with_token]);
        let page = format!("<html>{}no route /bot{token}/x</html>", " ".repeat(20));
        server.answer(vec![Reply::status(404, page.clone()), Reply::status(404, json!({"description": page}).to_string())]);
        let command = ChannelCommand::new(kind.as_str(), recipient(kind), ChannelAction::Send, "x");
        let receipt = service.perform(&command, "s", "c").await.unwrap();
        let seen = format!("{receipt:?} {:?} {:?}", service.probe(kind.as_str()).await, store.outgoing(None, 9, SystemTime::now()).await);
        assert!(receipt.outcome == SendOutcome::NotDelivered && !seen.contains("AAsecret"), "{kind}: {seen}");
    }
}

#[tokio::test]
async fn channel_without_an_address_is_not_offered_for_sending() {
    let only_receives = ChannelSettings { base_url: None, ..settings(ChannelKind::Webhook, "") };
    let (_folder, service, _store) = service(vec![only_receives]);
    assert_eq!((service.offers(), service.reports()[0].fault.clone()), (Vec::new(), None));
    let command = ChannelCommand::new("webhook", "x", ChannelAction::Send, "x");
    let error = service.perform(&command, "s", "c").await.unwrap_err();
    assert_eq!(error.message(), "The channel 'webhook' cannot send.");
}

#[tokio::test]
async fn same_message_with_an_unknown_outcome_is_not_sent_again() {
    let server = Server::start(vec![Reply::Hangup]).await;
    let (_folder, service, _store) = service(vec![settings(ChannelKind::Slack, &server.url)]);
    let command = ChannelCommand::new("slack", "#ops", ChannelAction::Send, "deploy");
    let first = service.perform(&command, "s", "c1").await.unwrap();
    assert_eq!((first.outcome, server.received().len()), (SendOutcome::Unknown, 1));
    server.answer(vec![Reply::ok(success(ChannelKind::Slack))]);
    let again = service.perform(&command, "s", "c2").await.unwrap();
    assert_eq!((again.outcome, server.received().len()), (SendOutcome::Unknown, 0));
    assert!(again.reason.unwrap().contains("so it was not sent again"));
    // Another text, and another session, are other messages.
    let other = ChannelCommand { text: "deploy 2".into(), ..command.clone() };
    assert_eq!(service.perform(&other, "s", "c3").await.unwrap().outcome, SendOutcome::Delivered);
    assert_eq!(service.perform(&command, "s2", "c4").await.unwrap().outcome, SendOutcome::Delivered);
}

/// The program is killed between the intent and the outcome: the next one must not send it again.
#[tokio::test]
async fn message_of_a_killed_program_is_unknown_and_not_sent_again() {
    let server = Server::start(vec![Reply::ok(success(ChannelKind::Slack))]).await;
    let (_folder, service, store) = service(vec![settings(ChannelKind::Slack, &server.url)]);
    let intent = SendIntent {
        id: "slack-run-1".into(),
        channel: "slack".into(),
        recipient: "#ops".into(),
        action: "send".into(),
        fingerprint: "f".into(),
        excerpt: "report".into(),
        origin: None,
        created: SystemTime::now() - Duration::from_mins(5),
    };
    assert_eq!(store.intend(intent.clone(), SystemTime::UNIX_EPOCH).await.unwrap(), IntentAnswer::Recorded);
    let announced = service.announce("slack", "#ops", "report", Some("run-1")).await;
    let why = "the same message was sent before (the program ended before the channel had answered), so it was not sent again";
    assert_eq!((announced, server.received().len()), (AnnouncementOutcome::Unknown(why.into()), 0));
    let listed = store.outgoing(Some("slack"), 10, SystemTime::now()).await.unwrap();
    assert_eq!(listed.iter().map(|record| record.outcome).collect::<Vec<_>>(), [Some(SendOutcome::Unknown)]);
}

#[tokio::test]
async fn announcement_with_a_key_is_sent_once() {
    let server = Server::start(vec![Reply::ok(success(ChannelKind::Slack))]).await;
    let (_folder, service, _store) = service(vec![settings(ChannelKind::Slack, &server.url)]);
    for _ in 0..3 {
        assert_eq!(service.announce("slack", "#ops", "report", Some("run-2")).await, AnnouncementOutcome::Delivered);
    }
    assert_eq!(server.received().len(), 1);
    assert_eq!(service.announce("slack", "#ops", "report", None).await, AnnouncementOutcome::Delivered);
    assert_eq!(server.received().len(), 2);
    for (channel, to, text) in [("fax", "x", "y"), ("slack", "", "y"), ("slack", "a b", "y"), ("slack", "#ops", &*"x".repeat(3_001))] {
        let announced = service.announce(channel, to, text, None).await;
        assert!(matches!(announced, AnnouncementOutcome::NotDelivered(_)), "{channel} {to}: {announced:?}");
    }
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn caller_that_stops_waiting_does_not_lose_the_outcome() {
    let server = Server::start(vec![
        Reply::Answer(429, "retry-after: 1\r\n", json!({"ok": false, "error": "ratelimited"}).to_string()),
        Reply::ok(success(ChannelKind::Slack)),
    ])
    .await;
    let (_folder, service, store) = service(vec![settings(ChannelKind::Slack, &server.url)]);
    let command = ChannelCommand::new("slack", "#ops", ChannelAction::Send, "x");
    let gone = tokio::time::timeout(Duration::from_millis(200), service.perform(&command, "s", "c")).await;
    assert!(gone.is_err());
    let outcome = async {
        loop {
            let sent = store.outgoing(None, 1, SystemTime::now()).await.unwrap();
            if let Some(outcome) = sent.first().and_then(|record| record.outcome) {
                break outcome;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), outcome).await.unwrap(), SendOutcome::Delivered);
}

#[tokio::test]
async fn files_are_uploaded_before_the_message_names_them() {
    let file = ChannelFile { name: "a.txt".into(), media_type: "text/plain".into(), content: b"content".to_vec() };
    let server = Server::start(Vec::new()).await;
    let kinds = [ChannelKind::Slack, ChannelKind::Matrix];
    let (_folder, service, _store) = service(kinds.map(|kind| settings(kind, &server.url)).to_vec());
    let mut command = ChannelCommand::new("slack", "C1", ChannelAction::Send, "Look");
    command.files = vec![file.clone()];
    let place = json!({"ok": true, "upload_url": format!("{}/up", server.url), "file_id": "F1"}).to_string();
    server.answer(vec![Reply::ok(place), Reply::ok("OK - 7"), Reply::ok(json!({"ok": true}).to_string())]);
    assert_eq!(service.perform(&command, "s", "c").await.unwrap().outcome, SendOutcome::Delivered);
    let received = server.received();
    let lines: Vec<&str> = received.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(lines, ["GET /files.getUploadURLExternal?filename=a.txt&length=7", "POST /up", "POST /files.completeUploadExternal"]);
    assert_eq!(received[1].body, b"content");
    assert_eq!(received[2].json(), json!({"files": [{"id": "F1", "title": "a.txt"}], "channel_id": "C1", "initial_comment": "Look"}));
    // A place that is not of Slack gets no file.
    server.answer(vec![Reply::ok(json!({"ok": true, "upload_url": "http://127.0.0.1:1/up", "file_id": "F1"}).to_string())]);
    let evil = ChannelCommand { text: "Look again".into(), ..command.clone() };
    let receipt = service.perform(&evil, "s", "c").await.unwrap();
    assert_eq!((receipt.outcome, server.received().len()), (SendOutcome::NotDelivered, 1));
    let mut command = ChannelCommand::new("matrix", "#alias:example.org", ChannelAction::Send, "");
    command.files = vec![file];
    let room = json!({"room_id": "!r:example.org"}).to_string();
    server.answer(vec![
        Reply::ok(room),
        Reply::ok(json!({"content_uri": "mxc://x/y"}).to_string()),
        Reply::ok(json!({"event_id": "$1"}).to_string()),
    ]);
    assert_eq!(service.perform(&command, "s", "c").await.unwrap().outcome, SendOutcome::Delivered);
    let received = server.received();
    assert_eq!(received[1].line, "POST /_matrix/media/v3/upload?filename=a.txt");
    assert_eq!(received[2].json()["url"], "mxc://x/y");
}

#[tokio::test]
async fn messages_of_matrix_are_read_before_one_and_within_a_thread() {
    let server = Server::start(Vec::new()).await;
    let (_folder, service, _store) = service(vec![settings(ChannelKind::Matrix, &server.url)]);
    let mut command = ChannelCommand::new("matrix", "!r:x", ChannelAction::Read, "");
    (command.before, command.thread_id, command.limit) = (Some("$5".into()), Some("$1".into()), 2);
    let chunk = json!({"chunk": [{"event_id": "$4", "sender": "@ann:x", "content": {"body": "four"}}]});
    server.answer(vec![Reply::ok(json!({"start": "t5", "end": "t6"}).to_string()), Reply::ok(chunk.to_string())]);
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    assert_eq!(receipt.entries.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["four"], "{receipt:?}");
    // The server counts by its own tokens, and knows no ids there.
    let lines: Vec<String> = server.received().into_iter().map(|request| request.line).collect();
    let context = "GET /_matrix/client/v3/rooms/%21r%3Ax/context/%245?limit=0";
    let thread = "GET /_matrix/client/v1/rooms/%21r%3Ax/relations/%241/m.thread?dir=b&limit=2&from=t5";
    assert_eq!(lines, [context, thread]);
}

#[tokio::test]
async fn thread_of_discord_is_one_of_the_channel_that_rules_decided_on() {
    let server = Server::start(Vec::new()).await;
    let (_folder, service, _store) = service(vec![settings(ChannelKind::Discord, &server.url)]);
    let thread = |kind: u32, parent: &str| Reply::ok(json!({"id": "7", "type": kind, "parent_id": parent}).to_string());
    for (number, (found, expected)) in [
        (thread(11, "42"), SendOutcome::Delivered),
        (thread(11, "43"), SendOutcome::NotDelivered),
        // A channel in a category is no thread of it.
        (thread(0, "42"), SendOutcome::NotDelivered),
        (Reply::status(404, json!({"message": "Unknown Channel"}).to_string()), SendOutcome::NotDelivered),
    ]
    .into_iter()
    .enumerate()
    {
        server.answer(vec![found, Reply::ok(success(ChannelKind::Discord))]);
        let mut command = ChannelCommand::new("discord", "42", ChannelAction::Send, format!("message {number}"));
        command.thread_id = Some("7".into());
        let receipt = service.perform(&command, "s", "c").await.unwrap();
        assert_eq!(receipt.outcome, expected, "{receipt:?}");
        let lines: Vec<String> = server.received().into_iter().map(|request| request.line).collect();
        assert_eq!(lines[0], "GET /channels/7");
        assert_eq!(lines.contains(&"POST /channels/7/messages".to_owned()), expected == SendOutcome::Delivered, "{lines:?}");
    }
}

#[tokio::test]
async fn message_of_several_parts_is_delivered_only_if_all_of_them_are() {
    let file = |name: &str| ChannelFile { name: name.into(), media_type: "text/plain".into(), content: b"content".to_vec() };
    let server = Server::start(Vec::new()).await;
    let (_folder, service, _store) = service(vec![settings(ChannelKind::Matrix, &server.url)]);
    let mut command = ChannelCommand::new("matrix", "!r:example.org", ChannelAction::Send, "Look");
    command.files = vec![file("a.txt"), file("b.txt")];
    let stored = || Reply::ok(json!({"content_uri": "mxc://x/y"}).to_string());
    let refused = || Reply::status(413, json!({"errcode": "M_TOO_LARGE", "error": "too large"}).to_string());
    let forbidden = || Reply::status(403, json!({"errcode": "M_FORBIDDEN", "error": "not in the room"}).to_string());
    // The second upload is refused before anything was sent; the second event after the first was.
    server.answer(vec![stored(), refused()]);
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    assert_eq!((receipt.outcome, server.received().len()), (SendOutcome::NotDelivered, 2), "{receipt:?}");
    server.answer(vec![stored(), stored(), Reply::ok(json!({"event_id": "$1"}).to_string()), forbidden()]);
    command.text = "Look again".into();
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    assert_eq!(receipt.outcome, SendOutcome::Unknown, "{receipt:?}");
    assert_eq!(server.received()[3].json()["filename"], "b.txt");
}

#[tokio::test]
async fn channel_without_a_token_says_which_variable_it_needs() {
    let mut broken = settings(ChannelKind::Slack, "http://127.0.0.1:1");
    broken.token = Err("the variable SLACK_TOKEN is not set".into());
    let (_folder, service, _store) = service(vec![broken]);
    assert_eq!(service.offers(), []);
    assert_eq!(service.reports()[0].fault.as_deref(), Some("the variable SLACK_TOKEN is not set"));
    let command = ChannelCommand::new("slack", "#ops", ChannelAction::Send, "x");
    let error = service.perform(&command, "s", "c").await.unwrap_err();
    assert_eq!(error.message(), "The channel 'slack' cannot be used: the variable SLACK_TOKEN is not set.");
}
