use haft_contract::ports::ChannelFile;

use super::*;
use crate::Certainty;
use crate::driver::IncomingMessage;

fn command(action: ChannelAction) -> ChannelCommand {
    let mut command = ChannelCommand::new("phone", "-100", action, "Hello");
    (command.message_id, command.emoji) = (Some("7".into()), Some("👍".into()));
    command
}

#[test]
fn commands_have_the_form_of_the_bot_api() {
    let mut send = ChannelCommand { choices: vec!["Yes=y".into(), "No".into()], is_silent: true, ..command(ChannelAction::Send) };
    send.thread_id = Some("3".into());
    let removal = ChannelCommand { is_removal: true, ..command(ChannelAction::React) };
    let choices = vec!["a".to_owned(), "b".to_owned()];
    // For a preview somebody would fetch the address, with whatever a model has written into it.
    let plain = json!({"is_disabled": true});
    for (found, expected) in [
        (
            message(&send),
            json!({"chat_id": -100, "message_thread_id": 3, "disable_notification": true, "text": "Hello", "link_preview_options": plain, "reply_markup":
                {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}], [{"text": "No", "callback_data": "No"}]]}}),
        ),
        (
            message(&command(ChannelAction::Reply)),
            json!({"chat_id": -100, "reply_parameters": {"message_id": 7}, "text": "Hello", "link_preview_options": plain}),
        ),
        (edit(&command(ChannelAction::Edit)), json!({"chat_id": -100, "message_id": 7, "text": "Hello", "link_preview_options": plain})),
        (of_message(&command(ChannelAction::Delete)), json!({"chat_id": -100, "message_id": 7})),
        (
            reaction(&command(ChannelAction::React)),
            json!({"chat_id": -100, "message_id": 7, "reaction": [{"type": "emoji", "emoji": "👍"}]}),
        ),
        (reaction(&removal), json!({"chat_id": -100, "message_id": 7, "reaction": []})),
        (
            poll(&ChannelCommand { choices, to: "@room".into(), ..command(ChannelAction::Poll) }),
            json!({"chat_id": "@room", "question": "Hello", "options": [{"text": "a"}, {"text": "b"}]}),
        ),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn files_are_one_document_or_one_album() {
    let file = |name: &str| ChannelFile { name: name.into(), media_type: "text/plain".into(), content: b"x".to_vec() };
    let one = ChannelCommand { files: vec![file("a.txt")], ..command(ChannelAction::Send) };
    assert_eq!(with_files(&one), ("sendDocument", json!({"chat_id": -100, "document": "attach://file0", "caption": "Hello"})));
    let two = ChannelCommand { files: vec![file("a.txt"), file("b.txt")], ..command(ChannelAction::Send) };
    let media = json!([
        {"type": "document", "media": "attach://file0", "caption": "Hello"}, {"type": "document", "media": "attach://file1"}
    ]);
    assert_eq!(with_files(&two), ("sendMediaGroup", json!({"chat_id": -100, "media": media})));
    let (media_type, body) = form(&one, &with_files(&one).1, "key");
    let text = String::from_utf8(body).unwrap();
    assert!(media_type.starts_with("multipart/form-data; boundary=haft-"));
    assert!(text.contains("name=\"file0\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nx\r\n"), "{text}");
    assert!(text.contains("name=\"chat_id\"\r\n\r\n-100\r\n"), "{text}");
}

#[test]
fn chat_is_written_in_the_one_way_that_rules_know() {
    let mut settings = ChannelSettings::new("phone", ChannelKind::Telegram);
    settings.token = Ok(ChannelSecret::new("TOKEN"));
    let telegram = Telegram::new(&settings).unwrap();
    for (to, expected) in
        [("42", true), ("-100", true), ("@ann", true), ("+42", false), ("042", false), ("-0", false), ("4 2", false), ("@", false)]
    {
        let command = ChannelCommand { to: to.into(), ..command(ChannelAction::Send) };
        assert_eq!(telegram.check(&command).is_ok(), expected, "{to}");
    }
}

#[test]
fn text_that_files_cannot_have_is_refused_and_not_cut() {
    let mut settings = ChannelSettings::new("phone", ChannelKind::Telegram);
    settings.token = Ok(ChannelSecret::new("TOKEN"));
    let telegram = Telegram::new(&settings).unwrap();
    let file = || ChannelFile { name: "a.txt".into(), media_type: "text/plain".into(), content: b"x".to_vec() };
    let with = |length: usize, files: usize, choices: &[&str]| ChannelCommand {
        text: "ü".repeat(length),
        files: (0..files).map(|_| file()).collect(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        ..command(ChannelAction::Send)
    };
    for (command, is_right) in [
        (with(1_024, 1, &["Yes"]), true),
        (with(1_025, 1, &[]), false),
        (with(1_025, 0, &["Yes"]), true),
        (with(5, 2, &["Yes"]), false),
        (with(5, 2, &[]), true),
    ] {
        assert_eq!(telegram.check(&command).is_ok(), is_right, "{} {:?}", command.text.len(), command.choices);
    }
}

#[test]
fn answers_are_read_and_nonsense_is_unknown() {
    let answer = |status: u16, body: &str| decode(&WireAnswer { status, retry_after: None, body: body.as_bytes().to_vec() });
    let sent = answer(200, r#"{"ok":true,"result":{"message_id":42,"chat":{"id":-100}}}"#).unwrap();
    assert_eq!(message_id(&sent), Some("42".to_owned()));
    let album = answer(200, r#"{"ok":true,"result":[{"message_id":5},{"message_id":6}]}"#).unwrap();
    assert_eq!(message_id(&album), Some("5".to_owned()));
    let unchanged = r#"{"ok":false,"error_code":400,"description":"Bad Request: message is not modified: it has the same content"}"#;
    assert_eq!(answer(400, unchanged), Ok(Value::Null));
    let limited =
        answer(429, r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 5","parameters":{"retry_after":5}}"#);
    let limited = limited.unwrap_err();
    assert_eq!((limited.certainty, limited.retry_after.unwrap().as_secs()), (Certainty::Later, 5));
    for (status, body, certainty, words) in [
        (
            400,
            r#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#,
            Certainty::Refused,
            "Bad Request: chat not found (HTTP 400)",
        ),
        (401, r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#, Certainty::Refused, "Unauthorized (HTTP 401)"),
        (200, "<html>hi</html>", Certainty::Unknown, "the answer makes no sense: HTTP 200: <html>hi</html>"),
        (200, r#"{"ok":false}"#, Certainty::Unknown, "the answer makes no sense: no description (HTTP 200)"),
        (200, "[]", Certainty::Unknown, "the answer makes no sense: HTTP 200: []"),
        (502, "", Certainty::Unknown, "HTTP 502: (an empty body)"),
    ] {
        let failure = answer(status, body).unwrap_err();
        assert_eq!((failure.certainty, failure.message.as_str()), (certainty, words));
    }
}

#[test]
fn updates_are_messages_and_presses_and_nonsense_is_skipped() {
    let from = json!({"id": 5, "is_bot": false, "first_name": "Ann", "last_name": "B", "username": "ann"});
    let updates = json!([
        {"update_id": 10, "message": {"message_id": 1, "from": from, "chat": {"id": 5, "type": "private"}, "text": "hi"}},
        {"update_id": 11, "message": {"message_id": 2, "from": from, "chat": {"id": -9, "type": "supergroup"}, "text": "yo",
            "message_thread_id": 4, "is_topic_message": true}},
        {"update_id": 12, "callback_query": {"id": "q", "from": from, "data": "y", "message": {"chat": {"id": 5, "type": "private"}}}},
        {"update_id": 13, "message": {"from": {"id": 6, "is_bot": true}, "chat": {"id": 5, "type": "private"}, "text": "bot"}},
        {"update_id": 13, "callback_query": {"id": "q", "from": from, "game_short_name": "g", "message": {"chat": {"id": 5, "type": "private"}}}},
        {"update_id": 14}, {"update_id": "x", "message": 3}, null, {"update_id": 15, "message": {"chat": {"id": "a"}, "text": 4}}
    ]);
    let sender = crate::driver::IncomingSender { id: "5".into(), username: Some("ann".into()), name: Some("Ann B".into()) };
    let message = |conversation: &str, id: &str, text: &str| IncomingMessage {
        conversation: conversation.into(),
        thread: None,
        is_group: conversation.starts_with('-'),
        sender: sender.clone(),
        id: id.into(),
        text: text.into(),
        press: None,
        voice: None,
        doubt: None,
        subject: None,
    };
    let press = crate::driver::ButtonPress { value: "y".into(), acknowledge: Some("q".into()) };
    let expected = vec![
        message("5", "10", "hi"),
        IncomingMessage { thread: Some("4".into()), ..message("-9", "11", "yo") },
        IncomingMessage { press: Some(press), ..message("5", "12", "") },
    ];
    assert_eq!(updates::decode(&updates, Some("10")), PolledMessages { messages: expected, cursor: Some("16".into()) });
    // Before the first start nothing counts, and the next poll begins behind it.
    assert_eq!(updates::decode(&updates, None), PolledMessages { messages: vec![], cursor: Some("16".into()) });
    for nothing in [json!([]), json!(null), json!("x")] {
        assert_eq!(updates::decode(&nothing, Some("8")), PolledMessages { messages: vec![], cursor: Some("8".into()) });
    }
}

#[test]
fn voice_messages_and_sounds_come_with_their_files() {
    let update = |id: u64, content: serde_json::Value| {
        let mut message = json!({"chat": {"id": 5, "type": "private"}, "from": {"id": 5}});
        message.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        json!({"update_id": id, "message": message})
    };
    let updates = json!([
        update(1, json!({"voice": {"file_id": "F1", "duration": 7, "mime_type": "audio/ogg"}})),
        update(2, json!({"audio": {"file_id": "F2"}, "caption": "a song"})),
        update(3, json!({"photo": []})),
        update(4, json!({"voice": {"duration": 7}})),
    ]);
    let found: Vec<_> =
        updates::decode(&updates, Some("1")).messages.into_iter().map(|message| (message.text, message.voice.unwrap())).collect();
    let note = |id: &str, seconds| crate::driver::VoiceNote { id: id.into(), mime: "audio/ogg".into(), seconds };
    assert_eq!(found, [(String::new(), note("F1", Some(7))), ("a song".to_owned(), note("F2", None))]);
}

#[test]
fn opus_goes_as_a_voice_message() {
    let mut command = ChannelCommand::new("t", "5", ChannelAction::Send, "listen");
    for (media_type, method, field) in [("audio/ogg", "sendVoice", "voice"), ("audio/mpeg", "sendDocument", "document")] {
        command.files = vec![haft_contract::ports::ChannelFile { name: "a".into(), media_type: media_type.into(), content: vec![1] }];
        let expected = json!({"chat_id": 5, field: "attach://file0", "caption": "listen"});
        assert_eq!(with_files(&command), (method, expected));
    }
    for (path, is_right) in [("voice/file_1.oga", true), ("a/../b", false), ("a?x", false), ("", false), ("/a", false), ("a//b", false)] {
        assert_eq!(is_plain(path), is_right, "{path}");
    }
}
