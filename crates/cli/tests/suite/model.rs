//! A world whose model is a server of the test, in whichever protocol; what came of a turn in it, and what the model was sent.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use haft_testkit::{ModelServer, Round, request_faults};
use serde_json::{Value, json};

use super::harness::{Ran, World};
use super::sent::results;

pub(crate) const PROTOCOLS: [&str; 4] = ["openai", "openai-responses", "anthropic", "gemini"];
/// What holds the key, and the key.
pub(crate) const KEY: (&str, &str) = ("WORK_KEY", "k-1234567890");

/// Runs a test in every protocol, all at once: most of their time is spent waiting.
pub(crate) fn in_every_protocol(test: impl Fn(&'static str) + Sync) {
    std::thread::scope(|scope| {
        for protocol in PROTOCOLS {
            let test = &test;
            scope.spawn(move || test(protocol));
        }
    });
}

/// What a model says when it has nothing more to do.
pub(crate) fn done() -> Round {
    Round::Text("All done.".into())
}

/// A call that shows in a file how often it was made.
pub(crate) fn mark(id: &str) -> (String, String, Value) {
    (id.to_owned(), "write_file".to_owned(), json!({"path": "marks.txt", "content": "x", "mode": "append"}))
}

/// A model that says what the test wrote, and a world that knows no other.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) protocol: &'static str,
    pub(crate) world: World,
    pub(crate) server: ModelServer,
}

impl Talk {
    pub(crate) fn new(protocol: &'static str, rounds: Vec<Round>) -> Self {
        Self::with(protocol, "", rounds)
    }

    /// With more in the configuration.
    pub(crate) fn with(protocol: &'static str, config: &str, rounds: Vec<Round>) -> Self {
        let talk = Self { protocol, world: World::new(), server: ModelServer::start(rounds).unwrap() };
        talk.configure(config);
        talk
    }

    /// Writes the configuration anew.
    pub(crate) fn configure(&self, config: &str) {
        let (protocol, url) = (self.protocol, self.server.url());
        let provider = format!("[providers.work]\nprotocol = \"{protocol}\"\nbase_url = \"{url}\"\napi_key_env = \"{}\"\n", KEY.0);
        std::fs::write(self.world.path("config/haft/config.toml"), format!("model = \"work/m1\"\n{provider}{config}")).unwrap();
    }

    /// The same world with a model that continues from here.
    pub(crate) fn next(self, rounds: Vec<Round>) -> Self {
        let talk = Self { server: ModelServer::start(rounds).unwrap(), ..self };
        talk.configure("");
        talk
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.command(words);
        command.env(KEY.0, KEY.1);
        command
    }

    /// For a user.
    pub(crate) fn says(&self, words: &[&str]) -> Ran {
        self.world.ran(&self.command(&[&["run"], words].concat()).output().unwrap())
    }

    /// For a program: one turn, with all that happened in it. Whatever happened, it has its form.
    pub(crate) fn turn(&self, words: &[&str]) -> Happened {
        self.turn_of(&[&["run", "--json"], words].concat())
    }

    /// A resumed session.
    pub(crate) fn resume(&self, prompt: &str) -> Happened {
        self.turn_of(&["sessions", "resume", "last", prompt, "--json"])
    }

    fn turn_of(&self, words: &[&str]) -> Happened {
        let happened = Happened::new(self.world.ran(&self.command(words).output().unwrap()));
        happened.assert_form();
        assert_eq!(self.faults(), Vec::<String>::new(), "{}: what the provider would refuse", self.protocol);
        happened
    }

    /// A turn that is still running.
    pub(crate) fn begin(&self, words: &[&str]) -> RunningTurn {
        let words = [&["run", "--json"], words].concat();
        RunningTurn::new(self.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Faults that the provider would report for the requests that were sent.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.server.asked().iter().flat_map(|request| request_faults(self.protocol, "m1", &request.body)).collect()
    }

    /// The results in the last request: of which tool, and what it says.
    pub(crate) fn results(&self) -> Vec<(String, Value)> {
        results(&self.server.asked().last().unwrap().body)
    }

    /// How often the marking call was made.
    pub(crate) fn marks(&self) -> usize {
        std::fs::read_to_string(self.world.file("marks.txt")).unwrap_or_default().len()
    }

    /// What the kinds of the entries of the last session are.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let exported = self.world.run(&["sessions", "export", "last"]).json();
        exported["entries"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap().to_owned()).collect()
    }

    /// Every call that history knows: tool and status, the oldest first.
    pub(crate) fn history(&self) -> Vec<(String, String)> {
        let calls = self.world.run(&["history", "--json"]).json();
        let text = |call: &Value, name: &str| call[name].as_str().unwrap_or_default().to_owned();
        calls.as_array().unwrap().iter().rev().map(|call| (text(call, "tool"), text(call, "status"))).collect()
    }
}

/// A turn with its events.
#[derive(Debug)]
pub(crate) struct Happened {
    pub(crate) code: i32,
    pub(crate) stderr: String,
    pub(crate) events: Vec<Value>,
}

impl Happened {
    pub(crate) fn new(ran: Ran) -> Self {
        let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { code: ran.code, events: ran.stdout.lines().map(line).collect(), stderr: ran.stderr }
    }

    /// It begins, it ends, and between them every call that started has one end.
    pub(crate) fn assert_form(&self) {
        let ends: Vec<_> = [self.events.first(), self.events.last()].map(|event| event.map(|event| event["type"].clone())).into();
        assert_eq!(ends, [Some("turn_start".into()), Some("turn_end".into())], "{self:?}");
        assert_eq!(self.of("turn_end").count(), 1, "{self:?}");
        let ids = |kind: &str| {
            let mut ids: Vec<String> = self.of(kind).map(|event| event["call_id"].as_str().unwrap().to_owned()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids("tool_start"), ids("tool_end"), "{self:?}");
        let mut distinct = ids("tool_start");
        distinct.dedup();
        assert_eq!(distinct, ids("tool_start"), "every call has an id of its own: {self:?}");
    }

    pub(crate) fn of<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    pub(crate) fn end(&self) -> &Value {
        self.events.last().unwrap()
    }

    /// Why it ended, and the model's last answer.
    pub(crate) fn ended(&self) -> (&str, &str) {
        (self.end()["reason"].as_str().unwrap(), self.end()["text"].as_str().unwrap())
    }

    /// What came of each call: `success`, or the type of its error.
    pub(crate) fn outcomes(&self) -> Vec<&str> {
        self.of("tool_end").map(|event| event.get("error_type").unwrap_or(&event["status"]).as_str().unwrap()).collect()
    }
}

/// A resumed turn, event by event.
#[derive(Debug)]
pub(crate) struct RunningTurn {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
    seen: String,
}

impl RunningTurn {
    fn new(mut child: Child) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines, seen: String::new() }
    }

    /// Waits for an event of this kind.
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "there was no {kind}: {}", self.seen);
            self.seen.push_str(&line);
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self, world: &World) -> Happened {
        self.lines.read_to_string(&mut self.seen).unwrap();
        let mut stderr = Vec::new();
        self.child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        let happened = Happened::new(world.ran(&Output { status, stdout: std::mem::take(&mut self.seen).into_bytes(), stderr }));
        happened.assert_form();
        happened
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
