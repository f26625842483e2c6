//! One protocol: a neutral turn out, a stream of blocks in. Pure: no I/O, no clock, no randomness.

use serde_json::Value;

use crate::{Delta, Message, Model, ProviderError, Reply, ToolSpec};

/// Everything that one request says.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// To whom.
    pub model: &'a Model,
    /// Instructions that stand before the conversation; empty means none.
    pub system: &'a str,
    /// The conversation. It was validated: every call has one result, right behind it.
    pub messages: &'a [Message],
    /// What the model may call, in a stable order.
    pub tools: &'a [ToolSpec],
}

/// A request in a protocol's own words.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Encoded {
    /// What is added to the provider's base address: `/chat/completions`.
    pub path: String,
    /// Headers beyond the key and the content type.
    pub headers: Vec<(&'static str, String)>,
    /// The body; it asks for a stream.
    pub body: Value,
    /// What a person should know: tools that were left out or deferred, pictures that could not be sent.
    pub warnings: Vec<String>,
}

impl Encoded {
    /// A request; for adapters.
    pub fn new(path: impl Into<String>, body: Value) -> Self {
        Self { path: path.into(), headers: Vec::new(), body, warnings: Vec::new() }
    }
}

/// Speaks one protocol.
pub trait Adapter: Send + Sync {
    /// The request of a turn. Never fails: what cannot be said is left out with a warning.
    fn encode(&self, turn: &Turn<'_>) -> Encoded;
    /// Reads the answer to this request as it streams in.
    fn decoder(&self, turn: &Turn<'_>) -> Box<dyn Decoder>;
    /// The header that carries the key, and what stands before it: `("authorization", "Bearer ")`.
    fn key_header(&self) -> (&'static str, &'static str);
    /// What an answer that is no success means; the body may be anything.
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError;
    /// What the provider would refuse about a request body: pairing, order, names. The measure for the repairer's tests.
    fn faults(&self, body: &Value) -> Vec<String>;
    /// The same, with what only the model that it goes to would refuse; a body does not always say which one that is.
    fn faults_for(&self, model: &str, body: &Value) -> Vec<String> {
        let _ = model;
        self.faults(body)
    }
}

/// Reads one answer.
pub trait Decoder: Send {
    /// Takes one event of the stream: its name, where the protocol has names, and its data. Unknown events are ignored; an
    /// event that says that the provider failed is an error.
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError>;
    /// The stream has ended. An answer that was cut before its end is an error, unless what came is complete in itself.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Reply, ProviderError>;
}
