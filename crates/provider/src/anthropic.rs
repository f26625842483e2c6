//! Anthropic's Messages.

mod decode;
mod encode;
mod event;
mod faults;
mod refusal;

use serde_json::Value;

use crate::{Adapter, Decoder, Encoded, ProviderError, Turn};

/// Speaks Messages: `POST /messages`, with the key in `x-api-key`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic;

impl Adapter for Anthropic {
    fn encode(&self, turn: &Turn<'_>) -> Encoded {
        encode::request(turn)
    }
    fn decoder(&self, turn: &Turn<'_>) -> Box<dyn Decoder> {
        Box::new(decode::MessagesDecoder::new(turn))
    }
    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        refusal::of_answer(status, body)
    }
    fn faults(&self, body: &Value) -> Vec<String> {
        faults::of(body)
    }
}
