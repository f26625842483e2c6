//! Adapter for Anthropic's Messages API.

mod decode;
mod encode;
mod refusal;
mod usage;

use crate::{Adapter, EncodedRequest, ModelTurn, ProviderError, StreamDecoder};

/// The protocol `anthropic`: `POST /messages`, with the key in `x-api-key`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic;

impl Adapter for Anthropic {
    fn encode(&self, turn: &ModelTurn<'_>) -> EncodedRequest {
        encode::request(turn)
    }
    fn decoder(&self, turn: &ModelTurn<'_>) -> Box<dyn StreamDecoder> {
        Box::new(decode::MessagesDecoder::new(turn))
    }
    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        refusal::from_response(status, body)
    }
}
