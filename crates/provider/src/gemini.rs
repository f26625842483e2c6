//! Google's generateContent.

mod chunk;
mod decode;
mod encode;
mod faults;
mod generation;
mod picture;
mod refusal;

use serde_json::Value;

use crate::{Adapter, Decoder, Encoded, ProviderError, Turn};

/// Speaks generateContent: `POST /models/{name}:streamGenerateContent?alt=sse`, with the key in `x-goog-api-key`.
///
/// A body does not say to which model it goes: the path does. So [`Adapter::faults_for`] alone asks for the signatures that
/// Gemini 3 and newer insist on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini;

impl Adapter for Gemini {
    fn encode(&self, turn: &Turn<'_>) -> Encoded {
        encode::request(turn)
    }
    fn decoder(&self, turn: &Turn<'_>) -> Box<dyn Decoder> {
        Box::new(decode::ContentDecoder::new(turn))
    }
    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        refusal::of_answer(status, body)
    }
    fn faults(&self, body: &Value) -> Vec<String> {
        faults::of(body)
    }
    fn faults_for(&self, model: &str, body: &Value) -> Vec<String> {
        faults::for_model(model, body)
    }
}
