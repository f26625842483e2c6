use super::*;
use crate::Certainty;
use crate::driver::{ButtonPress, IncomingMessage, IncomingSender};

fn command(action: ChannelAction) -> ChannelCommand {
    let mut command = ChannelCommand::new("slack", "#ops", action, "Hello");
    (command.message_id, command.emoji) = (Some("1.2".into()), Some(":tada:".into()));
    command
}

#[test]
fn commands_have_the_form_of_the_web_api() {
    let buttons = ChannelCommand { choices: vec!["Yes=y".into()], ..ChannelCommand::new("slack", "C1", ChannelAction::Send, "Sure?") };
    let in_thread = ChannelCommand { thread_id: Some("9.9".into()), ..command(ChannelAction::Thread) };
    let emoji = ChannelCommand { emoji: Some("👍".into()), ..command(ChannelAction::React) };
    for (found, expected) in [
        (message(&command(ChannelAction::Send)), json!({"channel": "#ops", "text": "Hello", "unfurl_links": false, "unfurl_media": false})),
        (
            message(&command(ChannelAction::Reply)),
            json!({"channel": "#ops", "text": "Hello", "unfurl_links": false, "unfurl_media": false, "thread_ts": "1.2"}),
        ),
        (
            message(&in_thread),
            json!({"channel": "#ops", "text": "Hello", "unfurl_links": false, "unfurl_media": false, "thread_ts": "9.9"}),
        ),
        (
            message(&buttons),
            json!({"channel": "C1", "text": "Sure?", "unfurl_links": false, "unfurl_media": false, "blocks": [
                {"type": "section", "text": {"type": "mrkdwn", "text": "Sure?"}},
                {"type": "actions", "elements": [
                    {"type": "button", "text": {"type": "plain_text", "text": "Yes"}, "action_id": "haft_0", "value": "y"}]}]}),
        ),
        (reaction(&command(ChannelAction::React)), json!({"channel": "#ops", "timestamp": "1.2", "name": "tada"})),
        (reaction(&emoji), json!({"channel": "#ops", "timestamp": "1.2", "name": "thumbsup"})),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn recipient_is_written_in_one_way() {
    for (to, expected) in
        [("#ops", true), ("C0123", true), ("U1", true), ("@ann", true), ("ops", false), ("#", false), ("#a b", false), ("c1", false)]
    {
        assert_eq!(is_recipient(to), expected, "{to}");
    }
}

#[test]
fn emoji_have_names() {
    let mut settings = ChannelSettings::new("slack", ChannelKind::Slack);
    settings.token = Ok(ChannelSecret::new("TOKEN"));
    let slack = Slack::new(&settings).unwrap();
    for (emoji, is_known) in [("🚀", true), (":tada:", true), ("+1", true), ("größe", true), ("🦀", false), ("", false), ("A B", false)]
    {
        let command = ChannelCommand { emoji: Some(emoji.into()), ..command(ChannelAction::React) };
        assert_eq!(slack.check(&command).is_ok(), is_known, "{emoji}");
    }
}

#[test]
fn answers_are_read_and_nonsense_is_unknown() {
    let answer = |status: u16, body: &str| decode(&WireAnswer { status, retry_after: None, body: body.as_bytes().to_vec() });
    assert_eq!(answer(200, r#"{"ok":true,"ts":"1.2"}"#).unwrap()["ts"], "1.2");
    for (status, body, certainty, words) in [
        (200, r#"{"ok":false,"error":"channel_not_found"}"#, Certainty::Refused, "Slack refused it: channel_not_found"),
        (200, r#"{"ok":false,"error":"ratelimited"}"#, Certainty::Later, "Slack is asked too often"),
        (429, r#"{"ok":false,"error":"ratelimited"}"#, Certainty::Later, "Slack is asked too often"),
        (429, "", Certainty::Later, "the service is asked too often: HTTP 429: (an empty body)"),
        (200, r#"{"ok":false,"error":"internal_error"}"#, Certainty::Unknown, "internal_error"),
        (500, r#"{"ok":false,"error":"internal_error"}"#, Certainty::Unknown, "internal_error (HTTP 500)"),
        (200, "<!doctype html>", Certainty::Unknown, "the answer makes no sense: HTTP 200: <!doctype html>"),
        (200, r#"{"ok":"true"}"#, Certainty::Unknown, r#"the answer makes no sense: HTTP 200: {"ok":"true"}"#),
    ] {
        let failure = answer(status, body).unwrap_err();
        assert_eq!((failure.certainty, failure.message.trim_end()), (certainty, words));
    }
}

#[test]
fn messages_are_listed_oldest_first() {
    let body = json!({"messages": [
        {"ts": "1355517523.000008", "user": "U2", "text": "second"}, {"ts": "1355517523.000005", "bot_id": "B1"}, {"text": "no time"}, 4
    ]});
    let entry = |id: &str, from: &str, text: &str| ChannelEntry {
        id: id.into(),
        from: from.into(),
        at: Some("2012-12-14T20:38:43Z".into()),
        text: text.into(),
    };
    assert_eq!(entries(&body), [entry("1355517523.000005", "B1", ""), entry("1355517523.000008", "U2", "second")]);
    assert_eq!(entries(&json!("x")), []);
}

#[test]
fn requests_of_slack_are_messages_and_presses() {
    let base = IncomingMessage {
        conversation: "D1".into(),
        thread: None,
        is_group: false,
        sender: IncomingSender { id: "U1".into(), username: None, name: None },
        id: "D1:1.2".into(),
        text: "hi".into(),
        press: None,
        voice: None,
        doubt: None,
        subject: None,
    };
    let message =
        r#"{"type":"event_callback","event":{"type":"message","channel":"D1","channel_type":"im","user":"U1","text":"hi","ts":"1.2"}}"#;
    assert_eq!(events::decode(message.as_bytes()), HookAnswer::accepted("", vec![base.clone()]));
    let payload = r#"{"type":"block_actions","user":{"id":"U1","username":"ann","name":"ann"},"channel":{"id":"C1"},"message":{"thread_ts":"8.8"},"actions":[{"action_id":"haft_0","action_ts":"3.4","value":"y"}]}"#;
    let form = format!("payload={}", encoded(payload));
    let press = IncomingMessage {
        conversation: "C1".into(),
        thread: Some("8.8".into()),
        is_group: true,
        sender: IncomingSender { id: "U1".into(), username: Some("ann".into()), name: Some("ann".into()) },
        id: "C1:3.4:haft_0".into(),
        text: String::new(),
        press: Some(ButtonPress { value: "y".into(), acknowledge: None }),
        ..base
    };
    assert_eq!(events::decode(form.as_bytes()), HookAnswer::accepted("", vec![press]));
    let challenge = events::decode(br#"{"type":"url_verification","challenge":"abc"}"#);
    assert_eq!(challenge, HookAnswer::accepted(r#"{"challenge":"abc"}"#, vec![]));
    for ignored in [
        r#"{"type":"event_callback","event":{"type":"message","bot_id":"B","channel":"D1","user":"U1","text":"hi","ts":"1.2"}}"#,
        r#"{"type":"event_callback","event":{"type":"message","subtype":"message_changed","channel":"D1","ts":"1.2"}}"#,
        r#"{"type":"event_callback","event":{"type":"message","channel":"D1","text":"no user","ts":"1.2"}}"#,
        r#"{"type":"event_callback"}"#,
        r#"{"type":7}"#,
        "[]",
    ] {
        assert_eq!(events::decode(ignored.as_bytes()), HookAnswer::accepted("", vec![]), "{ignored}");
    }
    assert_eq!(events::decode(b"<html>").status, 400);
    assert_eq!(events::decode(b"payload=%zz").status, 400);
}

#[test]
fn audio_clips_and_sound_files_come_with_their_addresses() {
    let event = |rest: Value| {
        let mut event = json!({"type": "message", "subtype": "file_share", "channel": "D1", "user": "U1", "text": "", "ts": "1.2"});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        events::messages(&json!({"type": "event_callback", "event": event})).into_iter().next()
    };
    let clip = json!({"files": [{"mimetype": "image/png"}, {"subtype": "slack_audio", "mimetype": "audio/mp4", "duration_ms": 7400,
        "url_private_download": "https://files.slack.com/files-pri/T1/download/a.mp4"}]});
    let note = VoiceNote { id: "https://files.slack.com/files-pri/T1/download/a.mp4".into(), mime: "audio/mp4".into(), seconds: Some(7) };
    assert_eq!(event(clip).unwrap().voice, Some(note));
    let song = event(json!({"text": "look", "files": [{"mimetype": "audio/mpeg", "url_private": "u", "duration_ms": -1}]})).unwrap();
    assert_eq!((song.text.as_str(), song.voice), ("look", Some(VoiceNote { id: "u".into(), mime: "audio/mpeg".into(), seconds: None })));
    for nothing in
        [json!({"files": [{"mimetype": "image/png"}]}), json!({"files": [{"mimetype": "audio/mp4"}]}), json!({"files": "x"}), json!({})]
    {
        assert_eq!(event(nothing.clone()), None, "{nothing}");
    }
}
