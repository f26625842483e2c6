use super::*;
use crate::driver::{ButtonPress, IncomingMessage, IncomingSender};

fn command(action: ChannelAction) -> ChannelCommand {
    let mut command = ChannelCommand::new("discord", "100", action, "Hello");
    (command.message_id, command.emoji) = (Some("7".into()), Some("👍".into()));
    command
}

#[test]
fn commands_have_the_form_of_the_http_api() {
    let nonce = nonce("key");
    assert_eq!(nonce.len(), 25);
    let base = json!({"nonce": nonce, "enforce_nonce": true, "allowed_mentions": {"parse": ["users"]}, "flags": 4});
    let with = |more: Value| {
        let mut body = base.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let buttons = ChannelCommand { choices: vec!["Yes=y".into(), "No".into()], is_silent: true, ..command(ChannelAction::Send) };
    let choices = vec!["a".to_owned(), "b".to_owned()];
    for (found, expected) in [
        (message(&command(ChannelAction::Send), "key"), with(json!({"content": "Hello"}))),
        (message(&command(ChannelAction::Reply), "key"), with(json!({"content": "Hello", "message_reference": {"message_id": "7"}}))),
        (
            message(&buttons, "key"),
            with(json!({"content": "Hello", "components": [{"type": 1, "components": [
                {"type": 2, "style": 2, "label": "Yes", "custom_id": "0:y"}, {"type": 2, "style": 2, "label": "No", "custom_id": "1:No"}]}],
                "flags": 4100})),
        ),
        (
            message(&ChannelCommand { choices, ..command(ChannelAction::Poll) }, "key"),
            with(json!({"poll": {"question": {"text": "Hello"}, "answers": [{"poll_media": {"text": "a"}}, {"poll_media": {"text": "b"}}],
                "duration": 24, "allow_multiselect": false}})),
        ),
    ] {
        assert_eq!(found, expected);
    }
    let edited = json!({"content": "Hello", "components": [], "allowed_mentions": {"parse": ["users"]}});
    assert_eq!(edit(&command(ChannelAction::Edit)), edited);
    assert_eq!(path(&command(ChannelAction::Edit), "/x"), "/channels/100/messages/7/x");
    assert_eq!(thread(&command(ChannelAction::Thread)), ("/channels/100/messages/7/threads".into(), json!({"name": "Hello"})));
    let free = ChannelCommand { message_id: None, ..command(ChannelAction::Thread) };
    assert_eq!(thread(&free), ("/channels/100/threads".into(), json!({"name": "Hello", "type": 11})));
}

#[test]
fn what_discord_would_refuse_is_said_before() {
    let with = |action, text: &str, choice: String| ChannelCommand {
        choices: vec!["a".into(), choice],
        text: text.into(),
        message_id: None,
        ..command(action)
    };
    for (command, words) in [
        (with(ChannelAction::Poll, &"x".repeat(301), "b".into()), Some("the question of a poll has at most 300 characters")),
        (with(ChannelAction::Poll, "x", "y".repeat(56)), Some("an answer of a poll has at most 55 characters")),
        (with(ChannelAction::Poll, &"x".repeat(300), "y".repeat(55)), None),
        (with(ChannelAction::Send, "x", "y".repeat(81)), Some("a label of a button has at most 80 characters")),
        (with(ChannelAction::Send, "x", format!("y={}", "z".repeat(99))), Some("a label of a button")),
        (with(ChannelAction::Send, "x", format!("y={}", "z".repeat(98))), None),
    ] {
        let checked = check_choices(&command);
        assert_eq!(checked.is_err(), words.is_some(), "{checked:?}");
        assert!(checked.err().unwrap_or_default().starts_with(words.unwrap_or_default()), "{command:?}");
    }
}

#[test]
fn answers_are_read_and_nonsense_is_unknown() {
    let answer = |status: u16, body: &str| decode(&WireAnswer { status, retry_after: None, body: body.as_bytes().to_vec() });
    assert_eq!(answer(200, r#"{"id":"42"}"#).unwrap()["id"], "42");
    assert_eq!(answer(204, ""), Ok(Value::Null));
    for (status, body, certainty, words) in [
        (
            429,
            r#"{"message":"You are being rate limited.","retry_after":0.65,"global":false}"#,
            Certainty::Later,
            "Discord is asked too often",
        ),
        (404, r#"{"message":"Unknown Channel","code":10003}"#, Certainty::Refused, "Unknown Channel (HTTP 404)"),
        (
            400,
            r#"{"message":"Invalid Form Body","errors":{"poll":{"answers":{"0":{"_errors":[{"code":"X","message":"Too long"}]}}}}}"#,
            Certainty::Refused,
            "Invalid Form Body: poll.answers.0: Too long (HTTP 400)",
        ),
        (
            400,
            r#"{"message":"Invalid Form Body","errors":{"_errors":[{"message":"Too large"}]}}"#,
            Certainty::Refused,
            "Invalid Form Body: Too large (HTTP 400)",
        ),
        (200, r#"{"id":5}"#, Certainty::Unknown, r#"the answer makes no sense: HTTP 200: {"id":5}"#),
        (200, "<html>", Certainty::Unknown, "the answer makes no sense: HTTP 200: <html>"),
        (502, "<html>", Certainty::Unknown, "HTTP 502: <html>"),
    ] {
        let failure = answer(status, body).unwrap_err();
        assert_eq!((failure.certainty, failure.message.as_str()), (certainty, words));
    }
}

#[test]
fn new_messages_of_users_are_taken_once_and_old_ones_never() {
    let list = json!([
        {"id": "30", "author": {"id": "2", "bot": true}, "content": "me"},
        {"id": "20", "author": {"id": "1", "username": "ann", "global_name": "Ann"}, "content": "hi"}, {"id": 4}, null
    ]);
    let mut cursors = incoming::Cursors::default();
    assert_eq!(incoming::messages("100", &list, &mut cursors), []);
    assert_eq!(cursors.to_string(), "100=30");
    let mut cursors = incoming::Cursors::parse(Some("100=10 x 5=y"));
    let message = IncomingMessage {
        conversation: "100".into(),
        thread: None,
        is_group: true,
        sender: IncomingSender { id: "1".into(), username: Some("ann".into()), name: Some("Ann".into()) },
        id: "20".into(),
        text: "hi".into(),
        press: None,
        voice: None,
        doubt: None,
        subject: None,
    };
    assert_eq!(incoming::messages("100", &list, &mut cursors), [message]);
    assert_eq!(cursors.to_string(), "100=30");
    // An empty channel begins at its beginning.
    assert_eq!(incoming::messages("200", &json!([]), &mut cursors), []);
    assert_eq!(cursors.after("200"), Some(0));
}

#[test]
fn pressed_buttons_are_read_and_the_address_is_checked() {
    assert_eq!(incoming::interaction(br#"{"type":1}"#), HookAnswer::accepted(r#"{"type":1}"#, vec![]));
    let press =
        br#"{"type":3,"id":"9","channel_id":"100","data":{"custom_id":"0:haft:t:allow"},"member":{"user":{"id":"1","username":"ann"}}}"#;
    let message = IncomingMessage {
        conversation: "100".into(),
        thread: None,
        is_group: true,
        sender: IncomingSender { id: "1".into(), username: Some("ann".into()), name: None },
        id: "9".into(),
        text: String::new(),
        press: Some(ButtonPress { value: "haft:t:allow".into(), acknowledge: None }),
        voice: None,
        doubt: None,
        subject: None,
    };
    assert_eq!(incoming::interaction(press), HookAnswer::accepted(r#"{"type":6}"#, vec![message]));
    assert_eq!(incoming::interaction(br#"{"type":3}"#), HookAnswer::accepted(r#"{"type":6}"#, vec![]));
    assert_eq!(incoming::interaction(b"<html>").status, 400);
    assert_eq!(incoming::interaction(br#"{"type":2}"#).status, 400);
}

#[test]
fn voice_messages_and_sounds_come_with_their_addresses() {
    let found = |attachments: Value| {
        let list = json!([{"id": "20", "author": {"id": "1"}, "content": "", "attachments": attachments}]);
        incoming::messages("100", &list, &mut incoming::Cursors::parse(Some("100=10"))).into_iter().next().and_then(|message| message.voice)
    };
    let address = "https://cdn.discordapp.com/attachments/1/2/voice-message.ogg?ex=1";
    let note = |seconds| VoiceNote { id: address.into(), mime: "audio/ogg".into(), seconds };
    let sound = |seconds: Value| json!([{"content_type": "image/png", "url": "x"}, {"content_type": "audio/ogg", "url": address, "duration_secs": seconds}]);
    assert_eq!(found(sound(json!(7.9))), Some(note(Some(7))));
    for wrong in [json!(-1.0), json!("7"), json!(1e300), Value::Null] {
        assert_eq!(found(sound(wrong)), Some(note(None)));
    }
    for nothing in [json!([{"content_type": "audio/ogg"}]), json!([{"content_type": "image/png", "url": "x"}]), json!([]), json!("x")] {
        assert_eq!(found(nothing.clone()), None, "{nothing}");
    }
}
