//! One protocol under test: haft in its own world, the requests it sends, and the answers of the simulator.

use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::aimock::Aimock;
use super::sdks::entry;
use super::tap::{Sent, Tap};
use crate::harness::{Ran, World};

/// Nothing may hang; a run takes a second or two.
const LIMIT: Duration = Duration::from_mins(1);

/// Settings of a protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Protocol {
    pub(super) name: &'static str,
    /// A model of that provider that thinks before it speaks.
    model: &'static str,
    base: &'static str,
    path: &'static str,
}

pub(super) const PROTOCOLS: [Protocol; 4] = [
    Protocol { name: "openai", model: "gpt-5.2", base: "/v1", path: "/v1/chat/completions" },
    Protocol { name: "openai-responses", model: "gpt-5.2", base: "/v1", path: "/v1/responses" },
    Protocol { name: "anthropic", model: "claude-sonnet-4-5", base: "/v1", path: "/v1/messages" },
    Protocol {
        name: "gemini",
        model: "gemini-3-pro-preview",
        base: "/v1beta",
        path: "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
    },
];

impl Protocol {
    /// The name of the model in a simulation's configuration.
    pub(super) fn model(&self) -> String {
        format!("mock-{}/{}", self.name, self.model)
    }
}

/// Tries something in every protocol at once; gives what each one leaves.
pub(super) fn in_each_protocol<T: Send>(trial: impl Fn(Protocol) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let trial = &trial;
        let running = PROTOCOLS.map(|protocol| scope.spawn(move || trial(protocol)));
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Haft before a simulated provider.
#[derive(Debug)]
pub(super) struct Simulation<'a> {
    pub(super) protocol: Protocol,
    pub(super) world: World,
    aimock: &'a Aimock,
    tap: Tap,
}

impl<'a> Simulation<'a> {
    /// The model of this protocol answers, unless another is named. A request that fails is sent once more.
    pub(super) fn new(protocol: Protocol, aimock: &'a Aimock) -> Self {
        let tap = Tap::to(aimock.address);
        let tables = PROTOCOLS.map(|Protocol { name, base, .. }| {
            let base_url = format!("http://{}{base}", tap.address);
            format!("[providers.mock-{name}]\nprotocol = \"{name}\"\nbase_url = \"{base_url}\"\napi_key_env = \"MOCK_KEY\"\nretries = 1\n")
        });
        let world = World::with_config(&format!("model = \"{}\"\n{}", protocol.model(), tables.concat()));
        Self { protocol, world, aimock, tap }
    }

    /// `haft run` with these words.
    pub(super) fn run(&self, words: &[&str]) -> Ran {
        let mut command = self.world.command(&[&["run"], words].concat());
        command.env("MOCK_KEY", "k-123").stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().unwrap();
        let id = rustix::process::Pid::from_child(&process);
        let (sender, receiver) = channel();
        let began = Instant::now();
        std::thread::spawn(move || sender.send(process.wait_with_output()));
        let output = receiver.recv_timeout(LIMIT).unwrap_or_else(|_| {
            rustix::process::kill_process(id, rustix::process::Signal::KILL).ok();
            panic!("{}: {words:?} hangs since {:?}", self.protocol.name, began.elapsed())
        });
        self.world.ran(&output.unwrap())
    }

    /// Every request: as it was sent, and as the simulator has read it and answered it.
    pub(super) fn exchanges(&self) -> Vec<Exchange> {
        let sent = self.tap.sent();
        let ours = |entry: &Value| sent.iter().any(|sent| entry["path"] == sent.path);
        let journal = self.aimock.journal().into_iter().filter(ours);
        let exchanges: Vec<Exchange> = journal.zip(&sent).map(|(entry, sent)| Exchange::new(entry, sent)).collect();
        assert_eq!(exchanges.len(), sent.len(), "{}: the journal holds all that was sent: {exchanges:?}", self.protocol.name);
        exchanges
    }

    /// The requests that were sent, for the SDKs to validate.
    pub(super) fn entries(&self) -> Vec<Value> {
        let protocol = |sent: &Sent| PROTOCOLS.into_iter().find(|protocol| protocol.path == sent.path).unwrap();
        self.tap.sent().iter().map(|sent| entry(protocol(sent).name, "sent to aimock", &sent.body)).collect()
    }
}

/// A request and what came of it.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) sent: Value,
    /// The requests as the simulator parsed them: in the form of Chat Completions.
    pub(super) read: Value,
    /// 0 where there was no answer.
    pub(super) status: u64,
    /// Whether the answer was cut.
    pub(super) is_cut: bool,
}

impl Exchange {
    fn new(mut entry: Value, sent: &Sent) -> Self {
        assert_eq!(entry["path"], sent.path);
        let mut read = entry["body"].take();
        let fields = read.as_object_mut().unwrap_or_else(|| panic!("the simulator takes this for no request: {entry}"));
        fields.remove("_endpointType");
        assert!(!fields.contains_key("__aimock_truncated"), "the journal holds bodies up to 64 KB: offer fewer tools");
        if sent.path.ends_with("/chat/completions") {
            assert_eq!(read, sent.body, "of this protocol the journal holds the request itself");
        }
        let response = &entry["response"];
        Self { sent: sent.body.clone(), read, status: response["status"].as_u64().unwrap(), is_cut: response["interrupted"] == true }
    }

    /// Fails unless the simulator has found these results in the request, in this order: of which call, and words of it.
    pub(super) fn has_results(&self, expected: &[(&str, &str)]) {
        let messages = self.read["messages"].as_array().unwrap();
        let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
        let ids: Vec<&Value> = results.iter().map(|result| &result["tool_call_id"]).collect();
        assert_eq!(ids, expected.iter().map(|(id, _)| id).collect::<Vec<_>>());
        for (result, (_, words)) in results.iter().zip(expected) {
            assert!(result["content"].as_str().unwrap().contains(words), "{words} is not in {result}");
        }
    }
}

/// The status of each response.
pub(super) fn statuses(exchanges: &[Exchange]) -> Vec<u64> {
    exchanges.iter().map(|exchange| exchange.status).collect()
}
