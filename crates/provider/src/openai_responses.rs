//! Adapter for Responses: OpenAI's protocol for reasoning models. Nothing is stored at the provider; encrypted reasoning travels
//! with the conversation.

mod decode;
mod input;
mod items;

use serde_json::{Value, json};

use self::decode::ResponsesDecoder;
use crate::offer::offer;
use crate::openai_shared::{never_reasons, refusal};
use crate::schema::ProjectedSchema;
use crate::{Adapter, EncodedRequest, ModelTurn, NameMap, OfferedTool, Protocol, ProviderError, StreamDecoder};

/// The protocol `openai-responses`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiResponses;

impl Adapter for OpenAiResponses {
    fn encode(&self, turn: &ModelTurn<'_>) -> EncodedRequest {
        let names = NameMap::new(Protocol::OpenAiResponses, turn.tools.iter().map(|tool| &tool.name));
        let offer = offer(turn);
        let mut warnings = offer.warnings;
        let input = input::input(turn, &names, &mut warnings);
        let tools: Vec<_> = offer.tools.into_iter().map(|(tool, schema)| definition(tool, &schema, &names)).collect();
        let mut body = json!({ "model": turn.model.name });
        if !turn.system.is_empty() {
            body["instructions"] = turn.system.into();
        }
        body["input"] = input.into();
        if !tools.is_empty() {
            body["tools"] = tools.into();
        }
        body["max_output_tokens"] = turn.model.max_output.into();
        body["store"] = false.into();
        if let Some(effort) = turn.model.thinking_effort() {
            body["reasoning"] = json!({ "effort": effort });
        }
        if !never_reasons(&turn.model.name) {
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        body["stream"] = true.into();
        let mut encoded = EncodedRequest::new("/responses", body);
        encoded.warnings = warnings;
        encoded
    }

    fn decoder(&self, turn: &ModelTurn<'_>) -> Box<dyn StreamDecoder> {
        Box::new(ResponsesDecoder::new(turn))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        refusal(status, body)
    }
}

/// `strict` is always sent: the default is `true` here, and would make every optional parameter required.
fn definition(tool: &OfferedTool, schema: &ProjectedSchema, names: &NameMap) -> Value {
    json!({
        "type": "function",
        "name": names.wire(&tool.name),
        "description": tool.description,
        "parameters": schema.value,
        "strict": schema.strict,
    })
}
