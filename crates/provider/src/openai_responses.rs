//! Responses: OpenAI's protocol for models that reason. Nothing is kept at the provider's: what the model thought travels
//! with the conversation, encrypted.

mod decode;
mod faults;
mod input;
mod items;

use serde_json::{Map, Value, json};

use self::decode::ResponsesDecoder;
use crate::offer::offer;
use crate::openai_shared::{never_reasons, refusal};
use crate::schema::Projected;
use crate::{Adapter, Decoder, Encoded, NameMap, Protocol, ProviderError, ToolSpec, Turn};

/// The protocol `openai-responses`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiResponses;

impl Adapter for OpenAiResponses {
    fn encode(&self, turn: &Turn<'_>) -> Encoded {
        let names = NameMap::new(Protocol::OpenAiResponses, turn.tools.iter().map(|tool| &tool.name));
        let offer = offer(turn);
        let mut warnings = offer.warnings;
        let input = input::input(turn, &names, &mut warnings);
        let tools: Vec<_> = offer.tools.into_iter().map(|(tool, schema)| definition(tool, &schema, &names)).collect();
        let mut body = Map::new();
        body.insert("model".into(), json!(turn.model.name));
        if !turn.system.is_empty() {
            body.insert("instructions".into(), json!(turn.system));
        }
        body.insert("input".into(), input.into());
        if !tools.is_empty() {
            body.insert("tools".into(), tools.into());
        }
        body.insert("max_output_tokens".into(), json!(turn.model.max_output));
        body.insert("store".into(), json!(false));
        if !never_reasons(&turn.model.name) {
            body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        }
        body.insert("stream".into(), json!(true));
        let mut encoded = Encoded::new("/responses", Value::Object(body));
        encoded.warnings = warnings;
        encoded
    }

    fn decoder(&self, turn: &Turn<'_>) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new(turn))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        refusal(status, body)
    }

    fn faults(&self, body: &Value) -> Vec<String> {
        faults::faults(body)
    }
}

/// `strict` is always said: left out, it means yes here, and every optional parameter becomes a required one.
fn definition(tool: &ToolSpec, schema: &Projected, names: &NameMap) -> Value {
    json!({
        "type": "function",
        "name": names.wire(&tool.name),
        "description": tool.description,
        "parameters": schema.value,
        "strict": schema.strict,
    })
}
