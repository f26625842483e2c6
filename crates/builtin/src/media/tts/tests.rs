use std::sync::{Arc, Mutex};

use haft_contract::ports::{Services, SpeechEngine, SpeechRequest, SpeechServices};
use haft_contract::{BoxFuture, Connect, DynTool, Erased};
use haft_testkit::{FakeHost, Script, expect_error, run_tool};
use serde_json::Value;

use super::*;

/// A service that speaks, and what it was asked.
#[derive(Default)]
struct Voices {
    espeak: bool,
    service: bool,
    answer: Option<Vec<u8>>,
    asked: Mutex<Vec<SpeechRequest>>,
}

impl SpeechServices for Voices {
    fn engines(&self) -> Vec<SpeechEngine> {
        let service = SpeechEngine {
            name: "acme/voice".into(),
            host: SpeechHost::Service(Connect::provider("https", "acme.test", 443)),
            voice: Some("ann".into()),
        };
        let espeak = SpeechEngine { name: "espeak-ng".into(), host: SpeechHost::Espeak, voice: None };
        [self.service.then_some(service), self.espeak.then_some(espeak)].into_iter().flatten().collect()
    }
    fn speak<'a>(&'a self, _engine: &'a str, request: &'a SpeechRequest) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        self.asked.lock().unwrap().push(request.clone());
        let answer = self.answer.clone().ok_or_else(|| ToolError::execution("it is down."));
        Box::pin(async move { answer })
    }
}

fn machine(voices: Voices) -> (Arc<FakeHost>, Arc<Voices>) {
    let (host, voices) = (FakeHost::new(), Arc::new(voices));
    let mut services = Services::default();
    services.speech = Some(Arc::clone(&voices) as _);
    host.services.set(services).map_err(|_| "set twice").unwrap();
    (host, voices)
}

async fn speak(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(Tts::with(None)), arguments, Arc::clone(host)).await
}

/// A second of silence with the lengths that a pipe gets.
fn wav() -> Vec<u8> {
    let header = b"RIFF\x24\xf0\xff\x7fWAVEfmt \x10\0\0\0\x01\0\x01\0\x22\x56\0\0\x44\xac\0\0\x02\0\x10\0data\0\xf0\xff\x7f";
    [&header[..], &vec![0; 44_100]].concat()
}

#[tokio::test]
async fn espeak_speaks_in_the_sandbox_and_the_file_has_its_lengths() {
    let (host, _) = machine(Voices { espeak: true, ..Voices::default() });
    host.processes.script(Script::says(wav()));
    let output = speak(&host, json!({"text": "-x \u{7}Guten\u{202e} Tag,\nмир 你好", "voice": "de", "channel": "telegram"})).await.unwrap();
    let details = output.details.unwrap();
    let path = details["path"].as_str().unwrap();
    assert!(path.starts_with("speech/") && path.rsplit('.').next() == Some("wav"), "{path}");
    assert_eq!(output.content, ToolOutput::text(format!("Saved 43.1 KB of speech (wav, 1.0 s, by espeak-ng) to {path}.")).content);
    let saved = host.files.get(path).unwrap();
    assert_eq!((saved.len(), &saved[4..8], &saved[40..44]), (44_144, &44_136_u32.to_le_bytes()[..], &44_100_u32.to_le_bytes()[..]));
    let planned = &host.processes.planned()[0];
    assert_eq!(planned.interpreter.as_ref().unwrap().arguments, ["-v", "de", "--stdout", "--"]);
    assert_eq!((planned.command.as_str(), planned.read_only, planned.isolate_network), ("-x Guten Tag, мир 你好", true, true));
}

#[test]
fn the_plan_names_the_program_the_service_and_each_file_that_may_be_written() {
    let (host, _) = machine(Voices { espeak: true, service: true, ..Voices::default() });
    let effects = |arguments: Value| {
        let prepared = Erased::new(Tts::with(None)).prepare(arguments, &PlanContext::new(&*host)).unwrap();
        let effects = prepared.plan().effects().iter().map(|effect| format!("{} {}", effect.kind(), effect.target()));
        effects.collect::<Vec<_>>()
    };
    let service = "connect POST https://acme.test:443".to_owned();
    let program = "exec /usr/bin/espeak-ng -v en --stdout -- hi".to_owned();
    assert_eq!(effects(json!({"text": "hi", "path": "out.wav"})), [service.clone(), program.clone(), "write out.wav".to_owned()]);
    assert_eq!(effects(json!({"text": "hi", "path": "out.ogg"})), [service.clone(), "write out.ogg".to_owned()]);
    let both = effects(json!({"text": "hi", "channel": "Telegram"}));
    assert_eq!(both[..2], [service, program]);
    assert!(both[2].rsplit('.').next() == Some("ogg") && both[3].rsplit('.').next() == Some("wav"), "{both:?}");
}

#[tokio::test]
async fn chats_get_voice_messages_and_the_next_engine_speaks_when_one_fails() {
    let opus = b"OggS...".to_vec();
    let (host, voices) = machine(Voices { service: true, answer: Some(opus.clone()), ..Voices::default() });
    let output = speak(&host, json!({"text": "hi", "channel": "telegram"})).await.unwrap();
    let details = output.details.unwrap();
    assert_eq!((&details["voice_message"], &details["mime"]), (&json!(true), &json!("audio/ogg")));
    assert_eq!(host.files.get(details["path"].as_str().unwrap()), Some(opus));
    let request = SpeechRequest { text: "hi".into(), voice: Some("ann".into()), format: AudioFormat::Opus };
    assert_eq!(*voices.asked.lock().unwrap(), [request]);

    for answer in [None, Some(br#"{"error": "no"}"#.to_vec())] {
        let (host, _) = machine(Voices { espeak: true, service: true, answer: answer.clone(), ..Voices::default() });
        host.processes.script(Script::says(wav()));
        let output = speak(&host, json!({"text": "hi"})).await.unwrap();
        let why = if answer.is_some() { r#"it did not answer with mp3: {"error": "no"}"# } else { "it is down." };
        let attempts = json!([{"engine": "acme/voice", "error": why}, {"engine": "espeak-ng"}]);
        assert_eq!(output.details.unwrap()["attempts"], attempts);
    }
}

#[tokio::test]
async fn failures_are_results_and_leave_no_file() {
    let (host, _) = machine(Voices { espeak: true, ..Voices::default() });
    host.processes.script(Script::says("espeak: no voice").exits(1));
    let failed = "Nothing was spoken, and no file was written. espeak-ng: espeak-ng failed (exit code 1).";
    let error = speak(&host, json!({"text": "hi"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ExecutionError);
    assert!(error.message().starts_with(&failed[..failed.len() - 2]), "{}", error.message());
    host.processes.script(Script::says(&wav()[..44]));
    let silent = "Nothing was spoken, and no file was written. espeak-ng: it is silent: no voice was found for the text.";
    assert_eq!(expect_error(speak(&host, json!({"text": "hi"})).await), (ErrorKind::ExecutionError, silent.to_owned()));
    assert_eq!(host.files.paths(), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn text_that_cannot_be_spoken_is_refused_before_anything_runs() {
    let (host, _) = machine(Voices { espeak: true, ..Voices::default() });
    let long = "Parameter 'text' is longer than 4096 characters. Shorten it, or speak it in parts of at most 4096.";
    for (arguments, message) in [
        (json!({"text": ""}), "Parameter 'text' is empty: there is nothing to speak."),
        (json!({"text": " \n\t"}), "Parameter 'text' has no letter and no number: there is nothing to speak."),
        (json!({"text": "\u{0}\u{1b}\u{200b}…!"}), "Parameter 'text' has no letter and no number: there is nothing to speak."),
        (json!({"text": "ä".repeat(4097)}), long),
        (json!({"text": "x".repeat(1024 * 1024)}), long),
        (
            json!({"text": "hi", "voice": "../../etc/passwd"}),
            "Parameter 'voice' must be a name of letters, digits, '-', '_' and '+', such as en-us or alloy, not '../../etc/passwd'.",
        ),
        (
            json!({"text": "hi", "voice": "-w"}),
            "Parameter 'voice' must be a name of letters, digits, '-', '_' and '+', such as en-us or alloy, not '-w'.",
        ),
        (json!({"text": "hi", "path": "a.txt"}), "Parameter 'path' must end with .mp3, .wav or .ogg, not 'a.txt'."),
        (json!({"text": "hi", "path": "a.mp3"}), "Nothing here speaks mp3: espeak-ng can not. espeak-ng writes .wav."),
    ] {
        assert_eq!(expect_error(speak(&host, arguments).await), (ErrorKind::ValidationError, message.to_owned()));
    }
    assert_eq!(host.processes.planned().len(), 0);
    assert!(speaking::SpokenText::parse(&"ä".repeat(4096)).is_ok());
}

#[test]
fn where_nothing_speaks_it_is_absent() {
    let absent = Tts::new().describe().absent.unwrap();
    assert_eq!(absent.why, "nothing speaks here");
    assert!(absent.advice.starts_with("install espeak-ng (apt-get install espeak-ng), or set tts.engines"), "{}", absent.advice);
    assert_eq!(Tts::with(None).describe().absent, None);
    assert_eq!(Tts::with(Some("no voice".into())).describe().absent.unwrap().why, "no voice");
}
