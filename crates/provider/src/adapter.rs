//! Protocol adapters: encode a neutral request, decode a stream into blocks. Pure: no I/O, no clock, no randomness.

use serde_json::Value;

use crate::{Delta, Message, Model, ModelReply, OfferedTool, ProviderError};

/// One request to a model, in neutral form.
#[derive(Debug, Clone, Copy)]
pub struct ModelTurn<'a> {
    /// The model to call.
    pub model: &'a Model,
    /// System prompt; may be empty.
    pub system: &'a str,
    /// The conversation, already validated: every call has one result in the next message.
    pub messages: &'a [Message],
    /// Tools the model may call, in a stable order.
    pub tools: &'a [OfferedTool],
}

/// A request as the protocol writes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EncodedRequest {
    /// Path below the provider's base URL: `/chat/completions`.
    pub path: String,
    /// Headers beyond the key and the content type.
    pub headers: Vec<(&'static str, String)>,
    /// JSON body; it requests a stream.
    pub body: Value,
    /// Warnings for the user: tools left out, images not sent.
    pub warnings: Vec<String>,
}

impl EncodedRequest {
    /// A request without headers and warnings.
    pub fn new(path: impl Into<String>, body: Value) -> Self {
        Self { path: path.into(), headers: Vec::new(), body, warnings: Vec::new() }
    }
}

/// An adapter for one protocol.
pub trait Adapter: Send + Sync {
    /// Encodes a request. Never fails: what the protocol cannot express is left out with a warning.
    fn encode(&self, turn: &ModelTurn<'_>) -> EncodedRequest;
    /// A decoder for the streamed response to this request.
    fn decoder(&self, turn: &ModelTurn<'_>) -> Box<dyn StreamDecoder>;
    /// Header that carries the API key, and the prefix of its value: `("authorization", "Bearer ")`.
    fn key_header(&self) -> (&'static str, &'static str);
    /// Error for a response that is not a success; the body may be anything.
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError;
}

/// Decodes one streamed response.
pub trait StreamDecoder: Send {
    /// Handles one event: its name (empty in protocols without names) and its data. Unknown events are ignored; an event that
    /// reports a failure of the provider is an error.
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError>;
    /// Handles the end of the stream. A truncated response is an error, unless what arrived is complete.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<ModelReply, ProviderError>;
}
