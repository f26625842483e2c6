//! A whole answer in one JSON document, as servers and proxies send it that do not stream.

use serde_json::{Value, json};

use super::failure::AttemptFailure;
use crate::Protocol;
use crate::sse::EventReader;

/// The name of an event, which may be empty, and its data.
pub(super) type WholeEvent = (String, String);

/// The events that a stream of the same answer has; `None` if the document is no answer of the protocol.
pub(super) fn events(protocol: Protocol, document: &Value) -> Option<Vec<WholeEvent>> {
    let events = match protocol {
        Protocol::OpenAi => document["choices"].is_array().then(|| vec![document.clone()]),
        Protocol::OpenAiResponses => document["output"].as_array().map(|items| of_response(document, items)),
        Protocol::Anthropic => document["content"].as_array().map(|blocks| of_message(document, blocks)),
        // Without `alt=sse` the events come as a list.
        Protocol::Gemini => match document {
            Value::Array(parts) if parts.iter().all(|part| part["candidates"].is_array()) => Some(parts.clone()),
            _ => document["candidates"].is_array().then(|| vec![document.clone()]),
        },
    };
    events.map(|events| events.iter().map(|event| (String::new(), event.to_string())).collect())
}

/// The events of a stream that was called a document.
pub(super) fn streamed(body: &[u8]) -> Option<Vec<WholeEvent>> {
    let is_stream = [&b"data:"[..], b"event:", b"id:", b":"].iter().any(|start| body.trim_ascii_start().starts_with(start));
    let mut events = Vec::new();
    let mut reader = EventReader::new();
    let mut each = |name: &str, data: &str| {
        events.push((name.to_owned(), data.to_owned()));
        Ok::<_, AttemptFailure>(())
    };
    (is_stream && reader.feed(body, &mut each).is_ok()).then_some(events)
}

fn of_response(document: &Value, items: &[Value]) -> Vec<Value> {
    let done = |(index, item): (usize, &Value)| json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    let kind = match document["status"].as_str() {
        Some("incomplete") => "response.incomplete",
        Some("failed") => "response.failed",
        _ => "response.completed",
    };
    items.iter().enumerate().map(done).chain([json!({ "type": kind, "response": document })]).collect()
}

fn of_message(document: &Value, blocks: &[Value]) -> Vec<Value> {
    let start = |(index, block): (usize, &Value)| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let first = json!({ "type": "message_start", "message": { "usage": document["usage"] } });
    let end = json!({ "type": "message_delta", "delta": { "stop_reason": document["stop_reason"] }, "usage": document["usage"] });
    [first].into_iter().chain(blocks.iter().enumerate().map(start)).chain([end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Model, ModelTurn, StopReason};

    #[test]
    fn a_whole_answer_of_every_protocol_is_read_as_a_stream() {
        let chat = json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "Look.",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "noop", "arguments": "{\"n\":1}"}}]}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
        let responses = json!({"status": "completed", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Look."}]},
            {"type": "function_call", "call_id": "a", "name": "noop", "arguments": "{\"n\":1}"}],
            "usage": {"input_tokens": 3, "output_tokens": 2}});
        let messages = json!({"type": "message", "stop_reason": "tool_use", "content": [{"type": "text", "text": "Look."},
            {"type": "tool_use", "id": "a", "name": "noop", "input": {"n": 1}}], "usage": {"input_tokens": 3, "output_tokens": 2}});
        let candidate = json!({"finishReason": "STOP", "content": {"parts": [{"text": "Look."}, {"functionCall": {"id": "a", "name": "noop", "args": {"n": 1}}}]}});
        let gemini = json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}});
        for (protocol, document) in [
            (Protocol::OpenAi, chat),
            (Protocol::OpenAiResponses, responses),
            (Protocol::Anthropic, messages),
            (Protocol::Gemini, gemini.clone()),
            (Protocol::Gemini, json!([gemini])),
        ] {
            let model = Model::new("acme", protocol, "m");
            let turn = ModelTurn { model: &model, system: "", messages: &[], tools: &[] };
            let (mut decoder, mut deltas) = (protocol.adapter().decoder(&turn), Vec::new());
            for (name, data) in events(protocol, &document).unwrap() {
                decoder.event(&name, &data, &mut deltas).unwrap();
            }
            let reply = decoder.finish(&mut deltas).unwrap();
            assert_eq!((reply.usage.input, reply.usage.output, &reply.stop), (3, 2, &StopReason::ToolCalls), "{protocol:?}");
            assert_eq!(reply.blocks[0], Block::text("Look."), "{protocol:?}");
            let Block::Call { id, name, arguments, .. } = &reply.blocks[1] else { panic!("{protocol:?}: {reply:?}") };
            assert_eq!((id.as_str(), name.as_str(), arguments.as_str()), ("a", "noop", "{\"n\":1}"), "{protocol:?}");
            assert_eq!(events(protocol, &json!({"status": "up"})), None, "{protocol:?}");
        }
    }

    #[test]
    fn a_stream_with_the_type_of_a_document_is_a_stream() {
        let event = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        assert_eq!(streamed(b"event: a\ndata: {\"x\":1}\n\ndata: 2\n\n"), Some(vec![event("a", "{\"x\":1}"), event("", "2")]));
        assert_eq!(streamed(b"{\"cut\":"), None);
    }
}
