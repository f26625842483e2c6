//! Messages that come in: who is let in, what is taken once, floods, codes that are guessed, and approvals.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use common::{Reply, Server, service, settings};
use haft_channels::{
    ApprovalAnswers, ButtonPress, ChannelApproval, ChannelSettings, ConversationHost, HookRequest, Inbox, InboxVerdict, IncomingMessage,
    IncomingSender, Transcriber, VoiceNote, VoiceRecording, new_code, policy_channel,
};
use haft_contract::BoxFuture;
use haft_contract::ports::ChannelKind;
use haft_store::ChannelStore;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Answers every message with its text, and records what happened.
#[derive(Default)]
struct EchoHost {
    begun: Mutex<Vec<String>>,
    turns: Mutex<Vec<(String, String)>>,
    resumed: Mutex<Vec<(String, String)>>,
    /// Whether turns do not end.
    hangs: Mutex<bool>,
    changed: Mutex<Vec<String>>,
}

impl ConversationHost for EchoHost {
    fn begin<'a>(&'a self, _: Option<&'a str>, title: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let mut begun = self.begun.lock().unwrap();
        begun.push(title.to_owned());
        let id = format!("session-{}", begun.len());
        Box::pin(async move { Ok(id) })
    }
    fn change_sender<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()> {
        self.changed.lock().unwrap().push(session.to_owned());
        Box::pin(async {})
    }
    fn turn<'a>(&'a self, session: &'a str, text: String) -> BoxFuture<'a, Result<String, String>> {
        self.turns.lock().unwrap().push((session.to_owned(), text.clone()));
        let hangs = *self.hangs.lock().unwrap();
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            if text == "fail" { Err("secret reason".into()) } else { Ok(format!("echo {text}")) }
        })
    }
    fn resume<'a>(&'a self, session: &'a str, text: String, since: SystemTime) -> BoxFuture<'a, Result<String, String>> {
        assert!(since <= SystemTime::now());
        self.resumed.lock().unwrap().push((session.to_owned(), text.clone()));
        Box::pin(async move { Ok(format!("continued {text}")) })
    }
}

/// Takes the first answer to each question.
#[derive(Default)]
struct FirstAnswers(Mutex<Vec<(String, bool, String)>>);

impl ApprovalAnswers for FirstAnswers {
    fn answer<'a>(&'a self, notice: &'a ChannelApproval, is_allowed: bool, by: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let mut answers = self.0.lock().unwrap();
        let is_first = !answers.iter().any(|(id, ..)| *id == notice.id);
        answers.push((notice.id.clone(), is_allowed, by.to_owned()));
        Box::pin(async move { if is_first { Ok(()) } else { Err("answered".into()) } })
    }
}

struct Setup {
    _folder: tempfile::TempDir,
    server: Server,
    store: Arc<dyn ChannelStore>,
    host: Arc<EchoHost>,
    answers: Arc<FirstAnswers>,
    inbox: Arc<Inbox>,
    service: Arc<haft_channels::ChannelService>,
}

async fn setup(change: impl FnOnce(&mut ChannelSettings)) -> Setup {
    let reply = Reply::ok(json!({"ok": true, "ts": "1.5", "result": {"message_id": 7}}).to_string());
    setup_with(ChannelKind::Telegram, vec![reply], change).await
}

async fn setup_with(kind: ChannelKind, replies: Vec<Reply>, change: impl FnOnce(&mut ChannelSettings)) -> Setup {
    let server = Server::start(replies).await;
    let mut channel = settings(kind, &server.url);
    (channel.name, channel.receives, channel.allow_from) = ("phone".into(), true, vec!["5".into()]);
    change(&mut channel);
    let (folder, service, store) = service(vec![channel]);
    let (host, answers) = (Arc::new(EchoHost::default()), Arc::new(FirstAnswers::default()));
    let inbox = Inbox::new(Arc::clone(&service), Arc::clone(&host) as _, Arc::clone(&answers) as _, CancellationToken::new());
    Setup { _folder: folder, server, store, host, answers, inbox, service }
}

fn message(sender: &str, id: &str, text: &str) -> IncomingMessage {
    IncomingMessage {
        conversation: sender.to_owned(),
        thread: None,
        is_group: false,
        sender: IncomingSender { id: sender.to_owned(), username: None, name: Some("boss".into()) },
        id: id.to_owned(),
        text: text.to_owned(),
        press: None,
        voice: None,
        doubt: None,
    }
}

async fn until(done: impl Fn() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), waiting).await.is_ok(), "it does not happen");
}

#[tokio::test]
async fn message_of_a_listed_sender_is_answered_once_in_its_session() {
    let setup = setup(|_| {}).await;
    assert_eq!(setup.inbox.accept("phone", message("5", "m1", "hi")).await, Ok(InboxVerdict::Taken));
    assert_eq!(setup.inbox.accept("phone", message("5", "m1", "hi")).await, Ok(InboxVerdict::Duplicate));
    assert_eq!(setup.inbox.accept("phone", message("5", "m2", "again")).await, Ok(InboxVerdict::Taken));
    assert_eq!(setup.inbox.accept("phone", message("5", "m3", "fail")).await, Ok(InboxVerdict::Taken));
    until(|| setup.server.received().len() == 3).await;
    let turns = setup.host.turns.lock().unwrap().clone();
    let turn = |text: &str| ("session-1".to_owned(), text.to_owned());
    assert_eq!(turns, [turn("hi"), turn("again"), turn("fail")]);
    let texts: Vec<String> = setup.server.received().iter().map(|request| request.json()["text"].as_str().unwrap().to_owned()).collect();
    // Why it failed is for the owner alone.
    let failed = "This message could not be answered. The owner of this Haft can see why.";
    assert_eq!(texts, ["echo hi", "echo again", failed]);
    let record = setup.store.conversation_of("session-1").await.unwrap().unwrap();
    assert_eq!((record.channel.as_str(), record.conversation.as_str(), record.is_owner), ("phone", "direct:5", false));
    assert_eq!(policy_channel(&record), "phone");
}

#[tokio::test]
async fn unknown_senders_get_no_answer_and_reach_nothing() {
    let setup = setup(|_| {}).await;
    let doubted = IncomingMessage { doubt: Some("not verified".into()), ..message("5", "m9", "hi") };
    for message in [message("6", "m1", "hi"), message("boss", "m2", "hi"), message("", "m3", "hi"), doubted] {
        assert_eq!(setup.inbox.accept("phone", message).await, Ok(InboxVerdict::Unknown));
    }
    assert_eq!(setup.inbox.accept("fax", message("5", "m4", "hi")).await, Ok(InboxVerdict::Ignored));
    assert!(setup.host.turns.lock().unwrap().is_empty() && setup.server.received().is_empty());
}

#[tokio::test]
async fn group_has_one_session_that_follows_its_newest_sender() {
    let setup = setup(|channel| channel.owners = vec!["6".into()]).await;
    let in_group = |sender: &str, id: &str| IncomingMessage { conversation: "-100".into(), is_group: true, ..message(sender, id, id) };
    for (sender, id) in [("5", "m1"), ("6", "m2"), ("6", "m3"), ("5", "m4")] {
        assert_eq!(setup.inbox.accept("phone", in_group(sender, id)).await, Ok(InboxVerdict::Taken));
    }
    until(|| setup.server.received().len() == 4).await;
    let turns: Vec<String> = setup.host.turns.lock().unwrap().iter().map(|(session, _)| session.clone()).collect();
    assert_eq!(turns, ["session-1"; 4]);
    // Each time the sender is another one, the session is opened again with other rights.
    assert_eq!(setup.host.changed.lock().unwrap().len(), 2);
    let record = setup.store.conversation_of("session-1").await.unwrap().unwrap();
    assert_eq!((policy_channel(&record).as_str(), record.is_owner), ("phone:-100", false));
}

#[tokio::test]
async fn thousand_messages_of_one_sender_are_bounded() {
    let setup = setup(|_| {}).await;
    let mut taken = 0;
    for number in 0..1_000 {
        match setup.inbox.accept("phone", message("5", &format!("m{number}"), "flood")).await.unwrap() {
            InboxVerdict::Taken => taken += 1,
            verdict => assert_eq!(verdict, InboxVerdict::Limited),
        }
    }
    assert!((1..=30).contains(&taken), "{taken} were taken");
    // Others are not shut out by it.
    assert_eq!(setup.inbox.accept("phone", message("77", "x", "hi")).await, Ok(InboxVerdict::Unknown));
}

#[tokio::test]
async fn code_lets_one_sender_in_once() {
    let setup = setup(|_| {}).await;
    let (code, later) = (new_code().unwrap(), SystemTime::now() + Duration::from_mins(10));
    setup.service.open_code("phone", &code, later).await.unwrap();
    assert_eq!(setup.inbox.accept("phone", message("8", "m1", &format!("/pair {code}"))).await, Ok(InboxVerdict::Paired));
    assert_eq!(setup.inbox.accept("phone", message("8", "m2", "hi")).await, Ok(InboxVerdict::Taken));
    assert_eq!(setup.inbox.accept("phone", message("9", "m3", &code)).await, Ok(InboxVerdict::WrongCode), "it is used up");
    let senders = setup.store.senders().await.unwrap();
    assert_eq!(senders.iter().map(|sender| (sender.sender.as_str(), sender.name.as_str())).collect::<Vec<_>>(), [("8", "boss")]);
    assert!(setup.store.remove_sender("phone", "8").await.unwrap());
    assert_eq!(setup.inbox.accept("phone", message("8", "m4", "hi")).await, Ok(InboxVerdict::Unknown));
    let code = new_code().unwrap();
    setup.service.open_code("phone", &code, SystemTime::now() - Duration::from_secs(1)).await.unwrap();
    assert_eq!(setup.inbox.accept("phone", message("9", "m5", &code)).await, Ok(InboxVerdict::WrongCode), "it has expired");
}

#[tokio::test]
async fn guessed_codes_are_limited_for_each_sender_and_then_gone() {
    let setup = setup(|_| {}).await;
    let (code, later) = (new_code().unwrap(), SystemTime::now() + Duration::from_mins(10));
    setup.service.open_code("phone", &code, later).await.unwrap();
    let guess = |sender: u32, number: u32| message(&sender.to_string(), &format!("{sender}-{number}"), "AAAA-AAAA");
    let mut verdicts = Vec::new();
    for number in 0..8 {
        verdicts.push(setup.inbox.accept("phone", guess(100, number)).await.unwrap());
    }
    let expected = [InboxVerdict::WrongCode; 5].into_iter().chain([InboxVerdict::Limited; 3]).collect::<Vec<_>>();
    assert_eq!(verdicts, expected);
    // Many senders that work together end the code, so that nobody can guess it.
    for sender in 200..220 {
        setup.inbox.accept("phone", guess(sender, 0)).await.unwrap();
    }
    assert_eq!(setup.inbox.accept("phone", message("300", "right", &code)).await, Ok(InboxVerdict::WrongCode));
    assert_eq!(setup.store.senders().await.unwrap(), []);
}

fn notice(id: &str) -> ChannelApproval {
    ChannelApproval {
        id: id.into(),
        fingerprint: "f".into(),
        session: "session-1".into(),
        tool: "exec".into(),
        effects: vec!["exec rm x".into()],
        reason: "it is beyond the access level".into(),
    }
}

#[tokio::test]
async fn approval_is_answered_by_the_owner_with_a_button_and_the_first_answer_counts() {
    let setup = setup(|channel| channel.owners = vec!["6".into()]).await;
    setup.inbox.accept("phone", message("6", "m1", "run it")).await.unwrap();
    until(|| setup.server.received().len() == 1).await;
    setup.inbox.approval_opened(notice("a1")).await;
    let asked = setup.server.received()[1].json();
    assert!(asked["text"].as_str().unwrap().starts_with("Approval needed for exec:\n- exec rm x\n"), "{asked}");
    let value = asked["reply_markup"]["inline_keyboard"][0][0]["callback_data"].as_str().unwrap().to_owned();
    let press = |sender: &str, id: &str, value: &str| IncomingMessage {
        conversation: "6".into(),
        press: Some(ButtonPress { value: value.to_owned(), acknowledge: None }),
        ..message(sender, id, "")
    };
    for (sender, id, value, expected) in [
        // Another sender, a guess, another conversation, then the owner; the second press is too late.
        ("5", "p1", value.as_str(), InboxVerdict::Ignored),
        ("6", "p2", "haft:00000000000000000000000000000000:1", InboxVerdict::Ignored),
        ("6", "p3", "haft:", InboxVerdict::Ignored),
        ("6", "p4", value.as_str(), InboxVerdict::Answered),
        ("6", "p5", value.as_str(), InboxVerdict::Ignored),
    ] {
        assert_eq!(setup.inbox.accept("phone", press(sender, id, value)).await, Ok(expected), "{sender} {value}");
    }
    assert_eq!(setup.answers.0.lock().unwrap()[0], ("a1".into(), true, "phone 6".into()));
    setup.inbox.approval_closed("a1", "once", "page 'link'").await;
    let closed = setup.server.received().last().unwrap().clone();
    assert_eq!(closed.line, "POST /botTOKEN/editMessageText");
    assert!(closed.json()["text"].as_str().unwrap().ends_with("Answered: once, by page 'link'."), "{:?}", closed.json());
    assert_eq!(setup.inbox.accept("phone", press("6", "p6", &value)).await, Ok(InboxVerdict::Ignored));
}

#[tokio::test]
async fn approval_is_not_shown_where_nobody_may_answer() {
    let setup = setup(|_| {}).await;
    setup.inbox.accept("phone", message("5", "m1", "run it")).await.unwrap();
    until(|| setup.server.received().len() == 1).await;
    setup.inbox.approval_opened(notice("a1")).await;
    assert_eq!(setup.server.received().len(), 1);
}

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

/// A server of the program on a folder, whose answers go to the channel `phone` at an address.
fn started(folder: &std::path::Path, url: &str) -> (Arc<Inbox>, Arc<EchoHost>, CancellationToken) {
    let mut channel = settings(ChannelKind::Slack, url);
    (channel.name, channel.receives, channel.allow_from) = ("phone".into(), true, vec!["5".into()]);
    let store: Arc<dyn ChannelStore> = Arc::new(haft_store::SqliteCallLog::open(folder).unwrap().log.channels());
    let opened = move || Ok(Arc::clone(&store));
    let service = haft_channels::ChannelService::new(vec![channel], &haft_channels::ChannelPorts::default(), Box::new(opened));
    let (host, stop) = (Arc::new(EchoHost::default()), CancellationToken::new());
    let inbox = Inbox::new(Arc::new(service), Arc::clone(&host) as _, Arc::new(FirstAnswers::default()), stop.clone());
    (inbox, host, stop)
}

#[tokio::test]
async fn message_that_was_being_answered_when_a_server_ended_is_answered_by_the_next_or_said_to_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![Reply::ok(json!({"ok": true, "ts": "1.5"}).to_string())]).await;
    let texts = || server.received().iter().map(|request| request.json()["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    // The first ends in the middle of a turn, with another message that waits, as a kill does: nothing of it is told.
    let killed = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (path, url) = (folder.path().to_owned(), server.url.clone());
    let first = killed.spawn(async move {
        let (inbox, host, _) = started(&path, &url);
        *host.hangs.lock().unwrap() = true;
        assert_eq!(inbox.accept("phone", message("5", "m1", "first")).await, Ok(InboxVerdict::Taken));
        assert_eq!(inbox.accept("phone", message("5", "m2", "second")).await, Ok(InboxVerdict::Taken));
        until(|| host.turns.lock().unwrap().len() == 1).await;
    });
    first.await.unwrap();
    tokio::task::spawn_blocking(move || drop(killed)).await.unwrap();
    assert_eq!(texts(), Vec::<String>::new());
    // The next continues both, in their order, and stops in the middle of a third, in an orderly way.
    {
        let (inbox, host, stop) = started(folder.path(), &server.url);
        let run = tokio::spawn(Arc::clone(&inbox).run(Arc::new(|channel: &str, why: &str| panic!("{channel}: {why}"))));
        until(|| texts().len() == 2).await;
        assert_eq!(texts(), ["continued first", "continued second"]);
        let resumed: Vec<String> = host.resumed.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
        assert_eq!(resumed, ["first", "second"]);
        stop.cancel();
        run.await.unwrap();
    }
    // What was answered is not answered again; what no server could answer is said to be lost, once.
    let store = haft_store::SqliteCallLog::open(folder.path()).unwrap().log.channels();
    let body = serde_json::to_string(&message("5", "m3", "third")).unwrap();
    store.first_seen("phone", "m3", SystemTime::now() - Duration::from_hours(25), Some(&body)).await.unwrap();
    let stranger = serde_json::to_string(&message("6", "m4", "from a stranger")).unwrap();
    store.first_seen("phone", "m4", SystemTime::now(), Some(&stranger)).await.unwrap();
    drop(store);
    for _ in 0..2 {
        let (inbox, host, stop) = started(folder.path(), &server.url);
        let run = tokio::spawn(Arc::clone(&inbox).run(Arc::new(|channel: &str, why: &str| panic!("{channel}: {why}"))));
        until(|| texts().len() == 3).await;
        assert!(texts()[2].starts_with("This message was not answered, because this Haft was stopped"), "{:?}", texts());
        assert_eq!(*host.resumed.lock().unwrap(), []);
        stop.cancel();
        run.await.unwrap();
    }
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

/// Writes down whatever it gets, and remembers it.
#[derive(Default)]
struct Ears(Mutex<Vec<VoiceRecording>>);

impl Transcriber for Ears {
    fn transcribe<'a>(&'a self, recording: &'a VoiceRecording) -> BoxFuture<'a, Result<String, String>> {
        self.0.lock().unwrap().push(recording.clone());
        let heard = if recording.data.is_empty() { Err("it is broken.".to_owned()) } else { Ok(" turn on the light ".to_owned()) };
        Box::pin(async move { heard })
    }
}

fn spoken(id: &str, caption: &str) -> IncomingMessage {
    let voice = VoiceNote { id: "file-1".into(), mime: "audio/ogg".into(), seconds: Some(7) };
    IncomingMessage { voice: Some(voice), ..message("5", id, caption) }
}

#[tokio::test]
async fn voice_message_is_fetched_and_reaches_its_session_as_text() {
    let setup = setup(|_| {}).await;
    let ears = Arc::new(Ears::default());
    setup.inbox.transcribe_with(Arc::clone(&ears) as _);
    let found = Reply::ok(json!({"ok": true, "result": {"file_path": "voice/file_1.oga", "message_id": 7}}).to_string());
    setup.server.answer(vec![found.clone(), Reply::ok("OggS voice"), found.clone()]);
    assert_eq!(setup.inbox.accept("phone", spoken("v1", "")).await, Ok(InboxVerdict::Taken));
    until(|| setup.server.received().len() == 3).await;
    let lines: Vec<String> = setup.server.received().iter().map(|request| request.line.clone()).collect();
    assert_eq!(lines, ["POST /botTOKEN/getFile", "GET /file/botTOKEN/voice/file_1.oga", "POST /botTOKEN/sendMessage"]);
    let recording = VoiceRecording { name: "voice.ogg".into(), mime: "audio/ogg".into(), data: b"OggS voice".to_vec() };
    assert_eq!(*ears.0.lock().unwrap(), [recording]);
    // A path that would lead the token elsewhere, and a recording that cannot be written down.
    let elsewhere = Reply::ok(json!({"ok": true, "result": {"file_path": "../../x?y", "message_id": 7}}).to_string());
    setup.server.answer(vec![elsewhere.clone()]);
    assert_eq!(setup.inbox.accept("phone", spoken("v2", "look")).await, Ok(InboxVerdict::Taken));
    until(|| setup.server.received().len() == 2).await;
    setup.server.answer(vec![found.clone(), Reply::ok(""), found]);
    assert_eq!(setup.inbox.accept("phone", spoken("v3", "")).await, Ok(InboxVerdict::Taken));
    until(|| setup.host.turns.lock().unwrap().len() == 3).await;
    let texts: Vec<String> = setup.host.turns.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(
        texts,
        [
            "[Voice message of 7 s, written down by a machine, which may have misheard:]\nturn on the light",
            "look\n\n[A voice message of 7 s came and was not transcribed: Telegram named no file for the recording. Its content is not \
             known.]",
            "[A voice message of 7 s came and was not transcribed: it is broken. Its content is not known.]",
        ]
    );
}

#[tokio::test]
async fn without_transcription_a_voice_message_says_that_it_came() {
    let setup = setup(|_| {}).await;
    assert_eq!(setup.inbox.accept("phone", spoken("v1", "")).await, Ok(InboxVerdict::Taken));
    until(|| setup.server.received().len() == 1).await;
    let said = "[A voice message of 7 s came and was not transcribed: no transcription is configured (transcription.model or \
                transcription.command). Its content is not known.]";
    assert_eq!(setup.host.turns.lock().unwrap()[0].1, said);
    // Nothing is fetched for a stranger.
    let stranger = IncomingMessage { sender: IncomingSender { id: "6".into(), ..IncomingSender::default() }, ..spoken("v2", "") };
    assert_eq!(setup.inbox.accept("phone", stranger).await, Ok(InboxVerdict::Unknown));
    assert_eq!(setup.server.received().len(), 1);
}
