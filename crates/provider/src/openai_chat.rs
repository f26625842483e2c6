//! Adapter for Chat Completions: OpenAI's older protocol, which most other servers implement.

mod decode;
mod fragment;
mod messages;

use serde_json::{Value, json};

use self::decode::ChatDecoder;
use crate::offer::offer;
use crate::openai_shared::{refusal, wants_completion_limit};
use crate::schema::ProjectedSchema;
use crate::{Adapter, EncodedRequest, ModelTurn, NameMap, OfferedTool, Protocol, ProviderError, StreamDecoder};

/// The protocol `openai`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiChat;

impl Adapter for OpenAiChat {
    fn encode(&self, turn: &ModelTurn<'_>) -> EncodedRequest {
        let names = NameMap::new(Protocol::OpenAi, turn.tools.iter().map(|tool| &tool.name));
        let offer = offer(turn);
        let mut warnings = offer.warnings;
        let messages = messages::messages(turn, &names, &mut warnings);
        let tools: Vec<_> = offer.tools.into_iter().map(|(tool, schema)| definition(tool, &schema, &names)).collect();
        let mut body = json!({ "model": turn.model.name, "messages": messages });
        if !tools.is_empty() {
            body["tools"] = tools.into();
        }
        let limit = if wants_completion_limit(&turn.model.name) { "max_completion_tokens" } else { "max_tokens" };
        body[limit] = turn.model.max_output.into();
        if let Some(effort) = turn.model.thinking_effort() {
            body["reasoning_effort"] = effort.into();
        }
        body["stream"] = true.into();
        body["stream_options"] = json!({ "include_usage": true });
        let mut encoded = EncodedRequest::new("/chat/completions", body);
        encoded.warnings = warnings;
        encoded
    }

    fn decoder(&self, turn: &ModelTurn<'_>) -> Box<dyn StreamDecoder> {
        Box::new(ChatDecoder::new(turn))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        refusal(status, body)
    }
}

fn definition(tool: &OfferedTool, schema: &ProjectedSchema, names: &NameMap) -> Value {
    let mut function = json!({ "name": names.wire(&tool.name), "description": tool.description, "parameters": schema.value });
    // Other servers may not know the field, and its absence means `false`.
    if schema.strict {
        function["strict"] = true.into();
    }
    json!({ "type": "function", "function": function })
}
