//! Pictures and speech: the tools `image` and `tts` with services on loopback and with espeak-ng, and pictures for models that see or do not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use haft_testkit::Round;
use serde_json::{Value, json};

use super::harness::{Ran, World};
use super::model::{Talk, done, in_every_protocol};

/// A picture of one pixel.
const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0xd, 0xa, 0x1a, 0xa, 0, 0, 0, 0xd, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77,
    0x53, 0xde, 0, 0, 0, 0xc, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0xc9, 0xfe, 0x92, 0xef, 0, 0,
    0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];
/// The beginning of the same in base64.
const PIXEL_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

/// A service that answers every request with the same bytes, and what it was asked: the head in lower case, and the body.
struct Service {
    url: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Service {
    fn start(status: u16, answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = BufReader::new(stream);
                let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
                while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.make_ascii_lowercase();
                    length = line.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
                    head.push_str(&line);
                    line.clear();
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).ok();
                log.lock().unwrap().push((head, serde_json::from_slice(&body).unwrap_or_default()));
                let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", answer.len());
                stream.get_mut().write_all(&[head.as_bytes(), answer].concat()).ok();
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

fn call(talk: &Talk, tool: &str, arguments: &Value) -> (i32, Value) {
    let ran: Ran = talk.world.ran(&talk.command(&["call", tool, &arguments.to_string(), "--json"]).output().unwrap());
    (ran.code, ran.json())
}

#[test]
fn image_asks_the_configured_models_one_after_the_other_in_every_protocol() {
    in_every_protocol(|protocol| {
        let broken = Service::start(500, b"{}");
        let config = format!("[image]\nmodels = ['gone/eyes', 'work/m1']\n[providers.gone]\nbase_url = '{}'\nretries = 0\n", broken.url);
        let talk = Talk::with(protocol, &config, vec![Round::Text("A red pixel.".into())]);
        talk.world.write("a.png", PIXEL);
        let (code, result) = call(&talk, "image", &json!({"image": "@a.png", "prompt": "Which colour?"}));
        assert_eq!((code, &result["result"]), (0, &json!("A red pixel.")), "{protocol}: {result}");
        let details = &result["details"];
        assert_eq!((&details["model"], &details["attempts"][1]), (&json!("work/m1"), &json!({"model": "work/m1"})), "{details}");
        assert!(details["attempts"][0]["error"].as_str().is_some_and(|error| !error.is_empty()), "{details}");
        let [asked] = talk.server.asked().try_into().unwrap();
        let body = asked.body.to_string();
        assert!(body.contains(PIXEL_BASE64) && body.contains("Which colour?") && asked.body.get("tools").is_none(), "{protocol}: {body}");
        assert_eq!(talk.faults(), Vec::<String>::new(), "{protocol}");
        assert_eq!(broken.asked().len(), 1);
    });
}

#[test]
fn without_a_model_that_sees_image_is_absent_and_explain_says_what_to_configure() {
    let world = World::new();
    world.write("a.png", PIXEL);
    let arguments = json!({"image": "a.png"}).to_string();
    let explained = world.run(&["explain", "image", &arguments]);
    let advice = "set image.models = [\"anthropic/claude-sonnet-4-5\"]";
    assert!(explained.all().contains("no model that sees is configured") && explained.all().contains(advice), "{}", explained.all());
    let (code, result) = world.call("image", &json!({"image": "a.png"}));
    assert_eq!((code, &result["error_type"]), (1, &json!("tool_not_available")), "{result}");
    // Following the advice makes the call pass as far as the provider.
    world.configure("image.models = ['anthropic/claude-sonnet-4-5']\n");
    let explained = world.run(&["explain", "image", &arguments, "--json"]).json();
    assert_eq!(explained["verdict"], "allow", "{explained}");
    let provider = json!({"effect": "connect", "host": "api.anthropic.com", "port": 443, "method": "POST", "provider": true});
    assert_eq!(explained["effects"][1], provider, "{explained}");
    world.configure("image.models = ['nowhere/m']\n");
    let faulty = world.run(&["explain", "image", &arguments]);
    assert!(faulty.all().contains("no model that sees can be used: there is no provider 'nowhere'"), "{}", faulty.all());
    // The rules of the user hold for the provider as well.
    world.configure("image.models = ['anthropic/claude-sonnet-4-5']\nrules.deny = ['connect(domain:api.anthropic.com)']\n");
    assert_eq!(world.run(&["explain", "image", &arguments, "--json"]).json()["verdict"], "deny");
}

#[test]
fn model_that_does_not_see_gets_a_sentence_in_every_protocol() {
    in_every_protocol(|protocol| {
        for (config, sees) in [("", true), ("[models.\"work/m1\"]\nno_pictures = true\n", false)] {
            let read = Round::call("c1", "read_file", json!({"path": "a.png"}));
            let talk = Talk::with(protocol, config, vec![read, done()]);
            talk.world.write("a.png", PIXEL);
            let turn = talk.turn(&["what is in a.png?"]);
            let sent = talk.server.asked().last().unwrap().body.to_string();
            let sentence = "is not shown: this model does not see pictures.";
            assert_eq!((sent.contains(PIXEL_BASE64), sent.contains(sentence)), (sees, !sees), "{protocol}: {sent}");
            assert_eq!(turn.code, 0, "{}", turn.stderr);
        }
    });
}

#[test]
fn espeak_speaks_in_the_sandbox_without_a_question_and_undo_removes_the_file() {
    let world = World::new();
    let text = "--help $(touch escaped); 'Hello' \u{7}world, привет, 你好";
    let (code, result) = world.call("tts", &json!({"text": text, "path": "out/hello.wav"}));
    assert_eq!(code, 0, "{result}");
    let said = result["result"].as_str().unwrap();
    assert!(said.starts_with("Saved ") && said.ends_with("by espeak-ng) to out/hello.wav."), "{said}");
    let sound = std::fs::read(world.file("out/hello.wav")).unwrap();
    let whole = u32::from_le_bytes(*sound[4..].first_chunk().unwrap()) as usize;
    assert_eq!((&sound[..4], &sound[8..12], whole + 8), (&b"RIFF"[..], &b"WAVE"[..], sound.len()));
    assert!(!world.file("escaped").exists());
    let id = result["call_id"].as_str().unwrap();
    assert_eq!(world.run(&["undo", id]).code, 0);
    assert!(!world.file("out/hello.wav").exists(), "the file came from the call");
    let (code, result) = world.call("tts", &json!({"text": "x".repeat(100_000)}));
    assert_eq!((code, &result["error_type"]), (1, &json!("validation_error")));
    let read_only = world.run(&["call", "tts", r#"{"text":"hi"}"#, "--access", "read-only", "--json"]).json();
    assert_eq!(read_only["error_type"], "permission_denied", "{read_only}");
}

#[test]
fn services_speak_in_their_wire_formats_and_espeak_when_they_fail() {
    let (opus, mp3, broken) = (Service::start(200, b"OggS..."), Service::start(200, b"ID3..."), Service::start(500, b"{}"));
    let config = format!(
        "tts.engines = ['work/voice-1']\n[tts.voices]\nwork = 'ann'\n\
         [providers.work]\nbase_url = '{}/v1'\napi_key_env = 'WORK_KEY'\n",
        opus.url
    );
    let keys = [("WORK_KEY", "k-1234567890"), ("ELEVENLABS_API_KEY", "e-1234567890")];
    let speak = |config: &str, arguments: &Value| {
        let world = World::with_config(config);
        let ran = world.run_with(&keys, &["call", "tts", &arguments.to_string(), "--json"]);
        let result = ran.json();
        let path = result["details"]["path"].as_str().unwrap_or_default().to_owned();
        (std::fs::read(world.file(&path)).unwrap_or_default(), path, result)
    };
    let (sound, path, result) = speak(&config, &json!({"text": "Hi.", "channel": "telegram"}));
    assert!(sound == b"OggS..." && path.rsplit('.').next() == Some("ogg") && result["details"]["voice_message"] == true, "{result}");
    let [(head, body)] = opus.asked().try_into().unwrap();
    assert!(head.starts_with("post /v1/audio/speech ") && head.contains("authorization: bearer k-1234567890"), "{head}");
    assert_eq!(body, json!({"model": "voice-1", "voice": "ann", "input": "Hi.", "response_format": "opus"}));

    let config = format!("tts.engines = ['elevenlabs/eleven_v3']\n[providers.elevenlabs]\nbase_url = '{}/v1'\n", mp3.url);
    let (sound, path, result) = speak(&config, &json!({"text": "Hi."}));
    assert!(sound == b"ID3..." && path.rsplit('.').next() == Some("mp3"), "{result}");
    let [(head, body)] = mp3.asked().try_into().unwrap();
    assert!(head.starts_with("post /v1/text-to-speech/21m00tcm4tlvdq8ikwam?output_format=mp3_44100_128 "), "{head}");
    assert!(head.contains("xi-api-key: e-1234567890"), "{head}");
    assert_eq!(body, json!({"text": "Hi.", "model_id": "eleven_v3"}));

    let config = format!(
        "tts.engines = ['work/voice-1', 'espeak-ng']\n[providers.work]\nbase_url = '{}/v1'\napi_key_env = 'WORK_KEY'\n",
        broken.url
    );
    let (sound, path, result) = speak(&config, &json!({"text": "Hi."}));
    assert!(sound.starts_with(b"RIFF") && path.rsplit('.').next() == Some("wav"), "{result}");
    assert_eq!(result["details"]["attempts"][1], json!({"engine": "espeak-ng"}), "{result}");
    assert!(!result.to_string().contains("k-1234567890"), "{result}");
}

#[test]
fn doctor_says_what_sees_and_speaks() {
    let world = World::with_config("image.models = ['anthropic/claude-sonnet-4-5']\ntranscription.command = 'whisper-cli'\n");
    let checks = world.run(&["doctor", "--json"]).json();
    let found = |name: &str| checks.as_array().unwrap().iter().find(|check| check["check"] == name).cloned().unwrap_or_default();
    assert_eq!(found("vision")["message"], "the tool image asks anthropic/claude-sonnet-4-5");
    assert_eq!(found("speech")["message"], "the tool tts speaks with espeak-ng");
    assert_eq!(found("transcription")["message"], "transcription.command does not say where {file} goes");
}
