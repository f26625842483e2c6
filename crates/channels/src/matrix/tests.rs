use super::*;
use crate::Certainty;
use crate::driver::{IncomingMessage, IncomingSender};

fn command(action: ChannelAction) -> ChannelCommand {
    let mut command = ChannelCommand::new("matrix", "!r:example.org", action, "Hello");
    (command.message_id, command.emoji) = (Some("$1".into()), Some("👍".into()));
    command
}

#[test]
fn events_have_the_form_of_the_specification() {
    let in_thread = ChannelCommand { thread_id: Some("$t".into()), ..command(ChannelAction::Send) };
    let text = json!({"msgtype": "m.text", "body": "Hello", "m.mentions": {}});
    let with = |relation: Value| json!({"msgtype": "m.text", "body": "Hello", "m.mentions": {}, "m.relates_to": relation});
    for (found, expected) in [
        (message(&ChannelCommand { message_id: None, ..command(ChannelAction::Send) }), text.clone()),
        (message(&command(ChannelAction::Reply)), with(json!({"m.in_reply_to": {"event_id": "$1"}}))),
        (message(&in_thread), with(json!({"rel_type": "m.thread", "event_id": "$t"}))),
        (message(&command(ChannelAction::Thread)), with(json!({"rel_type": "m.thread", "event_id": "$1"}))),
        (
            edit(&command(ChannelAction::Edit)),
            json!({"msgtype": "m.text", "body": "* Hello", "m.mentions": {}, "m.new_content": text,
                "m.relates_to": {"rel_type": "m.replace", "event_id": "$1"}}),
        ),
        (reaction(&command(ChannelAction::React)), json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": "$1", "key": "👍"}})),
    ] {
        assert_eq!(found, expected);
    }
    let file = ChannelFile { name: "a.png".into(), media_type: "image/png".into(), content: vec![1, 2] };
    let expected = json!({"msgtype": "m.image", "body": "a.png", "filename": "a.png", "url": "mxc://x/y",
        "info": {"mimetype": "image/png", "size": 2}});
    assert_eq!(file_content(&file, "mxc://x/y"), expected);
}

#[test]
fn only_users_who_are_named_are_alerted() {
    let alerted = |text: &str| {
        let command = ChannelCommand::new("matrix", "!r:x", ChannelAction::Send, text);
        message(&command)["m.mentions"].clone()
    };
    assert_eq!(alerted("@room look, @: and @a"), json!({}));
    let named = json!({"user_ids": ["@ann:example.org", "@bob:example.org:8448"]});
    assert_eq!(alerted("(@ann:example.org), @bob:example.org:8448: look."), named);
}

#[test]
fn what_is_no_id_of_an_event_is_refused() {
    let mut settings = ChannelSettings::new("matrix", ChannelKind::Matrix);
    (settings.token, settings.base_url) = (Ok(ChannelSecret::new("TOKEN")), Some("http://127.0.0.1:1".into()));
    let matrix = Matrix::new(&settings).unwrap();
    assert_eq!(matrix.check(&command(ChannelAction::Edit)), Ok(()));
    let other = ChannelCommand { message_id: Some("7".into()), ..command(ChannelAction::Edit) };
    assert_eq!(matrix.check(&other), Err("the id of a message of Matrix begins with $".into()));
}

#[test]
fn answers_are_read_and_nonsense_is_unknown() {
    let answer = |status: u16, body: &str| decode(&WireAnswer { status, retry_after: None, body: body.as_bytes().to_vec() });
    assert_eq!(event(&answer(200, r#"{"event_id":"$2"}"#).unwrap()).unwrap().message_id, Some("$2".into()));
    assert_eq!(event(&answer(200, "{}").unwrap()).unwrap_err().certainty, Certainty::Unknown);
    let limited = answer(429, r#"{"errcode":"M_LIMIT_EXCEEDED","error":"Too many requests","retry_after_ms":1500}"#).unwrap_err();
    assert_eq!((limited.certainty, limited.retry_after), (Certainty::Later, Some(Duration::from_millis(1500))));
    for (status, body, certainty, words) in [
        (403, r#"{"errcode":"M_FORBIDDEN","error":"not in the room"}"#, Certainty::Refused, "not in the room (HTTP 403)"),
        (200, "<html>", Certainty::Unknown, "the answer makes no sense: HTTP 200: <html>"),
        (504, "", Certainty::Unknown, "HTTP 504: (an empty body)"),
    ] {
        let failure = answer(status, body).unwrap_err();
        assert_eq!((failure.certainty, failure.message.trim_end()), (certainty, words));
    }
}

#[test]
fn sync_brings_messages_of_others_after_the_first_time() {
    let event = |id: &str, sender: &str, text: &str| json!({"type": "m.room.message", "event_id": id, "sender": sender, "content": {"msgtype": "m.text", "body": text}});
    let mut edited = event("$3", "@ann:x", "* changed");
    edited["content"]["m.relates_to"] = json!({"rel_type": "m.replace", "event_id": "$1"});
    let body = json!({"next_batch": "s2", "rooms": {"join": {
        "!a:x": {"summary": {"m.joined_member_count": 2}, "timeline": {"events": [
            event("$1", "@ann:x", "hi"), event("$2", "@bot:x", "me"), edited, 5, {"type": "m.room.message"}]}},
        "!b:x": {"timeline": {"events": [event("$4", "@ann:x", "group")]}}}}});
    let message = |room: &str, id: &str, text: &str| IncomingMessage {
        conversation: room.into(),
        thread: None,
        is_group: true,
        sender: IncomingSender { id: "@ann:x".into(), username: None, name: None },
        id: id.into(),
        text: text.into(),
        press: None,
        voice: None,
        doubt: None,
        subject: None,
    };
    let expected = vec![message("!a:x", "$1", "hi"), message("!b:x", "$4", "group")];
    let polled = sync::decode(&body, false, "@bot:x");
    assert_eq!(polled, Some(PolledMessages { messages: expected, cursor: Some("s2".into()) }));
    assert_eq!(sync::decode(&body, true, "@bot:x"), Some(PolledMessages { messages: vec![], cursor: Some("s2".into()) }));
    assert_eq!(sync::decode(&json!({"rooms": 5}), false, "@bot:x"), None);
}

#[test]
fn messages_are_listed_oldest_first() {
    let body = json!({"chunk": [
        {"event_id": "$2", "sender": "@b:x", "origin_server_ts": 1000, "content": {"body": "two"}},
        {"event_id": "$1", "sender": "@a:x", "content": {"body": "one"}}, {"event_id": "$0"}
    ]});
    let entry = |id: &str, from: &str, at: Option<&str>, text: &str| ChannelEntry {
        id: id.into(),
        from: from.into(),
        at: at.map(str::to_owned),
        text: text.into(),
    };
    assert_eq!(entries(&body), [entry("$1", "@a:x", None, "one"), entry("$2", "@b:x", Some("1970-01-01T00:00:01Z"), "two")]);
}

#[test]
fn voice_messages_come_with_their_files() {
    let event = json!({"type": "m.room.message", "sender": "@ann:x", "event_id": "$1", "content": {
        "msgtype": "m.audio", "body": "voice.ogg", "url": "mxc://x/abc", "info": {"mimetype": "audio/ogg", "duration": 7200}}});
    let body = json!({"next_batch": "s", "rooms": {"join": {"!a:x": {"timeline": {"events": [event]}}}}});
    let polled = sync::decode(&body, false, "@bot:x").unwrap();
    let note = crate::driver::VoiceNote { id: "mxc://x/abc".into(), mime: "audio/ogg".into(), seconds: Some(7) };
    assert_eq!(
        polled.messages.iter().map(|message| (message.text.as_str(), message.voice.clone())).collect::<Vec<_>>(),
        [("", Some(note))]
    );
}
