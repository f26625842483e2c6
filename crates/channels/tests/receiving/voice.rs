//! Voice messages.

use std::sync::{Arc, Mutex};

use haft_channels::{InboxVerdict, IncomingMessage, IncomingSender, Transcriber, VoiceNote, VoiceRecording};
use haft_contract::BoxFuture;
use haft_contract::ports::ChannelKind;
use serde_json::json;

use crate::common::Reply;
use crate::setup::{message, setup, setup_with, until};

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

#[tokio::test]
async fn recordings_are_fetched_from_the_service_alone_and_only_slack_gets_its_token() {
    for (kind, room, token) in [(ChannelKind::Slack, "D5", Some("Bearer TOKEN")), (ChannelKind::Discord, "5", None)] {
        let sent = Reply::ok(json!({"ok": true, "ts": "1.5", "id": "9"}).to_string());
        let setup = setup_with(kind, vec![Reply::ok("sound"), sent.clone()], |_| {}).await;
        let ears = Arc::new(Ears::default());
        setup.inbox.transcribe_with(Arc::clone(&ears) as _);
        let at = |id: &str, address: String| {
            let voice = VoiceNote { id: address, mime: "audio/mp4".into(), seconds: None };
            IncomingMessage { conversation: room.into(), voice: Some(voice), ..message("5", id, "") }
        };
        setup.inbox.accept("phone", at("v1", format!("{}/files/a.mp4?x=1", setup.server.url))).await.unwrap();
        until(|| setup.server.received().len() == 2).await;
        let fetched = setup.server.received()[0].clone();
        assert_eq!((fetched.line.as_str(), fetched.header("authorization")), ("GET /files/a.mp4?x=1", token));
        // One that another address holds is not fetched: it would get the token.
        setup.server.answer(vec![sent]);
        let other = format!("{}0/files/a.mp4", setup.server.url);
        setup.inbox.accept("phone", at("v2", other)).await.unwrap();
        until(|| setup.host.turns.lock().unwrap().len() == 2).await;
        let said = setup.host.turns.lock().unwrap()[1].1.clone();
        assert!(said.contains("the recording is not at an address of the service"), "{said}");
        assert_eq!(ears.0.lock().unwrap().len(), 1);
    }
}
