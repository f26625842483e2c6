//! Speech and transcripts: the wire formats, against sockets on loopback.

use haft_contract::ports::AudioFormat;
use haft_provider::{ModelClient, Options, ProviderErrorKind, Recording, SpokenRequest};
use serde_json::{Value, json};

use crate::server::{Act, Server};
use crate::support::{KEY, answer, endpoint, milliseconds};

const SOUND: &str = "content-type: audio/mpeg\r\n";
const JSON: &str = "content-type: application/json\r\n";

fn spoken(voice: &'static str, format: AudioFormat) -> SpokenRequest<'static> {
    SpokenRequest { provider: "acme", model: "voice-1", voice, text: "Guten Tag, \"мир\"", format }
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn text_is_spoken_by_servers_of_both_kinds() {
    let server = Server::playing(vec![answer(200, SOUND, "ID3 sound")]).await;
    let (client, endpoint) = (ModelClient::new(Options::default()), endpoint(server.url()));
    assert_eq!(client.speech(&endpoint, spoken("ann", AudioFormat::Opus)).await.as_deref(), Ok(&b"ID3 sound"[..]));
    assert_eq!(client.elevenlabs_speech(&endpoint, spoken("21m00Tcm", AudioFormat::Mp3)).await.as_deref(), Ok(&b"ID3 sound"[..]));
    let [open, eleven] = server.received().try_into().unwrap();
    assert!(open.starts_with("POST /v1/audio/speech HTTP/1.1\r\n") && open.contains(&format!("authorization: Bearer {KEY}\r\n")), "{open}");
    let text = "Guten Tag, \"мир\"";
    assert_eq!(body(&open), json!({"model": "voice-1", "voice": "ann", "input": text, "response_format": "opus"}));
    assert!(eleven.starts_with("POST /v1/text-to-speech/21m00Tcm?output_format=mp3_44100_128 HTTP/1.1\r\n"), "{eleven}");
    assert!(eleven.contains(&format!("xi-api-key: {KEY}\r\n")) && !eleven.contains("authorization"), "{eleven}");
    assert_eq!(body(&eleven), json!({"text": text, "model_id": "voice-1"}));
    let refused = client.elevenlabs_speech(&endpoint, spoken("../voices", AudioFormat::Mp3)).await.unwrap_err();
    assert_eq!(refused.kind, ProviderErrorKind::BadRequest);
    assert_eq!(server.received().len(), 2, "a voice that leads elsewhere is not asked for");
}

#[tokio::test]
async fn recording_goes_as_a_form_and_its_text_comes_back() {
    let server = Server::playing(vec![answer(200, JSON, r#"{"text": " hello there "}"#)]).await;
    let recording = Recording { name: "voi\"ce\r\n.ogg", mime: "audio/ogg", data: b"OggS--haft-\r\n" };
    let transcript = ModelClient::new(Options::default()).transcription(&endpoint(server.url()), "acme", "whisper-1", recording).await;
    assert_eq!(transcript.as_deref(), Ok(" hello there "));
    let [request] = server.received().try_into().unwrap();
    let (head, form) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/audio/transcriptions HTTP/1.1\r\n"), "{head}");
    let boundary = head.split("multipart/form-data; boundary=").nth(1).unwrap().lines().next().unwrap();
    let part = |head: &str, content: &str| format!("--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n");
    let expected = [
        part("name=\"model\"", "whisper-1"),
        part("name=\"response_format\"", "json"),
        part("name=\"file\"; filename=\"voice.ogg\"\r\nContent-Type: audio/ogg", "OggS--haft-\r\n"),
        format!("--{boundary}--\r\n"),
    ];
    assert_eq!(form, expected.concat());
}

#[tokio::test]
async fn failures_of_services_hide_the_key_and_are_not_retried() {
    for (script, kind) in [
        (answer(401, JSON, format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}")), ProviderErrorKind::Key),
        (answer(500, JSON, "{}"), ProviderErrorKind::Server),
        (vec![Act::Read, Act::Hang], ProviderErrorKind::Timeout),
    ] {
        let server = Server::playing(vec![script]).await;
        let mut endpoint = endpoint(server.url());
        endpoint.timeouts.total = milliseconds(1_000);
        let client = ModelClient::new(Options::default());
        for error in [
            client.speech(&endpoint, spoken("ann", AudioFormat::Mp3)).await.unwrap_err(),
            client.elevenlabs_speech(&endpoint, spoken("ann", AudioFormat::Mp3)).await.unwrap_err(),
        ] {
            assert_eq!(error.kind, kind, "{error:?}");
            assert!(!error.message.contains(KEY), "{error:?}");
        }
        assert_eq!(server.received().len(), 2);
    }
    let server = Server::playing(vec![answer(200, JSON, r#"{"words": []}"#)]).await;
    let recording = Recording { name: "a.ogg", mime: "audio/ogg", data: b"x" };
    let transcript = ModelClient::new(Options::default()).transcription(&endpoint(server.url()), "acme", "w", recording).await;
    assert_eq!(transcript.unwrap_err().kind, ProviderErrorKind::Malformed);
}
