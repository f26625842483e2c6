//! Whole turns over loopback HTTP, in each of the four protocols.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod stores;

use std::sync::Arc;

use haft_agent::{EndReason, HttpProvider, NullLedger, Runner, TurnEnd};
use haft_contract::{ErrorKind, ToolError, ToolOutput, ToolSource};
use haft_engine::{Engine, Registry, Session};
use haft_provider::{ApiKey, Block, Endpoint, Message, Model, ModelClient, Options, Protocol};
use haft_store::FileBlobs;
use haft_testkit::{FakeHost, ModelServer, Round, ScriptedTool, request_faults};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::stores::call_log;

struct World {
    runner: Runner,
    server: ModelServer,
    protocol: Protocol,
    _folder: tempfile::TempDir,
}

fn world(protocol: Protocol, rounds: Vec<Round>) -> World {
    let registry = Registry::new();
    let echo = ScriptedTool::new("echo").body(|arguments: Value, _| async move { Ok(ToolOutput::text(arguments.to_string())) });
    let fail = ScriptedTool::new("fail").body(|_, _| async { Err(ToolError::new(ErrorKind::ExecutionError, "it broke")) });
    for tool in [echo, fail] {
        registry.register(tool.shared(), ToolSource::BuiltIn).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
    let server = ModelServer::start(rounds).unwrap();
    let mut endpoint = Endpoint::new(server.url());
    endpoint.key = Some(ApiKey::new("secret-key"));
    let model = Model::new("test", protocol, "model-1");
    let engine = Engine::builder(Arc::new(registry), call_log(), blobs).build();
    let session = Session::builder(FakeHost::new() as _).loop_limits(None).build();
    let provider = Arc::new(HttpProvider::new(model, endpoint, ModelClient::new(Options::default())));
    let mut runner = Runner::new(engine, session, provider, Arc::new(NullLedger));
    runner.system = "Be brief.".into();
    World { runner, server, protocol, _folder: folder }
}

fn calls(ids: impl Iterator<Item = usize>, tool: impl Fn(usize) -> &'static str) -> Round {
    Round::Calls(ids.map(|number| (format!("call_{number}"), tool(number).to_owned(), json!({"n": number}))).collect())
}

impl World {
    async fn turn(&mut self) -> TurnEnd {
        self.runner.turn(Message::user("go"), &CancellationToken::new()).await
    }

    /// Every result in the conversation: which call, and whether it failed.
    fn results(&self) -> Vec<(String, bool)> {
        let blocks = self.runner.messages.iter().flat_map(|message| &message.blocks);
        blocks
            .filter_map(|block| if let Block::Result { id, is_error, .. } = block { Some((id.clone(), *is_error)) } else { None })
            .collect()
    }

    /// Faults that the provider would report for the requests that were sent.
    fn faults(&self) -> Vec<String> {
        let requests = self.server.asked();
        requests.iter().flat_map(|request| request_faults(self.protocol.as_str(), "model-1", &request.body)).collect()
    }
}

#[tokio::test]
async fn a_chain_of_twelve_rounds_in_every_protocol() {
    for protocol in Protocol::ALL {
        let mut rounds: Vec<Round> = (0..11).map(|round| calls(round..=round, |_| "echo")).collect();
        rounds.push(Round::Text("done".into()));
        let mut world = world(protocol, rounds);
        let end = world.turn().await;
        assert_eq!((end.reason, end.text.as_str(), end.rounds, end.error), (EndReason::Done, "done", 12, None), "{protocol}");
        assert_eq!((end.usage.input, end.usage.output), (84, 36), "{protocol}");
        assert_eq!(world.results(), (0..11).map(|n| (format!("call_{n}"), false)).collect::<Vec<_>>(), "{protocol}");
        assert_eq!(world.faults(), Vec::<String>::new(), "{protocol}");
    }
}

#[tokio::test]
async fn sixty_four_calls_of_which_half_fail_in_every_protocol() {
    for protocol in Protocol::ALL {
        let many = calls(0..64, |number| if number % 2 == 0 { "echo" } else { "fail" });
        let mut world = world(protocol, vec![many, Round::Text("done".into())]);
        assert_eq!(world.turn().await.reason, EndReason::Done, "{protocol}");
        assert_eq!(world.results(), (0..64).map(|n| (format!("call_{n}"), n % 2 == 1)).collect::<Vec<_>>(), "{protocol}");
        assert_eq!(world.faults(), Vec::<String>::new(), "{protocol}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_one_sentence_and_no_second_try() {
    for protocol in Protocol::ALL {
        let mut world = world(protocol, vec![Round::Status(401, json!({"error": {"message": "bad key"}}).to_string())]);
        let end = world.turn().await;
        assert_eq!((end.reason, end.rounds, world.server.asked().len()), (EndReason::Failed, 1, 1), "{protocol}");
        let error = end.error.unwrap();
        assert!(!error.contains("secret-key") && !error.contains('\n'), "{protocol}: {error}");
    }
}

#[tokio::test]
async fn the_key_travels_in_its_header_alone() {
    for protocol in Protocol::ALL {
        let mut world = world(protocol, vec![Round::Text("hi".into())]);
        world.turn().await;
        let asked = world.server.asked().remove(0);
        let carriers: Vec<&str> =
            asked.headers.iter().filter(|(_, value)| value.contains("secret-key")).map(|(name, _)| name.as_str()).collect();
        let expected = match protocol {
            Protocol::Anthropic => "x-api-key",
            Protocol::Gemini => "x-goog-api-key",
            _ => "authorization",
        };
        assert_eq!(carriers, [expected], "{protocol}");
        assert!(!asked.path.contains("secret-key") && !asked.body.to_string().contains("secret-key"), "{protocol}");
    }
}
