//! Adapter for Google's generateContent API.

mod decode;
mod encode;
mod generation;
mod refusal;
mod usage;

use crate::{Adapter, EncodedRequest, ModelTurn, ProviderError, StreamDecoder};

/// The protocol `gemini`: `POST /models/{name}:streamGenerateContent?alt=sse`, with the key in `x-goog-api-key`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini;

impl Adapter for Gemini {
    fn encode(&self, turn: &ModelTurn<'_>) -> EncodedRequest {
        encode::request(turn)
    }
    fn decoder(&self, turn: &ModelTurn<'_>) -> Box<dyn StreamDecoder> {
        Box::new(decode::ContentDecoder::new(turn))
    }
    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        refusal::from_response(status, body)
    }
}
