//! Definitions and results of tools in the form of a protocol, as data: for programs that send their requests themselves.

use std::sync::Arc;

use haft_contract::{ToolDefinition, ToolResult};
use serde_json::Value;

use crate::{Block, Message, Model, ModelTurn, OfferedTool, Protocol};

/// Definitions of tools as a request has them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EncodedTools {
    /// The value of `tools` in the request: an array.
    pub tools: Value,
    /// Warnings about tools that are left out.
    pub warnings: Vec<String>,
}

/// The definitions of tools, as a request to this model has them.
pub fn tool_definitions<'a>(model: &Model, definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> EncodedTools {
    let tools: Vec<OfferedTool> = definitions.into_iter().map(OfferedTool::from).collect();
    let turn = ModelTurn { model, system: "", messages: &[Message::user("")], tools: &tools };
    let mut encoded = model.protocol.adapter().encode(&turn);
    let tools = encoded.body.get_mut("tools").map_or_else(|| Value::Array(Vec::new()), Value::take);
    EncodedTools { tools, warnings: encoded.warnings }
}

/// The messages that carry results of calls to this model. They go behind the answer that made the calls.
pub fn tool_results(model: &Model, results: &[ToolResult]) -> Vec<Value> {
    let call = |result: &ToolResult| {
        let (id, name) = (result.call_id.clone(), result.tool.to_string());
        Block::Call { id, name, arguments: "{}".into(), opaque: None }
    };
    let asked = [Message::user("-"), Message::assistant(results.iter().map(call).collect())];
    let answered = Message::results(results.iter().map(|result| Block::result(result.tool.as_ref(), result)).collect());
    let before = conversation(model, &asked).len();
    let [user, calls] = asked;
    let mut all = conversation(model, &[user, calls, answered]);
    all.split_off(before.min(all.len()))
}

/// The messages of a request.
fn conversation(model: &Model, messages: &[Message]) -> Vec<Value> {
    let mut encoded = model.protocol.adapter().encode(&ModelTurn { model, system: "", messages, tools: &[] });
    let key = match model.protocol {
        Protocol::OpenAi | Protocol::Anthropic => "messages",
        Protocol::OpenAiResponses => "input",
        Protocol::Gemini => "contents",
    };
    match encoded.body.get_mut(key).map(Value::take) {
        Some(Value::Array(messages)) => messages,
        _ => Vec::new(),
    }
}

impl From<&ToolDefinition> for OfferedTool {
    fn from(definition: &ToolDefinition) -> Self {
        let parameters = Arc::new(Value::clone(&definition.parameters));
        Self { name: definition.name.to_string(), description: definition.description.to_string(), parameters }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haft_contract::{ErrorKind, ToolError, ToolOutput};
    use serde_json::json;

    use super::*;

    fn definition() -> ToolDefinition {
        let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        ToolDefinition::new("weather", "Tells the weather.", parameters)
    }

    fn model(protocol: Protocol) -> Model {
        Model::new("p", protocol, "m")
    }

    #[test]
    fn definitions_have_the_form_of_each_protocol() {
        let closed = json!({
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false
        });
        let open = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        for (protocol, expected) in [
            (
                Protocol::OpenAi,
                json!([{"type": "function", "function": {
                    "name": "weather", "description": "Tells the weather.", "parameters": closed, "strict": true
                }}]),
            ),
            (
                Protocol::OpenAiResponses,
                json!([{
                    "type": "function", "name": "weather", "description": "Tells the weather.", "parameters": closed, "strict": true
                }]),
            ),
            (Protocol::Anthropic, json!([{"name": "weather", "description": "Tells the weather.", "input_schema": open}])),
            (
                Protocol::Gemini,
                json!([{"functionDeclarations": [{
                    "name": "weather", "description": "Tells the weather.", "parametersJsonSchema": open
                }]}]),
            ),
        ] {
            let mut encoded = tool_definitions(&model(protocol), [&definition()]);
            // Anthropic's cache marker belongs to a conversation.
            encoded.tools.as_array_mut().unwrap().iter_mut().for_each(|tool| drop(tool.as_object_mut().unwrap().remove("cache_control")));
            assert_eq!(encoded, EncodedTools { tools: expected, warnings: Vec::new() }, "{protocol}");
        }
        assert_eq!(tool_definitions(&model(Protocol::Gemini), []).tools, json!([]));
    }

    #[test]
    fn results_have_the_form_of_each_protocol() {
        let result =
            |id: &str, outcome| ToolResult { call_id: id.into(), tool: "weather".into(), outcome, elapsed: Duration::ZERO, stored: None };
        let results = [result("call_1", Ok(ToolOutput::text("sunny"))), result("call_2", Err(ToolError::new(ErrorKind::Timeout, "late")))];
        for protocol in Protocol::ALL {
            let messages = tool_results(&model(protocol), &results);
            let text = serde_json::to_string(&messages).unwrap();
            let ids = usize::from(protocol != Protocol::Gemini);
            assert!(!messages.is_empty() && text.contains("sunny") && text.contains("late"), "{protocol}: {text}");
            assert!(["call_1", "call_2"].iter().all(|id| text.matches(id).count() >= ids), "{protocol}: {text}");
            assert!(!text.contains("\"arguments\""), "the calls are not repeated: {protocol}: {text}");
        }
        assert_eq!(
            tool_results(&model(Protocol::OpenAi), &results[..1]),
            [json!({"role": "tool", "tool_call_id": "call_1", "content": r#"{"status":"success","result":"sunny"}"#})]
        );
        assert!(tool_results(&model(Protocol::Anthropic), &[]).is_empty());
    }
}
