//! Chat Completions: OpenAI's older protocol, which nearly every other server speaks too.

mod decode;
mod faults;
mod fragment;
mod messages;

use serde_json::{Map, Value, json};

use self::decode::ChatDecoder;
use crate::offer::offer;
use crate::openai_shared::{refusal, wants_completion_limit};
use crate::schema::Projected;
use crate::{Adapter, Decoder, Encoded, NameMap, Protocol, ProviderError, ToolSpec, Turn};

/// The protocol `openai`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiChat;

impl Adapter for OpenAiChat {
    fn encode(&self, turn: &Turn<'_>) -> Encoded {
        let names = NameMap::new(Protocol::OpenAi, turn.tools.iter().map(|tool| &tool.name));
        let offer = offer(turn);
        let mut warnings = offer.warnings;
        let messages = messages::messages(turn, &names, &mut warnings);
        let tools: Vec<_> = offer.tools.into_iter().map(|(tool, schema)| definition(tool, schema, &names)).collect();
        let mut body = Map::new();
        body.insert("model".into(), json!(turn.model.name));
        body.insert("messages".into(), messages.into());
        if !tools.is_empty() {
            body.insert("tools".into(), tools.into());
        }
        let limit = if wants_completion_limit(&turn.model.name) { "max_completion_tokens" } else { "max_tokens" };
        body.insert(limit.into(), json!(turn.model.max_output));
        body.insert("stream".into(), json!(true));
        body.insert("stream_options".into(), json!({ "include_usage": true }));
        let mut encoded = Encoded::new("/chat/completions", Value::Object(body));
        encoded.warnings = warnings;
        encoded
    }

    fn decoder(&self, turn: &Turn<'_>) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(turn))
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

fn definition(tool: &ToolSpec, schema: Projected, names: &NameMap) -> Value {
    let mut function = Map::new();
    function.insert("name".into(), json!(names.wire(&tool.name)));
    function.insert("description".into(), json!(tool.description));
    function.insert("parameters".into(), schema.value);
    // Other servers may not know the field, and its absence means the same as `false`.
    if schema.strict {
        function.insert("strict".into(), json!(true));
    }
    json!({ "type": "function", "function": function })
}
