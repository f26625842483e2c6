//! A session of the agent loop: what is decoded, stored, and read back.

use haft_provider::sse::{EventReader, EventTooLarge};
use haft_provider::transcript::{repair, validate};
use haft_provider::{Block, Delta, Message, Model, ModelReply, ModelTurn, Protocol, ProviderError, ProviderErrorKind, ResultPart};
use proptest::sample::Index;

use crate::wire::Answer;
use crate::{adapter, tools};

/// One request to a model, its answer, and the results.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) protocol: Protocol,
    pub(crate) provider: &'static str,
    pub(crate) answer: Answer,
    /// Position at which the connection breaks.
    pub(crate) cut: Option<Index>,
    /// Bytes per chunk.
    pub(crate) chunk: usize,
    /// For each call: whether it failed, and whether it returned an image.
    pub(crate) results: Vec<(bool, bool)>,
    /// Text that the user adds meanwhile.
    pub(crate) asks: Option<String>,
}

/// One stored entry.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    Message(Message),
    /// A call that was about to run, before its answer came to an end.
    Begun(Block),
}

/// The conversation in memory and on disk.
#[derive(Debug)]
pub(crate) struct Session {
    messages: Vec<Message>,
    kept: Vec<Kept>,
}

impl Session {
    pub(crate) fn begin() -> Self {
        let first = Message::user("begin");
        Self { messages: vec![first.clone()], kept: vec![Kept::Message(first)] }
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(crate) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// Plays a round and stores it; returns tool and arguments of every call that ran.
    pub(crate) fn play(&mut self, round: &Round) -> Vec<(&'static str, &'static str)> {
        let stream = round.answer.stream(round.protocol);
        let end = round.cut.map_or(stream.len(), |cut| cut.index(stream.len() + 1));
        self.play_bytes(round, &stream[..end])
    }

    /// Plays a round whose stream ends after these bytes.
    pub(crate) fn play_bytes(&mut self, round: &Round, bytes: &[u8]) -> Vec<(&'static str, &'static str)> {
        let (ready, reply) = self.hear(round, bytes);
        self.kept.extend(ready.iter().filter(|block| block.call_id().is_some()).cloned().map(Kept::Begun));
        let blocks = reply.map_or_else(|_| up_to_the_last_call(ready), |reply| reply.blocks);
        let calls: Vec<Block> = blocks.iter().filter(|block| block.call_id().is_some()).cloned().collect();
        let results = calls.iter().zip(round.results.iter().cycle()).map(|(call, result)| answered(call, *result));
        let said: Vec<Block> = results.chain(round.asks.iter().map(Block::text)).collect();
        self.add(Message::assistant(blocks));
        self.add(Message::results(said));
        if !validate(&self.messages).is_empty() {
            self.messages = repair(std::mem::take(&mut self.messages)).0;
        }
        calls.iter().map(|call| as_it_was_said(call, &round.answer)).collect()
    }

    fn add(&mut self, message: Message) {
        if !message.blocks.is_empty() {
            self.kept.push(Kept::Message(message.clone()));
            self.messages.push(message);
        }
    }

    /// The parts that arrived, and the whole answer if it came to its end.
    fn hear(&self, round: &Round, bytes: &[u8]) -> (Vec<Block>, Result<ModelReply, ProviderError>) {
        let (model, tools) = (Model::new(round.provider, round.protocol, "m"), tools());
        let turn = ModelTurn { model: &model, system: "", messages: &self.messages, tools: &tools };
        let mut decoder = adapter(round.protocol).decoder(&turn);
        let (mut events, mut deltas) = (EventReader::new(), Vec::new());
        let mut failure = None;
        for chunk in bytes.chunks(round.chunk) {
            let fed = events.feed(chunk, |name, data| decoder.event(name, data, &mut deltas).map_err(Broken));
            failure = failure.or(fed.err());
        }
        let reply = match failure {
            Some(Broken(error)) => Err(error),
            None => decoder.finish(&mut deltas),
        };
        (parts(&deltas), reply)
    }
}

struct Broken(ProviderError);

impl From<EventTooLarge> for Broken {
    fn from(large: EventTooLarge) -> Self {
        Self(ProviderError::new(ProviderErrorKind::Malformed, large.to_string()))
    }
}

fn parts(deltas: &[Delta]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for delta in deltas {
        match (delta, blocks.last_mut()) {
            (Delta::Text(more), Some(Block::Text { text, .. })) => text.push_str(more),
            (Delta::Text(text), _) => blocks.push(Block::text(text)),
            (Delta::CallReady { call, .. }, _) => blocks.push(call.clone()),
            _ => {}
        }
    }
    blocks
}

/// Text that led to no call is asked for again.
fn up_to_the_last_call(mut blocks: Vec<Block>) -> Vec<Block> {
    let end = blocks.iter().rposition(|block| block.call_id().is_some()).map_or(0, |last| last + 1);
    blocks.truncate(end);
    blocks
}

fn answered(call: &Block, (is_error, shows): (bool, bool)) -> Block {
    let Block::Call { id, name, .. } = call else { panic!("{call:?} is no call") };
    let mut content = vec![ResultPart::Text { text: "{\"status\":\"success\",\"result\":1}".into() }];
    content.extend(shows.then(|| ResultPart::Image { mime: "image/heic".into(), data: "AAAA".into() }));
    Block::Result { id: id.clone(), name: name.clone(), content, is_error }
}

/// Tool and arguments of a call in the words of the model: nothing that it did not write may run.
fn as_it_was_said(call: &Block, answer: &Answer) -> (&'static str, &'static str) {
    let Block::Call { name, arguments, .. } = call else { panic!("{call:?} is no call") };
    let same = |written: &str| {
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        written == arguments || value(written).is_some_and(|written| value(arguments) == Some(written))
    };
    let calls = answer.calls();
    let found = calls.iter().find(|(said, written)| said == name && same(written));
    *found.unwrap_or_else(|| panic!("{call:?} was never said: {calls:?}"))
}

/// The conversation that was kept, as it is read when the session is opened again.
pub(crate) fn read(kept: &[Kept]) -> Vec<Message> {
    let (mut messages, mut begun): (Vec<Message>, Vec<Block>) = (Vec::new(), Vec::new());
    for entry in kept {
        match entry {
            Kept::Begun(call) => begun.push(call.clone()),
            // The answer holds what was begun in it.
            Kept::Message(message) if message.role == haft_provider::Role::Assistant => {
                begun.clear();
                messages.push(message.clone());
            }
            Kept::Message(message) => messages.push(message.clone()),
        }
    }
    if !begun.is_empty() {
        messages.push(Message::assistant(begun));
    }
    messages
}
